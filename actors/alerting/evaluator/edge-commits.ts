/**
 * The sink of live evaluation: commits the decisions of an entry's edges, and takes rules from
 * pending to applied. Deciding twice is a no-op, so an edge is retried until the stream answers.
 *
 *     edges        -> decisions, by project, in commits of bounded size
 *     rule marker  -> its pending rules are applied, then the edges that waited for them
 */
import type { EvaluatedEntry } from '../../../streams/alerting/evaluation/pipeline.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Edge, LogEntry } from '../../../streams/telemetry/entry.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { isRetryable } from '../../platform/retryable.ts';
import { decideEdge, HELD_VMS_MAX, submitInParts } from '../edges.ts';
import { confirmRule } from '../rule-markers.ts';

export interface EdgeCommitsDeps {
  readonly host: Host;
  readonly clock: Clock;
  /** An edge could not be decided, by a fault of ours. Absent: that ends the evaluation. */
  readonly onFault?: (what: string, error: unknown) => void;
}

const evaluatorActor: Actor = { kind: 'service', name: 'evaluator' };

/** First wait after the stream did not answer, ms; doubles up to the maximum. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 5_000;

/**
 * Most estimated bytes of deciding windows and steps in one decision: about 25 edges, some 5 ms of
 * the main thread to decide and as much to apply.
 */
const COMMIT_ESTIMATE_MAX = 56 * 1024;

/** Bytes of a step below firing, beyond the one that every firing has. */
const RUN_EVENT_ESTIMATE = 700;

export class EdgeCommits {
  readonly #deps: EdgeCommitsDeps;
  /** Edges of rules whose new version is pending, by rule, with the sequence of the first. */
  readonly #held = new Map<string, { readonly sequence: number; readonly edges: Edge[] }>();

  constructor(deps: EdgeCommitsDeps) {
    this.#deps = deps;
  }

  /** A rule is confirmed before the edges of its catch-up: only rules in force have edges. */
  async commit({ sequence, entry, edges }: EvaluatedEntry, signal: AbortSignal): Promise<void> {
    const released = entry.kind === 'rules' ? await this.#confirmRules(entry, signal) : [];
    await this.#commitEdges([...released, ...edges], sequence, signal);
  }

  /** Sequence of the first entry whose edges wait for a pending rule; Infinity: none wait. */
  pendingFrom(): number {
    const held = [...this.#held.values()].map(({ sequence }) => sequence);
    return Math.min(Number.POSITIVE_INFINITY, ...held);
  }

  /**
   * Handles each project by itself and in order; a fault of one project does not delay the others.
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
    const held = this.#held.get(key) ?? { sequence, edges: [] };
    this.#held.set(key, held);
    held.edges.push(edge);
  }

  /**
   * Called when the marker has been folded: its rules are in force from here on. Resolves with the
   * edges that waited for it.
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

/** Edges of one project, in their order, that fit one commit. */
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
