/**
 * A label set: sorted by name, without empty values (an empty value is no label), immutable.
 * Compared and grouped by `key`, which is made once.
 */
export const METRIC_NAME = '__name__';

export type LabelPair = readonly [name: string, value: string];

export class Labels {
  static readonly empty = new Labels([]);

  /** Sorted by name in UTF-16 order, which for ASCII is Prometheus's. */
  readonly pairs: readonly LabelPair[];
  #key: string | undefined;
  #nameless: Labels | undefined;

  /** `pairs` must be sorted, distinct and not empty of value; use `of` for anything else. */
  private constructor(pairs: readonly LabelPair[]) {
    this.pairs = pairs;
  }

  /**
   * A label set from pairs in any order. Of equal names the last wins; empty values are dropped.
   * The pairs themselves are kept, which saves half of a label set's memory, because many sets
   * share them.
   */
  static of(pairs: Iterable<LabelPair>): Labels {
    const byName = new Map<string, LabelPair>();
    for (const pair of pairs) byName.set(pair[0], pair);
    const sorted = [...byName.values()].filter(([, value]) => value !== '');
    if (sorted.length === 0) return Labels.empty;
    return new Labels(sorted.sort(([a], [b]) => compareText(a, b)));
  }

  static fromRecord(record: Readonly<Record<string, string>>): Labels {
    return Labels.of(Object.entries(record));
  }

  /**
   * Equal label sets have equal keys, different ones different keys. It contains lengths instead of
   * separators, because names and values may contain any character.
   */
  get key(): string {
    this.#key ??= this.pairs.map(keyOfPair).join('');
    return this.#key;
  }

  /** '' where there is no such label. */
  get(name: string): string {
    for (const pair of this.pairs) if (pair[0] === name) return pair[1];
    return '';
  }

  /** The name of the metric; '' when it was dropped. */
  get name(): string {
    return this.get(METRIC_NAME);
  }

  without(names: ReadonlySet<string>): Labels {
    const kept = this.pairs.filter(([name]) => !names.has(name));
    return kept.length === this.pairs.length ? this : new Labels(kept);
  }

  only(names: ReadonlySet<string>): Labels {
    const kept = this.pairs.filter(([name]) => names.has(name));
    return kept.length === this.pairs.length ? this : new Labels(kept);
  }

  /** Made once: nearly every function and operator drops the name. */
  withoutName(): Labels {
    this.#nameless ??= this.without(NAME_ALONE);
    return this.#nameless;
  }

  /** A copy with one label set, or removed if `value` is ''. */
  with(name: string, value: string): Labels {
    const { pairs } = this;
    const found = pairs.findIndex((pair) => pair[0] >= name);
    const at = found === -1 ? pairs.length : found;
    const known = pairs[at]?.[0] === name ? 1 : 0;
    if (value === (known === 1 ? pairs[at]?.[1] : '')) return this;
    const changed: readonly LabelPair[] = value === '' ? [] : [[name, value]];
    return new Labels(pairs.toSpliced(at, known, ...changed));
  }

  toRecord(): Record<string, string> {
    return Object.fromEntries(this.pairs);
  }
}

function keyOfPair([name, value]: LabelPair): string {
  return `${name.length},${value.length}:${name}${value}`;
}

const NAME_ALONE: ReadonlySet<string> = new Set([METRIC_NAME]);

/** Order of a sorted result: pair by pair, name before value, the shorter set first. */
export function compareLabels(a: Labels, b: Labels): number {
  const shared = Math.min(a.pairs.length, b.pairs.length);
  for (let i = 0; i < shared; i++) {
    const [nameA, valueA] = a.pairs[i] as LabelPair;
    const [nameB, valueB] = b.pairs[i] as LabelPair;
    if (nameA !== nameB) return compareText(nameA, nameB);
    if (valueA !== valueB) return compareText(valueA, valueB);
  }
  return a.pairs.length - b.pairs.length;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
