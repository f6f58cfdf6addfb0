/**
 * `svc restore`: restores a backup into an empty data folder, while no service runs. Every digest
 * is compared before anything is written. A mark in the folder shows that a restore is in progress:
 * no service starts on the files of an interrupted one, and the next one starts over.
 */
import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { open, rename, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { lockFolder } from '../../../sqlite/platform/lock-file.ts';
import { makeFolder } from '../../../sqlite/platform/make-folder.ts';
import { HISTORY_FILE } from '../../../sqlite/telemetry/history/history-file.ts';
import type { Stream, StreamSpec } from '../../../streams/platform/stream.ts';
import { syncFolderSoon, writeFileDurably } from '../../platform/durable-file.ts';
import { assertUndamaged, BackupFault, type BackupManifest, loadManifest } from './manifest.ts';
import { restoreStreams } from './restore-streams.ts';

/** In a data folder whose restore has not ended. */
const MARK = 'restore.unfinished';
const PARTIAL = '.restoring';
/** Copies of stream files while they are restored onto NATS. */
const SCRATCH = 'restore.streams';
/** Files that a member on NATS has there, and not in its folder. */
const ON_NATS = ['events.db', 'samples.db', 'claims.db'];

export interface RestoreRequest {
  /** Folder of the backup. */
  readonly from: string;
  /** The data folder, which is empty or does not exist; it may contain the master key. */
  readonly to: string;
  /** Folder of history.db, in which there is none yet. Absent: the data folder. */
  readonly historyTo?: string;
  readonly masterKeyFile: string;
  /** Id of the key in that file; undefined if it does not exist yet. */
  readonly keyId: string | undefined;
  /** NATS, onto which the streams are restored; absent if they go into the folder. */
  readonly remote?: { readonly stream: Stream; readonly specs: readonly StreamSpec[] };
  readonly onProgress?: (progress: RestoreProgress) => void;
}

export interface RestoreProgress {
  readonly step: 'checking' | 'copying';
  readonly bytes: number;
  readonly total: number;
}

/** Result of a restore. */
export interface Restored {
  readonly manifest: BackupManifest;
  /** false if the master key must be put in its place before the service starts. */
  readonly hasKey: boolean;
}

/**
 * Restores the backup. Throws `BackupFault` with a remedy, `FolderLocked` if a service runs, or the
 * errors of the file system; no service starts on the remains then.
 */
export async function restoreBackup(request: RestoreRequest): Promise<Restored> {
  const { from, to, keyId } = request;
  const manifest = loadManifest(from);
  if (keyId !== undefined && keyId !== manifest.keyId) {
    throw new BackupFault(
      `The secrets of the backup are sealed under master key ${manifest.keyId}, and ` +
        `${request.masterKeyFile} is ${keyId}. Replace it with the key of the backed-up ` +
        'service had',
    );
  }
  assertEmpty(request);
  const total = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  let checked = 0;
  await assertUndamaged(from, manifest, (bytes) => {
    checked += bytes;
    request.onProgress?.({ step: 'checking', bytes: checked, total });
  });
  const lock = lockFolder(to);
  try {
    assertEmpty(request);
    await assertRooms(request, manifest);
    if (request.remote !== undefined) {
      await restoreStreams({ from, scratch: join(to, SCRATCH), ...request.remote });
    }
    await copyAll(request, manifest, total);
  } finally {
    lock.release();
  }
  return { manifest, hasKey: keyId !== undefined };
}

/** Throws `BackupFault` if a restore into the data folder was interrupted. */
export function assertNoUnfinishedRestore(folder: string): void {
  if (!existsSync(join(folder, MARK))) return;
  throw new BackupFault(
    `A restore into ${folder} has not ended. Run "svc restore" into it again, or remove the folder`,
  );
}

async function copyAll(
  { from, to, historyTo = to, remote, onProgress }: RestoreRequest,
  manifest: BackupManifest,
  total: number,
): Promise<void> {
  const files = manifest.files.filter(({ name }) => !remote || !ON_NATS.includes(name));
  const placeOf = (name: string) => join(name === HISTORY_FILE ? historyTo : to, name);
  for (const name of leftovers(to)) rmSync(join(to, name), { force: true });
  const content = `${[from, historyTo].join('\n')}\n`;
  writeFileDurably({ path: join(to, MARK), content, exclusive: false });
  let copied = 0;
  const count = (bytes: number) => {
    copied += bytes;
    onProgress?.({ step: 'copying', bytes: copied, total });
  };
  for (const { name, sha256 } of files) {
    const digest = await copy(join(from, name), placeOf(name) + PARTIAL, count);
    if (digest === sha256) continue;
    throw new BackupFault(
      `${join(from, name)} changed after it was checked. Check for a failing disk, or take another copy ` +
        'of the backup. Run "svc restore" again, or remove the new folder',
    );
  }
  for (const { name } of files) await rename(placeOf(name) + PARTIAL, placeOf(name));
  await syncFolderSoon(historyTo);
  await syncFolderSoon(to);
  rmSync(join(to, MARK));
  await syncFolderSoon(to);
  await syncFolderSoon(dirname(to));
}

/** Returns the SHA-256 of what was copied, hex. */
async function copy(from: string, to: string, onBytes: (bytes: number) => void): Promise<string> {
  const hash = createHash('sha256');
  const counting = new Transform({
    transform(part: Buffer, _encoding, done) {
      onBytes(part.length);
      hash.update(part);
      done(null, part);
    },
  });
  await pipeline(createReadStream(from), counting, createWriteStream(to, { mode: 0o600 }));
  const file = await open(to, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

/** The remains of an interrupted restore; nothing without its mark. */
function leftovers(to: string): string[] {
  if (!existsSync(join(to, MARK))) return [];
  return readdirSync(to).filter((name) => /^[a-z-]+\.(db|json)(\.restoring)?$/.test(name));
}

function assertEmpty({ to, historyTo = to, masterKeyFile }: RestoreRequest): void {
  const history = [HISTORY_FILE, `${HISTORY_FILE}-wal`].map((name) => join(historyTo, name));
  const there = history.find((path) => existsSync(path));
  if (historyTo !== to && there !== undefined && !isInterrupted(to, historyTo)) {
    throw new BackupFault(
      `${there} exists, but a backup is restored into empty folders. Move it aside, or name ` +
        'another folder with SVC_HISTORY_DATA',
    );
  }
  if (!existsSync(to)) return;
  // The lock's own files exist while it is held.
  const may = new Set(['svc.lock', 'svc.lock-journal', 'svc.pid', MARK, SCRATCH, ...leftovers(to)]);
  for (const path of [masterKeyFile, historyTo]) if (dirname(path) === to) may.add(basename(path));
  const found = readdirSync(to).find((name) => !may.has(name));
  if (found === undefined) return;
  throw new BackupFault(
    `${to} is not empty (it contains ${found}), but a backup is restored into an empty folder. Move the ` +
      'old one aside, or name another with --data',
  );
}

/** True if the existing history was written by an interrupted restore into both folders. */
function isInterrupted(to: string, historyTo: string): boolean {
  const mark = join(to, MARK);
  return existsSync(mark) && readFileSync(mark, 'utf8').split('\n').includes(historyTo);
}

/** Both folders may be on one disk. */
async function assertRooms(
  { to, historyTo = to }: RestoreRequest,
  { files }: BackupManifest,
): Promise<void> {
  const needed = (isHistory: boolean): number =>
    files
      .filter(({ name }) => (name === HISTORY_FILE) === isHistory)
      .reduce((sum, { bytes }) => sum + bytes, 0);
  makeFolder(historyTo, 0o700);
  const isOneDisk = (await stat(to)).dev === (await stat(historyTo)).dev;
  await assertRoom(to, needed(false) + (isOneDisk ? needed(true) : 0));
  if (!isOneDisk) await assertRoom(historyTo, needed(true));
}

async function assertRoom(to: string, total: number): Promise<void> {
  const { bavail, bsize } = await statfs(to);
  if (bavail * bsize > total) return;
  throw new BackupFault(
    `The disk of ${to} has ${bavail * bsize} bytes left, but the backup needs ${total}. Free some ` +
      'space; nothing was written',
  );
}
