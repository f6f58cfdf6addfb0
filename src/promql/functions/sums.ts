/**
 * sum_over_time and avg_over_time: Kahan-Neumaier summation written out in the loop, because it is
 * most of what a dashboard costs. What overflows on the way is done again with care.
 */
import { KahanSum } from '../kahan.ts';
import { type BatchKernel, overRuns, type SeriesKernel } from './windows.ts';

export const sumKernel: SeriesKernel = overRuns(summing(false));
export const avgKernel: SeriesKernel = overRuns(summing(true));

function summing(average: boolean): BatchKernel {
  return ({ values, base, bounds, step, untilStep }, out) => {
    for (let i = step; i < untilStep; i++) {
      const from = (bounds.from[i] as number) - base;
      const to = (bounds.to[i] as number) - base;
      if (from === to) continue;
      let sum = values[from] as number;
      let correction = 0;
      for (let at = from + 1; at < to; at++) {
        const value = values[at] as number;
        const total = sum + value;
        if (Math.abs(sum) >= Math.abs(value)) correction += sum - total + value;
        else correction += value - total + sum;
        sum = total;
      }
      out.present[i] = 1;
      const samples = to - from;
      if (Number.isFinite(sum)) {
        out.values[i] = average ? sum / samples + correction / samples : sum + correction;
      } else {
        // An infinite sum stays infinite, or becomes NaN: its correction means nothing.
        out.values[i] = average ? carefulAverage(values, from, to) : sum;
      }
    }
  };
}

/**
 * The mean where the sum is too great for a double, though the mean is not: from the sample on that
 * makes it overflow, the running mean is kept instead (Prometheus 3.5, `funcAvgOverTime`).
 */
function carefulAverage(values: Float64Array, from: number, to: number): number {
  const running = new KahanSum();
  running.reset(values[from] as number);
  let at = from + 1;
  for (; at < to && !isInfinite(running.sum + (values[at] as number)); at++) {
    running.add(values[at] as number);
  }
  const summed = at - from;
  running.reset(running.sum / summed, running.correction / summed);
  for (; at < to; at++) {
    const count = at - from + 1;
    const kept = (count - 1) / count;
    running.reset(kept * running.sum, kept * running.correction);
    running.add((values[at] as number) / count);
  }
  return running.total;
}

function isInfinite(value: number): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
}
