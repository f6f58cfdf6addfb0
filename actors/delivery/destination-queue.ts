/**
 * The queue of one destination: how many attempts may be under way, which delivery is next, and when
 * to leave a failing endpoint alone. In memory only: rows say what is due, and a restart begins anew.
 *
 * One to eight attempts in flight, one more after each success, back to one after a failure. Order is
 * strict only within one incident of one recipient. The circuit breaker opens after five failures in
 * a row and lets one probe through after 30 s, doubling to 15 minutes. An endpoint that asks for a
 * rest gets it, up to those 15 minutes (HOOK-15).
 */

const IN_FLIGHT_MAX = 8;
const BREAKER_FAILURES = 5;
const BREAKER_MS = 30_000;
const BREAKER_MS_MAX = 900_000;

/** `neutral`: nothing was sent (suppressed, no longer due, or a fault of this service). */
export type AttemptResult = 'healthy' | 'failing' | 'neutral';

export interface QueuedDelivery {
  readonly project: string;
  readonly delivery: string;
  /** Deliveries of one incident to one recipient are sent one after the other. */
  readonly incident: string;
  readonly recipient: string | null;
}

export class DestinationQueue {
  readonly #waiting = new Map<string, QueuedDelivery>();
  /** `orderOf` of each delivery in flight. */
  readonly #ordered = new Set<string>();
  readonly #inFlight = new Set<string>();
  readonly #spacingMs: number;
  #limit = 1;
  #straightFailures = 0;
  #breakerMs = BREAKER_MS;
  #openUntilMs = 0;
  #restUntilMs = 0;
  /** The last delivery taken, and when the next could have started without it. */
  #last = { delivery: '', beforeMs: 0 };
  #nextStartMs = 0;
  #retired = false;
  /** In flight since before the destination was fixed: their results no longer count. */
  readonly #outdated = new Set<string>();

  /** @param spacingMs between the starts of two attempts, ms; 0 = none */
  constructor(spacingMs = 0) {
    this.#spacingMs = spacingMs;
  }

  /** Attempts under way now. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Queues a delivery. No-op for one that waits or is in flight already. */
  add(job: QueuedDelivery): void {
    if (!this.#inFlight.has(job.delivery)) this.#waiting.set(job.delivery, job);
  }

  /** Takes the next delivery that may start now. @param nowMs elapsed time, ms */
  take(nowMs: number): QueuedDelivery | undefined {
    if (nowMs < this.#closedUntilMs() || this.#inFlight.size >= this.#limit) return undefined;
    for (const job of this.#waiting.values()) {
      if (this.#ordered.has(orderOf(job))) continue;
      this.#waiting.delete(job.delivery);
      this.#inFlight.add(job.delivery);
      this.#ordered.add(orderOf(job));
      this.#last = { delivery: job.delivery, beforeMs: this.#nextStartMs };
      this.#nextStartMs = nowMs + this.#spacingMs;
      return job;
    }
    return undefined;
  }

  /**
   * Records the end of an attempt. Throws when the delivery was not taken: a bug.
   *
   * @param restMs how long the endpoint asked for no attempt, ms
   */
  end(job: QueuedDelivery, result: AttemptResult, nowMs: number, restMs = 0): void {
    if (!this.#inFlight.delete(job.delivery)) {
      throw new Error(`${job.delivery} ended and was not under way`);
    }
    this.#ordered.delete(orderOf(job));
    const isOutdated = this.#outdated.delete(job.delivery);
    if (!isOutdated && result === 'healthy') this.#recover();
    if (!isOutdated && result === 'failing') this.#fail(nowMs);
    if (!isOutdated && restMs > 0) this.#restUntilMs = nowMs + Math.min(restMs, BREAKER_MS_MAX);
    // An attempt that sent nothing needs no spacing after it.
    const isLast = this.#last.delivery === job.delivery;
    if (result === 'neutral' && isLast) this.#nextStartMs = this.#last.beforeMs;
  }

  /** The destination is deleted: waiting deliveries end at their recheck, so no breaker is needed. */
  retire(): void {
    this.#retired = true;
    this.#openUntilMs = 0;
    this.#restUntilMs = 0;
  }

  /** The destination was fixed: earlier failures do not count, and attempts in flight block nothing. */
  reset(): void {
    for (const delivery of this.#inFlight) this.#outdated.add(delivery);
    this.#limit = Math.min(this.#inFlight.size + 1, IN_FLIGHT_MAX);
    this.#straightFailures = 0;
    this.#breakerMs = BREAKER_MS;
    this.#openUntilMs = 0;
    this.#restUntilMs = 0;
  }

  /** True when nothing waits or is in flight and no failure counts: the queue can be dropped. */
  isIdle(nowMs: number): boolean {
    if (this.#waiting.size > 0 || this.#inFlight.size > 0) return false;
    return this.#retired || (this.#straightFailures === 0 && nowMs >= this.#closedUntilMs());
  }

  /** Elapsed time (ms) at which the next may start; undefined when one may now, or none waits. */
  wakeAtMs(nowMs: number): number | undefined {
    const untilMs = this.#closedUntilMs();
    return this.#waiting.size > 0 && untilMs > nowMs ? untilMs : undefined;
  }

  #closedUntilMs(): number {
    return Math.max(this.#openUntilMs, this.#restUntilMs, this.#nextStartMs);
  }

  #recover(): void {
    this.#limit = Math.min(this.#limit + 1, IN_FLIGHT_MAX);
    this.#straightFailures = 0;
    this.#breakerMs = BREAKER_MS;
    this.#openUntilMs = 0;
  }

  #fail(nowMs: number): void {
    this.#limit = 1;
    this.#straightFailures++;
    // Failures of attempts already in flight when the breaker opened do not extend it.
    if (this.#straightFailures < BREAKER_FAILURES || nowMs < this.#openUntilMs) return;
    this.#openUntilMs = nowMs + this.#breakerMs;
    this.#breakerMs = Math.min(this.#breakerMs * 2, BREAKER_MS_MAX);
  }
}

function orderOf({ incident, recipient }: QueuedDelivery): string {
  return recipient === null ? incident : `${incident} ${recipient}`;
}
