/**
 * The timeline of a rule on the age of telemetry. Age is no reading: it grows with time from each
 * observation on, so that the condition holds from a moment that the last observation alone tells.
 *
 *     observation -- threshold --> breach begins -- sustainedMs --> firing
 *
 * Ticks and later observations find that moment passed; when they come does not move it. While its
 * owner keeps the VM stopped nothing is expected of it, and for a while after it runs again.
 */

import { type EvaluationRule, GAP_TOLERANCE_MS } from '../../telemetry/entry.ts';
import { powerAfter, type ToldPower } from '../../telemetry/metrics/derive.ts';
import { isGood } from './condition.ts';
import { GOOD, STOPPED, type Timeline } from './timeline.ts';

/** A VM that runs again is given so long to be heard regularly, ms (EVAL-15). */
export const BOOT_GRACE_MS = 120_000;

/** When the silence after the last observation becomes a breach, and when it fires. Unix ms. */
export function breachAfter(
  timeline: Timeline,
  rule: EvaluationRule,
  breachFromMs: number,
): { startMs: number; dueMs: number } {
  const startMs = Math.max(timeline.lastMs + rule.threshold * 1000, timeline.graceMs, breachFromMs);
  return { startMs, dueMs: startMs + rule.sustainedMs };
}

/** Lets time pass up to `nowMs` without an observation. @returns does it fire now? */
export function elapse(
  timeline: Timeline,
  { rule, breachFromMs }: { readonly rule: EvaluationRule; readonly breachFromMs: number },
  nowMs: number,
): boolean {
  if (timeline.firing || timeline.phase !== GOOD) return false;
  const { startMs, dueMs } = breachAfter(timeline, rule, breachFromMs);
  // At that very moment an observation may still come, of which nothing is old.
  if (nowMs <= dueMs) return false;
  timeline.firing = true;
  timeline.firedMs = dueMs;
  timeline.startedMs = startMs;
  return true;
}

/** Takes an observation in, time having passed up to it. @returns can it end a firing? */
export function arrive(
  timeline: Timeline,
  rule: EvaluationRule,
  { observedMs, told }: { readonly observedMs: number; readonly told: ToldPower },
  tracksGood: boolean,
): boolean {
  const silentMs = observedMs - timeline.lastMs;
  timeline.lastMs = observedMs;
  const power = powerAfter(timeline.isDown, told);
  if (power !== 'UNTOLD') timeline.isDown = power === 'DOWN';
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
