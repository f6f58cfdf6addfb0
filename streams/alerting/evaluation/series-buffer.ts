/**
 * The observations of one series: one metric (and label set) of one VM, sorted by time, as far back
 * as a late one is still accepted. All rules that watch the series share its buffer. Older
 * observations settle: each instance's `settled` timeline takes them in, and the buffer forgets them
 * but for the last, which the next rate needs.
 *
 *     rows  [ base | ................ lateness window ................ newest ]
 *             ^ settled through here                current through here ^
 */

import { GAP_TOLERANCE_MS, LATENESS_MS } from '../../telemetry/entry.ts';
import { type Derived, derive, reportsState } from '../../telemetry/metrics/derive.ts';
import { powerOf } from '../../telemetry/metrics/power.ts';
import {
  advanceAge,
  advanceReading,
  appendAge,
  settleAge,
  settleReading,
} from './advance-instance.ts';
import {
  type BufferedInput,
  type BufferedRow,
  decidedThroughMs,
  type Instance,
  isAgeBuffer,
  isHealthChanged,
  openIncident,
  passDecided,
  type SeriesBuffer,
  type Stretch,
  takeOver,
} from './instance.ts';
import { unnoteAfter } from './run-events.ts';
import { copyTimeline, interrupt } from './timeline.ts';

const NOT_SUPPRESSED: readonly Stretch[] = [];

/** Result of offering a row to a buffer. */
export type Placement = 'placed' | 'duplicate' | 'conflict' | 'late' | 'clockBackwards';

export function createBuffer(
  of: Pick<SeriesBuffer, 'vm' | 'metricId' | 'labels' | 'generation' | 'derivation'>,
): SeriesBuffer {
  return {
    ...of,
    rows: [],
    values: [],
    settledRows: 0,
    newestMs: Number.NEGATIVE_INFINITY,
    newestValueMs: Number.NEGATIVE_INFINITY,
    receivedMs: Number.NEGATIVE_INFINITY,
    instances: [],
    stale: false,
    suppressed: NOT_SUPPRESSED,
  };
}

const derived: Derived = { numerator: 0, denominator: 0, capacityChanged: false };

/** Inserts an observation at its time. `touch` gets the instances that changed. */
export function place(
  buffer: SeriesBuffer,
  arrival: { readonly input: BufferedInput; readonly receivedMs: number },
  touch: (instance: Instance) => void,
): Placement {
  const { input, receivedMs } = arrival;
  const { observedMs } = input.row;
  if (isAgeBuffer(buffer)) passDecided(buffer, receivedMs);
  if (observedMs > buffer.newestMs) {
    append(buffer, input, touch);
    buffer.receivedMs = receivedMs;
    return 'placed';
  }
  if (isClockBackwards(buffer, arrival)) {
    beginAgain(buffer, touch);
    append(buffer, input, touch);
    buffer.receivedMs = receivedMs;
    return 'clockBackwards';
  }
  if (observedMs < buffer.newestMs - LATENESS_MS) return 'late';
  return insert(buffer, input);
}

/** Computes `current` again, from `settled` over the buffer, after late rows came in. */
export function refresh(buffer: SeriesBuffer, touch: (instance: Instance) => void): void {
  if (!buffer.stale) return;
  buffer.stale = false;
  const settledMs = settledThrough(buffer);
  const firstMs = buffer.rows[0]?.row.observedMs ?? 0;
  // Without a settled row nothing is known of the time before the first.
  const knownAfterMs = buffer.settledRows > 0 ? settledMs : firstMs - 1;
  for (const instance of buffer.instances) {
    const kept = instance.events.filter(({ observedMs }) => observedMs <= settledMs);
    const { settled } = instance;
    if (kept.length === 0) instance.before = settled.firing ? { ...settled } : undefined;
    instance.events = kept;
    instance.recomputedFromMs ??= knownAfterMs;
    copyTimeline(settled, instance.current);
    unnoteAfter(instance, settledMs);
    advanceOverBuffer(buffer, instance);
    touch(instance);
  }
}

function advanceOverBuffer(buffer: SeriesBuffer, instance: Instance): void {
  for (let i = buffer.settledRows; i < buffer.rows.length; i++) {
    const row = buffer.rows[i]?.row;
    if (row && isAgeBuffer(buffer)) advanceAge(instance, row);
    else advanceReading(instance, row?.observedMs ?? 0, buffer.values[i] ?? Number.NaN);
  }
}

/** Time of the last settled observation; -Infinity when there is none. */
export function settledThrough(buffer: SeriesBuffer): number {
  const base = buffer.settledRows > 0 ? buffer.rows[0] : undefined;
  return base?.row.observedMs ?? Number.NEGATIVE_INFINITY;
}

