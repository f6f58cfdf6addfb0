/**
 * Live evaluation of this node's partitions, from the log to commits: one reader of the log, then
 * history, then the evaluator, then the sink. All of it is soft state: if any part fails,
 * everything starts again from the log's first sequence, and whatever was stored or decided before
 * is recognised and skipped.
 *
 *     SAMPLES -> decode -> history.append -> fold -> edges -> commits
 */
import { concatMap, from, fromEvent, lastValueFrom, takeUntil, tap } from 'rxjs';
import { pastFromMs } from '../../../streams/alerting/evaluation/catch-up.ts';
import { inspect, inspectOne, inspectPage } from '../../../streams/alerting/evaluation/inspect.ts';
import {
  createState,
  type EvaluatedEntry,
  evaluate,
  type PlacedMarker,
} from '../../../streams/alerting/evaluation/pipeline.ts';
import type {
  EvaluationSeed,
  EvaluationState,
} from '../../../streams/alerting/evaluation/state.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../../streams/platform/membership/membership.ts';
import { TimeSlices } from '../../../streams/platform/operators.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { partitionOf, type Stream } from '../../../streams/platform/stream.ts';
import {
  type Edge,
  type EvaluationRule,
  FUTURE_MS,
  type LivenessReport,
  type LogEntry,
  type RulesEntry,
} from '../../../streams/telemetry/entry.ts';
import type { PlacedEntry } from '../../../streams/telemetry/entry-codec.ts';
import type { SampleBatch } from '../../../streams/telemetry/samples/batch.ts';
import type { LatestRow } from '../../../streams/telemetry/samples/columns.ts';
import { AppliedPosition } from '../../platform/host/applier.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { isRetryable } from '../../platform/retryable.ts';
import { type RowRecovery, recoverRows } from '../../telemetry/row-recovery.ts';
import {
  pastEntries,
  pastMarkers,
  SAMPLES_STREAM,
  SampleLogReader,
} from '../../telemetry/sample-log.ts';
import { decideEdge, HELD_VMS_MAX, submitInParts } from '../incident.ts';
import { confirmRule, seedOf } from '../rule-markers.ts';
import {
  type EvaluatorView,
  type InspectedInstance,
  type InstancePage,
  type InstanceQuota,
  NO_INSTANCES,
  type SeriesOfRule,
  type SoftInstance,
} from './evaluator-port.ts';
import { OutageDetector, type OutagePorts } from './vm-liveness.ts';

/** The interface to history that the pipeline needs. */
export interface HistoryWriter {
  append(batch: SampleBatch, position: { partition: number; sequence: number }): void;
  /** Records an entry without samples, so that the floor can pass it. */
  pass(position: { partition: number; sequence: number }): void;
  /** Sequence from which a restart needs the partition's log. */
  floor(partition: number): number;
  /** Newest row of a VM within retention. */
  newest?(project: string, vm: string): LatestRow | undefined;
}

/** The log to read, and the two consumers of its entries: history first, then the evaluator. */
export interface SamplePipelineDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
  readonly history: HistoryWriter;
  readonly ownership: Ownership;
  /** Rows for which history had no space; see `recoverRows`. Absent: it always has space. */
  readonly recovery?: RowRecovery;
  /** See `EvaluatorDeps`. */
  readonly clockAhead?: EvaluatorDeps['clockAhead'] & {};
  /** See `EvaluatorDeps`. */
  readonly onHeard?: EvaluatorDeps['onHeard'] & {};
  /** See `EvaluatorDeps.onFault`. */
  readonly onFault?: (what: string, error: unknown) => void;
}

/**
 * The reader of the log. It answers for the evaluator even between two runs, when there is none.
 */
export class SamplePipeline implements EvaluatorView {
  readonly #deps: SamplePipelineDeps;
  readonly #partitions = new Set<number>();
  /** Position in SAMPLES up to which history has stored everything, so that queries find it. */
  readonly stored = new AppliedPosition(0);
  #evaluator: Evaluator | undefined;
  #rebasedBefore = 0;
  #caughtUpAt = Number.POSITIVE_INFINITY;

  constructor(deps: SamplePipelineDeps) {
    this.#deps = deps;
  }

