/**
 * The query threads and their queue. A thread works on one query at a time. Projects take turns
 * (`FairQueue`), and one project alone never occupies all threads. A query whose client has gone
 * leaves the queue or is cancelled; a thread that does not notice is ended and replaced. A query
 * has 10 s from the moment that it may begin (LIMIT-03).
 */

import { HistoryError } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryShare } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import {
  type StartWorker,
  SupervisedThread,
  type ThreadEnd,
} from '../../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import {
  callingOnAbort,
  unlessAborted,
  withDeadline,
} from '../../../../streams/platform/deadline.ts';
import { Refusal } from '../../../../streams/platform/refusal.ts';
import { FairQueue } from '../../../platform/gate/fair-queue.ts';
import { HEAP_BYTES_MAX, QUERY_MS_MAX, THREADS } from './limits.ts';

/** Most waiting queries over all projects; `ProjectGate` bounds the share of each project. */
const WAITING_MAX = 4096;
/** Time that a cancelled query has to stop before its thread is ended, ms. It checks once a series. */
const HARD_STOP_MS = 2_000;
const MIB = 1024 * 1024;
/**
 * Limit of the young generation. One collection may promote all live objects. A thread at its heap
 * limit gets 16 MiB more to end in; if the promotion needs more, V8 ends the whole process.
 */
const YOUNG_BYTES_MAX = 16 * MIB;

/** What a query thread is started with. */
export interface QueryThreadData {
  readonly history: HistoryShare;
  /** Path of `control.db`, which the threads read VM records from. */
  readonly controlPath: string;
}

export interface QueryThreadsOptions extends QueryThreadData {
  readonly clock: Clock;
  /** Default `THREADS`. */
  readonly threads?: number;
  /** Heap of each, bytes; default `HEAP_BYTES_MAX`. Columns lie outside of it. */
  readonly heapBytesMax?: number;
  /** What they are, in messages and in a debugger; default `query thread`. */
  readonly name?: string;
  /** The thread's file. */
  readonly entry: URL;
  /** Default: worker threads of Node. */
  readonly startWorker?: StartWorker | undefined;
  /** Called when a thread ends without being asked to. */
  readonly onEnd?: (end: ThreadEnd) => void;
}

/** How the threads are now, and what has happened to them since the start: for `/metrics`. */
export interface QueryThreadCounts {
  readonly running: number;
  readonly waiting: number;
  /** Threads that died without being asked to. */
  readonly crashes: number;
  /** Threads that were ended because they did not give a query up. */
  readonly hardStops: number;
  /** Queries that failed by a mistake of ours. */
  readonly faults: number;
  /** Queries that ran out of memory: each is also one of the crashes. */
  readonly outOfMemory: number;
}

interface Waiting {
  readonly start: (thread: SupervisedThread) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Threads of one kind and their queue. A crash ends the query that caused it, and a new thread
 * takes the place.
 */
export class QueryThreads {
  readonly #threads: readonly SupervisedThread[];
  /** Threads at work, each with the project that it works for. */
  readonly #busy = new Map<SupervisedThread, string>();
  readonly #queue = new FairQueue<Waiting>();
  readonly #closing = new AbortController();
  #faults = 0;
  #outOfMemory = 0;

