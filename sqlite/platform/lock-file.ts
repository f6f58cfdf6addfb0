/**
 * One process per data folder. The lock is SQLite's own on `svc.lock`, so the kernel releases it
 * when the process dies, however it dies: there is no stale lock to judge by process ids, which
 * another container or a later boot may have given to something else. The id in `svc.pid` is only
 * for the message.
 */
import { hash } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { makeFolder } from './make-folder.ts';
import { makePrivate } from './private-file.ts';

export interface FolderLock {
  /**
   * Identifies the lock as long as this machine runs: a process that reads it in a record of an
   * earlier holder, and has the lock, knows that the earlier one has ended. Absent if the system
   * does not distinguish its boots.
   */
  readonly identity?: string;
  /** Releases the folder. Harmless on a second call. */
  release(): void;
}

/** Another process, or another service in this one, uses the folder. */
export class FolderLocked extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FolderLocked';
  }
}

/**
 * Locks `folder`, creating it (mode 0700) if missing. Throws `FolderLocked`, or what mkdir throws.
 * @param setting the setting that names the folder, for the message
 */
export function lockFolder(folder: string, setting = 'SVC_DATA'): FolderLock {
  makeFolder(folder, 0o700);
  const pidFile = join(folder, 'svc.pid');
  const path = join(folder, 'svc.lock');
  makePrivate(path);
  const database = new Database(path, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new FolderLocked(
      `The data folder ${folder} is in use by ${holder(pidFile)}: stop it, or give this one ` +
        `another folder with ${setting}`,
    );
  }
  held.add(database);
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  const identity = identityOf(path);
  return {
    ...(identity !== undefined && { identity }),
    release: () => {
      if (!database.open) return;
      rmSync(pidFile, { force: true });
      database.close();
      held.delete(database);
    },
  };
}

/** A garbage-collected connection closes and loses its lock, so these must be referenced. */
const held = new Set<Database.Database>();

/** A kernel's locks belong to one boot and one file: its number, not its name. */
function identityOf(path: string): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const { dev, ino } = statSync(path, { bigint: true });
    return hash('sha256', `${boot} ${dev} ${ino}`);
  } catch {
    return undefined;
  }
}

function holder(pidFile: string): string {
  try {
    const pid = readFileSync(pidFile, 'utf8').trim();
    return pid === String(process.pid) ? 'another service of this process' : `process ${pid}`;
  } catch {
    // The holder is between taking the lock and writing its id, or cannot be queried.
    return 'another process';
  }
}
