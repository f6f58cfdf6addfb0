/**
 * Everything that the evaluator holds for a partition: the active rules, and for each VM the series
 * buffers that some rule watches, and its facts beside these observations. All of it is soft state:
 * a function of the log from its floor, and of the seed.
 *
 * A project has a quota of instances, and its VMs can be retired; both are read from the log. The
 * first instances in the log's order are within the quota. The others are counted by rule, and
 * remembered by VM and series so that each counts once. They have no buffer, no timeline and no
 * incident until the quota allows.
 */

import type { MissingReason } from '../../../machines/alerting/incident.ts';
import {
  type Edge,
  type EvaluationRule,
  FUTURE_MS,
  GAP_TOLERANCE_MS,
  type InstanceKey,
  type Outage,
  type ProjectInstances,
  type RetiredVm,
  TOGETHER_MS,
} from '../../telemetry/entry.ts';
import {
  type MetricInput,
  type Power,
  powerAfter,
  type ReportedPowerState,
} from '../../telemetry/metrics/derive.ts';
import type { SeriesKey, VmRef } from '../../telemetry/samples/batch.ts';
import type { DecidedIncident, Instance, RuleInForce, SeriesBuffer, Stretch } from './instance.ts';

/** The last incident of an instance according to its row, open or not. */
export interface SeedIncident extends DecidedIncident {
  readonly key: InstanceKey;
}

/** Start of a fold if the log no longer holds the entries that led there. */
export interface EvaluationSeed {
  /** Rules that are active at the log's floor. */
  readonly rules: readonly EvaluationRule[];
  /**
   * The last incident of each instance, as of now, open or recovered within the log. Incidents of
   * rules whose marker the log still holds are kept until it is read.
   */
  readonly firing: readonly SeedIncident[];
  /** The current quotas. */
  readonly limits?: readonly ProjectInstances[];
  /** Every retired VM, with its last retirement. Observations before it only go to history. */
  readonly retired?: readonly RetiredVm[];
  /** VMs that may have no row in the log. */
  readonly observed?: readonly LastObservation[];
  /** See `EvaluationState`; default false. */
  readonly isAlwaysListening?: boolean;
}

/** Numbers of rows that were not used, or not used as received, since this state was created. */
export interface EvaluationCounters {
  /** Same series and time with another value. The first value was kept. */
  conflicts: number;
  /** Same series, time and value; ignored. */
  duplicates: number;
  /** Too late for alerting, or observed before the VM's last retirement; history only. */
  tooLate: number;
  /** Further ahead of its receipt than allowed; rejected. */
  future: number;
  /** The clock of the source, or of the service, was set back. */
  clockBackwards: number;
  /** Times later than a tick that were moved to it, after the service's clock was set back. */
  rebased: number;
  /** Past firings and corrections found too late for the instance's machine to take them. */
  unrecorded: number;
  /** Observations on which a rule could not be evaluated because of a bug in this program. */
  failures: number;
}

/** Series of rows of one shape, and the slots of each metric's readings in them. */
export interface LayoutPlan {
  readonly series: readonly SeriesKey[];
  /** Filled as metrics are requested. */
  readonly inputs: Map<string, readonly MetricInput[]>;
}

/** One reading of a row, and the buffer to which it goes. */
export interface Route {
  readonly buffer: SeriesBuffer;
  readonly input: MetricInput;
}

/**
 * A VM of a project with rules. It is created with its first row and exists until it is retired or
 * forgotten.
 */
export interface WatchedVm {
  readonly vm: string;
  /** Number of earlier retirements of the VM; absent: none. */
  readonly generation?: number;
  readonly facts: VmFacts;
  readonly buffers: Map<string, SeriesBuffer>;
  /** Routes of each shape of row, until rules change. */
  readonly routes: Map<LayoutPlan, readonly Route[]>;
  routesVersion: number;
  /** Rules that do not evaluate a series because of the quota, by the buffer's key. */
  readonly unevaluated: Map<string, readonly string[]>;
}

