/**
 * Whether a member can act at all. A lease proves only that its process reaches NATS: with a full
 * data disk it would renew leases under which it decides nothing. A fault that lasts makes the
 * member stand down, so that others act. The member takes shares again only after a longer time
 * without a fault, so that a part that fails repeatedly does not move them back and forth.
 */
import type { Clock } from '../clock.ts';

/** Time that a fault must last before the member gives up its shares, ms. */
export const STAND_DOWN_MS = 5_000;
/** Time without a fault before it takes shares again, ms. */
export const FIT_AGAIN_MS = 30_000;

export class Fitness {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #fault: () => string | undefined;
  /** Elapsed time since which there is a fault, or none, ms. */
  #sinceMs: number;
  #isFaulty = false;
  /** Sentence of the fault for which it stands down. */
  #reason: string | undefined;

  /** @param fault a sentence that says what keeps the member from acting; undefined: nothing */
  constructor(clock: Pick<Clock, 'elapsed'>, fault: () => string | undefined) {
    this.#clock = clock;
    this.#fault = fault;
    this.#sinceMs = clock.elapsed();
  }

  /**
   * Why the member stands down now; undefined: it does not. A fault is only seen by a call, so call
   * it at least once a second.
   */
  standsDown(): string | undefined {
    const nowMs = this.#clock.elapsed();
    const fault = this.#fault();
    if ((fault !== undefined) !== this.#isFaulty) {
      this.#isFaulty = fault !== undefined;
      this.#sinceMs = nowMs;
    }
    const lastedMs = nowMs - this.#sinceMs;
    if (fault === undefined) {
      if (lastedMs >= FIT_AGAIN_MS) this.#reason = undefined;
    } else if (this.#reason !== undefined || lastedMs >= STAND_DOWN_MS) {
      this.#reason = fault;
    }
    return this.#reason;
  }
}
