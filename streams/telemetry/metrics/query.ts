/**
 * A metric over a range: points on a grid of steps, gaps and quality flags, from a VM's columns. An
 * interval of a counter belongs to the step of its later observation. A step without an observation
 * has no point: nothing is carried forward, interpolated or filled.
 */

import { GAP_TOLERANCE_MS } from '../entry.ts';
import { VM_STATES } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import { type Derivation, type MetricUnit, metricCatalogue } from './catalogue.ts';
import { expectedIntervals, observedIntervals } from './coverage.ts';
import { isOutOfRange, quotient } from './derive.ts';
import { type DerivedSeries, deriveColumns, deriveDevices } from './derive-columns.ts';

/** One line of a metric: of the VM, or of one of its devices. */
export interface MetricSeries {
  /** Canonical label part; '' = of the VM: its one value, or the sum over its devices. */
  readonly labels: string;
  readonly unit: MetricUnit;
  /** Steps that have a value, oldest first. */
  readonly points: readonly MetricPoint[];
}

/**
 * What makes values of the range doubtful: a reading beyond its range, another capacity, or two
 * values for one time.
 */
export type QualityFlag = 'OUT_OF_RANGE' | 'CAPACITY_CHANGED' | 'CONFLICTING_SAMPLES';

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
}

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
    case 'rate':
    case 'running':
      return [derivation.series];
    case 'utilization':
      return [derivation.gauge, derivation.counter];
    case 'memoryUsed':
      return ['total', 'free', 'used'].map((part) => `svc_vm_memory_${part}_bytes`);
    case 'percentage':
      return [derivation.numerator, derivation.denominator];
    case 'unexpectedStop':
    case 'age':
      return [];
  }
}

/** A metric's points, and what is to be known about them. */
export function queryMetric(query: MetricQuery): MetricRange {
  const { columns, metricId, startMs, endMs, stepMs } = query;
  const { derivation, unit } = descriptorOf(metricId);
  const isAge = derivation.from === 'age';
  const derived = isAge
    ? []
    : [...deriveColumns(columns, derivation), ...deriveDevices(columns, derivation)];
  const fromMs = startMs - stepMs;
  const observed = isAge
    ? Array.from(columns.timesMs.filter(within(query)))
    : observedTimes(derived, fromMs, endMs);
  const capacityChanges = derived.flatMap((one) => one.capacityChangedMs.filter(within(query)));
  const lastObservedMs = observed.at(-1);
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
    gaps: gapsOf({ observed, capacityChanges, columns, fromMs, endMs }),
    flags: flagsOf({ series: derived, derivation, columns, query }),
    expectedSamples,
    observedSamples: observedIntervals(observed).within(expectedSamples),
    ...(lastObservedMs === undefined ? {} : { lastObservedMs }),
  };
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
 * while that the VM was off. NOT_REPORTED: rows came, without (a usable reading of) the metric.
 */
export type GapReason = 'NO_SAMPLES' | 'NOT_RUNNING' | 'NOT_REPORTED' | 'CAPACITY_CHANGED';

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
  facts: Pick<GapFacts, 'capacityChanges' | 'columns'> & { readonly isObserved: boolean },
): GapReason {
  const { capacityChanges, columns, isObserved } = facts;
  const inside = (timeMs: number): boolean => timeMs > startMs && timeMs < endMs;
  if (capacityChanges.some(inside)) return 'CAPACITY_CHANGED';
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
