/**
 * A metric over a range: points on a grid of steps, gaps and quality flags, from a VM's columns. An
 * interval of a counter belongs to the step of its later observation. A step without an observation
 * has no point: nothing is carried forward, interpolated or filled.
 */

import { GAP_TOLERANCE_MS } from '../entry.ts';
import { VM_STATES } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import { ABSENCE_SERIES, absencesIn, readingOf } from './absence-causes.ts';
import { type Derivation, type MetricUnit, metricCatalogue } from './catalogue.ts';
import { expectedIntervals, observedIntervals } from './coverage.ts';
import { isOutOfRange, quotient } from './derive.ts';
import {
  type DerivedSeries,
  deriveColumns,
  deriveDevices,
  type ImpossibleValue,
} from './derive-columns.ts';

/** One line of a metric: of the VM, or of one of its devices. */
export interface MetricSeries {
  /** Canonical label part; '' = of the VM: its one value, or the sum over its devices. */
  readonly labels: string;
  readonly unit: MetricUnit;
  /** Steps that have a value, oldest first. */
  readonly points: readonly MetricPoint[];
}

/**
 * What makes values of the range doubtful: one that cannot be and was left out, a reading beyond its
 * range, another capacity, or two values for one time.
 */
export type QualityFlag =
  | 'IMPOSSIBLE'
  | 'OUT_OF_RANGE'
  | 'CAPACITY_CHANGED'
  | 'CONFLICTING_SAMPLES';

/** A metric over a range, and how complete it is. */
export interface MetricRange {
  readonly series: readonly MetricSeries[];
  readonly gaps: readonly MetricGap[];
  readonly flags: readonly QualityFlag[];
  /** One for each sampling interval of the range. */
  readonly expectedSamples: number;
  /** Observation times in the range with a value of the metric. */
  readonly observedSamples: number;
  /** Newest of them, Unix ms. */
  readonly lastObservedMs?: number;
  /** Values that were observed and cannot be: no points. The newest ones, oldest first. */
  readonly impossible: readonly ImpossibleReading[];
  /** Why the source left the reading out of the newest row of the range; absent: it did not. */
  readonly absentNow?: string;
}

/** A value that is no point, with the labels of its series. */
export interface ImpossibleReading extends ImpossibleValue {
  readonly labels: string;
}

/** Values that cannot be, of one metric and range. */
const IMPOSSIBLE_MAX = 20;

/**
 * Which metric of which columns, and on which grid. Each point covers the step that ends at its
 * time.
 */
export interface MetricQuery {
  readonly columns: VmColumns;
  /** An id of the catalogue; throws `RangeError` for another. */
  readonly metricId: string;
  /** First and last point, Unix ms, both inclusive. */
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  /** Newest observation of the VM before the columns, Unix ms, where there is one: for ages. */
  readonly lastBeforeMs?: number | undefined;
  /** true: each point also has the least and the greatest value of its step. */
  readonly withExtremes?: boolean;
}

/**
 * Where the columns of a query must begin, so that its first step is whole and its first rate has
 * the observation before it: pass it as `fromMs` to `HistoryReader.read`.
 */
export function readFromMs({ startMs, stepMs }: Pick<MetricQuery, 'startMs' | 'stepMs'>): number {
  return startMs - stepMs - GAP_TOLERANCE_MS;
}

/** The names of the series a metric is derived from: what a read can confine itself to. */
export function seriesNamesOf(metricId: string): readonly string[] {
  const { derivation } = descriptorOf(metricId);
  switch (derivation.from) {
    case 'gauge':
      return [derivation.series, ABSENCE_SERIES, ...(derivation.atMost ? [derivation.atMost] : [])];
    case 'rate':
      return [derivation.series, ABSENCE_SERIES];
    case 'running':
      return [derivation.series];
    case 'utilization':
      return [derivation.gauge, derivation.counter, ABSENCE_SERIES];
    case 'memoryUsed':
      return [
        ...['total', 'free', 'used'].map((part) => `svc_vm_memory_${part}_bytes`),
        ABSENCE_SERIES,
      ];
    case 'percentage':
      return [derivation.numerator, derivation.denominator, ABSENCE_SERIES];
    case 'unexpectedStop':
    case 'age':
      return [];
  }
}

