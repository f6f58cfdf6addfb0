/**
 * Copies of several databases as they were at one moment, made while they are written. All of them
 * except `history.db` are written by this thread alone, which pauses until the copying thread has
 * started reading: about a millisecond. The copies therefore hold a state in which the process
 * could have been killed. A process that starts from them recovers as after a crash. No writer
 * waits for the copying itself.
 *
 * `history.db` has a writer of its own. Its floors are never beyond the log, and only this thread
 * truncates the log, so any moment of it is consistent with the other copies.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../streams/platform/clock.ts';
import { pause } from '../../../streams/platform/pause.ts';
import {
  type CopiedFile,
  type CopyJob,
  type CopyMessage,
  type CopyProgress,
  type CopyRequest,
  GATE,
} from './copy-job.ts';

export type { CopiedFile, CopyProgress, CopyRequest } from './copy-job.ts';

export interface FrozenCopyOptions {
  readonly files: readonly CopyRequest[];
  readonly clock: Clock;
  /** Aborts the copying; the caller removes the partial copies. */
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: CopyProgress) => void;
  /** Called at the exact moment of the copies, so that its reads match them. */
  readonly onFrozen?: () => void;
}

/** A database could not be copied; `code` is SQLite's or the file system's. */
export class CopyFailed extends Error {
  readonly code: string;
  constructor(message: string, code: string) {
    super(message);
    this.name = 'CopyFailed';
    this.code = code;
  }
}

/** Longest pause of this thread, ms; then it retries. */
const FREEZE_MS = 5;
const FREEZES_MAX = 200;
const FREEZE_GAP_MS = 50;

/** The copies, on disk, in the order of `files`. Throws `CopyFailed`, or the reason of `signal`. */
export async function copyFrozen(options: FrozenCopyOptions): Promise<readonly CopiedFile[]> {
  const { files, signal, onProgress } = options;
  signal.throwIfAborted();
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const job: CopyJob = { files, gate: gate.buffer };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const entry = new URL(`./copy-thread.${extension}`, import.meta.url);
  const worker = new Worker(entry, { name: 'copies', workerData: job });
  const ended = new AbortController();
  try {
    return await new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { signal: ended.signal });
      worker.on('error', reject);
      worker.on('exit', () => reject(new CopyFailed('The copying thread has ended', '')));
      worker.on('message', (message: CopyMessage) => {
        if ('opened' in message) freeze(gate, options).catch(reject);
        else if ('progress' in message) onProgress?.(message.progress);
        else if ('copied' in message) resolve(message.copied);
        else reject(new CopyFailed(message.fault.message, message.fault.code));
      });
    });
  } finally {
    ended.abort();
    await worker.terminate();
  }
}

/** Blocks this thread, the writer, until the other thread has started to read all files. */
async function freeze(gate: Int32Array, options: FrozenCopyOptions): Promise<void> {
  for (let tries = 0; tries < FREEZES_MAX && !options.signal.aborted; tries++) {
    Atomics.store(gate, 0, GATE.go);
    Atomics.notify(gate, 0);
    Atomics.wait(gate, 0, GATE.go, FREEZE_MS);
    if (Atomics.compareExchange(gate, 0, GATE.go, GATE.missed) === GATE.frozen) {
      options.onFrozen?.();
      return;
    }
    await pause(options.clock, FREEZE_GAP_MS, options.signal);
  }
  options.signal.throwIfAborted();
  throw new CopyFailed('The machine is too busy to start all copies at one moment', 'BUSY');
}
