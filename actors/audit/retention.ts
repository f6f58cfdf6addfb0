/**
 * Removes records that are kept for a limited time only (LIMIT-19): incidents and notices 90 days
 * after their end; deliveries and ended alert instances as long after theirs, but not before their
 * incident, whose recovery goes to those who were notified of its firing; commits and transitions
 * after the audit retention. Anything that fires, waits or lasts is never removed.
 *
 *     what is due (reads) -> a decision that checks again and names it -> a commit -> the same on
 *     every node
 *
 * A commit names each removed item, or the commit after which the chain starts, so that no node
 * uses its own clock. Each commit is small, and a turn apart, so that nothing waits for it. A
 * restart midway finds the rest.
 */
import type { EndedInstance } from '../../sqlite/platform/control/instance-reads.ts';
import { DamagedRow } from '../../sqlite/platform/row-checksum.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { itemsInTurns, nextTurn } from '../../streams/platform/operators.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { IncidentBody } from '../alerting/incident.ts';
import { allMembers, forgetMembers, isGroup } from '../delivery/delivery-group.ts';
import type { RunningHost } from '../platform/host/host.ts';
import type {
  Draft,
  Instance,
  ProjectRecord,
  ProjectView,
  RecordBodies,
  RecordKind,
} from '../platform/host/host-port.ts';
import { isRetryable } from '../platform/retryable.ts';

/** Time for which incidents and deliveries are kept after their end, ms (EVENT-04, LIMIT-19). */
export const HISTORY_KEPT_MS = 90 * 86_400_000;

/** Machines whose ended instances are removed. */
export const FORGOTTEN_MACHINES: ReadonlySet<string> = new Set(['alertInstance', 'delivery']);

/** The data to search, and the retention of commits. */
export interface RetentionDeps {
  readonly host: Pick<
    RunningHost,
    'submit' | 'view' | 'projects' | 'endedBefore' | 'oldestCommits'
  >;
  readonly clock: Clock;
  /** Time for which commits and transitions are kept, ms. */
  readonly auditKeptMs: number;
  /** True if this node acts for the project. */
  readonly owns: (project: string) => boolean;
  /** Deletes the answers of endpoints to these deliveries, which are removed next. */
  readonly forgetExcerpts: (deliveries: readonly string[]) => Promise<void>;
  /** Called with the number of removed items of a kind. */
  readonly onRemoved?: (kind: RetainedKind, count: number) => void;
  /** Called when the stream did not answer. The rest is removed the next time. */
  readonly onLost?: () => void;
  /** Called for a damaged row. No later row of its kind is removed in its project. */
  readonly onDamaged?: (row: DamagedRow) => void;
}

/** Kinds of items that are kept for a limited time, as named in metrics. */
export type RetainedKind = 'incident' | 'delivery' | 'alertInstance' | 'notice' | 'commit';

/** Interval between searches for due items, ms. */
const CHECK_MS = 3_600_000;
/** Maximum items that one commit removes; applying it takes a few ms. */
const BATCH = 50;
/** Maximum transitions that one commit removes. */
const TRANSITIONS_MAX = 500;
/**
 * The audit log is truncated when this much is past its retention, ms: one anchor a day, not one an
 * hour.
 */
const AUDIT_STEP_MS = 86_400_000;

const by: Actor = { kind: 'service', name: 'retention' };

/** Searches at once and then every hour, until `signal`. */
export async function retain(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for (const project of deps.host.projects()) {
        if (deps.owns(project)) await retainProject(deps, project, signal);
      }
    } catch (error) {
      if (!isRetryable(error)) throw error;
      deps.onLost?.();
    }
    await pause(deps.clock, CHECK_MS, signal);
  }
}

/** Removes everything that is due in the project. */
async function retainProject(
  deps: RetentionDeps,
  project: string,
  signal: AbortSignal,
): Promise<void> {
  const work = new ProjectRetention(deps, project, signal);
  const steps = [
    () => work.records('incident', incidentEnd, forgetIncident),
    () => work.records('notice', noticeEnd, (draft, id) => removeRecord(draft, 'notice', id)),
    () => work.instances('alertInstance', (draft, id) => draft.forget('alertInstance', id)),
    () => work.instances('delivery', forgetDelivery),
    () => work.commits(),
  ];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof DamagedRow)) throw error;
      deps.onDamaged?.(error);
    }
  }
}

class ProjectRetention {
  readonly #deps: RetentionDeps;
  readonly #project: string;
  readonly #signal: AbortSignal;

  constructor(deps: RetentionDeps, project: string, signal: AbortSignal) {
    this.#deps = deps;
    this.#project = project;
    this.#signal = signal;
  }

