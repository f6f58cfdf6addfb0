/**
 * Instant vector selectors: at each step the newest sample that is not older than the lookback.
 * Steps and samples both go forward in time, so one pointer a series walks along its samples; it
 * doubles its stride where the steps are far apart.
 */
import type { Budget } from '../../budget.ts';
import { columnBytes, takeColumn } from '../../column-memory.ts';
import type { SampleRun, StoredSeries } from '../../series-source.ts';
import type { SeriesColumn } from '../../values.ts';
import { assertRoom } from '../columns.ts';
import type { LookTimes } from './window-times.ts';

export interface VectorSelection {
  readonly series: readonly StoredSeries[];
  readonly look: LookTimes;
  /** A sample exactly this old is too old, ms. */
  readonly lookbackMs: number;
  /** `times`: each value is the time of the sample, seconds, as `timestamp()` wants it. */
  readonly wanted: 'values' | 'times';
}

/** One column for each series with a value at any step. */
export function selectVector(selection: VectorSelection, budget: Budget): SeriesColumn[] {
  const { series, look } = selection;
  assertRoom(series.length, look, budget);
  const columns: SeriesColumn[] = [];
  let column = null;
  for (const { labels, runs } of series) {
    column ??= takeColumn(look.count, budget);
    const found = fill(column, runs, selection);
    budget.takeSamples(found);
    budget.check();
    if (found === 0) continue;
    columns.push({ labels, ...column });
    column = null;
  }
  if (column !== null) budget.giveBackBytes(columnBytes(look.count));
  return columns;
}

interface Target {
  readonly values: Float64Array;
  readonly present: Uint8Array;
}

/** Answers how many steps have a value. */
function fill(target: Target, runs: readonly SampleRun[], selection: VectorSelection): number {
  const { values, present } = target;
  const { firstMs, stepMs, count } = selection.look;
  const { lookbackMs } = selection;
  const isTimes = selection.wanted === 'times';
  let found = 0;
  let nextRun = 0;
  let times: Float64Array = NOTHING;
  let samples: Float64Array = NOTHING;
  let stale: Uint8Array | null = null;
  /** Samples of the run that are not after the step. */
  let passed = 0;
  let nextRunMs = runs[0]?.timesMs[0] ?? Number.POSITIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    const lookMs = firstMs + i * stepMs;
    while (nextRunMs <= lookMs) {
      const run = runs[nextRun++] as SampleRun;
      times = run.timesMs;
      samples = run.values;
      stale = run.stale;
      passed = 0;
      nextRunMs = runs[nextRun]?.timesMs[0] ?? Number.POSITIVE_INFINITY;
    }
    const leapAt = passed + SINGLE_STEPS;
    while (passed < times.length && (times[passed] as number) <= lookMs) {
      passed = passed < leapAt ? passed + 1 : firstAfter(times, lookMs, passed, times.length);
    }
    if (passed === 0) continue;
    const sampleMs = times[passed - 1] as number;
    if (sampleMs <= lookMs - lookbackMs) continue;
    if (stale !== null && stale[passed - 1] === 1) continue;
    values[i] = isTimes ? sampleMs / 1000 : (samples[passed - 1] as number);
    present[i] = 1;
    found++;
  }
  return found;
}

const NOTHING = new Float64Array(0);
/** Samples passed one by one before the place is searched for. */
const SINGLE_STEPS = 8;

/** Places around the guess that are looked at first: sources are some seconds late now and then. */
const NEAR = 3;
const GUESSED_MIN = 4 * NEAR;

/**
 * The first index in [from, to) of a time after `timeMs`, else `to`. Samples come at a nearly even
 * pace: a guess from the ends is right but for a few places, and each place that halving would look
 * at in between is a wait for memory.
 */
export function firstAfter(times: Float64Array, timeMs: number, from: number, to: number): number {
  let low = from;
  let high = to;
  if (high - low > GUESSED_MIN) {
    const firstMs = times[low] as number;
    const span = (times[high - 1] as number) - firstMs;
    const guess = low + Math.floor(((timeMs - firstMs) / span) * (high - 1 - low));
    const before = Math.min(Math.max(guess - NEAR, low), high - 1);
    const after = Math.min(Math.max(guess + NEAR, low), high - 1);
    if ((times[before] as number) > timeMs) high = before;
    else if ((times[after] as number) > timeMs) [low, high] = [before + 1, after];
    else low = after + 1;
  }
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
