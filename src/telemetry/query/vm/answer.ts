/**
 * The history of one VM's metrics: one read of the rows that all the metrics need, the points of
 * each metric, and their quality. Runs in a query thread. Facts that are not in history (from the
 * VM's record, its data center and its clock) are part of the request.
 */
import type { RowsRequest } from '../../../../sqlite/telemetry/history/chunk/chunk-reader.ts';
import { HistoryError, ReadCancelled } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import { FUTURE_MS, GAP_TOLERANCE_MS } from '../../../../streams/telemetry/entry.ts';
import {
  FROZEN_MS,
  frozenStretches,
  type Stretch,
  unchangedStretches,
} from '../../../../streams/telemetry/metrics/frozen.ts';
import {
  queryMetric,
  readFromMs,
  seriesNamesOf,
} from '../../../../streams/telemetry/metrics/query.ts';
import type { VmColumns } from '../../../../streams/telemetry/samples/columns.ts';
import { type MetricAnswer, qualityOf, type RangeQuality, type VmReason } from './quality.ts';
import type { QueryRange } from './range.ts';

/** A checked query; plain data, because it is sent to a thread. */
export interface VmQuery {
  readonly project: string;
  readonly vm: string;
  readonly metricIds: readonly string[];
  readonly withExtremes: boolean;
  readonly range: QueryRange;
  readonly nowMs: number;
  readonly datacenter: 'live' | 'stale';
  readonly expandedMonitoring: boolean;
  /** Reasons due to its clock in the range. */
  readonly notedReasons: readonly Exclude<VmReason, 'FROZEN' | 'STORE_FULL'>[];
}

/**
 * One VM's metrics over a range, before they are encoded. A metric that failed is marked in
 * `metrics`; the others are unaffected.
 */
export interface VmAnswer {
  readonly range: QueryRange;
  readonly metrics: readonly MetricAnswer[];
  readonly quality: RangeQuality;
  readonly datacenter: 'live' | 'stale';
  /** Newest observation of the VM, Unix ms; absent = none within retention, or unknown. */
  readonly lastObservedMs: number | undefined;
  /** Causes of failed metrics: for the log, not for the caller. */
  readonly failures: readonly MetricFailure[];
}

/** One metric that could not be computed. */
export interface MetricFailure {
  readonly metricId: string;
  readonly message: string;
}

/** The part of history that a query reads. */
export type VmHistory = Pick<HistoryView, 'read' | 'newestTime'> &
  Partial<Pick<HistoryView, 'lost'>>;

/**
 * Throws the read error if no metric could be computed, and `ReadCancelled` if `isCancelled`
 * returns true. The failure of one metric is part of the result, and so are samples that are not
 * readable yet.
 */
export function answerVmQuery(
  history: VmHistory,
  query: VmQuery,
  isCancelled: () => boolean,
): VmAnswer {
  const { project, vm, range, nowMs, datacenter, expandedMonitoring, notedReasons } = query;
  const reader = new RangeReader(history, query, isCancelled);
  const { metrics, failures } = answerMetrics(reader, query, isCancelled);
  const bounds = { atMs: nowMs + FUTURE_MS, notBeforeMs: range.retainedFromMs };
  const newest = known(() => history.newestTime({ project, vm, ...bounds }));
  const lastObservedMs = newest === 'unknown' ? undefined : newest;
  const full = newest === 'unknown' ? (['STORE_FULL'] as const) : [];
  const frozen = reader.isFrozen() ? (['FROZEN'] as const) : [];
  const vmReasons: VmReason[] = [...full, ...frozen, ...notedReasons];
  const lost = history.lost?.() ?? [];
  const facts = { nowMs, lastObservedMs, datacenter, expandedMonitoring, vmReasons, lost };
  const quality = qualityOf(metrics, range, facts);
  return { range, metrics, quality, datacenter, lastObservedMs, failures };
}

