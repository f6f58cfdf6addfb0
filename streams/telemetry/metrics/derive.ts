/**
 * From observed rows to metric values: the one place that knows what an interval of a counter is
 * worth. The evaluator applies it row by row, queries over columns (`query.ts`); both get the same
 * value from the same two rows.
 *
 * A value is a numerator over a denominator (cpu-seconds over interval x vCPUs, bytes over
 * seconds, a reading over 1), so that a step's value is the sum of its numerators over the sum of
 * its denominators. What cannot be known is absent; it is never 0 and never guessed.
 */
import { splitSeriesKey } from '../entry.ts';
import { type SeriesKey, VM_STATES } from '../samples/batch.ts';
import type { Derivation } from './catalogue.ts';
import { isResized, rateOver, read, utilizationOver } from './intervals.ts';

/** One row of a VM, as far as a derivation looks. NaN = not observed. */
export interface ObservedRow {
  /** Unix ms. */
  readonly observedMs: number;
  /** '' = not told. */
  readonly boot: string;
  readonly vcpus: number;
  /** Index into `VM_STATES`. */
  readonly state: number;
  /** The source's word for it; absent or '' = none. */
  readonly stateReason?: string;
  /** One value for each series of the list that the inputs were made for. */
  readonly values: ArrayLike<number>;
}

/** Where a metric finds its readings in a row: one input for each label set it has a value for. */
export interface MetricInput {
  /** Canonical label part of the instance, '' when the VM has one value. */
  readonly labels: string;
  /** Positions in the row's values, in the order the derivation wants; -1 = not in this row. */
  readonly slots: readonly number[];
  /** Series keys of the slots: devices are paired by key when two rows differ in layout. */
  readonly keys: readonly SeriesKey[];
}

/** A row with the metric's place in it. */
export interface InputRow {
  readonly row: ObservedRow;
  readonly input: MetricInput;
}

/** What an observation is worth; `denominator` is 0 when there is no value. */
export interface Derived {
  numerator: number;
  denominator: number;
  /** vCPUs differed between the two rows: their interval has no utilisation. */
  capacityChanged: boolean;
}

/** CPU above 100 % by no more than this is rounding of times and counters, and reads 100. */
const PERCENT_ROUNDING = 0.5;

const RUNNING = VM_STATES.indexOf('RUNNING');
const CRASHED = VM_STATES.indexOf('CRASHED');
const UNKNOWN = VM_STATES.indexOf('UNKNOWN');

/** The inputs a metric has in rows with these series; none: the rows do not carry the metric. */
export function inputsOf(derivation: Derivation, series: readonly SeriesKey[]): MetricInput[] {
  const slotOf = (key: SeriesKey): number => series.indexOf(key);
  switch (derivation.from) {
    case 'gauge': {
      if (!derivation.perLabels) return oneInput([slotOf(derivation.series)], [derivation.series]);
      return named(series, derivation.series).map((key) => ({
        labels: splitSeriesKey(key).labels,
        slots: [slotOf(key)],
        keys: [key],
      }));
    }
    case 'rate': {
      const keys = named(series, derivation.series);
      return keys.length > 0 ? [{ labels: '', slots: keys.map(slotOf), keys }] : [];
    }
    case 'utilization': {
      const keys = [derivation.gauge, derivation.counter];
      return oneInput(keys.map(slotOf), keys);
    }
    case 'memoryUsed': {
      const keys = ['total', 'free', 'used'].map((part) => `svc_vm_memory_${part}_bytes`);
      return oneInput(keys.map(slotOf), keys);
    }
    case 'percentage':
      return named(series, derivation.numerator).map((key) => {
        const { labels } = splitSeriesKey(key);
        const of = derivation.denominator + labels;
        return { labels, slots: [slotOf(key), slotOf(of)], keys: [key, of] };
      });
    case 'running':
      return [{ labels: '', slots: [slotOf(derivation.series)], keys: [derivation.series] }];
    case 'unexpectedStop':
    case 'age':
      return [{ labels: '', slots: [], keys: [] }];
  }
}

/** One input for each device of a rate, beside the one of their sum; none for other derivations. */
export function deviceInputsOf(
  derivation: Derivation,
  series: readonly SeriesKey[],
): MetricInput[] {
  if (derivation.from !== 'rate') return [];
  return named(series, derivation.series).flatMap((key) => {
    const { labels } = splitSeriesKey(key);
    return labels === '' ? [] : [{ labels, slots: [series.indexOf(key)], keys: [key] }];
  });
}

/** Does the row carry a reading of the metric? Only such rows are observations of it. */
export function isObserved(derivation: Derivation, { row, input }: InputRow): boolean {
  if (derivation.from === 'age') return true;
  if (derivation.from === 'unexpectedStop') return !Number.isNaN(unexpectedStop(row));
  if (derivation.from === 'running' && row.state !== UNKNOWN) return true;
  for (const slot of input.slots) if (Number.isFinite(read(row, slot))) return true;
  return false;
}

/**
 * The value of `after`, given the observation before it (absent: the first), NaN when there is
 * none: the first sample of a counter, an interval longer than the gap tolerance, an unexplained
 * counter drop, a capacity change, 0/0. `out` tells what it was made of.
 */
export function derive(
  derivation: Derivation,
  before: InputRow | undefined,
  after: InputRow,
  out: Derived,
): number {
  out.numerator = 0;
  out.denominator = 0;
  out.capacityChanged = false;
  weigh(derivation, before, after, out);
  return quotient(derivation, out);
}

/**
 * Numerator over denominator as it reads: NaN when there is none. CPU utilization just above 100
 * (`PERCENT_ROUNDING`) reads 100; further above it stays as it is, flagged (`isOutOfRange`).
 */
