/**
 * `svc backup`: the whole data folder as it was at one moment, copied while the service runs. The
 * databases are frozen for a millisecond and copied by a thread; the manifest is written last. A
 * backup that is interrupted before that leaves a folder that no restore accepts.
 */
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { programFormats } from '../../../actors/platform/host/formats.ts';
import { SAMPLES_STREAM } from '../../../actors/telemetry/sample-log.ts';
import {
  type CopiedFile,
  CopyFailed,
  type CopyProgress,
  copyFrozen,
} from '../../../sqlite/platform/backup/frozen-copy.ts';
import { copyStream } from '../../../sqlite/platform/backup/stream-copy.ts';
import { makeFolder } from '../../../sqlite/platform/make-folder.ts';
import { HISTORY_FILE } from '../../../sqlite/telemetry/history/history-file.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { EVENTS_STREAM } from '../../../streams/platform/commit/events.ts';
import type { Stream, StreamSpec } from '../../../streams/platform/stream.ts';
import { writeFileDurably } from '../../platform/durable-file.ts';
import { programVersion } from '../../platform/version.ts';
import {
  BackupFault,
  type BackupFile,
  type BackupManifest,
  type BackupStream,
  digestOf,
  MANIFEST_FILE,
  manifestText,
} from './manifest.ts';
import { streamFileOf } from './restore-streams.ts';

export interface BackupDeps {
  /** The data folder. */
  readonly folder: string;
  /** Folder of history.db. Absent: the data folder. */
  readonly historyFolder?: string;
  readonly clock: Clock;
  /** Id of the master key. */
  readonly keyId: () => string;
  /** True while it is being changed: a copy would reveal the next key to the old one. */
  readonly isKeyChanging: () => boolean;
  /**
   * Streams that are not in the folder, and the specifications of those to copy; absent if all are
   * in it.
   */
  readonly remote?: { readonly stream: Stream; readonly specs: readonly StreamSpec[] };
  /** Called with the time of the state in a finished backup, Unix ms. */
  readonly onMade?: (createdMs: number) => void;
}

export interface BackupRequest {
  /** Absolute path of a folder that is empty or does not exist. */
  readonly to: string;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: CopyProgress) => void;
}

/** Databases of a data folder, starting with those whose copying should delay writers the least. */
const DATABASES = [
  'secrets.db',
  'claims.db',
  'control.db',
  'events.db',
  'samples.db',
  HISTORY_FILE,
];
/** Position of the audit sink. Without it, everything would be written to it a second time. */
const CURSOR_FILE = 'audit-export.json';

const ASK_POSITION = `SELECT stream_identity AS "identity", applied, applied_hash AS hash
  FROM position`;
const ASK_STREAMS = `SELECT name, identity, last_sequence AS lastSequence, messages FROM stream`;
const QUESTIONS: Readonly<Record<string, string>> = {
  'control.db': ASK_POSITION,
  'events.db': ASK_STREAMS,
  'samples.db': ASK_STREAMS,
};

/**
 * Makes a backup. Throws `BackupFault` with a remedy, or the reason of `signal`; nothing of it is
 * left then.
 */
export async function makeBackup(
  deps: BackupDeps,
  request: BackupRequest,
): Promise<BackupManifest> {
  const { to } = request;
  const isMade = claimFolder(to);
  try {
    return await fill(deps, request);
  } catch (error) {
    // The folder was empty before.
    for (const name of readdirSync(to)) rmSync(join(to, name), { force: true });
    if (isMade) rmSync(to, { force: true, recursive: true });
    throw asFault(error, to);
  }
}

