/**
 * Makes the stream EVENTS again from a member's projection, after it was deleted on NATS. The new
 * stream has the identity of the old one and begins behind the last commit that the member has
 * applied, as if retention had removed everything before. A snapshot for the other members follows.
 *
 * Creates nothing unless the chain of commits in the projection is intact and no other member is
 * known to have applied more. A run that was killed is continued by the next one, on any member.
 */
import { verifyLog } from '../../actors/audit/log-verifier.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { storedPosition } from '../../sqlite/platform/backup/control-snapshot.ts';
import { CommitReader } from '../../sqlite/platform/control/commit-reader.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { decodeHeader } from '../../streams/platform/commit/codec.ts';
import { EVENTS_STREAM, eventsStream } from '../../streams/platform/commit/events.ts';
import { clusterSpec, type MemberView, Roster } from '../../streams/platform/membership/roster.ts';
import { pause } from '../../streams/platform/pause.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import {
  type EventsPosition,
  newestSnapshot,
  type SnapshotManifest,
  unusable,
} from '../../streams/platform/snapshots.ts';
import type { Stream, StreamState } from '../../streams/platform/stream.ts';
import type { AdminRoutes } from './admin-server.ts';

export const RESTORE_EVENTS_PATH = '/v1/events/restore';

export interface RestoreEventsDeps {
  readonly stream: Stream;
  readonly controlPath: string;
  readonly clock: Clock;
  /** This member's name, or the lock of its folder: its own records are not another member's. */
  readonly self: { readonly node?: string; readonly lock?: string };
  /** Writes a snapshot of the projection. */
  readonly snapshot: (signal: AbortSignal) => Promise<SnapshotManifest | 'superseded'>;
}

export interface RestoreEventsRequest {
  /**
   * The operator vouches that no member has applied more: needed if members are silent, or if
   * nothing is known of them.
   */
  readonly isFurthest: boolean;
}

export interface RestoredEvents {
  /** false: EVENTS existed, and continues this projection. */
  readonly isNew: boolean;
  /** Position of the last commit that is kept. */
  readonly applied: number;
  /** Commits whose chain was verified. */
  readonly commits: number;
  /** Snapshot that was written; null: the newest one was usable. */
  readonly snapshot: string | null;
}

/** Responds to `RESTORE_EVENTS_PATH` with `RestoredEvents`. @param deps undefined: no NATS */
export function restoreEventsRoutes(deps: RestoreEventsDeps | undefined): AdminRoutes {
  return {
    async [RESTORE_EVENTS_PATH](signal, _onProgress, body): Promise<RestoredEvents> {
      if (deps === undefined) {
        throw refused(
          'EVENTS of this service is in its data folder: restore it with "svc restore"',
        );
      }
      return restoreEvents(deps, { isFurthest: body.isFurthest === 'true' }, signal);
    },
  };
}

/** Throws a `Refusal` with what to do instead, and the errors of the stream and of the files. */
export async function restoreEvents(
  deps: RestoreEventsDeps,
  request: RestoreEventsRequest,
  signal: AbortSignal,
): Promise<RestoredEvents> {
  const { stream, controlPath } = deps;
  const position = storedPosition(controlPath);
  if (position === undefined || position.applied === 0) {
    throw refused(
      'This member has applied nothing of EVENTS: run the command on a member that has, or ' +
        'restore a backup with "svc restore"',
    );
  }
  const found =
    (await stream.compare(eventsStream())) ??
    (await assertFurthest(deps, position, request, signal));
  if (found !== undefined) await assertContinues(stream, position, found);
  const isMissing = found === undefined;
  const commits = await verifyProjection(deps, position, signal);
  if (isMissing) {
    const { identity, applied } = position;
    const made = await stream.ensure(eventsStream(), { identity, firstSequence: applied + 1 });
    // Another member may have been first, from its own projection.
    await assertContinues(stream, position, made);
  }
  const snapshot = await ensureSnapshot(deps, signal);
  return { isNew: isMissing, applied: position.applied, commits, snapshot };
}

/**
 * Throws a `Refusal` unless the stream holds the last commit that the projection has applied, or
 * begins after it.
 */
async function assertContinues(
  stream: Stream,
  { identity, applied, hash }: EventsPosition,
  state: StreamState,
): Promise<void> {
  if (state.identity !== identity) {
    throw refused(
      `NATS has an EVENTS of another deployment (${state.identity}), and this member has applied ` +
        `${identity}: check SVC_NATS_URL`,
    );
  }
  const { firstSequence, lastSequence } = state;
  if (lastSequence < applied || firstSequence > applied + 1) {
    throw refused(
      `EVENTS is there, from ${firstSequence} to ${lastSequence}, and this member has applied up to ` +
        `${applied}: it was rebuilt from another member. Keep the control.db of this one, since ` +
        'commits that only it has are in no other place',
    );
  }
  const held = applied < firstSequence ? hash : await hashAt(stream, applied);
  if (held === hash) return;
  throw refused(
    `EVENTS has another commit at ${applied} than this member has applied: it was rebuilt from ` +
      'another member. Keep the control.db of this one, since commits that only it has are in no ' +
      'other place',
  );
}

async function hashAt(stream: Stream, sequence: number): Promise<string | undefined> {
  const read = stream.read({ stream: EVENTS_STREAM, from: { sequence }, untilEnd: true });
  try {
    for await (const message of read) {
      return message.sequence === sequence ? decodeHeader(message.data).hash : undefined;
    }
    return undefined;
  } finally {
    await read.close();
  }
}

