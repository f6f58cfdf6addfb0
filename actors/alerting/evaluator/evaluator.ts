/**
 * The running evaluator of this node's partitions: reads the sample log, folds it, commits what
 * the edges decide, and takes rules from pending to applied. All of its state is soft: a restart
 * reads the log again from its floor, and what had been decided before is recognised and skipped.
 *
 *     log entry -> fold (pure) -> edges -> decisions, in commits of bounded size
 *     pending rule -> marker in the log -> fold from there on -> `applied`
 */
import { concatMap, type Subscription } from 'rxjs';
import {
  createState,
  type EvaluationState,
  type Folded,
  fold,
  foldMarker,
  foldTick,
  inspect,
  inspectPage,
} from '../../../streams/alerting/evaluation/fold.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { partitionOf, type Stream } from '../../../streams/platform/stream.ts';
import {
  type Census,
  type Edge,
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  LATENESS_MS,
  type LogEntry,
} from '../../../streams/telemetry/entry.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { isPassing } from '../../platform/retryable.ts';
import { Turns } from '../../platform/time-slices.ts';
import {
  type PlacedEntry,
  pastEntries,
  SAMPLES_STREAM,
  type SampleLogReader,
} from '../../telemetry/sample-log.ts';
import { decideEdge } from '../edges.ts';
import { submitInParts } from '../in-parts.ts';
import { confirmRule, seedOf } from '../rule-markers.ts';
import { type EdgeGroup, groupEdges } from './evaluator-groups.ts';
import {
  type EvaluatorView,
  type InstancePage,
  type InstanceRoom,
  NO_INSTANCES,
  type SoftInstance,
} from './evaluator-port.ts';
import { type CensusPorts, CensusTaker } from './outage-detector.ts';

export interface EvaluatorDeps extends CensusPorts {
  readonly host: Host;
  readonly stream: Stream;
  readonly log: SampleLogReader;
  readonly clock: Clock;
  /** An edge could not be decided, by a fault of ours. Absent: the run ends with it. */
  readonly onFault?: (what: string, error: unknown) => void;
}

const evaluatorActor: Actor = { kind: 'service', name: 'evaluator' };

/** First wait after the stream did not answer, ms; doubles up to the maximum. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 5_000;

export class Evaluator implements EvaluatorView {
  readonly #deps: EvaluatorDeps;
  readonly #turns: Turns;
  readonly #states = new Map<number, EvaluationState>();
  #evaluatedThrough = 0;
  #underWay: Promise<void> = Promise.resolve();
  readonly #census: CensusTaker;
  /** Edges of rules whose new version is pending, by rule, with the sequence of the first. */
  readonly #held = new Map<string, { readonly sequence: number; readonly edges: Edge[] }>();

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
    this.#turns = new Turns(deps.clock);
    this.#census = new CensusTaker(deps, this.#states);
  }

  /** Soft instances of a project: idle, sustaining and firing, with their last observed value. */
  instances(project: string, page?: InstancePage): readonly SoftInstance[] {
    const state = this.#states.get(partitionOf(project));
    if (!state) return [];
    return page ? inspectPage(state, project, page) : inspect(state, project);
  }

  /** A copy: what of the project's instances has room now, and what not. */
  room(project: string): InstanceRoom {
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
    await this.#census.begin(lastSequence);
    const marked = await this.#markedRules();
    for (const project of this.#deps.host.projects()) await this.#seed(project, marked);
  }

  /**
   * Evaluates what the log's reader hands out, until `signal`. Subscribed when it returns: start
   * the reader after it, at the log's first sequence. Rejects on a fault. Ends once nothing of it
   * is under way any more.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const ended = new Promise<void>((resolve, reject) => {
      const subscription: Subscription = this.#deps.log.entries
        .pipe(concatMap((placed) => this.#take(placed, signal)))
        .subscribe({ error: reject });
      signal.addEventListener(
        'abort',
        () => {
          subscription.unsubscribe();
          resolve();
        },
        { once: true },
      );
    });
    await ended.finally(() => this.#census.end());
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
    const known = { ...seed, observed: [...this.#census.lastOf(project)] };
    const state = createState(known, this.#states.get(partition));
    state.isReplaying = true;
    this.#states.set(partition, state);
  }

  #take(placed: PlacedEntry, signal: AbortSignal): Promise<void> {
    const evaluating = this.#evaluate(placed, signal).finally(() => this.#deps.log.handled());
    this.#underWay = evaluating;
    return evaluating;
  }

  /** A rule is confirmed before the edges of its catch-up: only rules in force have edges. */
  async #evaluate(placed: PlacedEntry, signal: AbortSignal) {
    const { sequence, partition, entry } = placed;
    const state = this.#states.get(partition) ?? createState();
    this.#states.set(partition, state);
    await this.#census.note(entry, sequence);
    let { edges } = await this.#fold(state, placed);
    if (entry.kind === 'rules') edges = [...(await this.#confirmRules(entry, signal)), ...edges];
    await this.#commitEdges(edges, sequence, signal);
    if (!signal.aborted) this.#evaluatedThrough = sequence;
  }

  /** What a tick of the partition is to say beside its time; undefined: it cannot be told now. */
  census(partition: number, atMs: number): Census | undefined {
    return this.#census.of(partition, atMs);
  }

  #fold(state: EvaluationState, placed: PlacedEntry): Promise<Folded> | Folded {
    const { entry } = placed;
    if (entry.kind === 'rules') return this.#foldMarker(state, placed, entry);
    return entry.kind === 'tick' ? this.#turns.walk(foldTick(state, entry)) : fold(state, entry);
  }

  /** New rules catch up over the batches stored before the marker that their windows reach. */
  async #foldMarker(
    state: EvaluationState,
    { partition, sequence, storedMs }: PlacedEntry,
    entry: LogEntry & { kind: 'rules' },
  ): Promise<Folded> {
    const marker = foldMarker(state, entry);
    if (!marker.isNeeded) return this.#turns.walk(marker.finish());
    const windowMs = Math.max(...entry.upserts.map(({ sustainedMs }) => sustainedMs));
    const from = { timeMs: storedMs - windowMs - GAP_TOLERANCE_MS - LATENESS_MS };
    for await (const before of pastEntries(this.#deps.stream, from, { partition, kind: 'batch' })) {
      if (before.sequence >= sequence) break;
      marker.take(before.entry);
      await this.#turns.breathe();
    }
    const projects = new Set(entry.upserts.map(({ project }) => project));
    for (const project of projects) marker.know(this.#census.lastOf(project, entry.atMs));
    return this.#turns.walk(marker.finish());
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
        if (!isPassing(error)) throw error;
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
