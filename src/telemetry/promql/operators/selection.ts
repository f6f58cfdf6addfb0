/**
 * Selection: the samples that selectors and subqueries find at each step of a query. In order:
 * evaluation times after `offset` and `@`; the newest sample at each (instant vectors); the samples
 * of a window (ranges); the values of an expression as samples (subqueries); the series, where each
 * selection is requested from the source once.
 */
import type { AtModifier, Subquery } from '../ast.ts';
import type { Budget } from '../budget.ts';
import type { Selection, SeriesSource, StoredSeries } from '../series-source.ts';
import {
  arrayBytes,
  assertRoom,
  columnBytes,
  compareLabels,
  type Grid,
  type Labels,
  METRIC_NAME,
  type RangeSeries,
  type RangeValue,
  type SampleRun,
  type SeriesColumn,
  stepTime,
  takeColumn,
  takeValues,
  type VectorValue,
} from '../values.ts';
import { matchersKey } from './plan.ts';

/** Bounds of the whole query: the meaning of `@ start()` and `@ end()`, inside subqueries too. */
export interface QueryRange {
  readonly startMs: number;
  readonly endMs: number;
}

/** `offset` and `@` of a selector or subquery. */
export interface TimeModifiers {
  /** Positive looks back, ms. */
  readonly offsetMs: number;
  readonly at: AtModifier | null;
}

/**
 * Step i looks at `firstMs + i * stepMs`. With `@`, `stepMs` is 0: every step looks at the same
 * time.
 */
export interface LookTimes {
  readonly firstMs: number;
  readonly stepMs: number;
  readonly count: number;
}

/**
 * The times at which a selector reads for the steps of `grid`: shifted by its offset; one constant
 * time with `@`. `range` is the query's own, for `@ start()` and `@ end()`.
 */
export function lookTimes(
  { offsetMs, at }: TimeModifiers,
  grid: Grid,
  range: QueryRange,
): LookTimes {
  const { count } = grid;
  if (at === null) return { firstMs: grid.startMs - offsetMs, stepMs: grid.stepMs, count };
  return { firstMs: fixedTime(at, range) - offsetMs, stepMs: 0, count };
}

/** The last of the times, Unix ms: nothing later is read from the source. */
export function lastLook({ firstMs, stepMs, count }: LookTimes): number {
  return firstMs + (count - 1) * stepMs;
}

function fixedTime(at: AtModifier, { startMs, endMs }: QueryRange): number {
  if (at === 'start') return startMs;
  return at === 'end' ? endMs : at.ms;
}

// Instant vector selectors: at each step, the newest sample within the lookback. Steps and samples
// both move forward in time, so one pointer per series advances along its samples; it doubles its
// stride if the steps are far apart.

/**
 * An instant selection: the series found, the times to look at, and which part of the sample to
 * return.
 */
export interface VectorSelection {
  readonly series: readonly StoredSeries[];
  readonly look: LookTimes;
  /** Lookback, ms, exclusive: a sample exactly this old is too old. */
  readonly lookbackMs: number;
  /** `times`: each value is the time of the sample in seconds, for `timestamp()`. */
  readonly wanted: 'values' | 'times';
  /** Collects bridged gaps. Absent: they are not tracked. */
  readonly bridges?: Bridges;
}

/**
 * Steps at which a value older than a tolerance replaced a missing one. Prometheus presents such
 * values as current for as long as the lookback, so readers need a warning.
 */
export class Bridges {
  readonly toleranceMs: number;
  readonly #exempt: ReadonlySet<string>;
  /** Number of series with such a step. */
  series = 0;
  /** Age of the oldest value used, ms. */
  oldestMs = 0;

  /** `exempt`: names of series whose values are true at any age. */
  constructor(toleranceMs: number, exempt: ReadonlySet<string>) {
    this.toleranceMs = toleranceMs;
    this.#exempt = exempt;
  }

