/**
 * Why history could not answer or store. The world failing, not the caller: rows stay in the log
 * until they are in chunks, so that nothing acknowledged is lost by any of these.
 */
export const HISTORY_ERROR_REASONS = ['DAMAGED', 'UNAVAILABLE', 'OVERLOADED', 'CLOSED'] as const;
/**
 * `DAMAGED`: bytes on disk are not what was written. `UNAVAILABLE`: a thread or the disk failed.
 * `OVERLOADED`: too many reads wait. `CLOSED`: the store is closed, or closing.
 */
export type HistoryErrorReason = (typeof HISTORY_ERROR_REASONS)[number];

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