/** Interval of checks for records of the others, and the time after which one is silent, ms. */
const LOOK_MS = 250;
const SILENT_MS = 6_000;
/** Records after which one was certainly made since the first look. */
const NEW_RECORDS = 2;

/**
 * Throws a `Refusal` if another member has applied more, or if it cannot be known. While EVENTS is
 * missing no member applies commits, so the next records of running members are their last word.
 * Resolves with the state of EVENTS if another member has made it again meanwhile.
 */
async function assertFurthest(
  deps: RestoreEventsDeps,
  { identity, applied }: EventsPosition,
  { isFurthest }: RestoreEventsRequest,
  signal: AbortSignal,
): Promise<StreamState | undefined> {
  const { stream, clock } = deps;
  const isKnown = (await stream.compare(clusterSpec)) !== undefined;
  let members = isKnown ? await otherMembers(deps) : [];
  const turns = new Map(members.map(({ node, turn }) => [node, turn]));
  const isOpen = ({ node, state, declaredBy, turn }: MemberView): boolean =>
    (state !== 'gone' || declaredBy !== undefined) && turn < (turns.get(node) ?? 0) + NEW_RECORDS;
  for (let waitedMs = 0; members.some(isOpen) && waitedMs < SILENT_MS; waitedMs += LOOK_MS) {
    await pause(clock, LOOK_MS, signal);
    signal.throwIfAborted();
    members = await otherMembers(deps);
  }
  const snapshot = (await newestSnapshot(stream))?.position;
  const made = await stream.compare(eventsStream());
  if (made !== undefined) return made;
  const ahead = members.find((member) => member.applied > applied);
  if (ahead !== undefined) {
    throw refused(
      `The member on ${ahead.host} (process ${ahead.pid}) has applied EVENTS up to ${ahead.applied}, ` +
        `and this one up to ${applied}: run the command there`,
    );
  }
  if (snapshot?.identity === identity && snapshot.applied > applied) {
    throw refused(
      `SNAPSHOTS has a projection of EVENTS at ${snapshot.applied}, and this member has applied up ` +
        `to ${applied}: run the command on a member that has applied more`,
    );
  }
  const silent = members.filter(isOpen);
  if (isFurthest || (silent.length === 0 && isKnown)) return undefined;
  const who = silent.map(({ host, pid }) => `the member on ${host} (process ${pid})`).join(', ');
  const why = isKnown
    ? `Not heard: ${who}. It may have applied later commits: start it`
    : 'CLUSTER is missing too, so nothing is known of other members: start one';
  throw refused(
    `${why}, and run the command again. If no other member has applied more than ${applied}, add ` +
      '--furthest',
  );
}

async function otherMembers({ stream, self }: RestoreEventsDeps): Promise<readonly MemberView[]> {
  const roster = new Roster({ node: self.node ?? '' });
  const from = { sequence: 1 };
  const read = stream.read({ stream: clusterSpec.name, from, untilEnd: true });
  try {
    for await (const message of read) roster.take(message, 0);
  } finally {
    await read.close();
  }
  const isOwn = ({ node, lock }: MemberView): boolean =>
    node === self.node || (lock !== undefined && lock === self.lock);
  return roster.members(0).filter((member) => !isOwn(member));
}

/** Number of verified commits. Throws a `Refusal` with the first fault. */
async function verifyProjection(
  { controlPath, clock }: RestoreEventsDeps,
  { applied, hash }: EventsPosition,
  signal: AbortSignal,
): Promise<number> {
  const reader = new CommitReader(controlPath);
  try {
    const [last] = reader.commits({ after: applied - 1, through: applied, limit: 1 });
    const { count, last: newest } = reader.extent();
    // A running service applies more meanwhile, with a new position in the same transaction.
    const isBeyond = newest > applied && newest > (storedPosition(controlPath)?.applied ?? 0);
    if (isBeyond || (last !== undefined && last.hash !== hash)) {
      throw refused(`${faulty} its position ${applied} is not that of its last commit. ${instead}`);
    }
    const options = { reader, bodies: null, machines: machineDefinitions, clock, signal };
    const { projects } = await verifyLog(options);
    const broken = projects.find((project) => project.broken !== null)?.broken;
    if (broken === undefined || broken === null) return count;
    const at = broken.commit === null ? '' : ` at commit ${broken.commit.number}`;
    throw refused(`${faulty} ${broken.project}${at}: ${broken.detail}. ${instead}`);
  } finally {
    reader.close();
  }
}

const faulty = 'EVENTS was not rebuilt, because the projection of this member is damaged:';
const instead = 'Run the command on another member, or restore a backup with "svc restore"';

/** Id of the snapshot that was written, so that other members can join; null: there is a usable one. */
async function ensureSnapshot(
  { stream, snapshot }: RestoreEventsDeps,
  signal: AbortSignal,
): Promise<string | null> {
  const [newest, events] = [await newestSnapshot(stream), await stream.state(EVENTS_STREAM)];
  if (newest !== undefined && unusable(newest, events) === undefined) return null;
  const written = await snapshot(signal);
  return written === 'superseded' ? null : written.id;
}

function refused(message: string): Refusal {
  return new Refusal('INVALID_STATE', message);
}
