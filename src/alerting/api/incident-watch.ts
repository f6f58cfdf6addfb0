/**
 * `WatchIncidents`: streams the open incidents, then every change. The feed of changes is opened
 * before the snapshot is read, and changes that the snapshot already contains are skipped. So
 * nothing is missed, and no incident returns to an older state.
 */

import {
  Code,
  ConnectError,
  createContextKey,
  type HandlerContext,
  type ServiceImpl,
} from '@connectrpc/connect';
import type { IncidentBody } from '../../../actors/alerting/incident.ts';
import {
  type Host,
  isRecordOf,
  type ListOptions,
  type Page,
  type ProjectView,
} from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { pagesOf } from '../../../streams/platform/commit/page.ts';
import { nextTurn } from '../../../streams/platform/operators.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type Incident,
  WatchIncidentsResponse_Kind as Kind,
  type WatchIncidentsRequest,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import { watchAccess, within } from '../../platform/api/caller.ts';
import { asConnectError } from '../../platform/api/error-mapping.ts';
import { parseProjectName } from '../../platform/api/resource-name.ts';
import { takeStreamSlot } from '../../platform/api/slots.ts';
import type { ProjectGate } from '../../platform/gate/project-gate.ts';
import type { Log } from '../../platform/log.ts';
import { incidentMessage } from './incident-messages.ts';

export interface IncidentWatchDeps {
  readonly host: Host;
  readonly gate: ProjectGate;
  readonly clock: Clock;
  readonly log: Log;
  /** Fires when the service stops, which ends open streams. */
  readonly stopping?: AbortSignal;
}

/** Closes the connection of a call whose client does not read. */
export const cutOffKey = createContextKey<(() => void) | undefined>(undefined, {
  description: 'closes the connection',
});

/** Maximum incidents per message. */
const PART = 200;
/** Interval of heartbeats without changes, ms, because silence could mean a dead connection. */
export const HEARTBEAT_MS = 30_000;
/** Time in which an ended watch may send its reason before it is cut off, ms. */
const LAST_WORD_MS = 500;

/**
 * The stream of one caller. It ends when the service stops, and soon after the caller loses access.
 */
export function incidentWatch(
  deps: IncidentWatchDeps,
): Pick<ServiceImpl<typeof AlertService>, 'watchIncidents'> {
  return {
    async *watchIncidents(request, context) {
      try {
        yield* watchIncidents(deps, request, context);
      } catch (error) {
        throw asConnectError(error, context.method.name, deps.log, context.signal);
      }
    },
  };
}

interface WatchMessage {
  readonly kind: Kind;
  readonly incidents: Incident[];
  readonly snapshotContinues: boolean;
  readonly sequence: bigint;
}

async function* watchIncidents(
  deps: IncidentWatchDeps,
  { projectName, changesOnly }: WatchIncidentsRequest,
  context: HandlerContext,
): AsyncGenerator<WatchMessage, void, undefined> {
  const project = within(context, parseProjectName('projectName', projectName));
  const slot = await takeStreamSlot(deps.gate, context, project);
  let feed: IncidentFeed | undefined;
  let undo: (() => void) | undefined;
  try {
    feed = new IncidentFeed(deps.host, project);
    undo = endWhenOver(deps, feed, project, context);
    const displayed = new Map<string, number>();
    if (changesOnly) yield heartbeat(deps.host);
    else yield* snapshot(deps.host, feed, { project, displayed });
    yield* changes(deps, feed, { project, displayed, signal: context.signal });
  } finally {
    undo?.();
    feed?.close();
    slot.release();
  }
}

/** Ends the feed when access is lost, the reader disconnects, or the service stops. */
function endWhenOver(
  { clock, stopping }: IncidentWatchDeps,
  feed: IncidentFeed,
  project: string,
  context: HandlerContext,
): () => void {
  let cancelCutOff: (() => void) | undefined;
  const end = (why: Refusal): void => {
    feed.end(why);
    // A client that does not read would hold the connection open and never get the reason.
    cancelCutOff ??= clock.wakeAfter(LAST_WORD_MS, () => context.values.get(cutOffKey)?.());
  };
  const onStop = (): void => end(new Refusal('NOT_READY', 'The service is stopping. Watch again'));
  const onGone = (): void => feed.wakeUp();
  const unwatch = watchAccess(context, project, end);
  stopping?.addEventListener('abort', onStop, { once: true });
  context.signal.addEventListener('abort', onGone, { once: true });
  if (stopping?.aborted) onStop();
  return () => {
    unwatch();
    cancelCutOff?.();
    stopping?.removeEventListener('abort', onStop);
    context.signal.removeEventListener('abort', onGone);
  };
}

/** The reader knows everything up to its position, and every later change follows. */
function heartbeat(host: Host): WatchMessage {
  const sequence = BigInt(host.appliedSequence());
  return { kind: Kind.HEARTBEAT, incidents: [], snapshotContinues: false, sequence };
}

