/**
 * The query threads and their queue. A thread runs one query at a time. `ThreadTurns` decides which
 * query is next and which one yields (TEN-21). A query whose client disconnects leaves the queue or
 * is cancelled; a thread that does not react is ended and replaced. A query has 10 s from the
 * moment it may begin (LIMIT-03).
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
import { HEAP_BYTES_MAX, QUERY_MS_MAX, THREADS } from './limits.ts';
import { ThreadTurns, type Turn } from './thread-turns.ts';

/**
 * Maximum number of waiting queries of all projects; `ProjectGate` bounds the share of each
 * project.
 */
const WAITING_MAX = 4096;
/** Time for a cancelled query to stop before its thread is ended, ms. It checks once per series. */
const HARD_STOP_MS = 2_000;
const MIB = 1024 * 1024;
/**
 * Limit of the young generation. One collection may promote all live objects. A thread at its heap
 * limit gets 16 MiB more to end in; if the promotion needs more, V8 ends the whole process.
 */
const YOUNG_BYTES_MAX = 16 * MIB;

/** Start parameters of a query thread. */
export interface QueryThreadData {
  readonly history: HistoryShare;
  /** Path of `control.db`, from which the threads read VM records. */
  readonly controlPath: string;
}

export interface QueryThreadsOptions extends QueryThreadData {
  readonly clock: Clock;
  /** Default `THREADS`. */
  readonly threads?: number;
  /** Heap of each, bytes; default `HEAP_BYTES_MAX`. Columns are outside of it. */
  readonly heapBytesMax?: number;
  /** Name in messages and in a debugger; default `query thread`. */
  readonly name?: string;
  /** File of the thread. */
  readonly entry: URL;
  /** Default: worker threads of Node. */
  readonly startWorker?: StartWorker | undefined;
  /** Called when a thread exits unexpectedly. */
  readonly onEnd?: (end: ThreadEnd) => void;
}

/** Current state of the threads, and counters since the start: for `/metrics`. */
export interface QueryThreadCounts {
  readonly running: number;
  readonly waiting: number;
  /** Threads that died unexpectedly. */
  readonly crashes: number;
  /** Threads that were ended because they did not stop a query. */
  readonly hardStops: number;
  /** Queries that failed because of a bug. */
  readonly faults: number;
  /** Queries that ran out of memory; each is also counted as a crash. */
  readonly outOfMemory: number;
  /** Queries that yielded to another project and restarted. */
  readonly moved: number;
  /** Queries that were ended because another project with far lower usage waited. */
  readonly ended: number;
}

/** A query that waits for a thread or runs. */
interface Waiting {
  /** The thread that runs it now. */
  thread: SupervisedThread | undefined;
  /** Settles when the query gets a thread; replaced if it has to wait again. */
  started: PromiseWithResolvers<SupervisedThread>;
  /** Aborts the current run of the query. */
  run: AbortController;
}

function startOfTurn(): PromiseWithResolvers<SupervisedThread> {
  const started = Promise.withResolvers<SupervisedThread>();
  // On shutdown it rejects even if its query has ended for another reason.
  started.promise.catch(() => {});
  return started;
}

/** The query yielded and restarts. */
const MOVED = new Error('The query restarts on another thread');

/** Time until most of a project's recorded usage has decayed, seconds. */
const ENDED_RETRY_SECONDS = 30;

function endedForOthers(): Refusal {
  const message =
    'The query was ended: its project has used the query threads far more than another project that is waiting. Request less data, or retry later';
  const retryAfterSeconds = String(ENDED_RETRY_SECONDS);
  return new Refusal('TOO_MANY_REQUESTS', message, { limit: 'concurrency', retryAfterSeconds });
}

/**
 * Threads of one kind and their queue. A crash ends the query that caused it, and a new thread
 * replaces the dead one.
 */
export class QueryThreads {
  readonly #clock: Clock;
  readonly #threads: readonly SupervisedThread[];
  readonly #turns: ThreadTurns<Waiting>;
  /** Busy threads, each with the turn that it runs. */
  readonly #busy = new Map<SupervisedThread, Turn<Waiting>>();
  readonly #waiting = new Set<Waiting>();
  readonly #closing = new AbortController();
  /** Cancels the next check for queries that must yield. */
  #cancelLook = (): void => {};
  #faults = 0;
  #outOfMemory = 0;
  #moved = 0;
  #ended = 0;

