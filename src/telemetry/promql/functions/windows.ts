/**
 * The driver of all functions over ranges: finds the windows of each series, passes them to a
 * kernel, and makes columns of the results. A window within one run is a part of that run's arrays;
 * one that spans runs is copied into a reused buffer. No window allocates memory.
 */
import type { Budget } from '../budget.ts';
import { PromqlError } from '../errors.ts';
import {
  type Column,
  type RangeSeries,
  type RangeValue,
  release,
  type SampleRun,
  type SeriesColumn,
  takeColumn,
  takeValues,
} from '../values.ts';
import type { CallContext, Window, WindowFunction } from './function.ts';

const NONE: Float64Array = new Float64Array(0);

/** Windows of one series. */
export interface SeriesWindows {
  readonly runs: readonly SampleRun[];
  readonly bounds: WindowBounds;
  readonly range: RangeValue;
  readonly budget: Budget;
}

/**
 * Writes one element for each of `bounds.count` windows; takes the samples it visits from the
 * budget.
 */
export type SeriesKernel = (windows: SeriesWindows, out: Column) => void;

/** Windows [step, untilStep), all within one run of samples. The object is reused. */
export interface WindowBatch {
  timesMs: Float64Array;
  values: Float64Array;
  /** Offset to subtract from a position in `bounds` to get an array index. */
  base: number;
  bounds: WindowBounds;
  range: RangeValue;
  step: number;
  untilStep: number;
}

/**
 * Fills `out` at the batch's steps from windows of one run. It sets `present` where the window has
 * a value and leaves the rest at 0.
 */
export type BatchKernel = (batch: WindowBatch, out: Column) => void;

/** Properties of a function that the driver needs besides its kernel. */
export interface WindowOptions {
  /** True for functions whose result is still the metric, such as `last_over_time`. */
  readonly keepsName?: boolean;
  /** The result depends on the step, not only on its window. */
  readonly dependsOnStep?: boolean;
  /** Called for each series with a value at some step. */
  readonly onSeries?: (series: RangeSeries) => void;
}

/**
 * The columns of `kernel` over all series, without those that have no value at all. Throws
 * `PromqlError` execution if two series are equal without their names, even at different steps
 * (Prometheus 3.5, `eval` of a call with a matrix argument).
 */
export function evaluateWindows(
  context: CallContext,
  range: RangeValue,
  kernel: SeriesKernel,
  options: WindowOptions = {},
): SeriesColumn[] {
  const { budget, grid } = context;
  const locator = new WindowLocator(range, options.dependsOnStep !== true, budget);
  const columns: SeriesColumn[] = [];
  const seen = new Set<string>();
  for (const series of range.series) {
    budget.takeWork();
    if (series.runs.length === 0) continue;
    const bounds = locator.locate(series.runs);
    if (bounds.visits === 0) continue;
    const column = takeColumn(grid.count, budget);
    kernel({ runs: series.runs, bounds, range, budget }, column);
    if (!column.present.includes(1)) {
      release(budget, column.values, column.present);
      continue;
    }
    if (bounds.count < grid.count) repeatFirst(column);
    options.onSeries?.(series);
    const labels = options.keepsName === true ? series.labels : series.labels.withoutName();
    if (seen.has(labels.key)) {
      throw new PromqlError('execution', 'vector cannot contain metrics with the same labelset');
    }
    seen.add(labels.key);
    columns.push({ labels, values: column.values, present: column.present });
  }
  locator.release();
  return columns;
}

function repeatFirst(column: Column): void {
  column.values.fill(column.values[0] as number);
  column.present.fill(column.present[0] as number);
}

/** Samples between two checks of the budget. */
const BATCH_SAMPLES = 50_000;

/** Extends a kernel over parts of single runs to all runs of a series. */
export function overRuns(kernel: BatchKernel): SeriesKernel {
  return ({ runs, bounds, range, budget }, out) => {
    const joined = new JoinedWindow(budget);
    const batch: WindowBatch = {
      timesMs: joined.timesMs,
      values: joined.values,
      base: 0,
      bounds,
      range,
      step: 0,
      untilStep: 0,
    };
    const { from, to, count } = bounds;
    let run = 0;
    let base = 0;
    for (let step = 0; step < count; step = batch.untilStep) {
      batch.step = step;
      batch.untilStep = step + 1;
      const first = from[step] as number;
      let samples = (to[step] as number) - first;
      if (samples === 0) continue;
      while (first >= base + lengthOf(runs, run)) base += lengthOf(runs, run++);
      const end = base + lengthOf(runs, run);
      if ((to[step] as number) > end) {
        joined.join(runs, run, base, first, samples);
        batch.timesMs = joined.timesMs;
        batch.values = joined.values;
        batch.base = first;
      } else {
        let until = step + 1;
        for (; until < count && samples < BATCH_SAMPLES && (to[until] as number) <= end; until++) {
          samples += (to[until] as number) - (from[until] as number);
        }
        const { timesMs, values } = runs[run] as SampleRun;
        batch.timesMs = timesMs;
        batch.values = values;
        batch.base = base;
        batch.untilStep = until;
      }
      budget.takeSamples(samples);
      kernel(batch, out);
    }
    joined.release();
  };
}

