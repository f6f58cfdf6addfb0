/**
 * The one incident of a rule for the VMs of a data center that fell silent together: it is told in
 * place of one for each VM, and holds those VMs from then on.
 *
 *     the outage is over, and one of the held VMs was heard since it fired -> recovered; those that
 *                                                                            are silent still fire
 *                                                                            by themselves
 *     none of them was heard, whoever else was                             -> it goes on
 *     none of them is left                                                 -> retired
 */

import type { Edge, Outage } from '../../telemetry/entry.ts';
import { AGE_METRIC } from '../../telemetry/metrics/catalogue.ts';
import { passDecided } from './age.ts';
import { nextAt, remember } from './incident-edges.ts';
import {
  type Instance,
  keyOf,
  openIncident,
  type RuleInForce,
  type ToldIncident,
} from './instance.ts';
import type { Lane } from './lane.ts';
import { laneKey, laneOf } from './routes.ts';
import { type EvaluationState, type WatchedProject, watchedVm } from './state.ts';

/** Key of a VM's lane of telemetry. */
export const AGE_LANE = laneKey({ metricId: AGE_METRIC, labels: '' });

/** VMs of one data center that a rule holds in place of telling each. Times are Unix ms. */
export interface Held {
  readonly rule: RuleInForce;
  readonly outage: Outage;
  /** When each was last heard. */
  readonly vms: Map<string, number>;
  startMs: number;
  dueMs: number;
}

/** A data center's incident that is open, and the VMs that it holds. */
export interface ToldHeld {
  readonly instance: Instance;
  readonly incident: ToldIncident;
  readonly vms: ReadonlyMap<string, number>;
}

interface Tick {
  readonly state: EvaluationState;
  readonly project: WatchedProject;
  readonly atMs: number;
}

/** Tells that many VMs fell silent together, once; from then on those found silent are held, too. */
export function tellHeld({ state, project, atMs }: Tick, held: Held): Edge[] {
  const { rule, outage, vms, startMs, dueMs } = held;
  const { datacenter } = outage;
  const instance = ofDatacenter(project, rule, datacenter);
  if (!instance || atMs <= dueMs) return [];
  passDecided(instance.lane, atMs);
  if (instance.decided || openIncident(instance)) {
    instance.held ??= new Map();
    for (const [vm, newestMs] of vms) instance.held.set(vm, newestMs);
    return [];
  }
  instance.held = new Map(vms);
  const told = remember(instance, { firedMs: dueMs, startedMs: startMs });
  state.open.add(instance);
  const decided = { key: keyOf(instance), atMs: nextAt(instance, told, atMs), observedMs: dueMs };
  const value = rule.rule.threshold + rule.rule.sustainedMs / 1000;
  const fired = { startedMs: startMs, window: [], notify: true, value };
  return [
    { kind: 'fired', ...decided, ...fired, held: { datacenter, vms: [...vms.keys()].sort() } },
  ];
}

/** Incidents of a project's data centers that end with this tick. */
export function endHeld(state: EvaluationState, project: WatchedProject, atMs: number): Edge[] {
  const edges: Edge[] = [];
  for (const lane of project.vms.get('')?.lanes.values() ?? []) passDecided(lane, atMs);
  for (const told of toldHeld(project)) {
    const edge = endOf({ state, project, atMs }, told);
    if (edge) edges.push(edge);
  }
  return edges;
}

/** Incidents of a project's data centers that are open. */
export function* toldHeld(project: WatchedProject): Generator<ToldHeld> {
  for (const { instances } of project.vms.get('')?.lanes.values() ?? []) {
    for (const instance of instances) {
      const incident = openIncident(instance);
      const { held: vms, decided } = instance;
      if (incident && vms && !decided) yield { instance, incident, vms };
    }
  }
}

/** Does it stand for this VM, silent ever since? */
export function isHeldBy({ vms, incident }: ToldHeld, { vm, newestMs }: Lane): boolean {
  const heldMs = vms.get(vm);
  return heldMs !== undefined && newestMs <= Math.max(incident.firedMs, heldMs);
}

function endOf(tick: Tick, told: ToldHeld): Edge | undefined {
  const { instance, incident, vms } = told;
  const { state, project, atMs } = tick;
  const isLeft = (vm: string): boolean =>
    (project.retired.get(vm)?.atMs ?? Number.NEGATIVE_INFINITY) <= incident.startedMs;
  const left = [...vms.keys()].filter(isLeft);
  if (left.length === 0) {
    const edge = { kind: 'retired' as const, key: keyOf(instance), atMs: close(tick, instance) };
    incident.recoveredMs = Math.max(atMs, incident.firedMs);
    return edge;
  }
  const datacenter = /^\{datacenter="(.*)"\}$/.exec(instance.lane.labels)?.[1] ?? '';
  if (!state.outages || state.outages.has(datacenter)) return undefined;
  let observedMs = Number.NEGATIVE_INFINITY;
  for (const vm of left) {
    const lane = project.vms.get(vm)?.lanes.get(AGE_LANE);
    if (lane && !isHeldBy(told, lane)) observedMs = Math.max(observedMs, lane.newestMs);
  }
  if (observedMs <= incident.firedMs) return undefined;
  incident.recoveredMs = observedMs;
  const recovered = { key: keyOf(instance), atMs: close(tick, instance), observedMs };
  return { kind: 'recovered', ...recovered, window: [] };
}

/** @returns the time of the edge that ends it */
function close({ state, atMs }: Tick, instance: Instance): number {
  const { told } = instance;
  if (!told) return atMs;
  told.missing = undefined;
  state.open.delete(instance);
  instance.held = undefined;
  return nextAt(instance, told, atMs);
}

function ofDatacenter(
  project: WatchedProject,
  rule: RuleInForce,
  datacenter: string,
): Instance | undefined {
  const labels = `{datacenter="${datacenter}"}`;
  const place = { metricId: AGE_METRIC, labels, isKept: true };
  const lane = laneOf(project, watchedVm(project, ''), place);
  return lane?.instances.find((instance) => instance.rule === rule);
}
