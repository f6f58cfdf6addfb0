/**
 * sum_over_time and avg_over_time: Kahan-Neumaier summation written out in the loop, because it is
 * most of the work of a dashboard. Windows that overlap much are combined from partial sums.
 * Nothing is ever subtracted from a sum, because that would keep the rounding error of removed
 * samples. Sums that overflow are computed again with more care.
 */

import { KahanSum } from '../kahan.ts';
import { type Column, giveBack, takeColumn, takeValues } from '../values.ts';
import { overlapMuch, segmentsOf, type WindowSegments } from './window-segments.ts';
import {
  overRuns,
  type SeriesKernel,
  type SeriesWindows,
  type WindowBatch,
  type WindowBounds,
} from './windows.ts';

const NONE: Float64Array = new Float64Array(0);

export const sumKernel: SeriesKernel = summing(false);
export const avgKernel: SeriesKernel = summing(true);

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
    giveBack(budget, corrections);
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
    // An infinite sum stays infinite, or becomes NaN: its correction means nothing.
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
 * The mean when the sum exceeds a double but the mean does not: from the sample that makes it
 * overflow, the running mean is kept instead (Prometheus 3.5, `funcAvgOverTime`).
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
  giveBack(budget, parts.values, parts.present, corrections, tails, tailCorrections);
  budget.giveBackBytes(segments.heldBytes);
  return isDone;
}

interface Stacks {
  readonly segments: WindowSegments;
  /** Sums of stretches, and what they are still to be corrected by. */
  readonly parts: Column;
  readonly corrections: Float64Array;
  /** Room for the sums of tails. */
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
