/** The values of a metric over a VM's columns, by the rule of `derive.ts`. */
import type { SeriesKey } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import type { Derivation } from './catalogue.ts';
import {
  derive,
  deviceInputsOf,
  type InputRow,
  inputsOf,
  intervalSeconds,
  isObserved,
  type MetricInput,
  newDerived,
  type ObservedRow,
  read,
} from './derive.ts';

/** Interval at which sources sample, ms (LIMIT-02). */
export const SAMPLING_INTERVAL_MS = 30_000;

/** Derived observations of one label set, as columns; entries without a value are left out. */
export interface DerivedSeries {
  readonly labels: string;
  readonly timesMs: readonly number[];
  readonly numerators: readonly number[];
  readonly denominators: readonly number[];
  readonly values: readonly number[];
  /** Observations whose interval has no value because vCPUs changed in it. */
  readonly capacityChangedMs: readonly number[];
  /** Observations without a value because it is impossible, with that value. */
  readonly impossible: readonly ImpossibleValue[];
}

/** An observed but impossible value. */
export interface ImpossibleValue {
  /** Unix ms. */
  readonly timeMs: number;
  readonly value: number;
}

/** The value of every observation in the columns, by the rule of `derive`. */
export function deriveColumns(columns: VmColumns, derivation: Derivation): DerivedSeries[] {
  const keys = [...columns.series.keys()];
  return inputsOf(derivation, keys).map((input) => deriveInput(columns, derivation, keys, input));
}

/** The same for each device of a rate separately. */
export function deriveDevices(columns: VmColumns, derivation: Derivation): DerivedSeries[] {
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
    impossible: [] as ImpossibleValue[],
  };
  const out = newDerived();
  // Two alternating rows: an object for each of 20,000 rows would cost more than the arithmetic.
  let after = { row: blankRow(from.length), input: compact };
  let spare = { row: blankRow(from.length), input: compact };
  let before: InputRow | undefined;
  for (let i = 0; i < columns.timesMs.length; i++) {
    fillRow(after.row, columns, from, i);
    if (!isObserved(derivation, after)) continue;
    const value = derive(derivation, before, after, out);
    if (out.capacityChanged) series.capacityChangedMs.push(after.row.observedMs);
    if (!Number.isNaN(out.impossible)) {
      series.impossible.push({ timeMs: after.row.observedMs, value: out.impossible });
    }
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
 * Counters are weighted by the interval of their observation. So is a utilization computed by the
 * source: by the interval that it ends (at most the tolerance, otherwise a sampling interval) and
 * the vCPUs observed with it. All other readings have equal weights.
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
  const unknown = { boot: '', vcpus: Number.NaN, state: 0, stateReason: '' };
  return { observedMs: 0, ...unknown, values: new Array<number>(values).fill(Number.NaN) };
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
