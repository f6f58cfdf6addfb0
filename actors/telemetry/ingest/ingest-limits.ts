/**
 * Limits on the data of a project: VMs, series and boot ids, each of which uses memory as long as
 * history or its head keeps it, and memory of the head. Rows and series beyond a limit are named
 * and rejected, and the rest is kept: known VMs and series are stored regardless of what else a
 * batch contains. Rates limit samples and bytes per second; a write is accepted or rejected as a
 * whole.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { RETENTION_MS } from '../../../streams/telemetry/entry.ts';
import { type Derivation, metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';
import { inputsOf } from '../../../streams/telemetry/metrics/derive.ts';
import type { SeriesKey } from '../../../streams/telemetry/samples/batch.ts';
import type { ProjectLimits } from '../../platform/project-limits.ts';
import type { IngestRow } from '../../vms/sent-row.ts';
import type { VmRegistry } from '../../vms/vm-registry.ts';
import { type CheckedRows, checkedRows, type PlacedRow, withoutSeries } from './checked-rows.ts';
import type { RejectedSample } from './rejections.ts';

/**
 * Maximum number of distinct series of a VM within retention: about 30 of its own, and a few per
 * device.
 */
const VM_SERIES_MAX = 512;

/**
 * Maximum number of distinct boot ids, and of state reasons, of a VM within two hours: more than
 * its rows in that time at 30 s. A VM in a crash loop is exactly the one that alerts are needed
 * for.
 */
const VM_TEXTS_MAX = 256;
const TEXTS_KEPT_MS = 2 * 3_600_000;
/** Share of its head memory above which a project gets no more VMs and series. */
const TIGHT_SHARE = 3 / 4;
/** Share above which its rows are rejected; rows already on their way to the head still fit. */
const FULL_SHARE = 7 / 8;
/**
 * Share above which its writes are rejected, if other projects leave it less than its own limit.
 */
const SHARED_FULL_SHARE = 15 / 16;
/**
 * Time of one or two rounds of history's background work, which moves rows into chunks and releases
 * their memory, seconds.
 */
const SHARED_RETRY_SECONDS = 15;
/** Interval at which data that one project has not reported within retention is dropped, ms. */
const SWEEP_MS = 60_000;

/** Memory used by a project for new rows, bytes. */
export interface RowMemory {
  /** `bound`: the project's current bound beside the other projects; `own`: its own limit. */
  quota(project: string): { readonly used: number; readonly bound: number; readonly own: number };
}

/** Limits of projects, and the memory for rows. */
export interface IngestLimitsOptions {
  /** Absent: the total number of series of a project is unbounded. */
  readonly limits?: { of(project: string): { readonly series: number } };
  /** Absent: memory is unlimited. */
  readonly memory?: RowMemory;
  /** Called with the number of rows of a write that was rejected for lack of memory. */
  readonly onShortMemory?: (rows: number) => void;
}

/** Texts of one kind in a VM's rows; a single one as long as it does not change. */
class RecentTexts {
  #last = '';
  /** Time at which each was last new, Unix ms. */
  #seen: Map<string, number> | undefined;

