/**
 * The evaluation pipeline: from entries of a SAMPLES log to edges. Live evaluation, `svc replay`,
 * previews, recomputed incidents and the simulation all subscribe to it; they differ in source,
 * pacer and sink alone.
 *
 *     entries$
 *       decodeEntries        bytes to batches, ticks and rule markers
 *       arrive               at the source's pace: history stores rows first
 *       one at a time
 *         prepare            what the source knows beside its rows: who is silent
 *         catchUpRules       a marker puts its rules in force and folds the past for them
 *         evaluateConditions windows and sustained conditions: rows into series buffers, time passes
 *         emitEdges          what changed, compared with what was reported
 *         handle             the sink: edges are decided before the next entry is evaluated
 *     edges$                 one emission for each entry, in the order of the log
 *
 * The stages call the pure fold (`fold.ts`), a batch at a time. It runs in steps of one VM, which the
 * pacer spreads over turns of the thread; without a pacer nothing waits, and an entry has passed the
 * whole pipeline before the next one is asked for.
 *
 * An absent reading takes no step anywhere here: it is no zero, and no recovery.
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
  inSlices,
  mapInOrder,
  mapInSlices,
  oneAtATime,
  type Pacer,
} from '../../platform/operators.ts';
import type { Edge, LogEntry } from '../../telemetry/entry.ts';
import { decodeEntries, type LoggedEntry, type PlacedEntry } from '../../telemetry/entry-codec.ts';
import { beginCatchUp, type RulesEntry } from './catch-up.ts';
import { changesOf, createState, edgesOf } from './fold.ts';
import type { Instance } from './instance.ts';
import type { Changes, EvaluationState, LastObservation } from './state.ts';
import { noteLastObservations } from './telemetry-silence.ts';

/** What differs between the uses of the pipeline. */
export interface EvaluationPorts {
  /** State of each partition; created with its first entry. */
  readonly states: Map<number, EvaluationState>;
  /** Each decoded entry passes it as it arrives, while earlier ones may still be evaluated. */
  readonly arrive?: MonoTypeOperatorFunction<PlacedEntry>;
  /** Each entry passes it right before it is evaluated. */
  readonly prepare?: MonoTypeOperatorFunction<PlacedEntry>;
  /** Each evaluated entry passes it; only then is the next one evaluated. */
  readonly handle?: MonoTypeOperatorFunction<EvaluatedEntry>;
  /** Absent: new rules know only the entries after their marker. */
  readonly past?: Past;
  /** Absent: each entry is evaluated in one turn. */
  readonly pacer?: Pacer;
}

/** The time before a marker, over which its new rules are folded. */
export interface Past {
  /** Batches stored before it, oldest first, as far back as `pastFromMs`. */
  entries(marker: PlacedMarker): Observable<LogEntry>;
  /** VMs of a project as they were last observed up to `atMs`: some may have no row in the log. */
  observed?(project: string, atMs: number): Iterable<LastObservation>;
}

export interface PlacedMarker extends PlacedEntry {
  readonly entry: RulesEntry;
}

/** An entry after its evaluation, with what it led to. */
export interface EvaluatedEntry extends PlacedEntry {
  /** As of this entry; the next one changes it in place. */
  readonly state: EvaluationState;
  /** In the order of each instance's history; times of one instance's edges grow strictly. */
  readonly edges: readonly Edge[];
}

/** Evaluates the entries of a log. One emission an entry, also when it has no edges. */
export function evaluate(ports: EvaluationPorts): OperatorFunction<LoggedEntry, EvaluatedEntry> {
  const { arrive = identity, prepare = identity, handle = identity, pacer } = ports;
  const stages = pipe(
    prepare,
    catchUpRules(ports),
    evaluateConditions(pacer),
    emitEdges(pacer),
    handle,
  );
  return pipe(decodeEntries(), arrive, oneAtATime(stages));
}

/** An entry whose rules, if it is a marker, are in force and caught up. */
interface CaughtUpEntry extends PlacedEntry {
  readonly state: EvaluationState;
  /** Instances of new rules that are firing already. */
  readonly joined: readonly Instance[];
}

const NO_INSTANCES: readonly Instance[] = [];

/**
 * Puts the rules of markers in force. New ones are folded over the past first; entries that arrive
 * meanwhile wait. All other entries pass.
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
      if (isNeeded && past?.observed) noteObserved(state, placed.entry, past.observed);
      const joined = inSlices(join(), pacer);
      return isObservable(joined) ? joined : of(joined);
    });
    // The past emits nothing; the join, which waits for its end, emits once.
    return concat(stored.pipe(tap(take), ignoreElements()), joining).pipe(
      map((joined) => ({ ...placed, state, joined })),
    );
  });
}

/** An entry with what it changed. */
interface ChangedEntry extends CaughtUpEntry {
  readonly changes: Changes;
}

/** Windows and sustained conditions: folds each entry, and hands on what it changed. */
export function evaluateConditions(pacer?: Pacer): OperatorFunction<CaughtUpEntry, ChangedEntry> {
  return mapInSlices(function* (caughtUp) {
    const { state, entry, joined } = caughtUp;
    return { ...caughtUp, changes: yield* changesOf(state, entry, joined) };
  }, pacer);
}

/** Edges: what an entry changed, compared with what was reported of each instance. */
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

function noteObserved(
  state: EvaluationState,
  { upserts, atMs }: RulesEntry,
  observed: NonNullable<Past['observed']>,
): void {
  for (const project of new Set(upserts.map((rule) => rule.project))) {
    noteLastObservations(state, observed(project, atMs));
  }
}
