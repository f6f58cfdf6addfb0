/**
 * max_over_time and min_over_time. Windows that overlap much are combined from the extremes of
 * shared segments, so that each sample is read once. Minima are the maxima of the negated values,
 * which is exact.
 */
import { type Column, giveBack, takeColumn, takeValues } from '../values.ts';
import { overlapMuch, segmentsOf } from './window-segments.ts';
import { type BatchKernel, overRuns, type SeriesKernel, type SeriesWindows } from './windows.ts';

export const maxKernel: SeriesKernel = extremeKernel(1);
export const minKernel: SeriesKernel = extremeKernel(-1);

/** NaN is a value only where a window has no other (Prometheus 3.5, `funcMaxOverTime`). */
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
  giveBack(budget, maxima, present, tails);
  budget.giveBackBytes(heldBytes);
}

/** NaN is less than any number; of equal ones the first, as 0 and -0 are. */
function greaterOf(first: number, second: number): number {
  return second > first || Number.isNaN(first) ? second : first;
}
