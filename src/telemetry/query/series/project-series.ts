/**
 * The series of one project, as one thread caches them between queries: its VMs with the labels of
 * their current records, label sets, and for each selector its matchers and its last result.
 * Projects share only decoded columns, which are reached through a VM.
 */
import { recordsOf } from '../../../../actors/platform/host/host-port.ts';
import type { VmBody } from '../../../../actors/vms/vm-directory.ts';
import type { RecordReader } from '../../../../sqlite/platform/control/record-reader.ts';
import {
  type ColumnLayout,
  ROW_COLUMNS,
} from '../../../../sqlite/telemetry/history/columns/chunk-columns.ts';
import type { ColumnView } from '../../../../sqlite/telemetry/history/columns/column-view.ts';
import type { Segment } from '../../../../sqlite/telemetry/history/columns/segment.ts';
import type { VmHistory } from '../../../../sqlite/telemetry/history/columns/vm-history.ts';
import type { Matcher } from '../../promql/matcher.ts';
import type { StoredSeries } from '../../promql/series-source.ts';
import { type LabelPair, Labels } from '../../promql/values.ts';
import type { ReadableKey, ReadableKeys } from './readable-series.ts';

/** Sources of a VM's labels, and when its counters became another source's. */
type VmNames = Pick<VmBody, 'displayName' | 'datacenter' | 'reportedBy'>;

const NO_TURNS: readonly number[] = [];
const NO_NAMES: VmNames = { displayName: '', datacenter: '' };

/** A VM with the labels that its series have now: a rename relabels all of its history. */
export class LabelledVm {
  readonly history: VmHistory;
  /** Sorted by name. */
  readonly labels: readonly LabelPair[];
  readonly datacenter: string;
  /** First rows of further sources, oldest first, Unix ms: their counters start anew. */
  readonly turnsMs: readonly number[];
  readonly #displayName: string;
  readonly #sets = new Map<ReadableKey, Labels>();
  readonly #onSet: () => void;

  /** `onSet`: called when a label set was created and cached. */
  constructor(history: VmHistory, names: VmNames, onSet: () => void) {
    const { displayName, datacenter, reportedBy } = names;
    this.history = history;
    this.turnsMs = reportedBy?.turnsMs ?? NO_TURNS;
    this.datacenter = datacenter;
    this.#displayName = displayName;
    this.#onSet = onSet;
    this.labels = [
      ['datacenter', this.datacenter],
      ['project', history.project],
      ['vm', history.vm],
      ['vm_name', displayName],
    ];
  }

  /** Number of cached label sets. */
  get labelSets(): number {
    return this.#sets.size;
  }

  /** True if nothing in its record that its series depend on has changed. */
  isNamed({ displayName, datacenter, reportedBy }: VmNames): boolean {
    const { turnsMs = NO_TURNS } = reportedBy ?? {};
    return (
      displayName === this.#displayName &&
      datacenter === this.datacenter &&
      turnsMs.at(-1) === this.turnsMs.at(-1)
    );
  }

  labelsOf(key: ReadableKey): Labels {
    let set = this.#sets.get(key);
    if (set === undefined) {
      set = Labels.of([...key.pairs, ...this.labels]);
      this.#sets.set(key, set);
      this.#onSet();
    }
    return set;
  }
}

/** Dependencies shared by the projects of one thread. */
export interface ProjectSeriesDeps {
  readonly view: ColumnView;
  readonly records: RecordReader;
  readonly keys: ReadableKeys;
  /** Plans of all projects of the thread. */
  readonly plans: ProjectCache<PlannedSelector>;
}

/**
 * VMs and label sets of one project. They are cached between queries until the thread needs the
 * memory for other projects.
 */
export class ProjectSeries {
  readonly project: string;
  readonly #deps: ProjectSeriesDeps;
  readonly #vms = new Map<VmHistory, LabelledVm>();
  #names: ReadonlyMap<string, VmNames> = new Map();
  #revision: number | undefined;
  #forgotten = 0;
  #labelSets = 0;

  constructor(project: string, deps: ProjectSeriesDeps) {
    this.project = project;
    this.#deps = deps;
  }

  /** Number of cached label sets of all VMs. */
  get labelSets(): number {
    return this.#labelSets;
  }

