/** The position in EVENTS up to which this node has applied commits, and a wait for a later one. */

interface Waiter {
  readonly sequence: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class AppliedPosition {
  #sequence: number;
  #failure: unknown;
  readonly #waiters = new Set<Waiter>();

  constructor(sequence: number) {
    this.#sequence = sequence;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Moves on and lets go whoever waited for it. */
  advance(sequence: number): void {
    this.#sequence = sequence;
    for (const waiter of this.#waiters) {
      if (waiter.sequence <= sequence) this.#leave(waiter).resolve();
    }
  }

  /** Nothing will be applied any more: everybody waiting, now or later, gets `error`. */
  fail(error: unknown): void {
    this.#failure = error;
    for (const waiter of this.#waiters) this.#leave(waiter).reject(error);
  }

  /** Resolves once `sequence` is applied; rejects with the reason of `signal`, or of `fail`. */
  waitFor(sequence: number, signal: AbortSignal): Promise<void> {
    if (this.#sequence >= sequence) return Promise.resolve();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const abort = (): void => this.#leave(waiter).reject(signal.reason);
      const end = (settle: () => void) => (): void => {
        signal.removeEventListener('abort', abort);
        settle();
      };
      const waiter: Waiter = {
        sequence,
        resolve: end(resolve),
        reject: (error) => end(() => reject(error))(),
      };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  #leave(waiter: Waiter): Waiter {
    this.#waiters.delete(waiter);
    return waiter;
  }
}
