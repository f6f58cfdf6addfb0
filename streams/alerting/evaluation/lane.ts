/**
 * A lane: the observations of one metric (and label set) of one VM, sorted by time, as far back as
 * a late one may still come; shared by every rule that watches them. Older observations settle:
 * each instance's `settled` timeline takes them in and they are forgotten, but for the last, which
 * the next rate needs.
 *
 *     rows  [ base | ................ lateness window ................ newest ]
 *             ^ settled through here                current through here ^
 */

import { GAP_TOLERANCE_MS, LATENESS_MS } from '../../telemetry/entry.ts';
import type { Derivation } from '../../telemetry/metrics/catalogue.ts';
import {
  type Derived,
  derive,
  type InputRow,
  type ObservedRow,
  powerOf,
  tellsState,
} from '../../telemetry/metrics/derive.ts';
import { advanceAge, appendAge, isAgeLane, passDecided, settleAge } from './age.ts';
import { decidedThroughMs, type Instance, isHealthChanged, openIncident } from './instance.ts';
import { advanceReading, settleReading } from './reading.ts';
import { takeOver } from './take-over.ts';
import { copyTimeline, interrupt } from './timeline.ts';

/** A row as lanes keep it. */
export interface LaneRow extends ObservedRow {
  /** The source's counter of rows since its boot. */
  readonly sequence: number;
}

export interface LaneInput extends InputRow {
  readonly row: LaneRow;
}

export interface Lane {
  readonly vm: string;
  readonly metricId: string;
  readonly labels: string;
  /** See `InstanceKey.generation`. */
  readonly generation?: number;
  readonly derivation: Derivation;
  /** Sorted by `row.observedMs`, one row a time; the first `settledRows` (0 or 1) are settled. */
  readonly rows: LaneInput[];
  /** Derived value of each row, NaN where there is none. */
  readonly values: number[];
  settledRows: number;
  /** Newest observation, and newest with a value, Unix ms; -Infinity before the first. */
  newestMs: number;
  newestValueMs: number;
  /** When the newest was received, Unix ms. */
  receivedMs: number;
  instances: Instance[];
  /** A late row came in: `current` of its instances is to be computed again. */
  stale: boolean;
  /** Of telemetry alone: silence that becomes due within these is nobody's incident. */
  excused: readonly Stretch[];
}

/** A stretch of time, its end exclusive, Unix ms. */
export interface Stretch {
  readonly fromMs: number;
  readonly untilMs: number;
}

const NONE_EXCUSED: readonly Stretch[] = [];

/** What became of a row that was offered to a lane. */
export type Placement = 'placed' | 'duplicate' | 'conflict' | 'late' | 'clockBackwards';

export function createLane(
  of: Pick<Lane, 'vm' | 'metricId' | 'labels' | 'generation' | 'derivation'>,
): Lane {
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
    excused: NONE_EXCUSED,
  };
}

const derived: Derived = { numerator: 0, denominator: 0, capacityChanged: false };

/** Takes an observation in, wherever in time it belongs. `touch` is told which instances moved. */
export function place(
  lane: Lane,
  arrival: { readonly input: LaneInput; readonly receivedMs: number },
  touch: (instance: Instance) => void,
): Placement {
  const { input, receivedMs } = arrival;
  const { observedMs } = input.row;
  if (isAgeLane(lane)) passDecided(lane, receivedMs);
  if (observedMs > lane.newestMs) {
    append(lane, input, touch);
    lane.receivedMs = receivedMs;
    return 'placed';
  }
  if (isClockBackwards(lane, arrival)) {
    beginAgain(lane, touch);
    append(lane, input, touch);
    lane.receivedMs = receivedMs;
    return 'clockBackwards';
  }
  if (observedMs < lane.newestMs - LATENESS_MS) return 'late';
  return insert(lane, input);
}

/** Computes `current` again, from `settled` over the buffer, after late rows came in. */
export function refresh(lane: Lane, touch: (instance: Instance) => void): void {
  if (!lane.stale) return;
  lane.stale = false;
  const settledMs = settledThrough(lane);
  const firstMs = lane.rows[0]?.row.observedMs ?? 0;
  // Without a settled row nothing is known of the time before the first.
  const knownAfterMs = lane.settledRows > 0 ? settledMs : firstMs - 1;
  for (const instance of lane.instances) {
    const kept = instance.events.filter(({ observedMs }) => observedMs <= settledMs);
    const { settled } = instance;
    if (kept.length === 0) instance.before = settled.firing ? { ...settled } : undefined;
    instance.events = kept;
    instance.recomputedFromMs ??= knownAfterMs;
    copyTimeline(settled, instance.current);
    advanceOverBuffer(lane, instance);
    touch(instance);
  }
}

function advanceOverBuffer(lane: Lane, instance: Instance): void {
  for (let i = lane.settledRows; i < lane.rows.length; i++) {
    const row = lane.rows[i]?.row;
    if (row && isAgeLane(lane)) advanceAge(instance, row);
    else advanceReading(instance, row?.observedMs ?? 0, lane.values[i] ?? Number.NaN);
  }
}

/** Time of the last settled observation; -Infinity when there is none. */
export function settledThrough(lane: Lane): number {
  const base = lane.settledRows > 0 ? lane.rows[0] : undefined;
  return base?.row.observedMs ?? Number.NEGATIVE_INFINITY;
}

