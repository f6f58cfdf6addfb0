/**
 * Advances one instance by one observation: `timeline.ts` interprets the sorted observations; here
 * the result becomes events of the instance, and the values of a run are kept.
 *
 *     rule on a reading       each value is a step of the timeline
 *     rule on telemetry age   time advances to each observation, which then ends the silence
 *
 * Silence that only time has proven is reported by ticks (`telemetry-silence.ts`) and not kept
 * here: a later observation may disprove it.
 */

import { powerOf } from '../../telemetry/metrics/power.ts';
import {
  type BufferedRow,
  concludeEntry,
  type Instance,
  isOpenInstance,
  observedIn,
  openIncident,
  type SeriesBuffer,
  type TimelineEvent,
} from './instance.ts';
import { noteEnd, noteSilence, noteStep, unnoteAfter } from './run-events.ts';
import {
  arrive,
  BREACH,
  breachAfter,
  copyTimeline,
  elapse,
  emptyTimeline,
  FIRED,
  GOOD,
  isBreach,
  NONE,
  RunWindow,
  type StepOutcome,
  step,
  type Timeline,
  UNCHANGED,
} from './timeline.ts';

/**
 * Advances `current` by one observation; false: it could have no effect. A rule that cannot be
 * evaluated affects no other rule: its instance stays unchanged, with the reason in `failure`.
 */
export function advanceReading(instance: Instance, observedMs: number, value: number): boolean {
  const { current, rule } = instance;
  try {
    const quiet = current.phase === NONE && !current.firing && !isOpenOrReported(instance);
    if (quiet && !isBreach(rule.rule, value)) return false;
    advance(instance, observedMs, value);
    instance.failure = undefined;
  } catch (error) {
    instance.failure = error instanceof Error ? error.message : String(error);
  }
  return true;
}

/** Advances `current` by one observation and records the result. */
function advance(instance: Instance, observedMs: number, value: number): void {
  if (Number.isNaN(value) || observedMs < instance.sinceMs) return;
  const { current, events } = instance;
  const open = isOpenInstance(instance);
  const { firing, firedMs, startedMs } = current;
  const outcome = stepCurrent(instance, { observedMs, value }, open);
  if (outcome === UNCHANGED) return;
  if (events.length === 0 && instance.recomputedFromMs === undefined) {
    instance.before = firing ? { firedMs, startedMs } : undefined;
  }
  events.push(eventOf(instance, outcome, { observedMs, value }));
}

/** Advances `current` by one value, and records its effect on a run below firing. */
export function stepCurrent(
  instance: Instance,
  observation: { readonly observedMs: number; readonly value: number },
  tracksGood: boolean,
): StepOutcome {
  const { current, rule } = instance;
  const { phase, startMs, lastMs, firing } = current;
  const outcome = step(current, rule.rule, observation, tracksGood);
  const hasMoved = phase !== current.phase || startMs !== current.startMs;
  if (firing && !current.firing) noteEnd(instance, observation.observedMs);
  else if (hasMoved && !firing)
    noteStep(instance, { phase, startMs, lastMs }, observation.observedMs);
  return outcome;
}

function eventOf(
  instance: Instance,
  outcome: StepOutcome,
  { observedMs, value }: { observedMs: number; value: number },
): TimelineEvent {
  const { startMs } = instance.current;
  return {
    kind: outcome === FIRED ? 'fired' : 'recoverable',
    observedMs,
    startedMs: startMs,
    value,
    window: observedIn(instance, { fromMs: startMs, toMs: observedMs }),
  };
}

/** Advances `settled` by one observation and keeps the values of its run. */
export function settleReading(instance: Instance, observedMs: number, value: number): void {
  // A rule that cannot be evaluated fails when an observation arrives, not when it settles.
  if (Number.isNaN(value) || instance.failure !== undefined) return;
  const { settled, rule } = instance;
  const quiet = settled.phase === NONE && !settled.firing && !isOpenOrReported(instance);
  if ((quiet && !isBreach(rule.rule, value)) || observedMs < instance.sinceMs) return;
  const open = isOpenInstance(instance);
  step(settled, rule.rule, { observedMs, value }, open);
  if (!keepsValues(settled, open)) {
    instance.window = undefined;
    return;
  }
  if (instance.window === undefined || settled.startMs === observedMs) {
    instance.window = new RunWindow();
  }
  instance.window.add(observedMs, value);
}

/** Values are kept of a run that may still fire or be reported, and of one that may recover. */
function keepsValues({ phase }: Timeline, open: boolean): boolean {
  return phase === GOOD || (phase === BREACH && !open);
}

