/**
 * What the evaluator holds of a partition: rules in force as rows, and for each VM the lanes that
 * some rule watches. All of it is soft: a function of the log from its floor, and of the seed.
 */
import { metricCatalogue } from '../metrics/catalogue.ts';
import { inputsOf, type MetricInput } from '../metrics/derive.ts';
import type { SeriesKey } from '../samples/batch.ts';
import type { EvaluationRule, InstanceKey, Outage, ProjectInstances, RetiredVm } from './entry.ts';
import { type FactsByVm, factsOf, type LastObservation, type VmFacts } from './facts.ts';
import {
  createInstance,
  type DecidedIncident,
  type Instance,
  type RuleInForce,
} from './instance.ts';
import { createLane, type Lane, type Stretch } from './lane.ts';
import { dropVm, noteUnevaluated, retiredOf, withoutRule } from './room.ts';

/** What an instance's row says was decided: its last incident, open or not. */
export interface SeedIncident extends DecidedIncident {
  readonly key: InstanceKey;
}

/** Where a fold starts when the log no longer holds what led there. */
export interface EvaluationSeed {
  /** Rules in force at the log's floor. */
  readonly rules: readonly EvaluationRule[];
  /**
   * The last incident of each instance, as of now, open or recovered within the log. Those of rules
   * whose marker the log still holds are kept until it comes.
   */
  readonly firing: readonly SeedIncident[];
  /** As they hold now. */
  readonly limits?: readonly ProjectInstances[];
  /** Every VM that has been retired, with its last time: what it told before is history alone. */
  readonly retired?: readonly RetiredVm[];
  /** VMs that may have no row in the log. */
  readonly observed?: readonly LastObservation[];
}

/** What was seen and not used, or not as it came; each a row, since this state was made. */
export interface EvaluationCounters {
  /** Same series and time with another value: the first was kept. */
  conflicts: number;
  /** Same series, time and value: ignored. */
  duplicates: number;
  /** Further behind its series' newest observation than the lateness bound: history only. */
  late: number;
  /** Further ahead of its receipt than allowed: refused. */
  future: number;
  /** The source's clock had gone back. */
  clockBackwards: number;
  /** Past firings and corrections found too late for the instance's machine to take them. */
  unrecorded: number;
  /** Observations that a rule could not be evaluated on, by a fault of ours. */
  failures: number;
}

/** Which series rows of one shape have, and where each metric's readings are in them. */
export interface LayoutPlan {
  readonly series: readonly SeriesKey[];
  /** Filled as metrics are asked for. */
  readonly inputs: Map<string, readonly MetricInput[]>;
}

export interface Route {
  readonly lane: Lane;
  readonly input: MetricInput;
}

export interface WatchedVm {
  readonly vm: string;
  /** How often the VM was retired before; absent: never. */
  readonly generation?: number;
  readonly facts: VmFacts;
  readonly lanes: Map<string, Lane>;
  /** Lanes of each shape of row, until rules change. */
  readonly routes: Map<LayoutPlan, readonly Route[]>;
  routesVersion: number;
  /** Rules that the bound keeps from evaluating a lane, by the lane's key. */
  readonly unevaluated: Map<string, readonly string[]>;
}

export interface WatchedProject {
  readonly rules: Map<string, RuleInForce>;
  readonly vms: Map<string, WatchedVm>;
  readonly retired: ReadonlyMap<string, RetiredVm>;
  /** Of every VM that has been heard, or told of. */
  readonly facts: FactsByVm;
  /** Raised when rules change, or there is room again for instances that had none. */
  version: number;
  /** Instances that are evaluated, and how many may be: the first ones in the log's order. */
  instances: number;
  instancesMax: number;
  /** How many instances of a rule are not evaluated for want of room; those that have some. */
  readonly unevaluated: Map<string, number>;
}

