/**
 * The samples of a series in each step's window. Found before anything is computed, because
 * the arithmetic is then loops over plain numbers, and series with the same times share the answer.
 * Each end moves by the stride of the step before, which for regular samples is right at once.
 */
import type { Budget } from '../budget.ts';
import type { SampleRun } from '../series-source.ts';
import type { RangeValue } from '../values.ts';

/** Sample positions are counted over all runs of the series, from 0. */
export interface WindowBounds {
  /** Distinct windows: 1 where all steps look at the same one, else one a step. */
  readonly count: number;
  /** First sample of each window. */
  readonly from: Int32Array;
  /** One past the last sample; equal to `from` where the window is empty. */
  readonly to: Int32Array;
  /** Samples in all windows together. */
  visits: number;
}

/** Of one window. */
const BOUNDS_BYTES = 2 * Int32Array.BYTES_PER_ELEMENT;

export class WindowLocator {
  readonly #range: RangeValue;
  readonly #budget: Budget;
  readonly #bounds: WindowBounds;
  #runs: readonly SampleRun[] = [];

  /** `shared`: whether steps that look at the same window have the same answer. */
  constructor(range: RangeValue, shared: boolean, budget: Budget) {
    const { endsMs } = range;
    const still = shared && endsMs[0] === endsMs[endsMs.length - 1];
    const count = still ? 1 : endsMs.length;
    this.#range = range;
    this.#budget = budget;
    budget.takeBytes(count * BOUNDS_BYTES);
    this.#bounds = { count, from: new Int32Array(count), to: new Int32Array(count), visits: 0 };
  }

  /** When no bounds are looked at any more. */
  giveBack(): void {
    this.#budget.giveBackBytes(this.#bounds.count * BOUNDS_BYTES);
  }

  /** Good until the next call, which writes into the same arrays. */
  locate(runs: readonly SampleRun[]): WindowBounds {
    const bounds = this.#bounds;
    if (haveSameTimes(runs, this.#runs)) return bounds;
    this.#runs = runs;
    const { endsMs, rangeMs } = this.#range;
    locateAfter(runs, endsMs, rangeMs, bounds.from);
    locateAfter(runs, endsMs, 0, bounds.to);
    let visits = 0;
    for (let i = 0; i < bounds.count; i++) {
      visits += (bounds.to[i] as number) - (bounds.from[i] as number);
    }
    bounds.visits = visits;
    return bounds;
  }
}

function haveSameTimes(a: readonly SampleRun[], b: readonly SampleRun[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i]?.timesMs !== b[i]?.timesMs) return false;
  return true;
}

/** For each step the number of samples up to `endsMs[step] - backMs`, inclusive. */
function locateAfter(
  runs: readonly SampleRun[],
  endsMs: Float64Array,
  backMs: number,
  positions: Int32Array,
): void {
  let step = 0;
  let base = 0;
  for (const { timesMs } of runs) {
    const lastMs = timesMs[timesMs.length - 1] as number;
    let at = 0;
    let stride = 0;
    for (; step < positions.length; step++) {
      const limitMs = (endsMs[step] as number) - backMs;
      if (lastMs <= limitMs) break;
      const next = firstAfter(timesMs, at, at + stride, limitMs);
      stride = next - at;
      at = next;
      positions[step] = base + at;
    }
    base += timesMs.length;
  }
  positions.fill(base, step);
}

/** Steps tried around the guess before the rest is halved. */
const NEAR = 4;

/** The first place at or after `from` later than `limitMs`; there must be one. */
function firstAfter(timesMs: Float64Array, from: number, guess: number, limitMs: number): number {
  let low = from;
  let high = timesMs.length - 1;
  let at = Math.min(guess, high);
  if ((timesMs[at] as number) > limitMs) {
    for (let tries = 0; tries < NEAR; tries++) {
      if (at === low || (timesMs[at - 1] as number) <= limitMs) return at;
      at--;
    }
    high = at;
  } else {
    for (let tries = 0; tries < NEAR; tries++) if ((timesMs[++at] as number) > limitMs) return at;
    low = at + 1;
  }
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((timesMs[middle] as number) > limitMs) high = middle;
    else low = middle + 1;
  }
  return low;
}

export class SampleCursor {
  readonly #runs: readonly SampleRun[];
  #run = 0;
  #base = 0;
  #end: number;
  #times: Float64Array;
  #values: Float64Array;

  constructor(runs: readonly SampleRun[]) {
    const first = runs[0];
    if (first === undefined) throw new RangeError('A series without a run has no samples');
    this.#runs = runs;
    this.#times = first.timesMs;
    this.#values = first.values;
    this.#end = first.values.length;
  }

  /** To the run of sample `index`; never back to one before it. */
  moveTo(index: number): void {
    while (index >= this.#end) {
      const next = this.#runs[++this.#run];
      if (next === undefined) throw new RangeError(`There is no sample ${index}`);
      this.#base = this.#end;
      this.#end += next.values.length;
      this.#times = next.timesMs;
      this.#values = next.values;
    }
  }

  /** Of a sample in the run that the cursor was moved to. */
  timeMs(index: number): number {
    return this.#times[index - this.#base] as number;
  }

  value(index: number): number {
    return this.#values[index - this.#base] as number;
  }
}
