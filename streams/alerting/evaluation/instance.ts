/**
 * One alert instance as the evaluator holds it, and the buffer of the series that it watches: soft
 * state, rebuilt from the log. Each instance's `current` timeline follows the observations; `reported`
 * holds what machines and people were notified of, which late observations do not take back.
 *
 * A rebuilt state also has rows: `decided` is the last incident that an instance's row knows. Edges
 * up to that decision have been committed before and are not repeated; once the log has passed it,
 * the row's incident becomes what was reported (`takeOver`).
 */
import type { ObservedEvent, RunEvent } from '../../../machines/alerting/alert-instance-path.ts';
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import {
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  type InstanceKey,
  LATENESS_MS,
  type ObservedValue,
} from '../../telemetry/entry.ts';
import type { Derivation } from '../../telemetry/metrics/catalogue.ts';
import type { InputRow, ObservedRow } from '../../telemetry/metrics/derive.ts';
import {
  BREACH,
  breachAfter,
  emptyTimeline,
  GOOD,
  type RunWindow,
  type Timeline,
  thinWindow,
} from './timeline.ts';

/** A rule as evaluated from a marker on. */
export interface RuleInForce {
  readonly rule: EvaluationRule;
  /** Observations before it are not this rule's: it was not in force. -Infinity: from the beginning. */
  readonly sinceMs: number;
  /** Of telemetry: silence is no breach before it; -Infinity: whenever it began. */
  readonly breachFromMs: number;
  /** VM ids; undefined = every VM of the project. */
  readonly vms: ReadonlySet<string> | undefined;
}

/** A change of the timeline at an observation, with the samples that decided it. */
export interface TimelineEvent {
  readonly kind: 'fired' | 'recoverable';
  readonly observedMs: number;
  /** First observation of the run, Unix ms. */
  readonly startedMs: number;
  readonly value: number;
  readonly window: readonly ObservedValue[];
}

/** A firing that was reported. */
export interface ReportedIncident {
  /** The observation that completed the run. */
  firedMs: number;
  startedMs: number;
  /** Infinity while it is open. */
  recoveredMs: number;
  corrected: boolean;
}

export interface Reported {
  /** Oldest first, the last one may be open; closed ones go when nothing can change them. */
  incidents: ReportedIncident[];
  /** Time of the last edge: the next one's is greater, in whatever order samples arrive. */
  lastAtMs: number;
  /** Why the open incident has no data, and since when; undefined: it has. */
  missing: { readonly reason: MissingReason; readonly sinceMs: number } | undefined;
  /** The open incident's rule cannot be evaluated. */
  failed: boolean;
}

/** The last incident of an instance, as its row has it. Times are Unix ms. */
export interface DecidedIncident {
  /** First breaching observation. */
  readonly startedMs: number;
  /** `observedMs` of the edge that fired it. Absent: late samples can no longer correct it. */
  readonly firedMs?: number;
  /** `observedMs` of the edge that ended it. Absent: it is open. */
  readonly recoveredMs?: number;
  readonly dataMissing: boolean;
  /** Why, and since when; default NO_DATA, and since ever. */
  readonly missingReason?: MissingReason;
  readonly missingSinceMs?: number;
  /** Its rule could not be evaluated. */
  readonly evaluatorFailed?: boolean;
  /** Late samples disproved it. */
  readonly corrected?: boolean;
  /** Of a data center: its silent VMs when it fired, as far as they are known by name. */
  readonly heldVms?: readonly string[];
  /** `atMs` of the instance's last edge. Default: the start of the incident. */
  readonly decidedThrough?: number;
}

/** A row as buffers keep it. */
export interface BufferedRow extends ObservedRow {
  /** The source's counter of rows since its boot. */
  readonly sequence: number;
}

export interface BufferedInput extends InputRow {
  readonly row: BufferedRow;
}

