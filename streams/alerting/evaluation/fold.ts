/**
 * The fold: `fold(state, entry) -> edges` over one log of batches, ticks and rule markers. It reads
 * no clock and nothing else. Its parts are the stages of the pipeline (`pipeline.ts`):
 *
 *     catch-up   instances of replaced rules go; new rules are folded over the past
 *     changes    rows of a batch go to the buffers of their series; time passes; a run completes
 *     edges      what changed, compared with what was reported
 *
 * The state is changed in place, for speed, and is a function of its seed and of the entries folded
 * so far: use it from one place.
 */

import { allAtOnce, type Steps } from '../../platform/operators.ts';
import type { Edge, LogEntry } from '../../telemetry/entry.ts';
import { beginCatchUp, type RulesEntry } from './catch-up.ts';
import type { Instance } from './instance.ts';
import { missingEdges, stoppedEdges } from './missing-data.ts';
import { reconcile } from './notification-diff.ts';
import { observeBatch, seedIncidents } from './observe-batch.ts';
import {
  addRule,
  type Changes,
  type EvaluationSeed,
  type EvaluationState,
  emptyState,
  type LastObservation,
  retireVm,
  setInstanceQuota,
} from './state.ts';
import { addSilentVms, noteLastObservations } from './telemetry-silence.ts';
import { passTime } from './tick.ts';

export {
  type InspectedInstance,
  type InstancePage,
  type InstancePosition,
  inspect,
  inspectOne,
  inspectPage,
  type SeriesOfRule,
  type SoftInstance,
} from './inspect.ts';
export { FLOOR_MARGIN_MS } from './notification-diff.ts';
export type {
  EvaluationCounters,
  EvaluationSeed,
  EvaluationState,
  SeedIncident,
} from './state.ts';

export interface Folded {
  readonly state: EvaluationState;
  /** In the order of each instance's history; times of one instance's edges grow strictly. */
  readonly edges: readonly Edge[];
}

/**
 * A state at the log's floor. `into`: add to a state made before (several projects, one
 * partition), before its first entry.
 */
export function createState(seed?: EvaluationSeed, into = emptyState()): EvaluationState {
  for (const limit of seed?.limits ?? []) setInstanceQuota(into, limit);
  for (const retired of seed?.retired ?? []) retireVm(into, retired);
  for (const rule of seed?.rules ?? []) addRule(into, rule, Number.NEGATIVE_INFINITY);
  noteLastObservations(into, seed?.observed ?? []);
  allAtOnce(addSilentVms(into));
  into.seeds = [...into.seeds, ...(seed?.firing ?? [])];
  seedIncidents(into);
  into.isAlwaysListening = seed?.isAlwaysListening ?? false;
  return into;
}

/**
 * Folds one entry. `past`, for a rules marker: the entries stored before it, oldest first, as far
 * back as `pastFromMs`; without it new rules know only later entries.
 */
export function fold(
  state: EvaluationState,
  entry: LogEntry,
  past: Iterable<LogEntry> = [],
): Folded {
  const joined = entry.kind === 'rules' ? catchUp(state, entry, past) : [];
  const changes = allAtOnce(changesOf(state, entry, joined));
  return { state, edges: allAtOnce(edgesOf(state, entry, changes)) };
}

function catchUp(
  state: EvaluationState,
  marker: RulesEntry,
  past: Iterable<LogEntry>,
): readonly Instance[] {
  const { isNeeded, take, join } = beginCatchUp(state, marker);
  if (isNeeded) for (const before of past) take(before);
  return allAtOnce(join());
}

/**
 * Changes of an entry: windows and sustained conditions. It runs in steps of one VM; until the last
 * step the state belongs to this entry alone. `joined`: instances of new rules that a marker's
 * catch-up found firing.
 */
export function* changesOf(
  state: EvaluationState,
  entry: LogEntry,
  joined: readonly Instance[],
): Steps<Changes> {
  switch (entry.kind) {
    case 'batch':
      return observeBatch(state, entry.batch);
    case 'tick':
      return yield* passTime(state, entry);
    case 'rules':
      return { touched: joined, stopped: [], edges: [] };
  }
}

/** The edges of an entry, from its changes. It runs in steps of one instance. */
export function* edgesOf(
  state: EvaluationState,
  entry: LogEntry,
  { touched, stopped, edges: decided }: Changes,
): Steps<readonly Edge[]> {
  const nowMs = timeOf(entry);
  const edges = [...decided];
  for (const instance of touched) {
    edges.push(...reconcile(state, instance, nowMs));
    yield;
  }
  for (const vm of stopped) edges.push(...stoppedEdges(vm, nowMs));
  if (entry.kind === 'tick') edges.push(...(yield* missingEdges(state, nowMs)));
  return edges;
}

/** When the entry was received or written, Unix ms. */
export function timeOf(entry: LogEntry): number {
  return entry.kind === 'batch' ? entry.batch.receivedMs : entry.atMs;
}

/**
 * Records the facts, from rows and history, of VMs that fell silent before the log's floor, once
 * all of the log has been folded. From then on rules on the age of telemetry evaluate them.
 */
export function noteKnownVms(state: EvaluationState, observed: Iterable<LastObservation>): void {
  noteLastObservations(state, observed);
  allAtOnce(addSilentVms(state));
}
