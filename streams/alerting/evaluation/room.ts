/**
 * What bounds the instances of a project: how many may be evaluated, and which VMs are no more.
 * Both come with the log. The first instances in its order have room; the others are counted by
 * rule, and remembered by VM and lane so that each is counted once. One without room has no lane,
 * no timeline and no incident until there is room.
 */
import type { ProjectInstances, RetiredVm } from '../../telemetry/entry.ts';
import type { EvaluationState, WatchedProject, WatchedVm } from './state.ts';

/** A project's bound from here on. What is evaluated stays; what had no room gets what there is. */
export function limitInstances(state: EvaluationState, limit: ProjectInstances): void {
  state.limits.set(limit.project, limit.instances);
  const project = state.projects.get(limit.project);
  if (!project) return;
  project.instancesMax = limit.instances;
  offerRoom(project);
}

/** Drops a VM that is no more, silently; comes a later row of its id, it is a VM anew. */
export function retireVm(state: EvaluationState, retired: RetiredVm): void {
  const known = retiredOf(state, retired.project);
  if ((known.get(retired.vm)?.generation ?? 0) >= retired.generation) return;
  known.set(retired.vm, retired);
  state.facts.get(retired.project)?.delete(retired.vm);
  const project = state.projects.get(retired.project);
  const vm = project?.vms.get(retired.vm);
  if (!project || !vm) return;
  for (const lane of vm.lanes.values()) {
    for (const instance of lane.instances) state.open.delete(instance);
    state.stale.delete(lane);
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

/** Was it observed before its VM was retired? It is history alone then. */
export function isBeforeRetirement(project: WatchedProject, vm: string, observedMs: number) {
  if (project.retired.size === 0) return false;
  return observedMs <= (project.retired.get(vm)?.atMs ?? Number.NEGATIVE_INFINITY);
}

/** Forgets a lane with its instances, none of which has an open incident. */
export function dropLane(project: WatchedProject, vm: WatchedVm, key: string): void {
  project.instances -= vm.lanes.get(key)?.instances.length ?? 0;
  vm.lanes.delete(key);
  vm.routes.clear();
  offerRoom(project);
}

/** Forgets a VM with all its lanes. */
export function dropVm(project: WatchedProject, vm: WatchedVm): void {
  for (const { instances } of vm.lanes.values()) project.instances -= instances.length;
  forgetUnevaluated(project, vm);
  project.vms.delete(vm.vm);
  offerRoom(project);
}

/** What had no room is looked at again with the next row of its VM. */
function offerRoom(project: WatchedProject): void {
  if (project.unevaluated.size > 0 && project.instances < project.instancesMax) project.version++;
}

/** Of one lane: the rules that do not evaluate it, in place of those noted before. */
export function noteUnevaluated(
  project: WatchedProject,
  vm: WatchedVm,
  lane: string,
  rules: readonly string[],
): void {
  for (const rule of vm.unevaluated.get(lane) ?? []) add(project, rule, -1);
  for (const rule of rules) add(project, rule, 1);
  if (rules.length > 0) vm.unevaluated.set(lane, rules);
  else vm.unevaluated.delete(lane);
}

/** The VM goes. */
function forgetUnevaluated(project: WatchedProject, vm: WatchedVm): void {
  for (const lane of vm.unevaluated.keys()) noteUnevaluated(project, vm, lane, []);
}

/** The rule goes, as far as this VM is concerned. */
export function withoutRule(project: WatchedProject, vm: WatchedVm, rule: string): void {
  for (const [lane, rules] of vm.unevaluated) {
    if (!rules.includes(rule)) continue;
    const others = rules.filter((other) => other !== rule);
    noteUnevaluated(project, vm, lane, others);
  }
}

function add({ unevaluated }: WatchedProject, rule: string, count: number): void {
  const after = (unevaluated.get(rule) ?? 0) + count;
  if (after > 0) unevaluated.set(rule, after);
  else unevaluated.delete(rule);
}
