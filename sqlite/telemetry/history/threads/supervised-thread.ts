/**
 * A worker thread that is called like a function and replaced when it dies. Running calls then fail
 * with a typed error, and the next call starts a new thread, after a pause if starting failed. It
 * keeps the process alive only while it has work.
 */

import { setPriority } from 'node:os';
import {
  parentPort,
  type ResourceLimits,
  Worker,
  type WorkerOptions,
  workerData,
} from 'node:worker_threads';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { callingOnAbort } from '../../../../streams/platform/deadline.ts';
import { DamagedBytes } from '../../../../streams/telemetry/samples/byte-reader.ts';
import { DamagedRow } from '../../../platform/row-checksum.ts';
import { HistoryError, type HistoryErrorReason, ReadCancelled } from '../history-error.ts';

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The part of a worker that its supervisor uses. */
export type ThreadWorker = Pick<
  Worker,
  'postMessage' | 'ref' | 'unref' | 'on' | 'once' | 'terminate'
>;

/** Starts the code of a thread's file. */
export type StartWorker = (entry: URL, options: WorkerOptions) => ThreadWorker;

const startWorker: StartWorker = (entry, options) => new Worker(entry, options);

export interface SupervisedThreadOptions {
  /** The worker's file. It calls `serveThread` and exports the result as `thread`. */
  readonly entry: URL;
  /** Default: a worker thread of Node. */
  readonly startWorker?: StartWorker | undefined;
  /** Name in a debugger and in messages. */
  readonly name: string;
  /** Data that `serveThread` passes to the worker. */
  readonly data: unknown;
  /** Bounds of the worker's own heap; beyond them only the worker dies. */
  readonly resourceLimits?: ResourceLimits;
  /** Ends a thread that has not stopped a call this long after it was aborted; absent = never. */
  readonly hardStop?: { readonly clock: Clock; readonly afterMs: number };
  /** Clock for the pauses after a failed start; absent = no pauses. */
  readonly clock?: Clock;
  /** Called for every unexpected exit. */
  readonly onEnd?: (end: ThreadEnd) => void;
  /** Called when `isReady` may have changed. */
  readonly onReadiness?: () => void;
}

export interface ThreadEnd {
  /** `died`: exited by itself. `hardStopped`: ended because it did not stop a call. */
  readonly kind: 'died' | 'hardStopped';
  /** The thread and the reason, for the log. */
  readonly message: string;
  readonly cause: unknown;
}

/**
 * A thread's own file next to the module `from` (`import.meta.url`): `.ts` in a checkout, `.js`
 * when built.
 */
