/**
 * Attempts of this member that wait until their destination has a place. A destination with a wide cap
 * has more attempts published than may be open, so that the next ones are opened as soon as others
 * have ended, without a way through the queue between.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';

/** How long an attempt waits here before it returns to its queue, ms. */
const WAIT_MS_MAX = 5_000;

interface Waiter {
  readonly resolve: (hasPlace: boolean) => void;
  readonly cancel: CancelWakeUp;
}

/** In order for each destination. */
export class Places {
  readonly #clock: Clock;
  readonly #waiters = new Map<string, Set<Waiter>>();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Attempts that wait now. */
  get count(): number {
    return this.#count;
  }

  /** True once a place may be free; false when the attempt is to return to its queue. */
  wait(destination: string): Promise<boolean> {
    const waiters = this.#waiters.get(destination) ?? new Set();
    this.#waiters.set(destination, waiters);
    this.#count++;
    return new Promise((resolve) => {
      const cancel = this.#clock.wakeAfter(WAIT_MS_MAX, () =>
        this.#end(destination, waiter, false),
      );
      const waiter = { resolve, cancel };
      waiters.add(waiter);
    });
  }

  /** An attempt to the destination has ended, here or elsewhere: the next may try. */
  free(destination: string): void {
    const [next] = this.#waiters.get(destination) ?? [];
    if (next) this.#end(destination, next, true);
  }

  /** The destination failed: those that wait return to its queue, which knows when to go on. */
  refuse(destination: string): void {
    for (const waiter of this.#waiters.get(destination) ?? []) {
      this.#end(destination, waiter, false);
    }
  }

  /** Ends all waiting. */
  refuseAll(): void {
    for (const destination of this.#waiters.keys()) this.refuse(destination);
  }

  #end(destination: string, waiter: Waiter, hasPlace: boolean): void {
    const waiters = this.#waiters.get(destination);
    if (!waiters?.delete(waiter)) return;
    if (waiters.size === 0) this.#waiters.delete(destination);
    this.#count--;
    waiter.cancel();
    waiter.resolve(hasPlace);
  }
}
