/**
 * Route of `svc backup`: the service copies its own folder, because only it can pause its writers.
 */
import { isAbsolute } from 'node:path';
import { invalidField } from '../../../streams/platform/refusal.ts';
import type { AdminRoutes } from '../admin-server.ts';
import { text } from '../operator.ts';
import { type BackupDeps, makeBackup } from './backup.ts';
import { BackupFault } from './manifest.ts';

export const BACKUP_PATH = '/v1/backup';

/** Body: `to`, an absolute path. Responds with a `BackupManifest`, after `CopyProgress`. */
export function backupRoutes(deps: BackupDeps): AdminRoutes {
  let isRunning = false;
  return {
    async [BACKUP_PATH](signal, onProgress, body) {
      const to = text(body, 'to');
      if (!isAbsolute(to)) throw invalidField('to', 'to must be an absolute path');
      if (isRunning) throw new BackupFault('Another backup is being made. Wait until it has ended');
      isRunning = true;
      try {
        return await makeBackup(deps, { to, signal, onProgress });
      } finally {
        isRunning = false;
      }
    },
  };
}
