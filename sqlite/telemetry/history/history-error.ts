/**
 * Failures of history, as one error with a closed set of reasons. Rows stay in the log until they
 * are in chunks, so none of these loses an acknowledged row.
 */

/**
 * `DAMAGED`: bytes on disk differ from those written. `UNAVAILABLE`: a thread or the disk failed.
 * `OVERLOADED`: too many reads are waiting. `CLOSED`: the store is closed or closing.
 * `OUT_OF_MEMORY`: a thread ended because its work exceeded its memory limit. `FAULT`: a thread's
 * code threw an unexpected error; the error has its stack and is never reported outside.
 * `INCOMPLETE`: accepted rows are in the log but not readable yet, because the memory for new rows
 * was full, or because the log is still being read after a start.
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
  /** True if the same call may succeed later. */
  readonly retryable: boolean;

  constructor(reason: HistoryErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'HistoryError';
    this.reason = reason;
    this.retryable = ['UNAVAILABLE', 'OVERLOADED', 'INCOMPLETE'].includes(reason);
  }
}

/** Thrown by a cancelled read. */
export class ReadCancelled extends Error {}
