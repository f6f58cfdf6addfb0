/**
 * The query threads and their queue. A thread works on one query at a time. `ThreadTurns` decides
 * which query is next and which one makes room (TEN-21). A query whose client has gone leaves the
 * queue or is cancelled; a thread that does not notice is ended and replaced. A query has 10 s from
 * the moment that it may begin (LIMIT-03).
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
  /** Queries that made room for another project and started again. */
  readonly moved: number;
  /** Queries that were ended because another project that used far less waited. */
  readonly ended: number;
}

/** A query on its way to a thread. */
interface Waiting {
  /** The thread that works for it now. */
  thread: SupervisedThread | undefined;
  /** Settles when the query gets a thread; replaced when it has to wait again. */
  started: PromiseWithResolvers<SupervisedThread>;
  /** Aborts what runs for the query. */
  run: AbortController;
}

function startOfTurn(): PromiseWithResolvers<SupervisedThread> {
  const started = Promise.withResolvers<SupervisedThread>();
  // At the end of the service it fails also where its query has ended for another reason.
  started.promise.catch(() => {});
  return started;
}

/** The thread made room: its query starts again. */
const MOVED = new Error('The query starts again on another thread');

/** Seconds until what the threads remember of a project is mostly forgotten. */
const ENDED_RETRY_SECONDS = 30;

function endedForOthers(): Refusal {
  const message =
    'The query was ended: its project has used the query threads far more than another one that waits. Ask for less, or again later';
  const retryAfterSeconds = String(ENDED_RETRY_SECONDS);
  return new Refusal('TOO_MANY_REQUESTS', message, { limit: 'concurrency', retryAfterSeconds });
}

/**
 * Threads of one kind and their queue. A crash ends the query that caused it, and a new thread
 * takes the place.
 */
export class QueryThreads {
  readonly #clock: Clock;
  readonly #threads: readonly SupervisedThread[];
  readonly #turns: ThreadTurns<Waiting>;
  /** Threads at work, each with the turn that it works for. */
  readonly #busy = new Map<SupervisedThread, Turn<Waiting>>();
  readonly #waiting = new Set<Waiting>();
  readonly #closing = new AbortController();
  /** Cancels the next look at who is to make room. */
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
   * Runs a method of the threads' registry when it is the project's turn. `argument` is made when
   * the turn comes, since what is left of a deadline is known only then; a query that makes room
   * starts again with a new one. Throws `HistoryError` (of the method; UNAVAILABLE when the thread
   * dies or cannot start; OUT_OF_MEMORY; OVERLOADED; CLOSED), a `Refusal` TOO_MANY_REQUESTS when
   * the query was ended for others, or the reason of `signal`.
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
      // Threads that are free take what waits, so the bound is on what found none.
      if (this.#turns.waiting > WAITING_MAX && this.#turns.leave(turn)) {
        throw new HistoryError('OVERLOADED', `${WAITING_MAX} queries wait already`);
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
      // It may have been answered in the moment in which it was to make room.
      this.#turns.leave(turn);
    }
  }

  /** Gives up what is under way and ends the threads. */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    this.#cancelLook();
    for (const { started } of this.#waiting) started.reject(closed());
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  /** Resolves with the thread that works for the query now. */
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

  /** Makes room and starts what may start, now and whenever that may have changed by itself. */
  #settle(): void {
    if (this.#closing.signal.aborted) return;
    this.#cancelLook();
    const nowMs = this.#clock.elapsed();
    // A thread that starts cannot make room for others, so only the first query waits for one.
    this.#turns.ready = Math.max(1, this.#threads.filter(({ isReady }) => isReady).length);
    for (let turn = this.#turns.start(nowMs); turn; turn = this.#turns.start(nowMs)) {
      // As many turns run as there are threads at most.
      const thread = this.#free();
      if (thread === undefined) break;
      this.#busy.set(thread, turn);
      turn.payload.thread = thread;
      turn.payload.started.resolve(thread);
    }
    // Where several projects ask, one more is ready before it is needed.
    const spare = this.#turns.projects > 1 && this.#turns.running > 0 ? 1 : 0;
    this.#startThreads(this.#turns.waiting + spare);
    this.#makeRoom(nowMs);
    const lookMs = this.#turns.lookAgainMs(nowMs);
    if (lookMs !== undefined) {
      this.#cancelLook = this.#clock.wakeAfter(Math.max(1, lookMs), () => this.#settle());
    }
  }

  /** Sees to it that so many threads beside the busy ones are ready, or start. */
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
   * The first free one that is ready: its cache is the warmest. A thread that cannot start is picked
   * only if none can.
   */
  #free(): SupervisedThread | undefined {
    const free = this.#threads.filter((thread) => !this.#busy.has(thread));
    return (
      free.find(({ isReady }) => isReady) ?? free.find(({ isAvailable }) => isAvailable) ?? free[0]
    );
  }

  /** Hands the thread on once it has given up its cancelled call. */
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
