/**
 * max_over_time and min_over_time. Windows that overlap much would look at each sample many times:
 * there a queue of the candidates that can still become the greatest is kept from step to step
 * (the monotonic queue of sliding window maxima), and each sample is looked at once. Minima are the
 * maxima of the negated values, which is exact.
 */
import type { SampleRun } from '../series-source.ts';
import type { Column } from '../values.ts';
import { SampleCursor } from './sample-cursor.ts';
import { type BatchKernel, overRuns, type SeriesKernel, type SeriesWindows } from './windows.ts';

export const maxKernel: SeriesKernel = extremeKernel(1);
export const minKernel: SeriesKernel = extremeKernel(-1);

/** Windows that a sample is part of, on average, from which on the queue is the cheaper way. */
const OVERLAP_MIN = 4;

/** NaN is a value only where a window has no other (Prometheus 3.5, `funcMaxOverTime`). */
function extremeKernel(sign: 1 | -1): SeriesKernel {
  const scan = overRuns(scanKernel(sign));
  return (windows, out) => {
    const { count, from, to, visits } = windows.bounds;
    const spanned = (to[count - 1] as number) - (from[0] as number);
    if (visits > OVERLAP_MIN * spanned) slide(windows, sign, out);
    else scan(windows, out);
  };
}

function scanKernel(sign: 1 | -1): BatchKernel {
  return ({ values, base, bounds, step, untilStep }, out) => {
    for (let i = step; i < untilStep; i++) {
      const to = (bounds.to[i] as number) - base;
      let at = (bounds.from[i] as number) - base;
      if (at === to) continue;
      let greatest = sign * (values[at] as number);
      for (at++; at < to && Number.isNaN(greatest); at++) greatest = sign * (values[at] as number);
      for (; at < to; at++) {
        const value = sign * (values[at] as number);
        if (value > greatest) greatest = value;
      }
      out.values[i] = sign * greatest;
      out.present[i] = 1;
    }
  };
}

function slide({ runs, bounds, budget }: SeriesWindows, sign: 1 | -1, out: Column): void {
  const { from, to, count } = bounds;
  budget.takeSamples((to[count - 1] as number) - (from[0] as number));
  const queue = new CandidateQueue(longestWindow(from, to), runs);
  let seen = from[0] as number;
  for (let step = 0; step < count; step++) {
    const first = from[step] as number;
    const end = to[step] as number;
    queue.dropBefore(first);
    if (seen < first) seen = first;
    if (seen < end) queue.add(seen, end, sign);
    seen = end;
    if (first === end) continue;
    out.values[step] = sign * queue.greatest;
    out.present[step] = 1;
  }
}

function longestWindow(from: Int32Array, to: Int32Array): number {
  let longest = 0;
  for (let i = 0; i < from.length; i++) {
    longest = Math.max(longest, (to[i] as number) - (from[i] as number));
  }
  return longest;
}

/** Samples, each later and not greater than the one before it, in a ring. */
class CandidateQueue {
  readonly #cursor: SampleCursor;
  readonly #positions: Int32Array;
  readonly #values: Float64Array;
  readonly #mask: number;
  /** Ever rising; the place in the ring is what the mask leaves. */
  #head = 0;
  #tail = 0;

  constructor(longest: number, runs: readonly SampleRun[]) {
    const capacity = 2 ** Math.ceil(Math.log2(longest + 1));
    this.#cursor = new SampleCursor(runs);
    this.#positions = new Int32Array(capacity);
    this.#values = new Float64Array(capacity);
    this.#mask = capacity - 1;
  }

  /** NaN where there is no candidate: all of the window's samples are NaN. */
  get greatest(): number {
    if (this.#head === this.#tail) return Number.NaN;
    return this.#values[this.#head & this.#mask] as number;
  }

  dropBefore(position: number): void {
    while (
      this.#head < this.#tail &&
      (this.#positions[this.#head & this.#mask] as number) < position
    ) {
      this.#head++;
    }
  }

  /** Samples [from, to). */
  add(from: number, to: number, sign: number): void {
    const mask = this.#mask;
    let tail = this.#tail;
    for (let at = from; at < to; at++) {
      this.#cursor.moveTo(at);
      const value = sign * this.#cursor.value(at);
      if (Number.isNaN(value)) continue;
      while (tail > this.#head && (this.#values[(tail - 1) & mask] as number) < value) tail--;
      this.#positions[tail & mask] = at;
      this.#values[tail++ & mask] = value;
    }
    this.#tail = tail;
  }
}
