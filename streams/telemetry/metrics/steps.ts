/**
 * From observations to points on a grid of steps. Each point covers the step that ends at its
 * time, (time - step, time], and is the sum of numerators over the sum of denominators of the
 * observations in it: cpu-seconds over interval x vCPUs, bytes over seconds, the mean of a gauge.
 */
import type { Derivation } from './catalogue.ts';
import { quotient } from './derive.ts';
import type { DerivedSeries } from './query.ts';

export interface MetricPoint {
  /** End of the step it covers, Unix ms. */
  readonly timeMs: number;
  readonly value: number;
}

/** First and last point, both inclusive, and the step, Unix ms and ms. */
export interface StepGrid {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

/** Points of the steps that hold an observation with a value, oldest first. */
export function stepPoints(
  derivation: Derivation,
  { timesMs, numerators, denominators, values }: Omit<DerivedSeries, 'labels'>,
  { startMs, endMs, stepMs }: StepGrid,
): MetricPoint[] {
  const points: MetricPoint[] = [];
  let i = 0;
  while (i < timesMs.length && (timesMs[i] ?? 0) <= startMs - stepMs) i++;
  for (let timeMs = startMs; timeMs <= endMs && i < timesMs.length; timeMs += stepMs) {
    const first = i;
    const sums = { numerator: 0, denominator: 0 };
    for (; i < timesMs.length && (timesMs[i] ?? 0) <= timeMs; i++) {
      sums.numerator += numerators[i] ?? 0;
      sums.denominator += denominators[i] ?? 0;
    }
    // A single reading is told as it was read: weighing it could cost its last digit.
    const value = i === first + 1 ? (values[first] ?? Number.NaN) : quotient(derivation, sums);
    if (!Number.isNaN(value)) points.push({ timeMs, value });
  }
  return points;
}

/**
 * At each step's end the seconds since the newest observation at or before it. The one metric that
 * has a value without an observation in the step, because it says how long there was none; before
 * the first observation it has none either.
 */
export function agePoints(
  timesMs: Float64Array,
  { startMs, endMs, stepMs, lastBeforeMs }: StepGrid & { lastBeforeMs?: number | undefined },
): MetricPoint[] {
  const points: MetricPoint[] = [];
  let newestMs = lastBeforeMs;
  let i = 0;
  for (let timeMs = startMs; timeMs <= endMs; timeMs += stepMs) {
    for (; i < timesMs.length && (timesMs[i] ?? 0) <= timeMs; i++) newestMs = timesMs[i];
    if (newestMs !== undefined) points.push({ timeMs, value: (timeMs - newestMs) / 1000 });
  }
  return points;
}