/** A project with active rules. */
export interface WatchedProject {
  readonly rules: Map<string, RuleInForce>;
  readonly vms: Map<string, WatchedVm>;
  readonly retired: ReadonlyMap<string, RetiredVm>;
  /** Facts of every VM that was observed, or named in a liveness report or seed. */
  readonly facts: FactsByVm;
  /** Increased when rules change, or when the quota has room again. */
  version: number;
  /** Number of evaluated instances, and its maximum: the first ones in the log's order. */
  instances: number;
  instancesMax: number;
  /** Number of instances beyond the quota, by rule. Rules without any are absent. */
  readonly unevaluated: Map<string, number>;
}

/** Changes of an entry, which `edgesOf` compares with the reported state. */
export interface Changes {
  readonly touched: readonly Instance[];
  /** VMs that their owners have just stopped. */
  readonly stopped: Iterable<WatchedVm>;
  /** Edges that time alone decided. */
  readonly edges: readonly Edge[];
}

/**
 * The whole state of one partition. The fold changes it in place, because copying it for each row
 * would take longer than evaluating.
 */
export interface EvaluationState {
  readonly projects: Map<string, WatchedProject>;
  readonly plans: Map<string, LayoutPlan>;
  /** Total characters of the keys of `plans` since the map was last cleared. */
  planCharacters: number;
  /** The same plans by list object, for lists that are used repeatedly. */
  readonly plansByList: WeakMap<readonly SeriesKey[], LayoutPlan>;
  /** Instances with an open incident, which ticks check. */
  readonly open: Set<Instance>;
  /** Instance quotas of projects, whether or not they have rules. */
  readonly limits: Map<string, number>;
  /** Retired VMs of projects, by VM. */
  retired: Map<string, Map<string, RetiredVm>>;
  /** Facts of VMs, by project. */
  facts: Map<string, FactsByVm>;
  /** As of the last liveness report, by data center; undefined if absent yet. */
  outages: ReadonlyMap<string, Outage> | undefined;
  /** Time in which no one listened, for telemetry rules. */
  blind: Stretch | undefined;
  /** Last removed revision of inactive rules (`project/rule`); 0: the marker named none. */
  readonly paused: Map<string, number>;
  /** Buffers that took a late row within one entry. */
  readonly stale: Set<SeriesBuffer>;
  /** Seeds whose rule is not active yet. */
  seeds: readonly SeedIncident[];
  readonly counters: EvaluationCounters;
  /** Epoch of the newest lease under which an entry was written. */
  epoch: number;
  /** Time of the last entry, Unix ms. */
  nowMs: number;
  /**
   * Latest time of an entry or a seed since the last tick, Unix ms. If it is above a tick, a clock
   * was set back. Infinity: not known yet.
   */
  latestMs: number;
  /** Ticks have arrived without a break since then. Earlier silence proves nothing. */
  listeningSinceMs: number;
  lastTickMs: number;
  /**
   * True if stored samples are all there is, so that there is never a time in which no one listens.
   */
  isAlwaysListening: boolean;
  /**
   * The log is being read again, and rows may be ahead of it. The time of a tick, by a clock that
   * may have been wrong, proves nothing. Set by the reader until it has read all of the log.
   */
  isReplaying: boolean;
  /**
   * Observations after this time, Unix ms, are from before the clock was set back: the log is read
   * again, and its rows cannot be of the future. They do not prove that the log has passed a
   * decision in rows. Infinity: none.
   */
  aheadFromMs: number;
  /** All of the log has been read, so nothing that rows have recorded can still follow in it. */
  isLive: boolean;
  /** Time of the last search for silent VMs, Unix ms. */
  lastSweepMs: number;
}

/** The state before the first entry of a log. Everything in it comes from the log or the seed. */
export function emptyState(): EvaluationState {
  return {
    projects: new Map(),
    plans: new Map(),
    planCharacters: 0,
    plansByList: new WeakMap(),
    open: new Set(),
    limits: new Map(),
    retired: new Map(),
    facts: new Map(),
    outages: undefined,
    blind: undefined,
    paused: new Map(),
    stale: new Set(),
    seeds: [],
    counters: {
      conflicts: 0,
      duplicates: 0,
      tooLate: 0,
      future: 0,
      clockBackwards: 0,
      rebased: 0,
      unrecorded: 0,
      failures: 0,
    },
    epoch: 0,
    nowMs: Number.NEGATIVE_INFINITY,
    latestMs: Number.POSITIVE_INFINITY,
    listeningSinceMs: Number.POSITIVE_INFINITY,
    lastTickMs: Number.NEGATIVE_INFINITY,
    isAlwaysListening: false,
    isReplaying: false,
    isLive: false,
    aheadFromMs: Number.POSITIVE_INFINITY,
    lastSweepMs: Number.NEGATIVE_INFINITY,
  };
}

