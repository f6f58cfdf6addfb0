/**
 * Rows of a batch, in the order in which their sources made them, each to the series buffers that
 * its readings feed. The result is the instances that changed; `notification-diff.ts` makes edges
 * of them.
 *
 *     row -> refused (future, retired VM) | VM facts (power, last seen) -> routes -> series buffers
 */

import { type Edge, FUTURE_MS } from '../../telemetry/entry.ts';
import type { Derivation } from '../../telemetry/metrics/catalogue.ts';
import { isObserved, reportsState } from '../../telemetry/metrics/derive.ts';
import { powerOf, type ReportedPowerState } from '../../telemetry/metrics/power.ts';
import type { SampleBatch } from '../../telemetry/samples/batch.ts';
import { isAway, noteObserved } from './facts.ts';
import type { BufferedRow, Instance } from './instance.ts';
import { planOf, routesOf } from './routes.ts';
import { type Placement, place, refresh } from './series-buffer.ts';
import {
  type Changes,
  type EvaluationState,
  isBeforeRetirement,
  type LayoutPlan,
  type WatchedProject,
  type WatchedVm,
  watchedVm,
} from './state.ts';

const ONE = Uint32Array.of(0);
const NO_EDGES: readonly Edge[] = [];

/** Row indexes of `batch` in the order to fold them; not to be changed. */
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

/** Folds the rows of a batch. @returns what they changed */
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
    if (isBeforeRetirement(project, named?.vm ?? '', batch.observedMs[i] ?? 0)) {
      state.counters.late++;
      continue;
    }
    if ((batch.observedMs[i] ?? 0) > batch.receivedMs + FUTURE_MS) {
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
  /** Takes VMs that their owners have stopped, as of their newest rows. */
  readonly stopped: Set<WatchedVm>;
}

function foldRow(context: RowContext, i: number): void {
  const { state, project, batch, plan, touch } = context;
  const vm = watchedVm(project, batch.vms[batch.vm[i] ?? 0]?.vm ?? '');
  const routes = routesOf(project, vm, plan);
  const observedMs = batch.observedMs[i] ?? 0;
  const power = powerIn(batch, i);
  const away = isAway(vm.facts, observedMs, power);
  noteObserved(vm.facts, observedMs, power);
  if (away && vm.facts.power === 'STOPPED') context.stopped.add(vm);
  if (routes.length === 0) return;
  const row = rowOf(batch, i);
  let worst: Placement = 'placed';
  for (const { buffer, input } of routes) {
    const arrived = { row, input };
    if (!isObserved(buffer.derivation, arrived)) continue;
    if (away && !isEvaluatedAway(buffer.derivation, power)) continue;
    const placement = place(buffer, { input: arrived, receivedMs: batch.receivedMs }, touch);
    if (buffer.stale) state.stale.add(buffer);
    if (placement !== 'placed' && worst !== 'conflict') worst = placement;
  }
  count(state, worst);
}

/** While a VM does not run, only its state is evaluated, and that its state is reported. */
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
    // A copy: a row must not keep its whole batch in memory.
    values: valuesOf(batch, i),
  };
}

/** A plain array: half the size of a small typed one, and inside the heap that is collected. */
function valuesOf({ values, valueOffset }: SampleBatch, i: number): number[] {
  const copy: number[] = [];
  const end = valueOffset[i + 1] ?? 0;
  for (let at = valueOffset[i] ?? 0; at < end; at++) copy.push(values[at] ?? Number.NaN);
  return copy;
}

function count({ counters }: EvaluationState, placement: Placement): void {
  switch (placement) {
    case 'conflict':
      counters.conflicts++;
      break;
    case 'duplicate':
      counters.duplicates++;
      break;
    case 'late':
      counters.late++;
      break;
    case 'clockBackwards':
      counters.clockBackwards++;
      break;
    case 'placed':
      break;
  }
}
