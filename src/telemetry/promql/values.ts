/**
 * Values between operators, and the memory they take: whole columns, one element per step, for all
 * steps of the query at once. An instant query is a grid of one step. Absence is a separate bit,
 * because NaN is a value in PromQL.
 */
import type { Budget } from './budget.ts';
import { PromqlError } from './errors.ts';

/**
 * A label set: sorted by name, without empty values (an empty value is no label), immutable.
 * Compared and grouped by `key`, which is made once.
 */
export const METRIC_NAME = '__name__';

/**
 * A label's name and value; the value is never empty, because in PromQL that means that the label
 * is absent.
 */
export type LabelPair = readonly [name: string, value: string];

/**
 * An immutable set of labels, `__name__` among them. Equal sets have equal keys, by which series
 * are grouped and matched.
 */
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

/** The steps of a query: `startMs + i * stepMs` for `i` in [0, count). */
export interface Grid {
  readonly startMs: number;
  /** At least 1; of no meaning where `count` is 1. */
  readonly stepMs: number;
  readonly count: number;
}

/** A column: one value per step. Only its creator may write to it. */
export interface Column {
  readonly values: Float64Array;
  /** 1 where the step has a value; where it is 0 the value means nothing. */
  readonly present: Uint8Array;
}

/** A series over the grid: element `i` is its value at step `i` where `present[i]` is 1. */
export interface SeriesColumn extends Column {
  readonly labels: Labels;
}

/** An instant vector at every step. */
export interface VectorValue {
  readonly type: 'vector';
  /**
   * Distinct label sets among the series present at any one step. The order is kept where an
   * instant query's order means something (sort, topk).
   */
  readonly series: readonly SeriesColumn[];
}

/** Present at every step. */
export interface ScalarValue {
  readonly type: 'scalar';
  readonly values: Float64Array;
}

/** A string, the same at every step. */
export interface StringValue {
  readonly type: 'string';
  readonly value: string;
}

/**
 * The value of any expression but a range, which is never a value between operators: see
 * `RangeValue`.
 */
export type Value = VectorValue | ScalarValue | StringValue;

/** A range selector's or subquery's series, and the window that each step looks at. */
export interface RangeValue {
  readonly series: readonly RangeSeries[];
  /** Length of every window, ms. */
  readonly rangeMs: number;
  /**
   * Each step's last included time, offset and `@` applied; never falling. The window of step i is
   * (endsMs[i] - rangeMs, endsMs[i]]: open on the left, as of Prometheus 3.
   */
  readonly endsMs: Float64Array;
}

/** The samples of one series that some window may hold. */
export interface RangeSeries {
  /** With `__name__`. */
  readonly labels: Labels;
  /** Stale markers taken out (`stale` is null). */
  readonly runs: readonly SampleRun[];
}

// Memory of columns and label sets. Everything is asked of the budget before it is
// made, so that a query which would need gigabytes is refused and never begun. What an object costs
// besides its elements is counted too: at one step it is nearly all. The figures are what V8 takes
// (measured), and a quarter more.

/** The arrays that columns are made of; their memory is counted in the budget. */
export type ColumnArray = Float64Array | Uint8Array;

const VALUE_BYTES = Float64Array.BYTES_PER_ELEMENT;
/** Bytes of an array besides its elements, with its share of the column that it belongs to. */
const ARRAY_BYTES = 250;
/** Bytes of a label set without its texts, with its key and its nameless set. */
const LABELS_BYTES = 400;
const LABEL_PAIR_BYTES = 32;
/** Its text is in the label, in the set's key and in the nameless set's key. */
const LABEL_CHAR_BYTES = 4;
/**
 * Of a series that a selection hands out: the series, its label set, its runs besides their
 * samples. A source that keeps them from query to query has them all the same.
 */
export const STORED_SERIES_BYTES = 1500;

/**
 * Longest value that an expression may make for a label, UTF-16 code units: as long as one that it
 * can quote.
 */
export const LABEL_VALUE_MAX = 16 * 1024;

/**
 * Zeros, one for each step, after their memory was taken from the budget. Throws `PromqlError`
 * execution when it is used up.
 */
export function takeValues(count: number, budget: Budget): Float64Array {
  budget.takeBytes(count * VALUE_BYTES + ARRAY_BYTES);
  return new Float64Array(count);
}

/**
 * Marks of presence, one for each step and all absent, after their memory was taken from the
 * budget.
 */
export function takePresence(count: number, budget: Budget): Uint8Array {
  budget.takeBytes(count + ARRAY_BYTES);
  return new Uint8Array(count);
}

/** An empty column of `count` steps, whose memory has been requested. */
export function takeColumn(count: number, budget: Budget): Column {
  budget.takeBytes(columnBytes(count));
  return { values: new Float64Array(count), present: new Uint8Array(count) };
}

/** What `takeColumn` asks for. */
export function columnBytes(count: number): number {
  return count * (VALUE_BYTES + 1) + 2 * ARRAY_BYTES;
}