  /** Display name of a VM; '' if there is none. */
  nameOf(vm: string): string {
    return this.#names.get(vm)?.displayName ?? '';
  }

  /** `revision` changes whenever a record of one of the project's VMs does. */
  useRecords(revision: number): void {
    if (revision === this.#revision) return;
    const records = recordsOf(this.#deps.records, this.project, 'vm');
    this.#names = new Map(records.map(({ id, body }) => [id, body]));
    // A VM that joins a large project must not invalidate the other VMs.
    for (const vm of this.#vms.values()) if (!vm.isNamed(this.#namesOf(vm.history))) this.#drop(vm);
    this.#deps.plans.recount();
    this.#revision = revision;
  }

  /** All VMs that have rows. */
  vms(): Iterable<LabelledVm> {
    const { view } = this.#deps;
    const histories = view.vmsOf(this.project);
    if (view.forgotten !== this.#forgotten) {
      this.#forgotten = view.forgotten;
      for (const vm of this.#vms.values()) {
        if (histories.get(vm.history.vm) !== vm.history) this.#drop(vm);
      }
      this.#deps.plans.recount();
    }
    if (histories.size !== this.#vms.size) {
      for (const history of histories.values()) {
        if (this.#vms.has(history)) continue;
        const onSet = () => this.#labelSets++;
        this.#vms.set(history, new LabelledVm(history, this.#namesOf(history), onSet));
      }
    }
    return this.#vms.values();
  }

  #namesOf({ vm }: VmHistory): VmNames {
    return this.#names.get(vm) ?? NO_NAMES;
  }

  /** The VM gets new labels when it is next read. */
  #drop(vm: LabelledVm): void {
    this.#vms.delete(vm.history);
    this.#labelSets -= vm.labelSets;
    for (const { finds } of this.#deps.plans.values(this.project)) finds.drop(vm);
  }

  plan(matchers: readonly Matcher[]): PlannedSelector {
    const { plans, keys } = this.#deps;
    const text = matchers.map(({ label, op, value }) => [label, op, value]);
    const key = JSON.stringify(text);
    const known = plans.get(this.project, key);
    if (known !== undefined) return known;
    const made = new PlannedSelector(matchers, keys);
    plans.put(this.project, key, made);
    return made;
  }
}

/** Labels that every series of a VM has; labels of the series itself cannot replace them. */
export const VM_LABELS: ReadonlySet<string> = new Set(['project', 'vm', 'vm_name', 'datacenter']);

/**
 * The matchers of one selector, split into those on the VM and those on its series, so that the
 * series of a VM that does not match are never read.
 */
export class MatchPlan {
  readonly #keys: ReadableKeys;
  readonly #ofVm: readonly Matcher[];
  readonly #ofSeries: readonly Matcher[];
  readonly #matched = new WeakMap<ColumnLayout, readonly ReadableKey[]>();
  readonly #columns = new WeakMap<ColumnLayout, readonly string[]>();

  constructor(matchers: readonly Matcher[], keys: ReadableKeys) {
    this.#keys = keys;
    this.#ofVm = matchers.filter(({ label }) => VM_LABELS.has(label));
    this.#ofSeries = matchers.filter(({ label }) => !VM_LABELS.has(label));
  }

  matchesVm(labels: readonly LabelPair[]): boolean {
    return matchesAll(this.#ofVm, labels);
  }

  /** The matching series of rows with these columns. */
  keysIn(layout: ColumnLayout): readonly ReadableKey[] {
    let matched = this.#matched.get(layout);
    if (matched === undefined) {
      matched = this.#keys.of(layout).filter((key) => this.#matchesSeries(key));
      this.#matched.set(layout, matched);
    }
    return matched;
  }

  /**
   * The columns from which those series are made, as far as the rows have them. Includes columns of
   * series that can be computed only together with other rows of the time: late rows may hold a
   * part of them.
   */
  columnsIn = (layout: ColumnLayout): readonly string[] => {
    let columns = this.#columns.get(layout);
    if (columns === undefined) {
      const computed = this.#keys.computed.filter((key) => this.#matchesSeries(key));
      const keys = [...this.keysIn(layout), ...computed];
      const wanted = new Set(keys.flatMap((key) => key.columns));
      columns = [...wanted].filter(
        (column) => layout.keys.has(column) || column === ROW_COLUMNS.boot,
      );
      this.#columns.set(layout, columns);
    }
    return columns;
  };

  #matchesSeries({ pairs }: ReadableKey): boolean {
    return matchesAll(this.#ofSeries, pairs);
  }
}

function matchesAll(matchers: readonly Matcher[], labels: readonly LabelPair[]): boolean {
  return matchers.every(({ label, matches }) => {
    return matches(labels.find(([name]) => name === label)?.[1] ?? '');
  });
}

/** Memory of the objects, and of the plan's lists of matches in each layout of rows. */
const PLAN_BYTES = 2_000;

/**
 * A selector's plan and its last result, cached between queries as far as the memory of its project
 * allows.
 */
export class PlannedSelector implements Weighed {
  readonly plan: MatchPlan;
  readonly finds = new VmFinds();
  readonly #matchers: readonly Matcher[];

  constructor(matchers: readonly Matcher[], keys: ReadableKeys) {
    this.plan = new MatchPlan(matchers, keys);
    this.#matchers = matchers;
  }

  get bytes(): number {
    return this.#matchers.reduce((sum, { bytes }) => sum + bytes, PLAN_BYTES + this.finds.bytes);
  }
}

/** Inputs of a result. */
export interface FindBasis {
  readonly segments: readonly Segment[];
  /** Index of the first segment to read; the segment before it is only there to look back. */
  readonly first: number;
  /** Retention bound, Unix ms: nothing older exists. Set only if the data goes back further. */
  readonly cutMs: number | undefined;
}

interface Find extends FindBasis {
  readonly versions: readonly number[];
  readonly keys: readonly ReadableKey[];
  readonly series: readonly StoredSeries[];
  /** Memory of columns that no other bound covers, bytes: rows of the head as they were then. */
  readonly columnBytes: number;
}

/** Memory of the objects, measured on a heap. */
const FIND_BYTES = 400;
const SERIES_BYTES = 250;

class VmFinds {
  readonly #finds = new Map<LabelledVm, Find>();
  #bytes = 0;

  /** Approximate retained memory, bytes, without the column cache. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Drops all results: they retain columns that the cache evicts. */
  clear(): void {
    this.#finds.clear();
    this.#bytes = 0;
  }

  /** Drops the result of a VM that gets new labels. */
  drop(vm: LabelledVm): void {
    const known = this.#finds.get(vm);
    if (known === undefined) return;
    this.#finds.delete(vm);
    this.#bytes -= bytesOf(known);
  }

  /** The series found with the same inputs; their columns count as used. */
  find(vm: LabelledVm, basis: FindBasis): readonly StoredSeries[] | undefined {
    const known = this.#finds.get(vm);
    if (known === undefined || !isSame(known, basis)) return undefined;
    for (const segment of known.segments) {
      for (const key of known.keys) segment.touch(key.uses);
    }
    return known.series;
  }

  keep(
    vm: LabelledVm,
    basis: FindBasis,
    found: Pick<Find, 'keys' | 'series' | 'columnBytes'>,
  ): void {
    const versions = basis.segments.map(({ version }) => version);
    const before = this.#finds.get(vm);
    if (before !== undefined) this.#bytes -= bytesOf(before);
    this.#finds.set(vm, { ...basis, ...found, versions });
    this.#bytes += bytesOf(found);
  }
}

function bytesOf({ series, columnBytes }: Pick<Find, 'series' | 'columnBytes'>): number {
  return FIND_BYTES + SERIES_BYTES * series.length + columnBytes;
}

function isSame(known: Find, basis: FindBasis): boolean {
  return (
    known.first === basis.first &&
    known.cutMs === basis.cutMs &&
    known.segments.length === basis.segments.length &&
    known.segments.every((segment, i) => {
      return segment === basis.segments[i] && segment.version === known.versions[i];
    })
  );
}

// A cache bounded in bytes, in total and per project: a project with ever-changing queries evicts
// its own entries, not those of others. The least recently used entries are evicted first.

/** Anything whose memory is counted. */
export interface Weighed {
  /** Approximate current memory, bytes; may grow while in use. */
  readonly bytes: number;
}

interface Entry<V> {
  readonly value: V;
  /** Memory at the last count; outdated while the entry is in use. */
  counted: number;
}

interface Share<V> {
  /** Least recently used first. */
  readonly entries: Map<string, Entry<V>>;
  bytes: number;
}

/** Bounds of a cache, in the memory that its entries report. */
export interface ProjectCacheOptions {
  readonly bytesMax: number;
  /** Bound per project. */
  readonly projectBytesMax: number;
}

/**
 * A cache of several projects: each has its own bound, and all together have another. The least
 * recently used entries are evicted first.
 */
export class ProjectCache<V extends Weighed> {
  readonly #options: ProjectCacheOptions;
  /** The least recently used project first; none is empty. */
  readonly #shares = new Map<string, Share<V>>();
  #bytes = 0;
  #inUse: { readonly project: string; readonly key: string } | undefined;

  constructor(options: ProjectCacheOptions) {
    this.#options = options;
  }

  /** Memory of all entries as last counted, bytes; excludes the entry in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The entry is in use until the next call, which counts its size at that time. */
  get(project: string, key: string): V | undefined {
    this.settle();
    const entry = this.#shares.get(project)?.entries.get(key);
    if (entry === undefined) return undefined;
    this.#use(project, key, entry);
    return entry.value;
  }

  /** Caches the value as far as memory allows; it is in use until the next call. */
  put(project: string, key: string, value: V): void {
    this.settle();
    this.#drop(project, key);
    const entry = { value, counted: 0 };
    this.#use(project, key, entry);
    this.#count(project, entry);
    this.#makeRoom(project);
  }

  /** Counts the entry in use at its current size, and evicts entries beyond the bounds. */
  settle(): void {
    if (this.#inUse === undefined) return;
    const { project, key } = this.#inUse;
    this.#inUse = undefined;
    const entry = this.#shares.get(project)?.entries.get(key);
    if (entry === undefined) return;
    this.#count(project, entry);
    this.#makeRoom(project);
  }

  /** All entries, of one project or of all. */
  *values(project?: string): Iterable<V> {
    for (const [name, { entries }] of this.#shares) {
      if (project !== undefined && project !== name) continue;
      for (const { value } of entries.values()) yield value;
    }
  }

  /** Counts all entries again, after something else has reduced their size. */
  recount(): void {
    for (const [project, { entries }] of this.#shares) {
      for (const entry of entries.values()) this.#count(project, entry);
    }
  }

  forget(project: string): void {
    this.#bytes -= this.#shares.get(project)?.bytes ?? 0;
    this.#shares.delete(project);
  }

  #use(project: string, key: string, entry: Entry<V>): void {
    const share = this.#shares.get(project) ?? { entries: new Map(), bytes: 0 };
    this.#shares.delete(project);
    this.#shares.set(project, share);
    share.entries.delete(key);
    share.entries.set(key, entry);
    this.#inUse = { project, key };
  }

  #count(project: string, entry: Entry<V>): void {
    const { bytes } = entry.value;
    const more = bytes - entry.counted;
    entry.counted = bytes;
    this.#bytes += more;
    const share = this.#shares.get(project);
    if (share !== undefined) share.bytes += more;
  }

  #makeRoom(project: string): void {
    const { bytesMax, projectBytesMax } = this.#options;
    while ((this.#shares.get(project)?.bytes ?? 0) > projectBytesMax) this.#dropOldest(project);
    while (this.#bytes > bytesMax) {
      const [oldest = project] = this.#shares.keys();
      this.#dropOldest(oldest);
    }
  }

  #dropOldest(project: string): void {
    const [key = ''] = this.#shares.get(project)?.entries.keys() ?? [];
    this.#drop(project, key);
  }

  #drop(project: string, key: string): void {
    const share = this.#shares.get(project);
    const entry = share?.entries.get(key);
    if (share === undefined || entry === undefined) return;
    share.entries.delete(key);
    share.bytes -= entry.counted;
    this.#bytes -= entry.counted;
    if (share.entries.size === 0) this.#shares.delete(project);
  }
}
