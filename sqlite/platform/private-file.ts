/**
 * Files of the data folder are their owner's alone, in whatever folder and under whatever umask:
 * they hold secrets and every tenant's data. SQLite gives what it puts beside a database (the
 * write-ahead log, its index) the permissions of the database itself.
 */
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';

const BESIDE = ['', '-wal', '-shm', '-journal'] as const;

/**
 * Makes the database file with mode 0600 where it is missing, and takes it, with what lies beside
 * it, from everybody else where an earlier run left it open. A file that is there is not opened:
 * closing any descriptor of a file drops all locks that the process has on it (POSIX, `fcntl`).
 * Throws what `node:fs` throws.
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
