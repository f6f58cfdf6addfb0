/**
 * Soft instances on request. The state of an instance that has never fired (idle, sustaining, or
 * without data) is known only here, because it has no row.
 */

import { type Condition, conditionOf } from '../../../machines/alerting/alert-instance.ts';
import { type ObservedEvent, pathEndOf } from '../../../machines/alerting/alert-instance-path.ts';
import { GAP_TOLERANCE_MS, type InstanceKey } from '../../telemetry/entry.ts';
import { type Instance, isAgeBuffer, keyOf } from './instance.ts';
import { eventsOf } from './run-events.ts';
import type { EvaluationState, WatchedVm } from './state.ts';

/** State of an instance, as named in the API. A retired instance has no live state. */
export type LiveState = Uppercase<Exclude<Condition, 'retired'>>;

/** One instance as currently held by the evaluator, whether or not it ever fired. */
export interface SoftInstance extends InstanceKey {
  readonly state: LiveState;
  /** First breaching observation of the run or incident, Unix ms; absent when idle. */
  readonly sinceMs?: number;
  /** Newest observed value of the rule's metric, and its time; absent if the evaluator has none. */
  readonly lastValue?: number;
  readonly lastObservedMs?: number;
  /** MISSING: the newest value is older than the gap tolerance, as of the log's last entry. */
  readonly dataState: 'OBSERVED' | 'MISSING';
  readonly missingSinceMs?: number;
  /**
   * Time when its run will have lasted long enough, Unix ms; only for an observed instance that is
   * SUSTAINING.
   */
  readonly firesAtMs?: number;
  /** The reason why its rule could not be evaluated on the last observation. */
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
 * Every instance of a project's active rules, VM by VM. Instances of whole data centers are not
 * included, because their only state is their incidents.
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

/** The instance of an active rule for a series of a VM; undefined if absent. */
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
  /** Only instances of this rule, or of this VM. */
  readonly rule?: string;
  readonly vm?: string;
  /** Only instances in one of these states, or in this data state. */
  readonly states?: readonly LiveState[];
  readonly dataState?: SoftInstance['dataState'];
  /** Only those after this one. */
  readonly after?: InstancePosition;
  readonly limit: number;
}

/** Position of an instance in its project's order. */
export type InstancePosition = Omit<InstanceKey, 'project'>;

/**
 * A page of a project's instances, sorted by VM, rule, labels and revision. Only VMs of the page
 * are read, because reading all of 10,000 instances would take 10 ms of the thread for every page.
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

/** The machine's state after the events since the instance was last idle. */
function condition(instance: Instance, nowMs: number): Pick<SoftInstance, 'state' | 'sinceMs'> {
  const events = eventsOf(instance, nowMs);
  const idleAt = events.findLastIndex(({ type }) => type === 'breachEnded');
  const { value, sinceMs } = pathEndOf(events.slice(idleAt + 1));
  const state = conditionOf(value).toUpperCase() as LiveState;
  return sinceMs === null ? { state } : { state, sinceMs };
}
