/**
 * Turns timelines into edges: compares an instance's observations with its reported state and emits
 * the difference. Nothing reported is reverted: a firing that a late observation disproves is
 * marked corrected, and ends like any other, by good observations.
 *
 *     a span of firing in the timeline that no reported incident overlaps -> fired (and recovered)
 *     an open incident, good observations after its firing                -> recovered
 *     a reported incident, not firing then according to the timeline      -> corrected
 *
 * A firing is reported once a breach reaches into the freshness horizon (now minus the tolerance).
 * One that ended before the horizon is recorded without notification (EVAL-06). One that is neither
 * fresh nor over waits for the observation that decides.
 */

import { createHash } from 'node:crypto';
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import {
  type Edge,
  GAP_TOLERANCE_MS,
  type InstanceKey,
  LATENESS_MS,
  type ObservedValue,
} from '../../telemetry/entry.ts';
import {
  concludeEntry,
  type Instance,
  isAgeBuffer,
  isHealthChanged,
  keyOf,
  observedIn,
  openIncident,
  type Reported,
  type ReportedIncident,
  type TimelineEvent,
} from './instance.ts';
import { forgetRecorded, runBefore } from './run-events.ts';
import { settledThrough } from './series-buffer.ts';
import type { EvaluationCounters, EvaluationState } from './state.ts';
import { BREACH, isBreach, isGood, unevaluable } from './timeline.ts';

/** A span of firing in the timeline; `endMs` is Infinity while it lasts. */
interface Span {
  readonly firedMs: number;
  readonly startedMs: number;
  readonly fired: TimelineEvent | undefined;
  endMs: number;
  end: TimelineEvent | undefined;
}

/** The difference of one instance while it is computed. */
interface NotificationDiff {
  /** Time received of a batch, or time of a tick or marker; the reference for freshness. */
  readonly nowMs: number;
  /** In the order of the instance's history. */
  readonly edges: Edge[];
  readonly counters: EvaluationCounters;
}

/**
 * Margin, ms, by which a truncated log must reach back further than the longest duration of a rule,
 * so that a rebuilt state decides like one that was never stopped.
 */
export const FLOOR_MARGIN_MS = 2 * LATENESS_MS + 3 * GAP_TOLERANCE_MS;

/**
 * Returns the edges for the changes of this entry in `instance`. Forgets the entry's events, and
 * records in the state whether the instance has an open incident.
 */
export function reconcile(state: EvaluationState, instance: Instance, nowMs: number): Edge[] {
  const diff: NotificationDiff = { nowMs, edges: [], counters: state.counters };
  const spans = spansOf(instance);
  correct(instance, spans, diff);
  close(instance, diff);
  for (const span of spans) reportSpan(instance, span, diff);
  observe(instance, diff);
  reportHealth(instance, diff);
  silenceSuperseded(diff.edges);
  // Up to the row's last decision, all of this was already reported.
  const edges = instance.decided === undefined ? diff.edges : [];
  concludeEntry(instance);
  forgetRecorded(instance);
  forget(instance);
  if (isOpenInRows(instance) || openIncident(instance)) state.open.add(instance);
  else state.open.delete(instance);
  return edges;
}

function isOpenInRows({ decided }: Instance): boolean {
  return decided !== undefined && decided.recoveredMs === undefined;
}

/** Stretches of firing in this entry's part of the timeline, oldest first. */
function spansOf({ before, events, current, unreported }: Instance): Span[] {
  const spans: Span[] = [];
  const carried = events.length === 0 && current.firing ? current : before;
  let open: Span | undefined = carried && {
    firedMs: carried.firedMs,
    startedMs: carried.startedMs,
    fired: unreported?.observedMs === carried.firedMs ? unreported : undefined,
    endMs: Number.POSITIVE_INFINITY,
    end: undefined,
  };
  if (open) spans.push(open);
  for (const event of events) {
    if (event.kind === 'fired') {
      const { observedMs: firedMs, startedMs } = event;
      open = { firedMs, startedMs, fired: event, endMs: Number.POSITIVE_INFINITY, end: undefined };
      spans.push(open);
    } else if (open) {
      open.endMs = event.observedMs;
      open.end = event;
      open = undefined;
    }
  }
  return spans;
}

/**
 * Marks reported firings that late observations disprove. Only the newest gets an edge, because it
 * is the one that its machine holds. Older ones are counted.
 */
