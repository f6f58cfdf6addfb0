/**
 * The evaluation pipeline: from entries of a SAMPLES log to edges. Live evaluation, `svc replay`,
 * previews, recomputed incidents and the simulation all subscribe to it.
 * They differ only in source, pacer and sink.
 *
 *     entries$
 *       decodeEntries        bytes to batches, ticks and rule markers
 *       arrive               at the source's pace: history stores rows first
 *       one at a time
 *         ignoreStale        entries written by an owner whose lease had ended
 *         prepare            what the source knows beside its rows: who is silent
 *         catchUpRules       a marker activates its rules and folds the past for them
 *         evaluateConditions windows and sustained conditions: rows into series buffers, time
 *         passes
 *         emitEdges          changes, compared with the reported state
 *         handle             the sink: edges are decided before the next entry is evaluated
 *     edges$                 one emission per entry, in the order of the log
 *
 * The stages call a pure fold, `changesOf` and `edgesOf` at the end of this file, with one entry at
 * a time. It runs in steps of one VM, which the pacer spreads over turns of the thread. Without a
 * pacer nothing waits: an entry has passed the whole pipeline before the next one is requested. The
 * state is changed in place, for speed, and is a function of its seed and of the entries folded so
 * far, so use it from one place.
 *
 * An absent reading causes no step: it is neither a zero nor a recovery.
 */
import {
  concat,
  defer,
  EMPTY,
  identity,
  ignoreElements,
  isObservable,
  type MonoTypeOperatorFunction,
  map,
  type Observable,
  type OperatorFunction,
  of,
  pipe,
  tap,
} from 'rxjs';
import {
  type Admission,
  allAtOnce,
  inSlices,
  mapInOrder,
  mapInSlices,
  oneAtATime,
  type Pacer,
  type Steps,
} from '../../platform/operators.ts';
import { type Edge, isStale, type LogEntry } from '../../telemetry/entry.ts';
import { decodeEntries, type LoggedEntry, type PlacedEntry } from '../../telemetry/entry-codec.ts';
import { beginCatchUp, type RulesEntry } from './catch-up.ts';
import type { Instance } from './instance.ts';
import { missingEdges, stoppedEdges } from './missing-data.ts';
import { reconcile } from './notification-diff.ts';
import { observeBatch, seedIncidents } from './observe-batch.ts';
import {
  addRule,
  type Changes,
  type EvaluationSeed,
  type EvaluationState,
  emptyState,
  type LastObservation,
  retireVm,
  setInstanceQuota,
} from './state.ts';
import { addSilentVms, recordLastObservations } from './telemetry-silence.ts';
import { passTime } from './tick.ts';

/** The ports in which the uses of the pipeline differ. */
export interface EvaluationPorts extends Admission<PlacedEntry> {
  /** State of each partition; created with its first entry. */
  readonly states: Map<number, EvaluationState>;
  /** Passed by each decoded entry as it arrives, while earlier ones may still be evaluated. */
  readonly arrive?: MonoTypeOperatorFunction<PlacedEntry>;
  /** Passed by each entry right before it is evaluated. */
  readonly prepare?: MonoTypeOperatorFunction<PlacedEntry>;
  /** Passed by each evaluated entry. Only then is the next one evaluated. */
  readonly handle?: MonoTypeOperatorFunction<EvaluatedEntry>;
  /** Absent: new rules know only the entries after their marker. */
  readonly past?: Past;
  /** Absent: each entry is evaluated in one turn. */
  readonly pacer?: Pacer;
}

/** The time before a marker, over which its new rules are folded. */
export interface Past {
  /** Batches stored before it, oldest first, back to `pastFromMs`. */
  entries(marker: PlacedMarker): Observable<LogEntry>;
  /** VMs of a project as last observed up to `atMs`. Some may have no row in the log. */
  observed?(project: string, atMs: number): Iterable<LastObservation>;
}

/** A rule marker with its position in the log, where catch-up starts. */
export interface PlacedMarker extends PlacedEntry {
  readonly entry: RulesEntry;
}

/** An entry after its evaluation, with the result. */
export interface EvaluatedEntry extends PlacedEntry {
  /** As of this entry. The next one changes it in place. */
  readonly state: EvaluationState;
  /** In the order of each instance's history; times of one instance's edges strictly increase. */
  readonly edges: readonly Edge[];
}

/** Evaluates the entries of a log. Emits once per entry, even if it causes no edges. */
export function evaluate(ports: EvaluationPorts): OperatorFunction<LoggedEntry, EvaluatedEntry> {
  const { states, arrive = identity, prepare = identity, handle = identity, pacer } = ports;
  const stages = pipe(
    ignoreStale(states),
    prepare,
    catchUpRules(ports),
    evaluateConditions(pacer),
    emitEdges(pacer),
    handle,
  );
  return pipe(decodeEntries(), arrive, oneAtATime(stages, ports));
}

/** Replaces an entry whose writer's lease had ended by one that changes nothing. */
function ignoreStale(states: Map<number, EvaluationState>): MonoTypeOperatorFunction<PlacedEntry> {
  return map((placed) => {
    const { entry, partition } = placed;
    const state = stateOf(states, partition);
    if (isStale(entry, state.epoch)) {
      const atMs = timeOf(entry);
      return { ...placed, entry: { kind: 'rules', atMs, upserts: [], removals: [] } as const };
    }
    if (entry.kind !== 'batch') state.epoch = entry.epoch ?? 0;
    return placed;
  });
}

