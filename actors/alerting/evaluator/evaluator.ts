/**
 * The running evaluator of this node's partitions: subscribes to the evaluation pipeline with the live
 * log as its source, commits what the edges decide, and takes rules from pending to applied. All of
 * its state is soft: a restart reads the log again from its floor, and decisions made before are
 * recognised and skipped.
 *
 *     log entry -> evaluation pipeline -> edges -> decisions, in commits of bounded size
 *     pending rule -> marker in the log -> evaluated from there on -> `applied`
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
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { partitionOf, type Stream } from '../../../streams/platform/stream.ts';
import type { PlacedEntry } from '../../../streams/telemetry/decode-entries.ts';
import type { Census, Edge, EvaluationRule, LogEntry } from '../../../streams/telemetry/entry.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { isRetryable } from '../../platform/retryable.ts';
import { TimeSlices } from '../../platform/time-slices.ts';
import { pastEntries, SAMPLES_STREAM, type SampleLogReader } from '../../telemetry/sample-log.ts';
import { decideEdge } from '../edges.ts';
import { submitInParts } from '../in-parts.ts';
import { confirmRule, seedOf } from '../rule-markers.ts';
import { type EdgeGroup, groupEdges } from './evaluator-groups.ts';
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

const evaluatorActor: Actor = { kind: 'service', name: 'evaluator' };

/** First wait after the stream did not answer, ms; doubles up to the maximum. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 5_000;

export class Evaluator implements EvaluatorView {
  readonly #deps: EvaluatorDeps;
  readonly #slices: TimeSlices;
  readonly #states = new Map<number, EvaluationState>();
  #evaluatedThrough = 0;
  #underWay: Promise<unknown> = Promise.resolve();
  readonly #outages: OutageDetector;
  /** Edges of rules whose new version is pending, by rule, with the sequence of the first. */
  readonly #held = new Map<string, { readonly sequence: number; readonly edges: Edge[] }>();

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
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

  /** A copy: what of the project's instances has room now, and what not. */
  quota(project: string): InstanceQuota {
    const watched = this.#states.get(partitionOf(project))?.projects.get(project);
    if (!watched) return NO_INSTANCES;
    return { evaluated: watched.instances, unevaluated: new Map(watched.unevaluated) };
  }

  /** Position in SAMPLES through which everything has been evaluated and committed. */
  throughSequence(): number {
    const held = [...this.#held.values()].map(({ sequence }) => sequence - 1);
    return Math.min(this.#evaluatedThrough, ...held);
  }

  /** Forgets everything and takes in what rows say at the log's floor. Before each `run`. */
  async rebuild(): Promise<void> {
    this.#states.clear();
    this.#held.clear();
    this.#evaluatedThrough = 0;
    const { lastSequence } = await this.#deps.stream.state(SAMPLES_STREAM);
    await this.#outages.begin(lastSequence);
    const marked = await this.#markedRules();
    for (const project of this.#deps.host.projects()) await this.#seed(project, marked);
  }

  /**
   * Evaluates what the log's reader hands out, until `signal`. Subscribed when it returns: start
   * the reader after it, at the log's first sequence. Rejects on a fault. Ends once none of it is
   * under way any more.
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
    const from = { timeMs: pastFromMs(entry, storedMs) };
    for await (const before of pastEntries(this.#deps.stream, from, { partition, kind: 'batch' })) {
      if (before.sequence >= sequence) return;
      yield before.entry;
      await this.#slices.yieldIfDue();
    }
  }

  /** A rule is confirmed before the edges of its catch-up: only rules in force have edges. */
  async #commit(evaluated: EvaluatedEntry, signal: AbortSignal): Promise<EvaluatedEntry> {
    const { sequence, entry, edges } = evaluated;
    const released = entry.kind === 'rules' ? await this.#confirmRules(entry, signal) : [];
    await this.#commitEdges([...released, ...edges], sequence, signal);
    if (!signal.aborted) this.#evaluatedThrough = sequence;
    this.#deps.log.handled();
    return evaluated;
  }

  /** The census of a partition for its next tick; undefined: it cannot be taken now. */
  census(partition: number, atMs: number): Census | undefined {
    return this.#outages.of(partition, atMs);
  }

  /** Each project by itself and in order; one that is at fault keeps no other from its edges. */
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
    const held = this.#held.get(key) ?? { sequence, edges: [] };
    this.#held.set(key, held);
    held.edges.push(edge);
  }

  /**
   * The marker has been folded: its rules are in force from here on. Resolves with the edges that
   * waited for it.
   */
  async #confirmRules(
    { upserts, removals }: LogEntry & { kind: 'rules' },
    signal: AbortSignal,
  ): Promise<Edge[]> {
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

function markOf({ rule, evaluationRevision }: EvaluationRule): string {
  return `${rule}/${evaluationRevision}`;
}
