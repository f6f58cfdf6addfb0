/**
 * The evaluator subscribes to the evaluation pipeline, with the live log as its source, turns of the
 * main thread as its pacer, and commits as its sink (`edge-commits.ts`). All of it is soft state. A
 * fault in a partition's evaluation rebuilds that partition alone (`partition-rebuilds.ts`). Any other
 * fault ends the run, and another one starts from checkpoints (`checkpoints.ts`) or, without one, from
 * the log's first sequence (`sample-pipeline.ts`).
 */
import { concatMap, from, fromEvent, lastValueFrom, of, takeUntil, tap } from 'rxjs';
import { inspect, inspectOne, inspectPage } from '../../../streams/alerting/evaluation/inspect.ts';
import {
  createState,
  type EvaluatedEntry,
  type EvaluationPorts,
  evaluate,
  type PlacedMarker,
} from '../../../streams/alerting/evaluation/pipeline.ts';
import { rebasedIn } from '../../../streams/alerting/evaluation/set-back.ts';
import type {
  EvaluationSeed,
  EvaluationState,
} from '../../../streams/alerting/evaluation/state.ts';
import { TimeSlices } from '../../../streams/platform/operators.ts';
import {
  PARTITIONS,
  partitionOf,
  type StreamState,
  StreamUnavailable,
} from '../../../streams/platform/stream.ts';
import {
  type EvaluationRule,
  FUTURE_MS,
  type LivenessReport,
  type LogEntry,
} from '../../../streams/telemetry/entry.ts';
import type { PlacedEntry } from '../../../streams/telemetry/entry-codec.ts';
import { pastMarkers, SAMPLES_STREAM, type SampleLogReader } from '../../telemetry/sample-log.ts';
import { vmDirectoryOf } from '../../vms/vm-directory.ts';
import { seedOf } from '../rule-markers.ts';
import type { Checkpoints } from './checkpoints.ts';
import { EdgeCommits, type EdgeCommitsDeps } from './edge-commits.ts';
import {
  type EvaluatorView,
  type InspectedInstance,
  type InstancePage,
  type InstanceQuota,
  NO_INSTANCES,
  type SeriesOfRule,
  type SoftInstance,
} from './evaluator-port.ts';
import {
  type PartitionApart,
  type PartitionFault,
  PartitionRebuilds,
  type RestoredState,
} from './partition-rebuilds.ts';
import { type PastReadingsDeps, pastReadings } from './past-readings.ts';
import { OutageDetector, type OutagePorts } from './vm-liveness.ts';

/** The inputs of one run of the evaluator. All its other state comes from the log. */
export interface EvaluatorDeps extends OutagePorts, EdgeCommitsDeps, Omit<PastReadingsDeps, 'vms'> {
  readonly log: SampleLogReader;
  /**
   * Receives each decoded entry before it is evaluated, at the pace of the reader; used by history.
   */
  readonly store?: (placed: PlacedEntry) => void;
  /** Absent: each run starts from the log's first sequence. */
  readonly checkpoints?: Checkpoints;
  /** See `PartitionRebuildsDeps.onFault`. */
  readonly onPartitionFault?: (fault: PartitionFault) => void;
}