/** @param shown receives the position at which each incident of the snapshot was read */
async function* snapshot(
  host: Host,
  feed: IncidentFeed,
  { project, displayed }: { readonly project: string; readonly displayed: Map<string, number> },
): AsyncGenerator<WatchMessage, void, undefined> {
  const view = host.view(project);
  // Each part has its own turn of the event loop, because 10,000 open incidents must not delay
  // samples.
  await nextTurn();
  for (const { items, next } of pagesOf(PART, (page) => openIncidents(view, page))) {
    const sequence = host.appliedSequence();
    for (const { id } of items) displayed.set(id, sequence);
    const snapshotContinues = next !== undefined;
    // An empty part is skipped, except the last one, which completes the snapshot.
    if (items.length > 0 || !snapshotContinues) {
      const incidents = items.map((body) => incidentMessage(project, body));
      yield { kind: Kind.SNAPSHOT, incidents, snapshotContinues, sequence: BigInt(sequence) };
    }
    await nextTurn();
    if (feed.ended) throw feed.ended;
  }
}

/** Open incidents of one page of live alert instances. Each instance has at most one. */
function openIncidents(view: ProjectView, options: ListOptions): Page<IncidentBody> {
  const page = view.instances('alertInstance', { ...options, final: false });
  const items = page.items.flatMap(({ context }) => {
    const { incident } = context;
    if (!incident || incident.recoveredMs !== null || incident.retiredMs !== null) return [];
    const record = view.record('incident', incident.id);
    // Written by the commit that opened the incident.
    return record ? [record.body] : [];
  });
  return { ...page, items };
}

async function* changes(
  { host, clock }: IncidentWatchDeps,
  feed: IncidentFeed,
  options: {
    readonly project: string;
    readonly displayed: Map<string, number>;
    readonly signal: AbortSignal;
  },
): AsyncGenerator<WatchMessage, void, undefined> {
  const { project, displayed, signal } = options;
  const snapshotEnd = host.appliedSequence();
  while (!signal.aborted) {
    const cancel = clock.wakeAfter(HEARTBEAT_MS, () => feed.wakeUp());
    await feed.waited();
    cancel();
    if (signal.aborted) break;
    const taken = feed.take(PART);
    const news = taken.filter(({ body, sequence }) => sequence > (displayed.get(body.id) ?? 0));
    const last = taken.at(-1);
    // From here on every change is newer than the snapshot.
    if (last && last.sequence > snapshotEnd) displayed.clear();
    if (last && news.length === 0) continue;
    yield {
      kind: last ? Kind.CHANGES : Kind.HEARTBEAT,
      incidents: news.map(({ body }) => incidentMessage(project, body)),
      snapshotContinues: false,
      sequence: BigInt(last?.sequence ?? host.appliedSequence()),
    };
  }
  const { reason } = signal;
  if (reason instanceof ConnectError && reason.code === Code.DeadlineExceeded) throw reason;
}

/** An incident as one commit left it. */
export interface IncidentChange {
  readonly body: IncidentBody;
  /** Position of the commit in EVENTS. */
  readonly sequence: number;
}

/**
 * Maximum changes queued for a slow reader: twice the instances of a project, which may all fire at
 * once. Queued changes share memory with other readers of the same commits.
 */
export const WAITING_MAX = 20_000;

/**
 * The changes of a project's incidents for one reader, as commits are applied. The queue is
 * bounded, because a reader slower than the changes must not fill our memory. It ends once, with a
 * reason.
 */
export class IncidentFeed {
  readonly #stopFollowing: () => void;
  #waiting: IncidentChange[] = [];
  #ended: Refusal | undefined;
  #wake: (() => void) | undefined;

  constructor(host: Pick<Host, 'onApplied'>, project: string) {
    this.#stopFollowing = host.onApplied(({ commit, sequence }) => {
      if (commit.project !== project) return;
      for (const { records } of commit.decisions) {
        for (const record of records) {
          if (!isRecordOf(record, 'incident') || record.body === null) continue;
          this.#add({ body: record.body, sequence });
        }
      }
    });
  }

  /** Ends the feed; the first reason applies. Drops queued changes. */
  end(why: Refusal): void {
    if (this.#ended) return;
    this.#ended = why;
    this.close();
  }

  /** The reason why it ended; undefined while it is open. */
  get ended(): Refusal | undefined {
    return this.#ended;
  }

  /** Takes up to `limit` queued changes, oldest first. Throws the reason if the feed has ended. */
  take(limit: number): readonly IncidentChange[] {
    if (this.#ended) throw this.#ended;
    return this.#waiting.splice(0, limit);
  }

  /** Resolves when there is something to take, or when `wakeUp` is called. */
  async waited(): Promise<void> {
    if (this.#waiting.length > 0 || this.#ended) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Makes `waited` resolve without a change. */
  wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  /** Stops following commits. */
  close(): void {
    this.#stopFollowing();
    this.#waiting = [];
    this.wakeUp();
  }

  #add(change: IncidentChange): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(change);
    else {
      const message = `More than ${WAITING_MAX} changes are queued. Watch again, and read faster`;
      this.end(new Refusal('TOO_MANY_REQUESTS', message));
    }
    this.wakeUp();
  }
}