  /** Runs until `signal`. Rejects on a fault, after which it may be run again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, stream, history, recovery } = this.#deps;
    const state = await stream.state(SAMPLES_STREAM);
    this.#caughtUpAt = state.lastSequence;
    const log = new SampleLogReader(clock);
    const newest = (project: string, vm: string) => history.newest?.(project, vm);
    const store = (placed: PlacedEntry) => this.#store(history, placed);
    const evaluator = new Evaluator({ ...this.#deps, log, newest, store });
    this.#rebasedBefore = this.rebased();
    this.#evaluator = evaluator;
    await evaluator.rebuild();
    // Aborted meanwhile: a listener added now would never be called.
    if (signal.aborted) return;
    const ending = new AbortController();
    const end = (): void => ending.abort();
    signal.addEventListener('abort', end, { once: true });
    const evaluating = evaluator.run(ending.signal);
    const recovering = recovery && recoverRows({ clock, stream, recovery }, ending.signal);
    try {
      const reading = log.run(stream, state.firstSequence, ending.signal);
      await Promise.race([evaluating, reading, ...(recovering ? [recovering] : [])]);
    } finally {
      end();
      signal.removeEventListener('abort', end);
      await evaluating.catch(() => {});
      await recovering?.catch(() => {});
    }
  }

  instances(project: string, page?: InstancePage): readonly SoftInstance[] {
    return this.#evaluator?.instances(project, page) ?? [];
  }

  instance(series: SeriesOfRule): InspectedInstance | undefined {
    return this.#evaluator?.instance(series);
  }

  quota(project: string): InstanceQuota {
    return this.#evaluator?.quota(project) ?? NO_INSTANCES;
  }

  /** Times that were re-based after the clock was set back, since the start. */
  rebased(): number {
    return this.#rebasedBefore + (this.#evaluator?.rebased() ?? 0);
  }

  /** See `Evaluator.livenessReport`. */
  livenessReport(partition: number, atMs: number): LivenessReport | undefined {
    return this.#evaluator?.livenessReport(partition, atMs);
  }

  /** Position in SAMPLES up to which everything has been evaluated. */
  throughSequence(): number {
    return this.#evaluator?.throughSequence() ?? 0;
  }

  /** True if everything that was in the log at the last start has been evaluated. */
  isCaughtUp(): boolean {
    return this.#evaluator !== undefined && this.throughSequence() >= this.#caughtUpAt;
  }

  /** Partitions with an entry in the log since the start. */
  partitions(): ReadonlySet<number> {
    return this.#partitions;
  }

  #store(history: HistoryWriter, { entry, partition, sequence }: PlacedEntry): void {
    this.#partitions.add(partition);
    // Older entries are in chunks on disk. Only the evaluator reads them again.
    if (sequence >= history.floor(partition)) {
      if (entry.kind === 'batch') history.append(entry.batch, { partition, sequence });
      else history.pass({ partition, sequence });
    }
    // A new run reads entries that an earlier one has stored.
    if (sequence > this.stored.sequence) this.stored.advance(sequence);
  }
}

// The evaluator subscribes to the evaluation pipeline, with the live log as its source, turns of
// the main thread as its pacer, and commits as its sink.

/** The inputs of one run of the evaluator. All its other state comes from the log. */
export interface EvaluatorDeps extends OutagePorts, EdgeCommitsDeps {
  readonly stream: Stream;
  readonly log: SampleLogReader;
  /**
   * Receives each decoded entry before it is evaluated, at the pace of the reader; used by history.
   */
  readonly store?: (placed: PlacedEntry) => void;
}

/**
 * One run, from the log's first sequence on. After a fault it is discarded, and another one starts.
 */
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

  /** Times that lay ahead after the clock was set back, and were re-based, since the start. */
  rebased(): number {
    let sum = 0;
    for (const { counters } of this.#states.values()) sum += counters.rebased;
    return sum;
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
    await this.#outages.begin();
    const { host } = this.#deps;
    const seeds = new Map<string, EvaluationSeed>();
    for (const project of host.projects()) seeds.set(project, await seedOf(host.view(project)));
    // Read only now, because the log then has the marker of every rule that is active in these
    // rows, except truncated ones. Read earlier, it could lack one, and the rule would count from
    // the floor.
    const marked = await this.#markedRules();
    for (const [project, seed] of seeds) this.#seed(project, seed, marked);
    // Read afterwards: everything that these rows have decided is in the log up to here.
    const { lastSequence } = await this.#deps.stream.state(SAMPLES_STREAM);
    this.#outages.endBacklog(lastSequence);
  }

  /**
   * Evaluates the entries of the log's reader until `signal`. It has subscribed when it returns, so
   * start the reader afterwards, at the log's first sequence. Rejects on a fault. Ends when no work
   * is in progress.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { log, store } = this.#deps;
    const evaluated = log.entries.pipe(
      evaluate({
        states: this.#states,
        arrive: tap((placed) => store?.(placed)),
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
    await this.#outages.record(placed.entry, placed.sequence);
    return placed;
  }

  /** The batches stored before a marker, within the windows of its rules. */
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

  /** The report for the next tick of a partition; undefined if it cannot be made now. */
  livenessReport(partition: number, atMs: number): LivenessReport | undefined {
    return this.#outages.of(partition, atMs);
  }
}