  /** Records of the kind, sorted by their start, that ended long enough ago. */
  async records<K extends 'incident' | 'notice'>(
    kind: K,
    endOf: (body: Readonly<RecordBodies[K]>) => number | null,
    forget: (draft: Draft, id: string) => void,
  ): Promise<void> {
    const isDue = (record: ProjectRecord<K> | undefined, now: number): boolean => {
      const end = record && endOf(record.body);
      return typeof end === 'number' && end < now - HISTORY_KEPT_MS;
    };
    const now = this.#deps.clock.now();
    const due: string[] = [];
    for await (const record of this.#begunBefore(kind, now - HISTORY_KEPT_MS)) {
      if (isDue(record, now)) due.push(record.id);
    }
    await this.#inBatches(kind, due, (draft, id) => {
      if (isDue(draft.record(kind, id), draft.at)) forget(draft, id);
    });
  }

  /** Ended instances of the machine whose incident, if there was one, has been removed. */
  async instances(
    machine: 'alertInstance' | 'delivery',
    forget: (draft: Draft, id: string) => void,
  ): Promise<void> {
    const { host, clock, forgetExcerpts } = this.#deps;
    const view = host.view(this.#project);
    const beforeMs = clock.now() - HISTORY_KEPT_MS;
    // An ended instance never changes again, and its incident never returns once removed.
    const isDue = (from: ProjectView, id: string): boolean => {
      const row = from.instance(machine, id);
      return (
        row !== undefined && !incidentsIn(from, row).some((one) => from.record('incident', one))
      );
    };
    // A group has two records per member, so it has a commit of its own.
    const isLarge = (id: string): boolean => {
      const row = machine === 'delivery' ? view.instance('delivery', id) : undefined;
      return row !== undefined && isGroup(row.context);
    };
    for (let after: EndedInstance | undefined; !this.#signal.aborted; ) {
      const ended = host.endedBefore(this.#project, machine, { beforeMs, limit: BATCH, after });
      after = ended.at(-1);
      if (!after) return;
      const due = ended.map(({ instance }) => instance).filter((id) => isDue(view, id));
      // Deleted first, so that a crash leaves no excerpt without a delivery.
      if (machine === 'delivery' && due.length > 0) await forgetExcerpts(due);
      const [large, small] = [due.filter(isLarge), due.filter((id) => !isLarge(id))];
      for (const part of [small, ...large.map((id) => [id])]) {
        await this.#inBatches(machine, part, (draft, id) => {
          if (isDue(draft, id)) forget(draft, id);
        });
      }
      await nextTurn();
    }
  }

  /** The chain's oldest commits, with their transitions. */
  async commits(): Promise<void> {
    const { host, clock, auditKeptMs, onRemoved } = this.#deps;
    const keptFromMs = clock.now() - auditKeptMs;
    const [oldest] = host.oldestCommits(this.#project, 1);
    if (!oldest || oldest.at >= keptFromMs - AUDIT_STEP_MS) return;
    while (!this.#signal.aborted) {
      const due = this.#oldCommits(keptFromMs);
      const last = due.at(-1);
      if (!last) return;
      const { transitions: _, ...start } = last;
      await host.submit({
        project: this.#project,
        by,
        decide(draft) {
          draft.truncate(start);
          return {};
        },
      });
      onRemoved?.('commit', due.length);
      await nextTurn();
    }
  }

  /** As many of the oldest commits as one commit may remove; at least one if any is due. */
  #oldCommits(keptFromMs: number) {
    const { host } = this.#deps;
    let transitions = 0;
    return host.oldestCommits(this.#project, BATCH).filter((commit, i) => {
      transitions += commit.transitions;
      return commit.at < keptFromMs && (i === 0 || transitions <= TRANSITIONS_MAX);
    });
  }

  async *#begunBefore<K extends RecordKind>(
    kind: K,
    beforeMs: number,
  ): AsyncGenerator<ProjectRecord<K>> {
    const view = this.#deps.host.view(this.#project);
    // Records of both kinds are sorted by their start, zero-padded.
    const end = String(Math.max(0, beforeMs)).padStart(15, '0');
    for await (const record of itemsInTurns(BATCH, (page) => view.records(kind, page))) {
      if (record.sort >= end || this.#signal.aborted) return;
      yield record;
    }
  }

  async #inBatches(
    kind: RetainedKind,
    ids: readonly string[],
    forget: (draft: Draft, id: string) => void,
  ): Promise<void> {
    const { host, onRemoved } = this.#deps;
    for (let start = 0; start < ids.length && !this.#signal.aborted; start += BATCH) {
      const part = ids.slice(start, start + BATCH);
      await host.submit({
        project: this.#project,
        by,
        decide(draft) {
          for (const id of part) forget(draft, id);
          return {};
        },
      });
      onRemoved?.(kind, part.length);
      await nextTurn();
    }
  }
}

/** Its own end, not that of its rule; null while it fires. */
function incidentEnd({ recoveredMs, retiredMs }: IncidentBody): number | null {
  return recoveredMs ?? retiredMs;
}

function noticeEnd({ endedMs }: RecordBodies['notice']): number | null {
  return endedMs;
}

/** Ids of the last incident of an alert instance, or of those that a delivery reports. */
function incidentsIn(view: ProjectView, row: Instance<'alertInstance' | 'delivery'>): string[] {
  if (row.machine === 'alertInstance') return [row.context.incident?.id ?? ''];
  const members = allMembers(view, row.instance, row.context);
  return [row.context.incident, ...members.map(({ incident }) => incident)];
}

function forgetIncident(draft: Draft, id: string): void {
  for (const kind of ['incident', 'incidentWindow', 'incidentHeldVms'] as const)
    removeRecord(draft, kind, id);
}

function forgetDelivery(draft: Draft, id: string): void {
  const row = draft.instance('delivery', id);
  if (row) forgetMembers(draft, row);
  draft.forget('delivery', id);
  removeRecord(draft, 'delivery', id);
}

function removeRecord(draft: Draft, kind: RecordKind, id: string): void {
  if (draft.record(kind, id)) draft.putRecord({ kind, id, body: null });
}
