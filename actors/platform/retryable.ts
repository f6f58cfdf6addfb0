/** Faults that pass: what could not be committed now can be, unchanged, a moment later. */
import { Refusal } from '../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';

/** The stream gave no answer, or this node takes no changes just now. */
export function isPassing(error: unknown): boolean {
  if (error instanceof StreamUnavailable) return true;
  return (
    error instanceof Refusal &&
    (error.reason === 'NOT_READY' || error.reason === 'TOO_MANY_REQUESTS')
  );
}
