/**
 * The evaluator: `fold(state, entry) -> { state, edges }` over one log of batches, ticks and rule
 * markers. It reads no clock and nothing else, so live, restart, replay and preview run the same
 * function. The state is changed in place, for speed, and equals a function of its seed and of the
 * entries folded so far: use it from one place, and only through what `fold` returns.
 *
 *     batch  rows of a VM sorted, each to the lanes its series feed -> timelines -> edges
 *     tick   open incidents without fresh data; rules on the age of telemetry
 *     rules  instances of replaced rules go; new ones catch up over `past`
 */

import { type Edge, FUTURE_MS, type LogEntry } from '../../telemetry/entry.ts';
import type { Derivation } from '../../telemetry/metrics/catalogue.ts';
import { isObserved, powerOf, type ToldPower, tellsState } from '../../telemetry/metrics/derive.ts';
import type { SampleBatch } from '../../telemetry/samples/batch.ts';
import { conclude } from './conclude.ts';
import { isAway, type LastObservation, noteObserved } from './facts.ts';
import { concludeEntry, type Instance } from './instance.ts';
import { type LaneRow, type Placement, place, refresh } from './lane.ts';
import { beginCatchUp } from './marker.ts';
import { inArrivalOrder } from './order.ts';
import { isBeforeRetirement, limitInstances, retireVm } from './room.ts';
import { planOf, plantSeeds, routesOf } from './routes.ts';
import {
  addRule,
  type EvaluationSeed,
  type EvaluationState,
  emptyState,
  type LayoutPlan,
  type WatchedProject,
  type WatchedVm,
  watchedVm,
} from './state.ts';
import { allAtOnce, type Steps } from './steps.ts';
import { tellStopped, tickEdges } from './tick.ts';
import { noteLast, plantSilent } from './unavailable.ts';

export type { LastObservation } from './facts.ts';
export {
  type InstancePage,
  type InstancePosition,
  inspect,
  inspectPage,
  type SoftInstance,
} from './inspect.ts';
export type {
  EvaluationCounters,
  EvaluationSeed,
  EvaluationState,
  SeedIncident,
} from './state.ts';
export { FLOOR_MARGIN_MS } from './telling.ts';

export interface Folded {
  readonly state: EvaluationState;
  /** In the order of each instance's history; times of one instance's edges grow strictly. */
  readonly edges: readonly Edge[];
}

/**
 * A state at the log's floor. `into`: add to a state made before (several projects, one
 * partition), before its first entry.
 */
export function createState(seed?: EvaluationSeed, into = emptyState()): EvaluationState {
  for (const limit of seed?.limits ?? []) limitInstances(into, limit);
  for (const retired of seed?.retired ?? []) retireVm(into, retired);
  for (const rule of seed?.rules ?? []) addRule(into, rule, Number.NEGATIVE_INFINITY);
  noteLast(into, seed?.observed ?? []);
  allAtOnce(plantSilent(into));
  into.seeds = [...into.seeds, ...(seed?.firing ?? [])];
  plantSeeds(into);
  return into;
}

/**
 * Folds one entry. `past`, for a rules marker: the entries stored before it, oldest first, as far
 * back as the longest new rule's window and tolerance; without it new rules know only what comes.
 */
export function fold(
  state: EvaluationState,
  entry: LogEntry,
  past: Iterable<LogEntry> = [],
): Folded {
  switch (entry.kind) {
    case 'batch':
      return { state, edges: foldBatch(state, entry.batch, conclude) };
    case 'tick':
      return allAtOnce(foldTick(state, entry));
    case 'rules': {
      const marker = foldMarker(state, entry);
      if (marker.isNeeded) for (const before of past) marker.take(before);
      return allAtOnce(marker.finish());
    }
  }
}

/** Folds a tick in steps: until the last the state belongs to it alone. */
export function* foldTick(
  state: EvaluationState,
  tick: Extract<LogEntry, { kind: 'tick' }>,
): Steps<Folded> {
  return { state, edges: yield* tickEdges(state, tick) };
}

/**
 * What rows and history know of VMs that fell silent before the log's floor, once all of the log
 * has been folded: rules in force on their telemetry know them from here on.
 */
export function know(state: EvaluationState, observed: Iterable<LastObservation>): void {
  noteLast(state, observed);
  allAtOnce(plantSilent(state));
}

/** A marker being folded: `take` what is stored before it, oldest first, then `finish`. */
export interface FoldingMarker {
  /** false: no rule of it is new, and nothing need be taken. */
  readonly isNeeded: boolean;
  /** Of VMs that may have no row in the log: what rows and history know of them. */
  know(observed: Iterable<LastObservation>): void;
  take(before: LogEntry): void;
  finish(): Steps<Folded>;
}

/**
 * Folds a rules marker in pieces, so that a long past is read and folded entry by entry over many
 * turns. Until `finish` the state belongs to this marker alone.
 */
export function foldMarker(
  state: EvaluationState,
  entry: Extract<LogEntry, { kind: 'rules' }>,
): FoldingMarker {
  const { isNeeded, take, join } = beginCatchUp(state, entry, (scratch, batch) => {
    foldBatch(scratch, batch, dropEvents);
  });
  return {
    isNeeded,
    take,
    know: (observed) => noteLast(state, observed),
    finish: () => finishMarker(state, join(), entry.atMs),
  };
}

function* finishMarker(
  state: EvaluationState,
  join: Steps<Instance[]>,
  nowMs: number,
): Steps<Folded> {
  const edges: Edge[] = [];
  for (const instance of yield* join) {
    edges.push(...conclude(state, [instance], nowMs));
    yield;
  }
  return { state, edges };
}

type Conclusion = (state: EvaluationState, touched: readonly Instance[], nowMs: number) => Edge[];

function foldBatch(state: EvaluationState, batch: SampleBatch, conclude: Conclusion): Edge[] {
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
  for (const lane of state.stale) refresh(lane, touch);
  state.stale.clear();
  const edges = conclude(state, touched, batch.receivedMs);
  for (const vm of stopped) edges.push(...tellStopped(vm, batch.receivedMs));
  return edges;
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
  for (const { lane, input } of routes) {
    const arrived = { row, input };
    if (!isObserved(lane.derivation, arrived)) continue;
    if (away && !isEvaluatedAway(lane.derivation, power)) continue;
    const placement = place(lane, { input: arrived, receivedMs: batch.receivedMs }, touch);
    if (lane.stale) state.stale.add(lane);
    if (placement !== 'placed' && worst !== 'conflict') worst = placement;
  }
  count(state, worst);
}

/** Of a VM that does not run, its state is evaluated, and that somebody tells it. */
function isEvaluatedAway(derivation: Derivation, power: ToldPower): boolean {
  if (derivation.from === 'age') return power !== 'UNTOLD';
  return tellsState(derivation);
}

function powerIn({ state, stateReason, strings }: SampleBatch, i: number): ToldPower {
  return powerOf({ state: state[i] ?? 0, stateReason: strings[stateReason[i] ?? 0] ?? '' });
}

function rowOf(batch: SampleBatch, i: number): LaneRow {
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

/** A catch-up tells nothing by itself: what it leads to is told once the marker is folded. */
function dropEvents(_state: EvaluationState, touched: readonly Instance[]): Edge[] {
  for (const instance of touched) concludeEntry(instance);
  return [];
}
