/**
 * The PromQL engine: text in, columns out. Parses and checks, evaluates over a `SeriesSource`, and
 * tells warnings. Pure: it reads no clock and no disk, and stops when its budget says so.
 */
import type { Budget } from './budget.ts';
import type { Labels } from './labels.ts';
import type { SeriesSource } from './series-source.ts';

export interface EngineOptions {
  /** How long the newest sample stands for the present, ms. Default 5 minutes. */
  readonly lookbackMs?: number;
  /** Step of a subquery that names none, ms. Default 1 minute. */
  readonly subqueryStepMs?: number;
}

export interface InstantQuery extends EngineOptions {
  readonly expression: string;
  /** Unix ms. */
  readonly timeMs: number;
}

export interface RangeQuery extends EngineOptions {
  readonly expression: string;
  /** First and last step, both inclusive, Unix ms. */
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

export interface ResultSeries {
  readonly labels: Labels;
  /** Unix ms, rising. */
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
}

export type ResultData =
  | { readonly type: 'scalar'; readonly timeMs: number; readonly value: number }
  | { readonly type: 'string'; readonly timeMs: number; readonly value: string }
  | {
      readonly type: 'vector';
      readonly timeMs: number;
      /** In the order that sort or topk gave, else in any. */
      readonly samples: readonly { readonly labels: Labels; readonly value: number }[];
    }
  /** Sorted by labels. */
  | { readonly type: 'matrix'; readonly series: readonly ResultSeries[] };

export interface QueryResult {
  readonly data: ResultData;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

export interface QueryDeps {
  readonly source: SeriesSource;
  readonly budget: Budget;
}

/** Throws `PromqlError`. */
export declare function queryInstant(query: InstantQuery, deps: QueryDeps): QueryResult;

/** Throws `PromqlError`. The answer is a matrix. */
export declare function queryRange(query: RangeQuery, deps: QueryDeps): QueryResult;