function append(
  buffer: SeriesBuffer,
  input: BufferedInput,
  touch: (instance: Instance) => void,
): void {
  refresh(buffer, touch);
  const { observedMs } = input.row;
  for (const instance of buffer.instances) {
    const { decided } = instance;
    const isPast = decided && observedMs > decidedThroughMs(decided);
    if (isPast && !isAgeBuffer(buffer)) takeOver(instance);
  }
  const value = derive(buffer.derivation, buffer.rows.at(-1), input, derived);
  const beforeMs = buffer.newestMs;
  buffer.rows.push(input);
  buffer.values.push(value);
  buffer.newestMs = observedMs;
  settleBefore(buffer, observedMs - LATENESS_MS);
  if (isAgeBuffer(buffer)) {
    appendAge(buffer, { row: input.row, beforeMs }, touch);
    return;
  }
  if (Number.isNaN(value)) return;
  buffer.newestValueMs = observedMs;
  for (const instance of buffer.instances) {
    const { current, reported } = instance;
    if (!advanceReading(instance, observedMs, value)) continue;
    const unreported = current.firing && openIncident(instance) === undefined;
    const missing = reported?.missing !== undefined;
    const changed = unreported || missing || isHealthChanged(instance);
    if (changed || instance.events.length > 0) touch(instance);
  }
}

/** Settles observations before `limitMs`: no late row is accepted before them. */
function settleBefore(buffer: SeriesBuffer, limitMs: number): void {
  while (buffer.rows.length > buffer.settledRows + 1) {
    const next = buffer.rows[buffer.settledRows];
    if (!next || next.row.observedMs >= limitMs) return;
    settle(buffer, next.row, buffer.values[buffer.settledRows] ?? Number.NaN);
    if (buffer.settledRows === 1) {
      buffer.rows.shift();
      buffer.values.shift();
    }
    buffer.settledRows = 1;
  }
}

function settle(buffer: SeriesBuffer, row: BufferedRow, value: number): void {
  for (const instance of buffer.instances) settleInstance(instance, row, value);
}

/** Advances `settled` by one observation and keeps the values of its run. */
export function settleInstance(instance: Instance, row: BufferedRow, value: number): void {
  if (isAgeBuffer(instance.buffer)) settleAge(instance, row);
  else settleReading(instance, row.observedMs, value);
}

function insert(buffer: SeriesBuffer, input: BufferedInput): Placement {
  const { observedMs } = input.row;
  let at = buffer.rows.length;
  while (at > 0 && (buffer.rows[at - 1]?.row.observedMs ?? 0) > observedMs) at--;
  const same = buffer.rows[at - 1];
  if (same && same.row.observedMs === observedMs) {
    return isSameReading(buffer, same, input) ? 'duplicate' : 'conflict';
  }
  buffer.rows.splice(at, 0, input);
  buffer.values.splice(at, 0, derive(buffer.derivation, buffer.rows[at - 1], input, derived));
  const next = buffer.rows[at + 1];
  if (next) buffer.values[at + 1] = derive(buffer.derivation, input, next, derived);
  const newest = isAgeBuffer(buffer)
    ? buffer.rows.findLastIndex(({ row }) => powerOf(row) !== 'STOPPED')
    : buffer.values.findLastIndex((value) => !Number.isNaN(value));
  buffer.newestValueMs = buffer.rows[newest]?.row.observedMs ?? buffer.newestValueMs;
  buffer.stale = true;
  return 'placed';
}

function isSameReading(buffer: SeriesBuffer, first: BufferedInput, second: BufferedInput): boolean {
  if (isAgeBuffer(buffer)) return true;
  if (reportsState(buffer.derivation) && first.row.state !== second.row.state) return false;
  if (buffer.derivation.from === 'utilization' && !Object.is(first.row.vcpus, second.row.vcpus)) {
    return false;
  }
  if (first.input.keys.join() !== second.input.keys.join()) return false;
  return first.input.slots.every((slot, i) =>
    Object.is(first.row.values[slot], second.row.values[second.input.slots[i] ?? -1]),
  );
}

/**
 * True when the source's clock went back: certainly when a later row of the same boot is observed
 * earlier. A row of another boot counts as late, until the known boot has been silent for longer than
 * the tolerance.
 */
function isClockBackwards(
  buffer: SeriesBuffer,
  { input, receivedMs }: { readonly input: BufferedInput; readonly receivedMs: number },
): boolean {
  const newest = buffer.rows.at(-1)?.row;
  const { boot, sequence, observedMs } = input.row;
  if (!newest || observedMs === newest.observedMs) return false;
  if (boot === newest.boot) return sequence > newest.sequence;
  if (boot === '' || observedMs >= buffer.newestMs - LATENESS_MS) return false;
  const knownBoot = buffer.rows.some(({ row }) => row.boot === boot);
  return !knownBoot && receivedMs - buffer.receivedMs > GAP_TOLERANCE_MS;
}

/** The clock went back: all observations settle, and no run continues across. */
function beginAgain(buffer: SeriesBuffer, touch: (instance: Instance) => void): void {
  refresh(buffer, touch);
  for (const instance of buffer.instances) {
    const incident = openIncident(instance);
    interrupt(instance.current);
    // Earlier firings have no place in the new time: all observations come after them.
    if (incident) {
      incident.firedMs = Number.NEGATIVE_INFINITY;
      instance.current.firedMs = Number.NEGATIVE_INFINITY;
    } else instance.current.firing = false;
    if (instance.reported) instance.reported.incidents = incident ? [incident] : [];
    copyTimeline(instance.current, instance.settled);
    unnoteAfter(instance, Number.NEGATIVE_INFINITY);
    instance.window = undefined;
    // The rule was in force before the clock went back.
    instance.sinceMs = Number.NEGATIVE_INFINITY;
  }
  buffer.rows.length = 0;
  buffer.values.length = 0;
  buffer.settledRows = 0;
  buffer.newestValueMs = Number.NEGATIVE_INFINITY;
}
