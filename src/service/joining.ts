/**
 * Joining: the projection of a member that starts on shared streams. The member continues with its
 * own projection, reads EVENTS from the beginning, or takes the newest snapshot and reads the tail
 * behind it. The last applies if it has no projection, or if it was away for longer than EVENTS
 * reaches back.
 */
import { newerFormats } from '../../actors/platform/host/formats.ts';
import {
  installControlSnapshot,
  PROJECTION_SCHEMA,
  storedPosition,
} from '../../sqlite/platform/backup/control-snapshot.ts';
import { HistoryMismatch } from '../../streams/platform/commit/chain.ts';
import { EVENTS_STREAM, eventsStream } from '../../streams/platform/commit/events.ts';
import {
  newestSnapshot,
  readSnapshot,
  SnapshotBroken,
  type SnapshotManifest,
  unusable,
} from '../../streams/platform/snapshots.ts';
import type { Stream, StreamState } from '../../streams/platform/stream.ts';
import type { Log } from '../platform/log.ts';

export interface JoiningOptions {
  readonly stream: Stream;
  /** Path of the projection, which must not be open. */
  readonly controlPath: string;
  readonly log: Log;
}

/** A snapshot may be replaced while it is read. */
const TRIES_MAX = 3;

/**
 * Leaves a projection that EVENTS continues, or none if EVENTS is complete. Throws
 * `HistoryMismatch` with the command to run, `SnapshotBroken`, and the errors of the stream and the
 * disk.
 */
export async function joinFromSnapshot(options: JoiningOptions): Promise<void> {
  const { stream, controlPath, log } = options;
  let events = await stream.compare(eventsStream());
  if (events === undefined) return;
  const applied = storedPosition(controlPath)?.applied ?? 0;
  const isBehind = applied + 1 < events.firstSequence;
  if (applied > 0 && !isBehind) return;
  for (let tries = 1; ; tries++) {
    const snapshot = await newestSnapshot(stream);
    // Read after the snapshot, which may include later commits.
    events = await stream.state(EVENTS_STREAM);
    const fault = snapshot === undefined ? 'there is no snapshot' : faultOf(snapshot, events);
    if (snapshot === undefined || fault !== undefined) {
      if (isBehind) throw behind(applied, events, fault);
      // EVENTS is complete, so all of it is read.
      if (snapshot !== undefined) log.warn({ part: 'snapshots' }, `Not used: ${fault}`);
      return;
    }
    try {
      await install(options, snapshot, isBehind ? applied : 0);
      return;
    } catch (error) {
      if (!(error instanceof SnapshotBroken) || tries === TRIES_MAX) throw error;
      log.warn({ part: 'snapshots', err: error }, 'A snapshot could not be used; retrying');
    }
  }
}

async function install(
  { stream, controlPath, log }: JoiningOptions,
  manifest: SnapshotManifest,
  before: number,
): Promise<void> {
  const content = readSnapshot(stream, manifest);
  const { keptAside } = await installControlSnapshot({ controlPath, manifest, content });
  const { id, position } = manifest;
  const sentence =
    keptAside === undefined
      ? `This member starts from snapshot ${id} of EVENTS at ${position.applied}`
      : `This member had applied EVENTS up to ${before}, and later commits are no longer kept: it ` +
        `continues from snapshot ${id} at ${position.applied}. Its previous data is in ${keptAside}`;
  log.warn({ part: 'snapshots', snapshot: id, applied: position.applied }, sentence);
}

function faultOf(snapshot: SnapshotManifest, events: StreamState): string | undefined {
  const fault = unusable(snapshot, events);
  if (fault !== undefined) return fault;
  const newer = newerFormats(snapshot);
  if (snapshot.schema > PROJECTION_SCHEMA) newer.push(`schema ${snapshot.schema} of control.db`);
  if (newer.length === 0) return undefined;
  return `snapshot ${snapshot.id} was written by a newer program (${newer.join(', ')}): run that version here`;
}

function behind(applied: number, events: StreamState, fault: string | undefined): HistoryMismatch {
  return new HistoryMismatch(
    'behind',
    `This member has applied EVENTS up to ${applied}, EVENTS begins at ${events.firstSequence}, ` +
      `and ${fault}: run "svc admin snapshot" on a running member, then start this one again; ` +
      'if none runs, restore a backup with "svc restore"',
  );
}