  record(labels: Labels, oldestMs: number): void {
    if (oldestMs <= this.toleranceMs || this.#exempt.has(labels.get(METRIC_NAME))) return;
    this.series++;
    this.oldestMs = Math.max(this.oldestMs, oldestMs);
  }
}

/** True if some window has two consecutive samples of a series further apart than the tolerance. */
export function hasHole({ series, rangeMs, endsMs }: RangeValue, toleranceMs: number): boolean {
  return series.some(({ runs }) => {
    let beforeMs = Number.NaN;
    for (const { timesMs } of runs) {
      for (const timeMs of timesMs) {
        if (timeMs - beforeMs > toleranceMs && isInOneWindow(beforeMs, timeMs)) return true;
        beforeMs = timeMs;
      }
    }
    return false;
  });

  function isInOneWindow(fromMs: number, toMs: number): boolean {
    const endMs = endsMs.find((end) => end >= toMs);
    return endMs !== undefined && endMs - rangeMs < fromMs;
  }
}

/** One column for each series with a value at any step. */
export function selectVector(selection: VectorSelection, budget: Budget): SeriesColumn[] {
  const { series, look } = selection;
  assertRoom(series.length, look, budget);
  const columns: SeriesColumn[] = [];
  let column = null;
  for (const { labels, runs } of series) {
    column ??= takeColumn(look.count, budget);
    const { found, oldestMs } = fill(column, runs, selection);
    if (found > 0) selection.bridges?.record(labels, oldestMs);
    budget.takeSamples(found);
    budget.check();
    if (found === 0) continue;
    columns.push({ labels, ...column });
    column = null;
  }
  if (column !== null) budget.releaseBytes(columnBytes(look.count));
  return columns;
}

interface Target {
  readonly values: Float64Array;
  readonly present: Uint8Array;
}

/** Returns the number of steps with a value, and the age of the oldest value. */
function fill(
  target: Target,
  runs: readonly SampleRun[],
  selection: VectorSelection,
): { readonly found: number; readonly oldestMs: number } {
  const { values, present } = target;
  const { firstMs, stepMs, count } = selection.look;
  const { lookbackMs } = selection;
  const isTimes = selection.wanted === 'times';
  let found = 0;
  let oldestMs = 0;
  let nextRun = 0;
  let times: Float64Array = NOTHING;
  let samples: Float64Array = NOTHING;
  let stale: Uint8Array | null = null;
  /** Number of samples of the run that are not after the step. */
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
    if (lookMs - sampleMs > oldestMs) oldestMs = lookMs - sampleMs;
    found++;
  }
  return { found, oldestMs };
}

const NOTHING = new Float64Array(0);
/** Samples skipped one by one before a search begins. */
const SINGLE_STEPS = 8;

/** Positions around the guess that are checked first: sources are sometimes a few seconds late. */
const NEAR = 3;
const GUESSED_MIN = 4 * NEAR;

/**
 * The first index in [from, to) of a time after `timeMs`, otherwise `to`. Samples are almost evenly
 * spaced, so a guess by interpolation is off by few positions, while each position that bisection
 * would read costs a cache miss.
 */
