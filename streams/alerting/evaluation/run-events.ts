/**
 * Events below firing: the effects of observations, or of their absence, on a run that has not fired.
 * Each is an event of the instance's machine with its own time. The events are created only when the
 * machine is run over them: on request, and when the instance fires.
 *
 *     first breach                -> breachStarted
 *     gap beyond the tolerance    -> dataMissing, at the end of the tolerance; the first observation
 *                                    after it starts the run again, or ends it
 *     observation, no breach      -> breachEnded
 *
 * The timeline has the start of the current run. The instance keeps its newest past runs
 * (`past-runs.ts`) until its machine has recorded an incident after them.
 */
import type { ObservedEvent, RunEvent } from '../../../machines/alerting/alert-instance-path.ts';
import { GAP_TOLERANCE_MS, LATENESS_MS } from '../../telemetry/entry.ts';
import { type Instance, isAgeBuffer, openIncident } from './instance.ts';
import { gapEvent, PastRuns, type PastStretch, startEvent } from './past-runs.ts';
import { BREACH, breachAfter, GOOD, type Timeline } from './timeline.ts';

/** Maximum events of an instance. Beyond it, the oldest runs are omitted. Some are recorded. */
const RUN_EVENTS_MAX = 16;

/** Keeps a run below firing that an observation ended, or started again after a gap. */
export function rememberRun(
  instance: Instance,
  { startMs, lastMs }: Pick<Timeline, 'startMs' | 'lastMs'>,
  overMs: number,
): void {
  const gapSinceMs = overMs - lastMs > GAP_TOLERANCE_MS ? lastMs : Number.NaN;
  remember(instance, { startMs, gapSinceMs, overMs, isEnd: instance.current.phase !== BREACH });
}

/**
 * Keeps a firing that an observation ended, unless it was reported, because its machine records
 * that.
 */
export function rememberFiring(
  instance: Instance,
  { startedMs: startMs, firedMs }: Pick<Timeline, 'startedMs' | 'firedMs'>,
  overMs: number,
): void {
  if (openIncident(instance)?.firedMs === firedMs) return;
  remember(instance, { startMs, gapSinceMs: Number.NaN, overMs, isEnd: true });
}

/** Keeps a silence that an observation ended before it fired; time alone had started the breach. */
export function rememberSilence(instance: Instance, startMs: number, overMs: number): void {
  remember(instance, { startMs, gapSinceMs: Number.NaN, overMs, isEnd: true });
}

function remember(instance: Instance, stretch: PastStretch): void {
  instance.pastRuns ??= new PastRuns();
  instance.pastRuns.add(stretch);
}

/** Drops the runs before the end of the last incident, which its machine has recorded. */
export function forgetRecorded({ pastRuns, reported }: Instance): void {
  const last = pastRuns && reported?.incidents.at(-1);
  if (last) pastRuns.forgetBegunBy(last.recoveredMs);
}

/**
 * The events that led to the firing just reported: those of the run that began at `startedMs`, and
 * of runs shortly before it that ended without firing. Earlier runs are excluded, so that an
 * evaluator rebuilt from its log finds the same.
 */
export function runBefore(instance: Instance, startedMs: number): readonly RunEvent[] {
  const { pastRuns, reported, current, buffer } = instance;
  const started = startEvent(startedMs);
  // Runs before a silence that time alone has proven may be older than the log.
  const isSilent = isAgeBuffer(buffer) && current.lastMs < startedMs;
  if (!pastRuns || isSilent) return [started];
  const afterMs = reported?.incidents.at(-2)?.recoveredMs ?? Number.NEGATIVE_INFINITY;
  const events = newest([...pastRuns.events({ afterMs, beforeMs: startedMs }), started]);
  const first = events.findIndex(
    ({ eventMs }, i) =>
      eventMs >= startedMs - LATENESS_MS && (i === 0 || events[i - 1]?.type === 'breachEnded'),
  );
  return first < 0 ? [started] : events.slice(first);
}

/** The instance's events as of `nowMs`, from its open incident, or from its newest runs. */
export function eventsOf(instance: Instance, nowMs: number): readonly ObservedEvent[] {
  const { decided, reported, buffer } = instance;
  const incident = decided ?? reported?.incidents.at(-1);
  const recoveredMs = incident?.recoveredMs ?? Number.POSITIVE_INFINITY;
  if (incident && recoveredMs === Number.POSITIVE_INFINITY) {
    return [startEvent(incident.startedMs), sustained(incident)];
  }
  const events = pastEvents(instance, incident ? recoveredMs : Number.NEGATIVE_INFINITY);
  const startMs = runStart(instance, nowMs);
  if (startMs === undefined) return newest(events);
  const newestEvents = newest([...events, startEvent(startMs)]);
  const lastMs = buffer.newestValueMs;
  const isGap = !isAgeBuffer(buffer) && nowMs - lastMs > GAP_TOLERANCE_MS;
  return isGap ? [...newestEvents, gapEvent(lastMs)] : newestEvents;
}

/** Events of past runs that began after `afterMs`, oldest first. */
export function pastEvents({ pastRuns }: Instance, afterMs: number): readonly RunEvent[] {
  return pastRuns?.events({ afterMs, beforeMs: Number.POSITIVE_INFINITY }) ?? [];
}

/** Start of the current run; undefined if absent. */
function runStart({ current, rule, buffer }: Instance, nowMs: number): number | undefined {
  // A firing of the past that is not reported yet. Fresh data decides whether it still fires.
  if (current.firing) return current.startedMs;
  if (current.phase === BREACH) return current.startMs;
  if (!isAgeBuffer(buffer) || current.phase !== GOOD) return undefined;
  const { startMs } = breachAfter(current, rule.rule, rule.breachFromMs);
  return nowMs > startMs ? startMs : undefined;
}

/** The newest complete runs that fit into the bound. */
function newest(events: readonly RunEvent[]): readonly RunEvent[] {
  if (events.length <= RUN_EVENTS_MAX) return events;
  const oldest = events.length - RUN_EVENTS_MAX;
  return events.slice(events.findIndex(({ type }, i) => i >= oldest && type === 'breachStarted'));
}

/** Covers the condition only. The row decides who is notified, and of what. */
function sustained(incident: { startedMs: number; firedMs?: number }): ObservedEvent {
  const { startedMs, firedMs = startedMs } = incident;
  return {
    type: 'sustained',
    eventMs: firedMs,
    startedMs,
    incidentId: '',
    value: null,
    notify: false,
    repeatIntervalMs: 0,
  };
}
