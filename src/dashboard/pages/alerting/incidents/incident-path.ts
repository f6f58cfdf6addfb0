/**
 * The path of the alert instance through one incident, and what its chart shows: pure. Steps and
 * samples are placed as the service recorded or recomputed them; nothing is decided here.
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
 * The recorded steps of an incident out of its instance's transitions from the firing on, oldest
 * first: the run that led to it, and all until its end; of what comes later corrections alone.
 */
export function recordedSteps(transitions: readonly Transition[]): PathStep[] {
  const fired = transitions.findIndex(isFiring);
  const firing = transitions[fired];
  if (firing === undefined) return [];
  // The commit that fired recorded the run below it too, each step with a time of its own.
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

/** The step that created the instance is none of what happened to it. */
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

/** Steps that stored samples lead to. */
export function recomputedSteps({ path }: Recomputed): PathStep[] {
  return path.map(({ event, fromStates, toStates, eventUnixMs }) => ({
    event: eventName(event),
    fromStates,
    toStates,
    isRecomputed: true,
    observedMs: Number(eventUnixMs),
  }));
}

/** Where a step stands on the axis: when it was observed; what no observation decided, when it was. */
export function timeOf({ observedMs, decidedMs }: PathStep): number {
  // A recorded step has the second, a recomputed one the first.
  return observedMs ?? decidedMs ?? Number.NaN;
}

/** The last step up to a time; the first one where there is none. */
export function stepAt(steps: readonly PathStep[], ms: number): number {
  return Math.max(
    0,
    steps.findLastIndex((step) => timeOf(step) <= ms),
  );
}

const OPEN_MARGIN_MS = 300_000;
/** Longest stretch that the service recomputes. */
const STRETCH_MS_MAX = 86_400_000;
/** Time for which samples are stored. */
const RETENTION_MS = 7 * 86_400_000;

/**
 * The stretch to recompute, in whole seconds: from before the run to the end of the incident or to
 * now, at most a day of it. undefined: its samples are not stored any more.
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

/** Least time that the history shows before the breach, ms. */
const BEFORE_MS = 30 * 60_000;

/**
 * What the history shows, in Unix seconds: the incident, with a quarter of its length or half an hour
 * on both sides, as far as readings are stored. undefined: none of it is stored any more.
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

/** An answer with the one series that an incident is about: that of exactly its labels. */
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

/**
 * The chart of what was decided: the samples that were kept when it fired, and after them those that
 * are still stored.
 */
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

/** The chart of what stored samples lead to, by the rule as it is now. */
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
 * The good samples that ended it: those up to the one that completed it, after the last breaching
 * one. What lies between the two thresholds is good as well and belongs to it only in part.
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

/** The whole axis: of all samples, and of all steps. undefined: there are none. */
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

/** Least time that is shown before the run and after the firing, ms. */
const AROUND_MS = 300_000;

/** The part of it in which it was decided to fire; undefined: it did not fire. */
export function decisionAxis({ startedMs, firedMs }: WindowInput, whole: Axis): Axis | undefined {
  if (startedMs === undefined || firedMs === undefined) return undefined;
  const aroundMs = Math.max(AROUND_MS, (firedMs - startedMs) / 2);
  return {
    startMs: Math.max(whole.startMs, startedMs - aroundMs),
    endMs: Math.min(whole.endMs, firedMs + aroundMs),
  };
}

/** True when a part is so small a share of the axis that its samples could not be distinguished. */
export function isWorthZooming(part: Axis, whole: Axis): boolean {
  return part.endMs - part.startMs < 0.7 * (whole.endMs - whole.startMs);
}