export interface EvaluationState {
  readonly projects: Map<string, WatchedProject>;
  readonly plans: Map<string, LayoutPlan>;
  /** The same by the list itself, where one comes again and again. */
  readonly plansByList: WeakMap<readonly SeriesKey[], LayoutPlan>;
  /** Instances with an open incident: what ticks look at. */
  readonly open: Set<Instance>;
  /** Bounds of projects, whether or not they have rules. */
  readonly limits: Map<string, number>;
  /** Retired VMs of projects, by VM. */
  retired: Map<string, Map<string, RetiredVm>>;
  /** What is known of VMs, by project. */
  facts: Map<string, FactsByVm>;
  /** As of the last census, by data center; undefined: there was none yet. */
  outages: ReadonlyMap<string, Outage> | undefined;
  /** Nobody listened, as far as telemetry rules are concerned. */
  deaf: Stretch | undefined;
  /** Last removed revision of rules (`project/rule`) out of force; 0: the marker named none. */
  readonly paused: Map<string, number>;
  /** Lanes that took a late row in, within one entry. */
  readonly stale: Set<Lane>;
  /** Seeds whose rule is not in force yet. */
  seeds: readonly SeedIncident[];
  readonly counters: EvaluationCounters;
  /** Time of the last entry, Unix ms. */
  nowMs: number;
  /** Ticks have come without a break since then: silence before it proves nothing. */
  listeningSinceMs: number;
  lastTickMs: number;
  /**
   * The log is being read again, and rows may be further than it has come: the time of a tick, by a
   * clock that may have been wrong, does not tell. Set by whoever reads, until all of it is read.
   */
  isReplaying: boolean;
  /** When silent VMs were last looked for, Unix ms. */
  lastSweepMs: number;
}

/** Shapes and routes remembered; beyond it they are computed again. */
const PLANS_MAX = 10_000;
const ROUTES_MAX = 16;

export function emptyState(): EvaluationState {
  return {
    projects: new Map(),
    plans: new Map(),
    plansByList: new WeakMap(),
    open: new Set(),
    limits: new Map(),
    retired: new Map(),
    facts: new Map(),
    outages: undefined,
    deaf: undefined,
    paused: new Map(),
    stale: new Set(),
    seeds: [],
    counters: {
      conflicts: 0,
      duplicates: 0,
      late: 0,
      future: 0,
      clockBackwards: 0,
      unrecorded: 0,
      failures: 0,
    },
    nowMs: Number.NEGATIVE_INFINITY,
    listeningSinceMs: Number.POSITIVE_INFINITY,
    lastTickMs: Number.NEGATIVE_INFINITY,
    isReplaying: false,
    lastSweepMs: Number.NEGATIVE_INFINITY,
  };
}

/** Puts a rule in force for observations from `sinceMs` on; incidents seeded for it are open. */
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
    for (const [key, lane] of vm.lanes) {
      const kept = lane.instances.filter((instance) => !isOf(instance, projectId, rule));
      project.instances -= lane.instances.length - kept.length;
      lane.instances = kept;
      if (kept.length === 0) vm.lanes.delete(key);
    }
    withoutRule(project, vm, rule);
    if (vm.lanes.size === 0) dropVm(project, vm);
  }
  if (project.rules.size === 0) state.projects.delete(projectId);
}