/** One run, from checkpoints and the log on. */
export class Evaluator implements EvaluatorView {
  readonly #deps: EvaluatorDeps;
  readonly #slices: TimeSlices;
  readonly #states = new Map<number, EvaluationState>();
  #evaluatedThrough = 0;
  /** First entry of the log that each partition with a checkpoint needs. */
  #from: ReadonlyMap<number, number> = new Map();
  /** Partition of the entry that is being evaluated. */
  #unfinished: number | undefined;
  #underWay: Promise<unknown> = Promise.resolve();
  readonly #outages: OutageDetector;
  #commits: EdgeCommits;
  readonly #rebuilds: PartitionRebuilds;

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
    this.#commits = new EdgeCommits(deps);
    this.#slices = new TimeSlices(deps.clock);
    this.#outages = new OutageDetector(deps, this.#states);
    const { clock, stream, onPartitionFault: onFault } = deps;
    this.#rebuilds = new PartitionRebuilds({
      clock,
      stream,
      ...(onFault && { onFault }),
      restore: (partition) => this.#restoreApart(partition),
      begin: (partition) => this.#outages.begun(partition),
      evaluate: (placed, signal) => this.#evaluateApart(placed, signal),
      onJoined: (partition, last) => deps.checkpoints?.join(partition, last),
    });
  }

  /** Soft instances of a project: idle, sustaining and firing, with their last observed value. */
  instances(project: string, page?: InstancePage): readonly SoftInstance[] {
    const state = this.#states.get(partitionOf(project));
    if (!state) return [];
    return page ? inspectPage(state, project, page) : inspect(state, project);
  }

  instance(series: SeriesOfRule): InspectedInstance | undefined {
    const state = this.#states.get(partitionOf(series.project));
    return state && inspectOne(state, series);
  }

  /** A copy of the project's instance counts: evaluated ones, and those beyond the quota. */
  quota(project: string): InstanceQuota {
    const watched = this.#states.get(partitionOf(project))?.projects.get(project);
    if (!watched) return NO_INSTANCES;
    return { evaluated: watched.instances, unevaluated: new Map(watched.unevaluated) };
  }

  /** Number of future times that this run moved to the present after the clock was set back. */
  readonly rebased = (): number => rebasedIn(this.#states.values());

  /** Position in SAMPLES up to which everything has been evaluated and committed. */
  throughSequence(): number {
    return Math.min(
      this.#evaluatedThrough,
      this.#commits.pendingFrom() - 1,
      this.#rebuilds.through(),
    );
  }

  /** The same without the partitions that are rebuilt apart. */
  throughTogether(): number {
    const pendingFrom = this.#commits.pendingFrom((partition) => !this.#rebuilds.has(partition));
    return Math.min(this.#evaluatedThrough, pendingFrom - 1);
  }

  /** The same for one partition, whatever waits in others. */
  throughOf(partition: number): number {
    const through = this.#rebuilds.throughOf(partition) ?? this.#evaluatedThrough;
    return Math.min(through, this.#commits.pendingFrom((one) => one === partition) - 1);
  }

  /** Partitions that are rebuilt apart from the others. */
  apart(): readonly PartitionApart[] {
    return this.#rebuilds.list();
  }

  /** Partitions over whose VMs outages are not judged yet. */
  unjudged(): readonly number[] {
    return this.#outages.missing();
  }

  /**
   * Discards all state and loads the checkpoints. If none can be used, all partitions start from
   * the rows, at the log's floor; otherwise those without one are rebuilt apart. Called before each
   * `run`. Resolves with the first sequence that `run` needs; 1: all of the log.
   */
  async rebuild(): Promise<number> {
    this.#states.clear();
    this.#rebuilds.clear();
    this.#commits = new EdgeCommits(this.#deps);
    await this.#outages.begin();
    this.#from = await this.#restore();
    const isRestored = this.#from.size > 0;
    const first = isRestored ? Math.min(...this.#from.values()) : 1;
    for (let partition = 0; isRestored && partition < PARTITIONS; partition++) {
      if (this.#from.has(partition)) continue;
      this.#setApart(partition, { isMissing: true });
      this.#rebuilds.addMissing(partition, first - 1);
    }
    const { lastSequence } = isRestored
      ? await this.#deps.stream.state(SAMPLES_STREAM)
      : await this.#seedAll();
    this.#outages.endBacklog(lastSequence);
    this.#evaluatedThrough = first - 1;
    return first;
  }

  /**
   * Makes the states of projects from their rows.
   * @param only a partition; absent: all of them
   * @returns the log's end: everything decided in these rows is in the log up to there
   */
  async #seedAll(only?: number): Promise<StreamState> {
    const { host, stream } = this.#deps;
    const isMeant = (project: string) => only === undefined || partitionOf(project) === only;
    const seeds = new Map<string, EvaluationSeed>();
    for (const project of host.projects().filter(isMeant)) {
      seeds.set(project, await seedOf(host.view(project)));
    }
    // Read only now, because the log then has the marker of every rule that is active in these
    // rows, except truncated ones. Read earlier, it could lack one, and the rule would count from
    // the floor.
    const marked = seeds.size > 0 ? await this.#markedRules(only) : new Set<string>();
    for (const [project, seed] of seeds) this.#seed(project, seed, marked);
    return await stream.state(SAMPLES_STREAM);
  }

  async #restore(): Promise<ReadonlyMap<number, number>> {
    const restored = await this.#deps.checkpoints?.restore();
    for (const [partition, { state, undecided, known }] of restored?.contents ?? []) {
      this.#states.set(partition, state);
      this.#commits.restore(partition, undecided);
      this.#outages.restore(partition, known);
    }
    return restored?.from ?? new Map();
  }

  /**
   * Evaluates the entries of the log's reader until `signal`. It has subscribed when it returns, so
   * start the reader afterwards, at the sequence that `rebuild` returned. Rejects on a fault. Ends
   * when no work is in progress.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { log, store } = this.#deps;
    const ending = new AbortController();
    const end = (): void => ending.abort();
    signal.addEventListener('abort', end, { once: true });
    const evaluated = log.entries.pipe(
      evaluate({
        ...this.#ports(),
        arrive: tap((placed) => store?.(placed)),
        admits: (placed) => this.#admits(placed),
        prepare: concatMap((placed) => this.#track(this.#recordLiveness(placed))),
        handle: concatMap((entry) => this.#track(this.#commit(entry, ending.signal))),
        recover: (placed, error) => this.#recover(placed, error),
      }),
      takeUntil(fromEvent(ending.signal, 'abort')),
    );
    const working = [
      lastValueFrom(evaluated, { defaultValue: undefined }),
      this.#rebuilds.run(ending.signal),
    ];
    try {
      await Promise.race(working);
    } finally {
      end();
      signal.removeEventListener('abort', end);
      this.#outages.end();
      await Promise.allSettled(working);
      await this.#underWay;
    }
  }

  #ports(): Pick<EvaluationPorts, 'states' | 'past' | 'pacer'> {
    return {
      states: this.#states,
      past: {
        entries: (marker) => from(this.#past(marker)),
        observed: (project, atMs) => this.#outages.lastOf(project, atMs),
      },
      pacer: this.#slices,
    };
  }

  /** False for an entry that its partition's checkpoint contains, or that is evaluated apart. */
  #admits(placed: PlacedEntry): boolean {
    const isApart = this.#rebuilds.takes(placed);
    if (!isApart && placed.sequence >= (this.#from.get(placed.partition) ?? 0)) return true;
    if (isApart) this.#outages.follow(placed.entry);
    this.#passOver(placed);
    return false;
  }

  #passOver({ sequence }: PlacedEntry): void {
    this.#evaluatedThrough = sequence;
    this.#deps.log.handled();
  }

  /** A fault of the entry's evaluation is one of its partition, unless the log cannot be read. */
  #recover(placed: PlacedEntry, error: unknown): void {
    if (error instanceof StreamUnavailable) throw error;
    const { partition } = placed;
    this.#rebuilds.interrupt(placed, error, this.throughOf(partition));
    this.#setApart(partition, { isMissing: false });
    this.#discard(partition);
    this.#unfinished = undefined;
    this.#passOver(placed);
  }

  #setApart(partition: number, { isMissing }: { readonly isMissing: boolean }): void {
    this.#outages.setApart(partition, isMissing);
    this.#deps.checkpoints?.setApart(partition);
  }

  #discard(partition: number): void {
    this.#states.delete(partition);
    this.#commits.discard(partition);
  }

  async #restoreApart(partition: number): Promise<RestoredState> {
    this.#discard(partition);
    const saved = await this.#deps.checkpoints?.restoreOne(partition);
    if (saved) {
      const { from, contents } = saved;
      this.#states.set(partition, contents.state);
      this.#commits.restore(partition, contents.undecided);
      return { from, decidedThrough: from - 1 };
    }
    const { lastSequence } = await this.#seedAll(partition);
    return { from: 1, decidedThrough: lastSequence };
  }

  async #evaluateApart(placed: PlacedEntry, signal: AbortSignal): Promise<void> {
    if (placed.unreadable) throw placed.unreadable;
    this.#outages.recordApart(placed);
    const evaluated = of(placed).pipe(
      evaluate({
        ...this.#ports(),
        handle: concatMap(async (entry) => {
          await this.#commits.commit(entry, signal);
          return entry;
        }),
      }),
      takeUntil(fromEvent(signal, 'abort')),
    );
    await lastValueFrom(evaluated, { defaultValue: undefined });
  }

  /** Rules whose marker the log still holds. Replaying it applies them at the right position. */
  async #markedRules(only?: number): Promise<ReadonlySet<string>> {
    const marked = new Set<string>();
    for await (const { upserts } of pastMarkers(this.#deps.stream, only)) {
      for (const rule of upserts) marked.add(markOf(rule));
    }
    return marked;
  }

  #seed(project: string, seed: EvaluationSeed, marked: ReadonlySet<string>): void {
    const rules = seed.rules.filter((rule) => !marked.has(markOf(rule)));
    const { firing, retired = [] } = seed;
    if (rules.length + firing.length + retired.length === 0) return;
    const partition = partitionOf(project);
    const known = { ...seed, rules, observed: [...this.#outages.placesOf(project)] };
    const state = createState(known, this.#states.get(partition));
    state.isReplaying = true;
    state.aheadFromMs = this.#deps.clock.now() + FUTURE_MS;
    this.#states.set(partition, state);
  }

  /** Tracks work that continues after the run has ended, until it is done. */
  #track<T>(work: Promise<T>): Promise<T> {
    // A fault in it is one of the pipeline.
    this.#underWay = work.catch(() => {});
    return work;
  }

  async #recordLiveness(placed: PlacedEntry): Promise<PlacedEntry> {
    if (placed.unreadable) throw placed.unreadable;
    this.#unfinished = placed.partition;
    await this.#outages.record(placed);
    return placed;
  }

  /** See `pastReadings`. */
  async *#past(marker: PlacedMarker): AsyncGenerator<LogEntry> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#track(promise);
    try {
      const vms = (project: string) => vmDirectoryOf(this.#deps.host).vms(project).keys();
      yield* pastReadings({ ...this.#deps, vms }, marker, this.#slices);
    } finally {
      resolve();
    }
  }

  async #commit(evaluated: EvaluatedEntry, signal: AbortSignal): Promise<EvaluatedEntry> {
    await this.#commits.commit(evaluated, signal);
    if (!signal.aborted) await this.#conclude(evaluated);
    this.#deps.log.handled();
    return evaluated;
  }

  /** The entry is evaluated, and its edges are decided or kept: the place for a checkpoint. */
  async #conclude(evaluated: EvaluatedEntry): Promise<void> {
    const { partition, sequence, state } = evaluated;
    this.#evaluatedThrough = sequence;
    this.#unfinished = undefined;
    const { checkpoints } = this.#deps;
    checkpoints?.passed(evaluated);
    if (checkpoints?.isDue(partition) === true) await this.#save(checkpoints, partition, state);
  }

  async #save(checkpoints: Checkpoints, partition: number, state: EvaluationState): Promise<void> {
    // Until every VM is known, a state may lack those that fell silent before the log's floor.
    if (!this.#outages.isKnown(partition)) return;
    const undecided = this.#commits.undecidedOf(partition);
    const known = this.#outages.factsOf(partition);
    await checkpoints.take(partition, { state, undecided, known }, this.#states.keys());
  }

  /** Saves every partition after `run` has ended, so that the next start has nothing to read. */
  async save(): Promise<void> {
    const { checkpoints } = this.#deps;
    await checkpoints?.settled();
    for (const [partition, state] of checkpoints ? this.#states : []) {
      // An entry whose edges are undecided is part of the state, because its outcome is unknown.
      if (partition === this.#unfinished || this.#rebuilds.has(partition)) continue;
      if (!checkpoints?.isBehind(partition)) continue;
      await this.#save(checkpoints, partition, state);
      await checkpoints.settled();
    }
  }

  /** The report for the next tick of a partition; undefined if it cannot be made now. */
  livenessReport(partition: number, atMs: number): LivenessReport | undefined {
    return this.#outages.of(partition, atMs);
  }
}

function markOf({ rule, evaluationRevision }: EvaluationRule): string {
  return `${rule}/${evaluationRevision}`;
}
