/**
 * The clock port: calendar time, elapsed time, and later wake-ups. Nothing below `src` reads the
 * time in any other way, so that a whole system can run on a virtual clock in one test.
 */

/** Stops a wake-up that has not happened yet; harmless afterwards and on a second call. */
export type CancelWakeUp = () => void;

export interface Clock {
  /** Calendar time in Unix milliseconds. May jump both ways: never subtract two of them. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes back. For deadlines and durations. */
  elapsed(): number;
  /** Calls `wake` once, at least `delayMs` milliseconds of elapsed time from now. */
  wakeAfter(delayMs: number, wake: () => void): CancelWakeUp;
}

/**
 * Longest lead of a recorded time over the clock, ms; a sample may be as far ahead. A longer one
 * was recorded by a clock that has been set back since: nothing waits until the clock has caught
 * up.
 */
export const AHEAD_MS_MAX = 60_000;

/**
 * True if a recorded time can only be from a clock that was set back since. Infinity is not a
 * recorded time: it means never.
 */
export function isAhead(recordedMs: number, nowMs: number): boolean {
  return recordedMs > nowMs + AHEAD_MS_MAX && recordedMs !== Number.POSITIVE_INFINITY;
}

/**
 * The next time to record. It is never earlier than the last one, except after a clock was set
 * back.
 */
export function nextTime(lastMs: number, nowMs: number): number {
  return isAhead(lastMs, nowMs) ? nowMs : Math.max(lastMs, nowMs);
}

/** The machine's own clock. Wake-ups keep the process alive only until they are cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  wakeAfter(delayMs, wake) {
    // Node fires a longer timer at once; no delay used here reaches 24 days, but the guard is
    // cheap. For a time in the past, Node would print a warning.
    const timer = setTimeout(wake, Math.max(0, Math.min(delayMs, 2 ** 31 - 1)));
    return () => clearTimeout(timer);
  },
};

interface WakeUp {
  readonly dueMs: number;
  readonly order: number;
  readonly wake: () => void;
}

/**
 * A clock that moves only on command. Wake-ups run in order of their due time, including those
 * started inside another wake-up (xstate's SimulatedClock does not chain, so it is not used here).
 */
export class VirtualClock implements Clock {
  #nowMs: number;
  #elapsedMs = 0;
  #order = 0;
  readonly #wakeUps = new Set<WakeUp>();

  /** @param startMs calendar time at the start, Unix milliseconds */
  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  elapsed(): number {
    return this.#elapsedMs;
  }

  wakeAfter(delayMs: number, wake: () => void): CancelWakeUp {
    const entry = { dueMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, wake };
    this.#wakeUps.add(entry);
    return () => void this.#wakeUps.delete(entry);
  }

  /**
   * Advances both times by `ms` and runs the wake-ups that fall due. Awaits between wake-ups, so
   * that asynchronous work of one wake-up can start further wake-ups before time advances.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsedMs + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#moveTo(next.dueMs);
      this.#wakeUps.delete(next);
      next.wake();
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.#moveTo(end);
  }

  /** Moves calendar time alone, like a correction by NTP or an operator. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }

  #next(end: number): WakeUp | undefined {
    let first: WakeUp | undefined;
    for (const entry of this.#wakeUps) {
      if (entry.dueMs > end) continue;
      const earlier = !first || entry.dueMs < first.dueMs;
      if (earlier || (entry.dueMs === first?.dueMs && entry.order < first.order)) first = entry;
    }
    return first;
  }

  #moveTo(elapsedMs: number): void {
    this.#nowMs += elapsedMs - this.#elapsedMs;
    this.#elapsedMs = elapsedMs;
  }
}
