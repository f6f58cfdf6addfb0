/**
 * The aggregations over time: one value from all samples in a window. Those common in dashboards
 * are loops over many steps at once; the others are arithmetic over one window (Prometheus 3.5,
 * `promql/functions.go`).
 */
import { KahanSum } from '../kahan.ts';
import { invalidQuantile, quantileOf } from '../quantile.ts';
import { type Column, release, takeColumn, takeValues } from '../values.ts';
import { argumentSpan, rangeArgument, scalarArgument } from './arguments.ts';
import type { CallContext, PromqlFunction, Window, WindowFunction } from './function.ts';
import { overlapMuch, segmentsOf, type WindowSegments } from './window-segments.ts';
import {
  type BatchKernel,
  evaluateWindows,
  overRuns,
  perWindow,
  SampleCursor,
  type SeriesKernel,
  type SeriesWindows,
  type WindowBatch,
  type WindowBounds,
  type WindowOptions,
} from './windows.ts';

/**
 * Aggregations of one series over its window. A window without a sample has no value. They drop the
 * metric name unless `keepsName` is set.
 */
export const overTimeFunctions: Readonly<Record<string, PromqlFunction>> = {
  avg_over_time: ofKernel(() => avgKernel),
  sum_over_time: ofKernel(() => sumKernel),
  max_over_time: ofKernel(() => maxKernel),
  min_over_time: ofKernel(() => minKernel),
  count_over_time: ofKernel(() => countKernel),
  present_over_time: ofKernel(() => presentKernel),
  // Behind a feature flag in Prometheus 3.5, but not in later versions.
  first_over_time: ofKernel(() => firstKernel, { keepsName: true }),
  last_over_time: ofKernel(() => lastKernel, { keepsName: true }),
  changes: ofKernel(() => overRuns(perWindow(changes))),
  resets: ofKernel(() => overRuns(perWindow(resets))),
  stdvar_over_time: ofKernel(() => overRuns(perWindow(varianceFunction()))),
  stddev_over_time: ofKernel(() => {
    const variance = varianceFunction();
    return overRuns(perWindow((window, step) => Math.sqrt(variance(window, step) as number)));
  }),
  quantile_over_time: quantileOverTime,
};

function ofKernel(createKernel: () => SeriesKernel, options?: WindowOptions): PromqlFunction {
  return (context) => {
    const range = rangeArgument(context, 0);
    return { type: 'vector', series: evaluateWindows(context, range, createKernel(), options) };
  };
}

const countKernel: SeriesKernel = ({ bounds, budget }, out) => {
  budget.takeSamples(bounds.count);
  for (let step = 0; step < bounds.count; step++) {
    const samples = (bounds.to[step] as number) - (bounds.from[step] as number);
    if (samples > 0) put(out, step, samples);
  }
};

const presentKernel: SeriesKernel = ({ bounds, budget }, out) => {
  budget.takeSamples(bounds.count);
  for (let step = 0; step < bounds.count; step++) {
    if ((bounds.to[step] as number) > (bounds.from[step] as number)) put(out, step, 1);
  }
};

const lastKernel: SeriesKernel = ({ runs, bounds, budget }, out) => {
  budget.takeSamples(bounds.count);
  const cursor = new SampleCursor(runs);
  for (let step = 0; step < bounds.count; step++) {
    const last = (bounds.to[step] as number) - 1;
    if (last < (bounds.from[step] as number)) continue;
    cursor.moveTo(last);
    put(out, step, cursor.value(last));
  }
};

const firstKernel: SeriesKernel = ({ runs, bounds, budget }, out) => {
  budget.takeSamples(bounds.count);
  const cursor = new SampleCursor(runs);
  for (let step = 0; step < bounds.count; step++) {
    const first = bounds.from[step] as number;
    if (first >= (bounds.to[step] as number)) continue;
    cursor.moveTo(first);
    put(out, step, cursor.value(first));
  }
};

function put(out: Column, step: number, value: number): void {
  out.values[step] = value;
  out.present[step] = 1;
}

function changes({ values, from, to }: Window): number {
  let count = 0;
  let before = values[from] as number;
  for (let i = from + 1; i < to; i++) {
    const value = values[i] as number;
    // NaN to NaN is not a change, although the two are not equal.
    if (value !== before && !(Number.isNaN(value) && Number.isNaN(before))) count++;
    before = value;
  }
  return count;
}

function resets({ values, from, to }: Window): number {
  let count = 0;
  for (let i = from + 1; i < to; i++) {
    if ((values[i] as number) < (values[i - 1] as number)) count++;
  }
  return count;
}

