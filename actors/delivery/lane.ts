/**
 * One destination's lane: how many attempts may be under way, which delivery is next, and when to
 * leave a failing endpoint alone. Soft state: rows say what is due, a restart begins anew.
 *
 * One to eight in flight, growing by one with each success, back to one on failure; strict order
 * only within one incident. The breaker opens after five straight failures and lets one probe
 * through after 30 s, doubling to 15 minutes (webhooks.md, Attempts).
 */

const IN_FLIGHT_MAX = 8;
const BREAKER_FAILURES = 5;
const BREAKER_MS = 30_000;
const BREAKER_MS_MAX = 900_000;

/** `neutral`: nothing was sent (suppressed, no longer due, or a fault of ours). */
export type AttemptResult = 'healthy' | 'failing' | 'neutral';

export interface LaneJob {
  readonly project: string;
  readonly delivery: string;
  /** Deliveries of one incident go one after the other. */
  readonly incident: string;
}

export class Lane {
  readonly #waiting = new Map<string, LaneJob>();
  readonly #incidents = new Set<string>();
  readonly #inFlight = new Set<string>();
  #limit = 1;
  #straightFailures = 0;
  #breakerMs = BREAKER_MS;
  #openUntilMs = 0;
  #retired = false;

  /** Queues a delivery; one that waits or is in flight already changes nothing. */
  add(job: LaneJob): void {
    if (!this.#inFlight.has(job.delivery)) this.#waiting.set(job.delivery, job);
  }

  /** Takes the next delivery that may start now. @param nowMs elapsed time, ms */
  take(nowMs: number): LaneJob | undefined {
    if (nowMs < this.#openUntilMs || this.#inFlight.size >= this.#limit) return undefined;
    for (const job of this.#waiting.values()) {
      if (this.#incidents.has(job.incident)) continue;
      this.#waiting.delete(job.delivery);
      this.#inFlight.add(job.delivery);
      this.#incidents.add(job.incident);
      return job;
    }
    return undefined;
  }

  /** The delivery's attempt ended. Throws when it was not taken before: a bug. */
  end(job: LaneJob, result: AttemptResult, nowMs: number): void {
    if (!this.#inFlight.delete(job.delivery)) {
      throw new Error(`${job.delivery} ended and was not under way`);
    }
    this.#incidents.delete(job.incident);
    if (result === 'healthy') this.#recover();
    if (result === 'failing') this.#fail(nowMs);
  }

  /**
   * The destination is deleted: what still waits comes to nothing and needs no breaker, and how it
   * failed is of no use any more.
   */
  retire(): void {
    this.#retired = true;
    this.#openUntilMs = 0;
  }

  /** Nothing waits, nothing is in flight, no failure is to be remembered: it can be forgotten. */
  isIdle(): boolean {
    const isBusy = this.#waiting.size > 0 || this.#inFlight.size > 0;
    return !isBusy && (this.#retired || this.#straightFailures === 0);
  }

  /** Elapsed time (ms) at which a probe may go, while the breaker is open and something waits. */
  probeAtMs(nowMs: number): number | undefined {
    return this.#waiting.size > 0 && this.#openUntilMs > nowMs ? this.#openUntilMs : undefined;
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
    // Attempts that were on the wire when it opened say nothing new.
    if (this.#straightFailures < BREAKER_FAILURES || nowMs < this.#openUntilMs) return;
    this.#openUntilMs = nowMs + this.#breakerMs;
    this.#breakerMs = Math.min(this.#breakerMs * 2, BREAKER_MS_MAX);
  }
}
