/**
 * The path of the alert instance through one incident, and the data of its chart. Pure. Steps and
 * samples are positioned as the service recorded or recomputed them; nothing is decided here.
 */
import type { HistoryAnswer } from '../../../charts/history-data.ts';
import { type Axis, type WindowInput, windowData } from '../../../charts/window-data.ts';
import type { ResponseOf } from '../../../data/rpc-types.ts';
import type { Incident } from '../../../data/watch.ts';
import type { PathStep } from '../../../statechart/instance-path.tsx';
import { eventName } from '../../../statechart/marking.ts';

export type Explanation = ResponseOf<'AlertService', 'explainIncident'>;
export type Recomputed = ResponseOf<'AlertService', 'explainAlertInstance'>;
export type Transition = ResponseOf<'AuditService', 'listTransitions'>['transitions'][number];
type Sample = Explanation['window'][number];
type Gap = Explanation['gaps'][number];

/**
 * The recorded steps of an incident, oldest first, selected from the transitions of its instance
 * from the firing on: the run that led to it and everything until its end; after that, only
 * corrections.
 */
export function recordedSteps(transitions: readonly Transition[]): PathStep[] {
  const fired = transitions.findIndex(isFiring);
  const firing = transitions[fired];
  if (firing === undefined) return [];
  // The commit that fired also recorded the run before it, with a time for each step.
  let first = fired;
  while (first > 0 && isOfRun(transitions[first - 1], firing)) first -= 1;
  const after = transitions.slice(fired + 1);
  const ended = after.findIndex(isEnd);
  const during = ended < 0 ? after : after.slice(0, ended + 1);
  const later = ended < 0 ? [] : after.slice(ended + 1);
  const next = later.findIndex(isFiring);
  const corrections = later
    .slice(0, next < 0 ? undefined : next)
    .filter(({ event }) => event === 'corrected');
  return [...transitions.slice(first, fired + 1), ...during, ...corrections].map(recordedStep);
}

function isFiring({ event }: Transition): boolean {
  return event === 'sustained';
}

/** The step that created the instance is not part of the incident. */
function isOfRun(transition: Transition | undefined, firing: Transition): boolean {
  if (transition?.atUnixMs !== firing.atUnixMs) return false;
  return transition.fromStates.length > 0 && !isEnd(transition);
}

function isEnd({ event }: Transition): boolean {
  return event === 'recovered' || event === 'retired';
}

function recordedStep(transition: Transition): PathStep {
  const { event, fromStates, toStates, observedUnixMs, atUnixMs, by, byDisplayName } = transition;
  return {
    event: eventName(event),
    fromStates,
    toStates,
    observedMs: observedUnixMs === undefined ? undefined : Number(observedUnixMs),
    decidedMs: Number(atUnixMs),
    by: byDisplayName || by,
  };
}

/** The steps recomputed from stored samples. */
export function recomputedSteps({ path }: Recomputed): PathStep[] {
  return path.map(({ event, fromStates, toStates, eventUnixMs }) => ({
    event: eventName(event),
    fromStates,
    toStates,
    isRecomputed: true,
    observedMs: Number(eventUnixMs),
  }));
}

/** Time of a step on the axis: its observation, or its decision if no observation caused it. */
export function timeOf({ observedMs, decidedMs }: PathStep): number {
  // A recorded step has the second, a recomputed one the first.
  return observedMs ?? decidedMs ?? Number.NaN;
}

/** The last step at or before a time; the first one if there is none. */
export function stepAt(steps: readonly PathStep[], ms: number): number {
  return Math.max(
    0,
    steps.findLastIndex((step) => timeOf(step) <= ms),
  );
}

const OPEN_MARGIN_MS = 300_000;
/** Longest range that the service recomputes, ms. */
const STRETCH_MS_MAX = 86_400_000;
/** Retention of samples, ms. */
const RETENTION_MS = 7 * 86_400_000;

/**
 * The range to recompute, in whole seconds: from before the run to the end of the incident or to
 * now, at most one day. Undefined if its samples are no longer stored.
 */
export function stretchOf(
  incident: Pick<Incident, 'startedUnix' | 'recoveredUnix' | 'retiredUnix'>,
  nowMs: number,
): Axis | undefined {
  const startedMs = Number(incident.startedUnix) * 1_000;
  const ended = incident.recoveredUnix ?? incident.retiredUnix;
  const endedMs = ended === undefined ? nowMs : Number(ended) * 1_000 + OPEN_MARGIN_MS;
  const startMs = startedMs - OPEN_MARGIN_MS;
  if (startMs <= nowMs - RETENTION_MS) return undefined;
  const endMs = Math.min(endedMs, nowMs, startMs + STRETCH_MS_MAX);
  return { startMs: wholeSecond(startMs), endMs: wholeSecond(endMs) };
}

/** Minimum time shown before the breach, ms. */
const BEFORE_MS = 30 * 60_000;

/**
 * The range of the history, Unix seconds: the incident, with a margin of a quarter of its length or
 * at least half an hour on both sides, as far as readings are stored. Undefined if none of it is
 * stored any more.
 */