/** Activates a rule for observations from `sinceMs` on. Incidents seeded for it are open. */
export function addRule(
  state: EvaluationState,
  rule: EvaluationRule,
  sinceMs: number,
  breachFromMs = Number.NEGATIVE_INFINITY,
): void {
  let project = state.projects.get(rule.project);
  if (!project) {
    project = {
      rules: new Map(),
      vms: new Map(),
      retired: retiredOf(state, rule.project),
      facts: projectFacts(state, rule.project),
      version: 0,
      instances: 0,
      instancesMax: state.limits.get(rule.project) ?? Number.POSITIVE_INFINITY,
      unevaluated: new Map(),
    };
    state.projects.set(rule.project, project);
  }
  const vms = rule.vms === undefined ? undefined : new Set(rule.vms);
  project.rules.set(rule.rule, { rule, sinceMs, breachFromMs, vms });
  project.version++;
}

/** Ends a rule and drops its instances, silently: retiring them is committed elsewhere. */
export function removeRule(state: EvaluationState, projectId: string, rule: string): void {
  const project = state.projects.get(projectId);
  if (!project?.rules.delete(rule)) return;
  project.version++;
  for (const instance of state.open)
    if (isOf(instance, projectId, rule)) state.open.delete(instance);
  for (const vm of project.vms.values()) {
    for (const [key, buffer] of vm.buffers) {
      const kept = buffer.instances.filter((instance) => !isOf(instance, projectId, rule));
      project.instances -= buffer.instances.length - kept.length;
      buffer.instances = kept;
      if (kept.length === 0) vm.buffers.delete(key);
    }
    withoutRule(project, vm, rule);
    if (vm.buffers.size === 0) dropVm(project, vm);
  }
  if (project.rules.size === 0) state.projects.delete(projectId);
}

/** Facts of a project's VMs, whether or not it has rules. */
export function projectFacts({ facts }: EvaluationState, project: string): FactsByVm {
  let known = facts.get(project);
  if (!known) {
    known = new Map();
    facts.set(project, known);
  }
  return known;
}

/** The VM's state in the project, created if it is new. */
export function watchedVm(project: WatchedProject, vm: string): WatchedVm {
  let watched = project.vms.get(vm);
  if (!watched) {
    const generation = project.retired.get(vm)?.generation;
    watched = {
      vm,
      buffers: new Map(),
      routes: new Map(),
      routesVersion: project.version,
      facts: factsOf(project.facts, vm),
      unevaluated: new Map(),
      ...(generation !== undefined && { generation }),
    };
    project.vms.set(vm, watched);
  }
  return watched;
}

function isOf({ rule: { rule } }: Instance, project: string, id: string): boolean {
  return rule.project === project && rule.rule === id;
}

/** Sets a project's quota. Evaluated instances stay; others use the remainder. */
export function setInstanceQuota(state: EvaluationState, limit: ProjectInstances): void {
  state.limits.set(limit.project, limit.instances);
  const project = state.projects.get(limit.project);
  if (!project) return;
  project.instancesMax = limit.instances;
  reofferQuota(project);
}

/** Drops a retired VM, without edges. A later row with its id is a new VM. */
export function retireVm(state: EvaluationState, retired: RetiredVm): void {
  const known = retiredOf(state, retired.project);
  if ((known.get(retired.vm)?.generation ?? 0) >= retired.generation) return;
  known.set(retired.vm, retired);
  state.facts.get(retired.project)?.delete(retired.vm);
  const project = state.projects.get(retired.project);
  const vm = project?.vms.get(retired.vm);
  if (!project || !vm) return;
  for (const buffer of vm.buffers.values()) {
    for (const instance of buffer.instances) state.open.delete(instance);
    state.stale.delete(buffer);
  }
  dropVm(project, vm);
}

