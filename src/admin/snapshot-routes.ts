/** Route of `svc admin snapshot`: writes a snapshot for joining members now. */
import type { SnapshotKeeper } from '../../actors/platform/snapshots.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { SnapshotManifest } from '../../streams/platform/snapshots.ts';
import type { AdminRoutes } from './admin-server.ts';

export const SNAPSHOT_PATH = '/v1/snapshot';

/** Responds with a `SnapshotManifest`. @param keeper undefined if no member can join */
export function snapshotRoutes(keeper: Pick<SnapshotKeeper, 'write'> | undefined): AdminRoutes {
  return {
    async [SNAPSHOT_PATH](signal): Promise<SnapshotManifest> {
      if (keeper === undefined) {
        throw new Refusal(
          'INVALID_STATE',
          'The streams of this service are in its data folder, so no member can join it. Use "svc backup"',
        );
      }
      const written = await keeper.write(signal);
      if (written !== 'superseded') return written;
      throw new Refusal('INVALID_STATE', 'Another member has written a snapshot in the meantime');
    },
  };
}
