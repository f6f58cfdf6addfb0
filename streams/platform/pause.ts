/** Waiting on the clock port, such that an event or an abort ends it at once. */
import type { Clock } from './clock.ts';

/** Resolves after `ms` of elapsed time, or as soon as `signal` aborts; never rejects. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Sleep(clock).pause(ms, signal);
}

/** Pauses that `wake` ends early: all that are in progress, and none that starts later. */
export class Sleep {
  readonly #clock: Clock;
  readonly #ends = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Like `pause`. @param ms Infinity: no time ends it */
  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = (): void => {
        cancel?.();
        this.#ends.delete(end);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const cancel = Number.isFinite(ms) ? this.#clock.wakeAfter(ms, end) : undefined;
      this.#ends.add(end);
      signal?.addEventListener('abort', end, { once: true });
    });
  }

  wake(): void {
    for (const end of [...this.#ends]) end();
  }
}
