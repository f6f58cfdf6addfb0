/**
 * Catch-up of new rules. A new rule, or a new revision of one, starts at its marker but knows the
 * samples stored before it: the past is folded into a separate state, whose instances then join the
 * buffers of the live state. So a condition that still holds fires promptly, with its true start.
 */

import type { Steps } from '../../platform/operators.ts';
import {
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  LATENESS_MS,
  type LogEntry,
  type RuleRemoval,
} from '../../telemetry/entry.ts';
import { concludeEntry, type Instance, isAgeBuffer, type SeriesBuffer } from './instance.ts';
import { bufferKey, observeBatch, seedIncidents } from './observe-batch.ts';
import {
  followFromBase,
  recordFailure,
  settledThrough,
  settleInstance,
  stepCurrent,
} from './series-buffer.ts';
import {
  addRule,
  type EvaluationState,
  emptyState,
  removeRule,
  retireVm,
  setInstanceQuota,
  type WatchedProject,
  watchedVm,
} from './state.ts';
import { addSilentVms } from './telemetry-silence.ts';
import { copyTimeline } from './timeline.ts';

/** A marker of the log. From it on, its rules are active, in the revisions that it names. */
export type RulesEntry = Extract<LogEntry, { kind: 'rules' }>;

/**
 * A marker whose new rules are being caught up. It takes the stored samples before it, oldest
 * first.
 */
export interface CatchUp {
  /** false if no rule is new, so that the past is not needed. */
  readonly isNeeded: boolean;
  take(past: LogEntry): void;
  /** Joins the new rules to the live state. Returns their instances that already fire. */
  join(): Steps<Instance[]>;
}

/** Start of the past that a marker needs, Unix ms. A resumed rule needs nothing before its resume. */
export function pastFromMs({ upserts }: RulesEntry, storedMs: number): number {
  const windowOf = ({ sustainedMs, fromMs = Number.NEGATIVE_INFINITY }: EvaluationRule): number =>
    Math.min(sustainedMs, storedMs - fromMs);
  const windowMs = Math.max(0, ...upserts.map(windowOf));
  return storedMs - windowMs - GAP_TOLERANCE_MS - LATENESS_MS;
}

/**
 * Activates the marker's rules and ends those it removes. A revision that is already active, or
 * older, changes nothing. It works in pieces, so that a long past can be processed over many turns
 * of the event loop. No other entry may be folded until it has been joined.
 */
export function beginCatchUp(state: EvaluationState, marker: RulesEntry): CatchUp {
  for (const removal of marker.removals) remove(state, removal);
  for (const limit of marker.limits ?? []) setInstanceQuota(state, limit);
  for (const retired of marker.retired ?? []) retireVm(state, retired);
  const scratch = emptyState();
  scratch.retired = state.retired;
  scratch.facts = state.facts;
  for (const rule of marker.upserts) {
    if (!isNewer(state, rule)) continue;
    removeRule(state, rule.project, rule.rule);
    const { sinceMs, breachFromMs } = sinceOf(state, rule, marker.atMs);
    addRule(state, rule, sinceMs, breachFromMs);
    setInstanceQuota(scratch, { project: rule.project, instances: quotaLeft(state, rule.project) });
    addRule(scratch, rule, sinceMs, breachFromMs);
  }
  state.nowMs = marker.atMs;
  const isNeeded = scratch.projects.size > 0;
  return {
    isNeeded,
    take: (past) => {
      if (!isNeeded || past.kind !== 'batch') return;
      // Without edges, which follow once the new rules have joined.
      for (const instance of observeBatch(scratch, past.batch).touched) concludeEntry(instance);
    },
    join: () => joinAll(scratch, state, isNeeded),
  };
}

/** Number of instances that can still join the live ones. */
function quotaLeft({ projects }: EvaluationState, id: string): number {
  const project = projects.get(id);
  return project ? Math.max(0, project.instancesMax - project.instances) : 0;
}

function* joinAll(
  scratch: EvaluationState,
  state: EvaluationState,
  isNeeded: boolean,
): Steps<Instance[]> {
  const joined: Instance[] = [];
  if (!isNeeded) return joined;
  for (const [id, from] of scratch.projects) {
    const to = state.projects.get(id);
    if (to) yield* join(from, to, joined);
  }
  yield* addSilentVms(state);
  seedIncidents(state);
  return joined.filter(({ current }) => current.firing);
}

