/**
 * Instances of rules on readings, as their lane takes observations in: `timeline.ts` says what the
 * sorted values mean, here it becomes events of the instance, and the values of a run are kept.
 */
import { isBreach } from './condition.ts';
import { type Instance, isOpenInstance, observedIn, type TimelineEvent } from './instance.ts';
import {
  BREACH,
  FIRED,
  GOOD,
  NONE,
  type StepOutcome,
  step,
  type Timeline,
  UNCHANGED,
} from './timeline.ts';
import { RunWindow } from './window.ts';

/**
 * Moves `current` on by one observation unless nothing can come of it; false: nothing did. A rule
 * that cannot be evaluated keeps no other from it: it stays as it was, and says why.
 */
export function advanceReading(instance: Instance, observedMs: number, value: number): boolean {
  const { current, rule } = instance;
  try {
    const quiet = current.phase === NONE && !current.firing && !isOpenOrTold(instance);
    if (quiet && !isBreach(rule.rule, value)) return false;
    advance(instance, observedMs, value);
    instance.failure = undefined;
  } catch (error) {
    instance.failure = error instanceof Error ? error.message : String(error);
  }
  return true;
}

/** Moves `current` on by one observation and notes what that brought about. */
function advance(instance: Instance, observedMs: number, value: number): void {
  if (Number.isNaN(value) || observedMs < instance.sinceMs) return;
  const { current, rule, events } = instance;
  const open = isOpenInstance(instance);
  const { firing, firedMs, startedMs } = current;
  const outcome = step(current, rule.rule, { observedMs, value }, open);
  if (outcome === UNCHANGED) return;
  if (events.length === 0 && instance.recomputedFromMs === undefined) {
    instance.before = firing ? { firedMs, startedMs } : undefined;
  }
  events.push(eventOf(instance, outcome, { observedMs, value }));
}

function eventOf(
  instance: Instance,
  outcome: StepOutcome,
  { observedMs, value }: { observedMs: number; value: number },
): TimelineEvent {
  const { startMs } = instance.current;
  return {
    kind: outcome === FIRED ? 'fired' : 'recoverable',
    observedMs,
    startedMs: startMs,
    value,
    window: observedIn(instance, { fromMs: startMs, toMs: observedMs }),
  };
}

/** Moves `settled` on by one observation and keeps the values of its run. */
export function settleReading(instance: Instance, observedMs: number, value: number): void {
  // A rule that cannot be evaluated says so when an observation comes, not when it settles.
  if (Number.isNaN(value) || instance.failure !== undefined) return;
  const { settled, rule } = instance;
  const quiet = settled.phase === NONE && !settled.firing && !isOpenOrTold(instance);
  if ((quiet && !isBreach(rule.rule, value)) || observedMs < instance.sinceMs) return;
  const open = isOpenInstance(instance);
  step(settled, rule.rule, { observedMs, value }, open);
  if (!keepsValues(settled, open)) {
    instance.window = undefined;
    return;
  }
  if (instance.window === undefined || settled.startMs === observedMs) {
    instance.window = new RunWindow();
  }
  instance.window.add(observedMs, value);
}

/** Values are kept of a run that may still fire or be told, and of one that may recover. */
function keepsValues({ phase }: Timeline, open: boolean): boolean {
  return phase === GOOD || (phase === BREACH && !open);
}

function isOpenOrTold({ told, decided }: Instance): boolean {
  return told !== undefined || decided !== undefined;
}
