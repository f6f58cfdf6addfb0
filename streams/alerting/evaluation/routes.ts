/**
 * Routes of rows: a buffer for each metric and label set that some rule watches, created with its
 * first row. The buffers for rows of one shape are looked up once per VM, until rules change.
 */

import { metricCatalogue } from '../../telemetry/metrics/catalogue.ts';
import { inputsOf } from '../../telemetry/metrics/derive.ts';
import type { SeriesKey } from '../../telemetry/samples/batch.ts';
import { createInstance, type RuleInForce, type SeriesBuffer } from './instance.ts';
import { createBuffer } from './series-buffer.ts';
import {
  type EvaluationState,
  type LayoutPlan,
  noteUnevaluated,
  type Route,
  type WatchedProject,
  type WatchedVm,
  watchedVm,
} from './state.ts';

/** Most shapes and routes that are cached; others are computed again. */
const PLANS_MAX = 10_000;
/** Most characters of their series keys; usual shapes take a few thousand in all. */
const PLAN_CHARACTERS_MAX = 4 * 1024 * 1024;
const ROUTES_MAX = 16;

/**
 * Opens the incidents that are open in rows and whose rules are now in force; keeps the other
 * seeds.
 */
export function seedIncidents(state: EvaluationState): void {
  state.seeds = state.seeds.filter((seed) => {
    const { key } = seed;
    const gone = state.retired.get(key.project)?.get(key.vm)?.generation ?? 0;
    if (gone > (key.generation ?? 0)) return false;
    const project = state.projects.get(key.project);
    const rule = project?.rules.get(key.rule);
    if (!project || rule?.rule.evaluationRevision !== key.evaluationRevision) return true;
    if (key.vm !== '' && gone < (key.generation ?? 0)) return true;
    // It was reported: it is evaluated, whatever the quota.
    const place = { metricId: rule.rule.metricId, labels: key.labels, isKept: true };
    const buffer = bufferOf(project, watchedVm(project, key.vm), place);
    const instance = buffer?.instances.find((candidate) => candidate.rule === rule);
    if (!instance) return true;
    instance.decided = seed;
    if (seed.heldVms && seed.recoveredMs === undefined) {
      instance.held = new Map(seed.heldVms.map((vm) => [vm, seed.firedMs ?? seed.startedMs]));
    }
    if (seed.recoveredMs === undefined) state.open.add(instance);
    return false;
  });
}

/** Shape of rows with these series, the same object each time. */
export function planOf(state: EvaluationState, series: readonly SeriesKey[]): LayoutPlan {
  const known = state.plansByList.get(series);
  if (known) return known;
  const key = series.join('\n');
  let plan = state.plans.get(key);
  if (!plan) {
    state.planCharacters += key.length;
    if (state.plans.size >= PLANS_MAX || state.planCharacters > PLAN_CHARACTERS_MAX) {
      state.plans.clear();
      state.planCharacters = key.length;
    }
    plan = { series, inputs: new Map() };
    state.plans.set(key, plan);
  }
  state.plansByList.set(series, plan);
  return plan;
}

/** The route of rows of this shape: for each metric a buffer, and the slots of its readings. */
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
    const buffer = bufferOf(project, vm, { metricId, labels: input.labels });
    return buffer ? [{ buffer, input }] : [];
  });
}

/**
 * The buffer, created if missing, with an instance for each rule that watches it, within the quota.
 * `isKept`: regardless of the quota.
 */
export function bufferOf(
  project: WatchedProject,
  vm: WatchedVm,
  { metricId, labels, isKept }: { metricId: string; labels: string; isKept?: boolean },
): SeriesBuffer | undefined {
  const rules = covering(project, vm.vm).filter(({ rule }) => rule.metricId === metricId);
  const derivation = metricCatalogue.get(metricId)?.derivation;
  if (rules.length === 0 || !derivation) return undefined;
  const key = bufferKey({ metricId, labels });
  const { generation } = vm;
  const about = { vm: vm.vm, metricId, labels, derivation };
  const buffer =
    vm.buffers.get(key) ??
    createBuffer({ ...about, ...(generation !== undefined && { generation }) });
  const overQuota: string[] = [];
  for (const rule of rules) {
    if (buffer.instances.some((instance) => instance.rule === rule)) continue;
    if (isKept || project.instances < project.instancesMax) {
      buffer.instances.push(createInstance(rule, buffer));
      project.instances++;
    } else overQuota.push(rule.rule.rule);
  }
  noteUnevaluated(project, vm, key, overQuota);
  if (buffer.instances.length === 0) return undefined;
  vm.buffers.set(key, buffer);
  return buffer;
}

export function bufferKey({ metricId, labels }: Pick<SeriesBuffer, 'metricId' | 'labels'>): string {
  return metricId + labels;
}

/** Rules that watch a VM; '' stands for a data center, which may have VMs of any of them. */
function covering(project: WatchedProject, vm: string): RuleInForce[] {
  const isCovered = ({ vms }: RuleInForce): boolean =>
    vms === undefined || vm === '' || vms.has(vm);
  return [...project.rules.values()].filter(isCovered);
}
