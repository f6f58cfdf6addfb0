/**
 * A metric over a range: from a VM's columns to points on a grid of steps (`steps.ts`), the gaps
 * between them (`gaps.ts`) and what else is to be known about them. An interval of a counter
 * belongs to the step its later observation is in. A step without an observation has no point:
 * nothing is carried on, interpolated or filled.
 */
import { GAP_TOLERANCE_MS } from '../entry.ts';
import type { SeriesKey } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import { type Derivation, type MetricUnit, metricCatalogue } from './catalogue.ts';
import {
  type Derived,
  derive,
  deviceInputsOf,
  type InputRow,
  inputsOf,
  isObserved,
  isOutOfRange,
  type MetricInput,
  type ObservedRow,
} from './derive.ts';
import { gapsOf, type MetricGap, observedTimes } from './gaps.ts';
import { intervalSeconds, read } from './intervals.ts';
import { agePoints, type MetricPoint, stepPoints } from './steps.ts';

export interface MetricSeries {
  /** Canonical label part; '' = of the VM: its one value, or the sum over its devices. */
  readonly labels: string;
  readonly unit: MetricUnit;
  /** Steps that have a value, oldest first. */
  readonly points: readonly MetricPoint[];
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
  /** Newest observation of the VM before the columns, Unix ms, where there is one: for ages. */
  readonly lastBeforeMs?: number | undefined;
}

/** Interval at which sources sample, ms (LIMIT-02). */
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
  return {
    series: series.filter(({ points }) => points.length > 0),
    gaps: gapsOf({ observed, capacityChanges, columns, fromMs, endMs }),
    flags: flagsOf({ series: derived, derivation, columns, query }),
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
  return inputsOf(derivation, keys).map((input) => deriveInput(columns, derivation, keys, input));
}

/** The same for each device of a rate by itself. */
function deriveDevices(columns: VmColumns, derivation: Derivation): DerivedSeries[] {
  const keys = [...columns.series.keys()];
  const inputs = deviceInputsOf(derivation, keys);
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
  // Two rows in turn: an object for each of 20,000 rows would cost more than the arithmetic.
  let after = { row: blankRow(from.length), input: compact };
  let spare = { row: blankRow(from.length), input: compact };
  let before: InputRow | undefined;
  for (let i = 0; i < columns.timesMs.length; i++) {
    fillRow(after.row, columns, from, i);
    if (!isObserved(derivation, after)) continue;
    const value = derive(derivation, before, after, out);
    if (out.capacityChanged) series.capacityChangedMs.push(after.row.observedMs);
    if (!Number.isNaN(value)) {
      const weight = weightOf(derivation, before, after);
      series.timesMs.push(after.row.observedMs);
      series.numerators.push(out.numerator * weight);
      series.denominators.push(out.denominator * weight);
      series.values.push(value);
    }
    before = after;
    [after, spare] = [spare, after];
  }
  return series;
}

/**
 * Counters weigh what they were observed over; so does a utilization that the source has worked
 * out: by the interval it ends (at most the tolerance, else a sampling interval) and the vCPUs
 * observed with it. Every other reading weighs the same.
 */
function weightOf(derivation: Derivation, before: InputRow | undefined, after: InputRow): number {
  if (derivation.from !== 'utilization') return 1;
  const { row, input } = after;
  if (!Number.isFinite(read(row, input.slots[0] ?? -1))) return 1;
  const seconds = intervalSeconds(before, after) || SAMPLING_INTERVAL_MS / 1000;
  return seconds * (row.vcpus > 0 ? row.vcpus : 1);
}

type RowBuffer = { -readonly [K in keyof ObservedRow]-?: ObservedRow[K] } & {
  readonly values: number[];
};

function blankRow(values: number): RowBuffer {
  const told = { boot: '', vcpus: Number.NaN, state: 0, stateReason: '' };
  return { observedMs: 0, ...told, values: new Array<number>(values).fill(Number.NaN) };
}

function fillRow(
  row: RowBuffer,
  columns: VmColumns,
  from: readonly (Float64Array | undefined)[],
  i: number,
): void {
  row.observedMs = columns.timesMs[i] ?? 0;
  row.boot = columns.strings[columns.boot[i] ?? 0] ?? '';
  row.vcpus = columns.vcpus[i] ?? Number.NaN;
  row.state = columns.state[i] ?? 0;
  row.stateReason = columns.strings[columns.stateReason[i] ?? 0] ?? '';
  for (let slot = 0; slot < from.length; slot++) {
    row.values[slot] = from[slot]?.[i] ?? Number.NaN;
  }
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
