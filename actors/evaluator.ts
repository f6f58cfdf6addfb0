/**
 * The running evaluator of this node's partitions: reads the sample log, folds it, commits what
 * the edges decide, and takes rules from pending to applied. All of its state is soft: a restart
 * reads the log again from its floor, and what had been decided before is recognised and skipped.
 *
 *     log entry -> fold (pure) -> edges -> decisions, in commits of bounded size
 *     pending rule -> marker in the log -> fold from there on -> `applied`
 */
import { concatMap, type Subscription } from 'rxjs';
import type { AlertRuleContext } from '../machines/alert-rule.ts';
import type { Clock } from '../streams/clock.ts';
import type { Actor } from '../streams/commit/commit.ts';
import type { Census, Edge, EvaluationRule, LogEntry } from '../streams/evaluation/entry.ts';
import { GAP_TOLERANCE_MS, LATENESS_MS } from '../streams/evaluation/entry.ts';
import {
  createState,
  type EvaluationState,
  type Folded,
  fold,
  foldMarker,
  inspect,
  inspectPage,
  know,
} from '../streams/evaluation/fold.ts';
import { pause } from '../streams/pause.ts';
import { Refusal } from '../streams/refusal.ts';
import type { VmRef } from '../streams/samples/batch.ts';
import type { LatestRow } from '../streams/samples/columns.ts';
import { partitionOf, type Stream } from '../streams/stream.ts';
import { decideEdge, HELD_VMS_MAX } from './alerting/edges.ts';
import { submitInParts } from './alerting/in-parts.ts';
import { evaluationRuleOf, seedOf } from './alerting/rule-markers.ts';
import { Fleet } from './evaluator-fleet.ts';
import {
  type EvaluatorView,
  type InstancePage,
  type InstanceRoom,
  NO_INSTANCES,
  type SoftInstance,
} from './evaluator-port.ts';
import type { Draft, Host } from './host-port.ts';
import { isPassing } from './passing.ts';
import {
  type PlacedEntry,
  pastEntries,
  SAMPLES_STREAM,
  type SampleLogReader,
} from './sample-log.ts';
import { Turns } from './turns.ts';

export interface EvaluatorDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly log: SampleLogReader;
  readonly clock: Clock;
  /** An edge could not be decided, by a fault of ours. Absent: the run ends with it. */
  readonly onFault?: (what: string, error: unknown) => void;
  /** Newest row of a VM within retention: of those that fell silent before the log's floor. */
  readonly newest?: (project: string, vm: string) => LatestRow | undefined;
  /** VMs whose clocks are ahead, as of rows refused since then, Unix ms. */
  readonly clockAhead?: (sinceMs: number) => Iterable<VmRef>;
}

const evaluatorActor: Actor = { kind: 'service', name: 'evaluator' };

/**
 * Bytes of deciding windows and steps that one decision may add up to, estimated: about 25 edges,
 * which is some 5 ms of the main thread to decide and as much to apply.
 */