  constructor(options: QueryThreadsOptions) {
    const { clock, history, controlPath, threads = THREADS, entry } = options;
    const { heapBytesMax = HEAP_BYTES_MAX, name = 'query thread', onEnd, startWorker } = options;
    const data: QueryThreadData = { history, controlPath };
    this.#threads = Array.from({ length: threads }, (_, i) => {
      return new SupervisedThread({
        ...{ entry, startWorker, data, clock, name: `${name} ${i + 1}` },
        resourceLimits: {
          maxOldGenerationSizeMb: heapBytesMax / MIB,
          maxYoungGenerationSizeMb: YOUNG_BYTES_MAX / MIB,
        },
        hardStop: { clock, afterMs: HARD_STOP_MS },
        ...(onEnd && { onEnd }),
      });
    });
  }

  get counts(): QueryThreadCounts {
    return {
      running: this.#busy.size,
      waiting: this.#queue.size,
      crashes: this.#threads.reduce((sum, thread) => sum + thread.crashes, 0),
      hardStops: this.#threads.reduce((sum, thread) => sum + thread.hardStops, 0),
      faults: this.#faults,
      outOfMemory: this.#outOfMemory,
    };
  }

  /** Starts the first thread before its first query; the others start when they are needed. */
  start(): void {
    this.#threads[0]?.start();
  }

  /**
   * Runs a method of the threads' registry when it is the project's turn. `argument` is made when
   * the turn comes: what is left of a deadline is known only then. Throws `HistoryError` (of the
   * method; UNAVAILABLE when the thread dies or cannot start; OUT_OF_MEMORY; OVERLOADED; CLOSED) or
   * the reason of `signal`.
   */
  async call(
    project: string,
    method: string,
    argument: () => unknown,
    signal: AbortSignal,
  ): Promise<unknown> {
    if (this.#closing.signal.aborted) throw closed();
    const thread = await this.#turn(project, signal);
    try {
      return await thread.call(method, argument(), AbortSignal.any([signal, this.#closing.signal]));
    } catch (error) {
      if (error instanceof HistoryError && error.reason === 'FAULT') this.#faults++;
      if (error instanceof HistoryError && error.reason === 'OUT_OF_MEMORY') this.#outOfMemory++;
      throw error;
    } finally {
      void this.#release(thread);
    }
  }

  /** Gives up what is under way and ends the threads. */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    for (let left = this.#queue.next(); left; left = this.#queue.next()) left.fail(closed());
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  async #turn(project: string, signal: AbortSignal): Promise<SupervisedThread> {
    signal.throwIfAborted();
    const free = this.#mayHaveOne(project) ? this.#free() : undefined;
    if (free !== undefined) {
      this.#busy.set(free, project);
      return free;
    }
    if (this.#queue.size >= WAITING_MAX) {
      throw new HistoryError('OVERLOADED', `${WAITING_MAX} queries wait already`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<SupervisedThread>();
    const start = (thread: SupervisedThread) => {
      this.#busy.set(thread, project);
      resolve(thread);
    };
    const entry: Waiting = { start, fail: reject };
    this.#queue.push(project, entry);
    const leave = () => {
      if (this.#queue.remove(project, entry)) reject(signal.reason);
    };
    return callingOnAbort(signal, leave, promise);
  }

  /** One thread is always left for the others, where there is more than one. */
  #mayHaveOne(project: string): boolean {
    let held = 0;
    for (const holder of this.#busy.values()) if (holder === project) held++;
    return held < Math.max(1, this.#threads.length - 1);
  }

  /** The first free one: its cache is the warmest. A thread that cannot start is picked only if none can. */
  #free(): SupervisedThread | undefined {
    const free = this.#threads.filter((thread) => !this.#busy.has(thread));
    return free.find((thread) => thread.isAvailable) ?? free[0];
  }

  /** Hands the thread on once it has given up its cancelled call. */
  async #release(thread: SupervisedThread): Promise<void> {
    await thread.idle();
    this.#busy.delete(thread);
    this.#queue.next((project) => this.#mayHaveOne(project))?.start(thread);
  }
}

function closed(): HistoryError {
  return new HistoryError('CLOSED', 'Queries are closed');
}

/** What ends a query before it has answered. */
export interface QueryDeadlineOptions {
  readonly clock: Clock;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  /** Default 10 s. */
  readonly timeoutMs?: number;
}

/**
 * Runs `work` until it ends, its time is over or the client has gone. The work may be slow to notice
 * the last two; the caller is not. Throws a `Refusal` QUERY_TIMEOUT, what `work` throws, or the
 * reason of `signal`.
 */
export async function withQueryDeadline<T>(
  { clock, timeoutMs = QUERY_MS_MAX, signal }: QueryDeadlineOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const limit = { ms: timeoutMs, reason: () => timedOut(timeoutMs), signal };
  return await withDeadline(clock, limit, (ends) => unlessAborted(ends, work(ends)));
}

function timedOut(timeoutMs: number): Refusal {
  const message = `The query took longer than ${timeoutMs / 1000} seconds: ask for less`;
  return new Refusal('QUERY_TIMEOUT', message);
}

/** One call of a method in a query thread. */
export interface ThreadRequest {
  readonly project: string;
  readonly method: string;
  /** Plain data: it is copied to the thread. */
  readonly argument: unknown;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

/**
 * Calls a method of the threads within the time and the memory that a query may have. Throws a
 * `Refusal` (QUERY_TIMEOUT; RESPONSE_TOO_LARGE, because the same request would run out of memory a
 * second time), a `HistoryError`, or the reason of `signal`.
 */
export async function runQuery(
  { threads, clock }: { readonly threads: Pick<QueryThreads, 'call'>; readonly clock: Clock },
  { project, method, argument, signal }: ThreadRequest,
): Promise<unknown> {
  try {
    return await withQueryDeadline({ clock, signal }, (ended) =>
      threads.call(project, method, () => argument, ended),
    );
  } catch (error) {
    if (!(error instanceof HistoryError) || error.reason !== 'OUT_OF_MEMORY') throw error;
    const message = 'The answer needs more memory than a query may have: ask for less';
    throw new Refusal('RESPONSE_TOO_LARGE', message);
  }
}
