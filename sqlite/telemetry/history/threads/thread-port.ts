/**
 * The worker's side of a supervised thread: answers calls one after another. An error of a handler
 * is returned as a typed error. An error outside of one ends the thread, which its supervisor
 * notices.
 */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { DamagedBytes } from '../../../../streams/telemetry/samples/byte-reader.ts';
import { HistoryError, type HistoryErrorReason, ReadCancelled } from '../history-error.ts';

/** What a thread is started with. `cancelled[0]` is the number of the call to cancel. */
export interface ThreadData<Data> {
  readonly data: Data;
  readonly cancelled: SharedArrayBuffer;
}

export interface ThreadCall {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

export type ThreadReply =
  /** Sent once: what the thread needs is open. */
  | { readonly started: true }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly fault: ThreadFault };

export interface ThreadFault {
  readonly reason: HistoryErrorReason | 'CANCELLED';
  readonly message: string;
  /** Where it was thrown; of a `FAULT`. */
  readonly stack?: string;
}

/** Answers one method. `transfer` of the result is moved instead of copied. */
export type ThreadMethod = (
  argument: never,
  isCancelled: () => boolean,
) => { readonly result: unknown; readonly transfer?: ArrayBuffer[] };

/**
 * Serves the methods until the thread is ended. Call once, in the worker's own file.
 * @param niceness how far the thread stands back for the one that takes samples in, 0 to 19
 */
export function serveThread<Data>(
  niceness: number,
  start: (data: Data) => { methods: Readonly<Record<string, ThreadMethod>>; close(): void },
): void {
  const port = parentPort;
  if (port === null) throw new Error('This file is the start of a worker thread');
  // Linux alone has a priority for each thread; elsewhere this would slow the whole process.
  if (process.platform === 'linux') setPriority(niceness);
  const { data, cancelled } = workerData as ThreadData<Data>;
  const flag = new Int32Array(cancelled);
  const { methods, close } = start(data);
  port.postMessage({ started: true } satisfies ThreadReply);
  port.on('message', (call: ThreadCall) => {
    if (call.method === 'close') {
      close();
      port.postMessage({ id: call.id, result: undefined } satisfies ThreadReply);
      port.close();
      return;
    }
    try {
      const method = methods[call.method];
      if (method === undefined) throw new Error(`This thread has no method ${call.method}`);
      // The argument was typed where it was sent; a thread and its supervisor are one program.
      const answer = method(call.argument as never, () => Atomics.load(flag, 0) === call.id);
      port.postMessage({ id: call.id, result: answer.result }, answer.transfer ?? []);
    } catch (error) {
      port.postMessage({ id: call.id, fault: faultOf(error) } satisfies ThreadReply);
    }
  });
}

function faultOf(error: unknown): ThreadFault {
  if (error instanceof ReadCancelled)
    return { reason: 'CANCELLED', message: 'The read was given up' };
  if (error instanceof HistoryError) return { reason: error.reason, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (error instanceof DamagedBytes || /^SQLITE_(CORRUPT|NOTADB)/.test(code)) {
    return { reason: 'DAMAGED', message: code ? `${code}: ${message}` : message };
  }
  // The disk's errors, and SQLite's; those of Node begin with ERR_ and are mistakes of ours.
  if (/^(SQLITE_|E(?!RR_)[A-Z])/.test(code)) {
    return { reason: 'UNAVAILABLE', message: `${code}: ${message}` };
  }
  const stack = error instanceof Error ? error.stack : undefined;
  return { reason: 'FAULT', message, ...(stack !== undefined && { stack }) };
}
