/** The part that keeps a recent snapshot of `control.db` on the streams, if members may join. */

import type { Host } from '../../actors/platform/host/host-port.ts';
import { SnapshotKeeper } from '../../actors/platform/snapshots.ts';
import type { Part } from '../../actors/platform/supervision.ts';
import {
  PROJECTION_SCHEMA,
  takeControlSnapshot,
} from '../../sqlite/platform/backup/control-snapshot.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { AdminRoutes } from '../admin/admin-server.ts';
import { restoreEventsRoutes } from '../admin/restore-events.ts';
import { snapshotRoutes } from '../admin/snapshot-routes.ts';
import type { RoomBase, Storage } from '../platform/room-base.ts';

export interface SnapshotParts {
  readonly base: RoomBase;
  readonly storage: Storage;
  readonly host: Pick<Host, 'appliedSequence'>;
}

export function openSnapshots(parts: SnapshotParts): { keeper: SnapshotKeeper; part: Part } {
  const { host } = parts;
  const { clock, random, log, metrics } = parts.base;
  const { stream, ownership, controlPath, member } = parts.storage;
  const failures = metrics.counter(
    'svc_snapshot_failures_total',
    'Snapshots for joining members that could not be written',
  );
  const keeper = new SnapshotKeeper({
    stream,
    clock,
    random,
    ownership,
    node: member.node,
    source: {
      schema: PROJECTION_SCHEMA,
      take: (signal) => takeControlSnapshot({ controlPath, clock, signal }),
    },
    appliedSequence: () => host.appliedSequence(),
    onFault(error) {
      failures.inc({});
      log.warn({ err: error, part: 'snapshots' }, 'No snapshot was written; it will be retried');
    },
  });
  return { keeper, part: { name: 'snapshots', run: (signal) => keeper.run(signal) } };
}

/** Operator commands that write snapshots. @param parts `keeper` is absent if no member can join */
export function routesOfSnapshots(parts: {
  readonly storage: Pick<Storage, 'stream' | 'controlPath' | 'member'>;
  readonly clock: Clock;
  readonly keeper: SnapshotKeeper | undefined;
}): AdminRoutes {
  const { storage, clock, keeper } = parts;
  const { stream, controlPath, member } = storage;
  const events = keeper && {
    stream,
    controlPath,
    clock,
    self: { node: member.node },
    snapshot: (signal: AbortSignal) => keeper.write(signal),
  };
  return { ...snapshotRoutes(keeper), ...restoreEventsRoutes(events) };
}
