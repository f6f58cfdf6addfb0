/**
 * The cap of a destination: the number of its attempts that may be open at a time. It grows with
 * every quick acceptance, shrinks while responses are slow, and returns to one after a failure.
 */

/** Cap of a new destination: nothing is known about its endpoint. */
export const ATTEMPT_CAP_MIN = 1;

/** Cap of an endpoint that responds quickly. */
export const ATTEMPT_CAP_MAX = 64;

/** Cap of an endpoint that responds, but slowly. */
const SLOW_CAP_MAX = 8;

/** Response time above which an endpoint is slow, ms. */
const SLOW_MS = 2_000;

/** The end of an attempt, for its destination. `neutral`: it tells nothing about the endpoint. */
export interface AttemptEnd {
  readonly result: 'healthy' | 'failing' | 'neutral';
  readonly durationMs: number;
}

/** The cap after an attempt. @param max largest cap for the destination's kind */
export function nextAttemptCap(cap: number, end: AttemptEnd, max: number): number {
  if (end.result === 'neutral') return cap;
  if (end.result === 'failing') return ATTEMPT_CAP_MIN;
  const ceiling = end.durationMs > SLOW_MS ? Math.min(max, SLOW_CAP_MAX) : max;
  return cap > ceiling ? Math.max(ceiling, Math.floor(cap / 2)) : Math.min(cap + 1, ceiling);
}