export function quotient(
  derivation: Derivation,
  { numerator, denominator }: Pick<Derived, 'numerator' | 'denominator'>,
): number {
  if (denominator === 0) return Number.NaN;
  const value = numerator / denominator;
  const rounds = derivation.from === 'utilization' && value <= 100 + PERCENT_ROUNDING;
  if (rounds && value > 100) return 100;
  return Number.isFinite(value) ? value : Number.NaN;
}

/** A percentage that cannot be one (hypervisors do report 113 %): kept, and flagged. */
export function isOutOfRange(derivation: Derivation, value: number): boolean {
  return isPercentage(derivation) && (value < 0 || value > 100);
}

function weigh(
  derivation: Derivation,
  before: InputRow | undefined,
  after: InputRow,
  out: Derived,
): void {
  const { row, input } = after;
  const first = read(row, input.slots[0] ?? -1);
  switch (derivation.from) {
    case 'gauge':
      reading(first, out);
      break;
    case 'rate':
      rateOver(before, after, out);
      break;
    case 'utilization':
      // Also one that the source has worked out: part of it is of the capacity before.
      if (isResized(before, after)) out.capacityChanged = true;
      else if (Number.isFinite(first)) reading(first, out);
      else utilizationOver(before, after, out);
      break;
    case 'memoryUsed':
      memoryUsed(row, input, derivation.as, out);
      break;
    case 'percentage':
      reading((100 * first) / read(row, input.slots[1] ?? -1), out);
      break;
    case 'running':
      if (Number.isFinite(first)) reading(first, out);
      else if (row.state !== UNKNOWN) reading(row.state === RUNNING ? 1 : 0, out);
      break;
    case 'unexpectedStop':
      reading(unexpectedStop(row), out);
      break;
    case 'age':
      break;
  }
}

/** Is the metric the hypervisor's word on the VM itself? Only such are judged while it is down. */
export function tellsState({ from }: Derivation): boolean {
  return from === 'running' || from === 'unexpectedStop';
}

/** The hypervisor's word: STOPPED by its owner (or paused), DOWN otherwise, or UNTOLD. */
export type Power = 'RUNNING' | 'STOPPED' | 'DOWN' | 'UNTOLD';

/** OFF: it does not run, and no reason is told: still DOWN if it was before, else STOPPED. */
export type ToldPower = Power | 'OFF';

/** What the row alone says of the VM's power. */
export function powerOf(row: Pick<ObservedRow, 'state' | 'stateReason'>): ToldPower {
  if (row.state === RUNNING) return 'RUNNING';
  if (row.state === UNKNOWN) return 'UNTOLD';
  if (isUndeclared(row)) return 'DOWN';
  return isReasonTold(row) ? 'STOPPED' : 'OFF';
}

/** The power after a row that says `told`, of a VM that was DOWN before it or not. */
export function powerAfter(wasDown: boolean, told: ToldPower): Power {
  if (told !== 'OFF') return told;
  return wasDown ? 'DOWN' : 'STOPPED';
}

/**
 * Reasons of a stop that nobody asked the guest for; those of a pause are the hypervisor's own, for
 * a disk that fails, a guest that hangs, a migration that broke. Any other one declares the stop.
 */
const UNDECLARED: ReadonlySet<string> = new Set([
  'crashed',
  'failed',
  'destroyed',
  'ioerror',
  'watchdog',
  'postcopy_failed',
  'api_error',
]);

/**
 * Words that tell no reason. A daemon that was started anew knows why nothing is off, also of what
 * had crashed: neither a stop that was declared nor one that was not.
 */
const NO_REASON: ReadonlySet<string> = new Set(['', 'unknown', 'daemon', 'from_snapshot']);

/** 1 where the VM is down and nobody declared it, NaN where its state or the reason was not told. */
function unexpectedStop(row: ObservedRow): number {
  if (row.state === UNKNOWN) return Number.NaN;
  if (row.state === RUNNING) return 0;
  if (isUndeclared(row)) return 1;
  return isReasonTold(row) ? 0 : Number.NaN;
}

function isUndeclared({ state, stateReason = '' }: Pick<ObservedRow, 'state' | 'stateReason'>) {
  return state === CRASHED || UNDECLARED.has(stateReason);
}

function isReasonTold({ stateReason = '' }: Pick<ObservedRow, 'stateReason'>): boolean {
  return !NO_REASON.has(stateReason);
}

function oneInput(slots: number[], keys: SeriesKey[]): MetricInput[] {
  return slots.some((slot) => slot >= 0) ? [{ labels: '', slots, keys }] : [];
}

function named(series: readonly SeriesKey[], name: string): SeriesKey[] {
  return series.filter((key) => splitSeriesKey(key).name === name);
}

function isPercentage(derivation: Derivation): boolean {
  if (derivation.from === 'memoryUsed') return derivation.as === 'percent';
  return derivation.from === 'utilization' || derivation.from === 'percentage';
}

function reading(value: number, out: Derived): void {
  if (!Number.isFinite(value)) return;
  out.numerator = value;
  out.denominator = 1;
}

function memoryUsed(
  row: ObservedRow,
  { slots }: MetricInput,
  as: 'bytes' | 'percent',
  out: Derived,
): void {
  const [totalSlot = -1, freeSlot = -1, usedSlot = -1] = slots;
  const total = read(row, totalSlot);
  const difference = total - read(row, freeSlot);
  const used = Number.isFinite(difference) ? difference : read(row, usedSlot);
  // More free than there is: the readings are of different moments; no usage follows from them.
  if (used < 0) return;
  reading(as === 'bytes' ? used : (100 * used) / total, out);
}