/** Opens the incidents that rows have open for rules now in force, and keeps the other seeds. */
export function plantSeeds(state: EvaluationState): void {
  state.seeds = state.seeds.filter((seed) => {
    const { key } = seed;
    const gone = state.retired.get(key.project)?.get(key.vm)?.generation ?? 0;
    if (gone > (key.generation ?? 0)) return false;
    const project = state.projects.get(key.project);
    const rule = project?.rules.get(key.rule);
    if (!project || rule?.rule.evaluationRevision !== key.evaluationRevision) return true;
    if (key.vm !== '' && gone < (key.generation ?? 0)) return true;
    // People have been told of it: it is evaluated, whatever room there is.
    const place = { metricId: rule.rule.metricId, labels: key.labels, isKept: true };
    const lane = laneOf(project, watchedVm(project, key.vm), place);
    const instance = lane?.instances.find((candidate) => candidate.rule === rule);
    if (!instance) return true;
    instance.decided = seed;
    if (seed.heldVms && seed.recoveredMs === undefined) instance.held = new Set(seed.heldVms);
    if (seed.recoveredMs === undefined) state.open.add(instance);
    return false;
  });
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

export function watchedVm(project: WatchedProject, vm: string): WatchedVm {
  let watched = project.vms.get(vm);
  if (!watched) {
    const generation = project.retired.get(vm)?.generation;
    watched = {
      ...{ vm, lanes: new Map(), routes: new Map(), routesVersion: project.version },
      ...{
        facts: factsOf(project.facts, vm),
        unevaluated: new Map(),
        ...(generation !== undefined && { generation }),
      },
    };
    project.vms.set(vm, watched);
  }
  return watched;
}

/** Shape of rows with these series, the same object each time. */
export function planOf(state: EvaluationState, series: readonly SeriesKey[]): LayoutPlan {
  const known = state.plansByList.get(series);
  if (known) return known;
  const key = series.join('\n');
  let plan = state.plans.get(key);
  if (!plan) {
    if (state.plans.size >= PLANS_MAX) state.plans.clear();
    plan = { series, inputs: new Map() };
    state.plans.set(key, plan);
  }
  state.plansByList.set(series, plan);
  return plan;
}

/** Where a row of this shape goes: a lane, and the place of its readings, for each metric. */
export function routesOf(
  project: WatchedProject,
  vm: WatchedVm,
  plan: LayoutPlan,
): readonly Route[] {
  if (vm.routesVersion !== project.version || vm.routes.size >= ROUTES_MAX) vm.routes.clear();
  vm.routesVersion = project.version;
  let routes = vm.routes.get(plan);
  if (!routes) {
    const metrics = new Set(covering(project, vm.vm).map(({ rule }) => rule.metricId));
    routes = [...metrics].flatMap((metricId) => metricRoutes(project, vm, plan, metricId));
    vm.routes.set(plan, routes);
  }
  return routes;
}

function metricRoutes(
  project: WatchedProject,
  vm: WatchedVm,
  plan: LayoutPlan,
  metricId: string,
): Route[] {
  let inputs = plan.inputs.get(metricId);
  if (!inputs) {
    const descriptor = metricCatalogue.get(metricId);
    inputs = descriptor ? inputsOf(descriptor.derivation, plan.series) : [];
    plan.inputs.set(metricId, inputs);
  }
  return inputs.flatMap((input) => {
    const lane = laneOf(project, vm, { metricId, labels: input.labels });
    return lane ? [{ lane, input }] : [];
  });
}

/**
 * The lane, made when missing, with an instance for each rule that watches it and has room.
 * `isKept`: room or not.
 */
export function laneOf(
  project: WatchedProject,
  vm: WatchedVm,
  { metricId, labels, isKept }: { metricId: string; labels: string; isKept?: boolean },
): Lane | undefined {
  const rules = covering(project, vm.vm).filter(({ rule }) => rule.metricId === metricId);
  const derivation = metricCatalogue.get(metricId)?.derivation;
  if (rules.length === 0 || !derivation) return undefined;
  const key = laneKey({ metricId, labels });
  const { generation } = vm;
  const about = { vm: vm.vm, metricId, labels, derivation };
  const lane =
    vm.lanes.get(key) ?? createLane({ ...about, ...(generation !== undefined && { generation }) });
  const withoutRoom: string[] = [];
  for (const rule of rules) {
    if (lane.instances.some((instance) => instance.rule === rule)) continue;
    if (isKept || project.instances < project.instancesMax) {
      lane.instances.push(createInstance(rule, lane));
      project.instances++;
    } else withoutRoom.push(rule.rule.rule);
  }
  noteUnevaluated(project, vm, key, withoutRoom);
  if (lane.instances.length === 0) return undefined;
  vm.lanes.set(key, lane);
  return lane;
}

export function laneKey({ metricId, labels }: Pick<Lane, 'metricId' | 'labels'>): string {
  return metricId + labels;
}

/** Rules that watch a VM; '' stands for a data center, which may have VMs of any of them. */
function covering(project: WatchedProject, vm: string): RuleInForce[] {
  const isCovered = ({ vms }: RuleInForce): boolean =>
    vms === undefined || vm === '' || vms.has(vm);
  return [...project.rules.values()].filter(isCovered);
}

function isOf({ rule: { rule } }: Instance, project: string, id: string): boolean {
  return rule.project === project && rule.rule === id;
}