/** Memory that was requested for the array. */
export function arrayBytes(array: ColumnArray): number {
  return array.byteLength + ARRAY_BYTES;
}

/**
 * Returns the memory of arrays that nobody reads any more. Giving an array back twice would let a
 * query exceed its budget.
 */
export function giveBack(budget: Budget, ...arrays: readonly ColumnArray[]): void {
  for (const array of arrays) budget.giveBackBytes(arrayBytes(array));
}

/**
 * Asks for the memory of a label set that an operator has made, for as long as the query lasts:
 * label sets go from column to column, so that none of them knows when it is the last.
 */
export function takeLabels(labels: Labels, budget: Budget): Labels {
  budget.takeBytes(labelsBytes(labels));
  return labels;
}

function labelsBytes({ pairs }: Labels): number {
  let chars = 0;
  for (const [name, value] of pairs) chars += name.length + value.length;
  return LABELS_BYTES + pairs.length * LABEL_PAIR_BYTES + chars * LABEL_CHAR_BYTES;
}

/** The pieces as one label value. Throws `PromqlError` execution before it makes one too long. */
export function joinLabelValue(pieces: Iterable<string>): string {
  const kept: string[] = [];
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    if (length > LABEL_VALUE_MAX) throw tooLong();
    kept.push(piece);
  }
  return kept.join('');
}

function tooLong(): PromqlError {
  const message = `the expression would make a label value of more than ${LABEL_VALUE_MAX} characters`;
  return new PromqlError('execution', message);
}

// How operators make columns and hand them on. They may share arrays with each other (a filter keeps
// its input's values), because nobody writes to a column that was handed on; the memory of an array
// is given back when the operator that read it has not handed it on.

/** Throws `PromqlError` execution, before any work, where a column for each series is too much. */
export function assertRoom(series: number, { count }: Pick<Grid, 'count'>, budget: Budget): void {
  const bytes = series * columnBytes(count);
  budget.takeBytes(bytes);
  budget.giveBackBytes(bytes);
}

/** The same number at each of `count` steps. */
export function constantScalar(value: number, count: number, budget: Budget): ScalarValue {
  return { type: 'scalar', values: takeValues(count, budget).fill(value) };
}

/** A column of the given arrays, which are shared and not copied. */
export function seriesColumn(labels: Labels, values: Float64Array, present: Uint8Array) {
  return { labels, values, present };
}

/** A vector of columns; their label sets must differ at each step. */
export function vectorOf(series: readonly SeriesColumn[]): VectorValue {
  return { type: 'vector', series };
}

/** True when the column has a value at any step. */
export function isAnyPresent(present: Uint8Array): boolean {
  return present.includes(1);
}

/** Time of step `i`, Unix ms. */
export function stepTime(grid: Grid, i: number): number {
  return grid.startMs + i * grid.stepMs;
}

/** Calls `visit` with each array that the value holds. */
function visitArrays(value: Value, visit: (array: ColumnArray) => void): void {
  if (value.type === 'scalar') visit(value.values);
  if (value.type !== 'vector') return;
  for (const { values, present } of value.series) {
    visit(values);
    visit(present);
  }
}

/**
 * Arrays that outlive the operator which reads them: they are shared by many columns, or kept for
 * a second place of the expression.
 */
export class PinnedArrays {
  readonly #arrays = new Set<object>();
  readonly #allPresent = new Map<number, Uint8Array>();

  pin(value: Value): void {
    visitArrays(value, (array) => this.#arrays.add(array));
  }

  has(array: object): boolean {
    return this.#arrays.has(array);
  }

  /** The presence of whatever has a value at every step: one array for all such columns. */
  allPresent(count: number, budget: Budget): Uint8Array {
    let present = this.#allPresent.get(count);
    if (present === undefined) {
      present = takePresence(count, budget).fill(1);
      this.#allPresent.set(count, present);
      this.#arrays.add(present);
    }
    return present;
  }

  /** Releases the memory of what an operator has read and did not pass on. */
  release(inputs: readonly Value[], output: Value | null, budget: Budget): void {
    const kept = new Set<object>();
    if (output !== null) visitArrays(output, (array) => kept.add(array));
    let bytes = 0;
    const count = (array: ColumnArray) => {
      if (kept.has(array) || this.#arrays.has(array)) return;
      kept.add(array);
      bytes += arrayBytes(array);
    };
    for (const input of inputs) visitArrays(input, count);
    budget.giveBackBytes(bytes);
  }
}

/**
 * A run of samples of one series. The arrays may be shared with a cache: never write to them. They
 * may extend beyond the requested range; the evaluator finds its windows by time.
 */
export interface SampleRun {
  /** Unix ms, strictly increasing. */
  readonly timesMs: Float64Array;
  /** As long as `timesMs`, each one a sample; NaN is a value. */
  readonly values: Float64Array;
  /** 1 where the sample is a stale marker: the series ended there. null = none is. */
  readonly stale: Uint8Array | null;
  /** Its counters are another source's than those of the run before it: no increase lies between the two. */
  readonly isOfNewSource?: true;
}
