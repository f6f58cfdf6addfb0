/**
 * Times that are in the future after the clock was set back. While it was ahead, rows and ticks had
 * its time; afterwards, everything that compares with them would wait until the clock has caught
 * up.
 *
 *     a row arrives for a series whose newest one lies ahead   the series starts again
 *                                                              (`place` in series-buffer.ts)
 *     a tick                                                   moves all other times to the present
 *
 * "Ahead" means more than a sample may be: `AHEAD_MS_MAX` after the time of the log's own entry. It
 * is a function of the log, so every member and every replay moves the same times. No time is moved
 * before the present, and nothing fires or recovers because of a move.
 */
import { isAhead } from '../../platform/clock.ts';
import {
  decidedThroughMs,
  type Instance,
  isAgeBuffer,
  type RuleInForce,
  type SeriesBuffer,
  takeOver,
} from './instance.ts';
import {
  countRebased,
  type EvaluationState,
  rebaseFacts,
  retimeRetired,
  type WatchedProject,
} from './state.ts';
import { copyTimeline, type Timeline } from './timeline.ts';

/** Moves times of a state that are later than a tick to the tick. */
export function rebase(state: EvaluationState, atMs: number): void {
  if (state.latestMs <= atMs) return;
  state.latestMs = state.isLive ? atMs : Number.POSITIVE_INFINITY;
  for (const facts of state.facts.values()) {
    for (const vm of facts.values()) count(state, rebaseFacts(vm, atMs));
  }
  count(state, retimeRetired(state, atMs));
  for (const project of state.projects.values()) {
    for (const rule of project.rules.values()) count(state, rebaseRule(rule, atMs));
    rebaseBuffers(state, project, atMs);
  }
}

/** Number of times that were moved, in live states. */
export function rebasedIn(states: Iterable<EvaluationState>): number {
  let sum = 0;
  for (const { counters } of states) sum += counters.rebased;
  return sum;
}

function rebaseBuffers(state: EvaluationState, { vms }: WatchedProject, atMs: number): void {
  for (const { buffers } of vms.values()) {
    for (const buffer of buffers.values()) {
      // A row observed while the clock was ahead shows that data arrives, but not for the hour to
      // come.
      buffer.newestValueMs = within(buffer.newestValueMs, atMs);
      buffer.suppressed = buffer.suppressed.map((stretch) =>
        isAhead(stretch.untilMs, atMs) ? { ...stretch, untilMs: atMs } : stretch,
      );
      if (isAgeBuffer(buffer) && isAhead(buffer.newestMs, atMs)) {
        rebaseAge(buffer, atMs);
        count(state, true);
      }
      for (const instance of buffer.instances) {
        count(state, rebaseInstance(instance, atMs, state.isLive));
      }
    }
  }
}

/** The newest row, from which silence is measured, counts as observed now. */
function rebaseAge(buffer: SeriesBuffer, atMs: number): void {
  const last = buffer.rows.at(-1);
  buffer.rows.length = 0;
  buffer.values.length = 0;
  if (last) {
    buffer.rows.push({ ...last, row: { ...last.row, observedMs: atMs } });
    buffer.values.push(Number.NaN);
  }
  buffer.settledRows = last ? 1 : 0;
  buffer.newestMs = atMs;
  buffer.receivedMs = within(buffer.receivedMs, atMs);
  buffer.stale = false;
  for (const instance of buffer.instances) {
    rebaseTimeline(instance.current, atMs);
    copyTimeline(instance.current, instance.settled);
    instance.pastRuns = undefined;
  }
}

function rebaseTimeline(timeline: Timeline, atMs: number): void {
  timeline.startMs = within(timeline.startMs, atMs);
  timeline.lastMs = within(timeline.lastMs, atMs);
  timeline.firedMs = within(timeline.firedMs, atMs);
  timeline.startedMs = within(timeline.startedMs, atMs);
  timeline.graceMs = within(timeline.graceMs, atMs);
}

/** True if any time of the instance was in the future. */
function rebaseInstance(instance: Instance, atMs: number, isLive: boolean): boolean {
  const { decided } = instance;
  // While the log is read again, edges up to a decision in rows may still follow.
  const isDecidedAhead = decided && isLive && isAhead(decidedThroughMs(decided), atMs);
  if (isDecidedAhead) takeOver(instance);
  const isSinceAhead = isAhead(instance.sinceMs, atMs);
  if (isSinceAhead) instance.sinceMs = atMs;
  for (const [vm, heldMs] of instance.held ?? []) instance.held?.set(vm, within(heldMs, atMs));
  let isMoved = isSinceAhead || isDecidedAhead === true;
  for (const incident of instance.reported?.incidents ?? []) {
    if (!isAhead(incident.firedMs, atMs)) continue;
    incident.firedMs = atMs;
    incident.startedMs = within(incident.startedMs, atMs);
    isMoved = true;
  }
  return isMoved;
}

function rebaseRule(rule: RuleInForce, atMs: number): boolean {
  const isMoved = isAhead(rule.sinceMs, atMs) || isAhead(rule.breachFromMs, atMs);
  rule.sinceMs = within(rule.sinceMs, atMs);
  rule.breachFromMs = within(rule.breachFromMs, atMs);
  return isMoved;
}

function count(state: EvaluationState, isMoved: boolean): void {
  if (isMoved) countRebased(state);
}

function within(timeMs: number, nowMs: number): number {
  return isAhead(timeMs, nowMs) ? nowMs : timeMs;
}
