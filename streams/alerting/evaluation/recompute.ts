/**
 * Deciding again: stored samples of one VM through the same fold as live ones, from where an
 * incident's run began. The rule is taken to look at nothing before that, as it may not have been
 * in force then; what came before is folded all the same, because a rate needs it.
 */

import {
  type Edge,
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  type ObservedValue,
} from '../../telemetry/entry.ts';
import type { VmColumns } from '../../telemetry/samples/columns.ts';
import { rowBatches } from '../../telemetry/samples/row-batches.ts';
import { createState, fold } from './fold.ts';
import { silenceEdgesUnheld } from './telemetry-silence.ts';

export interface RecomputeOptions {
  /** `fromMs`: the start of the run; absent for a rule on the age of telemetry. */
  readonly rule: EvaluationRule;
  readonly vm: string;
  /** Canonical label part of the instance, '' = of the VM. */
  readonly labels: string;
  /** From `recomputeFromMs` on. */
  readonly columns: VmColumns;
  /** Time passes up to here, Unix ms. */
  readonly untilMs: number;
  /** Called every few hundred rows; what it throws ends it. */
  readonly checkpoint: () => void;
}

/** A firing that the samples lead to. Times are Unix ms. */
export interface RecomputedFiring {
  readonly startedMs: number;
  /** The observation, or for a rule on silence the moment, that decided it. */
  readonly observedMs: number;
  readonly window: readonly ObservedValue[];
}

const CHECKPOINT_ROWS = 512;

/** Where the samples must begin: a rate needs the observation before the first. */
export function recomputeFromMs({ sustainedMs }: EvaluationRule, startedMs: number): number {
  return startedMs - sustainedMs - 2 * GAP_TOLERANCE_MS;
}

/** Firings of the instance, oldest first. Throws what `checkpoint` throws. */
export function recomputeFirings(options: RecomputeOptions): RecomputedFiring[] {
  const { rule, vm, columns, untilMs, checkpoint } = options;
  const state = createState();
  const firings: RecomputedFiring[] = [];
  const take = (edges: readonly Edge[]): void => {
    for (const edge of edges) {
      if (edge.kind !== 'fired' || edge.key.labels !== options.labels) continue;
      const { startedMs, observedMs = edge.atMs, window } = edge;
      firings.push({ startedMs, observedMs, window });
    }
  };
  const atMs = rule.fromMs ?? columns.timesMs[0] ?? untilMs;
  take(fold(state, { kind: 'rules', atMs, upserts: [rule], removals: [] }).edges);
  let row = 0;
  for (const batch of rowBatches(columns, { project: rule.project, vm })) {
    if (row++ % CHECKPOINT_ROWS === 0) checkpoint();
    take(fold(state, { kind: 'batch', batch }).edges);
  }
  take(silenceEdgesUnheld(state, untilMs));
  return firings;
}
