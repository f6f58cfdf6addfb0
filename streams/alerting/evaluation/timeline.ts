/**
 * The timeline of one instance: what its sorted observations say, one step for each. It is a
 * small record because two are kept per instance: one through the observations that can no longer
 * change (settled), one through the newest.
 *
 *     breaching samples, none more than the tolerance apart, span sustainedMs  -> firing
 *     good samples, none more than the tolerance apart, span recoveryMs        -> not firing
 *
 * Silence is no step at all: it neither promotes nor recovers. After a longer gap a run begins
 * anew at the first sample after it (EVAL-01 to EVAL-03).
 */

import { type EvaluationRule, GAP_TOLERANCE_MS } from '../../telemetry/entry.ts';
import { isBreach, isGood } from './condition.ts';

/** What the last observation belonged to; NONE: to no run. */
export const NONE = 0;
export const BREACH = 1;
export const GOOD = 2;
/** Of telemetry alone: the VM's owner has stopped it. */
export const STOPPED = 3;

export interface Timeline {
  phase: typeof NONE | typeof BREACH | typeof GOOD | typeof STOPPED;
  /** First and last observation of the run that `phase` names, Unix ms; meaningless at NONE. */
  startMs: number;
  lastMs: number;
  firing: boolean;
  /** While firing: the observation that completed the run, and the run's first. */
  firedMs: number;
  startedMs: number;
  /** Of telemetry alone: silence is no breach before it, Unix ms. */
  graceMs: number;
  /** Of telemetry alone: it went down without its owner's doing, and has not run since. */
  isDown: boolean;
}

/** What a step brought about. RECOVERABLE: good samples span enough to end a firing. */
export const UNCHANGED = 0;
export const FIRED = 1;
const RECOVERABLE = 2;
export type StepOutcome = typeof UNCHANGED | typeof FIRED | typeof RECOVERABLE;

export function emptyTimeline(): Timeline {
  return {
    phase: NONE,
    startMs: 0,
    lastMs: 0,
    firing: false,
    firedMs: 0,
    startedMs: 0,
    graceMs: 0,
    isDown: false,
  };
}

export function copyTimeline(from: Timeline, to: Timeline): void {
  to.phase = from.phase;
  to.startMs = from.startMs;
  to.lastMs = from.lastMs;
  to.firing = from.firing;
  to.firedMs = from.firedMs;
  to.startedMs = from.startedMs;
  to.graceMs = from.graceMs;
  to.isDown = from.isDown;
}

/**
 * Moves `timeline` on by one observation, later than any before it. `tracksGood`: good samples
 * count although the timeline is not firing, because people were told that it is.
 */
export function step(
  timeline: Timeline,
  rule: EvaluationRule,
  observation: { readonly observedMs: number; readonly value: number },
  tracksGood: boolean,
): StepOutcome {
  const { observedMs, value } = observation;
  if (isBreach(rule, value)) {
    extend(timeline, BREACH, observedMs);
    if (timeline.firing || observedMs - timeline.startMs < rule.sustainedMs) return UNCHANGED;
    timeline.firing = true;
    timeline.firedMs = observedMs;
    timeline.startedMs = timeline.startMs;
    return FIRED;
  }
  if (!(timeline.firing || tracksGood) || !isGood(rule, value)) {
    timeline.phase = NONE;
    return UNCHANGED;
  }
  extend(timeline, GOOD, observedMs);
  if (observedMs - timeline.startMs < rule.recoveryMs) return UNCHANGED;
  timeline.firing = false;
  return RECOVERABLE;
}

/** The source's clock went back: what came before is no longer continuous with what comes. */
export function interrupt(timeline: Timeline): void {
  timeline.phase = NONE;
}

function extend(timeline: Timeline, phase: Timeline['phase'], observedMs: number): void {
  const continues = timeline.phase === phase && observedMs - timeline.lastMs <= GAP_TOLERANCE_MS;
  if (!continues) timeline.startMs = observedMs;
  timeline.phase = phase;
  timeline.lastMs = observedMs;
}