function append(lane: Lane, input: LaneInput, touch: (instance: Instance) => void): void {
  refresh(lane, touch);
  const { observedMs } = input.row;
  for (const instance of lane.instances) {
    const { decided } = instance;
    const isPast = decided && observedMs > decidedThroughMs(decided);
    if (isPast && !isAgeLane(lane)) takeOver(instance);
  }
  const value = derive(lane.derivation, lane.rows.at(-1), input, derived);
  const beforeMs = lane.newestMs;
  lane.rows.push(input);
  lane.values.push(value);
  lane.newestMs = observedMs;
  settleBefore(lane, observedMs - LATENESS_MS);
  if (isAgeLane(lane)) {
    appendAge(lane, { row: input.row, beforeMs }, touch);
    return;
  }
  if (Number.isNaN(value)) return;
  lane.newestValueMs = observedMs;
  for (const instance of lane.instances) {
    const { current, told } = instance;
    if (!advanceReading(instance, observedMs, value)) continue;
    const untold = current.firing && openIncident(instance) === undefined;
    const missing = told?.missing !== undefined;
    const changed = untold || missing || isHealthChanged(instance);
    if (changed || instance.events.length > 0) touch(instance);
  }
}

/** Lets observations before `limitMs` settle; nothing can come before them any more. */
function settleBefore(lane: Lane, limitMs: number): void {
  while (lane.rows.length > lane.settledRows + 1) {
    const next = lane.rows[lane.settledRows];
    if (!next || next.row.observedMs >= limitMs) return;
    settle(lane, next.row, lane.values[lane.settledRows] ?? Number.NaN);
    if (lane.settledRows === 1) {
      lane.rows.shift();
      lane.values.shift();
    }
    lane.settledRows = 1;
  }
}

function settle(lane: Lane, row: LaneRow, value: number): void {
  for (const instance of lane.instances) settleInstance(instance, row, value);
}

/** Moves `settled` on by one observation and keeps the values of its run. */
export function settleInstance(instance: Instance, row: LaneRow, value: number): void {
  if (isAgeLane(instance.lane)) settleAge(instance, row);
  else settleReading(instance, row.observedMs, value);
}

function insert(lane: Lane, input: LaneInput): Placement {
  const { observedMs } = input.row;
  let at = lane.rows.length;
  while (at > 0 && (lane.rows[at - 1]?.row.observedMs ?? 0) > observedMs) at--;
  const same = lane.rows[at - 1];
  if (same && same.row.observedMs === observedMs) {
    return isSameReading(lane, same, input) ? 'duplicate' : 'conflict';
  }
  lane.rows.splice(at, 0, input);
  lane.values.splice(at, 0, derive(lane.derivation, lane.rows[at - 1], input, derived));
  const next = lane.rows[at + 1];
  if (next) lane.values[at + 1] = derive(lane.derivation, input, next, derived);
  const newest = isAgeLane(lane)
    ? lane.rows.findLastIndex(({ row }) => powerOf(row) !== 'STOPPED')
    : lane.values.findLastIndex((value) => !Number.isNaN(value));
  lane.newestValueMs = lane.rows[newest]?.row.observedMs ?? lane.newestValueMs;
  lane.stale = true;
  return 'placed';
}

function isSameReading(lane: Lane, first: LaneInput, second: LaneInput): boolean {
  if (isAgeLane(lane)) return true;
  if (tellsState(lane.derivation) && first.row.state !== second.row.state) return false;
  if (lane.derivation.from === 'utilization' && !Object.is(first.row.vcpus, second.row.vcpus)) {
    return false;
  }
  if (first.input.keys.join() !== second.input.keys.join()) return false;
  return first.input.slots.every((slot, i) =>
    Object.is(first.row.values[slot], second.row.values[second.input.slots[i] ?? -1]),
  );
}

/**
 * Has the source's clock gone back? Surely when a later row of the same boot is observed earlier.
 * A row of another boot is taken for a late one, until the boot known here has been silent for
 * longer than the tolerance.
 */
function isClockBackwards(
  lane: Lane,
  { input, receivedMs }: { readonly input: LaneInput; readonly receivedMs: number },
): boolean {
  const newest = lane.rows.at(-1)?.row;
  const { boot, sequence, observedMs } = input.row;
  if (!newest || observedMs === newest.observedMs) return false;
  if (boot === newest.boot) return sequence > newest.sequence;
  if (boot === '' || observedMs >= lane.newestMs - LATENESS_MS) return false;
  const knownBoot = lane.rows.some(({ row }) => row.boot === boot);
  return !knownBoot && receivedMs - lane.receivedMs > GAP_TOLERANCE_MS;
}

/** The clock went back: what was observed is settled, and nothing continues across. */
function beginAgain(lane: Lane, touch: (instance: Instance) => void): void {
  refresh(lane, touch);
  for (const instance of lane.instances) {
    const incident = openIncident(instance);
    interrupt(instance.current);
    // What fired before has no place in the new time: whatever is observed comes after it.
    if (incident) {
      incident.firedMs = Number.NEGATIVE_INFINITY;
      instance.current.firedMs = Number.NEGATIVE_INFINITY;
    } else instance.current.firing = false;
    if (instance.told) instance.told.incidents = incident ? [incident] : [];
    copyTimeline(instance.current, instance.settled);
    instance.window = undefined;
    // The rule was in force before the clock went back.
    instance.sinceMs = Number.NEGATIVE_INFINITY;
  }
  lane.rows.length = 0;
  lane.values.length = 0;
  lane.settledRows = 0;
  lane.newestValueMs = Number.NEGATIVE_INFINITY;
}
