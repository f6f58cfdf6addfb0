/**
 * Copies of the two databases of a world with every migration applied. Creating a file with its
 * write-ahead log and tables costs many times as much as a copy. The first world of a process
 * creates the originals.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openInstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { openDatabase } from '../../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { HISTORY_FILE, openHistoryFile } from '../../sqlite/telemetry/history/history-file.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { systemRandom } from '../../streams/platform/random.ts';

const CONTROL_FILE = 'control.db';

/** Folder of the originals, removed when the process ends. */
let originals: string | undefined;

/**
 * Copies empty databases into the folder, to be opened by the caller. Returns the path of
 * `control.db`.
 */
export function copyMigratedDatabases(folder: string): string {
  originals ??= migrate();
  for (const file of [CONTROL_FILE, HISTORY_FILE]) {
    copyFileSync(join(originals, file), join(folder, file));
  }
  return join(folder, CONTROL_FILE);
}

function migrate(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-databases-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const control = openDatabase({
    path: join(folder, CONTROL_FILE),
    synchronous: 'NORMAL',
    migrations: [],
  });
  openInstanceStore(control);
  openEmbeddedStream({ storage: control, clock: systemClock, random: systemRandom });
  // The last connection that closes moves the write-ahead log into the file.
  control.close();
  openHistoryFile(join(folder, HISTORY_FILE)).close();
  return folder;
}