function correct(instance: Instance, spans: readonly Span[], diff: NotificationDiff): void {
  const { reported, recomputedFromMs } = instance;
  if (!reported || recomputedFromMs === undefined) return;
  for (const incident of reported.incidents) {
    const { firedMs, startedMs, corrected } = incident;
    if (corrected || firedMs <= recomputedFromMs) continue;
    if (spans.some((span) => span.firedMs <= firedMs && firedMs <= span.endMs)) continue;
    incident.corrected = true;
    if (incident !== reported.incidents.at(-1)) {
      diff.counters.unrecorded++;
      continue;
    }
    const atMs = nextAt(instance, reported, diff.nowMs);
    diff.edges.push({ kind: 'corrected', key: keyOf(instance), atMs, startedMs });
  }
}

function close(instance: Instance, { nowMs, edges }: NotificationDiff): void {
  const { reported } = instance;
  const incident = openIncident(instance);
  if (!reported || !incident || !isTelemetryLive(instance, nowMs)) return;
  const end = instance.events.find(
    ({ kind, observedMs }) => kind === 'recoverable' && observedMs > incident.firedMs,
  );
  if (!end) return;
  edges.push(recoveredEdge(instance, { reported, incident, end, nowMs }));
}

/** True if the newest observation is fresh now. A burst of old ones does not recover telemetry. */
function isTelemetryLive({ buffer, rule, current }: Instance, nowMs: number): boolean {
  if (!isAgeBuffer(buffer)) return true;
  if (unevaluable(rule.rule)) return false;
  return !current.firing && isGood(rule.rule, Math.max(0, nowMs - buffer.newestValueMs) / 1000);
}

function reportSpan(instance: Instance, span: Span, diff: NotificationDiff): void {
  const open = openIncident(instance);
  if (span.end === undefined) {
    const present = open ? undefined : presentOf(instance, span, diff.nowMs);
    if (present) diff.edges.push(...firing(instance, present, diff));
    return;
  }
  const incidents = instance.reported?.incidents ?? [];
  const isReported = incidents.some(
    ({ firedMs, recoveredMs }) => firedMs <= span.endMs && span.firedMs <= recoveredMs,
  );
  if (isReported) return;
  if (!open) diff.edges.push(...past(instance, { ...span, end: span.end }, diff));
  else {
    // A machine holds one incident at a time, so this one is recorded without an edge.
    const { firedMs, startedMs, endMs: recoveredMs } = span;
    incidents.splice(-1, 0, { firedMs, startedMs, recoveredMs, corrected: false });
    diff.counters.unrecorded++;
  }
}

/** The span to report for a firing that lasts; undefined if none lasts now. */
function presentOf(instance: Instance, span: Span, nowMs: number): Span | undefined {
  if (isAgeBuffer(instance.buffer)) return span;
  if (!isBreachFresh(instance, nowMs)) return undefined;
  const last = instance.reported?.incidents.at(-1);
  if (!last || span.firedMs > last.recoveredMs) return span;
  // Late observations invalidated a reported recovery. The recovery stays, and breaches since then
  // are a new incident.
  const { phase, startMs, lastMs } = instance.current;
  const { sustainedMs } = instance.rule.rule;
  if (phase !== BREACH || lastMs - startMs < sustainedMs) return undefined;
  const run = observedIn(instance, { fromMs: startMs, toMs: lastMs });
  const decided = run.find(({ observedMs }) => observedMs - startMs >= sustainedMs);
  return { ...span, firedMs: decided?.observedMs ?? lastMs, startedMs: startMs, fired: undefined };
}

function firing(instance: Instance, span: Span, { nowMs }: NotificationDiff): Edge[] {
  const reported = remember(instance, span);
  const { firedMs, startedMs, fired } = span;
  const range = { fromMs: startedMs, toMs: instance.buffer.newestValueMs };
  const window = fired?.window ?? observedIn(instance, range);
  const known = { reported, window, value: fired?.value, firedMs, startedMs };
  return [firedEdge(instance, { ...known, notify: true, nowMs })];
}

/** Fired and recovered in the past: recorded, not notified. */
function past(
  instance: Instance,
  span: Span & { readonly end: TimelineEvent },
  { nowMs }: NotificationDiff,
): Edge[] {
  const reported = remember(instance, span);
  const { firedMs, startedMs, fired, end } = span;
  const range = { fromMs: startedMs, toMs: end.observedMs - 1 };
  const window = fired?.window ?? observedIn(instance, range);
  const incident = reported.incidents.at(-1);
  if (!incident) return [];
  const known = { reported, window, value: fired?.value, firedMs, startedMs };
  return [
    firedEdge(instance, { ...known, notify: false, nowMs }),
    recoveredEdge(instance, { reported, incident, end, nowMs }),
  ];
}

/**
 * Data has returned when an observation is fresh by its own time. A burst of old ones does not
 * count.
 */
