/**
 * The evaluator subscribes to the evaluation pipeline, with the live log as its source, turns of the
 * main thread as its pacer, and commits as its sink (`edge-commits.ts`). All of it is soft state, and
 * one run: after a fault another one starts from checkpoints (`checkpoints.ts`) or, without one, from
 * the log's first sequence (`sample-pipeline.ts`).
 */
import { concatMap, filter, from, fromEvent, lastValueFrom, pipe, takeUntil, tap } from 'rxjs';
import { inspect, inspectOne, inspectPage } from '../../../streams/alerting/evaluation/inspect.ts';
import {
  createState,
  type EvaluatedEntry,
  evaluate,
  type PlacedMarker,
} from '../../../streams/alerting/evaluation/pipeline.ts';
import { rebasedIn } from '../../../streams/alerting/evaluation/set-back.ts';
import type {
  EvaluationSeed,
  EvaluationState,
} from '../../../streams/alerting/evaluation/state.ts';
import { TimeSlices } from '../../../streams/platform/operators.ts';
import { PARTITIONS, partitionOf } from '../../../streams/platform/stream.ts';
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
}

/** One run, from checkpoints and the log on. After a fault, another one replaces it. */
export class Evaluator implements EvaluatorView {
  readonly #deps: EvaluatorDeps;
  readonly #slices: TimeSlices;
  readonly #states = new Map<number, EvaluationState>();
  #evaluatedThrough = 0;
  /** First entry of the log that each partition with a checkpoint needs. */
  #from: ReadonlyMap<number, number> = new Map();
  /** Entries that have arrived and are not handled yet, and the last one that was skipped. */
  #inProgress = 0;
  #skippedThrough = 0;
  /** Partition of the entry that is being evaluated. */
  #unfinished: number | undefined;
  #underWay: Promise<unknown> = Promise.resolve();
  readonly #outages: OutageDetector;
  #commits: EdgeCommits;

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
    this.#commits = new EdgeCommits(deps);
    this.#slices = new TimeSlices(deps.clock);
    this.#outages = new OutageDetector(deps, this.#states);
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
    return Math.min(this.#evaluatedThrough, this.#commits.pendingFrom() - 1);
  }

  /** The same for one partition, whatever waits in others. */
  throughOf(partition: number): number {
    return Math.min(this.#evaluatedThrough, this.#commits.pendingFrom(partition) - 1);
  }

  /**
   * Discards all state and loads the checkpoints; for partitions without one, the state of the rows
   * at the log's floor. Called before each `run`. Resolves with the first sequence that `run`
   * needs; 1: all of the log.
   */
  async rebuild(): Promise<number> {
    this.#states.clear();
    this.#commits = new EdgeCommits(this.#deps);
    await this.#outages.begin();
    this.#from = await this.#restore();
    const isSeeded = (project: string) => !this.#from.has(partitionOf(project));
    const { host } = this.#deps;
    const seeds = new Map<string, EvaluationSeed>();
    for (const project of host.projects().filter(isSeeded)) {
      seeds.set(project, await seedOf(host.view(project)));
    }
    // Read only now, because the log then has the marker of every rule that is active in these
    // rows, except truncated ones. Read earlier, it could lack one, and the rule would count from
    // the floor.
    const marked = seeds.size > 0 ? await this.#markedRules() : new Set<string>();
    for (const [project, seed] of seeds) this.#seed(project, seed, marked);
    // Read afterwards: everything that these rows have decided is in the log up to here.
    const { lastSequence } = await this.#deps.stream.state(SAMPLES_STREAM);
    this.#outages.endBacklog(lastSequence);
    const isWhole = this.#from.size === PARTITIONS;
    const first = isWhole ? Math.min(...this.#from.values()) : 1;
    this.#evaluatedThrough = first - 1;
    return first;
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
    const evaluated = log.entries.pipe(
      evaluate({
        states: this.#states,
        arrive: pipe(
          tap((placed) => store?.(placed)),
          filter((placed) => this.#isNeeded(placed)),
        ),
        prepare: concatMap((placed) => this.#track(this.#recordLiveness(placed))),
        past: {
          entries: (marker) => from(this.#past(marker)),
          observed: (project, atMs) => this.#outages.lastOf(project, atMs),
        },
        pacer: this.#slices,
        handle: concatMap((entry) => this.#track(this.#commit(entry, signal))),
      }),
      takeUntil(fromEvent(signal, 'abort')),
    );
    await lastValueFrom(evaluated, { defaultValue: undefined }).finally(() => this.#outages.end());
    await this.#underWay;
  }

  /** False for an entry that the checkpoint of its partition contains. */
  #isNeeded({ partition, sequence }: PlacedEntry): boolean {
    if (sequence >= (this.#from.get(partition) ?? 0)) {
      this.#inProgress++;
      return true;
    }
    this.#skippedThrough = sequence;
    if (this.#inProgress === 0) this.#evaluatedThrough = sequence;
    this.#deps.log.handled();
    return false;
  }

  /** Rules whose marker the log still holds. Replaying it applies them at the right position. */
  async #markedRules(): Promise<ReadonlySet<string>> {
    const marked = new Set<string>();
    for await (const { upserts } of pastMarkers(this.#deps.stream)) {
      for (const rule of upserts) marked.add(markOf(rule));
    }
    return marked;
  }

  #seed(project: string, seed: EvaluationSeed, marked: ReadonlySet<string>): void {
    const rules = seed.rules.filter((rule) => !marked.has(markOf(rule)));
    const { firing, retired = [] } = seed;
    if (rules.length + firing.length + retired.length === 0) return;
    const partition = partitionOf(project);
    const known = { ...seed, rules, observed: [...this.#outages.lastOf(project)] };
    const state = createState(known, this.#states.get(partition));
    state.isReplaying = true;
    state.aheadFromMs = this.#deps.clock.now() + FUTURE_MS;
    this.#states.set(partition, state);
  }

  /** Tracks work that continues after the run has ended, until it is done. */
  #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay = work;
    return work;
  }

  async #recordLiveness(placed: PlacedEntry): Promise<PlacedEntry> {
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
    this.#inProgress--;
    if (!signal.aborted) await this.#conclude(evaluated);
    this.#deps.log.handled();
    return evaluated;
  }

  /** The entry is evaluated, and its edges are decided or kept: the place for a checkpoint. */
  async #conclude(evaluated: EvaluatedEntry): Promise<void> {
    const { partition, sequence, state } = evaluated;
    const skipped = this.#inProgress === 0 ? this.#skippedThrough : 0;
    this.#evaluatedThrough = Math.max(sequence, skipped);
    this.#unfinished = undefined;
    const { checkpoints } = this.#deps;
    checkpoints?.passed(evaluated);
    if (checkpoints?.isDue(partition) === true) await this.#save(checkpoints, partition, state);
  }

  async #save(checkpoints: Checkpoints, partition: number, state: EvaluationState): Promise<void> {
    // Until every VM is known, a state may lack those that fell silent before the log's floor.
    if (!this.#outages.isKnown) return;
    const undecided = this.#commits.undecidedOf(partition);
    const known = this.#outages.factsOf(partition);
    await checkpoints.take(partition, { state, undecided, known }, this.#states.keys());
  }

  /** Saves every partition after `run` has ended, so that the next start has nothing to read. */
  async save(): Promise<void> {
    const { checkpoints } = this.#deps;
    await checkpoints?.settled();
    for (const [partition, state] of checkpoints ? this.#states : []) {
      // An entry whose edges were not decided is a part of the state: its end is not known.
      if (partition === this.#unfinished || !checkpoints?.isBehind(partition)) continue;
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