function markOf({ rule, evaluationRevision }: EvaluationRule): string {
  return `${rule}/${evaluationRevision}`;
}

// The sink of live evaluation: commits the decisions of an entry's edges, and moves rules from
// pending to applied. Deciding twice is a no-op, so an edge is retried until the stream answers.
//
//     edges        -> decisions, by project, in commits of bounded size
//     rule marker  -> its pending rules are applied, then the edges that waited for them
//
// Every member evaluates every partition, but only its owner decides. The others keep the entries
// that the owner has not reported as decided. A member that takes over decides these first, when
// the first tick of its epoch returns from the log.

/** The host that decides edges, and the handler of edges that could not be decided. */
export interface EdgeCommitsDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly ownership: Ownership;
  /**
   * Called when an edge could not be decided because of our own fault. Absent: that ends the
   * evaluation.
   */
  readonly onFault?: (what: string, error: unknown) => void;
}

const evaluatorActor: Actor = { kind: 'service', name: 'evaluator' };

/** Wait after the first missing answer of the stream, ms; doubles up to the maximum. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 5_000;

/**
 * Maximum estimated bytes of deciding windows and steps in one decision: about 44 edges, some 5 ms
 * of the main thread to decide and as much to apply. With three destinations they fit into one
 * commit.
 */
const COMMIT_ESTIMATE_MAX = 88 * 1024;

/** Bytes of a step below firing, in addition to the one that every firing has. */
const RUN_EVENT_ESTIMATE = 700;

/** The undecided part of an entry. */
type Undecided = Pick<EvaluatedEntry, 'sequence' | 'partition' | 'edges'> & {
  readonly entry: RulesEntry | undefined;
};

/** Edges of a rule whose new version is pending. */
interface HeldEdges {
  readonly project: string;
  /** Sequence of the first edge. */
  readonly sequence: number;
  readonly edges: Edge[];
}

/**
 * The sink of the pipeline: edges become events of alert instances, in commits. An edge that was
 * committed before is recognised by its event time.
 */
export class EdgeCommits {
  readonly #deps: EdgeCommitsDeps;
  /** By rule. */
  readonly #held = new Map<string, HeldEdges>();
  /**
   * Entries of partitions that another member acts for, in order, that it is not known to have
   * decided.
   */
  readonly #waiting = new Map<number, Undecided[]>();

  constructor(deps: EdgeCommitsDeps) {
    this.#deps = deps;
  }

  /**
   * Decides an entry, after the waiting ones of its partition; or keeps it until its owner has
   * decided it.
   */
  async commit(evaluated: EvaluatedEntry, signal: AbortSignal): Promise<void> {
    const { sequence, partition, edges, entry } = evaluated;
    const marker = entry.kind === 'rules' ? entry : undefined;
    if (marker !== undefined || edges.length > 0) {
      const waiting = this.#waiting.get(partition) ?? [];
      this.#waiting.set(partition, waiting);
      waiting.push({ sequence, partition, edges, entry: marker });
    }
    await this.#decideWaiting(partition, signal);
  }

