/**
 * Coverage of a range by observations, in sampling intervals: the number of intervals with an
 * observation, out of all. A source may observe more often than that, and never exactly on time. So
 * the number of observations itself cannot be compared with the expected number: two in one
 * interval do not make up for a gap.
 */
import { SAMPLING_INTERVAL_MS } from './derive-columns.ts';

/**
 * Counts the intervals of observation times, which must be ascending. Intervals are centred at
 * multiples from the first observation, so that a small delay does not move an observation into the
 * next interval.
 */
export class ObservedIntervals {
  #firstMs: number | undefined;
  #last = -1;
  #count = 0;

  add(timeMs: number): void {
    this.#firstMs ??= timeMs;
    const interval = Math.round((timeMs - this.#firstMs) / SAMPLING_INTERVAL_MS);
    if (interval === this.#last) return;
    this.#last = interval;
    this.#count++;
  }

  get count(): number {
    return this.#count;
  }

  /** At most `expected`: a range may begin and end within an interval. */
  within(expected: number): number {
    return Math.min(this.#count, expected);
  }
}

export function observedIntervals(timesMs: Iterable<number>): ObservedIntervals {
  const intervals = new ObservedIntervals();
  for (const timeMs of timesMs) intervals.add(timeMs);
  return intervals;
}

/**
 * Number of sampling intervals in (fromMs, toMs]. If observations exist only since `knownMs`, it
 * counts those since then, including the first observation.
 */
export function expectedIntervals(range: {
  readonly fromMs: number;
  readonly toMs: number;
  readonly knownMs?: number;
}): number {
  const { fromMs, toMs, knownMs = fromMs } = range;
  if (knownMs > toMs || fromMs >= toMs) return 0;
  if (knownMs > fromMs) return Math.floor((toMs - knownMs) / SAMPLING_INTERVAL_MS) + 1;
  // A range shorter than an interval may contain an observation.
  return Math.max(1, Math.round((toMs - fromMs) / SAMPLING_INTERVAL_MS));
}
