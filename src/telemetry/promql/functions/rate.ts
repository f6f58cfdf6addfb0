/**
 * Rates of change of a series: rate, increase and delta from the ends of a window, extrapolated to
 * its limits; irate and idelta from its last two samples. All read two samples per step, however
 * many the window holds (Prometheus 3.5, `extrapolatedRate` and `instantValue`).
 */
import type { Budget } from '../budget.ts';
import { goQuoteCut } from '../format-go.ts';
import type { RangeSeries, SampleRun } from '../values.ts';
import { argumentSpan, rangeArgument } from './arguments.ts';
import type { CallContext, PromqlFunction } from './function.ts';
import { evaluateWindows, SampleCursor, type SeriesKernel, type WindowBounds } from './windows.ts';

interface ChangeOptions {
  readonly isCounter: boolean;
  readonly perSecond: boolean;
}

const RATE: ChangeOptions = { isCounter: true, perSecond: true };
const INCREASE: ChangeOptions = { isCounter: true, perSecond: false };
const GAUGE: ChangeOptions = { isCounter: false, perSecond: false };

/**
 * Functions of change. A window with fewer than two samples has no value. Counters (`rate`,
 * `increase`, `irate`) that fall are assumed to have been reset to 0.
 */
export const rateFunctions: Readonly<Record<string, PromqlFunction>> = {
  rate: (context) => counterChange(context, RATE),
  increase: (context) => counterChange(context, INCREASE),
  delta: (context) => {
    const series = evaluateWindows(context, rangeArgument(context, 0), changeKernel(GAUGE));
    return { type: 'vector', series };
  },
  irate: (context) => {
    const series = evaluateWindows(context, rangeArgument(context, 0), lastChangeKernel(RATE));
    return { type: 'vector', series };
  },
  idelta: (context) => {
    const series = evaluateWindows(context, rangeArgument(context, 0), lastChangeKernel(GAUGE));
    return { type: 'vector', series };
  },
};

const COUNTER_NAME = /(_total|_sum|_count|_bucket)$/;
const NOT_A_COUNTER =
  'metric might not be a counter, name does not end in _total/_sum/_count/_bucket:';

function counterChange(context: CallContext, options: ChangeOptions): ReturnType<PromqlFunction> {
  const span = argumentSpan(context, 0);
  const onSeries = ({ labels: { name } }: RangeSeries) => {
    if (name === '' || COUNTER_NAME.test(name)) return;
    context.annotations.info(`${NOT_A_COUNTER} ${goQuoteCut(name)}`, span);
  };
  const range = rangeArgument(context, 0);
  const series = evaluateWindows(context, range, changeKernel(options), { onSeries });
  return { type: 'vector', series };
}

function changeKernel({ isCounter, perSecond }: ChangeOptions): SeriesKernel {
  return ({ runs, bounds, range, budget }, out) => {
    const first = new SampleCursor(runs);
    const last = new SampleCursor(runs);
    const corrections: Corrections | null = isCounter ? correctionsOf(runs, bounds, budget) : null;
    const sources = isCounter ? newSourcesIn(runs) : NO_SOURCES;
    budget.takeSamples(2 * bounds.count + (corrections?.samples ?? 0));
    const { rangeMs, endsMs } = range;
    const divisor = perSecond ? rangeMs / 1000 : 1;
    const { from, to, count } = bounds;
    for (let step = 0; step < count; step++) {
      const a = from[step] as number;
      const b = (to[step] as number) - 1;
      if (b <= a || isAllAcross(sources, a, b)) continue;
      first.moveTo(a);
      last.moveTo(b);
      const firstMs = first.timeMs(a);
      const lastMs = last.timeMs(b);
      const firstValue = first.value(a);
      let change = last.value(b) - firstValue;
      if (corrections !== null) change = corrections.addTo(change, a, b + 1);
      const endMs = endsMs[step] as number;
      const sampled = (lastMs - firstMs) / 1000;
      const toStart = (firstMs - (endMs - rangeMs)) / 1000;
      const toEnd = (endMs - lastMs) / 1000;
      const climbs = isCounter && change > 0 && firstValue >= 0;
      const toZero = climbs ? sampled * (firstValue / change) : Number.POSITIVE_INFINITY;
      const stretch = extrapolation(sampled, b - a, toStart, toEnd, toZero);
      const factor = stretch / sampled / divisor;
      out.values[step] = change * factor;
      out.present[step] = 1;
    }
    corrections?.release();
  };
}

