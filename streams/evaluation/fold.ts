/**
 * The evaluator: `fold(state, entry) -> { state, edges }` over one log of batches, ticks and rule
 * markers. It reads no clock and nothing else, so live, restart, replay and preview run the same
 * function. The state is changed in place, for speed, and equals a function of its seed and of the
 * entries folded so far: use it from one place, and only through what `fold` returns.
 *
 *     batch  rows of a VM sorted, each to the lanes its series feed -> timelines -> edges
 *     tick   open incidents without fresh data
 *     rules  instances of replaced rules go; new ones catch up over `past`
 */
import { isObserved } from '../metrics/derive.ts';
import type { SampleBatch } from '../samples/batch.ts';
import { type Edge, FUTURE_MS, GAP_TOLERANCE_MS, LATENESS_MS, type LogEntry } from './entry.ts';
import { concludeEntry, decidedThroughMs, type Instance, openIncident } from './instance.ts';
import { type LaneRow, type Placement, place, refresh } from './lane.ts';
import { beginCatchUp } from './marker.ts';
import { inArrivalOrder } from './order.ts';
import { dropLane, dropVm, isBeforeRetirement, limitInstances, retireVm } from './room.ts';
import {
  addRule,
  type EvaluationSeed,
  type EvaluationState,
  emptyState,
  type LayoutPlan,
  planOf,
  plantSeeds,
  routesOf,
  type WatchedProject,
  watchedVm,
} from './state.ts';
import { takeOver } from './take-over.ts';
import { reconcile, type Telling, tellMissing } from './telling.ts';

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
      return { state, edges: foldBatch(state, entry.batch, reconcileAll) };
    case 'tick':
      return { state, edges: foldTick(state, entry.atMs) };
    case 'rules': {
      const marker = foldMarker(state, entry);
      if (marker.isNeeded) for (const before of past) marker.take(before);
      return marker.finish();
    }
  }
}

/** A marker being folded: `take` what is stored before it, oldest first, then `finish`. */
export interface FoldingMarker {
  /** false: no rule of it is new, and nothing need be taken. */
  readonly isNeeded: boolean;
  take(before: LogEntry): void;
  finish(): Folded;
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
    finish: () => ({ state, edges: reconcileAll(state, join(), entry.atMs) }),
  };
}

type Conclusion = (state: EvaluationState, touched: readonly Instance[], nowMs: number) => Edge[];

function foldBatch(state: EvaluationState, batch: SampleBatch, conclude: Conclusion): Edge[] {
  state.nowMs = batch.receivedMs;
  const plans: LayoutPlan[] = [];
  const touched: Instance[] = [];
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
    foldRow({ state, project, batch, plan: plans[layout], touch }, i);
  }
  for (const lane of state.stale) refresh(lane, touch);
  state.stale.clear();
  return conclude(state, touched, batch.receivedMs);
}

interface RowContext {
  readonly state: EvaluationState;
  readonly project: WatchedProject;
  readonly batch: SampleBatch;
  readonly plan: LayoutPlan;
  readonly touch: (instance: Instance) => void;
}

function foldRow({ state, project, batch, plan, touch }: RowContext, i: number): void {
  const vm = watchedVm(project, batch.vms[batch.vm[i] ?? 0]?.vm ?? '');
  const routes = routesOf(project, vm, plan);
  if (routes.length === 0) return;
  const row = rowOf(batch, i);
  let worst: Placement = 'placed';
  for (const { lane, input } of routes) {
    const arrived = { row, input };
    if (!isObserved(lane.derivation, arrived)) continue;
    const placement = place(lane, { input: arrived, receivedMs: batch.receivedMs }, touch);
    if (lane.stale) state.stale.add(lane);
    if (placement !== 'placed' && worst !== 'conflict') worst = placement;
  }
  count(state, worst);
}

function rowOf(batch: SampleBatch, i: number): LaneRow {
  return {
    observedMs: batch.observedMs[i] ?? 0,
    sequence: batch.sequence[i] ?? 0,
    boot: batch.strings[batch.boot[i] ?? 0] ?? '',
    vcpus: batch.vcpus[i] ?? Number.NaN,
    state: batch.state[i] ?? 0,
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

function reconcileAll(state: EvaluationState, touched: readonly Instance[], nowMs: number): Edge[] {
  const edges: Edge[] = [];
  const telling: Telling = {
    nowMs,
    tell: (edge) => edges.push(edge),
    countUnrecorded: () => state.counters.unrecorded++,
  };
  for (const instance of touched) {
    reconcile(instance, telling);
    if (openIncident(instance) || isOpen(instance.decided)) state.open.add(instance);
    else state.open.delete(instance);
  }
  return edges;
}

/** A catch-up tells nothing by itself: what it leads to is told once the marker is folded. */
function dropEvents(_state: EvaluationState, touched: readonly Instance[]): Edge[] {
  for (const instance of touched) concludeEntry(instance);
  return [];
}

function foldTick(state: EvaluationState, atMs: number): Edge[] {
  const silentFor = atMs - state.lastTickMs;
  // Nobody listened between ticks that are far apart: silence counts from here on only.
  if (silentFor < 0 || silentFor > GAP_TOLERANCE_MS) state.listeningSinceMs = atMs;
  state.lastTickMs = atMs;
  state.nowMs = atMs;
  const edges: Edge[] = [];
  for (const instance of state.open) {
    const edge = missingAt(instance, atMs, state.listeningSinceMs);
    if (edge) edges.push(edge);
  }
  sweep(state, atMs);
  return edges;
}

function missingAt(instance: Instance, atMs: number, listeningSinceMs: number): Edge | undefined {
  const { lane, decided } = instance;
  // What rows have may still be to come in the log, until its time is over for sure.
  if (decided && atMs <= decidedThroughMs(decided) + GAP_TOLERANCE_MS) return undefined;
  if (atMs - Math.max(lane.newestValueMs, listeningSinceMs) <= GAP_TOLERANCE_MS) return undefined;
  takeOver(instance);
  const startedMs = openIncident(instance)?.startedMs ?? listeningSinceMs;
  return tellMissing(instance, Math.max(lane.newestValueMs, startedMs));
}

function isOpen(decided: Instance['decided']): boolean {
  return decided !== undefined && decided.recoveredMs === undefined;
}

const SWEEP_EVERY_MS = 3_600_000;
/** A silent VM is forgotten after the longest run plus what could still arrive for it. */
const FORGOTTEN_AFTER_MS = 86_400_000 + GAP_TOLERANCE_MS + LATENESS_MS;

/** VMs come and go: lanes that are silent for long and hold nothing open are dropped. */
function sweep(state: EvaluationState, atMs: number): void {
  if (Math.abs(atMs - state.lastSweepMs) < SWEEP_EVERY_MS) return;
  state.lastSweepMs = atMs;
  for (const project of state.projects.values()) {
    for (const vm of project.vms.values()) {
      for (const [key, lane] of vm.lanes) {
        const busy = lane.instances.some(
          ({ current, told, decided }) => current.firing || told || decided,
        );
        if (busy || lane.newestMs > atMs - FORGOTTEN_AFTER_MS) continue;
        dropLane(project, vm, key);
      }
      if (vm.lanes.size === 0) dropVm(project, vm);
    }
  }
}
