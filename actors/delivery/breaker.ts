/**
 * The breaker of one destination: after five consecutive failures nothing is sent for 30 s, and for
 * twice as long after each further failure, up to 15 min. A success closes it. An endpoint may also
 * request a rest. Times are of one clock, whichever the caller uses.
 */
import type { AttemptEnd } from '../../machines/delivery/attempt-cap.ts';

const BREAKER_FAILURES = 5;
const BREAKER_MS = 30_000;
const BREAKER_MS_MAX = 900_000;

/** Pure, apart from its own state. */
export class Breaker {
  #straightFailures = 0;
  #breakerMs = BREAKER_MS;
  #openUntilMs = 0;
  #restUntilMs = 0;

  /** Time before which nothing is sent; 0 = no limit. */
  get closedUntilMs(): number {
    return Math.max(this.#openUntilMs, this.#restUntilMs);
  }

  /** True if there have been failures. */
  get isFailing(): boolean {
    return this.#straightFailures > 0;
  }

  /** Records the end of an attempt. @param restMs time for which no attempts were requested, ms */
  end(result: AttemptEnd['result'], nowMs: number, restMs = 0): void {
    if (result === 'healthy') this.#recover();
    if (result === 'failing') this.#fail(nowMs);
    if (restMs > 0) this.#restUntilMs = nowMs + Math.min(restMs, BREAKER_MS_MAX);
  }

  /** Called when the destination was fixed or deleted: earlier failures do not count. */
  reset(): void {
    this.#recover();
    this.#restUntilMs = 0;
  }

  #recover(): void {
    this.#straightFailures = 0;
    this.#breakerMs = BREAKER_MS;
    this.#openUntilMs = 0;
  }

  #fail(nowMs: number): void {
    this.#straightFailures++;
    // Failures of attempts that were already in flight when the breaker opened do not extend it.
    if (this.#straightFailures < BREAKER_FAILURES || nowMs < this.#openUntilMs) return;
    this.#openUntilMs = nowMs + this.#breakerMs;
    this.#breakerMs = Math.min(this.#breakerMs * 2, BREAKER_MS_MAX);
  }
}

/** The meaning of a delivery's step for its destination; undefined for steps that end no attempt. */
export function attemptEndOf(event: {
  readonly type: string;
  readonly failing?: unknown;
  readonly restMs?: unknown;
}): { readonly result: AttemptEnd['result']; readonly restMs: number } {
  // An endpoint that rejects one message has answered.
  const isAnswered = event.type === 'accepted' || event.type === 'refused';
  const answered = isAnswered ? 'healthy' : 'neutral';
  const result = event.failing === true ? 'failing' : answered;
  return { result, restMs: typeof event.restMs === 'number' ? event.restMs : 0 };
}

/** Events of a destination that make its earlier failures meaningless. */
export const FIXED: ReadonlySet<string> = new Set(['retargeted', 'resumed']);
