/** The path of an alert instance over stored history, recomputed. Runs in a query thread. */
import { ReadCancelled } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import {
  type RecomputedPath,
  recomputePath,
} from '../../../../streams/alerting/evaluation/recompute-path.ts';
import type { EvaluationRule } from '../../../../streams/telemetry/entry.ts';
import { seriesNamesOf } from '../../../../streams/telemetry/metrics/query.ts';
import { readFromMs } from '../preview/alert-preview.ts';

/** The request, checked; plain data, because it goes to a thread. Times are Unix ms. */
export interface InstancePathRequest {
  /** As it is evaluated now. */
  readonly rule: EvaluationRule;
  readonly vm: string;
  /** Canonical label part, '' = of the VM. */
  readonly labels: string;
  /** The stretch, (fromMs, toMs]. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Nothing older is read. */
  readonly retainedFromMs: number;
}

/** Throws `ReadCancelled` when `isCancelled` answers true, and a `HistoryError`. */
export function recomputeInstancePath(
  history: Pick<HistoryView, 'read' | 'newestTime'>,
  request: InstancePathRequest,
  isCancelled: () => boolean,
): RecomputedPath {
  const { rule, vm, labels, fromMs, toMs } = request;
  const names = seriesNamesOf(rule.metricId);
  const range = { fromMs: readFromMs(history, request, vm), toMs };
  const columns = history.read({ project: rule.project, vm, ...range, names }, isCancelled);
  const checkpoint = (): void => {
    if (isCancelled()) throw new ReadCancelled();
  };
  return recomputePath({ rule, vm, labels, columns, fromMs, toMs, checkpoint });
}
