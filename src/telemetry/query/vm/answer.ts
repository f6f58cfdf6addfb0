/**
 * The history of one VM's metrics, read and worked out: one read of the rows that all the metrics
 * need, each metric's points, and what is to be known about them. Runs in a query thread; what is
 * not in history (what the VM's record, its data center and its clock say) comes with the request.
 */
import type { RowsRequest } from '../../../../sqlite/telemetry/history/chunk/chunk-reader.ts';
import { HistoryError, ReadCancelled } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import { FUTURE_MS, GAP_TOLERANCE_MS, RETENTION_MS } from '../../../../streams/telemetry/entry.ts';
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

/** A query, checked; plain data, because it goes to a thread. */
export interface VmQuery {
  readonly project: string;
  readonly vm: string;
  readonly metricIds: readonly string[];
  readonly withExtremes: boolean;
  readonly range: QueryRange;
  readonly nowMs: number;
  readonly datacenter: 'live' | 'stale';
  readonly expandedMonitoring: boolean;
  /** What its clock did in the range. */
  readonly notedReasons: readonly Exclude<VmReason, 'FROZEN' | 'STORE_FULL'>[];
}

/**
 * One VM's metrics over a range, before they are encoded. A metric that failed is among `metrics`,
 * marked, and the others stand.
 */
export interface VmAnswer {
  readonly range: QueryRange;
  readonly metrics: readonly MetricAnswer[];
  readonly quality: RangeQuality;
  readonly datacenter: 'live' | 'stale';
  /** Newest observation of the VM, Unix ms; absent = none within retention, or not known. */
  readonly lastObservedMs: number | undefined;
  /** Why metrics are answered as failed: for the log, not for the caller. */
  readonly failures: readonly MetricFailure[];
}

/** One metric that could not be computed. */
export interface MetricFailure {
  readonly metricId: string;
  readonly message: string;
}

/** History as far as a query looks. */
export type VmHistory = Pick<HistoryView, 'read' | 'newestTime'> &
  Partial<Pick<HistoryView, 'lost'>>;

/**
 * Throws what reading throws when no metric could be answered, and `ReadCancelled` when
 * `isCancelled` answers true; one metric's failure alone is part of the answer, and so are samples
 * that are not readable yet.
 */
export function answerVmQuery(
  history: VmHistory,
  query: VmQuery,
  isCancelled: () => boolean,
): VmAnswer {
  const { project, vm, range, nowMs, datacenter, expandedMonitoring, notedReasons } = query;
  const reader = new RangeReader(history, query, isCancelled);
  const { metrics, failures } = answerMetrics(reader, query, isCancelled);
  const bounds = { atMs: nowMs + FUTURE_MS, notBeforeMs: nowMs - RETENTION_MS };
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
      const asked = { columns, metricId, ...range, lastBeforeMs, withExtremes };
      metrics.push({ metricId, ...queryMetric(asked) });
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

/** Samples were accepted and are not readable yet: an answer, unlike storage that fails. */
function isIncomplete(error: unknown): boolean {
  return error instanceof HistoryError && error.reason === 'INCOMPLETE';
}

/** `unknown`: rows that were accepted and cannot be read yet may be newer. */
function known<T>(find: () => T): T | 'unknown' {
  try {
    return find();
  } catch (error) {
    if (!isIncomplete(error)) throw error;
    return 'unknown';
  }
}

const AGE = 'telemetry_age_seconds';

/** Reads the rows that a query needs: all at once, or metric by metric when that fails. */
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

  /** Throws what the read throws. */
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
   * Did the VM's readings stand still for an hour that reaches into the range? The series that were
   * asked for are looked at first: only when none of them moved the others are read too.
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
      // With one metric there is no part that could be answered; with more, each is tried alone.
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
