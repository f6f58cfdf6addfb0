/**
 * Everything that one thread caches to read series: the columns of history and the series that each
 * project derives from them. All of it is bounded; the least recently queried projects are evicted
 * first.
 */
import type { RecordReader } from '../../../../sqlite/platform/control/record-reader.ts';
import type { PickColumns } from '../../../../sqlite/telemetry/history/columns/chunk-columns.ts';
import {
  type ColumnRun,
  runFrom,
  startOf,
} from '../../../../sqlite/telemetry/history/columns/column-run.ts';
import { ColumnView } from '../../../../sqlite/telemetry/history/columns/column-view.ts';
import { DayColumns } from '../../../../sqlite/telemetry/history/columns/day-columns.ts';
import type { Segment } from '../../../../sqlite/telemetry/history/columns/segment.ts';
import { firstAtOrAfter } from '../../../../sqlite/telemetry/history/rows.ts';
import type { HistoryShare } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import { RETENTION_MS } from '../../../../streams/telemetry/entry.ts';
import type { Budget } from '../../promql/budget.ts';
import type { Matcher } from '../../promql/matcher.ts';
import type { Selection, SeriesSource, StoredSeries } from '../../promql/series-source.ts';
import { type Labels, type SampleRun, STORED_SERIES_BYTES } from '../../promql/values.ts';
import { CACHE_BYTES_MAX, PLANS_BYTES_MAX, PROJECT_PLANS_BYTES_MAX } from '../threads/limits.ts';
import { AlertSeries, type PendingAlert } from './alert-series.ts';
import {
  type LabelledVm,
  type MatchPlan,
  type PlannedSelector,
  ProjectCache,
  ProjectSeries,
  VM_LABELS,
} from './project-series.ts';
import { type ReadableKey, ReadableKeys, type RunDeps, readableRun } from './readable-series.ts';

/** Facts of the main thread about a project's series at the start of a query. */
export interface SeriesFacts {
  /** Changes whenever a record of one of the project's VMs does. */
  readonly recordsRevision: number;
  /** Retention bound, Unix ms: samples before it do not exist. */
  readonly retainedFromMs: number;
  /** Alerts below firing, if the query names alert series. */
  readonly pendingAlerts: readonly PendingAlert[];
}

/**
 * Maximum number of label sets that a thread caches for all projects, about 250 bytes each: a fifth
 * of its heap.
 */
const LABEL_SETS_MAX = 400_000;

/** Bounds of the thread, over all its projects. `cacheBytesMax` bounds decoded columns. */
export interface SeriesThreadOptions {
  readonly share: HistoryShare;
  readonly records: RecordReader;
  readonly cacheBytesMax?: number;
  /** Default 400,000. */
  readonly labelSetsMax?: number;
}

/**
 * One per query thread, for its whole life. A thread runs one query at a time, so nothing is
 * locked.
 */
