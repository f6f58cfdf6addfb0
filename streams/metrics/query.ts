/**
 * A metric over a range: from a VM's columns to points on a grid of steps. Each point covers the
 * step that ends at its time, (time - step, time], and is the sum of numerators over the sum of
 * denominators of the observations in it: cpu-seconds over interval x vCPUs, bytes over seconds,
 * the mean of a gauge. An interval of a counter belongs to the step its later observation is in.
 * A step without an observation has no point: nothing is carried on, interpolated or filled.
 */
import { GAP_TOLERANCE_MS } from '../evaluation/entry.ts';
import type { SeriesKey } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import { type Derivation, type MetricUnit, metricCatalogue } from './catalogue.ts';
import {
  type Derived,
  derive,
  type InputRow,
  inputsOf,
  isObserved,
  isOutOfRange,
  type MetricInput,
  type ObservedRow,
  quotient,
} from './derive.ts';

export interface MetricPoint {
  /** End of the step it covers, Unix ms. */
  readonly timeMs: number;
  readonly value: number;
}

export interface MetricSeries {
  /** Canonical label part, '' when the VM has one value. */
  readonly labels: string;
  readonly unit: MetricUnit;
  /** Steps that have a value, oldest first. */
  readonly points: readonly MetricPoint[];
}

/** Why a stretch has no value. NOT_REPORTED: rows came, without (a usable reading of) the metric. */
export type GapReason = 'NO_SAMPLES' | 'NOT_REPORTED' | 'CAPACITY_CHANGED';

/** No value of the metric between these times, Unix ms, longer than the gap tolerance. */
export interface MetricGap {
  readonly startMs: number;
  readonly endMs: number;
  readonly reason: GapReason;
}

export type QualityFlag = 'OUT_OF_RANGE' | 'CAPACITY_CHANGED' | 'CONFLICTING_SAMPLES';

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

export interface MetricQuery {
  readonly columns: VmColumns;
  /** An id of the catalogue; throws `RangeError` for another. */
  readonly metricId: string;
  /** First and last point, Unix ms, both inclusive. */
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

/** Interval at which sources sample, ms (interface, section 8). */
export const SAMPLING_INTERVAL_MS = 30_000;

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
    case 'time':
      return [];
  }
}

/** A metric's points, and what is to be known about them. */
export function queryMetric(query: MetricQuery): MetricRange {
  const { columns, metricId, startMs, endMs, stepMs } = query;
  const { derivation, unit } = descriptorOf(metricId);
  const series = deriveColumns(columns, derivation);
  const fromMs = startMs - stepMs;
  const observed = observedTimes(series, fromMs, endMs);
  const capacityChanges = series.flatMap((one) => one.capacityChangedMs.filter(within(query)));
  const lastObservedMs = observed.at(-1);
  return {
    series: series
      .map(({ labels, ...derived }) => ({
        labels,
        unit,
        points: stepPoints(derivation, derived, query),
      }))
      .filter(({ points }) => points.length > 0),
    gaps: gapsOf({ observed, capacityChanges, columns, fromMs, endMs }),
    flags: flagsOf({ series, derivation, columns, query }),
    expectedSamples: Math.round((endMs - fromMs) / SAMPLING_INTERVAL_MS),
    observedSamples: observed.length,
    ...(lastObservedMs === undefined ? {} : { lastObservedMs }),
  };
}

/** Derived observations of one label set, as columns; entries without a value are not in it. */
export interface DerivedSeries {
  readonly labels: string;
  readonly timesMs: readonly number[];
  readonly numerators: readonly number[];
  readonly denominators: readonly number[];
  readonly values: readonly number[];
  /** Observations whose interval has no value because vCPUs changed in it. */
  readonly capacityChangedMs: readonly number[];
}

/** Every observation's value over columns, by the rule of `derive`. */
export function deriveColumns(columns: VmColumns, derivation: Derivation): DerivedSeries[] {
  const keys = [...columns.series.keys()];
  const inputs = inputsOf(derivation, keys);
  return inputs.map((input) => deriveInput(columns, derivation, keys, input));
}