export function historyRange(
  incident: Pick<Incident, 'startedUnix' | 'recoveredUnix' | 'retiredUnix'>,
  nowMs: number,
): { readonly startUnix: number; readonly endUnix: number } | undefined {
  const startedMs = Number(incident.startedUnix) * 1_000;
  const ended = incident.recoveredUnix ?? incident.retiredUnix;
  const endedMs = ended === undefined ? nowMs : Number(ended) * 1_000;
  if (endedMs <= nowMs - RETENTION_MS) return undefined;
  const aroundMs = Math.max(BEFORE_MS, (endedMs - startedMs) / 4);
  const startMs = Math.max(nowMs - RETENTION_MS, startedMs - aroundMs);
  const endMs = Math.min(nowMs, endedMs + aroundMs);
  return { startUnix: Math.ceil(startMs / 1_000), endUnix: Math.floor(endMs / 1_000) };
}

/** A response reduced to the series of the incident, with exactly its labels. */
export function seriesOf(answer: HistoryAnswer, labels: Incident['labels']): HistoryAnswer {
  const keys = Object.keys(labels);
  const series = answer.series.filter(
    (one) =>
      Object.keys(one.labels).length === keys.length &&
      keys.every((key) => one.labels[key] === labels[key]),
  );
  return { ...answer, series };
}

function wholeSecond(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

/** The chart of decisions: the samples kept when it fired, followed by those still stored. */
export function recordedWindow(
  { incident, condition, window, gaps, recomputation }: Explanation,
  steps: readonly PathStep[],
  stored: Recomputed | undefined,
): WindowInput | undefined {
  if (condition === undefined) return undefined;
  const keptUntilMs = Number(window.at(-1)?.observedUnixMs ?? Number.POSITIVE_INFINITY);
  const samples = [
    ...window,
    ...(stored?.samples ?? []).filter(({ observedUnixMs }) => Number(observedUnixMs) > keptUntilMs),
  ];
  const later = (stored?.gaps ?? []).filter(
    ({ startUnixMs }) => Number(startUnixMs) >= keptUntilMs,
  );
  const started = steps.findLast(({ event }) => event === 'breachStarted')?.observedMs;
  const fired = steps.find(({ event }) => event === 'sustained')?.observedMs;
  const recovered = steps.findLast(({ event }) => event === 'recovered')?.observedMs;
  return {
    condition,
    samples,
    gaps: [...gaps, ...later],
    startedMs: started ?? numberOf(recomputation?.startedUnixMs) ?? startOf(incident),
    firedMs: fired ?? numberOf(recomputation?.firedObservedUnixMs),
    ...recoveryOf(samples, recovered),
  };
}

/** The chart recomputed from stored samples with the current rule. */
export function recomputedWindow(stored: Recomputed): WindowInput | undefined {
  const { condition, path } = stored;
  if (condition === undefined) return undefined;
  const timeOfLast = (event: string): number | undefined =>
    numberOf(path.findLast((step) => step.event === event)?.eventUnixMs);
  const samples: readonly Sample[] = stored.samples;
  const gaps: readonly Gap[] = stored.gaps;
  return {
    condition,
    samples,
    gaps,
    startedMs: timeOfLast('breachStarted'),
    firedMs: timeOfLast('sustained'),
    ...recoveryOf(samples, timeOfLast('recovered')),
  };
}

/**
 * The good samples that ended it: those after the last breaching one, up to the one that completed
 * the recovery. Values between the two thresholds are good as well, but not all of them belong to
 * it.
 */
function recoveryOf(
  samples: readonly Sample[],
  recoveredMs: number | undefined,
): Pick<WindowInput, 'recoveryStartedMs' | 'recoveredMs'> {
  if (recoveredMs === undefined) return {};
  const before = samples.filter(({ observedUnixMs }) => Number(observedUnixMs) <= recoveredMs);
  const breach = before.findLastIndex(({ breaches }) => breaches);
  const first = numberOf(before[breach + 1]?.observedUnixMs);
  return { recoveredMs, recoveryStartedMs: first ?? recoveredMs };
}

function startOf(incident: Incident | undefined): number | undefined {
  return incident && Number(incident.startedUnix) * 1_000;
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

/** The whole axis, covering all samples and steps. Undefined if there are none. */
export function wholeAxis(
  window: WindowInput | undefined,
  steps: readonly PathStep[],
): Axis | undefined {
  const times = steps.map(timeOf);
  if (window && window.samples.length > 0) {
    const { startMs, endMs } = windowData(window);
    times.push(startMs, endMs);
  }
  if (times.length === 0) return undefined;
  return { startMs: Math.min(...times), endMs: Math.max(...times) };
}

/** Minimum time shown before the run and after the firing, ms. */
const AROUND_MS = 300_000;

/** The part of the axis in which the decision to fire was made; undefined if it did not fire. */
export function decisionAxis({ startedMs, firedMs }: WindowInput, whole: Axis): Axis | undefined {
  if (startedMs === undefined || firedMs === undefined) return undefined;
  const aroundMs = Math.max(AROUND_MS, (firedMs - startedMs) / 2);
  return {
    startMs: Math.max(whole.startMs, startedMs - aroundMs),
    endMs: Math.min(whole.endMs, firedMs + aroundMs),
  };
}

/** True if a part is so small that its samples could not be distinguished on the whole axis. */
export function isWorthZooming(part: Axis, whole: Axis): boolean {
  return part.endMs - part.startMs < 0.7 * (whole.endMs - whole.startMs);
}