/** The next sample is expected within the average distance, plus a tenth for jitter. */
const TOLERATED_DISTANCE = 1.1;

/**
 * The time, in seconds, to which a change over `sampled` seconds is extrapolated. It extends to the
 * window's limits, `toStart` and `toEnd` seconds away, if the first and last samples are about one
 * average distance from them; otherwise by half an average distance. It never extends to before a
 * counter was 0, `toZero` seconds before the first sample.
 */
function extrapolation(
  sampled: number,
  distances: number,
  toStart: number,
  toEnd: number,
  toZero: number,
): number {
  const distance = sampled / distances;
  const threshold = distance * TOLERATED_DISTANCE;
  const before = toStart >= threshold ? distance / 2 : toStart;
  const after = toEnd >= threshold ? distance / 2 : toEnd;
  return sampled + (toZero < before ? toZero : before) + after;
}

function lastChangeKernel({ isCounter, perSecond }: ChangeOptions): SeriesKernel {
  return ({ runs, bounds, budget }, out) => {
    budget.takeSamples(2 * bounds.count);
    const before = new SampleCursor(runs);
    const last = new SampleCursor(runs);
    const { from, to, count } = bounds;
    const sources = isCounter ? newSourcesIn(runs) : NO_SOURCES;
    for (let step = 0; step < count; step++) {
      const at = (to[step] as number) - 1;
      if (at <= (from[step] as number) || sources.includes(at)) continue;
      before.moveTo(at - 1);
      last.moveTo(at);
      const previous = before.value(at - 1);
      const value = last.value(at);
      // After a reset, the counter started from 0.
      const change = isCounter && value < previous ? value : value - previous;
      const seconds = (last.timeMs(at) - before.timeMs(at - 1)) / 1000;
      out.values[step] = perSecond ? change / seconds : change;
      out.present[step] = 1;
    }
  };
}

// Counters of another source: the increase of a counter between the last sample of one source and
// the first of the next is unknown, whichever is higher. The difference is excluded from the
// window; a window with no other difference has no value.

const NO_SOURCES: readonly number[] = [];

/** Positions, over all runs, of the first samples of further sources; usually none. */
function newSourcesIn(runs: readonly SampleRun[]): readonly number[] {
  if (!runs.some(({ isOfNewSource }) => isOfNewSource)) return NO_SOURCES;
  const positions: number[] = [];
  let base = 0;
  for (const { values, isOfNewSource } of runs) {
    if (isOfNewSource && base > 0) positions.push(base);
    base += values.length;
  }
  return positions;
}

/** True if every two consecutive samples of [from, last] are from two sources. */
function isAllAcross(sources: readonly number[], from: number, last: number): boolean {
  if (sources.length === 0) return false;
  return sources.filter((at) => at > from && at <= last).length === last - from;
}

/** Correction at the first sample of a run, relative to the last sample before it. */
function correctionBetween({ values, isOfNewSource }: SampleRun, before: number): number {
  const first = values[0] as number;
  if (isOfNewSource) return Number.isNaN(before) ? 0 : before - first;
  return first < before ? before : 0;
}

// Counter resets: a counter that falls has restarted at 0. Resets are found once per run and cached
// as long as the run's values are alive. Runs come from a cache and are the same objects from query
// to query, so the increase over a window without a reset needs only its two ends.

/** Correction for counter resets between two samples, to add to their difference. */
interface Corrections {
  /** Samples read to find the resets, all windows together. */
  readonly samples: number;
  /**
   * Adds the corrections of samples [from, to), by position over all runs, to `change` in order.
   * `from` must not decrease between calls.
   */
  addTo(change: number, from: number, to: number): number;
  /** Call after the last use. */
  release(): void;
}

