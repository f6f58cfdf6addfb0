/**
 * Values between operators: whole columns, one element a step, for all steps of the
 * query at once. An instant query is a grid of one step. Absent is a bit of its own, because NaN
 * is a value in PromQL.
 */
import type { Labels } from './labels.ts';
import type { SampleRun } from './series-source.ts';

/** The steps of a query: `startMs + i * stepMs` for `i` in [0, count). */
export interface Grid {
  readonly startMs: number;
  /** At least 1; of no meaning where `count` is 1. */
  readonly stepMs: number;
  readonly count: number;
}

/** One value a step. Only its maker may write to a column. */
export interface Column {
  readonly values: Float64Array;
  /** 1 where the step has a value; where it is 0 the value means nothing. */
  readonly present: Uint8Array;
}

export interface SeriesColumn extends Column {
  readonly labels: Labels;
}

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

export interface StringValue {
  readonly type: 'string';
  readonly value: string;
}

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

export interface RangeSeries {
  /** With `__name__`. */
  readonly labels: Labels;
  /** Stale markers taken out (`stale` is null). */
  readonly runs: readonly SampleRun[];
}
