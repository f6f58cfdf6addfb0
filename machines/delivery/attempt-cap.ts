/**
 * The cap of a destination: attempts to it that may be open at a time. It grows with every quick acceptance,
 * shrinks while answers are slow, and is one again after a failure.
 */

/** Of a new destination: nothing is known of its endpoint. */
export const ATTEMPT_CAP_MIN = 1;

/** Of an endpoint that answers quickly. */
export const ATTEMPT_CAP_MAX = 64;

/** Of an endpoint that answers, but slowly. */
const SLOW_CAP_MAX = 8;

/** An answer that took longer is slow, ms. */
const SLOW_MS = 2_000;

/** The end of an attempt as its destination takes it. `neutral`: it says nothing of the endpoint. */
export interface AttemptEnd {
  readonly result: 'healthy' | 'failing' | 'neutral';
  readonly durationMs: number;
}

/** The cap after an attempt has ended. @param max largest cap of the destination's kind */
export function nextAttemptCap(cap: number, end: AttemptEnd, max: number): number {
  if (end.result === 'neutral') return cap;
  if (end.result === 'failing') return ATTEMPT_CAP_MIN;
  const ceiling = end.durationMs > SLOW_MS ? Math.min(max, SLOW_CAP_MAX) : max;
  return cap > ceiling ? Math.max(ceiling, Math.floor(cap / 2)) : Math.min(cap + 1, ceiling);
}