function observe(instance: Instance, { nowMs, edges }: NotificationDiff): void {
  const { reported, buffer } = instance;
  if (!reported?.missing || !openIncident(instance)) return;
  if (!isFresh(instance, nowMs) || buffer.newestValueMs <= reported.missing.sinceMs) return;
  reported.missing = undefined;
  const atMs = nextAt(instance, reported, nowMs);
  edges.push({
    kind: 'dataObserved',
    key: keyOf(instance),
    atMs,
    observedMs: buffer.newestValueMs,
  });
}

function reportHealth(instance: Instance, diff: NotificationDiff): void {
  const { reported, failure } = instance;
  if (!reported || !openIncident(instance) || !isHealthChanged(instance)) return;
  reported.failed = failure !== undefined;
  const decided = { key: keyOf(instance), atMs: nextAt(instance, reported, diff.nowMs) };
  if (failure === undefined) diff.edges.push({ kind: 'evaluatorHealthy', ...decided });
  else {
    diff.counters.failures++;
    diff.edges.push({ kind: 'evaluatorFailed', ...decided, reason: failure });
  }
}

function isFresh({ buffer }: Instance, nowMs: number): boolean {
  return buffer.newestValueMs >= nowMs - GAP_TOLERANCE_MS;
}

/** True if a breach is recent. A run that good samples ended earlier does not count. */
function isBreachFresh({ buffer, rule }: Instance, nowMs: number): boolean {
  if (unevaluable(rule.rule)) return false;
  for (let i = buffer.rows.length - 1; i >= 0; i--) {
    const observedMs = buffer.rows[i]?.row.observedMs ?? 0;
    if (observedMs < nowMs - GAP_TOLERANCE_MS) return false;
    const value = buffer.values[i] ?? Number.NaN;
    if (!Number.isNaN(value) && isBreach(rule.rule, value)) return true;
  }
  return false;
}

/** Only the final transition of an entry notifies. A recovery before a firing does not. */
function silenceSuperseded(edges: Edge[]): void {
  const last = edges.findLastIndex((edge) => edge.kind === 'fired' && edge.notify);
  for (let i = 0; i < last; i++) {
    const edge = edges[i];
    if (edge?.kind === 'recovered') edges[i] = { ...edge, notify: false };
  }
}

/** Forgets closed incidents that no late observation can reach anymore. */
function forget(instance: Instance): void {
  const { reported } = instance;
  if (!reported) return;
  const settledMs = settledThrough(instance.buffer);
  const last = reported.incidents.at(-1);
  // While the instance still fires, the last incident marks how much was reported.
  const isKept = (incident: ReportedIncident): boolean =>
    incident.recoveredMs > settledMs || (incident === last && instance.current.firing);
  reported.incidents = reported.incidents.filter(isKept);
  const nothingLeft = reported.incidents.length === 0 && reported.lastAtMs < settledMs;
  if (nothingLeft && !instance.current.firing) instance.reported = undefined;
}

/** Records that a firing was reported. */
export function remember(
  instance: Instance,
  { firedMs, startedMs }: { readonly firedMs: number; readonly startedMs: number },
): Reported {
  instance.reported ??= {
    incidents: [],
    lastAtMs: Number.NEGATIVE_INFINITY,
    missing: undefined,
    failed: false,
  };
  const recoveredMs = Number.POSITIVE_INFINITY;
  instance.reported.incidents.push({ firedMs, startedMs, recoveredMs, corrected: false });
  instance.reported.missing = undefined;
  instance.reported.failed = false;
  return instance.reported;
}

/** A firing to report. `notify` is that of its edge; times are Unix ms. */
export interface Firing {
  readonly reported: Reported;
  readonly window: readonly ObservedValue[];
  readonly value: number | undefined;
  readonly firedMs: number;
  readonly startedMs: number;
  readonly notify: boolean;
  readonly nowMs: number;
}

/** The edge of a firing that `remember` recorded. */
function firedEdge(instance: Instance, firing: Firing): Edge {
  const { reported, window, firedMs, startedMs, notify, nowMs } = firing;
  const key = keyOf(instance);
  const atMs = nextAt(instance, reported, nowMs);
  const value = isAgeBuffer(instance.buffer) ? firing.value : window.at(-1)?.value;
  const edge = {
    kind: 'fired' as const,
    key,
    atMs,
    observedMs: firedMs,
    startedMs,
    run: runBefore(instance, startedMs),
    window,
    notify,
  };
  return value === undefined ? edge : { ...edge, value };
}

/** The end of an incident: the good observation that completed its recovery. */
export interface Recovery {
  readonly reported: Reported;
  readonly incident: ReportedIncident;
  readonly end: TimelineEvent;
  readonly nowMs: number;
}