export function threadEntry(from: string, name: string): URL {
  const extension = from.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./${name}.${extension}`, from);
}

/** A start takes under a second, and many times as long on a machine that is busy. */
const START_WAITS_MAX = 15;

export class SupervisedThread {
  readonly #options: SupervisedThreadOptions;
  readonly #cancelled = new Int32Array(new SharedArrayBuffer(4));
  readonly #pending = new Map<number, Pending>();
  readonly #idle = new Set<() => void>();
  /** The worker that is being ended because it did not stop a call. */
  #stopped: ThreadWorker | undefined;
  #worker: ThreadWorker | undefined;
  readonly #pause: StartPause;
  #hasStarted = false;
  #calls = 0;
  #crashes = 0;
  #hardStops = 0;
  #closed = false;

  constructor(options: SupervisedThreadOptions) {
    this.#options = options;
    this.#pause = new StartPause(options.clock);
  }

  /** Number of unexpected exits of the thread. */
  get crashes(): number {
    return this.#crashes;
  }

  /** Number of times the thread was ended because it did not stop a call. */
  get hardStops(): number {
    return this.#hardStops;
  }

  /** True if a call would be attempted: false for a while after a failed start. */
  get isAvailable(): boolean {
    return this.#worker !== undefined || this.#pause.leftMs === 0;
  }

  /** True if a call would begin at once: false before and during the start of the thread. */
  get isReady(): boolean {
    return this.#worker !== undefined && this.#hasStarted;
  }

  /** Running calls, including aborted ones that have not stopped yet. */
  get load(): number {
    return this.#pending.size;
  }

  /** Starts the thread before its first call, so that the call need not wait for it. */
  start(): void {
    if (!this.#closed && this.isAvailable) this.#running();
  }

  /** Resolves once no call is running: at once, or when the thread has replied or exited. */
  async idle(): Promise<void> {
    if (this.#pending.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.add(resolve));
  }

  /**
   * Calls a method of the thread. Throws `HistoryError`: of the method; UNAVAILABLE if the thread
   * dies during the call or recently failed to start; OUT_OF_MEMORY; or CLOSED. If `signal` aborts,
   * its reason is thrown at once, and the thread stops the call as soon as it can.
   */
  async call(method: string, argument: unknown, signal?: AbortSignal): Promise<unknown> {
    if (this.#closed) throw new HistoryError('CLOSED', `The ${this.#options.name} is closed`);
    signal?.throwIfAborted();
    const worker = this.#running();
    const id = ++this.#calls;
    const onAbort = () => {
      Atomics.store(this.#cancelled, 0, id);
      this.#pending.get(id)?.reject(signal?.reason);
      this.#stopLater(id, worker);
    };
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      worker.ref();
      worker.postMessage({ id, method, argument } satisfies ThreadCall);
    });
    return callingOnAbort(signal, onAbort, answer);
  }

  /** Ends the thread after its current calls; a second call is harmless. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (this.#closed || worker === undefined) {
      this.#closed = true;
      return;
    }
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    try {
      await this.call('close', undefined);
    } catch (error) {
      // A thread that dies while it is being closed has ended too, as requested.
      if (!(error instanceof HistoryError)) throw error;
    }
    this.#closed = true;
    worker.ref();
    await exited;
  }

  #running(): ThreadWorker {
    if (this.#worker !== undefined) return this.#worker;
    const { entry, name, data, resourceLimits } = this.#options;
    const { leftMs } = this.#pause;
    if (leftMs > 0) {
      const message = `The ${name} could not start; the next attempt is in ${leftMs} ms`;
      throw new HistoryError('UNAVAILABLE', message);
    }
    this.#hasStarted = false;
    const workerData: ThreadData<unknown> = { data, cancelled: this.#cancelled.buffer };
    const { startWorker: start = startWorker } = this.#options;
    const worker = start(entry, {
      name,
      workerData,
      ...(resourceLimits && { resourceLimits }),
    });
    worker.unref();
    let cause: unknown;
    worker.on('message', (reply: ThreadReply) => this.#settle(reply));
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', (code) => this.#ended(worker, code, cause));
    this.#worker = worker;
    return worker;
  }

  #settle(reply: ThreadReply): void {
    if ('started' in reply) {
      this.#hasStarted = true;
      this.#pause.end();
      this.#options.onReadiness?.();
      return;
    }
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0) this.#becomeIdle();
    if (pending === undefined) return;
    if ('result' in reply) pending.resolve(reply.result);
    else pending.reject(errorOf(reply.fault));
  }

  #ended(worker: ThreadWorker, code: number, cause: unknown): void {
    if (this.#worker === worker) this.#worker = undefined;
    const isStopped = this.#stopped === worker;
    const requested = (code === 0 && cause === undefined) || isStopped;
    const because = cause instanceof Error ? cause.message : `exit code ${code}`;
    const message = `The ${this.#options.name} has stopped: ${because}`;
    if (!requested) {
      this.#crashes++;
      if (!this.#hasStarted) this.#pause.begin();
      this.#options.onEnd?.({ kind: 'died', message, cause });
    }
    const reason = isOutOfMemory(cause) && !isStopped ? 'OUT_OF_MEMORY' : 'UNAVAILABLE';
    for (const pending of this.#pending.values()) {
      pending.reject(new HistoryError(reason, message, { cause }));
    }
    this.#pending.clear();
    this.#becomeIdle();
    this.#options.onReadiness?.();
  }

  #becomeIdle(): void {
    this.#worker?.unref();
    for (const wake of this.#idle) wake();
    this.#idle.clear();
  }

  /** @param startsLeft further waits for a thread that is still starting and runs no call yet */
  #stopLater(id: number, worker: ThreadWorker, startsLeft = START_WAITS_MAX): void {
    const { hardStop } = this.#options;
    if (hardStop === undefined || !this.#pending.has(id)) return;
    const stop = () => {
      if (!this.#pending.has(id) || this.#worker !== worker) return;
      if (!this.#hasStarted && startsLeft > 0) {
        this.#stopLater(id, worker, startsLeft - 1);
        return;
      }
      this.#hardStops++;
      this.#stopped = worker;
      const message = `The ${this.#options.name} did not stop a call within ${hardStop.afterMs} ms and is being replaced`;
      this.#options.onEnd?.({ kind: 'hardStopped', message, cause: undefined });
      // Pending calls are rejected when the worker has exited.
      void worker.terminate();
    };
    const cancel = hardStop.clock.wakeAfter(hardStop.afterMs, stop);
    this.#idle.add(cancel);
  }
}