  /**
   * Sequence of the first entry that this member must decide and has not: its edges wait for a
   * pending rule, or for their turn after a takeover. Infinity if there is none.
   */
  pendingFrom(): number {
    const { owns, epochOf } = this.#deps.ownership;
    const held = [...this.#held.values()].filter(({ project }) => owns(project));
    const owned = [...this.#waiting].filter(([partition]) => epochOf(partition) !== undefined);
    const first = owned.flatMap(([, waiting]) => waiting.slice(0, 1));
    return Math.min(Number.POSITIVE_INFINITY, ...[...held, ...first].map((each) => each.sequence));
  }

  async #decideWaiting(partition: number, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(partition);
    const isOwner = () => this.#deps.ownership.epochOf(partition) !== undefined;
    for (let first = waiting?.[0]; waiting && first; first = waiting[0]) {
      const isDecided = first.sequence <= (this.#deps.ownership.decidedBy(partition) ?? 0);
      if (!isDecided) {
        if (!isOwner()) return;
        await this.#decideEntry(first, signal);
        // The member that took over meanwhile may have decided it, or may be about to.
        if (signal.aborted || !isOwner()) return;
      } else if (first.entry) this.#forgetHeld(first.entry);
      waiting.shift();
    }
    this.#waiting.delete(partition);
  }

  /** A rule is confirmed before the edges of its catch-up, because only active rules have edges. */
  async #decideEntry({ sequence, entry, edges }: Undecided, signal: AbortSignal): Promise<void> {
    const released = entry ? await this.#confirmRules(entry, signal) : [];
    await this.#commitEdges([...released, ...edges], sequence, signal);
  }

  /**
   * Handles each project separately and in order, so that a fault of one project does not delay the
   * others.
   */
  async #commitEdges(edges: readonly Edge[], sequence: number, signal: AbortSignal): Promise<void> {
    const byProject = Map.groupBy(groupEdges(edges), ({ project }) => project);
    const inOrder = async (groups: readonly EdgeGroup[]): Promise<void> => {
      for (const { project, edges } of groups) {
        await submitInParts(edges, (part) => this.#commitPart(project, part, sequence, signal));
      }
    };
    await Promise.all([...byProject.values()].map(inOrder));
  }

  async #commitPart(
    project: string,
    edges: readonly Edge[],
    sequence: number,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const pending = await this.#persist(signal, () => this.#decide(project, edges));
      for (const edge of pending ?? []) this.#hold(edge, sequence);
    } catch (error) {
      const { onFault } = this.#deps;
      if (!onFault || (error instanceof Refusal && edges.length > 1)) throw error;
      if (edges.length > 1) {
        for (const edge of edges) await this.#commitPart(project, [edge], sequence, signal);
      } else onFault(`an edge of ${edges[0]?.key.rule} in ${project}`, error);
    }
  }

  /** Commits what the edges decide. @returns edges of rules whose application is pending */
  async #decide(project: string, edges: readonly Edge[]): Promise<readonly Edge[]> {
    const { answer } = await this.#deps.host.submit({
      project,
      by: evaluatorActor,
      decide: (draft) => edges.filter((edge) => decideEdge(draft, edge) === 'rulePending'),
    });
    return answer;
  }

  #hold(edge: Edge, sequence: number): void {
    const { project, rule } = edge.key;
    const key = ruleKey(project, rule);
    const held = this.#held.get(key) ?? { project, sequence, edges: [] };
    this.#held.set(key, held);
    held.edges.push(edge);
  }

  /**
   * Called when the marker has been folded, so that its rules are active from here on. Resolves
   * with the edges that waited for them.
   */
  async #confirmRules({ upserts, removals }: RulesEntry, signal: AbortSignal): Promise<Edge[]> {
    const named = [
      ...upserts.map((each) => ({ ...each, isEvaluated: true })),
      ...removals.map((each) => ({ ...each, isEvaluated: false })),
    ];
    const released: Edge[] = [];
    for (const { project, rule, ...folded } of named) {
      await this.#persist(signal, () =>
        this.#deps.host.submit({
          project,
          by: evaluatorActor,
          decide: (draft) => confirmRule(draft, rule, folded),
        }),
      );
      const key = ruleKey(project, rule);
      released.push(...(this.#held.get(key)?.edges ?? []));
      this.#held.delete(key);
    }
    return released;
  }

  /** Another member decided the marker, and also the edges that waited for it. */
  #forgetHeld({ upserts, removals }: RulesEntry): void {
    for (const { project, rule } of [...upserts, ...removals]) {
      this.#held.delete(ruleKey(project, rule));
    }
  }

  /** Repeats until the stream answers: an edge is never lost, and deciding twice is a no-op. */
  async #persist<T>(signal: AbortSignal, submit: () => Promise<T>): Promise<T | undefined> {
    for (let waitMs = RETRY_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
      try {
        return await submit();
      } catch (error) {
        if (!isRetryable(error)) throw error;
        await pause(this.#deps.clock, waitMs, signal);
      }
    }
    return undefined;
  }
}

function ruleKey(project: string, rule: string): string {
  return `${project}/${rule}`;
}

/** Edges of one project, in their order, that fit one commit. */
interface EdgeGroup {
  readonly project: string;
  readonly edges: Edge[];
  estimate: number;
}

/** Edges in order, by project, in groups that each fit into one commit. */
function groupEdges(edges: readonly Edge[]): EdgeGroup[] {
  const open = new Map<string, EdgeGroup>();
  const groups: EdgeGroup[] = [];
  for (const edge of edges) {
    const fired = edge.kind === 'fired' ? edge : undefined;
    const held = fired?.held?.vms.length ?? 0;
    const runs = (fired?.run.length ?? 1) - 1;
    const window = 'window' in edge ? edge.window.length : 0;
    const estimate =
      2_000 + RUN_EVENT_ESTIMATE * runs + 48 * (window + Math.min(held, HELD_VMS_MAX));
    let group = open.get(edge.key.project);
    if (!group || group.estimate + estimate > COMMIT_ESTIMATE_MAX) {
      group = { project: edge.key.project, edges: [], estimate: 0 };
      open.set(edge.key.project, group);
      groups.push(group);
    }
    group.edges.push(edge);
    group.estimate += estimate;
  }
  return groups;
}
