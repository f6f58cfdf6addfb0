/**
 * Files of the data folder are accessible only to their owner, whatever the folder and umask: they
 * hold secrets and every tenant's data. SQLite gives the files beside a database (the write-ahead
 * log, its index) the permissions of the database itself.
 */
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';

const BESIDE = ['', '-wal', '-shm', '-journal'] as const;

/**
 * Creates the database file with mode 0600 if it is missing; if an earlier run left it open,
 * removes access for others, also to the files beside it. An existing file is not opened: closing
 * any descriptor of a file drops all locks that the process has on it (POSIX, `fcntl`). Throws what
 * `node:fs` throws.
 */
export function makePrivate(path: string): void {
  if (path === '' || path === ':memory:') return;
  if (!existsSync(path)) makeEmpty(path);
  for (const suffix of BESIDE) {
    const file = path + suffix;
    if (existsSync(file) && (statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  }
}

function makeEmpty(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    // Another process was first.
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  }
}
