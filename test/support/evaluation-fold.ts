/** The evaluation of one entry at a time, without its pipeline, for property tests. */
import { beginCatchUp, type RulesEntry } from '../../streams/alerting/evaluation/catch-up.ts';
import type { Instance } from '../../streams/alerting/evaluation/instance.ts';
import { changesOf, edgesOf } from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import { allAtOnce } from '../../streams/platform/operators.ts';
import type { Edge, LogEntry } from '../../streams/telemetry/entry.ts';

export interface Folded {
  readonly state: EvaluationState;
  /** In the order of each instance's history; times of one instance's edges strictly increase. */
  readonly edges: readonly Edge[];
}

/**
 * Folds one entry. `past`, for a rules marker: the entries stored before it, oldest first, as far
 * back as `pastFromMs`. Without it, new rules know only later entries.
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
