/**
 * A PromQL query on its whole way, from the HTTP route to a query thread: plain data, authenticated
 * and with its parameters parsed. The answer is bytes, because writing the JSON of a large result
 * would block the thread that takes samples in.
 */

import type { SeriesFacts } from '../series/series-thread.ts';

/**
 * What is asked, one kind for each endpoint of Prometheus's HTTP API. Times are Unix ms, both ends
 * inclusive.
 */
export type QueryOperation =
  | { readonly kind: 'instant'; readonly expression: string; readonly timeMs: number }
  | {
      readonly kind: 'range';
      readonly expression: string;
      readonly startMs: number;
      readonly endMs: number;
      readonly stepMs: number;
    }
  /** `matches`: selectors as text; at least one. */
  | ({ readonly kind: 'series' } & MetadataRange)
  | ({ readonly kind: 'labels' } & MetadataRange)
  | ({ readonly kind: 'labelValues'; readonly label: string } & MetadataRange)
  | { readonly kind: 'format'; readonly expression: string }
  | { readonly kind: 'parse'; readonly expression: string };

interface MetadataRange {
  readonly matches: readonly string[];
  /** Both inclusive, Unix ms; may lie far outside of retention. */
  readonly startMs: number;
  readonly endMs: number;
}

/** One request on its whole way. It is copied to a thread, and so holds plain data alone. */
export interface QueryRequest {
  /** The one project whose series exist for this request. */
  readonly project: string;
  readonly operation: QueryOperation;
  /** Elements of the answer at most; 0 = all. */
  readonly limit: number;
  /** Of `lookback_delta`; undefined = the project's. */
  readonly lookbackMs?: number;
  /** Of `timeout`: less than the service's own limit, ms. */
  readonly timeoutMs?: number;
  /** How the answer may be packed. */
  readonly encoding: 'identity' | 'gzip' | 'zstd';
  /** Said in the answer beside its data: what of the request was changed. */
  readonly notices?: readonly string[];
}

/** The answer as it leaves the service, for a good query and for a refused one. */
export interface PromqlAnswer {
  /** HTTP status. */
  readonly status: number;
  /** The JSON envelope, packed as `encoding` says. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly encoding: 'identity' | 'gzip' | 'zstd';
}

/** A query that has got its turn in a thread: the argument of the method `promql`. */
export interface ScheduledQueryRequest extends SeriesFacts {
  readonly request: QueryRequest;
  /** How long the evaluation may take from now, ms. */
  readonly remainingMs: number;
  /** Data centers that are stale now. */
  readonly staleDatacenters: readonly string[];
}