/** Error of the call itself; a cancelled call was already rejected with its signal's reason. */
function errorOf({ reason, message, stack }: ThreadFault): HistoryError {
  const error = new HistoryError(reason === 'CANCELLED' ? 'CLOSED' : reason, message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** Node's error code for a worker that exceeded its `resourceLimits`. */
function isOutOfMemory(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 30_000;

export class StartPause {
  readonly #clock: Clock | undefined;
  #lastMs = 0;
  #untilMs = 0;

  /** Without a clock there are no pauses. */
  constructor(clock: Clock | undefined) {
    this.#clock = clock;
  }

  /** Remaining time of the pause, ms; 0 = none. */
  get leftMs(): number {
    if (this.#clock === undefined) return 0;
    return Math.max(0, Math.ceil(this.#untilMs - this.#clock.elapsed()));
  }

  begin(): void {
    if (this.#clock === undefined) return;
    this.#lastMs = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, 2 * this.#lastMs));
    this.#untilMs = this.#clock.elapsed() + this.#lastMs;
  }

  end(): void {
    this.#lastMs = 0;
    this.#untilMs = 0;
  }
}

/** Start data of a thread. `cancelled[0]` is the number of the call to cancel. */
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
  /** Sent once: the thread's resources are open. */
  | { readonly started: true }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly fault: ThreadFault };

export interface ThreadFault {
  readonly reason: HistoryErrorReason | 'CANCELLED';
  readonly message: string;
  /** Stack of the error; only for `FAULT`. */
  readonly stack?: string;
}

/** `transfer` of the result is moved instead of copied. */
export interface ThreadAnswer {
  readonly result: unknown;
  readonly transfer?: ArrayBuffer[];
}

/** Runs one method. */
export type ThreadMethod = (argument: never, isCancelled: () => boolean) => ThreadAnswer;

/** Runs one method in several turns of the thread; the next call begins after it. */
export type SlowThreadMethod = (
  argument: never,
  isCancelled: () => boolean,
) => Promise<ThreadAnswer>;

/** Resources that a thread has opened for its calls. */
export interface OpenThread {
  readonly methods: Readonly<Record<string, ThreadMethod | SlowThreadMethod>>;
  close(): void;
}

/** A thread's code, which its file exports as `thread`. */
export interface ThreadDefinition<Data> {
  readonly open: (data: Data) => OpenThread;
}

/**
 * Defines the thread of the calling file, and serves its methods if that file was started as a
 * worker. Call once, in the worker's own file.
 * @param niceness priority relative to the thread that receives samples, 0 to 19; higher yields
 * more
 */
export function serveThread<Data>(
  niceness: number,
  open: (data: Data) => OpenThread,
): ThreadDefinition<Data> {
  const port = parentPort;
  if (port === null) return { open };
  // Only Linux has a priority per thread; elsewhere this would slow the whole process.
  if (process.platform === 'linux') setPriority(niceness);
  const { data, cancelled } = workerData as ThreadData<Data>;
  const flag = new Int32Array(cancelled);
  const opened = open(data);
  port.postMessage({ started: true } satisfies ThreadReply);
  let last = Promise.resolve();
  port.on('message', (call: ThreadCall) => {
    last = last.then(async () => {
      await replyTo(opened, call, flag, (reply, transfer) => port.postMessage(reply, transfer));
      if (call.method === 'close') port.close();
    });
  });
  return { open };
}

/**
 * Runs one call.
 * @param post passes the reply to the supervisor and transfers the memory of `transfer`; throws if
 * the reply cannot be copied
 */
export async function replyTo(
  { methods, close }: OpenThread,
  { id, method: name, argument }: ThreadCall,
  cancelled: Int32Array,
  post: (reply: ThreadReply, transfer?: ArrayBuffer[]) => void,
): Promise<void> {
  try {
    if (name === 'close') {
      close();
      post({ id, result: undefined });
      return;
    }
    const method = methods[name];
    if (method === undefined) throw new Error(`This thread has no method ${name}`);
    // The argument was typed by the sender; a thread and its supervisor are one program.
    const answer = await method(argument as never, () => Atomics.load(cancelled, 0) === id);
    post({ id, result: answer.result }, answer.transfer);
  } catch (error) {
    post({ id, fault: faultOf(error) });
  }
}

function faultOf(error: unknown): ThreadFault {
  if (error instanceof ReadCancelled)
    return { reason: 'CANCELLED', message: 'The read was cancelled' };
  if (error instanceof HistoryError) return { reason: error.reason, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isDamaged = error instanceof DamagedBytes || error instanceof DamagedRow;
  if (isDamaged || /^SQLITE_(CORRUPT|NOTADB)/.test(code)) {
    return { reason: 'DAMAGED', message: code ? `${code}: ${message}` : message };
  }
  // Errors of the disk and of SQLite; those of Node begin with ERR_ and are bugs.
  if (/^(SQLITE_|E(?!RR_)[A-Z])/.test(code)) {
    return { reason: 'UNAVAILABLE', message: `${code}: ${message}` };
  }
  const stack = error instanceof Error ? error.stack : undefined;
  return { reason: 'FAULT', message, ...(stack !== undefined && { stack }) };
}
