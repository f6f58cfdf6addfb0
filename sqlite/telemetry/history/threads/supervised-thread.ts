/**
 * A worker thread that is called like a function and replaced when it dies. Calls under way fail
 * with a typed error and the next one starts a new thread, after a pause where it could not start.
 * It keeps the process alive only while it has work.
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
  /** Shown in a debugger and in messages. */
  readonly name: string;
  /** What `serveThread` hands to the worker. */
  readonly data: unknown;
  /** Bounds of the worker's own heap; beyond them the worker alone dies. */
  readonly resourceLimits?: ResourceLimits;
  /** Ends a thread that has not given a call up so long after it was aborted; absent = never. */
  readonly hardStop?: { readonly clock: Clock; readonly afterMs: number };
  /** Times the pauses after a start that failed; absent = none. */
  readonly clock?: Clock;
  /** Called for every end that was not requested. */
  readonly onEnd?: (end: ThreadEnd) => void;
  /** Called when `isReady` may have changed. */
  readonly onReadiness?: () => void;
}

export interface ThreadEnd {
  /** `died`: by itself. `hardStopped`: it did not give a call up. */
  readonly kind: 'died' | 'hardStopped';
  /** The thread and why, for the log. */
  readonly message: string;
  readonly cause: unknown;
}

/** A thread's own file beside the module `from` (`import.meta.url`): `.ts` in a checkout, `.js` when built. */
export function threadEntry(from: string, name: string): URL {
  const extension = from.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./${name}.${extension}`, from);
}

export class SupervisedThread {
  readonly #options: SupervisedThreadOptions;
  readonly #cancelled = new Int32Array(new SharedArrayBuffer(4));
  readonly #pending = new Map<number, Pending>();
  readonly #idle = new Set<() => void>();
  /** The worker that is being ended because it did not give a call up. */
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

  /** How often the thread died without being asked to. */
  get crashes(): number {
    return this.#crashes;
  }

  /** How often the thread was ended because it did not give a call up. */
  get hardStops(): number {
    return this.#hardStops;
  }

  /** Whether a call would be tried: false for a while after a start that failed. */
  get isAvailable(): boolean {
    return this.#worker !== undefined || this.#pause.leftMs === 0;
  }

  /** Whether a call would begin at once: false while the thread starts, and before. */
  get isReady(): boolean {
    return this.#worker !== undefined && this.#hasStarted;
  }

  /** Calls under way, including aborted ones that have not stopped yet. */
  get load(): number {
    return this.#pending.size;
  }

  /** Starts the thread before its first call, which then need not wait for it. */
  start(): void {
    if (!this.#closed && this.isAvailable) this.#running();
  }

  /** Resolves once no call is under way: at once, or when the thread has replied or ended. */
  async idle(): Promise<void> {
    if (this.#pending.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.add(resolve));
  }

  /**
   * Calls a method of the thread. Throws `HistoryError`: of the method, or UNAVAILABLE when the
   * thread dies meanwhile or could not start lately, OUT_OF_MEMORY, or CLOSED. When `signal` aborts, its reason is thrown at once and the
   * thread gives the call up at the next place it can.
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

  /** Ends the thread after the calls it has; harmless on a second call. */
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
      // A thread that dies while it is being closed is gone as well, which is what was asked.
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
      const message = `The ${name} could not start; it is tried again in ${leftMs} ms`;
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
    const asked = (code === 0 && cause === undefined) || isStopped;
    const because = cause instanceof Error ? cause.message : `exit code ${code}`;
    const message = `The ${this.#options.name} has stopped: ${because}`;
    if (!asked) {
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

  #stopLater(id: number, worker: ThreadWorker): void {
    const { hardStop } = this.#options;
    if (hardStop === undefined || !this.#pending.has(id)) return;
    const stop = () => {
      if (!this.#pending.has(id) || this.#worker !== worker) return;
      this.#hardStops++;
      this.#stopped = worker;
      const message = `The ${this.#options.name} did not give a call up for ${hardStop.afterMs} ms and is replaced`;
      this.#options.onEnd?.({ kind: 'hardStopped', message, cause: undefined });
      // What is still pending is rejected when the worker has gone.
      void worker.terminate();
    };
    const cancel = hardStop.clock.wakeAfter(hardStop.afterMs, stop);
    this.#idle.add(cancel);
  }
}

/** Of a call's own; a cancelled one was rejected with its signal's reason before. */
function errorOf({ reason, message, stack }: ThreadFault): HistoryError {
  const error = new HistoryError(reason === 'CANCELLED' ? 'CLOSED' : reason, message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** Node's word for a worker that has passed its `resourceLimits`. */
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

  /** What is left of the pause, ms; 0 = none. */
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

/** `transfer` of the result is moved instead of copied. */
export interface ThreadAnswer {
  readonly result: unknown;
  readonly transfer?: ArrayBuffer[];
}

/** Answers one method. */
export type ThreadMethod = (argument: never, isCancelled: () => boolean) => ThreadAnswer;

/** Answers one method in several turns of the thread; the next call begins after it. */
export type SlowThreadMethod = (
  argument: never,
  isCancelled: () => boolean,
) => Promise<ThreadAnswer>;

/** What a thread has opened for its calls. */
export interface OpenThread {
  readonly methods: Readonly<Record<string, ThreadMethod | SlowThreadMethod>>;
  close(): void;
}

/** A thread's code, which its file exports as `thread`. */
export interface ThreadDefinition<Data> {
  readonly open: (data: Data) => OpenThread;
}

/**
 * Defines the thread of the calling file, and serves its methods if that file was started as a worker.
 * Call once, in the worker's own file.
 * @param niceness how far the thread stands back for the one that takes samples in, 0 to 19
 */
export function serveThread<Data>(
  niceness: number,
  open: (data: Data) => OpenThread,
): ThreadDefinition<Data> {
  const port = parentPort;
  if (port === null) return { open };
  // Linux alone has a priority for each thread; elsewhere this would slow the whole process.
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
 * Answers one call.
 * @param post hands the reply to the supervisor and moves the memory of `transfer` with it; throws
 * if the reply cannot be copied
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
    // The argument was typed where it was sent; a thread and its supervisor are one program.
    const answer = await method(argument as never, () => Atomics.load(cancelled, 0) === id);
    post({ id, result: answer.result }, answer.transfer);
  } catch (error) {
    post({ id, fault: faultOf(error) });
  }
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
