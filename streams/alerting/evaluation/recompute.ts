/**
 * Recomputed incidents: the stored samples of one VM through the evaluation pipeline, from the
 * start of an incident's run. The rule ignores earlier samples, because it may not have been active
 * then. They are still evaluated, because a rate needs them.
 */

import {
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  type ObservedValue,
} from '../../telemetry/entry.ts';
import { evaluateStored, type StoredSamples } from './stored-samples.ts';

/**
 * `columns` from `recomputeFromMs` on. The rule's `fromMs` is the start of the run, if it has one.
 */
export interface RecomputeOptions extends StoredSamples {
  /** Canonical label part of the instance; '' for the VM itself. */
  readonly labels: string;
  /** Time passes up to here, Unix ms. */
  readonly untilMs: number;
}

/** A firing that follows from the samples. Times are Unix ms. */
export interface RecomputedFiring {
  readonly startedMs: number;
  /** Time of the observation, or for a rule on silence of the moment, that decided it. */
  readonly observedMs: number;
  readonly window: readonly ObservedValue[];
}

/** Start of the required samples. A rate needs the observation before the first. */
export function recomputeFromMs({ sustainedMs }: EvaluationRule, startedMs: number): number {
  return startedMs - sustainedMs - 2 * GAP_TOLERANCE_MS;
}

/** Firings of the instance, oldest first. Throws the errors of `checkpoint`. */
export function recomputeFirings(options: RecomputeOptions): RecomputedFiring[] {
  const { rule, columns, labels, untilMs } = options;
  const firings: RecomputedFiring[] = [];
  const markerMs = rule.fromMs ?? columns.timesMs[0] ?? untilMs;
  evaluateStored(options, { markerMs, untilMs }, ({ edges }) => {
    for (const edge of edges) {
      if (edge.kind !== 'fired' || edge.key.labels !== labels) continue;
      const { startedMs, observedMs = edge.atMs, window } = edge;
      firings.push({ startedMs, observedMs, window });
    }
  });
  return firings;
}
