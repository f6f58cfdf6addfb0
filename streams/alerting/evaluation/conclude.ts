/** The end of an entry: what it changed of instances becomes edges. */
import type { Edge } from '../../telemetry/entry.ts';
import { type Instance, openIncident } from './instance.ts';
import type { EvaluationState } from './state.ts';
import { reconcile, type Telling } from './telling.ts';

/** Tells what the entry changed of `touched`, and notes which of them have an open incident. */
export function conclude(
  state: EvaluationState,
  touched: readonly Instance[],
  nowMs: number,
): Edge[] {
  const edges: Edge[] = [];
  const telling: Telling = {
    nowMs,
    tell: (edge) => edges.push(edge),
    countUnrecorded: () => state.counters.unrecorded++,
    countFailure: () => state.counters.failures++,
  };
  for (const instance of touched) {
    reconcile(instance, telling);
    if (openIncident(instance) || isOpen(instance.decided)) state.open.add(instance);
    else state.open.delete(instance);
  }
  return edges;
}

function isOpen(decided: Instance['decided']): boolean {
  return decided !== undefined && decided.recoveredMs === undefined;
}
