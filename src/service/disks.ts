/** The disks that a service writes to: the one of the data folder, and the one of the history. */
import type { DiskState } from '../../actors/platform/change-limits.ts';
import { createDiskSpace } from '../platform/disk-space.ts';
import { diskCheck, historyDiskCheck } from '../platform/health.ts';
import { isHistoryApart } from '../platform/history-folder.ts';
import type { RoomBase } from '../platform/room-base.ts';

/** Free space of each, and the reserve. `history` only if its folder is another one. */
export interface Disks {
  readonly data: () => DiskState;
  readonly history?: () => DiskState;
}

/** Watches them in `/readyz`. */
export function watchDisks({ settings, clock, health }: RoomBase): Disks {
  const { data: folder, historyData, diskReserve: reserveMib } = settings;
  const data = createDiskSpace({ folder, reserveMib, clock });
  health.watch({ kind: 'disk' }, diskCheck(folder, data));
  if (!isHistoryApart(settings)) return { data };
  const history = createDiskSpace({ folder: historyData, reserveMib, clock });
  health.watch({ kind: 'history disk' }, historyDiskCheck(historyData, history));
  return { data, history };
}
