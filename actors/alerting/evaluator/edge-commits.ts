/**
 * The sink of live evaluation: commits the decisions of an entry's edges, and moves rules from
 * pending to applied. Deciding twice is a no-op, so an edge is retried until the stream answers.
 *
 *     edges        -> decisions, by project, in commits of bounded size
 *     rule marker  -> its pending rules are applied, then the edges that waited for them
 *
 * Every member evaluates every partition, but only its owner decides. The others keep the entries
 * that the owner has not reported as decided. A member that takes over decides these first, when the
 * first tick of its epoch returns from the log.
 */
import type { EvaluatedEntry } from '../../../streams/alerting/evaluation/pipeline.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../../streams/platform/membership/membership.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { partitionOf } from '../../../streams/platform/stream.ts';
import type { Edge, RulesEntry } from '../../../streams/telemetry/entry.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { isRetryable } from '../../platform/retryable.ts';
import { decideEdge, HELD_VMS_MAX, submitInParts } from '../incident.ts';
import { confirmRule } from '../rule-markers.ts';

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

/** Wait after the stream first fails to answer, ms; doubles up to the maximum. */
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

/** The undecided part of an entry: its edges, and the entry itself if it is a marker. */
export interface WaitingEntry {
  readonly sequence: number;
  readonly partition: number;
  readonly edges: readonly Edge[];
  readonly entry: RulesEntry | undefined;
}

/** Edges of a rule whose new version is pending. */
export interface HeldEdges {
  readonly project: string;
  readonly rule: string;
  /** Sequence of the first edge. */
  readonly sequence: number;
  readonly edges: Edge[];
}

/** Edges of one partition that the sink holds between two entries. */
export interface UndecidedEdges {
  /** In the order of the log. */
  readonly waiting: readonly WaitingEntry[];
  readonly held: readonly HeldEdges[];
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
  readonly #waiting = new Map<number, WaitingEntry[]>();

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
   * pending rule, or for their turn after a takeover. Infinity if nothing waits.
   * @param isMeant the partitions; absent: all of them
   */
  pendingFrom(isMeant = (_partition: number): boolean => true): number {
    const { owns, epochOf } = this.#deps.ownership;
    let first = Number.POSITIVE_INFINITY;
    for (const { project, sequence } of this.#held.values()) {
      if (isMeant(partitionOf(project)) && owns(project)) first = Math.min(first, sequence);
    }
    for (const [partition, [waiting]] of this.#waiting) {
      if (!isMeant(partition) || waiting === undefined || epochOf(partition) === undefined)
        continue;
      first = Math.min(first, waiting.sequence);
    }
    return first;
  }

  /** The part of a partition's checkpoint that is not in the fold's state. */
  undecidedOf(partition: number): UndecidedEdges {
    const held = [...this.#held.values()].filter(
      ({ project }) => partitionOf(project) === partition,
    );
    return { waiting: this.#waiting.get(partition) ?? [], held };
  }

  /** Forgets all edges of a partition, whose entries will be evaluated again. */
  discard(partition: number): void {
    this.#waiting.delete(partition);
    for (const [key, { project }] of this.#held) {
      if (partitionOf(project) === partition) this.#held.delete(key);
    }
  }

  /** Continues from a checkpoint, before the first entry of its partition. */
  restore(partition: number, { waiting, held }: UndecidedEdges): void {
    if (waiting.length > 0) this.#waiting.set(partition, [...waiting]);
    for (const edges of held) this.#held.set(ruleKey(edges.project, edges.rule), edges);
  }

  async #decideWaiting(partition: number, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(partition);
    const isOwner = () => this.#deps.ownership.epochOf(partition) !== undefined;
    for (let first = waiting?.[0]; waiting && first; first = waiting[0]) {
      const isDecided = first.sequence <= (this.#deps.ownership.decidedBy(partition) ?? 0);
      if (!isDecided) {
        if (!isOwner()) return;
        await this.#decideEntry(first, signal);
        // A member that has taken over may have decided it, or may be about to.
        if (signal.aborted || !isOwner()) return;
      } else if (first.entry) this.#forgetHeld(first.entry);
      waiting.shift();
    }
    this.#waiting.delete(partition);
  }

  /** A rule is confirmed before the edges of its catch-up, because only active rules have edges. */
  async #decideEntry({ sequence, entry, edges }: WaitingEntry, signal: AbortSignal): Promise<void> {
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
    const outcomes = await Promise.allSettled([...byProject.values()].map(inOrder));
    // Only now, because no work may be in progress after a fault.
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
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

  /** Commits the decisions of the edges. @returns edges of rules whose application is pending */
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
    const held = this.#held.get(key) ?? { project, rule, sequence, edges: [] };
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
