/**
 * Passes the rows of a batch, in the order in which their sources made them, to the series buffers
 * that their readings feed. The result is the changed instances, from which `notification-diff.ts`
 * makes edges.
 *
 *     row -> refused (future, retired VM) | VM facts (power, last seen) -> routes -> series buffers
 */
import { isAhead } from '../../platform/clock.ts';
import { type Edge, FUTURE_MS } from '../../telemetry/entry.ts';
import { type Derivation, metricCatalogue } from '../../telemetry/metrics/catalogue.ts';
import {
  inputsOf,
  isObserved,
  powerOf,
  type ReportedPowerState,
  reportsState,
} from '../../telemetry/metrics/derive.ts';
import type { SampleBatch, SeriesKey } from '../../telemetry/samples/batch.ts';
import {
  type BufferedRow,
  createInstance,
  type Instance,
  type RuleInForce,
  type SeriesBuffer,
} from './instance.ts';
import { createBuffer, type Placement, place, refresh } from './series-buffer.ts';
import {
  type Changes,
  countRebased,
  type EvaluationState,
  isAway,
  isBeforeRetirement,
  type LayoutPlan,
  type Route,
  rebaseFacts,
  recordObserved,
  recordUnevaluated,
  type WatchedProject,
  type WatchedVm,
  watchedVm,
} from './state.ts';

const ONE = Uint32Array.of(0);
const NO_EDGES: readonly Edge[] = [];

/** Row indexes of `batch` in folding order; not to be modified. */
function inArrivalOrder(batch: SampleBatch): Uint32Array {
  if (batch.count === 1) return ONE;
  const order = Uint32Array.from({ length: batch.count }, (_, i) => i);
  return hasOneRowEach(batch) ? order : sorted(batch, order);
}

function hasOneRowEach({ count, vm, vms }: SampleBatch): boolean {
  const seen = new Uint8Array(vms.length);
  for (let i = 0; i < count; i++) {
    const index = vm[i] ?? 0;
    if (seen[index]) return false;
    seen[index] = 1;
  }
  return true;
}

function sorted(batch: SampleBatch, order: Uint32Array): Uint32Array {
  const { vm, boot, sequence, observedMs, vms, strings } = batch;
  const groupOf = (i: number): number => (vm[i] ?? 0) * strings.length + (boot[i] ?? 0);
  const first = new Float64Array(vms.length * strings.length).fill(Number.POSITIVE_INFINITY);
  for (const i of order) {
    const group = groupOf(i);
    first[group] = Math.min(first[group] ?? 0, observedMs[i] ?? 0);
  }
  return order.sort(
    (a, b) =>
      (vm[a] ?? 0) - (vm[b] ?? 0) ||
      (first[groupOf(a)] ?? 0) - (first[groupOf(b)] ?? 0) ||
      groupOf(a) - groupOf(b) ||
      (sequence[a] ?? 0) - (sequence[b] ?? 0) ||
      (observedMs[a] ?? 0) - (observedMs[b] ?? 0) ||
      a - b,
  );
}

/** Folds the rows of a batch. @returns their changes */
export function observeBatch(state: EvaluationState, batch: SampleBatch): Changes {
  state.nowMs = batch.receivedMs;
  const plans: LayoutPlan[] = [];
  const touched: Instance[] = [];
  const stopped = new Set<WatchedVm>();
  const touch = (instance: Instance): void => {
    if (instance.touched) return;
    instance.touched = true;
    touched.push(instance);
  };
  for (const i of inArrivalOrder(batch)) {
    const named = batch.vms[batch.vm[i] ?? 0];
    const project = state.projects.get(named?.project ?? '');
    if (!project) continue;
    const times = { observedMs: batch.observedMs[i] ?? 0, receivedMs: batch.receivedMs };
    if (isBeforeRetirement(state, project, named?.vm ?? '', times)) {
      state.counters.tooLate++;
      continue;
    }
    if (times.observedMs > times.receivedMs + FUTURE_MS) {
      state.counters.future++;
      continue;
    }
    const layout = batch.layout[i] ?? 0;
    plans[layout] ??= planOf(state, batch.layouts[layout]?.series ?? []);
    foldRow({ state, project, batch, plan: plans[layout], touch, stopped }, i);
  }
  for (const buffer of state.stale) refresh(buffer, touch);
  state.stale.clear();
  return { touched, stopped, edges: NO_EDGES };
}

interface RowContext {
  readonly state: EvaluationState;
  readonly project: WatchedProject;
  readonly batch: SampleBatch;
  readonly plan: LayoutPlan;
  readonly touch: (instance: Instance) => void;
  /** Receives VMs that their owners have stopped, according to their newest rows. */
  readonly stopped: Set<WatchedVm>;
}

