/** The retry rule: faults that are temporary, so that the same change can be sent again. */
import { Refusal } from '../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';

/** True if the stream did not respond, or this node accepts no changes at the moment. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof StreamUnavailable) return true;
  return (
    error instanceof Refusal &&
    (error.reason === 'NOT_READY' || error.reason === 'TOO_MANY_REQUESTS')
  );
}