  /** false: the limit is reached. */
  admit(text: string, nowMs: number): boolean {
    if (text === '' || text === this.#last) return true;
    this.#seen ??= new Map();
    if (this.#last !== '') this.#seen.set(this.#last, nowMs);
    if (!this.#seen.has(text) && this.#seen.size >= VM_TEXTS_MAX) {
      for (const [one, lastMs] of this.#seen) {
        if (lastMs < nowMs - TEXTS_KEPT_MS) this.#seen.delete(one);
      }
      if (this.#seen.size >= VM_TEXTS_MAX) return false;
    }
    this.#seen.set(text, nowMs);
    this.#last = text;
    return true;
  }
}

/** The VMs of a project that reported within retention, and the number of their series. */
interface KnownProject {
  readonly vms: Map<string, VmSeries>;
  series: number;
}

/** The series of a VM since this node's start; a single list as long as all its rows share it. */
interface VmSeries {
  layout: readonly SeriesKey[];
  /** Time at which each series was last new in a layout, Unix ms. */
  seen: Map<SeriesKey, number> | undefined;
  readonly boots: RecentTexts;
  readonly stateReasons: RecentTexts;
  /** Time at which its last row arrived, Unix ms. */
  heardMs: number;
}

/** Checks the additions of each write. Series are counted by reports since this node's start. */
export class IngestLimits {
  readonly #registry: Pick<VmRegistry, 'overVmLimit'>;
  readonly #options: IngestLimitsOptions;
  readonly #projects = new Map<string, KnownProject>();
  #sweptMs = 0;

  constructor(registry: Pick<VmRegistry, 'overVmLimit'>, options: IngestLimitsOptions = {}) {
    this.#registry = registry;
    this.#options = options;
  }

  /** Number of distinct series of the project's VMs that were reported since this node's start. */
  seriesOf(project: string): number {
    return this.#projects.get(project)?.series ?? 0;
  }

  /**
   * Number of label sets (mounts) of a metric that a VM has reported since the start; undefined:
   * none.
   */
  labelSets(project: string, vm: string, metricId: string): number | undefined {
    const derivation = metricCatalogue.get(metricId)?.derivation;
    const use = this.#projects.get(project)?.vms.get(vm);
    if (!derivation || !use) return undefined;
    return use.seen
      ? inputsOf(derivation, [...use.seen.keys()]).length
      : countIn(use.layout, metricId, derivation);
  }

  /**
   * Returns `checked` itself if all of it is within the limits, the usual case. Throws a `Refusal`
   * TOO_MANY_REQUESTS if other projects leave no memory for it: nothing is stored, and the sender
   * keeps it.
   */
  keepWithin(project: string, checked: CheckedRows, nowMs: number): CheckedRows {
    this.#sweep(nowMs);
    const { used, bound, own } = this.#options.memory?.quota(project) ?? NO_BOUND;
    const isTight = used >= own * TIGHT_SHARE;
    const isFull = used >= own * FULL_SHARE;
    if (!isFull && bound < own && used >= bound * SHARED_FULL_SHARE && checked.rows.length > 0) {
      this.#options.onShortMemory?.(checked.rows.length);
      throw sharedFull(project);
    }
    const tooManyVms = this.#registry.overVmLimit(project, checked.rows, !isTight);
    const quota = {
      nowMs,
      isTight,
      known: this.#knownOf(project),
      seriesMax: this.#seriesMax(project),
    };
    const rejected: RejectedSample[] = [];
    const kept: PlacedRow[] = [];
    for (const [i, row] of checked.rows.entries()) {
      const index = checked.indexes?.[i] ?? i;
      if (isFull || tooManyVms?.has(row.vm)) {
        rejected.push({ row: index, series: '', reason: 'LIMIT_EXCEEDED' });
        continue;
      }
      const { field, surplus } = this.#surplusOf(row, quota);
      if (field !== undefined) {
        rejected.push({ row: index, series: field, reason: 'LIMIT_EXCEEDED', isRow: true });
        continue;
      }
      kept.push({ row: surplus ? withoutSeries(row, surplus) : row, index });
      for (const series of surplus ?? []) {
        rejected.push({ row: index, series, reason: 'LIMIT_EXCEEDED' });
      }
    }
    if (rejected.length === 0) return checked;
    return checkedRows(kept, [...checked.rejected, ...rejected]);
  }

  /** A text beyond its limit, for which the row is rejected; otherwise the series beyond theirs. */
  #surplusOf(
    row: IngestRow,
    { nowMs, isTight, known: project, seriesMax }: Room,
  ): { readonly field?: string; readonly surplus?: Set<SeriesKey> | undefined } {
    const known = project.vms.get(row.vm);
    const vm = known ?? newVm(nowMs);
    project.vms.set(row.vm, vm);
    vm.heardMs = nowMs;
    if (!vm.boots.admit(row.boot, nowMs)) return { field: 'bootId' };
    if (!vm.stateReasons.admit(row.stateReason, nowMs)) return { field: 'stateReason' };
    if (known && isSameList(known.layout, row.series)) return {};
    // Series from before a restart of this node are not new, even if little of the quota is left.
    const free = isTight && known ? 0 : Math.max(0, seriesMax - project.series);
    const before = countOf(vm);
    const surplus =
      before === 0 && row.series.length <= Math.min(VM_SERIES_MAX, free)
        ? takeAll(vm, row.series)
        : takeIn(vm, row.series, { nowMs, free });
    project.series += countOf(vm) - before;
    return { surplus };
  }

  #seriesMax(project: string): number {
    return this.#options.limits?.of(project).series ?? Number.POSITIVE_INFINITY;
  }

  #knownOf(project: string): KnownProject {
    let known = this.#projects.get(project);
    if (known === undefined) {
      known = { vms: new Map(), series: 0 };
      this.#projects.set(project, known);
    }
    return known;
  }

