/**
 * Edges below firing: the effects of observations, or of their absence, on a run that has not
 * fired. Each is an event of the instance's machine with its own time. An instance keeps its newest
 * ones, oldest first, so that its machine can be run over them on request and when it fires.
 *
 *     first breach                -> breachStarted
 *     gap beyond the tolerance    -> dataMissing, at the end of the tolerance; the first observation
 *                                    after it starts the run again, or ends it
 *     observation, no breach      -> breachEnded
 */
import type { ObservedEvent, RunEvent } from '../../../machines/alerting/alert-instance-path.ts';
import { GAP_TOLERANCE_MS, LATENESS_MS } from '../../telemetry/entry.ts';
import { type Instance, isAgeBuffer } from './instance.ts';
import { BREACH, breachAfter, GOOD, type Timeline } from './timeline.ts';

/**
 * Most events that an instance keeps; beyond that the oldest runs are dropped. Some are recorded
 * with a firing.
 */
const RUN_EVENTS_MAX = 16;

/**
 * Records the effect of an observation on the run. @param before of the timeline, which was not
 * firing
 */
export function noteStep(
  instance: Instance,
  before: Pick<Timeline, 'phase' | 'startMs' | 'lastMs'>,
  observedMs: number,
): void {
  const { current } = instance;
  const hadRun = before.phase === BREACH;
  const hasRun = current.phase === BREACH;
  if (hadRun && observedMs - before.lastMs > GAP_TOLERANCE_MS) note(instance, gap(before.lastMs));
  if (hasRun && !(hadRun && current.startMs === before.startMs)) {
    note(instance, start(current.startMs));
  }
  if (hadRun && !hasRun) noteEnd(instance, observedMs);
}

/** Records the end of a run, also of one that fired: its firing may never be reported. */
export function noteEnd(instance: Instance, observedMs: number): void {
  note(instance, { type: 'breachEnded', eventMs: observedMs });
}

/** Records a silence that an observation ended: time alone had begun the breach. */
export function noteSilence(instance: Instance, startMs: number, observedMs: number): void {
  note(instance, start(startMs));
  if (!instance.current.firing) noteEnd(instance, observedMs);
}

/** Removes the events of observations after `settledMs`: they are computed again. */
export function unnoteAfter(instance: Instance, settledMs: number): void {
  if (instance.runEvents.length === 0) return;
  const kept = instance.runEvents.filter(({ eventMs }) => eventMs <= settledMs);
  // A gap is noted with the observation that ends it.
  if (kept.at(-1)?.type === 'dataMissing') kept.pop();
  instance.runEvents = kept;
}

/** Drops the events before the end of the last incident: its machine has recorded them. */
export function forgetRecorded(instance: Instance): void {
  if (instance.runEvents.length === 0) return;
  const last = instance.reported?.incidents.at(-1);
  if (last) instance.runEvents = afterIncident(instance.runEvents, last.recoveredMs);
}

/**
 * The events that led to the firing just reported: those of the run that began at `startedMs`, and
 * of runs shortly before it that ended without firing. No others, so that an evaluator rebuilt from
 * its log finds the same.
 */
export function runBefore(
  { runEvents, reported }: Instance,
  startedMs: number,
): readonly RunEvent[] {
  const endedMs = reported?.incidents.at(-2)?.recoveredMs ?? Number.NEGATIVE_INFINITY;
  const events = afterIncident(runEvents, endedMs);
  const last = events.findLastIndex(
    ({ type, eventMs }) => type === 'breachStarted' && eventMs === startedMs,
  );
  if (last < 0) return [start(startedMs)];
  const isBegin = ({ eventMs }: RunEvent, i: number): boolean =>
    eventMs >= startedMs - LATENESS_MS && (i === 0 || events[i - 1]?.type === 'breachEnded');
  const first = events.findIndex(isBegin);
  return events.slice(first < 0 || first > last ? last : first, last + 1);
}

/** The instance's events as of `nowMs`, from its open incident, or from its newest runs. */
export function eventsOf(instance: Instance, nowMs: number): readonly ObservedEvent[] {
  const { decided, reported, runEvents, buffer } = instance;
  const incident = decided ?? reported?.incidents.at(-1);
  const recoveredMs = incident?.recoveredMs ?? Number.POSITIVE_INFINITY;
  if (incident && recoveredMs === Number.POSITIVE_INFINITY) {
    return [start(incident.startedMs), sustained(incident)];
  }
  const events: RunEvent[] = [...(incident ? afterIncident(runEvents, recoveredMs) : runEvents)];
  const startMs = runStart(instance, nowMs);
  if (startMs === undefined) return events;
  const begun = events.findLast(({ type }) => type === 'breachStarted');
  if (begun?.eventMs !== startMs || events.at(-1)?.type === 'breachEnded') {
    events.push(start(startMs));
  }
  const lastMs = buffer.newestValueMs;
  if (!isAgeBuffer(buffer) && nowMs - lastMs > GAP_TOLERANCE_MS) events.push(gap(lastMs));
  return events;
}

/** Start of the current run; undefined: there is none. */
function runStart({ current, rule, buffer }: Instance, nowMs: number): number | undefined {
  // A firing of the past that is not reported yet: fresh data decides whether it still fires.
  if (current.firing) return current.startedMs;
  if (current.phase === BREACH) return current.startMs;
  if (!isAgeBuffer(buffer) || current.phase !== GOOD) return undefined;
  const { startMs } = breachAfter(current, rule.rule, rule.breachFromMs);
  return nowMs > startMs ? startMs : undefined;
}

function note(instance: Instance, event: RunEvent): void {
  const { runEvents } = instance;
  // The empty list is shared by all instances.
  if (runEvents.length === 0) instance.runEvents = [event];
  else runEvents.push(event);
  while (runEvents.length > RUN_EVENTS_MAX) {
    const next = runEvents.findIndex(({ type }, i) => i > 0 && type === 'breachStarted');
    runEvents.splice(0, Math.max(1, next));
  }
}

/** Events of runs that began after the incident. */
function afterIncident(events: readonly RunEvent[], recoveredMs: number): RunEvent[] {
  const first = events.findIndex(
    ({ type, eventMs }) => type === 'breachStarted' && eventMs > recoveredMs,
  );
  return first < 0 ? [] : events.slice(first);
}

function start(eventMs: number): RunEvent {
  return { type: 'breachStarted', eventMs };
}

function gap(sinceMs: number): RunEvent {
  return { type: 'dataMissing', eventMs: sinceMs + GAP_TOLERANCE_MS, sinceMs, reason: 'NO_DATA' };
}

/** As far as the state goes: who is notified, and of what, its row says. */
function sustained(incident: { startedMs: number; firedMs?: number }): ObservedEvent {
  const { startedMs, firedMs = startedMs } = incident;
  return {
    ...{ type: 'sustained', eventMs: firedMs, startedMs, incidentId: '', value: null },
    ...{ notify: false, repeatIntervalMs: 0 },
  };
}