function deriveInput(
  columns: VmColumns,
  derivation: Derivation,
  keys: readonly SeriesKey[],
  input: MetricInput,
): DerivedSeries {
  const from = input.slots.map((slot) => columns.series.get(keys[slot] ?? ''));
  const compact: MetricInput = {
    ...input,
    slots: input.slots.map((slot, i) => (slot < 0 ? -1 : i)),
  };
  const series = {
    labels: input.labels,
    timesMs: [] as number[],
    numerators: [] as number[],
    denominators: [] as number[],
    values: [] as number[],
    capacityChangedMs: [] as number[],
  };
  const out: Derived = { numerator: 0, denominator: 0, capacityChanged: false };
  let before: InputRow | undefined;
  for (let i = 0; i < columns.timesMs.length; i++) {
    const after = { row: rowAt(columns, from, i), input: compact };
    if (!isObserved(derivation, after)) continue;
    const value = derive(derivation, before, after, out);
    before = after;
    if (out.capacityChanged) series.capacityChangedMs.push(after.row.observedMs);
    if (Number.isNaN(value)) continue;
    series.timesMs.push(after.row.observedMs);
    series.numerators.push(out.numerator);
    series.denominators.push(out.denominator);
    series.values.push(value);
  }
  return series;
}

function rowAt(
  columns: VmColumns,
  from: readonly (Float64Array | undefined)[],
  i: number,
): ObservedRow {
  return {
    observedMs: columns.timesMs[i] ?? 0,
    boot: columns.strings[columns.boot[i] ?? 0] ?? '',
    vcpus: columns.vcpus[i] ?? Number.NaN,
    state: columns.state[i] ?? 0,
    values: from.map((column) => column?.[i] ?? Number.NaN),
  };
}

function stepPoints(
  derivation: Derivation,
  series: Omit<DerivedSeries, 'labels'>,
  { startMs, endMs, stepMs }: MetricQuery,
): MetricPoint[] {
  const points: MetricPoint[] = [];
  const { timesMs, numerators, denominators } = series;
  let i = 0;
  while (i < timesMs.length && (timesMs[i] ?? 0) <= startMs - stepMs) i++;
  for (let timeMs = startMs; timeMs <= endMs; timeMs += stepMs) {
    const sums = { numerator: 0, denominator: 0 };
    for (; i < timesMs.length && (timesMs[i] ?? 0) <= timeMs; i++) {
      sums.numerator += numerators[i] ?? 0;
      sums.denominator += denominators[i] ?? 0;
    }
    const value = quotient(derivation, sums);
    if (!Number.isNaN(value)) points.push({ timeMs, value });
  }
  return points;
}

/** Times in (fromMs, toMs] at which some label set has a value, sorted. */
function observedTimes(series: readonly DerivedSeries[], fromMs: number, toMs: number): number[] {
  const times = new Set<number>();
  for (const { timesMs } of series) {
    for (const timeMs of timesMs) if (timeMs > fromMs && timeMs <= toMs) times.add(timeMs);
  }
  return [...times].sort((a, b) => a - b);
}

interface GapFacts {
  readonly observed: readonly number[];
  readonly capacityChanges: readonly number[];
  readonly columns: VmColumns;
  readonly fromMs: number;
  readonly endMs: number;
}

function gapsOf({ observed, capacityChanges, columns, fromMs, endMs }: GapFacts): MetricGap[] {
  const gaps: MetricGap[] = [];
  let startMs = fromMs;
  for (const next of [...observed, endMs]) {
    if (next - startMs > GAP_TOLERANCE_MS) {
      const inside = (timeMs: number): boolean => timeMs > startMs && timeMs < next;
      const reported = columns.timesMs.some(inside);
      const reason: GapReason = capacityChanges.some(inside)
        ? 'CAPACITY_CHANGED'
        : reported
          ? 'NOT_REPORTED'
          : 'NO_SAMPLES';
      gaps.push({ startMs, endMs: next, reason });
    }
    startMs = next;
  }
  return gaps;
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
  if (columns.conflicts > 0) flags.push('CONFLICTING_SAMPLES');
  return flags;
}

function within({ startMs, stepMs, endMs }: MetricQuery): (timeMs: number) => boolean {
  return (timeMs) => timeMs > startMs - stepMs && timeMs <= endMs;
}

function descriptorOf(metricId: string) {
  const descriptor = metricCatalogue.get(metricId);
  if (!descriptor) throw new RangeError(`Unknown metric ${metricId}`);
  return descriptor;
}
