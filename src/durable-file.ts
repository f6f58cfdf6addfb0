/**
 * Small files that are either there and whole, or not there: written beside the target, synced,
 * then put in its place, with the folder synced so that the name survives a power loss too.
 */
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

export interface DurableFileOptions {
  readonly path: string;
  readonly content: string;
  /** true: throws `EEXIST` when the file is there; false: replaces it. */
  readonly exclusive: boolean;
}

/** Writes `content` with mode 0600; on disk when it returns. Its folder must exist. */
export function writeFileDurably({ path, content, exclusive }: DurableFileOptions): void {
  const beside = `${path}.${process.pid}.tmp`;
  rmSync(beside, { force: true });
  const file = openSync(beside, 'wx', 0o600);
  try {
    writeSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    // A link, unlike a rename, refuses to replace.
    if (exclusive) linkSync(beside, path);
    else renameSync(beside, path);
  } finally {
    rmSync(beside, { force: true });
  }
  syncFolder(dirname(path));
}

/** What was made, renamed or removed in the folder is so on disk too when it returns. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