/** VMs of a project that were retired, by VM. */
export function retiredOf({ retired }: EvaluationState, project: string): Map<string, RetiredVm> {
  let known = retired.get(project);
  if (!known) {
    known = new Map();
    retired.set(project, known);
  }
  return known;
}

/**
 * True for observations from before the VM's retirement, which only go to history. Live, a
 * retirement later than the row's receipt was recorded by a clock that has been set back since. In
 * a log that is read again, rows may record it before its entry arrives.
 */
export function isBeforeRetirement(
  { isLive }: EvaluationState,
  project: WatchedProject,
  vm: string,
  { observedMs, receivedMs }: { readonly observedMs: number; readonly receivedMs: number },
): boolean {
  if (project.retired.size === 0) return false;
  const retiredMs = project.retired.get(vm)?.atMs ?? Number.NEGATIVE_INFINITY;
  if (isLive && retiredMs > receivedMs + FUTURE_MS) return false;
  return observedMs <= retiredMs;
}

/** Moves retirements that are later than a tick to it. @returns true if there were any */
export function retimeRetired({ retired, isLive }: EvaluationState, atMs: number): boolean {
  let isMoved = false;
  if (!isLive) return isMoved;
  for (const vms of retired.values()) {
    for (const [vm, one] of vms) {
      if (one.atMs <= atMs + FUTURE_MS) continue;
      vms.set(vm, { ...one, atMs });
      isMoved = true;
    }
  }
  return isMoved;
}

/** Forgets a buffer with its instances, none of which has an open incident. */
export function dropBuffer(project: WatchedProject, vm: WatchedVm, key: string): void {
  project.instances -= vm.buffers.get(key)?.instances.length ?? 0;
  vm.buffers.delete(key);
  vm.routes.clear();
  reofferQuota(project);
}

/** Forgets a VM with all its buffers. */
export function dropVm(project: WatchedProject, vm: WatchedVm): void {
  for (const { instances } of vm.buffers.values()) project.instances -= instances.length;
  forgetUnevaluated(project, vm);
  project.vms.delete(vm.vm);
  reofferQuota(project);
}

/** Rechecks the series beyond the quota with the next row of their VM. */
function reofferQuota(project: WatchedProject): void {
  if (project.unevaluated.size > 0 && project.instances < project.instancesMax) project.version++;
}

/** Records the rules that do not evaluate one series, replacing those recorded before. */
export function recordUnevaluated(
  project: WatchedProject,
  vm: WatchedVm,
  buffer: string,
  rules: readonly string[],
): void {
  for (const rule of vm.unevaluated.get(buffer) ?? []) add(project, rule, -1);
  for (const rule of rules) add(project, rule, 1);
  if (rules.length > 0) vm.unevaluated.set(buffer, rules);
  else vm.unevaluated.delete(buffer);
}

/** Called when the VM is removed. */
function forgetUnevaluated(project: WatchedProject, vm: WatchedVm): void {
  for (const buffer of vm.unevaluated.keys()) recordUnevaluated(project, vm, buffer, []);
}

/** Removes the rule for this VM only. */
function withoutRule(project: WatchedProject, vm: WatchedVm, rule: string): void {
  for (const [buffer, rules] of vm.unevaluated) {
    if (!rules.includes(rule)) continue;
    const others = rules.filter((other) => other !== rule);
    recordUnevaluated(project, vm, buffer, others);
  }
}

function add({ unevaluated }: WatchedProject, rule: string, count: number): void {
  const after = (unevaluated.get(rule) ?? 0) + count;
  if (after > 0) unevaluated.set(rule, after);
  else unevaluated.delete(rule);
}

// Facts of a VM beside the observations in its buffers: when it was last observed, its power state
// as reported by the hypervisor, and the content of liveness reports about it. They outlive
// buffers, because rules are added and removed, and a VM that fell silent before the log's floor
// has no row in the log at all.

