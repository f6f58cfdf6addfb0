/**
 * Free space on the data folder's disk. Callers ask at every change; the file system is queried at
 * most once a second.
 */
import { statfsSync } from 'node:fs';
import type { DiskState } from '../../actors/platform/change-limits.ts';
import type { Clock } from '../../streams/platform/clock.ts';

const MIB = 2 ** 20;
/** Writes during this time are a small part of the reserve. */
const ASK_MS = 1_000;

export interface DiskSpaceOptions {
  /** A folder on the disk. */
  readonly folder: string;
  /** SVC_DISK_RESERVE, MiB. */
  readonly reserveMib: number;
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly statfs?: typeof statfsSync;
}

/** Returns the state of the disk, at most a second old. Throws the errors of the file system. */
export function createDiskSpace(options: DiskSpaceOptions): () => DiskState {
  const { folder, reserveMib, clock, statfs = statfsSync } = options;
  const reserveBytes = reserveMib * MIB;
  let requestedMs = Number.NEGATIVE_INFINITY;
  let freeBytes = 0;
  return () => {
    const nowMs = clock.elapsed();
    if (nowMs - requestedMs >= ASK_MS) {
      const { bavail, bsize } = statfs(folder);
      freeBytes = bavail * bsize;
      requestedMs = nowMs;
    }
    return { freeBytes, reserveBytes };
  };
}
