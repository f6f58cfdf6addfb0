/**
 * When a delivery that was not accepted is tried again: a fixed schedule with jitter that a
 * receiver may stretch (`Retry-After`) but never past the delivery's 24 hours. Pure: the jitter is
 * handed in.
 */

/** After this long since its creation nothing of a delivery is sent any more. */
export const DELIVERY_LIFETIME_MS = 24 * 3_600_000;

/** The last attempt leaves a minute for itself (10 s at most) and for a late timer. */
export const LAST_ATTEMPT_AGE_MS = DELIVERY_LIFETIME_MS - 60_000;

/** Waits after the 1st, 2nd, ... attempt, seconds; after the 11th comes one last before 24 h. */
export const RETRY_WAIT_SECONDS = [
  5, 30, 120, 300, 900, 1800, 3600, 7200, 14_400, 21_600, 21_600,
] as const;

/** Each wait is between 1 - JITTER and 1 + JITTER times its scheduled length. */
export const JITTER = 0.2;

export interface FailedAttempt {
  /** Attempts made so far: 1 after the first. */
  readonly attempt: number;
  /** In [0, 1); 0.5 = exactly on schedule. */
  readonly jitter: number;
  /** What the receiver asked for, ms from now; undefined = nothing. */
  readonly retryAfterMs?: number | undefined;
  /** Since the delivery's creation, ms. */
  readonly ageMs: number;
}

/**
 * Milliseconds to wait before the next attempt: the longer of schedule and `Retry-After`, cut so
 * that one last attempt is made before 24 h. `undefined` when there is no room for another.
 */
export function retryDelayMs(failed: FailedAttempt): number | undefined {
  const remainingMs = LAST_ATTEMPT_AGE_MS - failed.ageMs;
  if (remainingMs <= 0) return undefined;
  const seconds = RETRY_WAIT_SECONDS[failed.attempt - 1];
  if (seconds === undefined) return remainingMs;
  const scheduledMs = Math.round(seconds * 1000 * (1 - JITTER + 2 * JITTER * failed.jitter));
  return Math.min(Math.max(scheduledMs, failed.retryAfterMs ?? 0), remainingMs);
}
