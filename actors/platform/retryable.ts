/** The retry rule: which faults end by themselves, so that the same change can be sent again. */
import { Refusal } from '../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';

/** True when the stream did not answer, or this node takes no changes at the moment. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof StreamUnavailable) return true;
  return (
    error instanceof Refusal &&
    (error.reason === 'NOT_READY' || error.reason === 'TOO_MANY_REQUESTS')
  );
}
