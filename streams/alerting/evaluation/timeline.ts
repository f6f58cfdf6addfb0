/**
 * The sustained condition: the timeline of one instance over its sorted observations. It is a small
 * record, because an instance has two: `settled`, through the observations that can no longer
 * change, and `current`, through the newest.
 *
 *     breaching samples, none more than the tolerance apart, span sustainedMs  -> firing
 *     good samples, none more than the tolerance apart, span recoveryMs        -> not firing
 *
 * Silence is no step: it neither promotes nor recovers. After a gap longer than the tolerance, a
 * run starts again at the first sample after it (EVAL-01 to EVAL-03).
 *
 * A rule on the age of telemetry has no readings. The age grows with time, so the last observation
 * alone decides when the condition holds. Ticks and later observations detect that this time has
 * passed; their own times do not change it. While its owner keeps the VM stopped, no telemetry is
 * expected, nor for a grace period after it runs again.
 *
 *     observation -- threshold --> breach begins -- sustainedMs --> firing
 */
import {
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  type ObservedValue,
  OPERATORS,
  type Operator,
} from '../../telemetry/entry.ts';
import { powerAfter, type ReportedPowerState } from '../../telemetry/metrics/derive.ts';

/** True if `value` satisfies the operator against `threshold`. Exact; NaN satisfies no operator. */
function compares(value: number, operator: Operator, threshold: number): boolean {
  switch (operator) {
    case 'GREATER_THAN':
      return value > threshold;
    case 'GREATER_THAN_OR_EQUAL':
      return value >= threshold;
    case 'LESS_THAN':
      return value < threshold;
    case 'LESS_THAN_OR_EQUAL':
      return value <= threshold;
    case 'EQUAL':
      return value === threshold;
    case 'NOT_EQUAL':
      return value < threshold || value > threshold;
    default:
      // See `unevaluable`.
      throw new RangeError(`The operator ${operator} is unknown`);
  }
}

/**
 * Why a rule of another version of this program cannot be evaluated; undefined: it can. Nothing is
 * decided for such a rule.
 */
export function unevaluable({ operator }: EvaluationRule): string | undefined {
  return OPERATORS.includes(operator) ? undefined : `The operator ${operator} is unknown`;
}

/** True if the value breaches the rule. Throws for a rule that is `unevaluable`. */
export function isBreach(rule: EvaluationRule, value: number): boolean {
  return compares(value, rule.operator, rule.threshold);
}

/**
 * True if an observed value counts towards recovery: it does not breach and, if the rule has a
 * recovery threshold, does not satisfy the operator against that one either. A value in between
 * neither breaches nor recovers.
 */
export function isGood(rule: EvaluationRule, value: number): boolean {
  if (isBreach(rule, value)) return false;
  const { recoveryThreshold } = rule;
  return recoveryThreshold === undefined || !compares(value, rule.operator, recoveryThreshold);
}

/** The run of the last observation; NONE: no run. */
export const NONE = 0;
/** `Timeline.phase`: the newest observations breach, for the length of the run. */
export const BREACH = 1;
/** `Timeline.phase`: the newest observations do not breach. */
export const GOOD = 2;
/** `Timeline.phase`, telemetry age only: the VM's owner has stopped it. */
export const STOPPED = 3;

/**
 * The sustained condition of one instance. Numbers only, so that it can be copied and compared
 * cheaply.
 */
export interface Timeline {
  phase: typeof NONE | typeof BREACH | typeof GOOD | typeof STOPPED;
  /** First and last observation of the run that `phase` names, Unix ms; meaningless at NONE. */
  startMs: number;
  lastMs: number;
  firing: boolean;
  /** While firing: the observation that completed the run, and the run's first one. */
  firedMs: number;
  startedMs: number;
  /** Telemetry age only: silence is no breach before this time, Unix ms. */
  graceMs: number;
  /** Telemetry age only: the VM stopped without its owner's action, and has not run since. */
  isDown: boolean;
}

/** Result of a step. RECOVERABLE: good samples span enough to end a firing. */
export const UNCHANGED = 0;
/** `StepOutcome`: this observation completed a breaching run, and the instance fires from then on. */
export const FIRED = 1;
const RECOVERABLE = 2;
/** The effect of one observation on a timeline. */
export type StepOutcome = typeof UNCHANGED | typeof FIRED | typeof RECOVERABLE;

/** A timeline before the first observation. */
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

/** Overwrites `to` with `from`, without an allocation. */
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
 * Advances `timeline` by one observation, which is later than all before. `tracksGood`: good
 * samples count although the timeline is not firing, because an incident was reported.
 */
