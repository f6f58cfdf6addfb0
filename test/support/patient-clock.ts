/**
 * The machine's clock, on which long waits never end once a test says so: whatever hangs then hangs
 * for as long as the test needs, on a busy machine too.
 */
import { type CancelWakeUp, type Clock, systemClock } from '../../streams/platform/clock.ts';

export class PatientClock implements Clock {
  #endlessMs = Number.POSITIVE_INFINITY;

  readonly now = systemClock.now;
  readonly elapsed = systemClock.elapsed;

  /** From now on, a wait of at least `ms` never ends. */
  withhold(ms: number): void {
    this.#endlessMs = ms;
  }

  wakeAfter(delayMs: number, wake: () => void): CancelWakeUp {
    return delayMs >= this.#endlessMs ? () => {} : systemClock.wakeAfter(delayMs, wake);
  }
}
