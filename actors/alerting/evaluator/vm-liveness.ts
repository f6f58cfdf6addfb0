/**
 * Liveness of all VMs of this node, in any project, from the rows that the evaluator reads, and the
 * report of it in ticks. It follows the log and registrations separately from the fold and is not
 * part of it: its findings go into ticks, which the fold follows.
 *
 *     rows, stops (log) -+
 *     registrations     -+-> silent together, by data center -> report, written with the next tick
 *     history, once     -+
 */

import { endReplay } from '../../../streams/alerting/evaluation/instance.ts';
import { recordKnownVms } from '../../../streams/alerting/evaluation/pipeline.ts';
import { rebase } from '../../../streams/alerting/evaluation/set-back.ts';
import {
  type EvaluationState,
  type FactsByVm,
  factsOf,
  fellSilentIn,
  type LastObservation,
  rebaseFacts,
  recordObserved,
  type VmFacts,
} from '../../../streams/alerting/evaluation/state.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { nextTurn, TimeSlices } from '../../../streams/platform/operators.ts';
import { partitionOf } from '../../../streams/platform/stream.ts';
import {
  FUTURE_MS,
  GAP_TOLERANCE_MS,
  type LivenessReport,
  type LogEntry,
  type Outage,
  TOGETHER_MS,
} from '../../../streams/telemetry/entry.ts';
import type { PlacedEntry } from '../../../streams/telemetry/entry-codec.ts';
import { powerOf } from '../../../streams/telemetry/metrics/derive.ts';
import type { SampleBatch, VmRef } from '../../../streams/telemetry/samples/batch.ts';
import type { LatestRow } from '../../../streams/telemetry/samples/columns.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { type VmBody, vmDirectoryOf } from '../../vms/vm-directory.ts';

// The liveness report in ticks: which data centers are completely silent, where VMs are, and whose
// clocks are ahead. It can be made once the log's backlog has been read, and VMs without a row in
// it have been looked up in history. Until then ticks carry none, and the last report holds.
//
// VMs of a partition that is read apart, because it alone had no checkpoint, follow later: until it
// has caught up, data centers are judged by the VMs of the others.

/**
 * Facts that are not in the log. Without them, a VM that was silent before the log's floor counts
 * as never observed.
 */
export interface OutagePorts {
  /** Newest row of a VM within retention, for VMs that fell silent before the log's floor. */
  readonly newest?: (project: string, vm: string) => LatestRow | undefined;
  /** VMs whose clocks are ahead, according to rows rejected since then, Unix ms. */
  readonly clockAhead?: (sinceMs: number) => Iterable<VmRef>;
  /**
   * Called when rows of this data center's VMs, received at that time (Unix ms) by any member, are
   * in the log.
   */
  readonly onHeard?: (datacenter: string, receivedMs: number) => void;
}

interface OutageDeps extends OutagePorts {
  readonly host: Host;
  readonly clock: Clock;
  /** Called when a VM's history could not be read. Absent: that ends the evaluator's run. */
  readonly onFault?: (what: string, error: unknown) => void;
}

/** One sampling interval, ms: the time in which telemetry resumes after a blind window. */
const INTERVAL_MS = 30_000;
/** Time for which a row rejected for its clock is evidence that the clock is ahead, ms. */
const AHEAD_MS = 90_000;
/** Maximum VMs whose data centers one tick names; the next ticks name the others. */
const PLACED_MAX = 2_000;

/** Makes the liveness report for the next tick. It reports nothing until it knows every VM. */
export class OutageDetector {
  readonly #deps: OutageDeps;
  readonly #states: ReadonlyMap<number, EvaluationState>;
  readonly #slices: TimeSlices;
  readonly #liveness: VmLiveness;
  #leave: () => void = () => {};
  #backlogThrough = 0;
  #isRead = false;
  /** Partitions that continue from a checkpoint. */
  readonly #restored = new Set<number>();
  /** Partitions that are folded apart from the log's reader. */
  readonly #apart = new Set<number>();
  /** Those of them whose VMs are not known yet. */
  readonly #missing = new Set<number>();

  /** @param states of the partitions, as folded by the evaluator */
  constructor(deps: OutageDeps, states: ReadonlyMap<number, EvaluationState>) {
    this.#deps = deps;
    this.#states = states;
    this.#slices = new TimeSlices(deps.clock);
    this.#liveness = new VmLiveness(deps.host, deps.onHeard);
  }

  /** Starts over. */
  async begin(): Promise<void> {
    this.#leave();
    this.#isRead = false;
    this.#restored.clear();
    this.#apart.clear();
    this.#missing.clear();
    this.#leave = await this.#liveness.load();
  }

