/**
 * From timeline to edges: compares what an instance's observations say with what has been told of
 * it, and tells the difference. Nothing told is taken back: a firing that a late observation shows
 * not to have been is marked corrected, and ends like any other, by good observations.
 *
 *     spans of firing in the timeline, overlapped by no told incident  -> fired (and recovered)
 *     an open told incident, good observations after its firing        -> recovered
 *     a told incident, not firing then according to the timeline       -> corrected
 *
 * A firing is told once what breaches reaches into the freshness horizon (now minus the tolerance).
 * One that is over before is recorded without notification (EVAL-06); one that is neither
 * fresh nor over waits for the observation that decides which of the two it is.
 */

import { type Edge, GAP_TOLERANCE_MS, LATENESS_MS } from '../../telemetry/entry.ts';
import { isAgeLane } from './age.ts';
import { isBreach, isGood } from './condition.ts';
import { firedEdge, nextAt, recoveredEdge, remember } from './incident-edges.ts';
import {
  concludeEntry,
  type Instance,
  isHealthChanged,
  keyOf,
  observedIn,
  openIncident,
  type TimelineEvent,
  type ToldIncident,
} from './instance.ts';
import { settledThrough } from './lane.ts';
import { BREACH } from './timeline.ts';

/** A stretch of firing in the timeline; `endMs` Infinity while it lasts. */
interface Span {
  readonly firedMs: number;
  readonly startedMs: number;
  readonly fired: TimelineEvent | undefined;
  endMs: number;
  end: TimelineEvent | undefined;
}

export interface Telling {
  /** Time received of a batch, or of a tick or marker: what freshness is measured against. */
  readonly nowMs: number;
  /** Takes each edge, in the order of the instance's history. */
  readonly tell: (edge: Edge) => void;
  /** Something of the past was found that the machine, with one incident at a time, cannot hold. */
  readonly countUnrecorded: () => void;
  /** A rule could not be evaluated, and that was told. */
  readonly countFailure: () => void;
}

/**
 * A log that is cut off must reach back so much further than the longest duration of a rule, ms,
 * for a state rebuilt from it to decide as one that was never stopped.
 */
export const FLOOR_MARGIN_MS = 2 * LATENESS_MS + 3 * GAP_TOLERANCE_MS;

/** Tells what this entry changed of `instance`, and forgets the entry's events. */
export function reconcile(instance: Instance, telling: Telling): void {
  const edges: Edge[] = [];
  const spans = spansOf(instance);
  correct(instance, spans, telling, edges);
  close(instance, telling, edges);
  for (const span of spans) tellSpan(instance, span, telling, edges);
  observe(instance, telling, edges);
  tellHealth(instance, telling, edges);
  silenceSuperseded(edges);
  // Up to where rows have come, all of this has been told.
  if (instance.decided === undefined) for (const edge of edges) telling.tell(edge);
  concludeEntry(instance);
  forget(instance);
}

