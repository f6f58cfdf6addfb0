/**
 * Matches the series of two vectors, once per query and not per step. A group holds the series of
 * both sides that agree on the labels compared by `on` or `ignoring`.
 */
import type { VectorMatching } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { PromqlError } from '../../errors.ts';
import { goQuoteCut, SHOWN_TEXT_MAX } from '../../format-go.ts';
import { type Labels, METRIC_NAME, type SeriesColumn } from '../../values.ts';

/** Series of both sides that match each other. One side may be empty. */
export interface MatchGroup {
  readonly lhs: SeriesColumn[];
  readonly rhs: SeriesColumn[];
}

/**
 * All groups of an operation. The operator checks at each step which cardinalities are allowed in a
 * group.
 */
export interface MatchGroups {
  /** In order of first occurrence, left side first. */
  readonly groups: readonly MatchGroup[];
  /** Memory taken from the budget for the groups; to be returned once they are no longer used. */
  readonly heldBytes: number;
}

/** Memory of a group besides its key: three lists and a map entry, bytes. */
const GROUP_BYTES = 500;
const KEY_CHAR_BYTES = 2;

/** Memory of a group with this key, bytes. */
export function groupBytes(key: string): number {
  return GROUP_BYTES + key.length * KEY_CHAR_BYTES;
}

/**
 * Groups the series of both sides by their matched labels. Takes the memory of the groups from
 * `budget` and checks it for each series.
 */
export function matchGroups(
  lhs: readonly SeriesColumn[],
  rhs: readonly SeriesColumn[],
  matching: VectorMatching,
  budget: Budget,
): MatchGroups {
  const labelsOf = matchedLabels(matching);
  const groups = new Map<string, MatchGroup>();
  let heldBytes = 0;
  const groupOf = ({ labels }: SeriesColumn): MatchGroup => {
    budget.takeWork();
    const { key } = labelsOf(labels);
    let group = groups.get(key);
    if (group === undefined) {
      const bytes = groupBytes(key);
      budget.takeBytes(bytes);
      heldBytes += bytes;
      group = { lhs: [], rhs: [] };
      groups.set(key, group);
    }
    return group;
  };
  for (const series of lhs) groupOf(series).lhs.push(series);
  for (const series of rhs) groupOf(series).rhs.push(series);
  return { groups: [...groups.values()], heldBytes };
}

/** The labels that must agree. */
function matchedLabels({ on, labels }: VectorMatching): (of: Labels) => Labels {
  if (on) {
    const names = new Set(labels);
    return (of) => of.only(names);
  }
  const names = new Set([METRIC_NAME, ...labels]);
  return (of) => of.without(names);
}

const PLAIN_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Maximum number of labels in a message; an expression can create sets of hundreds. */
const SHOWN_PAIRS_MAX = 30;

/** A label set as written in Prometheus's messages; a very long one is cut. */
function labelsText({ pairs }: Labels): string {
  const displayed = pairs
    .slice(0, SHOWN_PAIRS_MAX)
    .map(([name, value]) => `${displayedName(name)}=${goQuoteCut(value)}`);
  if (displayed.length < pairs.length) displayed.push('...');
  return `{${displayed.join(', ')}}`;
}

function displayedName(name: string): string {
  return name.length <= SHOWN_TEXT_MAX && PLAIN_NAME.test(name) ? name : goQuoteCut(name);
}

/** Collects faults over all groups and throws the earliest. */
export class MatchingFaults {
  readonly #matching: VectorMatching;
  /**
   * Time of the earliest fault, half steps: within a step, duplicates on the "one" side go first.
   */
  #when = Number.POSITIVE_INFINITY;
  #message = '';

  constructor(matching: VectorMatching) {
    this.#matching = matching;
  }

  /** Throws `PromqlError` execution if there was a fault. */
  throwFirst(): void {
    if (this.#message !== '') throw new PromqlError('execution', this.#message);
  }

  /**
   * Checks series of one group on the side that must be unique. `others`: where the other side has
   * any series; elsewhere Prometheus does not check.
   */
  recordOneSide(series: readonly SeriesColumn[], others: Uint8Array, budget: Budget): void {
    const clash = firstClash(series, others, budget);
    if (clash === null || clash.step >= this.#when) return;
    const side = this.#matching.cardinality === 'one-to-many' ? 'left' : 'right';
    const group = labelsText(matchedLabels(this.#matching)(clash.later.labels));
    const pair = `[${labelsText(clash.later.labels)}, ${labelsText(clash.earlier.labels)}]`;
    this.#record(
      clash.step,
      `found duplicate series for the match group ${group} on the ${side} hand-side of the ` +
        `operation: ${pair};many-to-many matching not allowed: matching labels must be unique ` +
        'on one side',
    );
  }

  /** Checks series that would have the same result. `matched`: where they have a partner. */
  recordResults(series: readonly SeriesColumn[], matched: Uint8Array, budget: Budget): void {
    const clash = firstClash(series, matched, budget);
    if (clash === null) return;
    const reason =
      this.#matching.cardinality === 'one-to-one'
        ? 'many-to-one matching must be explicit (group_left/group_right)'
        : 'grouping labels must ensure unique matches';
    this.#record(clash.step + 0.5, `multiple matches for labels: ${reason}`);
  }

  #record(when: number, message: string): void {
    if (when >= this.#when) return;
    this.#when = when;
    this.#message = message;
  }
}

interface Clash {
  readonly step: number;
  readonly earlier: SeriesColumn;
  readonly later: SeriesColumn;
}

/** The first step at which two of the series are present and `where` is 1. */
function firstClash(
  series: readonly SeriesColumn[],
  where: Uint8Array,
  budget: Budget,
): Clash | null {
  if (series.length < 2) return null;
  const bytes = where.length * Int32Array.BYTES_PER_ELEMENT;
  budget.takeBytes(bytes);
  /** Number of the series seen at each step, from 1. */
  const seen = new Int32Array(where.length);
  let clash: Clash | null = null;
  let before = where.length;
  for (const [index, later] of series.entries()) {
    budget.check();
    for (let i = 0; i < before; i++) {
      if ((later.present[i] as number) === 0 || (where[i] as number) === 0) continue;
      const earlier = series[(seen[i] as number) - 1];
      if (earlier === undefined) {
        seen[i] = index + 1;
        continue;
      }
      clash = { step: i, earlier, later };
      before = i;
    }
  }
  budget.releaseBytes(bytes);
  return clash;
}
