/**
 * The one incident of a rule for the VMs of a data center that fell silent together. It is reported
 * instead of one incident for each VM, and holds those VMs from then on.
 *
 *     the outage is over, and a held VM was observed since it fired -> recovered; VMs still silent
 *                                                                     fire on their own
 *     no held VM was observed, whichever others were              -> it goes on
 *     every held VM was retired                                   -> retired
 */

import type { Edge, Outage } from '../../telemetry/entry.ts';
import { AGE_METRIC } from '../../telemetry/metrics/catalogue.ts';
import {
  type Instance,
  keyOf,
  openIncident,
  passDecided,
  type ReportedIncident,
  type RuleInForce,
  runBefore,
  type SeriesBuffer,
} from './instance.ts';
import { nextAt, remember } from './notification-diff.ts';
import { bufferKey, bufferOf } from './observe-batch.ts';
import { type EvaluationState, type WatchedProject, watchedVm } from './state.ts';

/** Key of a VM's buffer of telemetry age. */
export const AGE_BUFFER = bufferKey({ metricId: AGE_METRIC, labels: '' });

/**
 * VMs of one data center that a rule holds instead of raising one incident each. Times are Unix ms.
 */
export interface HeldVms {
  readonly rule: RuleInForce;
  readonly outage: Outage;
  /** When each was last heard. */
  readonly vms: Map<string, number>;
  startMs: number;
  dueMs: number;
}

/** An open incident of a data center, and the VMs that it holds. */
export interface OpenOutage {
  readonly instance: Instance;
  readonly incident: ReportedIncident;
  readonly vms: ReadonlyMap<string, number>;
}

interface Tick {
  readonly state: EvaluationState;
  readonly project: WatchedProject;
  readonly atMs: number;
}

/** Fires once for many VMs that fell silent together; VMs found silent later are held, too. */
export function outageEdges({ state, project, atMs }: Tick, held: HeldVms): Edge[] {
  const { rule, outage, vms, startMs, dueMs } = held;
  const { datacenter } = outage;
  const instance = ofDatacenter(project, rule, datacenter);
  if (!instance || atMs <= dueMs) return [];
  passDecided(instance.buffer, atMs);
  if (instance.decided || openIncident(instance)) {
    instance.held ??= new Map();
    for (const [vm, newestMs] of vms) instance.held.set(vm, newestMs);
    return [];
  }
  instance.held = new Map(vms);
  const reported = remember(instance, { firedMs: dueMs, startedMs: startMs });
  state.open.add(instance);
  const decided = {
    key: keyOf(instance),
    atMs: nextAt(instance, reported, atMs),
    observedMs: dueMs,
  };
  const value = rule.rule.threshold + rule.rule.sustainedMs / 1000;
  const run = runBefore(instance, startMs);
  const fired = { startedMs: startMs, run, window: [], notify: true, value };
  return [
    { kind: 'fired', ...decided, ...fired, held: { datacenter, vms: [...vms.keys()].sort() } },
  ];
}

/** Incidents of a project's data centers that end with this tick. */
export function endOutages(state: EvaluationState, project: WatchedProject, atMs: number): Edge[] {
  const edges: Edge[] = [];
  for (const buffer of project.vms.get('')?.buffers.values() ?? []) passDecided(buffer, atMs);
  for (const reported of openOutages(project)) {
    const edge = endOf({ state, project, atMs }, reported);
    if (edge) edges.push(edge);
  }
  return edges;
}

/** Incidents of a project's data centers that are open. */
export function* openOutages(project: WatchedProject): Generator<OpenOutage> {
  for (const { instances } of project.vms.get('')?.buffers.values() ?? []) {
    for (const instance of instances) {
      const incident = openIncident(instance);
      const { held: vms, decided } = instance;
      if (incident && vms && !decided) yield { instance, incident, vms };
    }
  }
}

/** True when this VM counts for the outage: it has been silent ever since. */
export function isHeldBy({ vms, incident }: OpenOutage, { vm, newestMs }: SeriesBuffer): boolean {
  const heldMs = vms.get(vm);
  return heldMs !== undefined && newestMs <= Math.max(incident.firedMs, heldMs);
}

function endOf(tick: Tick, reported: OpenOutage): Edge | undefined {
  const { instance, incident, vms } = reported;
  const { state, project, atMs } = tick;
  const isLeft = (vm: string): boolean =>
    (project.retired.get(vm)?.atMs ?? Number.NEGATIVE_INFINITY) <= incident.startedMs;
  const left = [...vms.keys()].filter(isLeft);
  if (left.length === 0) {
    const edge = { kind: 'retired' as const, key: keyOf(instance), atMs: close(tick, instance) };
    incident.recoveredMs = Math.max(atMs, incident.firedMs);
    return edge;
  }
  const datacenter = /^\{datacenter="(.*)"\}$/.exec(instance.buffer.labels)?.[1] ?? '';
  if (!state.outages || state.outages.has(datacenter)) return undefined;
  let observedMs = Number.NEGATIVE_INFINITY;
  for (const vm of left) {
    const buffer = project.vms.get(vm)?.buffers.get(AGE_BUFFER);
    if (buffer && !isHeldBy(reported, buffer)) observedMs = Math.max(observedMs, buffer.newestMs);
  }
  if (observedMs <= incident.firedMs) return undefined;
  incident.recoveredMs = observedMs;
  const recovered = { key: keyOf(instance), atMs: close(tick, instance), observedMs };
  return { kind: 'recovered', ...recovered, window: [] };
}

/** @returns the time of the edge that ends it */
function close({ state, atMs }: Tick, instance: Instance): number {
  const { reported } = instance;
  if (!reported) return atMs;
  reported.missing = undefined;
  state.open.delete(instance);
  instance.held = undefined;
  return nextAt(instance, reported, atMs);
}

function ofDatacenter(
  project: WatchedProject,
  rule: RuleInForce,
  datacenter: string,
): Instance | undefined {
  const labels = `{datacenter="${datacenter}"}`;
  const place = { metricId: AGE_METRIC, labels, isKept: true };
  const buffer = bufferOf(project, watchedVm(project, ''), place);
  return buffer?.instances.find((instance) => instance.rule === rule);
}