/** A metric's points, and what is to be known about them. */
export function queryMetric(query: MetricQuery): MetricRange {
  const { columns, metricId, startMs, endMs, stepMs } = query;
  const descriptor = descriptorOf(metricId);
  const { derivation, unit } = descriptor;
  const reading = readingOf(descriptor);
  const absences = reading === undefined ? NO_ABSENCES : absencesIn(columns, reading);
  const isAge = derivation.from === 'age';
  const derived = isAge
    ? []
    : [...deriveColumns(columns, derivation), ...deriveDevices(columns, derivation)];
  const fromMs = startMs - stepMs;
  const observed = isAge
    ? Array.from(columns.timesMs.filter(within(query)))
    : observedTimes(derived, fromMs, endMs);
  const capacityChanges = derived.flatMap((one) => one.capacityChangedMs.filter(within(query)));
  const impossible = derived
    .flatMap((one) =>
      one.impossible
        .filter(({ timeMs, value }) => within(query)(timeMs) && Number.isFinite(value))
        .map(({ timeMs, value }) => ({ timeMs, value, labels: one.labels })),
    )
    .sort((a, b) => a.timeMs - b.timeMs);
  const impossibleMs = derived.flatMap((one) => one.impossible.map(({ timeMs }) => timeMs));
  const lastObservedMs = observed.at(-1);
  const newestMs = columns.timesMs.findLast(within(query));
  const absentNow = newestMs === undefined ? undefined : causeAt(absences, newestMs);
  const series = isAge
    ? [{ labels: '', unit, points: agePoints(columns.timesMs, query) }]
    : derived.map((one) => ({
        labels: one.labels,
        unit,
        points: stepPoints(derivation, one, query),
      }));
  const expectedSamples = expectedIntervals({ fromMs, toMs: endMs });
  return {
    series: series.filter(({ points }) => points.length > 0),
    gaps: gapsOf({ observed, capacityChanges, impossibleMs, absences, columns, fromMs, endMs }),
    flags: flagsOf({ series: derived, derivation, columns, query }),
    expectedSamples,
    observedSamples: observedIntervals(observed).within(expectedSamples),
    ...(lastObservedMs === undefined ? {} : { lastObservedMs }),
    impossible: impossible.slice(-IMPOSSIBLE_MAX),
    ...(absentNow !== undefined && { absentNow }),
  };
}

type Absences = ReturnType<typeof absencesIn>;

const NO_ABSENCES: Absences = new Map();

function causeAt(absences: Absences, timeMs: number): string | undefined {
  return [...absences].find(([, times]) => times.includes(timeMs))?.[0];
}

interface FlagFacts {
  readonly series: readonly DerivedSeries[];
  readonly derivation: Derivation;
  readonly columns: VmColumns;
  readonly query: MetricQuery;
}

function flagsOf({ series, derivation, columns, query }: FlagFacts): QualityFlag[] {
  const flags: QualityFlag[] = [];
  const isWithin = within(query);
  if (series.some(({ impossible }) => impossible.some(({ timeMs }) => isWithin(timeMs)))) {
    flags.push('IMPOSSIBLE');
  }
  const outOfRange = series.some(({ timesMs, values }) =>
    values.some((value, i) => isOutOfRange(derivation, value) && isWithin(timesMs[i] ?? 0)),
  );
  if (outOfRange) flags.push('OUT_OF_RANGE');
  if (series.some(({ capacityChangedMs }) => capacityChangedMs.some(isWithin))) {
    flags.push('CAPACITY_CHANGED');
  }
  const { timesMs, conflicted } = columns;
  if (conflicted.some((bit, i) => bit === 1 && isWithin(timesMs[i] ?? 0))) {
    flags.push('CONFLICTING_SAMPLES');
  }
  return flags;
}

function within({
  startMs,
  stepMs,
  endMs,
}: Pick<MetricQuery, 'startMs' | 'stepMs' | 'endMs'>): (timeMs: number) => boolean {
  return (timeMs) => timeMs > startMs - stepMs && timeMs <= endMs;
}

function descriptorOf(metricId: string) {
  const descriptor = metricCatalogue.get(metricId);
  if (!descriptor) throw new RangeError(`Unknown metric ${metricId}`);
  return descriptor;
}

/**
 * Why a stretch has no value. NO_SAMPLES: no row came. NOT_RUNNING: the hypervisor said all the
 * while that the VM was off. NOT_REPORTED: rows came, without (a usable reading of) the metric. A
 * source that says why names a cause instead (`ABSENCE_CAUSES`); IMPOSSIBLE also where the value
 * itself cannot be.
 */
export type GapReason = string;

/** No value of the metric between these times, Unix ms, longer than the gap tolerance. */
export interface MetricGap {
  readonly startMs: number;
  readonly endMs: number;
  readonly reason: GapReason;
}

/** Times in (fromMs, toMs] at which some label set has a value, sorted. */
function observedTimes(series: readonly DerivedSeries[], fromMs: number, toMs: number): number[] {
  const times = new Set<number>();
  for (const { timesMs } of series) {
    for (const timeMs of timesMs) if (timeMs > fromMs && timeMs <= toMs) times.add(timeMs);
  }
  return [...times].sort((a, b) => a - b);
}

/** What the gaps of a range are made from. */
export interface GapFacts {
  /** Times with a value, sorted. */
  readonly observed: readonly number[];
  readonly capacityChanges: readonly number[];
  /** Times of values that cannot be. */
  readonly impossibleMs: readonly number[];
  /** Times of rows that lack the reading, by cause. */
  readonly absences: Absences;
  readonly columns: VmColumns;
  /** The range, Unix ms: open at its start, with its end. */
  readonly fromMs: number;
  readonly endMs: number;
}

