/** Errors by which a read reports that stored data is damaged. */
import { isDamagedFile } from '../../sqlite/platform/file-check.ts';
import { DamagedRow } from '../../sqlite/platform/row-checksum.ts';
import { HistoryError } from '../../sqlite/telemetry/history/history-error.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';

/** Records that a call failed on damage; other errors are ignored. */
export type RecordDamage = (error: unknown) => void;

/** The message for callers. The log and `/readyz` name the place. */
export const DAMAGED =
  'Stored data that this request needs is damaged, and the service returns none of it. Other requests work. ' +
  'Tell the operator of the service: its log names the place';

/** True if a read met damaged data: a row, a chunk, or a page. */
export function isDamage(error: unknown): error is Error {
  if (error instanceof DamagedRow) return true;
  if (error instanceof HistoryError) return error.reason === 'DAMAGED';
  if (error instanceof StreamUnavailable) return isDamagedFile(error.cause);
  return isDamagedFile(error);
}