  /** @param through last sequence of the log, after the rows for the initial states were read */
  endBacklog(through: number): void {
    this.#backlogThrough = through;
  }

  /** Stops following registrations. */
  end(): void {
    this.#leave();
  }

  /** True once the partition's backlog has been read, so that every VM of it is known. */
  isKnown(partition: number): boolean {
    return this.#isRead && !this.#missing.has(partition);
  }

  /** Partitions whose VMs are not known yet, because they are read apart. */
  missing(): readonly number[] {
    return [...this.#missing];
  }

  /** Receives each entry of the log before it is folded. */
  async record({ entry, partition, sequence }: PlacedEntry): Promise<void> {
    if (!this.#isRead && sequence > this.#backlogThrough) {
      await this.#endBacklog();
      this.#isRead = true;
    }
    if (this.#isRead) this.#markLive(partition);
    this.#liveness.record(entry);
  }

  /** Receives an entry of the log whose partition is folded apart. */
  follow(entry: LogEntry): void {
    this.#liveness.record(entry);
  }

  /** @param isMissing the log's reader starts after entries of the partition that are needed */
  setApart(partition: number, isMissing: boolean): void {
    this.#apart.add(partition);
    if (isMissing) this.#missing.add(partition);
  }

  /** Receives each entry of a partition that is folded apart, before it is folded. */
  recordApart({ entry, partition }: PlacedEntry): void {
    if (!this.#apart.has(partition)) this.#markLive(partition);
    if (this.#missing.has(partition) && entry.kind === 'batch') this.#liveness.add(entry.batch);
  }

  /** Called when the backlog of a partition that is folded apart has been read. */
  async begun(partition: number): Promise<void> {
    if (this.#missing.has(partition)) await this.#lookUp((one) => one === partition);
    const state = this.#states.get(partition);
    // Rows that the log's reader has passed over may be ahead of the state.
    const nowMs = state && Number.isFinite(state.nowMs) ? state.nowMs : Number.POSITIVE_INFINITY;
    if (state && !state.isLive) await this.#begin(state, nowMs + FUTURE_MS);
    this.#liveness.adopt(state?.outages?.values() ?? []);
    this.#apart.delete(partition);
    this.#missing.delete(partition);
  }

  /** A partition's first entry makes its state. */
  #markLive(partition: number): void {
    const state = this.#states.get(partition);
    if (state) state.isLive = true;
  }

  /** Known facts of a partition's VMs, for its checkpoint. */
  factsOf(partition: number): Iterable<KnownVm> {
    return this.#liveness.factsOf(partition);
  }

  /** Continues from a partition's checkpoint, whose VMs need not be looked up in history. */
  restore(partition: number, known: Iterable<KnownVm>): void {
    this.#restored.add(partition);
    for (const vm of known) this.#liveness.restore(vm);
  }

  /** The VMs of a project, as observed up to `atMs`. */
  lastOf(project: string, atMs?: number): Iterable<LastObservation> {
    return this.#liveness.lastOf(project, atMs);
  }

  /** The VMs of a project and their data centers, without observations. */
  placesOf(project: string): Iterable<LastObservation> {
    return this.#liveness.lastOf(project, Number.NEGATIVE_INFINITY);
  }

  /** The report of a partition at a tick. */
  of(partition: number, atMs: number): LivenessReport | undefined {
    if (!this.isKnown(partition)) return undefined;
    const outages = this.#liveness.outages(atMs, INTERVAL_MS, this.#missing);
    const state = this.#states.get(partition);
    // A partition that is rebuilt needs its reports too: its fold will read them.
    if (!outages || (!state && !this.#apart.has(partition))) return undefined;
    const placed = [...(state?.projects ?? [])].flatMap(([project, { facts }]) => [
      ...this.#liveness.unplaced(project, facts, PLACED_MAX),
    ]);
    const ahead = [...(this.#deps.clockAhead?.(atMs - AHEAD_MS) ?? [])];
    const clockAhead = ahead.filter(({ project }) => partitionOf(project) === partition);
    return { outages, placed: placed.slice(0, PLACED_MAX), clockAhead };
  }

  /**
   * Called when the log's reader has read the backlog. From then on, rules on telemetry age know the
   * VMs that fell silent before the log's floor.
   */
  async #endBacklog(): Promise<void> {
    await this.#lookUp((partition) => !this.#missing.has(partition));
    for (const [partition, state] of this.#states) {
      if (this.#apart.has(partition)) continue;
      // A state from a checkpoint was live when it was taken, and has stayed so.
      if (!state.isLive) await this.#begin(state, Number.POSITIVE_INFINITY);
      this.#liveness.adopt(state.outages?.values() ?? []);
    }
  }

  /** Looks up the VMs of partitions without a row in the backlog in history, once. */
  async #lookUp(isMeant: (partition: number) => boolean): Promise<void> {
    const { newest, onFault } = this.#deps;
    for (const { project, vm } of [...this.#liveness.unheard(isMeant)]) {
      if (this.#restored.has(partitionOf(project))) continue;
      await this.#slices.yieldIfDue();
      try {
        const latest = newest?.(project, vm);
        if (latest) this.#liveness.recall(project, vm, latest);
      } catch (error) {
        if (!onFault) throw error;
        onFault(`the last observation of ${vm} in ${project}`, error);
      }
    }
  }

  /** Ends the replay of a state that began at the log's floor. */
  async #begin(state: EvaluationState, untilMs: number): Promise<void> {
    state.isReplaying = false;
    state.isLive = true;
    state.aheadFromMs = Number.POSITIVE_INFINITY;
    await this.#endReplay(state);
    // Not later than the last entry, so that the next sample is later than any incident. A partition
    // without an entry has no time to which anything could be moved.
    if (Number.isFinite(state.nowMs)) {
      rebase(state, Math.min(state.nowMs, this.#deps.clock.now()));
    }
    for (const project of state.projects.keys())
      recordKnownVms(state, this.#liveness.lastOf(project, untilMs));
  }

  async #endReplay({ projects }: EvaluationState): Promise<void> {
    for (const { vms } of projects.values()) {
      for (const { buffers } of vms.values()) {
        endReplay(buffers.values());
        await this.#slices.yieldIfDue();
      }
    }
  }
}

/** Last observation and power state of a VM, in a checkpoint; see `VmFacts`. */
export interface KnownVm extends VmRef {
  readonly newestMs: number;
  readonly powerMs: number;
  readonly power: VmFacts['power'];
}

/**
 * A data center has an outage if more than this share of its VMs, and at least this number, are
 * silent.
 */
const OUTAGE_SHARE = 0.3;
const OUTAGE_VMS = 5;
const NONE_MISSING: ReadonlySet<number> = new Set();
/** VMs taken from the directory in one turn of the event loop. */
const PAGE = 1_000;

/** Time of the last observation of each registered VM, by project. */
export class VmLiveness {
  readonly #host: Host;
  readonly #onHeard: OutagePorts['onHeard'];
  readonly #projects = new Map<string, FactsByVm>();
  #outages = new Map<string, Outage>();
  /** Latest time of rows since the last tick, Unix ms. Infinity: not known. */
  #latestMs = Number.POSITIVE_INFINITY;
  #groupedMs = Number.NEGATIVE_INFINITY;
  #tickMs = Number.NEGATIVE_INFINITY;
  #listeningSinceMs = Number.POSITIVE_INFINITY;

  constructor(host: Host, onHeard?: OutagePorts['onHeard']) {
    this.#host = host;
    this.#onHeard = onHeard;
  }

  /** Reads the registered VMs and follows their changes. Returns a function that stops it. */
  async load(): Promise<() => void> {
    this.#projects.clear();
    const directory = vmDirectoryOf(this.#host);
    const undo = directory.onChange((project, vm, body) => this.#register(project, vm, body));
    for (const project of this.#host.projects()) {
      await directory.load(project);
      const vms = directory.vms(project);
      let count = 0;
      for (const vm of [...vms.keys()]) {
        if (++count % PAGE === 0) await nextTurn();
        this.#register(project, vm, vms.get(vm) ?? null);
      }
    }
    return undo;
  }

  /** Processes an entry of the log, before it is folded. */
  record(entry: LogEntry): void {
    if (entry.kind === 'batch') this.#recordRows(entry.batch);
    if (entry.kind !== 'tick') return;
    const silentMs = entry.atMs - this.#tickMs;
    if (silentMs < 0 || silentMs > GAP_TOLERANCE_MS) this.#listeningSinceMs = entry.atMs;
    this.#tickMs = entry.atMs;
    this.#rebase(entry.atMs);
  }

  /**
   * Otherwise a VM that reported while the clock was ahead would count as live until the clock
   * catches up.
   */
  #rebase(atMs: number): void {
    if (this.#latestMs <= atMs) return;
    this.#latestMs = atMs;
    for (const vms of this.#projects.values()) {
      for (const facts of vms.values()) rebaseFacts(facts, atMs);
    }
    for (const [datacenter, { sinceMs }] of this.#outages) {
      if (sinceMs > atMs + FUTURE_MS) this.#outages.set(datacenter, { datacenter, sinceMs: atMs });
    }
  }

  /** Known facts of the VMs of a partition's projects. */
  *factsOf(partition: number): Generator<KnownVm> {
    for (const [project, vms] of this.#projects) {
      if (partitionOf(project) !== partition) continue;
      for (const [vm, { newestMs, powerMs, power }] of vms) {
        if (Number.isFinite(newestMs)) yield { project, vm, newestMs, powerMs, power };
      }
    }
  }

  /** Takes over a checkpoint's facts of a VM that is still registered. */
  restore({ project, vm, newestMs, powerMs, power }: KnownVm): void {
    const facts = this.#projects.get(project)?.get(vm);
    if (facts) Object.assign(facts, { newestMs, powerMs, power });
  }

  /** Registered VMs of the partitions without a row in the log. */
  *unheard(
    isMeant: (partition: number) => boolean,
  ): Generator<{ readonly project: string; readonly vm: string }> {
    for (const [project, vms] of this.#projects) {
      if (!isMeant(partitionOf(project))) continue;
      for (const [vm, { newestMs }] of vms) if (!Number.isFinite(newestMs)) yield { project, vm };
    }
  }

  /** Records the last observation from history of a VM without a row in the log. */
  recall(project: string, vm: string, { observedMs, columns }: LatestRow): void {
    const facts = this.#projects.get(project)?.get(vm);
    if (!facts) return;
    this.#latestMs = Math.max(this.#latestMs, observedMs);
    const { state, stateReason, strings } = columns;
    const newest = state.findLastIndex((code) => code !== 0);
    const reason = strings[stateReason[newest] ?? 0] ?? '';
    recordObserved(facts, observedMs, powerOf({ state: state[newest] ?? 0, stateReason: reason }));
  }

  /** Outages from before a restart, from the log. They last until rows end them. */
  adopt(outages: Iterable<Outage>): void {
    const known = [...outages].map((outage) => [outage.datacenter, outage] as const);
    this.#outages = new Map([...known, ...this.#outages]);
  }

  /** Adds rows of the past, after later ones of the same VMs. */
  add(batch: SampleBatch): void {
    for (const { facts, observedMs, power } of this.#rowsOf(batch)) {
      recordObserved(facts, observedMs, power);
    }
  }

  /** The VMs of a project, as observed up to `atMs`. */
  *lastOf(project: string, atMs = Number.POSITIVE_INFINITY): Generator<LastObservation> {
    for (const [vm, { newestMs, power, datacenter }] of this.#projects.get(project) ?? []) {
      const isKnown = Number.isFinite(newestMs) && newestMs <= atMs;
      yield { project, vm, datacenter, ...(isKnown && { observedMs: newestMs, power }) };
    }
  }

  /**
   * VMs whose data center is missing in `known`, the fold's facts of the project; at most `max`.
   */
  *unplaced(project: string, known: FactsByVm, max: number) {
    let found = 0;
    for (const [vm, { datacenter }] of this.#projects.get(project) ?? []) {
      if (datacenter === '' || known.get(vm)?.datacenter === datacenter) continue;
      if (++found > max) return;
      yield { project, vm, datacenter };
    }
  }

  /**
   * Data centers that are completely silent, as of `atMs`; undefined if too little is known: after
   * a blind window, or when the log is behind. `intervalMs` is the time in which telemetry resumes.
   * VMs of `missing` partitions do not count.
   */
  outages(
    atMs: number,
    intervalMs: number,
    missing: ReadonlySet<number> = NONE_MISSING,
  ): readonly Outage[] | undefined {
    if (atMs - this.#tickMs > GAP_TOLERANCE_MS / 2) return undefined;
    if (atMs < this.#listeningSinceMs + intervalMs) return undefined;
    if (atMs !== this.#groupedMs) {
      this.#groupedMs = atMs;
      this.#outages = this.#count(atMs, missing);
    }
    return [...this.#outages.values()];
  }

  #count(atMs: number, missing: ReadonlySet<number>): Map<string, Outage> {
    const counts = new Map<string, { live: number; readonly silentMs: number[] }>();
    for (const [project, vms] of this.#projects) {
      if (missing.size > 0 && missing.has(partitionOf(project))) continue;
      for (const facts of vms.values()) {
        if (!isExpected(facts)) continue;
        const count = counts.get(facts.datacenter) ?? { live: 0, silentMs: [] };
        counts.set(facts.datacenter, count);
        if (atMs - facts.newestMs > GAP_TOLERANCE_MS) count.silentMs.push(facts.newestMs);
        else count.live++;
      }
    }
    const outages = new Map<string, Outage>();
    for (const datacenter of new Set([...counts.keys(), ...this.#outages.keys()])) {
      const { live, silentMs } = counts.get(datacenter) ?? { live: 0, silentMs: [] };
      const before = this.#outages.get(datacenter);
      const counted = { live, silentMs, isComplete: missing.size === 0 };
      const outage = before ? lasting(before, counted) : begun(datacenter, live, silentMs);
      if (outage) outages.set(datacenter, outage);
    }
    return outages;
  }

  #recordRows(batch: SampleBatch): void {
    const { receivedMs } = batch;
    const datacenters = new Set<string>();
    for (const { facts, observedMs, power } of this.#rowsOf(batch)) {
      rebaseFacts(facts, receivedMs);
      recordObserved(facts, observedMs, power);
      datacenters.add(facts.datacenter);
    }
    for (const datacenter of datacenters) this.#onHeard?.(datacenter, receivedMs);
  }

  /** Rows of registered VMs. */
  *#rowsOf(batch: SampleBatch) {
    const { vms, vm, observedMs, receivedMs, state, stateReason, strings } = batch;
    this.#latestMs = Math.max(this.#latestMs, receivedMs);
    for (let i = 0; i < batch.count; i++) {
      const named = vms[vm[i] ?? 0];
      const facts = named && this.#projects.get(named.project)?.get(named.vm);
      if (!facts) continue;
      const reason = strings[stateReason[i] ?? 0] ?? '';
      const power = powerOf({ state: state[i] ?? 0, stateReason: reason });
      yield { facts, observedMs: observedMs[i] ?? 0, power };
    }
  }

  #register(project: string, vm: string, registered: VmBody | null): void {
    if (registered === null || registered.retiredMs !== undefined) {
      this.#projects.get(project)?.delete(vm);
      return;
    }
    const vms = this.#projects.get(project) ?? new Map();
    this.#projects.set(project, vms);
    factsOf(vms, vm).datacenter = registered.datacenter;
  }
}

/**
 * False for a VM that was never observed or that its owner stopped, because no rows are expected of
 * it.
 */
function isExpected({ newestMs, power }: VmFacts): boolean {
  return Number.isFinite(newestMs) && power !== 'STOPPED';
}

/** The largest group of VMs that fell silent together, if it is large enough for an outage. */
function begun(datacenter: string, live: number, silentMs: number[]): Outage | undefined {
  silentMs.sort((a, b) => a - b);
  let most = { count: 0, sinceMs: 0 };
  for (let first = 0, last = 0; first < silentMs.length; first++) {
    const sinceMs = silentMs[first] ?? 0;
    while (last < silentMs.length && (silentMs[last] ?? 0) <= sinceMs + TOGETHER_MS) last++;
    if (last - first > most.count) most = { count: last - first, sinceMs };
  }
  const { count, sinceMs } = most;
  if (count < OUTAGE_VMS || count <= OUTAGE_SHARE * (count + live)) return undefined;
  return { datacenter, sinceMs };
}

/** The expected VMs of a data center. */
interface Counted {
  readonly live: number;
  /** Time of the last observation of each silent VM, Unix ms. */
  readonly silentMs: readonly number[];
  /** False: VMs of partitions that have not caught up are not counted. */
  readonly isComplete: boolean;
}

/**
 * The current state of the outage; undefined if it has ended, because some of its VMs send rows and
 * few are still silent, or none of them is left. Its end recovers nothing by itself: a held VM must
 * send a row (`datacenter-outage.ts`).
 */
function lasting(outage: Outage, { live, silentMs, isComplete }: Counted): Outage | undefined {
  const count = silentMs.filter((newestMs) => fellSilentIn(outage, newestMs)).length;
  // All of its VMs may be in partitions that have not caught up.
  const isLeft = count > 0 || (live === 0 && !isComplete);
  const isOver = !isLeft || (live > 0 && count <= OUTAGE_SHARE * (count + live));
  return isOver ? undefined : grown(outage, live, silentMs);
}

/**
 * An outage grows in steps: VMs that fall silent while it lasts belong to it if there are many of
 * them.
 */
function grown(outage: Outage, live: number, silentMs: readonly number[]): Outage {
  const others = silentMs.filter((newestMs) => !fellSilentIn(outage, newestMs));
  const later = begun(outage.datacenter, live, others);
  return later ? { ...outage, laterMs: [...(outage.laterMs ?? []), later.sinceMs] } : outage;
}
