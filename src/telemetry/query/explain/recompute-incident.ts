/**
 * Recomputes the decision of an incident from stored samples and compares the two. Runs in a query
 * thread, at most 10 s. A difference is a sentence. Facts that can no longer be checked are
 * reported as such, never as agreement.
 */
import { HistoryError, ReadCancelled } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import type { ThreadMethod } from '../../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import {
  type RecomputedFiring,
  recomputeFirings,
  recomputeFromMs,
} from '../../../../streams/alerting/evaluation/recompute.ts';
import {
  type RecomputedPath,
  recomputePath,
} from '../../../../streams/alerting/evaluation/recompute-path.ts';
import { unevaluable } from '../../../../streams/alerting/evaluation/timeline.ts';
import { duration, utcTime } from '../../../../streams/alerting/wording.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import {
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  type ObservedValue,
} from '../../../../streams/telemetry/entry.ts';
import { AGE_METRIC, metricCatalogue } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { seriesNamesOf } from '../../../../streams/telemetry/metrics/query.ts';
import type { VmColumns } from '../../../../streams/telemetry/samples/columns.ts';
import { readFromMs } from '../preview/alert-preview.ts';
import { type QueryThreads, runQuery } from '../threads/query-threads.ts';

/** Request to recompute; plain data, because it is sent to a thread. Times are Unix ms. */
export interface RecomputeRequest {
  /** The rule as it was when the incident fired. */
  readonly rule: EvaluationRule;
  /** '' for a condition of a whole data center. */
  readonly vm: string;
  readonly labels: string;
  /** VMs of a data center's condition that were silent, a bounded subset. */
  readonly heldVms: readonly string[];
  readonly startedMs: number;
  readonly firedObservedMs: number;
  /** Time of the decision. */
  readonly firedMs: number;
  readonly window: readonly ObservedValue[];
  /** Retention bound: history has nothing older. */
  readonly retainedFromMs: number;
}

/** Evidence of the stored samples on an incident's decision. `detail` is a sentence for people. */
export interface Recomputation {
  readonly status: 'AGREES' | 'DIFFERS' | 'NOT_POSSIBLE';
  readonly detail: string;
  /** Start of the firing derived from stored samples. */
  readonly startedMs?: number;
  readonly firedObservedMs?: number;
  /** The observation before the run, if it was so much earlier that the run restarted. */
  readonly before?: { readonly observedMs: number };
}

type Reader = Pick<HistoryView, 'read'>;

/** Throws `ReadCancelled` if `isCancelled` returns true. */
export function recomputeIncident(
  history: Reader,
  request: RecomputeRequest,
  isCancelled: () => boolean,
): Recomputation {
  if (request.startedMs < request.retainedFromMs) {
    const detail = 'Its samples are older than the retention of history';
    return { status: 'NOT_POSSIBLE', detail };
  }
  if (!metricCatalogue.has(request.rule.metricId) || unevaluable(request.rule)) {
    const detail = 'Another version of the service evaluated its rule';
    return { status: 'NOT_POSSIBLE', detail };
  }
  try {
    if (request.vm === '') return recomputeDatacenter(history, request, isCancelled);
    return recomputeVm(history, request, isCancelled);
  } catch (error) {
    if (!(error instanceof HistoryError)) throw error;
    return { status: 'NOT_POSSIBLE', detail: 'History of that time cannot be read' };
  }
}

function recomputeVm(
  history: Reader,
  request: RecomputeRequest,
  isCancelled: () => boolean,
): Recomputation {
  const { vm, labels, startedMs, firedObservedMs: untilMs } = request;
  const isAge = request.rule.metricId === AGE_METRIC;
  const rule = isAge ? request.rule : { ...request.rule, fromMs: startedMs };
  const thresholdMs = isAge ? rule.threshold * 1000 : 0;
  const fromMs = Math.max(recomputeFromMs(rule, startedMs) - thresholdMs, request.retainedFromMs);
  const names = seriesNamesOf(rule.metricId);
  const columns = history.read(
    { project: rule.project, vm, fromMs, toMs: untilMs, names },
    isCancelled,
  );
  const checkpoint = (): void => {
    if (isCancelled()) throw new ReadCancelled();
  };
  // 1 ms later: silence exceeds its limit only after it.
  const elapsedMs = isAge ? untilMs + 1 : untilMs;
  const firings = recomputeFirings({ rule, vm, labels, columns, untilMs: elapsedMs, checkpoint });
  const compared = compare(request, firings);
  const before = isAge ? undefined : gapBefore(columns, startedMs);
  return { ...compared, ...(before && { before }) };
}

function compare(request: RecomputeRequest, firings: readonly RecomputedFiring[]): Recomputation {
  const { startedMs, firedObservedMs } = request;
  const firing = firings.find((one) => one.startedMs === startedMs) ?? firings.at(-1);
  if (!firing) {
    const detail = `Stored samples do not lead to a firing by ${utcTime(firedObservedMs)}: one of them does not breach, or there are fewer of them`;
    return { status: 'DIFFERS', detail };
  }
  const found = { startedMs: firing.startedMs, firedObservedMs: firing.observedMs };
  const differences = [
    instantDifference('the run begins at', startedMs, firing.startedMs),
    instantDifference('it fires at', firedObservedMs, firing.observedMs),
    valueDifference(request.window, firing.window),
  ].filter((one) => one !== undefined);
  if (differences.length > 0) {
    return {
      status: 'DIFFERS',
      detail: `According to stored samples, ${differences.join('; ')}`,
      ...found,
    };
  }
  return { status: 'AGREES', detail: 'Stored samples lead to the same decision', ...found };
}

