/**
 * The threads that answer queries, and who is next for one. A thread works on one query at a time;
 * projects take turns (`FairQueue`). A query whose asker has gone leaves the queue, or is told to
 * stop; a thread that does not notice is ended and replaced.
 */

import { HistoryError } from '../../../sqlite/history/history-error.ts';
import type { HistoryShare } from '../../../sqlite/history/history-view.ts';
import { SupervisedThread } from '../../../sqlite/history/threads/supervised-thread.ts';
import type { Clock } from '../../../streams/clock.ts';
import { FairQueue } from './fair-queue.ts';

/** Two: one slow query does not stop the rest, and two cores are left for everything else. */
const THREADS = 2;
/** Queries that wait in all at most; each project's own share is bounded before (`QueryGate`). */
const WAITING_MAX = 4096;
/** An evaluation looks at least once a series whether it is still wanted: milliseconds. */
const HARD_STOP_MS = 2_000;
/**
 * Heap of a thread, MiB: label sets and answers. Columns lie outside of it, bounded by the cache
 * and by each query's budget.
 */
const HEAP_MIB_MAX = 512;

/** What a query thread is started with. */
export interface QueryThreadData {
  readonly history: HistoryShare;
  /** Path of `control.db`, which the threads read VM records from. */
  readonly controlPath: string;
}

export interface QueryThreadsOptions extends QueryThreadData {
  readonly clock: Clock;
  /** Default 2. */
  readonly threads?: number;
  /** The thread's file; absent = `query-thread`. */
  readonly entry?: URL;
}

export interface QueryThreadCounts {
  readonly running: number;
  readonly waiting: number;
  /** Threads that died without being asked to. */
  readonly crashes: number;
  /** Threads that were ended because they did not give a query up. */
  readonly hardStops: number;
}

interface Waiting {
  readonly start: (thread: SupervisedThread) => void;
  readonly fail: (error: unknown) => void;
}

export class QueryThreads {
  readonly #threads: readonly SupervisedThread[];
  readonly #busy = new Set<SupervisedThread>();
  readonly #queue = new FairQueue<Waiting>();
  readonly #closing = new AbortController();

  constructor(options: QueryThreadsOptions) {
    const { clock, history, controlPath, threads = THREADS, entry = threadFile() } = options;
    const data: QueryThreadData = { history, controlPath };
    this.#threads = Array.from({ length: threads }, (_, i) => {
      return new SupervisedThread({
        ...{ entry, data, name: `query thread ${i + 1}` },
        resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
        hardStop: { clock, afterMs: HARD_STOP_MS },
      });
    });
  }

  get counts(): QueryThreadCounts {
    return {
      running: this.#busy.size,
      waiting: this.#queue.size,
      crashes: this.#threads.reduce((sum, thread) => sum + thread.crashes, 0),
      hardStops: this.#threads.reduce((sum, thread) => sum + thread.hardStops, 0),
    };
  }

  /** Starts the first thread before its first query; the others start when they are needed. */
  start(): void {
    this.#threads[0]?.start();
  }

  /**
   * Runs a method of the threads' registry when it is the project's turn. `argument` is made when
   * the turn comes: what is left of a deadline is known only then. Throws `HistoryError` (of the
   * method; UNAVAILABLE when the thread dies; OVERLOADED; CLOSED) or the reason of `signal`.
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
    const free = this.#threads.find((thread) => !this.#busy.has(thread));
    if (free !== undefined) {
      // The first free one: its cache is the warmest.
      this.#busy.add(free);
      return free;
    }
    if (this.#queue.size >= WAITING_MAX) {
      throw new HistoryError('OVERLOADED', `${WAITING_MAX} queries wait already`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<SupervisedThread>();
    const entry: Waiting = { start: resolve, fail: reject };
    this.#queue.push(project, entry);
    const leave = () => {
      if (this.#queue.remove(project, entry)) reject(signal.reason);
    };
    signal.addEventListener('abort', leave);
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Hands the thread on once it has given up what it was told to give up. */
  async #release(thread: SupervisedThread): Promise<void> {
    await thread.idle();
    const next = this.#queue.next();
    if (next === undefined) this.#busy.delete(thread);
    else next.start(thread);
  }
}

function closed(): HistoryError {
  return new HistoryError('CLOSED', 'Queries are closed');
}

function threadFile(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./query-thread.${extension}`, import.meta.url);
}