/** The gaps of a range, oldest first. */
function gapsOf({ observed, fromMs, endMs, ...facts }: GapFacts): MetricGap[] {
  const gaps: MetricGap[] = [];
  let startMs = fromMs;
  for (const [i, next] of [...observed, endMs].entries()) {
    if (next - startMs > GAP_TOLERANCE_MS) {
      const isObserved = i < observed.length;
      gaps.push({
        startMs,
        endMs: next,
        reason: reasonOf(startMs, next, { ...facts, isObserved }),
      });
    }
    startMs = next;
  }
  return gaps;
}

const OFF: ReadonlySet<number> = new Set([
  VM_STATES.indexOf('STOPPED'),
  VM_STATES.indexOf('CRASHED'),
]);

function reasonOf(
  startMs: number,
  endMs: number,
  facts: Omit<GapFacts, 'observed' | 'fromMs' | 'endMs'> & { readonly isObserved: boolean },
): GapReason {
  const { capacityChanges, impossibleMs, absences, columns, isObserved } = facts;
  const inside = (timeMs: number): boolean => timeMs > startMs && timeMs < endMs;
  if (capacityChanges.some(inside)) return 'CAPACITY_CHANGED';
  // A row at the very end of the range is in a gap that goes on.
  const insideOrLast = (timeMs: number): boolean =>
    inside(timeMs) || (timeMs === endMs && !isObserved);
  if (impossibleMs.some(insideOrLast)) return 'IMPOSSIBLE';
  const cause = newestCause(absences, insideOrLast);
  if (cause !== undefined) return cause;
  // The first row after a silence has no rate, whatever it reports: the silence ends with the next.
  const { timesMs } = columns;
  const isFirst = (i: number): boolean =>
    timesMs[i + 1] === endMs &&
    isObserved &&
    (timesMs[i] ?? 0) - (timesMs[i - 1] ?? startMs) > GAP_TOLERANCE_MS;
  const states = columns.state.filter((_, i) => inside(timesMs[i] ?? 0) && !isFirst(i));
  if (states.length === 0) return 'NO_SAMPLES';
  return states.every((state) => OFF.has(state)) ? 'NOT_RUNNING' : 'NOT_REPORTED';
}

/** The cause of the newest row in the gap that has one. */
function newestCause(
  absences: Absences,
  isInside: (timeMs: number) => boolean,
): string | undefined {
  let newest: { readonly cause: string; readonly timeMs: number } | undefined;
  for (const [cause, times] of absences) {
    const timeMs = times.findLast(isInside);
    if (timeMs !== undefined && timeMs > (newest?.timeMs ?? -Infinity)) newest = { cause, timeMs };
  }
  return newest?.cause;
}

/** One step's value: the mean of its observations, weighted where they are ratios or rates. */
export interface MetricPoint {
  /** End of the step it covers, Unix ms. */
  readonly timeMs: number;
  readonly value: number;
  /** Of the observations in the step; of ages there are none. */
  readonly min?: number;
  readonly max?: number;
}

/** First and last point, both inclusive, and the step, Unix ms and ms. */
export interface StepGrid {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

/** Points of the steps that hold an observation with a value, oldest first. */
function stepPoints(
  derivation: Derivation,
  { timesMs, numerators, denominators, values }: Omit<DerivedSeries, 'labels'>,
  { startMs, endMs, stepMs, withExtremes = false }: StepGrid & Pick<MetricQuery, 'withExtremes'>,
): MetricPoint[] {
  const points: MetricPoint[] = [];
  let i = 0;
  while (i < timesMs.length && (timesMs[i] ?? 0) <= startMs - stepMs) i++;
  for (let timeMs = startMs; timeMs <= endMs && i < timesMs.length; timeMs += stepMs) {
    const first = i;
    const sums = { numerator: 0, denominator: 0 };
    for (; i < timesMs.length && (timesMs[i] ?? 0) <= timeMs; i++) {
      sums.numerator += numerators[i] ?? 0;
      sums.denominator += denominators[i] ?? 0;
    }
    // A single reading keeps its value: weighing it could cost its last digit.
    const value = i === first + 1 ? (values[first] ?? Number.NaN) : quotient(derivation, sums);
    if (Number.isNaN(value)) continue;
    points.push({ timeMs, value, ...(withExtremes && extremes(values, first, i)) });
  }
  return points;
}

/** Of the values at [first, end), of which one is a number. */
function extremes(values: ArrayLike<number>, first: number, end: number) {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = first; i < end; i++) {
    const value = values[i] ?? Number.NaN;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { min, max };
}

/**
 * At each step's end the seconds since the newest observation at or before it. The one metric that
 * has a value without an observation in the step, because it says how long there was none; before
 * the first observation it has none either.
 */
function agePoints(
  timesMs: Float64Array,
  { startMs, endMs, stepMs, lastBeforeMs }: StepGrid & { lastBeforeMs?: number | undefined },
): MetricPoint[] {
  const points: MetricPoint[] = [];
  let newestMs = lastBeforeMs;
  let i = 0;
  for (let timeMs = startMs; timeMs <= endMs; timeMs += stepMs) {
    for (; i < timesMs.length && (timesMs[i] ?? 0) <= timeMs; i++) newestMs = timesMs[i];
    if (newestMs !== undefined) points.push({ timeMs, value: (timeMs - newestMs) / 1000 });
  }
  return points;
}
