/**
 * Values between operators, and the memory they take: whole columns, one element per step, for all
 * steps of the query at once. An instant query is a grid of one step. Absence is a separate bit,
 * because NaN is a value in PromQL.
 */
import type { Budget } from './budget.ts';
import { PromqlError } from './errors.ts';

/**
 * A label set: sorted by name, without empty values (an empty value is no label), immutable. It is
 * compared and grouped by `key`, which is computed once.
 */
export const METRIC_NAME = '__name__';

/**
 * A label's name and value. The value is never empty, because in PromQL that means that the label
 * is absent.
 */
export type LabelPair = readonly [name: string, value: string];

/**
 * An immutable set of labels, including `__name__`. Equal sets have equal keys, by which series are
 * grouped and matched.
 */
export class Labels {
  static readonly empty = new Labels([]);

  /** Sorted by name in UTF-16 order, which for ASCII equals Prometheus's order. */
  readonly pairs: readonly LabelPair[];
  #key: string | undefined;
  #nameless: Labels | undefined;

  /** `pairs` must be sorted and distinct, with no empty value; use `of` for anything else. */
  private constructor(pairs: readonly LabelPair[]) {
    this.pairs = pairs;
  }

  /**
   * A label set from pairs in any order. The last of equal names wins; empty values are dropped.
   * The pair objects themselves are kept, which saves half of a label set's memory, because many
   * sets share them.
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
   * Equal label sets have equal keys; different ones have different keys. The key contains lengths
   * instead of separators, because names and values may contain any character.
   */
  get key(): string {
    this.#key ??= this.pairs.map(keyOfPair).join('');
    return this.#key;
  }

  /** '' if there is no such label. */
  get(name: string): string {
    for (const pair of this.pairs) if (pair[0] === name) return pair[1];
    return '';
  }

  /** The metric name; '' if it was dropped. */
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

  /** Computed once: nearly every function and operator drops the name. */
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
  /** At least 1; meaningless if `count` is 1. */
  readonly stepMs: number;
  readonly count: number;
}

/** A column: one value per step. Only its creator may write to it. */
export interface Column {
  readonly values: Float64Array;
  /** 1 where the step has a value; where it is 0, the value means nothing. */
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
   * Label sets are distinct among the series present at any one step. The order is kept if it means
   * something in an instant query (sort, topk).
   */
  readonly series: readonly SeriesColumn[];
}

/** A number at each step; never absent. */
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
 * The value of any expression except a range, which is never a value between operators: see
 * `RangeValue`.
 */
export type Value = VectorValue | ScalarValue | StringValue;

/** Series of a range selector or subquery, and the window of each step. */
export interface RangeValue {
  readonly series: readonly RangeSeries[];
  /** Length of every window, ms. */
  readonly rangeMs: number;
  /**
   * Each step's last included time, offset and `@` applied; never decreasing. The window of step i
   * is (endsMs[i] - rangeMs, endsMs[i]]: left-open, as in Prometheus since version 3.
   */
  readonly endsMs: Float64Array;
}

/** The samples of one series that any window may hold. */
export interface RangeSeries {
  /** Labels, `__name__` included. */
  readonly labels: Labels;
  /** Runs without stale markers (`stale` is null). */
  readonly runs: readonly SampleRun[];
}

// Memory of columns and label sets. It is taken from the budget before it is allocated, so that a
// query which would need gigabytes is rejected before it starts. The overhead of an object besides
// its elements is counted too: at one step it is nearly everything. The figures are measured in V8,
// plus a quarter.

/** The arrays that columns are made of; their memory is counted in the budget. */
export type ColumnArray = Float64Array | Uint8Array;

const VALUE_BYTES = Float64Array.BYTES_PER_ELEMENT;
/** Overhead of an array besides its elements, bytes, including its share of its column. */
const ARRAY_BYTES = 250;
/** Bytes of a label set without its texts, with its key and its nameless set. */
const LABELS_BYTES = 400;
const LABEL_PAIR_BYTES = 32;
/** Its text occurs in the label, in the set's key and in the nameless set's key. */
const LABEL_CHAR_BYTES = 4;
/**
 * Memory of a selected series, bytes: the series, its label set, and its runs without their
 * samples. It is also charged if the source caches them between queries.
 */
