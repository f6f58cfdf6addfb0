/**
 * Why history could not answer or store, as one error with a closed set of reasons. The world
 * failing, not the caller: rows stay in the log until they are in chunks, so that nothing
 * acknowledged is lost by any of these.
 */

/**
 * `DAMAGED`: bytes on disk are not what was written. `UNAVAILABLE`: a thread or the disk failed.
 * `OVERLOADED`: too many reads wait. `CLOSED`: the store is closed, or closing.
 */
export type HistoryErrorReason = 'DAMAGED' | 'UNAVAILABLE' | 'OVERLOADED' | 'CLOSED';

export class HistoryError extends Error {
  readonly reason: HistoryErrorReason;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  constructor(reason: HistoryErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'HistoryError';
    this.reason = reason;
    this.retryable = reason === 'UNAVAILABLE' || reason === 'OVERLOADED';
  }
}