/** Welford's running variance, with both sums compensated. */
function varianceFunction(): WindowFunction {
  const mean = new KahanSum();
  const squares = new KahanSum();
  return ({ values, from, to }) => {
    mean.reset();
    squares.reset();
    for (let i = from; i < to; i++) {
      const value = values[i] as number;
      const delta = value - mean.total;
      mean.add(delta / (i - from + 1));
      squares.add(delta * (value - mean.total));
    }
    return squares.total / (to - from);
  };
}

function quantileOverTime(context: CallContext): ReturnType<PromqlFunction> {
  const phis = scalarArgument(context, 0);
  const span = argumentSpan(context, 0);
  const { budget } = context;
  let sorted = takeValues(0, budget);
  const kernel = perWindow(({ values, from, to }, step) => {
    const phi = phis[step] as number;
    const warning = invalidQuantile(phi);
    if (warning !== undefined) context.annotations.warn(warning, span);
    const count = to - from;
    if (sorted.length < count) {
      release(budget, sorted);
      sorted = takeValues(2 * count, budget);
    }
    for (let i = 0; i < count; i++) sorted[i] = values[from + i] as number;
    return quantileOf(phi, sorted, count);
  });
  const range = rangeArgument(context, 1);
  const series = evaluateWindows(context, range, overRuns(kernel), { dependsOnStep: true });
  release(budget, sorted);
  return { type: 'vector', series };
}

const NONE: Float64Array = new Float64Array(0);

/**
 * sum_over_time and avg_over_time: Kahan-Neumaier summation written out in the loop, because it is
 * most of the work of a dashboard. Windows that overlap a lot are combined from partial sums.
 * Nothing is ever subtracted from a sum, because that would keep the rounding error of removed
 * samples. Sums that overflow are recomputed more carefully.
 */
const sumKernel: SeriesKernel = summing(false);
const avgKernel: SeriesKernel = summing(true);

function summing(average: boolean): SeriesKernel {
  let corrections = NONE;
  const eachWindow = overRuns((batch, out) => {
    addUp(batch, out, corrections);
    finish(batch, average, out, corrections);
  });
  return (windows, out) => {
    const { bounds, budget } = windows;
    if (overlapMuch(bounds) && slideSums(windows, average, out)) return;
    corrections = takeValues(bounds.count, budget);
    eachWindow(windows, out);
    release(budget, corrections);
    // Kernels outlive the query.
    corrections = NONE;
  };
}

/** Writes sums to `out`, and their corrections to `corrections`. */
function addUp(
  { values, base, bounds, step, untilStep }: WindowBatch,
  out: Column,
  corrections: Float64Array,
): void {
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
    out.values[i] = sum;
    out.present[i] = 1;
    corrections[i] = correction;
  }
}

function finish(batch: WindowBatch, average: boolean, out: Column, corrections: Float64Array) {
  for (let i = batch.step; i < batch.untilStep; i++) {
    const sum = out.values[i] as number;
    // An infinite sum stays infinite or becomes NaN, so its correction means nothing.
    if (!Number.isFinite(sum)) {
      if (average) out.values[i] = carefulAverage(batch, i);
      continue;
    }
    const samples = average ? samplesAt(batch, i) : 1;
    if (samples > 0) out.values[i] = sum / samples + (corrections[i] as number) / samples;
  }
}

function samplesAt({ bounds }: { readonly bounds: WindowBounds }, step: number): number {
  return (bounds.to[step] as number) - (bounds.from[step] as number);
}

/**
 * The mean when the sum exceeds a double but the mean does not: the running mean replaces the sum
 * from the sample that makes it overflow (Prometheus 3.5, `funcAvgOverTime`).
 */