export const STORED_SERIES_BYTES = 1500;

/**
 * Maximum length of a label value that an expression may create, UTF-16 code units: the length of
 * the longest value that it can quote.
 */
export const LABEL_VALUE_MAX = 16 * 1024;

/**
 * Zeros, one per step, after their memory was taken from the budget. Throws `PromqlError` execution
 * if the budget is exhausted.
 */
export function takeValues(count: number, budget: Budget): Float64Array {
  budget.takeBytes(count * VALUE_BYTES + ARRAY_BYTES);
  return new Float64Array(count);
}

/** Presence marks, one per step and all absent, after their memory was taken from the budget. */
export function takePresence(count: number, budget: Budget): Uint8Array {
  budget.takeBytes(count + ARRAY_BYTES);
  return new Uint8Array(count);
}

/** An empty column of `count` steps, whose memory has been taken from the budget. */
export function takeColumn(count: number, budget: Budget): Column {
  budget.takeBytes(columnBytes(count));
  return { values: new Float64Array(count), present: new Uint8Array(count) };
}

/** Memory that `takeColumn` takes, bytes. */
export function columnBytes(count: number): number {
  return count * (VALUE_BYTES + 1) + 2 * ARRAY_BYTES;
}

/** Memory that was taken for the array, bytes. */
export function arrayBytes(array: ColumnArray): number {
  return array.byteLength + ARRAY_BYTES;
}

/**
 * Returns the memory of arrays that are no longer read. Returning an array twice would let a query
 * exceed its budget.
 */
export function release(budget: Budget, ...arrays: readonly ColumnArray[]): void {
  for (const array of arrays) budget.releaseBytes(arrayBytes(array));
}

/**
 * Takes the memory of a label set that an operator created, until the end of the query: label sets
 * are passed from column to column, so the last use is unknown.
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

/**
 * Joins the pieces to one label value. Throws `PromqlError` execution before the value gets too
 * long.
 */
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

// How operators create columns and pass them on. Columns may share arrays (a filter keeps its
// input's values), because nothing writes to a column once it was passed on. The memory of an array
// is returned when the operator that read it has not passed it on.

/**
 * Throws `PromqlError` execution, before any work, if one column per series would exceed the
 * budget.
 */
export function assertRoom(series: number, { count }: Pick<Grid, 'count'>, budget: Budget): void {
  const bytes = series * columnBytes(count);
  budget.takeBytes(bytes);
  budget.releaseBytes(bytes);
}

/** The same number at each of `count` steps. */
export function constantScalar(value: number, count: number, budget: Budget): ScalarValue {
  return { type: 'scalar', values: takeValues(count, budget).fill(value) };
}

/** A column of the given arrays, which are shared, not copied. */
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

/** Calls `visit` with each array of the value. */
function visitArrays(value: Value, visit: (array: ColumnArray) => void): void {
  if (value.type === 'scalar') visit(value.values);
  if (value.type !== 'vector') return;
  for (const { values, present } of value.series) {
    visit(values);
    visit(present);
  }
}

/**
 * Arrays that outlive the operator that reads them: they are shared by many columns, or kept for a
 * second occurrence in the expression.
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

  /** The presence of a column with a value at every step: one array for all such columns. */
  allPresent(count: number, budget: Budget): Uint8Array {
    let present = this.#allPresent.get(count);
    if (present === undefined) {
      present = takePresence(count, budget).fill(1);
      this.#allPresent.set(count, present);
      this.#arrays.add(present);
    }
    return present;
  }

  /** Releases the memory that an operator has read and not passed on. */
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
    budget.releaseBytes(bytes);
  }
}

/**
 * A run of samples of one series. The arrays may be shared with a cache: never write to them. They
 * may extend beyond the requested range; the evaluator finds its windows by time.
 */
export interface SampleRun {
  /** Unix ms, strictly increasing. */
  readonly timesMs: Float64Array;
  /** As long as `timesMs`, one sample each; NaN is a value. */
  readonly values: Float64Array;
  /** 1 where the sample is a stale marker: the series ended there. null = there is none. */
  readonly stale: Uint8Array | null;
  /**
   * Its counters belong to another source than those of the run before it: no increase is computed
   * between the two.
   */
  readonly isOfNewSource?: true;
}
