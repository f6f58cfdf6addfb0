/**
 * Copies of the two databases of a world with every migration applied. Creating a file with its
 * write-ahead log and tables costs many times as much as a copy. The first world of a process
 * creates the originals.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
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
 * Copies empty databases into the folder, to be opened by the caller; a file that is there stays.
 * Returns the path of `control.db`.
 */
export function copyMigratedDatabases(folder: string): string {
  copyMigratedHistory(folder);
  return copyMigratedControl(folder);
}

/** Copies the projection's database alone, and returns its path. */
export function copyMigratedControl(folder: string): string {
  return copyOnce(CONTROL_FILE, folder);
}

/** Copies the database of a history alone. */
export function copyMigratedHistory(folder: string): void {
  copyOnce(HISTORY_FILE, folder);
}

function copyOnce(file: string, folder: string): string {
  originals ??= migrate();
  const path = join(folder, file);
  mkdirSync(folder, { recursive: true });
  if (!existsSync(path)) copyFileSync(join(originals, file), path);
  return path;
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
