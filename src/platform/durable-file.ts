/**
 * Writes small files atomically and durably: to a file beside the target, synced, then renamed. The
 * folder is synced too, so that the name survives a power loss.
 */
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface DurableFileOptions {
  readonly path: string;
  readonly content: string;
  /** true: throws `EEXIST` if the file exists; false: replaces it. */
  readonly exclusive: boolean;
}

/** Writes `content` with mode 0600; it is on disk on return. Its folder must exist. */
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

/** Syncs the folder: names made, renamed or removed in it are on disk on return. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Like `writeFileDurably` for a file to be replaced, off the main thread. One write at a time per
 * path.
 */
export async function replaceFileDurably(path: string, content: string): Promise<void> {
  const beside = `${path}.${process.pid}.tmp`;
  await rm(beside, { force: true });
  const file = await open(beside, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await rename(beside, path);
  } finally {
    await rm(beside, { force: true });
  }
  await syncFolderSoon(dirname(path));
}

/** Like `syncFolder`, off the main thread: done once it resolves. */
export async function syncFolderSoon(folder: string): Promise<void> {
  const descriptor = await open(folder, 'r');
  try {
    await descriptor.sync();
  } finally {
    await descriptor.close();
  }
}
