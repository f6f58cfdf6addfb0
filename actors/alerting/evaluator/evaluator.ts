/**
 * The running evaluator of this node's partitions: subscribes to the evaluation pipeline with the live
 * log as its source, turns of the main thread as its pacer, and commits as its sink
 * (`edge-commits.ts`). All of its state is soft: a restart reads the log again from its floor, and
 * decisions made before are recognised and skipped.
 */
import { concatMap, from, fromEvent, lastValueFrom, takeUntil, tap } from 'rxjs';
import { pastFromMs } from '../../../streams/alerting/evaluation/catch-up.ts';
import {
  createState,
  type EvaluationState,
  inspect,
  inspectOne,
  inspectPage,
} from '../../../streams/alerting/evaluation/fold.ts';
import {
  type EvaluatedEntry,
  evaluate,
  type PlacedMarker,
} from '../../../streams/alerting/evaluation/pipeline.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { partitionOf, type Stream } from '../../../streams/platform/stream.ts';
import type { PlacedEntry } from '../../../streams/telemetry/decode-entries.ts';
import type { EvaluationRule, LivenessReport, LogEntry } from '../../../streams/telemetry/entry.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { TimeSlices } from '../../platform/time-slices.ts';
import { pastEntries, SAMPLES_STREAM, type SampleLogReader } from '../../telemetry/sample-log.ts';
import { seedOf } from '../rule-markers.ts';
import { EdgeCommits } from './edge-commits.ts';
import {
  type EvaluatorView,
  type InspectedInstance,
  type InstancePage,
  type InstanceQuota,
  NO_INSTANCES,
  type SeriesOfRule,
  type SoftInstance,
} from './evaluator-port.ts';
import { OutageDetector, type OutagePorts } from './outage-detector.ts';

export interface EvaluatorDeps extends OutagePorts {
  readonly host: Host;
  readonly stream: Stream;
  readonly log: SampleLogReader;
  readonly clock: Clock;
  /** Takes each decoded entry before it is evaluated, at the pace of the reader: history does. */
  readonly store?: (placed: PlacedEntry) => void;
  /** An edge could not be decided, by a fault of ours. Absent: the run ends with it. */
  readonly onFault?: (what: string, error: unknown) => void;
}

export class Evaluator implements EvaluatorView {
  readonly #deps: EvaluatorDeps;
  readonly #slices: TimeSlices;
  readonly #states = new Map<number, EvaluationState>();
  #evaluatedThrough = 0;
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

  /**
   * A copy of the project's instance counts: how many are evaluated, and how many exceed the quota.
   */
  quota(project: string): InstanceQuota {
    const watched = this.#states.get(partitionOf(project))?.projects.get(project);
    if (!watched) return NO_INSTANCES;
    return { evaluated: watched.instances, unevaluated: new Map(watched.unevaluated) };
  }

  /** Position in SAMPLES up to which everything has been evaluated and committed. */
  throughSequence(): number {
    return Math.min(this.#evaluatedThrough, this.#commits.pendingFrom() - 1);
  }

  /**
   * Discards all state and loads what the rows say at the log's floor. Called before each `run`.
   */
  async rebuild(): Promise<void> {
    this.#states.clear();
    this.#commits = new EdgeCommits(this.#deps);
    this.#evaluatedThrough = 0;
    const { lastSequence } = await this.#deps.stream.state(SAMPLES_STREAM);
    await this.#outages.begin(lastSequence);
    const marked = await this.#markedRules();
    for (const project of this.#deps.host.projects()) await this.#seed(project, marked);
  }

  /**
   * Evaluates the entries of the log's reader until `signal`. It has subscribed when it returns:
   * start the reader afterwards, at the log's first sequence. Rejects on a fault. Ends once no work
   * is under way.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { log, store } = this.#deps;
    const evaluated = log.entries.pipe(
      evaluate({
        states: this.#states,
        arrive: tap((placed) => store?.(placed)),
        prepare: concatMap((placed) => this.#track(this.#noteLiveness(placed))),
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

  /** Rules whose marker the log still holds: replaying it brings them in at the right place. */
  async #markedRules(): Promise<ReadonlySet<string>> {
    const marked = new Set<string>();
    for await (const { entry } of pastEntries(
      this.#deps.stream,
      { sequence: 1 },
      { kind: 'rules' },
    )) {
      if (entry.kind !== 'rules') continue;
      for (const rule of entry.upserts) marked.add(markOf(rule));
    }
    return marked;
  }

  async #seed(project: string, marked: ReadonlySet<string>): Promise<void> {
    const seed = await seedOf(this.#deps.host.view(project), (rule) => !marked.has(markOf(rule)));
    const { rules, firing, retired = [] } = seed;
    if (rules.length + firing.length + retired.length === 0) return;
    const partition = partitionOf(project);
    const known = { ...seed, observed: [...this.#outages.lastOf(project)] };
    const state = createState(known, this.#states.get(partition));
    state.isReplaying = true;
    this.#states.set(partition, state);
  }

  /** Work that goes on when the run is ended, until it is done. */
  #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay = work;
    return work;
  }

  async #noteLiveness(placed: PlacedEntry): Promise<PlacedEntry> {
    await this.#outages.note(placed.entry, placed.sequence);
    return placed;
  }

  /** The batches stored before a marker that the windows of its rules reach. */
  async *#past({ sequence, partition, storedMs, entry }: PlacedMarker): AsyncGenerator<LogEntry> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#track(promise);
    const first = { timeMs: pastFromMs(entry, storedMs) };
    const filter = { partition, kind: 'batch' } as const;
    try {
      for await (const before of pastEntries(this.#deps.stream, first, filter)) {
        if (before.sequence >= sequence) return;
        yield before.entry;
        await this.#slices.yieldIfDue();
      }
    } finally {
      resolve();
    }
  }

  async #commit(evaluated: EvaluatedEntry, signal: AbortSignal): Promise<EvaluatedEntry> {
    await this.#commits.commit(evaluated, signal);
    if (!signal.aborted) this.#evaluatedThrough = evaluated.sequence;
    this.#deps.log.handled();
    return evaluated;
  }

  /** The report for the next tick of a partition; undefined: it cannot be made now. */
  livenessReport(partition: number, atMs: number): LivenessReport | undefined {
    return this.#outages.of(partition, atMs);
  }
}

function markOf({ rule, evaluationRevision }: EvaluationRule): string {
  return `${rule}/${evaluationRevision}`;
}