function firstAfter(times: Float64Array, timeMs: number, from: number, to: number): number {
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

// Range vector selectors: the source's own arrays, cut to the windows' range, without stale
// markers. Nothing is copied unless a marker has to be removed; the reader of the range slides the
// windows.

const SAMPLE_BYTES = 16;
/** Memory of a series besides its samples, bytes: its lists, and views of the source's arrays. */
const RANGE_SERIES_BYTES = 800;

/** A range, and the memory taken for the arrays that only it refers to. */
export interface CopiedRange {
  readonly range: RangeValue;
  readonly copiedBytes: number;
}

/** Times that a range reads at each step, and the length of its window. */
export interface Windows {
  readonly look: LookTimes;
  readonly rangeMs: number;
}

/** Series without a sample in any window are left out. */
export function selectRange(
  stored: readonly StoredSeries[],
  { look, rangeMs }: Windows,
  budget: Budget,
): CopiedRange {
  const series: RangeSeries[] = [];
  const endsMs = windowEnds(look, budget);
  let copiedBytes = arrayBytes(endsMs);
  for (const { labels, runs } of stored) {
    budget.check();
    budget.takeBytes(RANGE_SERIES_BYTES);
    copiedBytes += RANGE_SERIES_BYTES;
    const cut: SampleRun[] = [];
    for (const run of runs) {
      const within = cutRun(run, look.firstMs - rangeMs, lastLook(look));
      const kept = withoutMarkers(within, budget);
      if (kept === null) continue;
      cut.push(kept);
      if (kept.timesMs.length < within.timesMs.length) {
        copiedBytes += kept.timesMs.length * SAMPLE_BYTES;
      }
    }
    if (cut.length > 0) series.push({ labels, runs: cut });
  }
  return { range: { series, rangeMs, endsMs }, copiedBytes };
}

function windowEnds(look: LookTimes, budget: Budget): Float64Array {
  const { firstMs, stepMs, count } = look;
  const ends = takeValues(count, budget);
  for (let i = 0; i < count; i++) ends[i] = firstMs + i * stepMs;
  return ends;
}

/** The part in (afterMs, throughMs]. */
function cutRun(run: SampleRun, afterMs: number, throughMs: number): SampleRun {
  const { timesMs } = run;
  const from = firstAfter(timesMs, afterMs, 0, timesMs.length);
  const to = firstAfter(timesMs, throughMs, from, timesMs.length);
  if (from === 0 && to === timesMs.length) return run;
  return {
    timesMs: timesMs.subarray(from, to),
    values: run.values.subarray(from, to),
    stale: run.stale?.subarray(from, to) ?? null,
    ...(run.isOfNewSource && from === 0 && { isOfNewSource: true }),
  };
}

/** The run without its stale markers; null if nothing else is in it. */
function withoutMarkers(run: SampleRun, budget: Budget): SampleRun | null {
  const { timesMs, values, stale } = run;
  if (timesMs.length === 0) return null;
  if (stale === null) return run;
  let kept = 0;
  for (const marker of stale) if (marker === 0) kept++;
  if (kept === 0) return null;
  if (kept === stale.length) return { timesMs, values, stale: null };
  budget.takeBytes(kept * SAMPLE_BYTES);
  const isSample = (_: number, i: number) => stale[i] === 0;
  return { timesMs: timesMs.filter(isSample), values: values.filter(isSample), stale: null };
}

// Subqueries: an instant vector expression, evaluated on its own grid and read as a range. The grid
// is aligned to multiples of the step, so that every step of the query evaluates the same times.

/** null if no multiple of the step is in any window. Source: Prometheus 3.5, `eval`. */
export function subqueryGrid(
  { rangeMs, stepMs }: Subquery,
  look: LookTimes,
  defaultStepMs: number,
): Grid | null {
  const step = stepMs ?? defaultStepMs;
  const startMs = step * (Math.floor((look.firstMs - rangeMs) / step) + 1);
  const endMs = lastLook(look);
  if (endMs < startMs) return null;
  return { startMs, stepMs: step, count: Math.floor((endMs - startMs) / step) + 1 };
}

/**
 * The columns as series of samples. A column with a value at every step is passed on unchanged; all
 * such columns share one array of times.
 */
export function rangeOfColumns(
  vector: VectorValue | null,
  inner: Grid | null,
  { look, rangeMs }: Windows,
  budget: Budget,
): CopiedRange {
  const series: RangeSeries[] = [];
  const endsMs = windowEnds(look, budget);
  let copiedBytes = arrayBytes(endsMs);
  if (vector !== null && inner !== null) {
    const timesMs = takeValues(inner.count, budget);
    copiedBytes += arrayBytes(timesMs);
    for (let i = 0; i < inner.count; i++) timesMs[i] = stepTime(inner, i);
    for (const { labels, values, present } of vector.series) {
      budget.check();
      budget.takeBytes(RANGE_SERIES_BYTES);
      copiedBytes += RANGE_SERIES_BYTES;
      const run = compact({ timesMs, values, present }, budget);
      if (run.timesMs.buffer !== timesMs.buffer) copiedBytes += run.timesMs.length * SAMPLE_BYTES;
      if (run.timesMs.length > 0) series.push({ labels, runs: [run] });
    }
  }
  return { range: { series, rangeMs, endsMs }, copiedBytes };
}

interface Points {
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
  readonly present: Uint8Array;
}

/** The points that are present; views of the arrays if they are contiguous. */
export function compact({ timesMs, values, present }: Points, budget: Budget): SampleRun {
  const from = present.indexOf(1);
  const to = present.lastIndexOf(1) + 1;
  if (from === -1) return { timesMs: NOTHING, values: NOTHING, stale: null };
  let count = 0;
  for (let i = from; i < to; i++) count += present[i] as number;
  if (count === present.length) return { timesMs, values, stale: null };
  if (count === to - from) {
    return { timesMs: timesMs.subarray(from, to), values: values.subarray(from, to), stale: null };
  }
  budget.takeBytes(count * SAMPLE_BYTES);
  const times = new Float64Array(count);
  const kept = new Float64Array(count);
  for (let i = from, at = 0; i < to; i++) {
    if (present[i] === 0) continue;
    times[at] = timesMs[i] as number;
    kept[at++] = values[i] as number;
  }
  return { timesMs: times, values: kept, stale: null };
}

/**
 * The series found by an expression's selectors. Each selection is requested from the source once.
 * Series are sorted by labels, so that sums and ties do not depend on the order of the source.
 */
export class FetchedSeries {
  readonly #source: SeriesSource;
  readonly #budget: Budget;
  readonly #fetched = new Map<string, readonly StoredSeries[]>();

  constructor(source: SeriesSource, budget: Budget) {
    this.#source = source;
    this.#budget = budget;
  }

  select(selection: Selection): readonly StoredSeries[] {
    const { matchers, afterMs, throughMs } = selection;
    const key = `${afterMs} ${throughMs} ${matchersKey(matchers)}`;
    let series = this.#fetched.get(key);
    if (series === undefined) {
      series = inOrder(this.#source.select(selection, this.#budget), this.#budget);
      this.#fetched.set(key, series);
    }
    return series;
  }
}

function inOrder(series: readonly StoredSeries[], budget: Budget): readonly StoredSeries[] {
  return [...series].sort((a, b) => {
    budget.takeWork();
    return compareLabels(a.labels, b.labels);
  });
}
