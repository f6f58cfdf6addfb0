/**
 * Splits overlapping windows into the segments that they share. Between two adjacent window limits
 * the same samples belong to the same windows, so each segment is aggregated once, and a window is
 * combined from segments instead of samples.
 *
 *     windows   [-----------)
 *                   [-----------)
 *     segments  [---|-------|---)
 */
import type { Budget } from '../budget.ts';
import type { WindowBounds } from './windows.ts';

/**
 * Segments of a series' windows: window `i` consists of segments `from[i]` to `to[i] - 1`, in order
 * of time.
 */
export interface WindowSegments {
  /** The segments as windows of their own; none is empty. */
  readonly stretches: WindowBounds;
  /** First segment of each window. */
  readonly from: Int32Array;
  /** One past the last segment of each window. */
  readonly to: Int32Array;
  /** Memory taken from the budget; to be returned after use. */
  readonly heldBytes: number;
}

/** Memory per window: two limits, and its first and last segment. */
const SEGMENT_BYTES = 4 * Int32Array.BYTES_PER_ELEMENT;

/** Average number of windows per sample above which segments are cheaper. */
const OVERLAP_MIN = 3;

/**
 * True when windows share so many samples that aggregating segments first is less work than
 * visiting every window.
 */
export function overlapMuch({ from, to, count, visits }: WindowBounds): boolean {
  return visits > OVERLAP_MIN * ((to[count - 1] as number) - (from[0] as number));
}

/** Segments of windows whose limits never decrease. */
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
