/**
 * `svc admin restore-events`: makes the stream EVENTS again from a member's projection. A member
 * whose EVENTS is missing refuses to start, so the command also works without a running service.
 */
import { join } from 'node:path';
import { SnapshotKeeper } from '../../actors/platform/snapshots.ts';
import {
  PROJECTION_SCHEMA,
  takeControlSnapshot,
} from '../../sqlite/platform/backup/control-snapshot.ts';
import { lockFolder } from '../../sqlite/platform/lock-file.ts';
import {
  RESTORE_EVENTS_PATH,
  type RestoredEvents,
  restoreEvents,
} from '../admin/restore-events.ts';
import { count } from '../platform/table.ts';
import type { AdminAction, OfflineContext } from './admin-actions.ts';
import { UsageError } from './client/faults.ts';

export const restoreEventsAction: AdminAction = {
  name: 'restore-events',
  summary: 'On NATS: rebuild the deleted stream EVENTS from the projection of this member',
  options: [
    {
      name: 'furthest',
      help: 'Confirm that no other member has applied more of EVENTS, if members are lost or unknown',
    },
  ],
  path: RESTORE_EVENTS_PATH,
  ask: (input) => (input.isOn('furthest') ? { isFurthest: 'true' } : {}),
  offline: restoreOffline,
  render: (answer) => restoredText(answer as RestoredEvents),
};

async function restoreOffline(
  body: Readonly<Record<string, string>>,
  { settings, ports }: OfflineContext,
): Promise<RestoredEvents> {
  const { data: folder, natsUrl } = settings;
  if (natsUrl === null) {
    throw new UsageError('SVC_NATS_URL is not set, so EVENTS is in the data folder');
  }
  const { clock, random } = ports;
  const lock = lockFolder(folder);
  const { openNats } = await import('../platform/nats.ts');
  const stream = await openNats(settings, ports).catch((error: unknown) => {
    lock.release();
    throw error;
  });
  const controlPath = join(folder, 'control.db');
  const keeper = new SnapshotKeeper({
    stream,
    clock,
    random,
    ownership: { owns: () => true },
    node: 'svc admin',
    source: {
      schema: PROJECTION_SCHEMA,
      take: (signal) => takeControlSnapshot({ controlPath, clock, signal }),
    },
    appliedSequence: () => 0,
  });
  try {
    const self = lock.identity === undefined ? {} : { lock: lock.identity };
    const snapshot = (signal: AbortSignal) => keeper.write(signal);
    const deps = { stream, controlPath, clock, self, snapshot };
    const request = { isFurthest: body.isFurthest === 'true' };
    return await restoreEvents(deps, request, new AbortController().signal);
  } finally {
    await stream.close();
    lock.release();
  }
}

function restoredText({ isNew, applied, commits, snapshot }: RestoredEvents): string {
  const made = isNew
    ? `EVENTS is rebuilt and continues after commit ${count(applied)}`
    : `EVENTS exists and agrees with this member up to ${count(applied)}`;
  const written = snapshot === null ? '' : `Snapshot ${snapshot} is written for other members\n`;
  return (
    `${made}; the chain of ${count(commits)} commits is verified\n${written}` +
    'Restart members that do not become ready by themselves\n'
  );
}
