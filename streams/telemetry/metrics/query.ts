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
  /** Canonical label part; '' = the VM: its single value, or the sum over its devices. */
  readonly labels: string;
  readonly unit: MetricUnit;
  /** Steps that have a value, oldest first. */
  readonly points: readonly MetricPoint[];
}

/**
 * Reasons why values of the range are doubtful: an impossible one was left out, a reading is out of
 * range, the capacity changed, or one time has two values.
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
  /** Number of sampling intervals in the range. */
  readonly expectedSamples: number;
  /** Observation times in the range with a value of the metric. */
  readonly observedSamples: number;
  /** Newest of them, Unix ms. */
  readonly lastObservedMs?: number;
  /** Observed but impossible values, which are not points. The newest ones, oldest first. */
  readonly impossible: readonly ImpossibleReading[];
  /**
   * Reason why the source left the reading out of the newest row of the range; absent: it did not.
   */
  readonly absentNow?: string;
}

/** A value that is not a point, with the labels of its series. */
export interface ImpossibleReading extends ImpossibleValue {
  readonly labels: string;
}

/** Maximum number of impossible values of one metric and range. */
const IMPOSSIBLE_MAX = 20;

/** The metric, its columns and the grid. Each point covers the step that ends at its time. */
export interface MetricQuery {
  readonly columns: VmColumns;
  /** An id of the catalogue; any other throws `RangeError`. */
  readonly metricId: string;
  /** First and last point, Unix ms, both inclusive. */
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  /** Newest observation of the VM before the columns, Unix ms, if any: for ages. */
  readonly lastBeforeMs?: number | undefined;
  /** true: each point also has the minimum and maximum of its step. */
  readonly withExtremes?: boolean;
}

/**
 * Start of the columns for a query, such that its first step is complete and its first rate has the
 * observation before it. Pass it as `fromMs` to `History.read`.
 */
export function readFromMs({ startMs, stepMs }: Pick<MetricQuery, 'startMs' | 'stepMs'>): number {
  return startMs - stepMs - GAP_TOLERANCE_MS;
}

/** Names of the series from which a metric is derived: a read can be limited to them. */
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

/** A metric's points and their quality. */
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
 * Reason why a time range has no value. NO_SAMPLES: no row arrived. NOT_RUNNING: the hypervisor
 * reported the VM as off throughout. NOT_REPORTED: rows arrived without a usable reading of the
 * metric. If the source reports a cause, it is used instead (`ABSENCE_CAUSES`); so is IMPOSSIBLE if
 * the value itself is impossible.
 */
export type GapReason = string;

/** A range without a value of the metric, longer than the gap tolerance, Unix ms. */
export interface MetricGap {
  readonly startMs: number;
  readonly endMs: number;
  readonly reason: GapReason;
}

/** Times in (fromMs, toMs] at which any label set has a value, sorted. */
function observedTimes(series: readonly DerivedSeries[], fromMs: number, toMs: number): number[] {
  const times = new Set<number>();
  for (const { timesMs } of series) {
    for (const timeMs of timesMs) if (timeMs > fromMs && timeMs <= toMs) times.add(timeMs);
  }
  return [...times].sort((a, b) => a - b);
}

/** Inputs of a range's gaps. */
export interface GapFacts {
  /** Times with a value, sorted. */
  readonly observed: readonly number[];
  readonly capacityChanges: readonly number[];
  /** Times of impossible values. */
  readonly impossibleMs: readonly number[];
  /** Times of rows that lack the reading, by cause. */
  readonly absences: Absences;
  readonly columns: VmColumns;
  /** The range, Unix ms: open at its start, closed at its end. */
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
  // A row at the very end of the range is in a gap that continues.
  const insideOrLast = (timeMs: number): boolean =>
    inside(timeMs) || (timeMs === endMs && !isObserved);
  if (impossibleMs.some(insideOrLast)) return 'IMPOSSIBLE';
  const cause = newestCause(absences, insideOrLast);
  if (cause !== undefined) return cause;
  // The first row after a silence has no rate, whatever it reports: the silence ends with the next
  // one.
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

/** Value of one step: the mean of its observations, weighted for ratios and rates. */
export interface MetricPoint {
  /** End of the covered step, Unix ms. */
  readonly timeMs: number;
  readonly value: number;
  /** Minimum of the observations in the step; ages have none. */
  readonly min?: number;
  readonly max?: number;
}

/** First and last point, both inclusive, and the step, Unix ms and ms. */
export interface StepGrid {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

/** Points of the steps with at least one observed value, oldest first. */
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
    // A single reading keeps its value: weighting it could cost its last digit.
    const value = i === first + 1 ? (values[first] ?? Number.NaN) : quotient(derivation, sums);
    if (Number.isNaN(value)) continue;
    points.push({ timeMs, value, ...(withExtremes && extremes(values, first, i)) });
  }
  return points;
}

/** Extremes of the values at [first, end), at least one of which is a number. */
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
 * Seconds since the newest observation at or before the end of each step. It is the only metric
 * that has a value without an observation in the step, because it measures how long there was none.
 * Before the first observation it has no value either.
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
