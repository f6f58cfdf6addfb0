/**
 * Overlapping windows cut into the segments that they share. Between two neighbouring limits of any
 * windows the samples enter and leave together, so each segment is aggregated once, and a window is
 * combined from segments instead of samples.
 *
 *     windows   [-----------)
 *                   [-----------)
 *     segments  [---|-------|---)
 */
import type { Budget } from '../budget.ts';
import type { WindowBounds } from './windows.ts';

/**
 * Segments of a series's windows: window `i` is the segments `from[i]` to `to[i] - 1`, in the order
 * of time.
 */
export interface WindowSegments {
  /** The stretches as windows of their own, none empty. */
  readonly stretches: WindowBounds;
  /** First stretch of each window. */
  readonly from: Int32Array;
  /** One past the last stretch of each window. */
  readonly to: Int32Array;
  /** Taken from the budget; to be given back after use. */
  readonly heldBytes: number;
}

/** Of one window: two limits, and where it begins and ends. */
const SEGMENT_BYTES = 4 * Int32Array.BYTES_PER_ELEMENT;

/** Average number of windows per sample from which segments are cheaper. */
const OVERLAP_MIN = 3;

/**
 * True when windows share so many samples that aggregating segments first is less work than
 * visiting every window.
 */
export function overlapMuch({ from, to, count, visits }: WindowBounds): boolean {
  return visits > OVERLAP_MIN * ((to[count - 1] as number) - (from[0] as number));
}

/** Of windows whose limits never fall. */
export function segmentsOf({ from, to, count }: WindowBounds, budget: Budget): WindowSegments {
  const heldBytes = count * SEGMENT_BYTES;
  budget.takeBytes(heldBytes);
  const limits = new Int32Array(2 * count);
  const fromStretch = new Int32Array(count);
  const toStretch = new Int32Array(count);
  let last = -1;
  let starts = 0;
  let ends = 0;
  while (ends < count) {
    const isStart = starts < count && (from[starts] as number) <= (to[ends] as number);
    const limit = (isStart ? from[starts] : to[ends]) as number;
    if (last < 0 || (limits[last] as number) < limit) limits[++last] = limit;
    if (isStart) fromStretch[starts++] = last;
    else toStretch[ends++] = last;
  }
  const stretches: WindowBounds = {
    count: last,
    from: limits.subarray(0, last),
    to: limits.subarray(1, last + 1),
    visits: (limits[last] as number) - (limits[0] as number),
  };
  return { stretches, from: fromStretch, to: toStretch, heldBytes };
}