  /** Drops VMs that have not reported within retention, one project at a time. */
  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptMs) < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    const [next] = this.#projects;
    if (next === undefined) return;
    const [project, known] = next;
    for (const [id, vm] of known.vms) {
      if (vm.heardMs >= nowMs - RETENTION_MS) continue;
      known.vms.delete(id);
      known.series -= countOf(vm);
    }
    this.#projects.delete(project);
    if (known.vms.size > 0) this.#projects.set(project, known);
  }
}

const NO_BOUND = { used: 0, bound: 1, own: 1 };

function sharedFull(project: string): Refusal {
  const seconds = SHARED_RETRY_SECONDS;
  return new Refusal(
    'TOO_MANY_REQUESTS',
    `Memory for new rows is short, and projects/${project} has used its share: keep this batch and send it again in ${seconds} s`,
    { limit: 'headBytes', retryAfterSeconds: String(seconds) },
  );
}

/** Bounds against which a request's rows are checked. */
interface Room {
  readonly nowMs: number;
  readonly isTight: boolean;
  readonly known: KnownProject;
  readonly seriesMax: number;
}

function newVm(nowMs: number): VmSeries {
  const texts = { boots: new RecentTexts(), stateReasons: new RecentTexts() };
  return { layout: [], seen: undefined, ...texts, heardMs: nowMs };
}

function countOf({ layout, seen }: VmSeries): number {
  return seen?.size ?? layout.length;
}

function takeAll(vm: VmSeries, series: readonly SeriesKey[]): undefined {
  vm.layout = series;
  return undefined;
}

/** By list of series, which many rows and VMs share, and by metric. */
const counted = new WeakMap<readonly SeriesKey[], Map<string, number>>();

function countIn(layout: readonly SeriesKey[], metricId: string, derivation: Derivation): number {
  const known = counted.get(layout) ?? new Map<string, number>();
  counted.set(layout, known);
  let count = known.get(metricId);
  if (count === undefined) {
    count = inputsOf(derivation, layout).length;
    known.set(metricId, count);
  }
  return count;
}

/** Records another list of series. @returns the series beyond the limit */
function takeIn(
  vm: VmSeries,
  series: readonly SeriesKey[],
  { nowMs, free }: { readonly nowMs: number; readonly free: number },
): Set<SeriesKey> | undefined {
  vm.seen ??= new Map();
  for (const key of vm.layout) vm.seen.set(key, nowMs);
  if (vm.seen.size + series.length > VM_SERIES_MAX) {
    for (const [key, lastMs] of vm.seen) if (lastMs < nowMs - RETENTION_MS) vm.seen.delete(key);
  }
  let surplus: Set<SeriesKey> | undefined;
  const max = Math.min(VM_SERIES_MAX, vm.seen.size + free);
  for (const key of series) {
    if (vm.seen.has(key) || vm.seen.size < max) vm.seen.set(key, nowMs);
    else {
      surplus ??= new Set();
      surplus.add(key);
    }
  }
  vm.layout = surplus ? [] : series;
  return surplus;
}

// Write rates: samples and request bytes per second, a token bucket each. A bucket holds ten
// seconds' worth, because rows that a sender kept through an outage arrive faster than they were
// observed; yet no project occupies the disk and the main thread alone. A write is accepted or
// rejected as a whole; a rejection names the seconds after which it can be retried.

/** Size of a bucket, in seconds of its rate. */
const BURST_SECONDS = 10;
/** Longest wait named in a rejection, seconds: the operator may raise the limit in the meantime. */
const RETRY_AFTER_SECONDS_MAX = 600;

type RateName = 'samplesPerSecond' | 'ingestBytesPerSecond';

const WORDS: Readonly<Record<RateName, string>> = {
  samplesPerSecond: 'samples',
  ingestBytesPerSecond: 'bytes',
};

/** Rate limits, which an operator may change at any time. */
export interface IngestRatesOptions {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly limits: (project: string) => Pick<ProjectLimits, RateName>;
  /** Called for each rejected write. */
  readonly onRefusal?: (limit: RateName) => void;
}

/**
 * Meters of the samples and bytes per second sent by projects. A write is accepted or rejected as a
 * whole, and counts only if it is accepted.
 */