  constructor(options: QueryThreadsOptions) {
    const { clock, history, controlPath, threads = THREADS, entry } = options;
    const { heapBytesMax = HEAP_BYTES_MAX, name = 'query thread', onEnd, startWorker } = options;
    const data: QueryThreadData = { history, controlPath };
    this.#clock = clock;
    this.#turns = new ThreadTurns(threads);
    this.#threads = Array.from({ length: threads }, (_, i) => {
      return new SupervisedThread({
        entry,
        startWorker,
        data,
        clock,
        name: `${name} ${i + 1}`,
        resourceLimits: {
          maxOldGenerationSizeMb: heapBytesMax / MIB,
          maxYoungGenerationSizeMb: YOUNG_BYTES_MAX / MIB,
        },
        hardStop: { clock, afterMs: HARD_STOP_MS },
        onReadiness: () => this.#settle(),
        ...(onEnd && { onEnd }),
      });
    });
  }

  get counts(): QueryThreadCounts {
    return {
      running: this.#busy.size,
      waiting: this.#turns.waiting,
      crashes: this.#threads.reduce((sum, thread) => sum + thread.crashes, 0),
      hardStops: this.#threads.reduce((sum, thread) => sum + thread.hardStops, 0),
      faults: this.#faults,
      outOfMemory: this.#outOfMemory,
      moved: this.#moved,
      ended: this.#ended,
    };
  }

  /** Starts the first thread before its first query; the others start when they are needed. */
  start(): void {
    this.#threads[0]?.start();
  }

  /**
   * Runs a method of the threads' registry when it is the project's turn. `argument` is created at
   * that time, because the remaining time of a deadline is known only then; a query that yields
   * restarts with a new one. Throws `HistoryError` (of the method; UNAVAILABLE if the thread dies
   * or cannot start; OUT_OF_MEMORY; OVERLOADED; CLOSED), a `Refusal` TOO_MANY_REQUESTS if the query
   * was ended for others, or the reason of `signal`.
   */
  async call(
    project: string,
    method: string,
    argument: () => unknown,
    signal: AbortSignal,
  ): Promise<unknown> {
    if (this.#closing.signal.aborted) throw closed();
    signal.throwIfAborted();
    const waiting: Waiting = {
      thread: undefined,
      started: startOfTurn(),
      run: new AbortController(),
    };
    const turn = this.#turns.add(project, waiting, this.#clock.elapsed());
    this.#waiting.add(waiting);
    try {
      this.#settle();
      // Free threads have taken queries already, so the bound applies to the queries left over.
      if (this.#turns.waiting > WAITING_MAX && this.#turns.leave(turn)) {
        throw new HistoryError('OVERLOADED', `${WAITING_MAX} queries are already waiting`);
      }
      for (;;) {
        const thread = waiting.thread ?? (await this.#started(turn, signal));
        const { run } = waiting;
        try {
          const ends = AbortSignal.any([signal, this.#closing.signal, run.signal]);
          return await thread.call(method, argument(), ends);
        } catch (error) {
          if (error !== MOVED) throw this.#counted(error);
        } finally {
          void this.#release(thread, turn);
        }
      }
    } finally {
      this.#waiting.delete(waiting);
      // It may have finished at the moment at which it had to yield.
      this.#turns.leave(turn);
    }
  }

  /** Aborts running and waiting queries and ends the threads. */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    this.#cancelLook();
    for (const { started } of this.#waiting) started.reject(closed());
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  /** Resolves with the thread that runs the query now. */
  async #started(turn: Turn<Waiting>, signal: AbortSignal): Promise<SupervisedThread> {
    const { started } = turn.payload;
    const leave = () => {
      if (!this.#turns.leave(turn)) return;
      started.reject(signal.reason);
      this.#settle();
    };
    if (signal.aborted) leave();
    return await callingOnAbort(signal, leave, started.promise);
  }

  #counted(error: unknown): unknown {
    if (error instanceof HistoryError && error.reason === 'FAULT') this.#faults++;
    if (error instanceof HistoryError && error.reason === 'OUT_OF_MEMORY') this.#outOfMemory++;
    return error;
  }

  /** Yields and starts queries as far as possible, and repeats this at the next relevant time. */
  #settle(): void {
    if (this.#closing.signal.aborted) return;
    this.#cancelLook();
    const nowMs = this.#clock.elapsed();
    // A starting thread cannot be yielded to, so only the first query waits for one.
    this.#turns.ready = Math.max(1, this.#threads.filter(({ isReady }) => isReady).length);
    for (let turn = this.#turns.start(nowMs); turn; turn = this.#turns.start(nowMs)) {
      // There are at most as many running turns as threads.
      const thread = this.#free();
      if (thread === undefined) break;
      this.#busy.set(thread, turn);
      turn.payload.thread = thread;
      turn.payload.started.resolve(thread);
    }
    // If several projects have demand, one more thread is ready before it is needed.
    const spare = this.#turns.projects > 1 && this.#turns.running > 0 ? 1 : 0;
    this.#startThreads(this.#turns.waiting + spare);
    this.#makeRoom(nowMs);
    const lookMs = this.#turns.lookAgainMs(nowMs);
    if (lookMs !== undefined) {
      this.#cancelLook = this.#clock.wakeAfter(Math.max(1, lookMs), () => this.#settle());
    }
  }

  /** Ensures that this many threads besides the busy ones are ready or starting. */
  #startThreads(wanted: number): void {
    const unused = this.#threads.filter((thread) => !this.#busy.has(thread));
    for (const thread of unused.slice(0, wanted)) thread.start();
  }

  #makeRoom(nowMs: number): void {
    for (let given = this.#turns.giveUp(nowMs); given; given = this.#turns.giveUp(nowMs)) {
      const { payload } = given.turn;
      const { run } = payload;
      if (given.how === 'ended') {
        this.#ended++;
        run.abort(endedForOthers());
        continue;
      }
      this.#moved++;
      payload.thread = undefined;
      payload.started = startOfTurn();
      payload.run = new AbortController();
      run.abort(MOVED);
    }
  }

  /**
   * The first free thread that is ready: its cache is the warmest. A thread that failed to start is
   * picked only if no other is free.
   */
  #free(): SupervisedThread | undefined {
    const free = this.#threads.filter((thread) => !this.#busy.has(thread));
    return (
      free.find(({ isReady }) => isReady) ?? free.find(({ isAvailable }) => isAvailable) ?? free[0]
    );
  }

  /** Frees the thread once it has stopped its cancelled call. */
  async #release(thread: SupervisedThread, turn: Turn<Waiting>): Promise<void> {
    await thread.idle();
    this.#busy.delete(thread);
    this.#turns.end(turn, this.#clock.elapsed());
    this.#settle();
  }
}

function closed(): HistoryError {
  return new HistoryError('CLOSED', 'Queries are closed');
}

/** Conditions that end a query early. */
export interface QueryDeadlineOptions {
  readonly clock: Clock;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Default 10 s. */
  readonly timeoutMs?: number;
}

/**
 * Runs `work` until it ends, its time is up or the client disconnects. `work` may be slow to notice
 * the last two; the caller is not affected. Throws a `Refusal` QUERY_TIMEOUT, the error of `work`,
 * or the reason of `signal`.
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
  const message = `The query took longer than ${timeoutMs / 1000} seconds: request less data`;
  return new Refusal('QUERY_TIMEOUT', message);
}

/** One call of a method in a query thread. */
export interface ThreadRequest {
  readonly project: string;
  readonly method: string;
  /** Plain data: it is copied to the thread. */
  readonly argument: unknown;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Calls a method of the threads within the time and memory limits of a query. Throws a `Refusal`
 * (QUERY_TIMEOUT; RESPONSE_TOO_LARGE, because the same request would run out of memory again), a
 * `HistoryError`, or the reason of `signal`.
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
    const message = 'The response needs more memory than a query may use: request less data';
    throw new Refusal('RESPONSE_TOO_LARGE', message);
  }
}