export interface SeriesBuffer {
  readonly vm: string;
  readonly metricId: string;
  readonly labels: string;
  /** See `InstanceKey.generation`. */
  readonly generation?: number;
  readonly derivation: Derivation;
  /** Sorted by `row.observedMs`, one row a time; the first `settledRows` (0 or 1) are settled. */
  readonly rows: BufferedInput[];
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
  /** Telemetry age only: silence that becomes due within these stretches fires nothing. */
  suppressed: readonly Stretch[];
}

/** A span of time, its end exclusive, Unix ms. */
export interface Stretch {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Shared: most instances never had a run. */
const NO_RUN_EVENTS: RunEvent[] = [];

export interface Instance {
  readonly rule: RuleInForce;
  buffer: SeriesBuffer;
  /** See `RuleInForce.sinceMs`; later where a rule's catch-up had already settled some. */
  sinceMs: number;
  /** Through the observations that late ones can no longer come before. */
  readonly settled: Timeline;
  /** Through the newest observation. */
  readonly current: Timeline;
  /** Values of the run that `settled` is in. */
  window: RunWindow | undefined;
  reported: Reported | undefined;
  /**
   * The last incident of the instance's row, until the log has passed it: up to there nothing is
   * reported again; from there on this is what was reported.
   */
  decided: DecidedIncident | undefined;
  /** Data centers only: VMs that the open incident stands for; undefined: none is open. */
  held: Map<string, number> | undefined;
  /** What fired `current`, until it is reported: its run may be forgotten before it is fresh. */
  unreported: TimelineEvent | undefined;
  /** Its newest edges below firing, oldest first; see `noteStep`. */
  runEvents: RunEvent[];
  /** Of this entry, not yet reconciled with `reported`. */
  events: TimelineEvent[];
  /** The firing that was open before `events`, if any. */
  before: { readonly firedMs: number; readonly startedMs: number } | undefined;
  touched: boolean;
  /** Why the last observation could not be evaluated; undefined: it could. */
  failure: string | undefined;
  /** A late observation came: `events` are all those after this time, computed again. */
  recomputedFromMs: number | undefined;
}

export function createInstance(rule: RuleInForce, buffer: SeriesBuffer): Instance {
  return {
    rule,
    buffer,
    sinceMs: rule.sinceMs,
    settled: emptyTimeline(),
    current: emptyTimeline(),
    window: undefined,
    reported: undefined,
    decided: undefined,
    held: undefined,
    unreported: undefined,
    runEvents: NO_RUN_EVENTS,
    events: [],
    before: undefined,
    touched: false,
    failure: undefined,
    recomputedFromMs: undefined,
  };
}

export function keyOf({ rule: { rule }, buffer }: Instance): InstanceKey {
  const { project, rule: id, evaluationRevision } = rule;
  const { vm, labels, generation } = buffer;
  const key = { project, rule: id, evaluationRevision, vm, labels };
  return generation === undefined ? key : { ...key, generation };
}

/** The reported incident that is open, if any. */
export function openIncident({ reported }: Instance): ReportedIncident | undefined {
  const last = reported?.incidents.at(-1);
  return last?.recoveredMs === Number.POSITIVE_INFINITY ? last : undefined;
}

/** True when an incident is open as reported: good observations count, whatever the timeline. */
export function isOpenInstance(instance: Instance): boolean {
  return instance.decided !== undefined || openIncident(instance) !== undefined;
}

/** True when evaluator health changed since it was last reported. */
export function isHealthChanged({ reported, failure }: Instance): boolean {
  return reported !== undefined && reported.failed !== (failure !== undefined);
}

/** Values observed in [fromMs, toMs]: settled values first, then those of the buffer. */
export function observedIn(
  instance: Instance,
  range: { readonly fromMs: number; readonly toMs: number },
): ObservedValue[] {
  const window: ObservedValue[] = [];
  instance.window?.copy(range, window);
  const { buffer } = instance;
  for (let i = buffer.settledRows; i < buffer.rows.length; i++) {
    const observedMs = buffer.rows[i]?.row.observedMs ?? 0;
    const value = buffer.values[i] ?? Number.NaN;
    if (observedMs < Math.max(range.fromMs, instance.sinceMs) || observedMs > range.toMs) continue;
    if (!Number.isNaN(value)) window.push({ observedMs, value });
  }
  return thinWindow(window);
}

/** Ends an entry: forgets its events, but for a firing still to be reported. */
export function concludeEntry(instance: Instance): void {
  const { current, events, unreported } = instance;
  const isUnreported = current.firing && openIncident(instance) === undefined;
  const isCurrent = ({ kind, observedMs }: TimelineEvent): boolean =>
    kind === 'fired' && observedMs === current.firedMs;
  instance.unreported = isUnreported ? (events.findLast(isCurrent) ?? unreported) : undefined;
  instance.events = [];
  instance.before = undefined;
  instance.recomputedFromMs = undefined;
  instance.touched = false;
}

/** Time of the last edge that rows have, Unix ms. */
export function decidedThroughMs({ decidedThrough, startedMs }: DecidedIncident): number {
  return decidedThrough ?? startedMs;
}

/** The log has passed the row's last decision: the row's incident is what was reported. */
export function takeOver(instance: Instance): void {
  const { decided, current, settled } = instance;
  if (!decided) return;
  instance.decided = undefined;
  const { startedMs, firedMs = startedMs } = decided;
  const isAge = instance.buffer.derivation.from === 'age';
  const recoveredMs = decided.recoveredMs ?? Number.POSITIVE_INFINITY;
  const before = instance.reported?.incidents ?? [];
  const seen = before.filter((one) => one.firedMs <= recoveredMs && firedMs <= one.recoveredMs);
  // Only what this log itself shows to have fired can it show not to have fired after all.
  const isShown = isAge
    ? instance.buffer.rows.some(({ row }) => row.observedMs <= firedMs)
    : seen.some((one) => one.firedMs === firedMs);
  const corrected = decided.corrected === true || !isShown;
  instance.reported = {
    incidents: [
      ...before.filter((one) => one.recoveredMs < startedMs),
      { startedMs, firedMs, recoveredMs, corrected },
    ],
    lastAtMs: decidedThroughMs(decided),
    missing: missingOf(decided),
    failed: decided.evaluatorFailed === true,
  };
  const isOpen = decided.recoveredMs === undefined && decided.corrected !== true;
  // Telemetry age fires by time: its timeline follows from the observations alone.
  if (!isOpen || seen.length > 0 || isAge) return;
  for (const timeline of [settled, current]) {
    if (!timeline.firing) Object.assign(timeline, { firing: true, firedMs, startedMs });
  }
}

function missingOf({
  dataMissing,
  missingReason,
  missingSinceMs,
}: DecidedIncident): Reported['missing'] {
  if (!dataMissing) return undefined;
  return {
    reason: missingReason ?? 'NO_DATA',
    sinceMs: missingSinceMs ?? Number.NEGATIVE_INFINITY,
  };
}

/**
 * Takes over what rows have decided, once the log has passed it. Edges of telemetry age bear the
 * time of their entry in the log, so that this is known exactly.
 */
export function passDecided({ instances }: SeriesBuffer, nowMs: number): void {
  for (const instance of instances) {
    const { decided } = instance;
    if (decided && nowMs > decidedThroughMs(decided)) takeOver(instance);
  }
}

export function isAgeBuffer({ derivation }: Pick<SeriesBuffer, 'derivation'>): boolean {
  return derivation.from === 'age';
}

// Edges below firing: the effects of observations, or of their absence, on a run that has not
// fired. Each is an event of the instance's machine with its own time. An instance keeps its newest
// ones, oldest first, so that its machine can be run over them on request and when it fires.
//
//     first breach                -> breachStarted
//     gap beyond the tolerance    -> dataMissing, at the end of the tolerance; the first observation
//                                    after it starts the run again, or ends it
//     observation, no breach      -> breachEnded

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
