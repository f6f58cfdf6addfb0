/**
 * Derives metric values from observed rows: the only place that knows the value of a counter's
 * interval. The evaluator applies it row by row, queries over columns (`query.ts`); both get the
 * same value from the same two rows.
 *
 * A value is a numerator over a denominator (cpu-seconds over interval x vCPUs, bytes over seconds,
 * a reading over 1), so a step's value is the sum of its numerators over the sum of its
 * denominators. An unknown value is absent; it is never 0 and never guessed.
 */
import { GAP_TOLERANCE_MS } from '../entry.ts';
import { type SeriesKey, splitSeriesKey, VM_STATES } from '../samples/batch.ts';
import { originOf } from '../samples/boot.ts';
import type { Derivation } from './catalogue.ts';

/** One row of a VM, as far as a derivation needs it. NaN = not observed. */
export interface ObservedRow extends ReportedState {
  /** Unix ms. */
  readonly observedMs: number;
  /** '' = not reported. */
  readonly boot: string;
  readonly vcpus: number;
  /** One value for each series of the list for which the inputs were made. */
  readonly values: ArrayLike<number>;
}

/** Positions of a metric's readings in a row: one input for each label set with a value. */
export interface MetricInput {
  /** Canonical label part of the instance; '' if the VM has a single value. */
  readonly labels: string;
  /** Positions in the row's values, in the order of the derivation; -1 = not in this row. */
  readonly slots: readonly number[];
  /** Series keys of the slots: devices are paired by key if two rows differ in layout. */
  readonly keys: readonly SeriesKey[];
}

/** A row, and the metric's positions in it. */
export interface InputRow {
  readonly row: ObservedRow;
  readonly input: MetricInput;
}

/** Value of an observation; `denominator` is 0 if there is none. */
export interface Derived {
  numerator: number;
  denominator: number;
  /** vCPUs differed between the two rows: their interval has no utilization. */
  capacityChanged: boolean;
  /**
   * The observed but impossible value (`isImpossible`); NaN: none. It does not count as a value.
   */
  impossible: number;
}

/** The value of an observation before it is derived. */
export function newDerived(): Derived {
  return { numerator: 0, denominator: 0, capacityChanged: false, impossible: Number.NaN };
}

/**
 * CPU up to this much above 100 % is due to rounding of times and counters, and is reported as 100.
 */
export const PERCENT_ROUNDING = 0.5;

/**
 * More than twice the capacity is not an observation: real hypervisors report up to 126 %, a
 * counter that dipped and recovered thousands. The same factor applies to used memory and the
 * total.
 */
export const CAPACITY_FACTOR_MAX = 2;

/**
 * Counters are 64 bits wide. A reading in the upper half fell below 0 and wrapped; as a double it
 * has also lost the digits that a rate depends on.
 */
const COUNTER_MAX = 2 ** 63;

const RUNNING = VM_STATES.indexOf('RUNNING');

const UNKNOWN = VM_STATES.indexOf('UNKNOWN');

