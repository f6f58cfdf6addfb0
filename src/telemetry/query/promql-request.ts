/**
 * A read of the PromQL URL, as it goes from the HTTP route to a query thread and back: plain data,
 * already authenticated and with its parameters parsed. The answer is bytes, because making JSON
 * of a large result would stop the thread that takes samples in.
 */

export type PromqlCall =
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

export interface PromqlRequest {
  /** The one project whose series exist for this request. */
  readonly project: string;
  readonly call: PromqlCall;
  /** Elements of the answer at most; 0 = all. */
  readonly limit: number;
  /** Of `lookback_delta`; undefined = the default. */
  readonly lookbackMs?: number;
  /** Of `timeout`: less than the service's own limit, ms. */
  readonly timeoutMs?: number;
  /** How the answer may be packed. */
  readonly encoding: 'identity' | 'gzip' | 'zstd';
}

export interface PromqlAnswer {
  /** HTTP status. */
  readonly status: number;
  /** The JSON envelope, packed as `encoding` says. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly encoding: 'identity' | 'gzip' | 'zstd';
}

/** Queries run in threads of their own. */
export interface PromqlQueries {
  /**
   * Every fault of the expression or its data is an answer with a status. Throws a `Refusal`
   * TOO_MANY_REQUESTS or NOT_READY, the reason of `signal` when the asker has gone, or a
   * `HistoryError` DAMAGED or FAULT, which are for the log alone.
   */
  run(request: PromqlRequest, signal: AbortSignal): Promise<PromqlAnswer>;
}
