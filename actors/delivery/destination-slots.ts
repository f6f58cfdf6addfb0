/**
 * Attempts of this member that wait for a slot at their destination. For a destination with a wide
 * cap, more attempts are published than may be open. The next ones are then opened as soon as
 * others have ended, without a round trip through the queue.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';

/** Maximum wait of an attempt here before it returns to its queue, ms. */
const WAIT_MS_MAX = 5_000;

interface Waiter {
  readonly resolve: (hasSlot: boolean) => void;
  readonly cancel: CancelWakeUp;
}

/** Attempts of each destination wait in order. */
export class DestinationSlots {
  readonly #clock: Clock;
  readonly #waiters = new Map<string, Set<Waiter>>();
  #count = 0;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of waiting attempts. */
  get count(): number {
    return this.#count;
  }

  /** True once a slot may be free; false if the attempt must return to its queue. */
  async wait(destination: string): Promise<boolean> {
    if (this.#isClosed) return false;
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

  /** An attempt to the destination has ended, here or elsewhere, so the next one may try. */
  free(destination: string): void {
    const [next] = this.#waiters.get(destination) ?? [];
    if (next) this.#end(destination, next, true);
  }

  /**
   * The destination failed: waiting attempts return to its queue, which decides when to continue.
   */
  refuse(destination: string): void {
    for (const waiter of this.#waiters.get(destination) ?? []) {
      this.#end(destination, waiter, false);
    }
  }

  /** Ends all waiting, now and later. */
  close(): void {
    this.#isClosed = true;
    for (const destination of this.#waiters.keys()) this.refuse(destination);
  }

  #end(destination: string, waiter: Waiter, hasSlot: boolean): void {
    const waiters = this.#waiters.get(destination);
    if (!waiters?.delete(waiter)) return;
    if (waiters.size === 0) this.#waiters.delete(destination);
    this.#count--;
    waiter.cancel();
    waiter.resolve(hasSlot);
  }
}
