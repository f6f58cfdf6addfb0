/**
 * Coverage of a range by observations, in sampling intervals: in how many there is one, of how many
 * there are. A source may observe more often than that, and never exactly on time, so observations
 * themselves do not compare with what is expected: two in one interval make up for no gap.
 */
import { SAMPLING_INTERVAL_MS } from './derive-columns.ts';

/**
 * Counts the intervals of observation times, which come in ascending order. Intervals are those around
 * the first one and its multiples, so that no small delay moves an observation into the next.
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

  /** No more than `expected`: a range may begin and end within an interval. */
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
 * Sampling intervals of (fromMs, toMs]. For what is known only since `knownMs` those since then, the
 * first observation with them.
 */
export function expectedIntervals(range: {
  readonly fromMs: number;
  readonly toMs: number;
  readonly knownMs?: number;
}): number {
  const { fromMs, toMs, knownMs = fromMs } = range;
  if (knownMs > toMs || fromMs >= toMs) return 0;
  if (knownMs > fromMs) return Math.floor((toMs - knownMs) / SAMPLING_INTERVAL_MS) + 1;
  // A range shorter than an interval may hold an observation.
  return Math.max(1, Math.round((toMs - fromMs) / SAMPLING_INTERVAL_MS));
}