/** Firing stretches of this entry's part of the timeline, oldest first. */
function spansOf({ before, events, current, untold }: Instance): Span[] {
  const spans: Span[] = [];
  const carried = events.length === 0 && current.firing ? current : before;
  let open: Span | undefined = carried && {
    firedMs: carried.firedMs,
    startedMs: carried.startedMs,
    fired: untold?.observedMs === carried.firedMs ? untold : undefined,
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
 * Marks told firings that late observations show not to have been. Only the newest can be told so:
 * it is the one that a machine has. An older one is counted.
 */
function correct(
  instance: Instance,
  spans: readonly Span[],
  telling: Telling,
  edges: Edge[],
): void {
  const { told, recomputedFromMs } = instance;
  if (!told || recomputedFromMs === undefined) return;
  for (const incident of told.incidents) {
    const { firedMs, startedMs, corrected } = incident;
    if (corrected || firedMs <= recomputedFromMs) continue;
    if (spans.some((span) => span.firedMs <= firedMs && firedMs <= span.endMs)) continue;
    incident.corrected = true;
    if (incident !== told.incidents.at(-1)) {
      telling.countUnrecorded();
      continue;
    }
    const atMs = nextAt(instance, told, telling.nowMs);
    edges.push({ kind: 'corrected', key: keyOf(instance), atMs, startedMs });
  }
}

function close(instance: Instance, { nowMs }: Telling, edges: Edge[]): void {
  const { told } = instance;
  const incident = openIncident(instance);
  if (!told || !incident || !isHeard(instance, nowMs)) return;
  const end = instance.events.find(
    ({ kind, observedMs }) => kind === 'recoverable' && observedMs > incident.firedMs,
  );
  if (!end) return;
  edges.push(recoveredEdge(instance, { told, incident, end, nowMs }));
}

/** Old observations in a burst do not make telemetry live: the newest has to be fresh as of now. */
function isHeard({ lane, rule, current }: Instance, nowMs: number): boolean {
  if (!isAgeLane(lane)) return true;
  return !current.firing && isGood(rule.rule, Math.max(0, nowMs - lane.newestValueMs) / 1000);
}

function tellSpan(instance: Instance, span: Span, telling: Telling, edges: Edge[]): void {
  const open = openIncident(instance);
  if (span.end === undefined) {
    const present = open ? undefined : presentOf(instance, span, telling.nowMs);
    if (present) edges.push(...firing(instance, present, telling));
    return;
  }
  const incidents = instance.told?.incidents ?? [];
  const isTold = incidents.some(
    ({ firedMs, recoveredMs }) => firedMs <= span.endMs && span.firedMs <= recoveredMs,
  );
  if (isTold) return;
  if (!open) edges.push(...past(instance, { ...span, end: span.end }, telling));
  else {
    // A machine has one incident at a time: this one is known from here on, but not told.
    const { firedMs, startedMs, endMs: recoveredMs } = span;
    incidents.splice(-1, 0, { firedMs, startedMs, recoveredMs, corrected: false });
    telling.countUnrecorded();
  }
}

/** What to tell of a firing that lasts; undefined: nothing, as of now. */
function presentOf(instance: Instance, span: Span, nowMs: number): Span | undefined {
  if (isAgeLane(instance.lane)) return span;
  if (!isBreachFresh(instance, nowMs)) return undefined;
  const last = instance.told?.incidents.at(-1);
  if (!last || span.firedMs > last.recoveredMs) return span;
  // Late observations broke a recovery that was told. It stands: what breaches since is an incident.
  const { phase, startMs, lastMs } = instance.current;
  const { sustainedMs } = instance.rule.rule;
  if (phase !== BREACH || lastMs - startMs < sustainedMs) return undefined;
  const run = observedIn(instance, { fromMs: startMs, toMs: lastMs });
  const decided = run.find(({ observedMs }) => observedMs - startMs >= sustainedMs);
  return { ...span, firedMs: decided?.observedMs ?? lastMs, startedMs: startMs, fired: undefined };
}

function firing(instance: Instance, span: Span, { nowMs }: Telling): Edge[] {
  const told = remember(instance, span);
  const { firedMs, startedMs, fired } = span;
  const range = { fromMs: startedMs, toMs: instance.lane.newestValueMs };
  const window = fired?.window ?? observedIn(instance, range);
  const known = { told, window, value: fired?.value, firedMs, startedMs };
  return [firedEdge(instance, { ...known, notify: true, nowMs })];
}

/** Fired and recovered in the past: recorded, not notified. */
function past(
  instance: Instance,
  span: Span & { readonly end: TimelineEvent },
  { nowMs }: Telling,
): Edge[] {
  const told = remember(instance, span);
  const { firedMs, startedMs, fired, end } = span;
  const range = { fromMs: startedMs, toMs: end.observedMs - 1 };
  const window = fired?.window ?? observedIn(instance, range);
  const incident = told.incidents.at(-1);
  if (!incident) return [];
  const known = { told, window, value: fired?.value, firedMs, startedMs };
  return [
    firedEdge(instance, { ...known, notify: false, nowMs }),
    recoveredEdge(instance, { told, incident, end, nowMs }),
  ];
}

/** Data is back when an observation is fresh by its own time: a burst of old ones is not. */
function observe(instance: Instance, { nowMs }: Telling, edges: Edge[]): void {
  const { told, lane } = instance;
  if (!told?.missing || !openIncident(instance)) return;
  if (!isFresh(instance, nowMs) || lane.newestValueMs <= told.missing.sinceMs) return;
  told.missing = undefined;
  const atMs = nextAt(instance, told, nowMs);
  edges.push({ kind: 'dataObserved', key: keyOf(instance), atMs, observedMs: lane.newestValueMs });
}

function tellHealth(instance: Instance, telling: Telling, edges: Edge[]): void {
  const { told, failure } = instance;
  if (!told || !openIncident(instance) || !isHealthChanged(instance)) return;
  told.failed = failure !== undefined;
  const decided = { key: keyOf(instance), atMs: nextAt(instance, told, telling.nowMs) };
  if (failure === undefined) edges.push({ kind: 'evaluatorHealthy', ...decided });
  else {
    telling.countFailure();
    edges.push({ kind: 'evaluatorFailed', ...decided, reason: failure });
  }
}

function isFresh({ lane }: Instance, nowMs: number): boolean {
  return lane.newestValueMs >= nowMs - GAP_TOLERANCE_MS;
}

/** Did it breach lately? A run that ended before, in samples that are good, is not the present. */
function isBreachFresh({ lane, rule }: Instance, nowMs: number): boolean {
  for (let i = lane.rows.length - 1; i >= 0; i--) {
    const observedMs = lane.rows[i]?.row.observedMs ?? 0;
    if (observedMs < nowMs - GAP_TOLERANCE_MS) return false;
    const value = lane.values[i] ?? Number.NaN;
    if (!Number.isNaN(value) && isBreach(rule.rule, value)) return true;
  }
  return false;
}

/** Of one entry only the final transition notifies: a recovery before a told firing does not. */
function silenceSuperseded(edges: Edge[]): void {
  const last = edges.findLastIndex((edge) => edge.kind === 'fired' && edge.notify);
  for (let i = 0; i < last; i++) {
    const edge = edges[i];
    if (edge?.kind === 'recovered') edges[i] = { ...edge, notify: false };
  }
}

/** Closed incidents that no late observation reaches any more are forgotten. */
function forget(instance: Instance): void {
  const { told } = instance;
  if (!told) return;
  const settledMs = settledThrough(instance.lane);
  const last = told.incidents.at(-1);
  // While the timeline fires on, its last one says up to where that has been told.
  const isKept = (incident: ToldIncident): boolean =>
    incident.recoveredMs > settledMs || (incident === last && instance.current.firing);
  told.incidents = told.incidents.filter(isKept);
  const nothingLeft = told.incidents.length === 0 && told.lastAtMs < settledMs;
  if (nothingLeft && !instance.current.firing) instance.told = undefined;
}