async function fill(deps: BackupDeps, request: BackupRequest): Promise<BackupManifest> {
  const { folder, historyFolder = folder, clock, keyId, isKeyChanging } = deps;
  const { to } = request;
  if (isKeyChanging()) {
    throw new BackupFault(
      'The master key is being changed, and both keys would be in the backup. Finish the change: ' +
        'svc admin rekey --continue',
    );
  }
  const pathOf = (name: string) => join(name === HISTORY_FILE ? historyFolder : folder, name);
  const names = DATABASES.filter((name) => existsSync(pathOf(name)));
  let createdMs = 0;
  let cursor: string | undefined;
  const copies = await copyFrozen({
    ...request,
    clock,
    files: names.map((name) => ({
      path: pathOf(name),
      to: join(to, name),
      ...(QUESTIONS[name] !== undefined && { ask: QUESTIONS[name] }),
    })),
    onFrozen() {
      createdMs = clock.now();
      const path = join(folder, CURSOR_FILE);
      if (existsSync(path)) cursor = readFileSync(path, 'utf8');
    },
  });
  const copyOf = (name: string) => copies[names.indexOf(name)];
  // The one row of that table, by its query above.
  const position = copyOf('control.db')?.answers[0] as BackupManifest['position'];
  const files = names.map((name) => fileOf(name, copyOf(name)));
  const streams = [copyOf('events.db'), copyOf('samples.db')]
    // By their queries above.
    .flatMap((copy) => (copy?.answers ?? []) as BackupStream[])
    .filter(({ name }) => name === EVENTS_STREAM || name === SAMPLES_STREAM);
  if (deps.remote !== undefined) {
    const copied = await copyStreams(deps.remote, request, position.applied);
    streams.push(...copied.streams);
    files.push(...copied.files);
  }
  if (cursor !== undefined) files.push(writeSmall(to, CURSOR_FILE, cursor));
  const manifest: BackupManifest = {
    program: programVersion,
    createdMs,
    keyId: keyId(),
    ...programFormats(),
    form: deps.remote === undefined ? 'embedded' : 'nats',
    position,
    streams,
    files,
  };
  request.signal.throwIfAborted();
  writeFileDurably({
    path: join(to, MANIFEST_FILE),
    content: manifestText(manifest),
    exclusive: true,
  });
  deps.onMade?.(createdMs);
  return manifest;
}

/** EVENTS ends where control.db does. The secrets of later commits may be missing. */
async function copyStreams(
  { stream, specs }: NonNullable<BackupDeps['remote']>,
  { to, signal }: BackupRequest,
  applied: number,
): Promise<{ readonly streams: BackupStream[]; readonly files: BackupFile[] }> {
  const streams: BackupStream[] = [];
  const names = new Set<string>();
  for (const spec of specs) {
    const file = streamFileOf(spec.name);
    const through = spec.name === EVENTS_STREAM ? { through: applied } : {};
    const copied = await copyStream({ stream, spec, to: join(to, file), signal, ...through });
    if (copied === undefined) continue;
    const { identity, lastSequence, messages } = copied;
    streams.push({ name: spec.name, identity, lastSequence, messages });
    names.add(file);
  }
  const files: BackupFile[] = [];
  for (const name of names) {
    const path = join(to, name);
    await syncFile(path);
    files.push({ name, bytes: statSync(path).size, sha256: await digestOf(path) });
  }
  return { streams, files };
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function fileOf(name: string, copy: CopiedFile | undefined): BackupFile {
  if (copy === undefined) throw new Error(`${name} was not copied`);
  return { name, bytes: copy.bytes, sha256: copy.sha256 };
}

function writeSmall(to: string, name: string, content: string): BackupFile {
  writeFileDurably({ path: join(to, name), content, exclusive: true });
  return { name, bytes: Buffer.byteLength(content), sha256: hash('sha256', content) };
}

/** Creates the folder, or finds it empty; true if it was created here. */
function claimFolder(to: string): boolean {
  try {
    const isMade = makeFolder(to, 0o700) !== undefined;
    const found = readdirSync(to);
    if (found.length === 0) return isMade;
    const what = found.includes(MANIFEST_FILE) ? 'a backup already' : `${found[0]} already`;
    throw new BackupFault(`${to} contains ${what}. Name a folder that is empty or does not exist`);
  } catch (error) {
    throw asFault(error, to);
  }
}

/** A fault of the disk as a sentence; anything else unchanged. */
function asFault(error: unknown, to: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (error instanceof BackupFault || code === '') return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (/^(ENOSPC|EDQUOT|SQLITE_FULL)/.test(code)) {
    return new BackupFault(`The disk of ${to} is full. Nothing of the backup is left there`, {
      cause: error,
    });
  }
  const isFile = error instanceof CopyFailed || /^E[A-Z]+$/.test(code);
  if (!isFile) return error;
  const isDenied = ['EACCES', 'EPERM', 'EROFS'].includes(code);
  const message = isDenied
    ? `The backup in ${to} was not made: the service writes it as its own user, which may not ` +
      `write there (${code}). Use a folder below its data folder`
    : `The backup in ${to} was not made (${reason})`;
  return new BackupFault(message, { cause: error });
}
