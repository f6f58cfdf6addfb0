/**
 * Samples of history for the PromQL engine, confined to one project at construction: VMs of others
 * are never looked at, so no expression can name them. Made for each query over what the thread
 * keeps.
 */

import type { PickColumns } from '../../../../sqlite/telemetry/history/columns/chunk-columns.ts';
import {
  type ColumnRun,
  runFrom,
  startOf,
} from '../../../../sqlite/telemetry/history/columns/column-run.ts';
import type { ColumnView } from '../../../../sqlite/telemetry/history/columns/column-view.ts';
import { DayColumns } from '../../../../sqlite/telemetry/history/columns/day-columns.ts';
import type { Segment } from '../../../../sqlite/telemetry/history/columns/segment.ts';
import type { Budget } from '../../promql/budget.ts';
import { STORED_SERIES_BYTES } from '../../promql/column-memory.ts';
import type { Labels } from '../../promql/labels.ts';
import type { Matcher } from '../../promql/matcher.ts';
import type { Selection, SeriesSource, StoredSeries } from '../../promql/series-source.ts';
import {
  type LabelledVm,
  type MatchPlan,
  type PlannedSelector,
  type ProjectSeries,
  VM_LABELS,
} from './project-series.ts';
import { type ReadableKey, type RunDeps, readableRun } from './readable-series.ts';

export interface HistorySeriesSourceOptions {
  readonly view: ColumnView;
  readonly project: ProjectSeries;
  /** Samples before it do not exist, Unix ms. */
  readonly retainedFromMs: number;
}

/** Every so many VMs it is looked whether the query is still wanted. */
const VMS_A_CHECK = 16;

export class HistorySeriesSource implements SeriesSource {
  readonly #view: ColumnView;
  readonly #project: ProjectSeries;
  readonly #retainedFromMs: number;
  readonly #used = new Set<string>();

  constructor({ view, project, retainedFromMs }: HistorySeriesSourceOptions) {
    this.#view = view;
    this.#project = project;
    this.#retainedFromMs = retainedFromMs;
  }

  /** Data centers of the series that were handed out so far. */
  get datacenters(): ReadonlySet<string> {
    return this.#used;
  }

  /** Throws `HistoryError` INCOMPLETE, as all that reads samples here. */
  select(selection: Selection, budget: Budget): readonly StoredSeries[] {
    const { afterMs, throughMs } = selection;
    return this.#whole(afterMs, throughMs, () => this.#select(selection, budget));
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
   * Label sets of series that may have samples in the stretch, both ends inclusive: all those whose
   * VM has rows of a chunk that touches it.
   */
  labelSets(
    matchers: readonly Matcher[],
    stretch: { readonly fromMs: number; readonly toMs: number },
    budget: Budget,
  ): readonly Labels[] {
    const { fromMs, toMs } = stretch;
    return this.#whole(fromMs, toMs, () => this.#labelSets(matchers, stretch, budget));
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
   * Values that VMs with rows in the stretch have of a label; undefined when it is not a label that
   * every series of a VM has. Found without looking at a single series.
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

  /** VMs that match, their part of the head read, and then the directory of chunks. */
  #matching(plan: MatchPlan, budget: Budget): readonly LabelledVm[] {
    // Once before: VMs that are only in chunks are found by it.
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

  /** Without the one before, which is only there to reach back from. */
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
    const basis = { segments, cutMs };
    const known = finds.find(vm, basis);
    if (known !== undefined) return known;
    budget.check();
    const fromMs = Math.max(stretch.fromMs, this.#retainedFromMs);
    const first = segments.findIndex(({ endMs }) => endMs >= fromMs);
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
    const series = [...runs].map(([key, found]) => ({ labels: vm.labelsOf(key), runs: found }));
    finds.keep(vm, basis, { keys: [...runs.keys()], series, columnBytes });
    return series;
  }

  /** What is older than retention does not exist, though its chunk may still be there. */
  #cut(run: ColumnRun | undefined): ColumnRun | undefined {
    if (run === undefined || startOf(run) >= this.#retainedFromMs) return run;
    const cut = runFrom(run, this.#retainedFromMs);
    const before = cuts.get(run);
    // The same object while no sample has fallen out: the engine remembers what it knows of one.
    if (cut !== undefined && before?.timesMs.length === cut.timesMs.length) return before;
    if (cut !== undefined) cuts.set(run, cut);
    return cut;
  }
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
