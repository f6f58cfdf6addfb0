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
import type { Edge, EvaluationRule, LogEntry } from '../streams/evaluation/entry.ts';
import { GAP_TOLERANCE_MS, LATENESS_MS } from '../streams/evaluation/entry.ts';
import { createState, type EvaluationState, fold, inspect } from '../streams/evaluation/fold.ts';
import { pause } from '../streams/pause.ts';
import { partitionOf, type Stream, StreamUnavailable } from '../streams/stream.ts';
import { decideEdge } from './alerting/edges.ts';
import { evaluationRuleOf, seedOf } from './alerting/rule-markers.ts';
import type { EvaluatorView, SoftInstance } from './evaluator-port.ts';
import type { Host } from './host-port.ts';
import { type PlacedEntry, pastEntries, type SampleLogReader } from './sample-log.ts';

export interface EvaluatorDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly log: SampleLogReader;
  readonly clock: Clock;
}

/** Bytes of deciding windows and steps that one commit's edges may add up to, estimated. */
const COMMIT_ESTIMATE_MAX = 160 * 1024;
/** First wait after the stream did not answer, ms; doubles up to the maximum. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 5_000;

export class Evaluator implements EvaluatorView {
  readonly #deps: EvaluatorDeps;
  readonly #states = new Map<number, EvaluationState>();
  #throughSequence = 0;

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
  }

  /** Soft instances of a project: idle, sustaining and firing, with their last observed value. */
  instances(project: string): readonly SoftInstance[] {
    const state = this.#states.get(partitionOf(project));
    return state ? inspect(state, project) : [];
  }

  /** Position in SAMPLES through which everything has been evaluated and committed. */
  throughSequence(): number {
    return this.#throughSequence;
  }

  /** Forgets everything and takes in what rows say at the log's floor. Before each `run`. */
  async rebuild(): Promise<void> {
    this.#states.clear();
    this.#throughSequence = 0;
    const marked = await this.#markedRules();
    for (const project of this.#deps.host.projects()) this.#seed(project, marked);
  }

  /**
   * Evaluates what the log's reader hands out, until `signal`. Subscribed when it returns: start
   * the reader after it, at the log's first sequence. Rejects on a fault.
   */
  async run(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const subscription: Subscription = this.#deps.log.entries
        .pipe(concatMap((placed) => this.#evaluate(placed, signal)))
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

  #seed(project: string, marked: ReadonlySet<string>): void {
    const seed = seedOf(this.#deps.host.view(project), (rule) => !marked.has(markOf(rule)));
    if (seed.rules.length === 0 && seed.firing.length === 0) return;
    const partition = partitionOf(project);
    this.#states.set(partition, createState(seed, this.#states.get(partition)));
  }

  async #evaluate(placed: PlacedEntry, signal: AbortSignal): Promise<void> {
    try {
      const { partition, entry } = placed;
      const state = this.#states.get(partition) ?? createState();
      const past = entry.kind === 'rules' ? await this.#pastOf(placed, entry.upserts) : undefined;
      const folded = fold(state, entry, past);
      this.#states.set(partition, folded.state);
      await this.#commitEdges(folded.edges, signal);
      if (entry.kind === 'rules') await this.#confirmRules(entry, signal);
      this.#throughSequence = placed.sequence;
    } finally {
      this.#deps.log.handled();
    }
  }

  /** Stored batches before the marker that a rule's window reaches back to, oldest first. */
  async #pastOf(placed: PlacedEntry, rules: readonly EvaluationRule[]): Promise<LogEntry[]> {
    const windowMs = Math.max(0, ...rules.map(({ sustainedMs }) => sustainedMs));
    const timeMs = placed.storedMs - windowMs - GAP_TOLERANCE_MS - LATENESS_MS;
    const { partition } = placed;
    const past: LogEntry[] = [];
    for await (const before of pastEntries(
      this.#deps.stream,
      { timeMs },
      { partition, kind: 'batch' },
    )) {
      if (before.sequence >= placed.sequence) break;
      past.push(before.entry);
    }
    return past;
  }

  async #commitEdges(edges: readonly Edge[], signal: AbortSignal): Promise<void> {
    const byProject = Map.groupBy(groupEdges(edges), ({ project }) => project);
    const inOrder = async (groups: readonly EdgeGroup[]): Promise<void> => {
      for (const group of groups) await this.#persist(signal, () => this.#commitGroup(group));
    };
    await Promise.all([...byProject.values()].map(inOrder));
  }

  #commitGroup({ project, edges }: EdgeGroup): Promise<unknown> {
    return this.#deps.host.submit({
      project,
      by: { kind: 'service', name: 'evaluator' },
      decide(draft) {
        for (const edge of edges) decideEdge(draft, edge);
      },
    });
  }

  /** The marker has been folded: its rules are in force from here on. */
  async #confirmRules(entry: LogEntry & { kind: 'rules' }, signal: AbortSignal): Promise<void> {
    const named = [
      ...entry.upserts.map(({ project, rule, evaluationRevision }) => ({
        project,
        rule,
        revision: evaluationRevision,
      })),
      ...entry.removals.map(({ project, rule }) => ({ project, rule, revision: undefined })),
    ];
    for (const { project, rule, revision } of named) {
      await this.#persist(signal, () =>
        this.#deps.host.submit({
          project,
          by: { kind: 'service', name: 'evaluator' },
          decide(draft) {
            const row = draft.instance('alertRule', rule);
            if (row?.value !== 'pendingApplication') return;
            const context = row.context as unknown as AlertRuleContext;
            const folded = evaluationRuleOf(draft.project, context)?.evaluationRevision;
            if (folded !== revision) return;
            draft.send('alertRule', rule, {
              type: 'applied',
              at: draft.at,
              version: context.version,
            });
          },
        }),
      );
    }
  }

  /** Repeats until the stream answers: an edge is never lost, and deciding twice is a no-op. */
  async #persist(signal: AbortSignal, submit: () => Promise<unknown>): Promise<void> {
    for (let waitMs = RETRY_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
      try {
        await submit();
        return;
      } catch (error) {
        if (!(error instanceof StreamUnavailable)) throw error;
        await pause(this.#deps.clock, waitMs, signal);
      }
    }
  }
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
    const estimate = 2_000 + ('window' in edge ? edge.window.length * 48 : 0);
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