/** A resumed rule starts a new run. Any other rule knows the samples that can decide it now. */
function sinceOf(state: EvaluationState, rule: EvaluationRule, atMs: number) {
  const resumed = state.paused.delete(pausedKey(rule.project, rule.rule));
  if (resumed || rule.fromMs !== undefined) {
    const resumedMs = rule.fromMs ?? atMs;
    return { sinceMs: resumedMs, breachFromMs: resumedMs };
  }
  // The age of telemetry is known even without a sample.
  const breachFromMs = Number.NEGATIVE_INFINITY;
  return { sinceMs: atMs - rule.sustainedMs - GAP_TOLERANCE_MS, breachFromMs };
}

/**
 * Maximum removed rules that are remembered. When an older one is resumed, the rule itself has the
 * start (`fromMs`).
 */
const PAUSED_MAX = 10_000;

/** Deactivates a rule, unless the active revision is newer than the one that the marker ends. */
function remove(
  state: EvaluationState,
  { project, rule, evaluationRevision: last }: RuleRemoval,
): void {
  const inForce = state.projects.get(project)?.rules.get(rule)?.rule.evaluationRevision ?? 0;
  if (last !== undefined && inForce > last) return;
  removeRule(state, project, rule);
  const key = pausedKey(project, rule);
  const before = state.paused.get(key) ?? 0;
  rememberPaused(state, key, Math.max(before, last ?? 0));
}

function rememberPaused({ paused }: EvaluationState, key: string, revision: number): void {
  paused.set(key, revision);
  const [oldest] = paused.keys();
  if (paused.size > PAUSED_MAX && oldest !== undefined) paused.delete(oldest);
}

function pausedKey(project: string, rule: string): string {
  return `${project}/${rule}`;
}

function isNewer(state: EvaluationState, rule: EvaluationRule): boolean {
  const inForce = state.projects.get(rule.project)?.rules.get(rule.rule)?.rule;
  const last = inForce?.evaluationRevision ?? state.paused.get(pausedKey(rule.project, rule.rule));
  return last === undefined || last < rule.evaluationRevision;
}

/** Moves the caught-up instances into the live project's buffers, VM by VM, and into `joined`. */
function* join(from: WatchedProject, to: WatchedProject, joined: Instance[]): Steps<void> {
  for (const { vm, buffers } of from.vms.values()) {
    const target = watchedVm(to, vm);
    for (const buffer of buffers.values()) {
      // The scratch state made its own rule records; the live ones apply from here on.
      buffer.instances = buffer.instances.flatMap((instance) => {
        const rule = to.rules.get(instance.rule.rule.rule);
        return rule ? [{ ...instance, rule }] : [];
      });
      const live = target.buffers.get(bufferKey(buffer));
      if (live) for (const instance of buffer.instances) moveInto(live, buffer, instance);
      else if (buffer.instances.length > 0) target.buffers.set(bufferKey(buffer), buffer);
      to.instances += buffer.instances.length;
      joined.push(...buffer.instances);
    }
    yield;
  }
}

/**
 * Joins an instance to a buffer that other rules have been watching: settles as far as the buffer
 * has settled, and continues over its rows from there.
 */
function moveInto(live: SeriesBuffer, caughtUp: SeriesBuffer, instance: Instance): void {
  if (isAgeBuffer(live)) {
    instance.buffer = live;
    followFromBase(instance);
    live.instances.push(instance);
    return;
  }
  let throughMs = settledThrough(caughtUp);
  const boundaryMs = settledThrough(live);
  for (let i = caughtUp.settledRows; i < caughtUp.rows.length; i++) {
    const row = caughtUp.rows[i]?.row;
    const observedMs = row?.observedMs ?? 0;
    if (observedMs > boundaryMs) break;
    if (!row) break;
    settleInstance(instance, row, { observedMs, value: caughtUp.values[i] ?? Number.NaN });
    throughMs = observedMs;
  }
  instance.buffer = live;
  instance.sinceMs = Math.max(instance.sinceMs, throughMs + 1);
  copyTimeline(instance.settled, instance.current);
  instance.pastRuns?.forgetOverAfter(throughMs);
  try {
    stepOver(live, instance);
  } catch (error) {
    // A rule that cannot be evaluated affects no other rule.
    recordFailure(instance, error);
  }
  live.instances.push(instance);
}

function stepOver(live: SeriesBuffer, instance: Instance): void {
  for (let i = live.settledRows; i < live.rows.length; i++) {
    const observedMs = live.rows[i]?.row.observedMs ?? 0;
    const value = live.values[i] ?? Number.NaN;
    if (observedMs < instance.sinceMs || Number.isNaN(value)) continue;
    stepCurrent(instance, { observedMs, value }, false);
  }
}
