/**
 * A snapshot of `control.db`: taken while the file is written, and installed when a member joins.
 * It carries the position at which it was taken, which is compared with the one in the manifest
 * before the file is used, and with EVENTS by the applier before it applies anything more.
 */
import { createReadStream, createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import Database from 'better-sqlite3';
import type { Clock } from '../../../streams/platform/clock.ts';
import {
  type EventsPosition,
  SnapshotBroken,
  type SnapshotManifest,
} from '../../../streams/platform/snapshots.ts';
import { instanceMigrations } from '../control/instances-schema.ts';
import { copyFrozen } from './frozen-copy.ts';

/** Number of migrations in the schema of this program's projection. */
export const PROJECTION_SCHEMA = instanceMigrations.length;

const ASK_POSITION = `SELECT stream_identity AS "identity", applied, applied_hash AS hash
  FROM position`;

export interface TakenSnapshot {
  readonly position: EventsPosition;
  /** Size of the file before compression, bytes. */
  readonly bytes: number;
  /** The compressed file, from its beginning on each call. */
  content(): AsyncIterable<Uint8Array>;
  /** Removes its temporary files from the disk. */
  discard(): void;
}

/** Takes a snapshot beside the file. Throws `CopyFailed`, or the reason of `signal`. */
export async function takeControlSnapshot(options: {
  readonly controlPath: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Promise<TakenSnapshot> {
  const { controlPath, clock, signal } = options;
  const to = `${controlPath}.snapshot`;
  const files = [{ path: controlPath, to, ask: ASK_POSITION }];
  const discard = () => rmSync(to, { force: true });
  try {
    const [copy] = await copyFrozen({ files, clock, signal });
    if (copy === undefined) throw new Error('Nothing was copied');
    // The query above returns the only row of that table.
    const position = copy.answers[0] as EventsPosition;
    const content = () => createReadStream(to).compose(createZstdCompress());
    return { position, bytes: copy.bytes, content, discard };
  } catch (error) {
    discard();
    throw error;
  }
}

/**
 * Replaces `control.db` with a snapshot; an existing file is kept under the returned name. Call it
 * before the file is opened. Throws `SnapshotBroken`, and what writing throws; the existing file is
 * then untouched.
 */
export async function installControlSnapshot(options: {
  readonly controlPath: string;
  readonly manifest: SnapshotManifest;
  readonly content: AsyncIterable<Uint8Array>;
}): Promise<{ readonly keptAside: string | undefined }> {
  const { controlPath, manifest, content } = options;
  const arriving = `${controlPath}.arriving`;
  rmSync(arriving, { force: true });
  try {
    await pipeline(
      Readable.from(content),
      createZstdDecompress(),
      createWriteStream(arriving, { mode: 0o600 }),
    );
    await sync(arriving);
    assertPosition(arriving, manifest);
  } catch (error) {
    rmSync(arriving, { force: true });
    throw error;
  }
  const aside = existsSync(controlPath) ? `${controlPath}.before-snapshot` : undefined;
  for (const suffix of ['-wal', '-shm', '']) {
    if (aside === undefined) rmSync(controlPath + suffix, { force: true });
    else replace(controlPath + suffix, aside + suffix);
  }
  renameSync(arriving, controlPath);
  await sync(dirname(controlPath), 'r');
  return { keptAside: aside };
}

/**
 * Also replaces the remains of an earlier one, so that no log of another file is left beside it.
 */
function replace(from: string, to: string): void {
  rmSync(to, { force: true });
  if (existsSync(from)) renameSync(from, to);
}

/** Position of the projection in a file; undefined: the file is missing or empty. */
export function storedPosition(controlPath: string): EventsPosition | undefined {
  if (!existsSync(controlPath)) return undefined;
  const database = new Database(controlPath, { fileMustExist: true });
  try {
    const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'position'").get();
    if (table === undefined) return undefined;
    const found = database.prepare<[], EventsPosition>(ASK_POSITION).get();
    return found === undefined || found.identity === '' ? undefined : found;
  } finally {
    database.close();
  }
}

function assertPosition(path: string, { id, position }: SnapshotManifest): void {
  const found = storedPosition(path);
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  const isEqual =
    found?.identity === position.identity &&
    found.applied === position.applied &&
    found.hash === position.hash;
  if (isEqual) return;
  const inside = found === undefined ? 'empty' : `at ${found.applied}`;
  throw new SnapshotBroken(
    `Snapshot ${id} is of EVENTS at ${position.applied}, but the file in it is ${inside}`,
  );
}

async function sync(path: string, flags = 'r+'): Promise<void> {
  const file = await open(path, flags);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