function instantDifference(what: string, recorded: number, found: number): string | undefined {
  if (recorded === found) return undefined;
  return `${what} ${utcTime(found)}, ${duration(Math.abs(found - recorded) / 1000)} ${found < recorded ? 'earlier' : 'later'}`;
}

/** Compares only times that both have: long windows are thinned. */
function valueDifference(
  recorded: readonly ObservedValue[],
  found: readonly ObservedValue[],
): string | undefined {
  const values = new Map(found.map(({ observedMs, value }) => [observedMs, value]));
  const other = recorded.filter(({ observedMs, value }) => {
    const stored = values.get(observedMs);
    return stored !== undefined && stored !== value;
  });
  const [first] = other;
  if (!first) return undefined;
  const count = other.length === 1 ? 'one sample has' : `${other.length} samples have`;
  return `${count} another value, the first at ${utcTime(first.observedMs)}`;
}

/** The row with readings before the run, if the silence after it exceeded the tolerance. */
function gapBefore(columns: VmColumns, startedMs: number): { observedMs: number } | undefined {
  const { timesMs, series } = columns;
  for (let row = timesMs.length - 1; row >= 0; row--) {
    const observedMs = timesMs[row] ?? Number.NaN;
    if (observedMs >= startedMs) continue;
    const isRead = [...series.values()].some((column) => !Number.isNaN(column[row]));
    if (isRead) return startedMs - observedMs > GAP_TOLERANCE_MS ? { observedMs } : undefined;
  }
  return undefined;
}

/** Silence of many VMs: was each of them silent at the time of the decision? */
function recomputeDatacenter(
  history: Reader,
  request: RecomputeRequest,
  isCancelled: () => boolean,
): Recomputation {
  const { rule, heldVms, startedMs, firedMs } = request;
  if (heldVms.length === 0) {
    return { status: 'NOT_POSSIBLE', detail: 'The silent VMs are no longer known' };
  }
  const heard = heldVms.filter((vm) => {
    if (isCancelled()) throw new ReadCancelled();
    const range = { fromMs: firedMs - GAP_TOLERANCE_MS + 1, toMs: firedMs };
    return history.read({ project: rule.project, vm, ...range }, isCancelled).timesMs.length > 0;
  });
  const tolerance = duration(GAP_TOLERANCE_MS / 1000);
  const before = `the ${tolerance} before the decision`;
  const looked = `the ${heldVms.length} checked silent VMs`;
  if (heard.length === 0) {
    return {
      status: 'AGREES',
      detail: `No samples of ${looked} are stored for ${before}`,
      startedMs,
    };
  }
  const detail = `Samples of ${heard.length} of ${looked} are stored for ${before}`;
  return { status: 'DIFFERS', detail };
}

/** The methods of a query thread, by name. */
export const recomputeMethods = (history: HistoryView): Readonly<Record<string, ThreadMethod>> => ({
  recomputeIncident: (request: RecomputeRequest, isCancelled) => ({
    result: recomputeIncident(history, request, isCancelled),
  }),
  recomputeInstancePath: (request: InstancePathRequest, isCancelled) => ({
    result: recomputeInstancePath(history, request, isCancelled),
  }),
});

/**
 * Recomputation as the main thread calls it: requests go to the query threads, 10 s each
 * (LIMIT-03).
 */
export interface IncidentRecomputations {
  /**
   * Throws a `Refusal` (RESPONSE_TOO_LARGE, QUERY_TIMEOUT), or the reason of `signal`.
   */
  recompute(request: RecomputeRequest, signal: AbortSignal): Promise<Recomputation>;
  /** The path of any instance. Throws the same, plus a `HistoryError`. */
  path(request: InstancePathRequest, signal: AbortSignal): Promise<RecomputedPath>;
}

export interface IncidentRecomputationsDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  readonly clock: Clock;
}

/** Wraps the query threads. It owns nothing, so it needs no close. */
export function createIncidentRecomputations({
  threads,
  clock,
}: IncidentRecomputationsDeps): IncidentRecomputations {
  const run = (
    method: string,
    argument: RecomputeRequest | InstancePathRequest,
    signal: AbortSignal,
  ): Promise<unknown> =>
    runQuery({ threads, clock }, { project: argument.rule.project, method, argument, signal });
  // The threads run this program's file; its methods return these types.
  return {
    recompute: (request, signal) =>
      run('recomputeIncident', request, signal) as Promise<Recomputation>,
    path: (request, signal) =>
      run('recomputeInstancePath', request, signal) as Promise<RecomputedPath>,
  };
}

/** The checked request; plain data, because it is sent to a thread. Times are Unix ms. */
export interface InstancePathRequest {
  /** The rule as it is evaluated now. */
  readonly rule: EvaluationRule;
  readonly vm: string;
  /** Canonical label part; '' = the VM itself. */
  readonly labels: string;
  /** The time range, (fromMs, toMs]. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Retention bound: nothing older is read. */
  readonly retainedFromMs: number;
}

/** Throws `ReadCancelled` if `isCancelled` returns true, or a `HistoryError`. */
function recomputeInstancePath(
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