/** An entry whose rules, if it is a marker, are active and caught up. */
interface CaughtUpEntry extends PlacedEntry {
  readonly state: EvaluationState;
  /** Instances of new rules that already fire. */
  readonly joined: readonly Instance[];
}

const NO_INSTANCES: readonly Instance[] = [];

/**
 * Activates the rules of markers. New ones are folded over the past first, while arriving entries
 * wait. All other entries pass.
 */
export function catchUpRules(
  ports: Pick<EvaluationPorts, 'states' | 'past' | 'pacer'>,
): OperatorFunction<PlacedEntry, CaughtUpEntry> {
  const { states, past, pacer } = ports;
  return mapInOrder((placed) => {
    const state = stateOf(states, placed.partition);
    if (!isMarker(placed)) return { ...placed, state, joined: NO_INSTANCES };
    const { isNeeded, take, join } = beginCatchUp(state, placed.entry);
    const stored = isNeeded ? (past?.entries(placed) ?? EMPTY) : EMPTY;
    const joining = defer(() => {
      if (isNeeded && past?.observed) recordObserved(state, placed.entry, past.observed);
      const joined = inSlices(join(), pacer);
      return isObservable(joined) ? joined : of(joined);
    });
    // The past emits nothing. The join, which waits for its end, emits once.
    return concat(stored.pipe(tap(take), ignoreElements()), joining).pipe(
      map((joined) => ({ ...placed, state, joined })),
    );
  });
}

/** An entry with its changes. */
interface ChangedEntry extends CaughtUpEntry {
  readonly changes: Changes;
}

/** Windows and sustained conditions: folds each entry and passes on its changes. */
export function evaluateConditions(pacer?: Pacer): OperatorFunction<CaughtUpEntry, ChangedEntry> {
  return mapInSlices(function* (caughtUp) {
    const { state, entry, joined } = caughtUp;
    return { ...caughtUp, changes: yield* changesOf(state, entry, joined) };
  }, pacer);
}

/** Edges: the changes of an entry, compared with the reported state of each instance. */
export function emitEdges(pacer?: Pacer): OperatorFunction<ChangedEntry, EvaluatedEntry> {
  return mapInSlices(function* ({ sequence, partition, storedMs, entry, state, changes }) {
    const edges = yield* edgesOf(state, entry, changes);
    return { sequence, partition, storedMs, entry, state, edges };
  }, pacer);
}

function stateOf(states: Map<number, EvaluationState>, partition: number): EvaluationState {
  let state = states.get(partition);
  if (!state) {
    state = createState();
    states.set(partition, state);
  }
  return state;
}

function isMarker(placed: PlacedEntry): placed is PlacedMarker {
  return placed.entry.kind === 'rules';
}

function recordObserved(
  state: EvaluationState,
  { upserts, atMs }: RulesEntry,
  observed: NonNullable<Past['observed']>,
): void {
  for (const project of new Set(upserts.map((rule) => rule.project))) {
    recordLastObservations(state, observed(project, atMs));
  }
}

/**
 * A state at the log's floor. `into`: adds to an existing state (several projects, one partition),
 * before its first entry.
 */
export function createState(seed?: EvaluationSeed, into = emptyState()): EvaluationState {
  for (const limit of seed?.limits ?? []) setInstanceQuota(into, limit);
  for (const retired of seed?.retired ?? []) retireVm(into, retired);
  for (const rule of seed?.rules ?? []) addRule(into, rule, Number.NEGATIVE_INFINITY);
  recordLastObservations(into, seed?.observed ?? []);
  allAtOnce(addSilentVms(into));
  into.seeds = [...into.seeds, ...(seed?.firing ?? [])];
  seedIncidents(into);
  into.isAlwaysListening = seed?.isAlwaysListening ?? false;
  return into;
}

/**
 * Changes of an entry: windows and sustained conditions. It runs in steps of one VM. Until the last
 * step, the state belongs to this entry alone. `joined` has instances of new rules that already
 * fired in a marker's catch-up.
 */
export function* changesOf(
  state: EvaluationState,
  entry: LogEntry,
  joined: readonly Instance[],
): Steps<Changes> {
  state.latestMs = Math.max(state.latestMs, timeOf(entry));
  switch (entry.kind) {
    case 'batch':
      return observeBatch(state, entry.batch);
    case 'tick':
      return yield* passTime(state, entry);
    case 'rules':
      return { touched: joined, stopped: [], edges: [] };
  }
}

/** The edges of an entry, from its changes. It runs in steps of one instance. */
export function* edgesOf(
  state: EvaluationState,
  entry: LogEntry,
  { touched, stopped, edges: decided }: Changes,
): Steps<readonly Edge[]> {
  const nowMs = timeOf(entry);
  const edges = [...decided];
  for (const instance of touched) {
    edges.push(...reconcile(state, instance, nowMs));
    yield;
  }
  for (const vm of stopped) edges.push(...stoppedEdges(vm, nowMs));
  if (entry.kind === 'tick') edges.push(...(yield* missingEdges(state, nowMs)));
  return edges;
}

/** Time when the entry was received or written, Unix ms. */
export function timeOf(entry: LogEntry): number {
  return entry.kind === 'batch' ? entry.batch.receivedMs : entry.atMs;
}

/**
 * Records the facts, from rows and history, of VMs that fell silent before the log's floor, once
 * all of the log has been folded. From then on, rules on the age of telemetry evaluate them.
 */
export function recordKnownVms(state: EvaluationState, observed: Iterable<LastObservation>): void {
  recordLastObservations(state, observed);
  allAtOnce(addSilentVms(state));
}
