/**
 * The thread that copies databases while they are written: it opens a reading connection to each,
 * begins a transaction on all of them at one moment (`frozen-copy.ts` pauses the writers for that),
 * and then copies the state that these transactions see, at its own pace.
 */
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { makePrivate } from '../private-file.ts';
import { type CopiedFile, type CopyJob, type CopyMessage, GATE } from './copy-job.ts';

// Far below the threads that ingest samples, evaluate and answer.
const NICENESS = 10;
const PAGES_A_STEP = 256;
const HASHED_BYTES = 1024 * 1024;

interface Source {
  readonly to: string;
  readonly ask: string | undefined;
  readonly database: Database.Database;
  readonly look: Database.Statement;
  readonly bytes: number;
}

if (process.platform === 'linux') setPriority(NICENESS);
const job = workerData as CopyJob;
const say = (message: CopyMessage): void => parentPort?.postMessage(message);
try {
  const sources = job.files.map(open);
  say({ opened: true });
  freeze(sources, new Int32Array(job.gate));
  say({ copied: await copyAll(sources) });
} catch (error) {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  say({ fault: { code, message: error instanceof Error ? error.message : String(error) } });
}

function open({ path, to, ask }: CopyJob['files'][number]): Source {
  const database = new Database(path, { readonly: true, fileMustExist: true });
  const look = database.prepare('SELECT count(*) FROM sqlite_schema');
  const size = (name: string) => Number(database.pragma(name, { simple: true }));
  return { to, ask, database, look, bytes: size('page_size') * size('page_count') };
}

/** Starts reading all of them while the writers are paused. */
function freeze(sources: readonly Source[], gate: Int32Array): void {
  for (;;) {
    for (let state = Atomics.load(gate, 0); state !== GATE.go; state = Atomics.load(gate, 0)) {
      Atomics.wait(gate, 0, state);
    }
    // A transaction sees the file as it is at its first read.
    for (const { database, look } of sources) {
      database.exec('BEGIN');
      look.get();
    }
    const was = Atomics.compareExchange(gate, 0, GATE.go, GATE.frozen);
    Atomics.notify(gate, 0);
    if (was === GATE.go) return;
    for (const { database } of sources) database.exec('ROLLBACK');
  }
}

async function copyAll(sources: readonly Source[]): Promise<CopiedFile[]> {
  const total = sources.reduce((sum, { bytes }) => sum + bytes, 0);
  const copied: CopiedFile[] = [];
  let before = 0;
  for (const { to, ask, database, bytes } of sources) {
    const answers = ask === undefined ? [] : database.prepare(ask).all();
    makePrivate(to);
    await database.backup(to, {
      progress({ totalPages, remainingPages }) {
        const done = totalPages === 0 ? 0 : bytes * (1 - remainingPages / totalPages);
        say({ progress: { bytes: Math.round(before + done), total } });
        return PAGES_A_STEP;
      },
    });
    database.exec('ROLLBACK');
    database.close();
    before += bytes;
    copied.push({ to, ...digestOf(to), answers });
    say({ progress: { bytes: before, total: Math.max(before, total) } });
  }
  return copied;
}

/** Size and digest of a file; returns once it is on disk. */
function digestOf(path: string): { bytes: number; sha256: string } {
  const descriptor = openSync(path, 'r+');
  try {
    fsyncSync(descriptor);
    const hash = createHash('sha256');
    const buffer = Buffer.alloc(HASHED_BYTES);
    let bytes = 0;
    for (let read = readSync(descriptor, buffer); read > 0; read = readSync(descriptor, buffer)) {
      hash.update(buffer.subarray(0, read));
      bytes += read;
    }
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    closeSync(descriptor);
  }
}
