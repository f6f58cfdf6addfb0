/** A query that took more memory than a thread may have, as its asker is told. */
import { HistoryError } from '../../../../sqlite/telemetry/history/history-error.ts';
import { Refusal } from '../../../../streams/platform/refusal.ts';

/**
 * What needs more memory than there is would need it again: a `Refusal` RESPONSE_TOO_LARGE, not to
 * be repeated. Throws whatever else `reply` throws.
 */
export async function withinMemory(reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    if (!(error instanceof HistoryError) || error.reason !== 'OUT_OF_MEMORY') throw error;
    const message = 'The answer needs more memory than a query may have: ask for less';
    throw new Refusal('RESPONSE_TOO_LARGE', message);
  }
}