/** The inputs of a metric in rows with these series; none if the rows do not have the metric. */
export function inputsOf(derivation: Derivation, series: readonly SeriesKey[]): MetricInput[] {
  const slotOf = (key: SeriesKey): number => series.indexOf(key);
  switch (derivation.from) {
    case 'gauge': {
      const { atMost, perLabels } = derivation;
      if (!perLabels) return oneInput([slotOf(derivation.series)], [derivation.series]);
      return named(series, derivation.series).map((key) => {
        const { labels } = splitSeriesKey(key);
        const keys = atMost === undefined ? [key] : [key, atMost + labels];
        return { labels, slots: keys.map(slotOf), keys };
      });
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

/**
 * One input for each device of a rate, in addition to the one of their sum; none for other
 * derivations.
 */
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

/** True if the row has a reading of the metric. Only such rows are observations of it. */
export function isObserved(derivation: Derivation, { row, input }: InputRow): boolean {
  if (derivation.from === 'age') return true;
  if (derivation.from === 'unexpectedStop') return !Number.isNaN(unexpectedStop(row));
  if (derivation.from === 'running' && row.state !== UNKNOWN) return true;
  for (const slot of input.slots) if (Number.isFinite(read(row, slot))) return true;
  return false;
}

/**
 * Writes numerator and denominator of `after` to `out`, given the observation before it (absent:
 * the first), and returns the value. NaN if there is none: the first sample of a counter, an
 * interval longer than the gap tolerance, an unexplained counter drop, a capacity change, 0/0, an
 * impossible value.
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
  out.impossible = Number.NaN;
  weigh(derivation, before, after, out);
  const value = quotient(derivation, out);
  if (isImpossible(derivation, value)) reject(value, out);
  return Number.isNaN(out.impossible) ? value : Number.NaN;
}

/**
 * True for a value that no VM can have: negative, more than twice the capacity, fuller than full.
 * It stays stored and is reported as such, and no rule acts on it (MEAS-12).
 */
function isImpossible(derivation: Derivation, value: number): boolean {
  if (value < 0) return true;
  switch (derivation.from) {
    case 'utilization':
      return value > 100 * CAPACITY_FACTOR_MAX;
    case 'memoryUsed':
      return derivation.as === 'percent' && value > 100 * CAPACITY_FACTOR_MAX;
    case 'percentage':
      return value > 100 + PERCENT_ROUNDING;
    case 'running':
      return value > 1;
    default:
      return false;
  }
}

/** Removes the value of the observation and keeps it as the impossible one. */
function reject(value: number, out: Derived): void {
  out.numerator = 0;
  out.denominator = 0;
  out.impossible = value;
}

/**
 * Reported value of numerator over denominator; NaN if there is none. CPU utilization just above
 * 100 (`PERCENT_ROUNDING`) is reported as 100; a higher one stays as it is, flagged
 * (`isOutOfRange`).
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

/** True for a percentage out of range (hypervisors do report 113 %): it is kept and flagged. */
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
      if (first > fullest(row, input)) reject(first, out);
      break;
    case 'rate':
      rateOver(before, after, out);
      break;
    case 'utilization':
      // Applies to values computed by the source too: part of the interval has the previous
      // capacity.
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

/** True for metrics of the VM's own state: only they are evaluated while the VM is down. */
export function reportsState({ from }: Derivation): boolean {
  return from === 'running' || from === 'unexpectedStop';
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
  // More free than total memory, or far more used.
  if (used < 0 || used > CAPACITY_FACTOR_MAX * total) {
    reject(as === 'bytes' ? used : (100 * used) / total, out);
    return;
  }
  reading(as === 'bytes' ? used : (100 * used) / total, out);
}

/** The largest possible reading of a gauge that is bounded by another one; NaN: unbounded. */
function fullest(row: ObservedRow, { slots }: MetricInput): number {
  return read(row, slots[1] ?? -1) * (1 + PERCENT_ROUNDING / 100);
}

/** A reading of the row; NaN if it has none. */
export function read(row: ObservedRow, slot: number): number {
  return slot < 0 ? Number.NaN : (row.values[slot] ?? Number.NaN);
}

/** Seconds between two observations; 0 if no rate may be computed across them. */
export function intervalSeconds(before: InputRow | undefined, after: InputRow): number {
  if (!before) return 0;
  const ms = after.row.observedMs - before.row.observedMs;
  return ms > 0 && ms <= GAP_TOLERANCE_MS ? ms / 1000 : 0;
}

/**
 * Sum of the devices' increases. If one is unknown, the sum is unknown: a device that dropped
 * without a boot, appeared or disappeared would otherwise count as 0, and 0 is a recovery.
 */
function rateOver(before: InputRow | undefined, after: InputRow, out: Derived): void {
  const seconds = intervalSeconds(before, after);
  if (!before || seconds === 0 || hasGone(before, after)) return;
  const boot = { before: before.row.boot, after: after.row.boot };
  const { slots, keys } = after.input;
  let sum = 0;
  let devices = 0;
  for (let i = 0; i < slots.length; i++) {
    const then = readPaired(before, after, i, keys[i]);
    const now = read(after.row, slots[i] ?? -1);
    if (Number.isNaN(then) && Number.isNaN(now)) continue;
    if (!isCount(then) || !isCount(now)) out.impossible = (now - then) / seconds;
    sum += counterIncrease(then, now, boot);
    devices++;
  }
  if (devices === 0 || Number.isNaN(sum) || !Number.isNaN(out.impossible)) return;
  out.numerator = sum;
  out.denominator = seconds;
}

/** True if the earlier row has a reading of a device that the later row's layout lacks. */
function hasGone(before: InputRow, after: InputRow): boolean {
  if (before.input === after.input) return false;
  const { keys, slots } = before.input;
  return keys.some(
    (key, i) =>
      !after.input.keys.includes(key) && Number.isFinite(read(before.row, slots[i] ?? -1)),
  );
}

/**
 * The earlier row's reading of the same device; a row with the same layout has it at the same
 * position.
 */
function readPaired(
  before: InputRow,
  after: InputRow,
  i: number,
  key: SeriesKey | undefined,
): number {
  if (before.input === after.input) return read(before.row, before.input.slots[i] ?? -1);
  const at = key === undefined ? -1 : before.input.keys.indexOf(key);
  return read(before.row, at < 0 ? -1 : (before.input.slots[at] ?? -1));
}

/** True if the vCPUs of the two rows differ, with no gap between them. */
function isResized(before: InputRow | undefined, after: InputRow): boolean {
  if (!before || intervalSeconds(before, after) === 0) return false;
  const difference = after.row.vcpus - before.row.vcpus;
  return Number.isFinite(difference) && difference !== 0;
}

/**
 * Cpu-seconds over interval x vCPUs observed then; no value unless they were reported both times.
 */
function utilizationOver(before: InputRow | undefined, after: InputRow, out: Derived): void {
  const seconds = intervalSeconds(before, after);
  if (!before || seconds === 0) return;
  const { vcpus } = after.row;
  if (vcpus !== before.row.vcpus) return;
  const boot = { before: before.row.boot, after: after.row.boot };
  const then = read(before.row, before.input.slots[1] ?? -1);
  const now = read(after.row, after.input.slots[1] ?? -1);
  if (!(vcpus > 0)) return;
  if (!isCount(then) || !isCount(now)) {
    reject((100 * (now - then)) / (seconds * vcpus), out);
    return;
  }
  const used = counterIncrease(then, now, boot);
  if (Number.isNaN(used)) return;
  out.numerator = 100 * used;
  out.denominator = seconds * vcpus;
}

/** False for a reading that no counter can have; an absent one is not checked. */
function isCount(reading: number): boolean {
  return Number.isNaN(reading) || (reading >= 0 && reading < COUNTER_MAX);
}

/**
 * Increase of a counter between two observations; NaN if unknown. A drop is a reset: if the boot id
 * is known to have changed, the counter restarted at 0 in between, so the increase is the new
 * value. A changed boot id without a drop is ambiguous (the counter may have restarted) and gives
 * no value. The same applies to the increase from one source's counter to another's.
 */
function counterIncrease(
  before: number,
  after: number,
  boot: { readonly before: string; readonly after: string },
): number {
  if (!Number.isFinite(before) || !Number.isFinite(after)) return Number.NaN;
  const isChanged = boot.before !== boot.after;
  // Another source's counters: their difference means nothing.
  if (isChanged && originOf(boot.before) !== originOf(boot.after)) return Number.NaN;
  const booted = isChanged && boot.before !== '' && boot.after !== '';
  if (after < before) return booted ? after : Number.NaN;
  return booted ? Number.NaN : after - before;
}

// The power state that the hypervisor reports for a VM, and unexpected stops.

const CRASHED = VM_STATES.indexOf('CRASHED');

/** Reported state of a VM in a row. */
export interface ReportedState {
  /** Index into `VM_STATES`. */
  readonly state: number;
  /** The source's own word for the reason; absent or '' = none. */
  readonly stateReason?: string;
}

/**
 * As reported by the hypervisor: STOPPED by its owner (or paused), DOWN otherwise, or UNREPORTED.
 */
export type Power = 'RUNNING' | 'STOPPED' | 'DOWN' | 'UNREPORTED';

/**
 * OFF: it is not running, and no reason is reported: DOWN if it was DOWN before, otherwise STOPPED.
 */
export type ReportedPowerState = Power | 'OFF';

/** The VM's power according to the row alone. */
export function powerOf(row: ReportedState): ReportedPowerState {
  if (row.state === RUNNING) return 'RUNNING';
  if (row.state === UNKNOWN) return 'UNREPORTED';
  if (isUndeclared(row)) return 'DOWN';
  return hasReason(row) ? 'STOPPED' : 'OFF';
}

/** The power after a row that reports `reported`, given whether the VM was DOWN before. */
export function powerAfter(wasDown: boolean, reported: ReportedPowerState): Power {
  if (reported !== 'OFF') return reported;
  return wasDown ? 'DOWN' : 'STOPPED';
}

/**
 * Reasons of a stop that the owner did not request. Those of a pause are the hypervisor's own, for
 * a failing disk, a hung guest or a broken migration. Any other reason declares the stop.
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
 * Words that are not a reason. A restarted daemon no longer knows why a VM is off, even one that
 * crashed: the stop counts neither as declared nor as unexpected.
 */
const NO_REASON: ReadonlySet<string> = new Set(['', 'unknown', 'daemon', 'from_snapshot']);

/** 1 if the VM is down undeclared; NaN if its state or the reason was not reported. */
function unexpectedStop(row: ReportedState): number {
  if (row.state === UNKNOWN) return Number.NaN;
  if (row.state === RUNNING) return 0;
  if (isUndeclared(row)) return 1;
  return hasReason(row) ? 0 : Number.NaN;
}

function isUndeclared({ state, stateReason = '' }: ReportedState) {
  return state === CRASHED || UNDECLARED.has(stateReason);
}

function hasReason({ stateReason = '' }: Pick<ReportedState, 'stateReason'>): boolean {
  return !NO_REASON.has(stateReason);
}