const COMMIT_ESTIMATE_MAX = 56 * 1024;
/** One sampling interval, ms: what telemetry has to come again after nobody listened. */
const INTERVAL_MS = 30_000;
/** A row refused for its clock so lately says that the clock still is ahead, ms. */
const AHEAD_MS = 90_000;
/** VMs whose data centers one tick tells at most; the others are told by the next ones. */
const PLACED_MAX = 2_000;
/** First wait after the stream did not answer, ms; doubles up to the maximum. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 5_000;

export class Evaluator implements EvaluatorView {
  readonly #deps: EvaluatorDeps;
  readonly #turns: Turns;
  readonly #states = new Map<number, EvaluationState>();
  #evaluatedThrough = 0;
  #underWay: Promise<void> = Promise.resolve();
  readonly #fleet: Fleet;
  #leaveFleet: () => void = () => {};
  /** Through here the log had been written before; until then what is silent cannot be told. */
  #backlogThrough = 0;
  #isFleetKnown = false;
  /** Edges of rules whose new version is pending, by rule, with the sequence of the first. */
  readonly #held = new Map<string, { readonly sequence: number; readonly edges: Edge[] }>();

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
    this.#turns = new Turns(deps.clock);
    this.#fleet = new Fleet(deps.host);
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
    this.#leaveFleet();
    this.#isFleetKnown = false;
    this.#backlogThrough = (await this.#deps.stream.state(SAMPLES_STREAM)).lastSequence;
    this.#leaveFleet = await this.#fleet.load();
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
    await ended.finally(() => this.#leaveFleet());
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
    const known = { ...seed, observed: [...this.#fleet.lastOf(project)] };
    this.#states.set(partition, createState(known, this.#states.get(partition)));
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
    this.#fleet.note(entry);
    if (!this.#isFleetKnown && sequence > this.#backlogThrough) await this.#knowFleet();
    const folded =
      entry.kind === 'rules' ? await this.#foldMarker(state, placed, entry) : fold(state, entry);
    let edges = folded.edges;
    if (entry.kind === 'rules') edges = [...(await this.#confirmRules(entry, signal)), ...edges];
    await this.#commitEdges(edges, sequence, signal);
    if (!signal.aborted) this.#evaluatedThrough = sequence;
  }

  /**
   * The backlog is read: VMs that it told nothing of are looked up in history, once. A census can be
   * taken from here on, and rules on telemetry know VMs that fell silent before the log's floor.
   */
  async #knowFleet(): Promise<void> {
    const { newest, onFault } = this.#deps;
    for (const { project, vm } of [...this.#fleet.unheard()]) {
      await this.#turns.breathe();
      try {
        const latest = newest?.(project, vm);
        if (latest) this.#fleet.recall(project, vm, latest);
      } catch (error) {
        if (!onFault) throw error;
        onFault(`the last observation of ${vm} in ${project}`, error);
      }
    }
    for (const state of this.#states.values()) {
      this.#fleet.adopt(state.outages?.values() ?? []);
      for (const project of state.projects.keys()) know(state, this.#fleet.lastOf(project));
    }
    this.#isFleetKnown = true;
  }

  /** What a tick of the partition is to say beside its time; undefined: it cannot be told now. */
  census(partition: number, atMs: number): Census | undefined {
    const outages = this.#isFleetKnown ? this.#fleet.outages(atMs, INTERVAL_MS) : undefined;
    const state = this.#states.get(partition);
    if (!outages || !state) return undefined;
    const placed = [...state.projects].flatMap(([project, { facts }]) => [
      ...this.#fleet.unplaced(project, facts, PLACED_MAX),
    ]);
    const ahead = [...(this.#deps.clockAhead?.(atMs - AHEAD_MS) ?? [])];
    const clockAhead = ahead.filter(({ project }) => partitionOf(project) === partition);
    return { outages, placed: placed.slice(0, PLACED_MAX), clockAhead };
  }

  /** New rules catch up over the batches stored before the marker that their windows reach. */
  async #foldMarker(
    state: EvaluationState,
    { partition, sequence, storedMs }: PlacedEntry,
    entry: LogEntry & { kind: 'rules' },
  ): Promise<Folded> {
    const marker = foldMarker(state, entry);
    if (!marker.isNeeded) return marker.finish();
    const windowMs = Math.max(...entry.upserts.map(({ sustainedMs }) => sustainedMs));
    const from = { timeMs: storedMs - windowMs - GAP_TOLERANCE_MS - LATENESS_MS };
    for await (const before of pastEntries(this.#deps.stream, from, { partition, kind: 'batch' })) {
      if (before.sequence >= sequence) break;
      marker.take(before.entry);
      await this.#turns.breathe();
    }
    const projects = new Set(entry.upserts.map(({ project }) => project));
    for (const project of projects) marker.know(this.#fleet.lastOf(project, entry.atMs));
    return marker.finish();
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
    const named: { project: string; rule: string; evaluationRevision?: number }[] = [
      ...upserts,
      ...removals,
    ];
    const released: Edge[] = [];
    for (const { project, rule, evaluationRevision } of named) {
      await this.#persist(signal, () =>
        this.#deps.host.submit({
          project,
          by: evaluatorActor,
          decide: (draft) => confirmRule(draft, rule, evaluationRevision),
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

/** Applies the rule's desired version when the marker brought what it evaluates; none: paused. */
function confirmRule(draft: Draft, rule: string, folded: number | undefined): void {
  const row = draft.instance('alertRule', rule);
  if (row?.value !== 'pendingApplication') return;
  const context = row.context as unknown as AlertRuleContext;
  if (evaluationRuleOf(draft.project, context)?.evaluationRevision !== folded) return;
  const { version } = context;
  draft.send('alertRule', rule, { type: 'applied', at: draft.at, version });
}

function ruleKey(project: string, rule: string): string {
  return `${project}/${rule}`;
}

function markOf({ rule, evaluationRevision }: EvaluationRule): string {
  return `${rule}/${evaluationRevision}`;
}

interface EdgeGroup {
  readonly project: string;
  readonly edges: Edge[];
  estimate: number;
}

/** Edges in order, by project, in groups that fit one commit. */
function groupEdges(edges: readonly Edge[]): EdgeGroup[] {
  const open = new Map<string, EdgeGroup>();
  const groups: EdgeGroup[] = [];
  for (const edge of edges) {
    const held = edge.kind === 'fired' ? (edge.held?.vms.length ?? 0) : 0;
    const window = 'window' in edge ? edge.window.length : 0;
    const estimate = 2_000 + 48 * (window + Math.min(held, HELD_VMS_MAX));
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
