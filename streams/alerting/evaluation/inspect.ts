/**
 * Soft instances on request. An instance that has never fired has no row, so its state (idle,
 * sustaining, or without data) is known only here.
 */

import { type Condition, conditionOf } from '../../../machines/alerting/alert-instance.ts';
import { type ObservedEvent, pathEndOf } from '../../../machines/alerting/alert-instance-path.ts';
import { GAP_TOLERANCE_MS, type InstanceKey } from '../../telemetry/entry.ts';
import { eventsOf, type Instance, isAgeBuffer, keyOf } from './instance.ts';
import type { EvaluationState, WatchedVm } from './state.ts';

/** State of an instance as the API names it. A retired instance has no live state. */
export type LiveState = Uppercase<Exclude<Condition, 'retired'>>;

/** One instance as the evaluator holds it now, whether or not it ever fired. */
export interface SoftInstance extends InstanceKey {
  readonly state: LiveState;
  /** First breaching observation of the run or incident, Unix ms; absent when idle. */
  readonly sinceMs?: number;
  /** Newest observed value of the rule's metric, and when; absent: none in the evaluator's reach. */
  readonly lastValue?: number;
  readonly lastObservedMs?: number;
  /** MISSING: the newest value is older than the gap tolerance, as of the log's last entry. */
  readonly dataState: 'OBSERVED' | 'MISSING';
  readonly missingSinceMs?: number;
  /** When its run has lasted for long enough, Unix ms; only of an observed one that is SUSTAINING. */
  readonly firesAtMs?: number;
  /** Why its rule could not be evaluated on the last observation. */
  readonly failure?: string;
}

/** Key of an instance, independent of its rule's revision. */
export type SeriesOfRule = Pick<InstanceKey, 'project' | 'rule' | 'vm' | 'labels'>;

/** One instance, with the events of its machine that led to its state, oldest first. */
export interface InspectedInstance {
  readonly instance: SoftInstance;
  readonly events: readonly ObservedEvent[];
}

/**
 * Every instance of a project's rules in force, VM by VM. Those of whole data centers are not among
 * them: they have no state but their incidents.
 */
export function inspect(state: EvaluationState, project: string): SoftInstance[] {
  const found: SoftInstance[] = [];
  for (const { vm, buffers } of state.projects.get(project)?.vms.values() ?? []) {
    if (vm === '') continue;
    for (const { instances } of buffers.values()) {
      for (const instance of instances) found.push(softInstance(instance, state.nowMs));
    }
  }
  return found;
}

/** The instance of a rule in force for a series of a VM; undefined: there is none. */
export function inspectOne(
  state: EvaluationState,
  { project, rule, vm, labels }: SeriesOfRule,
): InspectedInstance | undefined {
  const buffers = state.projects.get(project)?.vms.get(vm)?.buffers.values() ?? [];
  for (const buffer of buffers) {
    if (vm === '' || buffer.labels !== labels) continue;
    const instance = buffer.instances.find((each) => each.rule.rule.rule === rule);
    if (!instance) continue;
    const events = eventsOf(instance, state.nowMs);
    return { instance: softInstance(instance, state.nowMs), events };
  }
  return undefined;
}

/** Filter and start of a page of instances. */
export interface InstancePage {
  /** Of this rule, or this VM, alone. */
  readonly rule?: string;
  readonly vm?: string;
  /** In one of these states, or in this data state, alone. */
  readonly states?: readonly LiveState[];
  readonly dataState?: SoftInstance['dataState'];
  /** Only those after this one. */
  readonly after?: InstancePosition;
  readonly limit: number;
}

/** Position of an instance in its project's order. */
export type InstancePosition = Omit<InstanceKey, 'project'>;

/**
 * A page of a project's instances in the order of VM, rule, labels and revision. Only VMs of the
 * page are looked at: all of 10,000 instances would be 10 ms of the thread for every page.
 */
export function inspectPage(
  state: EvaluationState,
  project: string,
  { rule, vm: only, states, dataState, after, limit }: InstancePage,
): SoftInstance[] {
  const vms = state.projects.get(project)?.vms ?? new Map<string, WatchedVm>();
  const found: SoftInstance[] = [];
  const isMeant = (soft: SoftInstance): boolean =>
    (states === undefined || states.includes(soft.state)) &&
    (dataState === undefined || soft.dataState === dataState);
  for (const vm of [...(only === undefined ? vms.keys() : [only])]
    .filter((each) => each !== '' && (!after || each >= after.vm))
    .sort()) {
    if (found.length >= limit) break;
    const instances = [...(vms.get(vm)?.buffers.values() ?? [])]
      .flatMap((buffer) => [...buffer.instances])
      .map((instance) => ({ instance, key: keyOf(instance) }))
      .filter(({ key }) => (rule === undefined || key.rule === rule) && isAfter(key, after))
      .sort((a, b) => compare(a.key, b.key));
    for (const { instance } of instances) {
      const soft = softInstance(instance, state.nowMs);
      if (isMeant(soft)) found.push(soft);
    }
  }
  return found.slice(0, limit);
}

function isAfter(key: InstanceKey, after: InstancePosition | undefined): boolean {
  return after === undefined || compare(key, after) > 0;
}

function compare(a: InstancePosition, b: InstancePosition): number {
  for (const part of ['vm', 'rule', 'labels'] as const) {
    if (a[part] !== b[part]) return a[part] < b[part] ? -1 : 1;
  }
  return a.evaluationRevision - b.evaluationRevision;
}

function softInstance(instance: Instance, nowMs: number): SoftInstance {
  const { newestValueMs, values } = instance.buffer;
  const observed = Number.isFinite(newestValueMs);
  const missing = !observed || nowMs - newestValueMs > GAP_TOLERANCE_MS;
  const ageMs = isAgeBuffer(instance.buffer) && observed ? nowMs - newestValueMs : undefined;
  const lastValue =
    ageMs === undefined ? values.findLast((value) => !Number.isNaN(value)) : ageMs / 1000;
  const { state, sinceMs } = condition(instance, nowMs);
  const isRun = state === 'SUSTAINING' && sinceMs !== undefined && !missing;
  return {
    ...keyOf(instance),
    state,
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(isRun ? { firesAtMs: sinceMs + instance.rule.rule.sustainedMs } : {}),
    ...(lastValue === undefined ? {} : { lastValue }),
    ...(observed ? { lastObservedMs: newestValueMs } : {}),
    dataState: missing ? 'MISSING' : 'OBSERVED',
    ...(instance.failure === undefined ? {} : { failure: instance.failure }),
    ...(missing && observed ? { missingSinceMs: newestValueMs } : {}),
  };
}

/** The machine's state after what came since the instance was idle last. */
function condition(instance: Instance, nowMs: number): Pick<SoftInstance, 'state' | 'sinceMs'> {
  const events = eventsOf(instance, nowMs);
  const idleAt = events.findLastIndex(({ type }) => type === 'breachEnded');
  const { value, sinceMs } = pathEndOf(events.slice(idleAt + 1));
  const state = conditionOf(value).toUpperCase() as LiveState;
  return sinceMs === null ? { state } : { state, sinceMs };
}