export class IngestRates {
  readonly #options: IngestRatesOptions;
  readonly #meters: Readonly<Record<RateName, Map<string, Meter>>> = {
    samplesPerSecond: new Map(),
    ingestBytesPerSecond: new Map(),
  };

  constructor(options: IngestRatesOptions) {
    this.#options = options;
  }

  /** Checks before a body is read. Throws a `Refusal` TOO_MANY_REQUESTS; counts nothing. */
  checkBytes(project: string, bytes: number): void {
    this.#check('ingestBytesPerSecond', project, bytes);
  }

  /** Counts an accepted body. */
  spendBytes(project: string, bytes: number): void {
    this.#meter('ingestBytesPerSecond', project).spend(bytes);
  }

  /** Reverts the count of a body that did not arrive. */
  returnBytes(project: string, bytes: number): void {
    this.#meter('ingestBytesPerSecond', project).refund(bytes);
  }

  /**
   * Checks and counts samples before a write is stored. Throws a `Refusal` TOO_MANY_REQUESTS and
   * then counts nothing.
   */
  takeSamples(project: string, count: number): void {
    this.#check('samplesPerSecond', project, count);
    this.#meter('samplesPerSecond', project).spend(count);
  }

  /** Current rates of the project, per second, averaged over the last ten seconds, rounded. */
  used(project: string): Record<RateName, number> {
    return {
      samplesPerSecond: this.#meter('samplesPerSecond', project).rate(),
      ingestBytesPerSecond: this.#meter('ingestBytesPerSecond', project).rate(),
    };
  }

  #check(name: RateName, project: string, amount: number): void {
    const perSecond = this.#options.limits(project)[name];
    const waitMs = this.#meter(name, project).waitMs(amount, perSecond);
    if (waitMs === 0) return;
    this.#options.onRefusal?.(name);
    const seconds = Math.min(Math.ceil(waitMs / 1000), RETRY_AFTER_SECONDS_MAX);
    throw new Refusal(
      'TOO_MANY_REQUESTS',
      `projects/${project} writes more than ${perSecond} ${WORDS[name]} per second: keep this batch and send it again in ${seconds} s, or ask the operator to raise the limit`,
      { limit: name, retryAfterSeconds: String(seconds) },
    );
  }

  #meter(name: RateName, project: string): Meter {
    const meters = this.#meters[name];
    let meter = meters.get(project);
    if (meter === undefined) {
      meter = new Meter(this.#options.clock);
      meters.set(project, meter);
    }
    return meter;
  }
}

/** One bucket, and its recent throughput. */
class Meter {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** Amount taken and not yet refilled; the bucket is empty when it equals its size. */
  #spent = 0;
  #filledAtMs: number;
  /** Amounts of the current ten-second window and of the one before. */
  #window = { startMs: 0, amount: 0, before: 0 };

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
    this.#filledAtMs = clock.elapsed();
    this.#window.startMs = this.#filledAtMs;
  }

  /**
   * Time until this much may be taken, ms; 0 = now. More than the bucket's size may be taken when
   * it is full.
   */
  waitMs(amount: number, perSecond: number): number {
    this.#fill(perSecond);
    const size = perSecond * BURST_SECONDS;
    const missing = this.#spent + Math.min(amount, size) - size;
    if (perSecond === 0) return Number.POSITIVE_INFINITY;
    return missing <= 0 ? 0 : (missing / perSecond) * 1000;
  }

  spend(amount: number): void {
    this.#spent += amount;
    this.#turnWindow();
    this.#window.amount += amount;
  }

  refund(amount: number): void {
    this.#spent = Math.max(0, this.#spent - amount);
    this.#window.amount = Math.max(0, this.#window.amount - amount);
  }

  rate(): number {
    const share = this.#turnWindow() / (BURST_SECONDS * 1000);
    const { amount, before } = this.#window;
    return Math.round((amount + before * (1 - share)) / BURST_SECONDS);
  }

  #fill(perSecond: number): void {
    const nowMs = this.#clock.elapsed();
    this.#spent = Math.max(0, this.#spent - ((nowMs - this.#filledAtMs) / 1000) * perSecond);
    this.#filledAtMs = nowMs;
  }

  /** Begins a new window if the current one is over. @returns the time since its start, ms */
  #turnWindow(): number {
    const windowMs = BURST_SECONDS * 1000;
    const nowMs = this.#clock.elapsed();
    const sinceMs = nowMs - this.#window.startMs;
    if (sinceMs < windowMs) return sinceMs;
    const before = sinceMs < 2 * windowMs ? this.#window.amount : 0;
    const startMs = nowMs - (sinceMs % windowMs);
    this.#window = { startMs, amount: 0, before };
    return nowMs - startMs;
  }
}

/** Compares series: usually the very same list, or one that differs early. */
export function isSameList(
  list: readonly string[],
  before: readonly string[] | undefined,
): boolean {
  if (list === before) return true;
  if (list.length !== before?.length) return false;
  for (let i = 0; i < list.length; i++) if (list[i] !== before[i]) return false;
  return true;
}