function foldRow(context: RowContext, i: number): void {
  const { state, project, batch, plan, touch } = context;
  const vm = watchedVm(project, batch.vms[batch.vm[i] ?? 0]?.vm ?? '');
  const routes = routesOf(project, vm, plan);
  const observedMs = batch.observedMs[i] ?? 0;
  const power = powerIn(batch, i);
  if (rebaseFacts(vm.facts, batch.receivedMs)) countRebased(state);
  const away = isAway(vm.facts, observedMs, power);
  recordObserved(vm.facts, observedMs, power);
  if (away && vm.facts.power === 'STOPPED') context.stopped.add(vm);
  if (routes.length === 0) return;
  const row = rowOf(batch, i);
  let worst: Placement = 'placed';
  for (const { buffer, input } of routes) {
    const arrived = { row, input };
    if (!isObserved(buffer.derivation, arrived)) continue;
    if (away && !isEvaluatedAway(buffer.derivation, power)) continue;
    if (isAhead(buffer.newestMs, batch.receivedMs)) countRebased(state);
    const { aheadFromMs } = state;
    const arrival = { input: arrived, receivedMs: batch.receivedMs, aheadFromMs };
    const placement = place(buffer, arrival, touch);
    if (buffer.stale) state.stale.add(buffer);
    if (placement !== 'placed' && worst !== 'conflict') worst = placement;
  }
  count(state, worst);
}

/** While a VM does not run, only its state, and whether it is reported, is evaluated. */
function isEvaluatedAway(derivation: Derivation, power: ReportedPowerState): boolean {
  if (derivation.from === 'age') return power !== 'UNREPORTED';
  return reportsState(derivation);
}

function powerIn({ state, stateReason, strings }: SampleBatch, i: number): ReportedPowerState {
  return powerOf({ state: state[i] ?? 0, stateReason: strings[stateReason[i] ?? 0] ?? '' });
}

function rowOf(batch: SampleBatch, i: number): BufferedRow {
  return {
    observedMs: batch.observedMs[i] ?? 0,
    sequence: batch.sequence[i] ?? 0,
    boot: batch.strings[batch.boot[i] ?? 0] ?? '',
    vcpus: batch.vcpus[i] ?? Number.NaN,
    state: batch.state[i] ?? 0,
    stateReason: batch.strings[batch.stateReason[i] ?? 0] ?? '',
    // A copy, because a row must not keep its whole batch in memory.
    values: valuesOf(batch, i),
  };
}

// Reused between rows: an array that grows by `push` has room for 17 readings or more.
const readings: number[] = [];

/** A plain array: half the size of a small typed one, and inside the garbage-collected heap. */
function valuesOf({ values, valueOffset }: SampleBatch, i: number): number[] {
  readings.length = 0;
  const end = valueOffset[i + 1] ?? 0;
  for (let at = valueOffset[i] ?? 0; at < end; at++) readings.push(values[at] ?? Number.NaN);
  return readings.slice();
}

function count({ counters }: EvaluationState, placement: Placement): void {
  switch (placement) {
    case 'conflict':
      counters.conflicts++;
      break;
    case 'duplicate':
      counters.duplicates++;
      break;
    case 'tooLate':
      counters.tooLate++;
      break;
    case 'clockBackwards':
      counters.clockBackwards++;
      break;
    case 'placed':
      break;
  }
}

// Routes of rows: a buffer for each metric and label set that some rule watches, created with its
// first row. The buffers for rows of one shape are looked up once per VM, until rules change.

/** Maximum cached shapes and routes. Others are computed again. */
const PLANS_MAX = 10_000;
/** Maximum characters of their series keys. Usual shapes take a few thousand in total. */
const PLAN_CHARACTERS_MAX = 4 * 1024 * 1024;
const ROUTES_MAX = 16;

/**
 * Opens the incidents that are open in rows and whose rules are now active; keeps the other seeds.
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
    // It was reported, so it is evaluated regardless of the quota.
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

/** Shape of rows with these series; always the same object. */
function planOf(state: EvaluationState, series: readonly SeriesKey[]): LayoutPlan {
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

/** The route of rows of this shape: a buffer for each metric, and the slots of its readings. */
function routesOf(project: WatchedProject, vm: WatchedVm, plan: LayoutPlan): readonly Route[] {
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
 * `isKept` ignores the quota.
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
  recordUnevaluated(project, vm, key, overQuota);
  if (buffer.instances.length === 0) return undefined;
  vm.buffers.set(key, buffer);
  return buffer;
}

/**
 * Key of a series among the buffers of one VM. Labels start with `{`, so that no two series share a
 * key.
 */
export function bufferKey({ metricId, labels }: Pick<SeriesBuffer, 'metricId' | 'labels'>): string {
  return metricId + labels;
}

/** Rules that watch a VM; '' stands for a data center, which may contain VMs of any rule. */
function covering(project: WatchedProject, vm: string): RuleInForce[] {
  const isCovered = ({ vms }: RuleInForce): boolean =>
    vms === undefined || vm === '' || vms.has(vm);
  return [...project.rules.values()].filter(isCovered);
}