function carefulAverage({ values, base, bounds }: WindowBatch, step: number): number {
  const from = (bounds.from[step] as number) - base;
  const to = (bounds.to[step] as number) - base;
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

/**
 * Computes each window as the sum of a tail of older segments, summed from their end backwards, and
 * a head of newer ones, summed as they arrive ("two stacks"): three additions per segment, however
 * long the windows are. Returns false, with `out` undefined, if a sum is not finite.
 */
function slideSums(windows: SeriesWindows, average: boolean, out: Column): boolean {
  const { budget } = windows;
  const segments = segmentsOf(windows.bounds, budget);
  const { stretches } = segments;
  const parts = takeColumn(stretches.count, budget);
  const corrections = takeValues(stretches.count, budget);
  overRuns((batch) => addUp(batch, parts, corrections))({ ...windows, bounds: stretches }, parts);
  const tails = takeValues(stretches.count, budget);
  const tailCorrections = takeValues(stretches.count, budget);
  const room = { segments, parts, corrections, tails, tailCorrections };
  const isDone = addStacks(windows, room, average, out);
  release(budget, parts.values, parts.present, corrections, tails, tailCorrections);
  budget.releaseBytes(segments.heldBytes);
  return isDone;
}

interface Stacks {
  readonly segments: WindowSegments;
  /** Sums of segments, and their pending corrections. */
  readonly parts: Column;
  readonly corrections: Float64Array;
  /** Space for the sums of tails. */
  readonly tails: Float64Array;
  readonly tailCorrections: Float64Array;
}

function addStacks(windows: SeriesWindows, stacks: Stacks, average: boolean, out: Column): boolean {
  const { parts, corrections, tails, tailCorrections } = stacks;
  const { from, to } = stacks.segments;
  const tail = new KahanSum();
  const head = new KahanSum();
  let middle = 0;
  let added = 0;
  for (let step = 0; step < windows.bounds.count; step++) {
    const first = from[step] as number;
    const end = to[step] as number;
    if (first === end) continue;
    if (first >= middle) {
      tail.reset();
      for (let i = end - 1; i >= first; i--) {
        tail.merge(parts.values[i] as number, corrections[i] as number);
        tails[i] = tail.sum;
        tailCorrections[i] = tail.correction;
      }
      head.reset();
      middle = end;
      added = end;
    }
    for (; added < end; added++) {
      head.merge(parts.values[added] as number, corrections[added] as number);
    }
    tail.reset(tails[first], tailCorrections[first]);
    tail.merge(head.sum, head.correction);
    if (!Number.isFinite(tail.sum)) return false;
    const samples = average ? samplesAt(windows, step) : 1;
    out.values[step] = tail.sum / samples + tail.correction / samples;
    out.present[step] = 1;
  }
  return true;
}

/**
 * max_over_time and min_over_time. Windows that overlap a lot are combined from the extremes of
 * shared segments, so that each sample is read once. Minima are the maxima of the negated values,
 * which is exact.
 */
const maxKernel: SeriesKernel = extremeKernel(1);
const minKernel: SeriesKernel = extremeKernel(-1);

/** NaN is the result only if a window has no other value (Prometheus 3.5, `funcMaxOverTime`). */
function extremeKernel(sign: 1 | -1): SeriesKernel {
  const scan = overRuns(scanKernel(sign));
  return (windows, out) => {
    if (overlapMuch(windows.bounds)) slideMaxima(windows, scan, out);
    else scan(windows, out);
    if (sign > 0) return;
    for (let i = 0; i < windows.bounds.count; i++) out.values[i] = -(out.values[i] as number);
  };
}

/** The maxima of the values times `sign`. */
function scanKernel(sign: 1 | -1): BatchKernel {
  return ({ values, base, bounds, step, untilStep }, out) => {
    for (let i = step; i < untilStep; i++) {
      const to = (bounds.to[i] as number) - base;
      let at = (bounds.from[i] as number) - base;
      if (at === to) continue;
      let greatest = sign * (values[at++] as number);
      while (at < to && Number.isNaN(greatest)) greatest = sign * (values[at++] as number);
      for (; at < to; at++) {
        const value = sign * (values[at] as number);
        if (value > greatest) greatest = value;
      }
      out.values[i] = greatest;
      out.present[i] = 1;
    }
  };
}

/**
 * Computes each window from a tail of older segments, their maxima taken from the end backwards,
 * and a head of newer ones, taken as they arrive ("two stacks"): three comparisons per segment,
 * however long the windows are.
 */
function slideMaxima(windows: SeriesWindows, scan: SeriesKernel, out: Column): void {
  const { budget } = windows;
  const { stretches, from, to, heldBytes } = segmentsOf(windows.bounds, budget);
  const { values: maxima, present } = takeColumn(stretches.count, budget);
  scan({ ...windows, bounds: stretches }, { values: maxima, present });
  const tails = takeValues(stretches.count, budget);
  let head = Number.NaN;
  let middle = 0;
  let seen = 0;
  for (let step = 0; step < windows.bounds.count; step++) {
    const first = from[step] as number;
    const end = to[step] as number;
    if (first === end) continue;
    if (first >= middle) {
      let tail = Number.NaN;
      for (let i = end - 1; i >= first; i--) {
        tail = greaterOf(maxima[i] as number, tail);
        tails[i] = tail;
      }
      head = Number.NaN;
      middle = end;
      seen = end;
    }
    for (; seen < end; seen++) head = greaterOf(head, maxima[seen] as number);
    out.values[step] = greaterOf(tails[first] as number, head);
    out.present[step] = 1;
  }
  release(budget, maxima, present, tails);
  budget.releaseBytes(heldBytes);
}

/** NaN is less than any number; of equal values, such as 0 and -0, the first is returned. */
function greaterOf(first: number, second: number): number {
  return second > first || Number.isNaN(first) ? second : first;
}