function lengthOf(runs: readonly SampleRun[], run: number): number {
  return (runs[run] as SampleRun).values.length;
}

/** Buffer for the samples of a window that spans runs. */
class JoinedWindow {
  readonly #budget: Budget;
  timesMs: Float64Array = NONE;
  values: Float64Array = NONE;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /**
   * Copies `count` samples from position `from`, which is in `run`; `base` is the position of that
   * run's first sample.
   */
  join(runs: readonly SampleRun[], run: number, base: number, from: number, count: number): void {
    if (this.values.length < count) {
      this.release();
      this.timesMs = takeValues(2 * count, this.#budget);
      this.values = takeValues(2 * count, this.#budget);
    }
    let copied = 0;
    let skip = from - base;
    for (let at = run; copied < count; at++) {
      const { timesMs, values } = runs[at] as SampleRun;
      const end = Math.min(values.length, skip + count - copied);
      this.timesMs.set(timesMs.subarray(skip, end), copied);
      this.values.set(values.subarray(skip, end), copied);
      copied += end - skip;
      skip = 0;
    }
  }

  release(): void {
    if (this.values !== NONE) release(this.#budget, this.timesMs, this.values);
  }
}

/** A kernel from a function's arithmetic over one window. */
export function perWindow(compute: WindowFunction): BatchKernel {
  const window: Window = { timesMs: NONE, values: NONE, from: 0, to: 0, startMs: 0, endMs: 0 };
  return (batch, out) => {
    const { bounds, base, range } = batch;
    window.timesMs = batch.timesMs;
    window.values = batch.values;
    for (let step = batch.step; step < batch.untilStep; step++) {
      window.from = (bounds.from[step] as number) - base;
      window.to = (bounds.to[step] as number) - base;
      if (window.from === window.to) continue;
      window.endMs = range.endsMs[step] as number;
      window.startMs = window.endMs - range.rangeMs;
      const value = compute(window, step);
      if (value === undefined) continue;
      out.values[step] = value;
      out.present[step] = 1;
    }
  };
}

// The samples of a series in each step's window. They are found before anything is computed: the
// arithmetic is then loops over plain numbers, and series with the same times share the result.
// Each end advances by the stride of the previous step, which is right at once for regular samples.

/** Sample positions are counted over all runs of the series, from 0. */
export interface WindowBounds {
  /** Number of distinct windows: 1 if all steps look at the same one, otherwise one per step. */
  readonly count: number;
  /** First sample of each window. */
  readonly from: Int32Array;
  /** One past the last sample; equal to `from` if the window is empty. */
  readonly to: Int32Array;
  /** Total number of samples in all windows. */
  visits: number;
}

/** Size of the bounds of one window, bytes. */
const BOUNDS_BYTES = 2 * Int32Array.BYTES_PER_ELEMENT;

/**
 * Finds the samples of each step's window in a series, moving only forward. Its bounds are charged
 * to the budget until `release`.
 */
export class WindowLocator {
  readonly #range: RangeValue;
  readonly #budget: Budget;
  readonly #bounds: WindowBounds;
  #runs: readonly SampleRun[] = [];

  /** `shared`: steps that look at the same window have the same result. */
  constructor(range: RangeValue, shared: boolean, budget: Budget) {
    const { endsMs } = range;
    const still = shared && endsMs[0] === endsMs[endsMs.length - 1];
    const count = still ? 1 : endsMs.length;
    this.#range = range;
    this.#budget = budget;
    budget.takeBytes(count * BOUNDS_BYTES);
    this.#bounds = { count, from: new Int32Array(count), to: new Int32Array(count), visits: 0 };
  }

  /** Call when the bounds are no longer read. */
  release(): void {
    this.#budget.releaseBytes(this.#bounds.count * BOUNDS_BYTES);
  }

  /** Valid until the next call, which overwrites the same arrays. */
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

/** For each step, the number of samples up to `endsMs[step] - backMs`, inclusive. */
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

/** Steps tried around the guess before the rest is bisected. */
const NEAR = 4;

/** The first index at or after `from` whose time is later than `limitMs`; one must exist. */
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

/** Reads samples by their index over all runs of a series. Increasing indexes are fastest. */
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

  /** Moves to the run of sample `index`, which must not be before the current run. */
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

  /** Time of a sample in the current run. */
  timeMs(index: number): number {
    return this.#times[index - this.#base] as number;
  }

  value(index: number): number {
    return this.#values[index - this.#base] as number;
  }
}
