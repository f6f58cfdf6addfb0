/**
 * The evaluator: `fold(state, entry) -> { state, edges }` over one log of batches, ticks and rule
 * markers. It reads no clock and nothing else, so live, restart, replay and preview run the same
 * function. The state is changed in place, for speed, and equals a function of its seed and of the
 * entries folded so far: use it from one place, and only through what `fold` returns.
 *
 *     batch  rows of a VM sorted, each to the buffers its series feed -> timelines -> edges
 *     tick   open incidents without fresh data; rules on the age of telemetry
 *     rules  instances of replaced rules go; new ones catch up over `past`
 */

import type { Edge, LogEntry } from '../../telemetry/entry.ts';
import { beginCatchUp } from './catch-up.ts';
import type { LastObservation } from './facts.ts';
import type { Instance } from './instance.ts';
import { conclude } from './notification-diff.ts';
import { dropEvents, foldBatch } from './observe-batch.ts';
import { seedIncidents } from './routes.ts';
import {
  addRule,
  type EvaluationSeed,
  type EvaluationState,
  emptyState,
  retireVm,
  setInstanceQuota,
} from './state.ts';
import { allAtOnce, type Steps } from './steps.ts';
import { addSilentVms, noteLastObservations } from './telemetry-silence.ts';
import { tickEdges } from './tick.ts';

export type { LastObservation } from './facts.ts';
export {
  type InstancePage,
  type InstancePosition,
  inspect,
  inspectPage,
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
  return into;
}

/**
 * Folds one entry. `past`, for a rules marker: the entries stored before it, oldest first, as far
 * back as the longest new rule's window and tolerance; without it new rules know only what comes.
 */
export function fold(
  state: EvaluationState,
  entry: LogEntry,
  past: Iterable<LogEntry> = [],
): Folded {
  switch (entry.kind) {
    case 'batch':
      return { state, edges: foldBatch(state, entry.batch, conclude) };
    case 'tick':
      return allAtOnce(foldTick(state, entry));
    case 'rules': {
      const marker = foldMarker(state, entry);
      if (marker.isNeeded) for (const before of past) marker.take(before);
      return allAtOnce(marker.finish());
    }
  }
}

/** Folds a tick in steps: until the last the state belongs to it alone. */
export function* foldTick(
  state: EvaluationState,
  tick: Extract<LogEntry, { kind: 'tick' }>,
): Steps<Folded> {
  return { state, edges: yield* tickEdges(state, tick) };
}

/**
 * What rows and history know of VMs that fell silent before the log's floor, once all of the log
 * has been folded: rules in force on their telemetry know them from here on.
 */
export function know(state: EvaluationState, observed: Iterable<LastObservation>): void {
  noteLastObservations(state, observed);
  allAtOnce(addSilentVms(state));
}

/** A marker being folded: `take` what is stored before it, oldest first, then `finish`. */
export interface FoldingMarker {
  /** false: no rule of it is new, and nothing need be taken. */
  readonly isNeeded: boolean;
  /** Of VMs that may have no row in the log: what rows and history know of them. */
  know(observed: Iterable<LastObservation>): void;
  take(before: LogEntry): void;
  finish(): Steps<Folded>;
}

/**
 * Folds a rules marker in pieces, so that a long past is read and folded entry by entry over many
 * turns. Until `finish` the state belongs to this marker alone.
 */
export function foldMarker(
  state: EvaluationState,
  entry: Extract<LogEntry, { kind: 'rules' }>,
): FoldingMarker {
  const { isNeeded, take, join } = beginCatchUp(state, entry, (scratch, batch) => {
    foldBatch(scratch, batch, dropEvents);
  });
  return {
    isNeeded,
    take,
    know: (observed) => noteLastObservations(state, observed),
    finish: () => finishMarker(state, join(), entry.atMs),
  };
}

function* finishMarker(
  state: EvaluationState,
  join: Steps<Instance[]>,
  nowMs: number,
): Steps<Folded> {
  const edges: Edge[] = [];
  for (const instance of yield* join) {
    edges.push(...conclude(state, [instance], nowMs));
    yield;
  }
  return { state, edges };
}