/** Ends the incident. */
function recoveredEdge(instance: Instance, { reported, incident, end, nowMs }: Recovery): Edge {
  const { observedMs, value, window } = end;
  incident.recoveredMs = observedMs;
  reported.missing = undefined;
  reported.failed = false;
  const atMs = nextAt(instance, reported, nowMs);
  return { kind: 'recovered', key: keyOf(instance), atMs, observedMs, value, window };
}

/** The edge of an open incident without data: one for each silence and each of its reasons. */
export function missingEdge(
  instance: Instance,
  { sinceMs, reason, nowMs }: { sinceMs: number; reason: MissingReason; nowMs: number },
): Edge | undefined {
  const { reported } = instance;
  if (!reported || reported.missing?.reason === reason) return undefined;
  reported.missing = { reason, sinceMs };
  const atMs = nextAt(instance, reported, nowMs);
  return { kind: 'dataMissing', key: keyOf(instance), atMs, sinceMs, reason };
}

/**
 * Time of the next edge: the series' newest observation, or later, so that times strictly increase.
 * Edges decided by time have `nowMs`, the time of the entry.
 */
export function nextAt({ buffer }: Instance, reported: Reported, nowMs: number): number {
  reported.lastAtMs = Math.max(
    isAgeBuffer(buffer) ? nowMs : buffer.newestMs,
    reported.lastAtMs + 1,
  );
  return reported.lastAtMs;
}

// Deciding twice is a no-op: ids are hashes of what they identify, and an edge that was decided
// before (a restart reads the log again from its floor) is recognised by its time.

/** The past of an alert instance according to its row; all zero without a row. */
export interface DecidedInstance {
  /** Number of its incidents. */
  readonly ordinal: number;
  /** Time of the last edge applied, `Edge.atMs`. */
  readonly decidedThrough: number;
  /** True if its last incident is open. */
  readonly firing: boolean;
  /** Start of its last incident, Unix ms. Absent: a correction is not checked against it. */
  readonly startedMs?: number;
  /**
   * True if the open incident is marked as without data. Absent: the machine knows what to ignore.
   */
  readonly dataMissing?: boolean;
  /** Reason of the missing data. Absent: not compared. */
  readonly missingReason?: MissingReason;
  /**
   * True if the open incident is marked as not evaluated. Absent: the machine knows what to ignore.
   */
  readonly evaluatorFailed?: boolean;
}

/** The incident of an accepted edge; `ordinal` counts from 1. */
export interface AcceptedEdge {
  readonly ordinal: number;
  readonly incidentId: string;
}

/**
 * The incident that `edge` opens or changes; undefined if the edge has been decided before, or does
 * not follow from the instance's state.
 */
export function acceptEdge(instance: DecidedInstance, edge: Edge): AcceptedEdge | undefined {
  if (edge.atMs <= instance.decidedThrough || !follows(instance, edge)) return undefined;
  const opens = edge.kind === 'fired';
  const ordinal = opens ? instance.ordinal + 1 : instance.ordinal;
  return { ordinal, incidentId: incidentIdOf(edge.key, ordinal) };
}

function follows({ ordinal, firing, ...row }: DecidedInstance, edge: Edge): boolean {
  switch (edge.kind) {
    case 'fired':
      return !firing;
    case 'recovered':
    case 'retired':
      return firing;
    case 'dataMissing':
      return firing && (row.dataMissing !== true || isOther(row.missingReason, edge.reason));
    case 'dataObserved':
      return firing && row.dataMissing !== false;
    case 'evaluatorFailed':
      return firing && row.evaluatorFailed !== true;
    case 'evaluatorHealthy':
      return firing && row.evaluatorFailed !== false;
    case 'corrected':
      // It may follow the recovery, but must concern the incident in the row.
      return ordinal > 0 && (row.startedMs ?? edge.startedMs) === edge.startedMs;
  }
}

function isOther(known: MissingReason | undefined, reported: MissingReason): boolean {
  return known !== undefined && known !== reported;
}

/**
 * Id of an alert instance. The same key is the same instance, on every node and after a restart.
 */
export function instanceIdOf(key: InstanceKey): string {
  return `ins_${digest(keyParts(key))}`;
}

/** Id of an instance's incident. Late samples can change its start, but not its id. */
export function incidentIdOf(key: InstanceKey, ordinal: number): string {
  return `inc_${digest([...keyParts(key), ordinal])}`;
}

function keyParts({ project, rule, evaluationRevision, vm, labels, generation }: InstanceKey) {
  const parts = [project, rule, evaluationRevision, vm, labels];
  return generation === undefined ? parts : [...parts, `generation ${generation}`];
}

/**
 * 128 bits of SHA-256 over the parts as JSON, so that different lists of parts never have the same
 * text.
 */
function digest(parts: readonly (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