export class SeriesThread {
  readonly #view: ColumnView;
  readonly #records: RecordReader;
  readonly #keys = new ReadableKeys();
  readonly #labelSetsMax: number;
  readonly #retentionMs: number;
  /** Least recently queried first. */
  readonly #projects = new Map<string, ProjectSeries>();
  readonly #plans = new ProjectCache<PlannedSelector>({
    bytesMax: PLANS_BYTES_MAX,
    projectBytesMax: PROJECT_PLANS_BYTES_MAX,
  });
  #evictions = 0;

  constructor(options: SeriesThreadOptions) {
    const { share, records, cacheBytesMax = CACHE_BYTES_MAX } = options;
    this.#labelSetsMax = options.labelSetsMax ?? LABEL_SETS_MAX;
    this.#retentionMs = share.retentionMs ?? RETENTION_MS;
    this.#view = new ColumnView({ share, cacheBytesMax });
    this.#records = records;
  }

  /** The series of one project, for one query. */
  open(project: string, scheduled: SeriesFacts): HistorySeriesSource {
    const { recordsRevision, retainedFromMs, pendingAlerts } = scheduled;
    const { cache } = this.#view;
    cache.tick();
    if (cache.evictions !== this.#evictions) {
      this.#evictions = cache.evictions;
      for (const { finds } of this.#plans.values()) finds.clear();
      this.#plans.recount();
    }
    this.#forget(project);
    const series =
      this.#projects.get(project) ??
      new ProjectSeries(project, {
        view: this.#view,
        records: this.#records,
        keys: this.#keys,
        plans: this.#plans,
      });
    this.#projects.delete(project);
    this.#projects.set(project, series);
    series.useRecords(recordsRevision);
    const alerts = new AlertSeries({
      project,
      records: this.#records,
      pending: pendingAlerts,
      retainedFromMs,
      vmName: (vm) => series.nameOf(vm),
      nowMs: retainedFromMs + this.#retentionMs,
    });
    return new HistorySeriesSource({ view: this.#view, project: series, alerts, retainedFromMs });
  }

  /** Between two queries: evicts whole projects until the bound holds, the requested one last. */
  #forget(requested: string): void {
    let count = 0;
    for (const { labelSets } of this.#projects.values()) count += labelSets;
    const others = [...this.#projects.keys()].filter((project) => project !== requested);
    for (const project of [...others, requested]) {
      if (count <= this.#labelSetsMax) return;
      count -= this.#projects.get(project)?.labelSets ?? 0;
      this.#projects.delete(project);
      // Their results name VMs that are no longer known.
      this.#plans.forget(project);
    }
  }

  close(): void {
    this.#view.close();
  }
}

// Samples of history for the PromQL engine, confined to one project at construction: VMs of other
// projects are never read, so no expression can name them. Created for each query over the caches
// of the thread.

export interface HistorySeriesSourceOptions {
  readonly view: ColumnView;
  readonly project: ProjectSeries;
  readonly alerts: AlertSeries;
  /** Retention bound, Unix ms: samples before it do not exist. */
  readonly retainedFromMs: number;
}

/** Number of VMs between two checks for cancellation. */
const VMS_A_CHECK = 16;

/**
 * Series of one query, over the columns of history. Nothing older than the retention is returned,
 * though it may still be on disk.
 */
export class HistorySeriesSource implements SeriesSource {
  readonly #view: ColumnView;
  readonly #project: ProjectSeries;
  readonly #alerts: AlertSeries;
  readonly #retainedFromMs: number;
  readonly #used = new Set<string>();

  constructor({ view, project, alerts, retainedFromMs }: HistorySeriesSourceOptions) {
    this.#view = view;
    this.#project = project;
    this.#alerts = alerts;
    this.#retainedFromMs = retainedFromMs;
  }

  /** Data centers of the series returned so far. */
  get datacenters(): ReadonlySet<string> {
    return this.#used;
  }

  /** Throws `HistoryError` INCOMPLETE, like everything here that reads samples. */
  select(selection: Selection, budget: Budget): readonly StoredSeries[] {
    const { afterMs, throughMs } = selection;
    const stored = this.#whole(afterMs, throughMs, () => this.#select(selection, budget));
    const alerts = this.#alerts.select(selection, budget);
    return alerts.length === 0 ? stored : [...stored, ...alerts];
  }

  #whole<T>(fromMs: number, toMs: number, read: () => T): T {
    return this.#view.missing.whole(this.#project.project, fromMs, toMs, read);
  }

  #select({ matchers, afterMs, throughMs }: Selection, budget: Budget): readonly StoredSeries[] {
    const selector = this.#project.plan(matchers);
    const found: StoredSeries[] = [];
    const stretch = { fromMs: afterMs, toMs: throughMs };
    for (const vm of this.#matching(selector.plan, budget)) {
      const series = this.#view.reading(vm.history, () =>
        this.#find(vm, selector, stretch, budget),
      );
      budget.takeWork(series.length);
      budget.takeBytes(series.length * STORED_SERIES_BYTES);
      if (series.length > 0) this.#used.add(vm.datacenter);
      for (const one of series) found.push(one);
    }
    return found;
  }

  /**
   * Label sets of series that may have samples in the time range, both ends inclusive: all those
   * whose VM has rows in a chunk that touches it.
   */
  labelSets(
    matchers: readonly Matcher[],
    stretch: { readonly fromMs: number; readonly toMs: number },
    budget: Budget,
  ): readonly Labels[] {
    const { fromMs, toMs } = stretch;
    const stored = this.#whole(fromMs, toMs, () => this.#labelSets(matchers, stretch, budget));
    return [...stored, ...this.#alerts.labelSets(matchers, stretch, budget)];
  }

  #labelSets(
    matchers: readonly Matcher[],
    stretch: { readonly fromMs: number; readonly toMs: number },
    budget: Budget,
  ): readonly Labels[] {
    const { plan } = this.#project.plan(matchers);
    const found: Labels[] = [];
    for (const vm of this.#matching(plan, budget)) {
      const keys = this.#view.reading(vm.history, () => {
        return keysIn(plan, this.#touching(vm, stretch), () => []);
      });
      budget.takeWork(keys.size);
      budget.takeBytes(keys.size * STORED_SERIES_BYTES);
      if (keys.size > 0) this.#used.add(vm.datacenter);
      for (const key of keys) found.push(vm.labelsOf(key));
    }
    return found;
  }

  /**
   * Values of a label among the VMs with rows in the time range, found without reading any series;
   * undefined for a label that some series of a VM may lack.
   */
  vmLabelValues(
    label: string,
    stretch: { readonly fromMs: number; readonly toMs: number },
    budget: Budget,
  ): ReadonlySet<string> | undefined {
    if (!VM_LABELS.has(label)) return undefined;
    const { fromMs, toMs } = stretch;
    return this.#whole(fromMs, toMs, () => this.#vmLabelValues(label, stretch, budget));
  }

  #vmLabelValues(
    label: string,
    stretch: { readonly fromMs: number; readonly toMs: number },
    budget: Budget,
  ): ReadonlySet<string> {
    const values = new Set<string>();
    for (const vm of this.#matching(this.#project.plan([]).plan, budget)) {
      const touching = this.#view.reading(vm.history, () => this.#touching(vm, stretch));
      if (touching.length === 0) continue;
      this.#used.add(vm.datacenter);
      const value = vm.labels.find(([name]) => name === label)?.[1];
      if (value !== undefined) values.add(value);
    }
    return values;
  }

  /** Newest observation of a data center's VMs, Unix ms; undefined = none within retention. */
  newestObservedMs(datacenter: string): number | undefined {
    let newest = Number.NEGATIVE_INFINITY;
    for (const vm of this.#project.vms()) {
      if (vm.datacenter !== datacenter) continue;
      vm.history.refreshHead(() => []);
      newest = Math.max(newest, vm.history.endMs);
    }
    return newest >= this.#retainedFromMs ? newest : undefined;
  }

  /** Matching VMs. Reads their part of the head and then the directory of chunks. */
  #matching(plan: MatchPlan, budget: Budget): readonly LabelledVm[] {
    // Done first: it finds VMs that are only in chunks.
    this.#view.refreshStored();
    const matching: LabelledVm[] = [];
    let looked = 0;
    for (const vm of this.#project.vms()) {
      if (++looked % VMS_A_CHECK === 0) budget.check();
      if (!plan.matchesVm(vm.labels)) continue;
      vm.history.refreshHead(plan.columnsIn);
      matching.push(vm);
    }
    this.#view.refreshStored();
    return matching;
  }

  #segments(vm: LabelledVm, { fromMs, toMs }: { fromMs: number; toMs: number }) {
    return vm.history.segments(Math.max(fromMs, this.#retainedFromMs), toMs);
  }

  /** Excludes the segment before the range, which is only there to look back. */
  #touching(vm: LabelledVm, stretch: { fromMs: number; toMs: number }): readonly Segment[] {
    const fromMs = Math.max(stretch.fromMs, this.#retainedFromMs);
    return this.#segments(vm, stretch).filter(({ endMs }) => endMs >= fromMs);
  }

  #find(
    vm: LabelledVm,
    { plan, finds }: PlannedSelector,
    stretch: { fromMs: number; toMs: number },
    budget: Budget,
  ): readonly StoredSeries[] {
    const segments = this.#segments(vm, stretch);
    if (segments.length === 0) return [];
    const cutMs = segments.some(({ startMs }) => startMs < this.#retainedFromMs)
      ? this.#retainedFromMs
      : undefined;
    const fromMs = Math.max(stretch.fromMs, this.#retainedFromMs);
    const first = segments.findIndex(({ endMs }) => endMs >= fromMs);
    const basis = { segments, first, cutMs };
    const known = finds.find(vm, basis);
    if (known !== undefined) return known;
    budget.check();
    const deps: RunDeps = { take: (bytes) => budget.takeBytes(bytes) };
    const runs = new Map<ReadableKey, ColumnRun[]>();
    let columnBytes = 0;
    for (let i = first; i < segments.length; i++) {
      const place = { segment: segments[i] as Segment, before: segments[i - 1] };
      const keys = keysIn(plan, [place.segment]);
      place.segment.load([...keys].flatMap(storedColumns), deps.take);
      for (const key of keys) {
        const run = this.#cut(readableRun(key, place, deps));
        if (run === undefined) continue;
        if (!(place.segment instanceof DayColumns)) columnBytes += 2 * run.values.byteLength;
        const before = runs.get(key);
        if (before === undefined) runs.set(key, [run]);
        else before.push(run);
      }
    }
    const series = [...runs].map(([key, found]) => ({
      labels: vm.labelsOf(key),
      runs: bySource(found, vm.turnsMs),
    }));
    finds.keep(vm, basis, { keys: [...runs.keys()], series, columnBytes });
    return series;
  }

  /** Cuts samples older than the retention, though their chunk may still be stored. */
  #cut(run: ColumnRun | undefined): ColumnRun | undefined {
    if (run === undefined || startOf(run) >= this.#retainedFromMs) return run;
    const cut = runFrom(run, this.#retainedFromMs);
    const before = cuts.get(run);
    // The same object as long as no sample was cut: the engine caches facts per object.
    if (cut !== undefined && before?.timesMs.length === cut.timesMs.length) return before;
    if (cut !== undefined) cuts.set(run, cut);
    return cut;
  }
}

/** The runs, split where another source began: see `SampleRun`. Usually there is one source. */
function bySource(runs: readonly ColumnRun[], turnsMs: readonly number[]): readonly SampleRun[] {
  if (turnsMs.length === 0) return runs;
  const parted: SampleRun[] = [];
  let before: number | undefined;
  for (const run of runs) {
    const { length } = run.timesMs;
    for (let from = 0; from < length; ) {
      const startMs = run.timesMs[from] as number;
      const turn = turnsMs.filter((turnMs) => turnMs <= startMs).length;
      const nextMs = turnsMs[turn];
      const until = nextMs === undefined ? length : firstAtOrAfter(run.timesMs, nextMs);
      const isOfNewSource = before !== undefined && turn > before;
      parted.push({
        timesMs: run.timesMs.subarray(from, until),
        values: run.values.subarray(from, until),
        stale: null,
        ...(isOfNewSource && { isOfNewSource }),
      });
      before = turn;
      from = until;
    }
  }
  return parted;
}

const cuts = new WeakMap<ColumnRun, ColumnRun>();

function storedColumns({ kind, columns }: ReadableKey): readonly string[] {
  return kind === 'stored' ? columns : [];
}

function keysIn(
  plan: MatchPlan,
  segments: readonly Segment[],
  pick: PickColumns = plan.columnsIn,
): ReadonlySet<ReadableKey> {
  const keys = new Set<ReadableKey>();
  for (const segment of segments) {
    for (const layout of segment.layouts(pick))
      for (const key of plan.keysIn(layout)) keys.add(key);
  }
  return keys;
}
