/**
 * A clock for a whole service with real sockets: it runs as the machine's clock does, and skips
 * times that a test does not want to wait for. Wake-ups that become due run in order.
 */
import { type CancelWakeUp, type Clock, systemClock } from '../../streams/platform/clock.ts';

interface WakeUp {
  readonly dueMs: number;
  readonly wake: () => void;
  stop: CancelWakeUp;
}

export class SkippingClock implements Clock {
  #skippedMs = 0;
  readonly #wakeUps = new Set<WakeUp>();

  now(): number {
    return systemClock.now() + this.#skippedMs;
  }

  elapsed(): number {
    return systemClock.elapsed() + this.#skippedMs;
  }

  wakeAfter(delayMs: number, wake: () => void): CancelWakeUp {
    const wakeUp: WakeUp = { dueMs: this.elapsed() + delayMs, wake, stop: () => {} };
    this.#wakeUps.add(wakeUp);
    this.#arm(wakeUp);
    return () => {
      wakeUp.stop();
      this.#wakeUps.delete(wakeUp);
    };
  }

  /** Advances both times by `ms` at once. */
  advance(ms: number): void {
    this.#skippedMs += ms;
    const inOrder = [...this.#wakeUps].toSorted((a, b) => a.dueMs - b.dueMs);
    for (const wakeUp of inOrder) {
      wakeUp.stop();
      this.#arm(wakeUp);
    }
  }

  #arm(wakeUp: WakeUp): void {
    wakeUp.stop = systemClock.wakeAfter(Math.max(0, wakeUp.dueMs - this.elapsed()), () => {
      this.#wakeUps.delete(wakeUp);
      wakeUp.wake();
    });
  }
}
