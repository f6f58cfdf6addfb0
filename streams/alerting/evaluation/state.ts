/**
 * What the evaluator holds of a partition: rules in force as rows, and for each VM the lanes that
 * some rule watches. All of it is soft: a function of the log from its floor, and of the seed.
 */

import type {
  EvaluationRule,
  InstanceKey,
  Outage,
  ProjectInstances,
  RetiredVm,
} from '../../telemetry/entry.ts';
import type { MetricInput } from '../../telemetry/metrics/derive.ts';
import type { SeriesKey } from '../../telemetry/samples/batch.ts';
import { type FactsByVm, factsOf, type LastObservation, type VmFacts } from './facts.ts';
import type { DecidedIncident, Instance, RuleInForce } from './instance.ts';
import type { Lane, Stretch } from './lane.ts';
import { dropVm, retiredOf, withoutRule } from './room.ts';

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
  /** Of the keys of `plans`, since they were begun anew. */
  planCharacters: number;
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

function isOf({ rule: { rule } }: Instance, project: string, id: string): boolean {
  return rule.project === project && rule.rule === id;
}