export function step(
  timeline: Timeline,
  rule: EvaluationRule,
  observation: ObservedValue,
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

/** The source's clock went back: no run continues across it. */
export function interrupt(timeline: Timeline): void {
  timeline.phase = NONE;
}

function extend(timeline: Timeline, phase: Timeline['phase'], observedMs: number): void {
  const continues = timeline.phase === phase && observedMs - timeline.lastMs <= GAP_TOLERANCE_MS;
  if (!continues) timeline.startMs = observedMs;
  timeline.phase = phase;
  timeline.lastMs = observedMs;
}

/** Time after a VM runs again in which its telemetry may still be irregular, ms (EVAL-15). */
export const BOOT_GRACE_MS = 120_000;

/**
 * Time when the silence after the last observation becomes a breach, and time when it fires, Unix
 * ms.
 */
export function breachAfter(
  timeline: Timeline,
  rule: EvaluationRule,
  breachFromMs: number,
): { startMs: number; dueMs: number } {
  const startMs = Math.max(timeline.lastMs + rule.threshold * 1000, timeline.graceMs, breachFromMs);
  return { startMs, dueMs: startMs + rule.sustainedMs };
}

/** Advances time to `nowMs` without an observation. @returns true if it fires now */
export function elapse(
  timeline: Timeline,
  { rule, breachFromMs }: { readonly rule: EvaluationRule; readonly breachFromMs: number },
  nowMs: number,
): boolean {
  if (timeline.firing || timeline.phase !== GOOD) return false;
  const { startMs, dueMs } = breachAfter(timeline, rule, breachFromMs);
  // An observation of exactly that time may still arrive, and it is not old.
  if (nowMs <= dueMs) return false;
  timeline.firing = true;
  timeline.firedMs = dueMs;
  timeline.startedMs = startMs;
  return true;
}

/** Adds an observation, after time has advanced to it. @returns true if it can end a firing */
export function arrive(
  timeline: Timeline,
  rule: EvaluationRule,
  { observedMs, reported }: { readonly observedMs: number; readonly reported: ReportedPowerState },
  tracksGood: boolean,
): boolean {
  const silentMs = observedMs - timeline.lastMs;
  timeline.lastMs = observedMs;
  const power = powerAfter(timeline.isDown, reported);
  if (power !== 'UNREPORTED') timeline.isDown = power === 'DOWN';
  if (power === 'STOPPED') {
    timeline.phase = STOPPED;
    return false;
  }
  if (timeline.phase === STOPPED) timeline.graceMs = observedMs + BOOT_GRACE_MS;
  const continues =
    timeline.phase === GOOD && silentMs <= GAP_TOLERANCE_MS && isGood(rule, silentMs / 1000);
  timeline.phase = GOOD;
  if (!continues) timeline.startMs = observedMs;
  const recovers = observedMs - timeline.startMs >= rule.recoveryMs;
  if (!recovers || !(timeline.firing || tracksGood)) return false;
  timeline.firing = false;
  return true;
}

/** Maximum observed values that an incident stores. */
export const WINDOW_VALUES_MAX = 512;

/**
 * A run's observed values as they settle. Two plain arrays, because there may be 10,000 of them.
 */
export class RunWindow {
  #timesMs: number[] = [];
  #values: number[] = [];

  add(observedMs: number, value: number): void {
    if (this.#timesMs.length >= WINDOW_VALUES_MAX) this.#halve();
    this.#timesMs.push(observedMs);
    this.#values.push(value);
  }

  /** Appends to `to` the values observed in [fromMs, toMs], oldest first. */
  copy(range: { readonly fromMs: number; readonly toMs: number }, to: ObservedValue[]): void {
    for (const [i, observedMs] of this.#timesMs.entries()) {
      if (observedMs < range.fromMs || observedMs > range.toMs) continue;
      to.push({ observedMs, value: this.#values[i] ?? Number.NaN });
    }
  }

  #halve(): void {
    const kept = keptWhenHalved(this.#values);
    this.#timesMs = this.#timesMs.filter((_, i) => kept.has(i));
    this.#values = this.#values.filter((_, i) => kept.has(i));
  }
}

/** `window`, thinned until it has at most `WINDOW_VALUES_MAX` values. */
export function thinWindow(window: ObservedValue[]): ObservedValue[] {
  let thinned = window;
  while (thinned.length > WINDOW_VALUES_MAX) {
    const kept = keptWhenHalved(thinned.map(({ value }) => value));
    thinned = thinned.filter((_, i) => kept.has(i));
  }
  return thinned;
}

/** Every second index, and those of the first, last, smallest and largest value. */
function keptWhenHalved(values: readonly number[]): Set<number> {
  const kept = new Set<number>([values.length - 1]);
  for (let i = 0; i < values.length; i += 2) kept.add(i);
  kept.add(values.indexOf(Math.min(...values)));
  kept.add(values.indexOf(Math.max(...values)));
  return kept;
}
