/**
 * Failures of history, as one error with a closed set of reasons. Rows stay in the log until they
 * are in chunks, so none of these loses an acknowledged row.
 */

/**
 * `DAMAGED`: bytes on disk are not what was written. `UNAVAILABLE`: a thread or the disk failed.
 * `OVERLOADED`: too many reads wait. `CLOSED`: the store is closed, or closing. `OUT_OF_MEMORY`: a
 * thread has ended because its work took more memory than a thread may have. `FAULT`: a thread's
 * code threw what it should not; the error has its stack, and is
 * reported to nobody outside. `INCOMPLETE`: rows that were accepted are in the log and not readable yet, because the
 * memory for new rows was full.
 */
export type HistoryErrorReason =
  | 'DAMAGED'
  | 'UNAVAILABLE'
  | 'OVERLOADED'
  | 'CLOSED'
  | 'OUT_OF_MEMORY'
  | 'INCOMPLETE'
  | 'FAULT';

/**
 * Thrown by every read and write of history. `retryable` says whether the same call may succeed
 * later.
 */
export class HistoryError extends Error {
  readonly reason: HistoryErrorReason;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  constructor(reason: HistoryErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'HistoryError';
    this.reason = reason;
    this.retryable = ['UNAVAILABLE', 'OVERLOADED', 'INCOMPLETE'].includes(reason);
  }
}

/** Thrown out of a read that was cancelled. */
export class ReadCancelled extends Error {}