function answerMetrics(
  reader: RangeReader,
  { metricIds, range, withExtremes }: VmQuery,
  isCancelled: () => boolean,
) {
  const metrics: MetricAnswer[] = [];
  const failures: MetricFailure[] = [];
  let fault: unknown;
  for (const metricId of metricIds) {
    if (isCancelled()) throw new ReadCancelled();
    try {
      const columns = reader.columnsFor(metricId);
      const lastBeforeMs = metricId === AGE ? reader.newestBeforeRange() : undefined;
      const requested = { columns, metricId, ...range, lastBeforeMs, withExtremes };
      metrics.push({ metricId, ...queryMetric(requested) });
    } catch (error) {
      if (error instanceof ReadCancelled) throw error;
      fault = error;
      metrics.push({ metricId, failed: isIncomplete(error) ? 'STORE_FULL' : 'READ_FAILED' });
      failures.push({ metricId, message: error instanceof Error ? error.message : String(error) });
    }
  }
  if (failures.length === metricIds.length && !isIncomplete(fault)) throw fault;
  return { metrics, failures };
}

/** Accepted samples that are not readable yet are part of the result, unlike storage failures. */
function isIncomplete(error: unknown): boolean {
  return error instanceof HistoryError && error.reason === 'INCOMPLETE';
}

/** `unknown`: accepted rows that cannot be read yet may be newer. */
function known<T>(find: () => T): T | 'unknown' {
  try {
    return find();
  } catch (error) {
    if (!isIncomplete(error)) throw error;
    return 'unknown';
  }
}

const AGE = 'telemetry_age_seconds';

/** Reads the rows that a query needs: all at once, or metric by metric if that fails. */
class RangeReader {
  readonly #history: VmHistory;
  readonly #query: VmQuery;
  readonly #isCancelled: () => boolean;
  #all: VmColumns | undefined;
  #allFailed = false;

  constructor(history: VmHistory, query: VmQuery, isCancelled: () => boolean) {
    this.#history = history;
    this.#query = query;
    this.#isCancelled = isCancelled;
  }

  /** Throws the error of the read. */
  columnsFor(metricId: string): VmColumns {
    const { metricIds } = this.#query;
    if (!this.#allFailed && this.#all === undefined) this.#all = this.#tryAll(metricIds);
    return this.#all ?? this.#read(seriesNamesOf(metricId));
  }

  /** Newest observation up to the first point, Unix ms. */
  newestBeforeRange(): number | undefined {
    const { project, vm, range } = this.#query;
    const request = { project, vm, atMs: range.startMs, notBeforeMs: range.retainedFromMs };
    return this.#history.newestTime(request);
  }

  /**
   * True if the VM's readings did not change for an hour that reaches into the range. The requested
   * series are checked first; the others are read only if none of them changed.
   */
  isFrozen(): boolean {
    const inRange = ({ endMs, startMs }: Stretch): boolean =>
      endMs > this.#query.range.startMs - this.#query.range.stepMs &&
      startMs <= this.#query.range.endMs;
    const candidates = this.#all ? unchangedStretches(this.#all).filter(inRange) : [];
    const fromMs = candidates[0]?.startMs;
    const toMs = candidates.at(-1)?.endMs;
    if (fromMs === undefined || toMs === undefined) return false;
    const { project, vm } = this.#query;
    const columns = this.#history.read({ project, vm, fromMs, toMs }, this.#isCancelled);
    return frozenStretches(columns).some(inRange);
  }

  #tryAll(metricIds: readonly string[]): VmColumns | undefined {
    try {
      return this.#read([...new Set(metricIds.flatMap(seriesNamesOf))]);
    } catch (error) {
      // With one metric nothing else could succeed; with several, each is tried separately.
      if (metricIds.length === 1 || error instanceof ReadCancelled) throw error;
      this.#allFailed = true;
      return undefined;
    }
  }

  #read(names: readonly string[]): VmColumns {
    const { project, vm, range } = this.#query;
    const { startMs, stepMs, endMs: toMs, retainedFromMs } = range;
    const frozenFromMs = startMs - stepMs - FROZEN_MS - GAP_TOLERANCE_MS;
    const fromMs = Math.max(Math.min(readFromMs(range), frozenFromMs), retainedFromMs);
    const request: RowsRequest = { project, vm, fromMs, toMs, names };
    return this.#history.read(request, this.#isCancelled);
  }
}
