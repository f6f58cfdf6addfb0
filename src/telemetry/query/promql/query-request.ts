/**
 * A PromQL query on its way from the HTTP route to a query thread: plain data, authenticated and
 * with its parameters parsed. The response is bytes, because writing the JSON of a large result
 * would block the thread that receives samples.
 */

import type { SeriesFacts } from '../series/series-thread.ts';

/**
 * The requested operation, one kind for each endpoint of Prometheus's HTTP API. Times are Unix ms,
 * both ends inclusive.
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
  /** Both inclusive, Unix ms; may be far outside of retention. */
  readonly startMs: number;
  readonly endMs: number;
}

/** One request. It is copied to a thread, so it holds only plain data. */
export interface QueryRequest {
  /** The only project whose series exist for this request. */
  readonly project: string;
  readonly operation: QueryOperation;
  /** Maximum number of elements in the response; 0 = all. */
  readonly limit: number;
  /** Value of `lookback_delta`, ms; undefined = the project's. */
  readonly lookbackMs?: number;
  /** Value of `timeout`, ms: less than the service's own limit. */
  readonly timeoutMs?: number;
  /** Accepted encoding of the response. */
  readonly encoding: 'identity' | 'gzip' | 'zstd';
  /** Notices for the response, along with its data: changes made to the request. */
  readonly notices?: readonly string[];
}

/** The final response, for a valid query and for a rejected one. */
export interface PromqlAnswer {
  /** HTTP status. */
  readonly status: number;
  /** The JSON envelope, encoded as in `encoding`. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly encoding: 'identity' | 'gzip' | 'zstd';
}

/** A query that has been scheduled on a thread: the argument of the method `promql`. */
export interface ScheduledQueryRequest extends SeriesFacts {
  readonly request: QueryRequest;
  /** Maximum duration of the evaluation from now, ms. */
  readonly remainingMs: number;
  /** Data centers that are stale now. */
  readonly staleDatacenters: readonly string[];
}