/** Facts of a VM beside its series: when it was last observed, whether it runs, and where. */
export interface VmFacts {
  /** Newest observation of any series, Unix ms; -Infinity = never. */
  newestMs: number;
  /** Newest observation that reported the VM's power state, Unix ms, and that state. */
  powerMs: number;
  power: Power;
  /** '' = unknown. */
  datacenter: string;
  /** Time of the newest tick that reported its clock as ahead, Unix ms. */
  aheadMs: number;
}

/** A VM known from rows and history before the log; times are Unix ms. */
export interface LastObservation extends VmRef {
  /** Absent: never observed. */
  readonly observedMs?: number;
  readonly power?: Power;
  readonly datacenter?: string;
}

/** Facts of one project's VMs, by VM id. */
export type FactsByVm = Map<string, VmFacts>;

/** Facts of a VM, created if missing. */
export function factsOf(facts: FactsByVm, vm: string): VmFacts {
  let known = facts.get(vm);
  if (!known) {
    const never = Number.NEGATIVE_INFINITY;
    known = {
      newestMs: never,
      powerMs: never,
      power: 'UNREPORTED',
      datacenter: '',
      aheadMs: never,
    };
    facts.set(vm, known);
  }
  return known;
}

/**
 * Records an observation. One without a power state keeps the known one, until the hypervisor has
 * been silent for longer than the tolerance.
 */
export function recordObserved(
  facts: VmFacts,
  observedMs: number,
  reported: ReportedPowerState,
): void {
  const power = powerAfter(facts.power === 'DOWN', reported);
  if (observedMs > facts.newestMs) facts.newestMs = observedMs;
  const isOld = observedMs - facts.powerMs > GAP_TOLERANCE_MS;
  if (observedMs < facts.powerMs || (power === 'UNREPORTED' && !isOld)) return;
  if (power === 'UNREPORTED' && facts.power === 'UNREPORTED') return;
  facts.powerMs = observedMs;
  facts.power = power;
}

/** Counts a time that was moved to the present. A log that is read again counts none twice. */
export function countRebased({ counters, isLive }: EvaluationState): void {
  if (isLive) counters.rebased++;
}

/**
 * Moves facts that are later than `nowMs` to it: the clock by which they were observed was set
 * back, and later facts would not replace them. @returns true if there were any
 */
export function rebaseFacts(facts: VmFacts, nowMs: number): boolean {
  const limitMs = nowMs + FUTURE_MS;
  const isMoved = Math.max(facts.newestMs, facts.powerMs, facts.aheadMs) > limitMs;
  if (facts.newestMs > limitMs) facts.newestMs = nowMs;
  if (facts.powerMs > limitMs) facts.powerMs = nowMs;
  if (facts.aheadMs > limitMs) facts.aheadMs = nowMs;
  return isMoved;
}

/**
 * True if a row of that time does not describe a running VM. The state comes from the hypervisor:
 * rows of other sources, and readings repeated while it is off, are not current (EVAL-24).
 */
export function isAway(facts: VmFacts, observedMs: number, power: ReportedPowerState): boolean {
  if (power !== 'UNREPORTED') return power !== 'RUNNING';
  const powerAgeMs = observedMs - facts.powerMs;
  return facts.power === 'STOPPED' && powerAgeMs > 0 && powerAgeMs <= GAP_TOLERANCE_MS;
}

/** Time for which a VM that was reported as ahead of the clock counts as such, ms. */
const AHEAD_MS = 120_000;

/** The reason why a VM has no data, as of `nowMs`. */
export function missingReason(
  facts: VmFacts,
  outage: Outage | undefined,
  nowMs: number,
): MissingReason {
  if (facts.power === 'STOPPED') return 'VM_STOPPED';
  if (nowMs - facts.aheadMs <= AHEAD_MS) return 'CLOCK_AHEAD';
  return outage && fellSilentIn(outage, facts.newestMs) ? 'DATACENTER_STALE' : 'NO_DATA';
}

/** True if a VM last observed at `newestMs`, Unix ms, fell silent with the others of the outage. */
export function fellSilentIn({ sinceMs, laterMs = [] }: Outage, newestMs: number): boolean {
  return [sinceMs, ...laterMs].some(
    (fromMs) => newestMs >= fromMs && newestMs <= fromMs + TOGETHER_MS,
  );
}
