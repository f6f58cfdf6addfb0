/**
 * Instances of rules on the age of telemetry, as their lane takes observations in: `silence.ts` says
 * what the sorted observations mean, here it becomes events of the instance. What only time has
 * brought about is told by ticks (`unavailable.ts`) and is not kept: a later observation may show
 * that it had not been.
 */
import { powerOf } from '../../telemetry/metrics/derive.ts';
import {
  concludeEntry,
  decidedThroughMs,
  type Instance,
  isOpenInstance,
  openIncident,
  type TimelineEvent,
} from './instance.ts';
import type { Lane, LaneRow } from './lane.ts';
import { arrive, breachAfter, elapse } from './silence.ts';
import { takeOver } from './take-over.ts';
import { copyTimeline, emptyTimeline, type Timeline } from './timeline.ts';

export function isAgeLane({ derivation }: Pick<Lane, 'derivation'>): boolean {
  return derivation.from === 'age';
}

/** An observation newer than all before it; `beforeMs`: the newest of those. */
export function appendAge(
  lane: Lane,
  { row, beforeMs }: { readonly row: LaneRow; readonly beforeMs: number },
  touch: (instance: Instance) => void,
): void {
  if (powerOf(row) !== 'STOPPED') lane.newestValueMs = row.observedMs;
  for (const instance of lane.instances) {
    const open = openIncident(instance);
    // Time had passed up to this observation, or beyond, when the firing was told.
    if (open && open.firedMs >= row.observedMs) instance.recomputedFromMs ??= beforeMs;
    advanceAge(instance, row);
    if (open || instance.events.length > 0) touch(instance);
  }
}

/** Moves `current` on by one observation and notes what that brought about. */
export function advanceAge(instance: Instance, row: LaneRow): void {
  const { current, rule, events } = instance;
  const { firing, firedMs, startedMs } = current;
  const note = (event: TimelineEvent): void => {
    if (events.length === 0 && instance.recomputedFromMs === undefined) {
      instance.before = firing ? { firedMs, startedMs } : undefined;
    }
    events.push(event);
  };
  if (passTo(instance, current, row.observedMs)) note(firedByAge(instance));
  if (!arrive(current, rule.rule, observationOf(row), isOpenInstance(instance))) return;
  const { startMs } = current;
  note({
    kind: 'recoverable',
    observedMs: row.observedMs,
    startedMs: startMs,
    value: 0,
    window: [],
  });
}

/** Moves `settled` on by one observation. */
export function settleAge(instance: Instance, row: LaneRow): void {
  passTo(instance, instance.settled, row.observedMs);
  arrive(instance.settled, instance.rule.rule, observationOf(row), isOpenInstance(instance));
}

/** An instance joins a lane that others watch: its observations are all that counts. */
export function followFromBase(instance: Instance): void {
  const { lane, settled, current } = instance;
  copyTimeline(emptyTimeline(), settled);
  copyTimeline(settled, current);
  for (const [i, { row }] of lane.rows.entries()) {
    if (i >= lane.settledRows) advanceAge(instance, row);
    else {
      settleAge(instance, row);
      copyTimeline(settled, current);
    }
  }
  // What fired and recovered before it joined is nobody's.
  concludeEntry(instance);
}

/** The event of a firing that time has just brought about in `current`. */
export function firedByAge({ current }: Instance): TimelineEvent {
  const { firedMs, startedMs, lastMs } = current;
  const value = (firedMs - lastMs) / 1000;
  return { kind: 'fired', observedMs: firedMs, startedMs, value, window: [] };
}

/**
 * Takes over what rows have decided, once the log has come past it. What is told of telemetry bears
 * the time of the entry that told it, so that this is known exactly.
 */
export function passDecided({ instances }: Lane, nowMs: number): void {
  for (const instance of instances) {
    const { decided } = instance;
    if (decided && nowMs > decidedThroughMs(decided)) takeOver(instance);
  }
}

/** Time passes up to an observation. Silence that is excused, and was not told, is no firing. */
function passTo(instance: Instance, timeline: Timeline, observedMs: number): boolean {
  // What was before is not the rule's; it begins with the last observation of then.
  if (observedMs < instance.sinceMs) return false;
  const { rule, breachFromMs } = instance.rule;
  const { dueMs } = breachAfter(timeline, rule, breachFromMs);
  const isExcused = instance.lane.excused.some(
    ({ fromMs, untilMs }) => dueMs >= fromMs && dueMs < untilMs,
  );
  const isTold = (): boolean =>
    instance.told?.incidents.some(({ firedMs }) => firedMs === dueMs) === true;
  if (isExcused && !isTold()) return false;
  return elapse(timeline, { rule, breachFromMs }, observedMs);
}

function observationOf(row: LaneRow) {
  return { observedMs: row.observedMs, told: powerOf(row) };
}