/** The cheaper method for these windows: find all resets of the runs, or scan each window. */
function correctionsOf(
  runs: readonly SampleRun[],
  bounds: WindowBounds,
  budget: Budget,
): Corrections {
  let unknown = 0;
  for (const { values } of runs) if (!resetsByValues.has(values)) unknown += values.length;
  if (unknown > bounds.visits) return new WindowScan(runs, bounds);
  return new KnownResets(runs, bounds, budget);
}

const NONE = new Int32Array(0);
const resetsByValues = new WeakMap<Float64Array, Int32Array>();

/** Indexes of `values` whose value is lower than the one before. */
function resetsOf(values: Float64Array): Int32Array {
  const known = resetsByValues.get(values);
  if (known !== undefined) return known;
  let count = 0;
  for (let i = 1; i < values.length; i++) {
    if ((values[i] as number) < (values[i - 1] as number)) count++;
  }
  const resets = count === 0 ? NONE : new Int32Array(count);
  for (let i = 1, at = 0; at < count; i++) {
    if ((values[i] as number) < (values[i - 1] as number)) resets[at++] = i;
  }
  resetsByValues.set(values, resets);
  return resets;
}

/** A reset's position, and the value lost. */
const RESET_BYTES = 12;

class KnownResets implements Corrections {
  /** Position of the sample after each reset, and the value lost by it. */
  readonly #positions: Int32Array;
  readonly #lost: Float64Array;
  readonly #budget: Budget;
  readonly samples: number;
  #count = 0;
  #next = 0;

  constructor(runs: readonly SampleRun[], bounds: WindowBounds, budget: Budget) {
    // One more per run, for a drop relative to the run before.
    const most = runs.reduce((sum, { values }) => sum + resetsOf(values).length + 1, -1);
    budget.takeBytes(most * RESET_BYTES);
    this.#positions = new Int32Array(most);
    this.#lost = new Float64Array(most);
    this.#budget = budget;
    let base = 0;
    let before = Number.NaN;
    for (const run of runs) {
      const { values } = run;
      const correction = correctionBetween(run, before);
      if (correction !== 0) this.#push(base, correction);
      for (const at of resetsOf(values)) this.#push(base + at, values[at - 1] as number);
      before = values[values.length - 1] as number;
      base += values.length;
    }
    this.samples = this.#count === 0 ? 0 : bounds.visits;
  }

  release(): void {
    this.#budget.releaseBytes(this.#positions.length * RESET_BYTES);
  }

  #push(position: number, lost: number): void {
    this.#positions[this.#count] = position;
    this.#lost[this.#count++] = lost;
  }

  addTo(change: number, from: number, to: number): number {
    const positions = this.#positions;
    const count = this.#count;
    if (this.#next === count) return change;
    while (this.#next < count && (positions[this.#next] as number) <= from) this.#next++;
    let corrected = change;
    for (let i = this.#next; i < count && (positions[i] as number) < to; i++) {
      corrected += this.#lost[i] as number;
    }
    return corrected;
  }
}

class WindowScan implements Corrections {
  readonly #runs: readonly SampleRun[];
  #run = 0;
  readonly samples: number;
  #base = 0;

  constructor(runs: readonly SampleRun[], bounds: WindowBounds) {
    this.#runs = runs;
    this.samples = bounds.visits;
  }

  addTo(change: number, from: number, to: number): number {
    while (from >= this.#base + this.#valuesOf(this.#run).length) {
      this.#base += this.#valuesOf(this.#run++).length;
    }
    let corrected = change;
    let before = Number.NaN;
    let base = this.#base;
    for (let run = this.#run; base < to; run++) {
      const values = this.#valuesOf(run);
      const end = Math.min(values.length, to - base);
      const start = Math.max(0, from - base);
      if (start === 0) {
        corrected += correctionBetween(this.#runs[run] as SampleRun, before);
        before = values[0] as number;
      }
      for (let i = start; i < end; i++) {
        const value = values[i] as number;
        if (value < before) corrected += before;
        before = value;
      }
      base += values.length;
    }
    return corrected;
  }

  release(): void {
    // It holds no memory.
  }

  #valuesOf(run: number): Float64Array {
    return (this.#runs[run] as SampleRun).values;
  }
}
