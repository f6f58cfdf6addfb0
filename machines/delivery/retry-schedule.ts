/**
 * The retry schedule of deliveries: fixed waits with jitter. A receiver may extend a wait
 * (`Retry-After`), but never past the delivery's 24 hours. Pure: the jitter is an argument.
 */

/** Age at which a delivery expires: nothing is sent after it. */
export const DELIVERY_LIFETIME_MS = 24 * 3_600_000;

/** Latest age of an attempt: leaves a minute for it (at most 10 s) and for a late timer. */
export const LAST_ATTEMPT_AGE_MS = DELIVERY_LIFETIME_MS - 60_000;

/** Waits after the 1st, 2nd, ... attempt, seconds. One last attempt follows, before 24 h. */
export const RETRY_WAIT_SECONDS = [
  5, 30, 120, 300, 900, 1800, 3600, 7200, 14_400, 21_600, 21_600,
] as const;

/**
 * Longest wait that a receiver may request for a message about a firing incident, ms, unless it
 * limits all messages of this service: a page that is a day late is lost.
 */
export const FIRING_RETRY_AFTER_MS_MAX = 3_600_000;

/** Each wait is between 1 - JITTER and 1 + JITTER times its scheduled length. */
export const JITTER = 0.2;

export interface FailedAttempt {
  /** Attempts made so far: 1 after the first. */
  readonly attempt: number;
  /** In [0, 1); 0.5 = exactly on schedule. */
  readonly jitter: number;
  /** Wait requested by the receiver, ms; undefined = none. */
  readonly retryAfterMs?: number | undefined;
  /** Age of the delivery, ms. */
  readonly ageMs: number;
}

/**
 * The wait before the next attempt, ms: the longer of schedule and `Retry-After`, shortened so that
 * one last attempt is made before 24 h. Undefined if no other attempt fits.
 */
export function retryDelayMs(failed: FailedAttempt): number | undefined {
  const remainingMs = LAST_ATTEMPT_AGE_MS - failed.ageMs;
  if (remainingMs <= 0) return undefined;
  const seconds = RETRY_WAIT_SECONDS[failed.attempt - 1];
  if (seconds === undefined) return remainingMs;
  const scheduledMs = Math.round(seconds * 1000 * (1 - JITTER + 2 * JITTER * failed.jitter));
  return Math.min(Math.max(scheduledMs, failed.retryAfterMs ?? 0), remainingMs);
}