function isOpenOrReported({ reported, decided }: Instance): boolean {
  return reported !== undefined || decided !== undefined;
}

/** Adds an observation newer than all others; `beforeMs`: the newest of those. */
export function appendAge(
  buffer: SeriesBuffer,
  { row, beforeMs }: { readonly row: BufferedRow; readonly beforeMs: number },
  touch: (instance: Instance) => void,
): void {
  if (powerOf(row) !== 'STOPPED') buffer.newestValueMs = row.observedMs;
  for (const instance of buffer.instances) {
    const open = openIncident(instance);
    // The firing was reported when time had passed up to this observation, or beyond.
    if (open && open.firedMs >= row.observedMs) instance.recomputedFromMs ??= beforeMs;
    advanceAge(instance, row);
    if (open || instance.events.length > 0) touch(instance);
  }
}

/** Moves `current` on by one observation and notes what that brought about. */
export function advanceAge(instance: Instance, row: BufferedRow): void {
  const { current, rule, events } = instance;
  const { firing, firedMs, startedMs } = current;
  const note = (event: TimelineEvent): void => {
    if (events.length === 0 && instance.recomputedFromMs === undefined) {
      instance.before = firing ? { firedMs, startedMs } : undefined;
    }
    events.push(event);
  };
  const silentFromMs = silenceBegun(instance, row.observedMs);
  if (passTo(instance, current, row.observedMs)) note(firedByAge(instance));
  if (silentFromMs !== undefined) noteSilence(instance, silentFromMs, row.observedMs);
  const wasFiring = current.firing;
  if (!arrive(current, rule.rule, observationOf(row), isOpenInstance(instance))) return;
  if (wasFiring) noteEnd(instance, row.observedMs);
  const { startMs } = current;
  note({
    kind: 'recoverable',
    observedMs: row.observedMs,
    startedMs: startMs,
    value: 0,
    window: [],
  });
}

/** Time at which the silence before an observation began to breach; undefined: it did not. */
function silenceBegun(instance: Instance, observedMs: number): number | undefined {
  const { current, rule, sinceMs } = instance;
  if (current.firing || current.phase !== GOOD || observedMs < sinceMs) return undefined;
  const { startMs } = breachAfter(current, rule.rule, rule.breachFromMs);
  return observedMs > startMs ? startMs : undefined;
}

/** Advances `settled` by one observation. */
export function settleAge(instance: Instance, row: BufferedRow): void {
  passTo(instance, instance.settled, row.observedMs);
  arrive(instance.settled, instance.rule.rule, observationOf(row), isOpenInstance(instance));
}

/** An instance joins a buffer that others watch: only the buffer's observations count. */
export function followFromBase(instance: Instance): void {
  const { buffer, settled, current } = instance;
  copyTimeline(emptyTimeline(), settled);
  copyTimeline(settled, current);
  unnoteAfter(instance, Number.NEGATIVE_INFINITY);
  for (const [i, { row }] of buffer.rows.entries()) {
    if (i >= buffer.settledRows) advanceAge(instance, row);
    else {
      settleAge(instance, row);
      copyTimeline(settled, current);
    }
  }
  // A firing that recovered before it joined is no incident of it.
  concludeEntry(instance);
}

/** The event of a firing that time alone has caused in `current`. */
export function firedByAge({ current }: Instance): TimelineEvent {
  const { firedMs, startedMs, lastMs } = current;
  const value = (firedMs - lastMs) / 1000;
  return { kind: 'fired', observedMs: firedMs, startedMs, value, window: [] };
}

/** Time passes up to an observation. Suppressed silence is no firing unless it was reported. */
function passTo(instance: Instance, timeline: Timeline, observedMs: number): boolean {
  // What was before is not the rule's; it begins with the last observation of then.
  if (observedMs < instance.sinceMs) return false;
  const { rule, breachFromMs } = instance.rule;
  const { dueMs } = breachAfter(timeline, rule, breachFromMs);
  const isSuppressed = instance.buffer.suppressed.some(
    ({ fromMs, untilMs }) => dueMs >= fromMs && dueMs < untilMs,
  );
  const isReported = (): boolean =>
    instance.reported?.incidents.some(({ firedMs }) => firedMs === dueMs) === true;
  if (isSuppressed && !isReported()) return false;
  return elapse(timeline, { rule, breachFromMs }, observedMs);
}

function observationOf(row: BufferedRow) {
  return { observedMs: row.observedMs, reported: powerOf(row) };
}
