/**
 * A few reading threads with a bounded queue. A thread runs one request at a time, so a long read
 * delays other requests only if all threads are busy.
 */
import { callingOnAbort } from '../../../../streams/platform/deadline.ts';
import { HistoryError } from '../history-error.ts';
import { type StartWorker, SupervisedThread, threadEntry } from '../threads/supervised-thread.ts';
import type { HistoryShare } from './history-view.ts';

/**
 * Maximum number of waiting requests; more are rejected, because their clients would time out
 * first.
 */
const WAITING_MAX = 1024;

/** The number of threads, and the history that they read. */
export interface ReadPoolOptions {
  readonly share: HistoryShare;
  readonly threads: number;
  /** File of the thread; absent = the one that reads history. */
  readonly entry?: URL;
  /** Default: worker threads of Node. */
  readonly startWorker?: StartWorker | undefined;
}

/**
 * Reads on other threads, so that none blocks the main thread. After `close` it throws
 * `HistoryError` CLOSED.
 */
export class ReadPool {
  readonly #threads: readonly SupervisedThread[];
  readonly #waiting: (() => void)[] = [];
  readonly #busy = new Set<SupervisedThread>();
  #closed = false;

  constructor({
    share,
    threads,
    entry = threadEntry(import.meta.url, 'read-thread'),
    startWorker,
  }: ReadPoolOptions) {
    this.#threads = Array.from(
      { length: threads },
      (_, i) =>
        new SupervisedThread({ entry, startWorker, name: `history reader ${i + 1}`, data: share }),
    );
  }

  /** Number of unexpected exits of a thread. */
  get crashes(): number {
    return this.#threads.reduce((sum, thread) => sum + thread.crashes, 0);
  }

  /**
   * Runs a method on the next free thread. Throws the errors of `SupervisedThread.call`, and
   * OVERLOADED.
   */
  async call(method: string, argument: unknown, signal?: AbortSignal): Promise<unknown> {
    const thread = await this.#free(signal);
    try {
      return await thread.call(method, argument, signal);
    } finally {
      this.#busy.delete(thread);
      this.#waiting.shift()?.();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const wake of this.#waiting.splice(0)) wake();
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  async #free(signal: AbortSignal | undefined): Promise<SupervisedThread> {
    for (;;) {
      if (this.#closed) throw new HistoryError('CLOSED', 'History is closed');
      signal?.throwIfAborted();
      const thread = this.#idlest();
      if (thread !== undefined) {
        this.#busy.add(thread);
        return thread;
      }
      if (this.#waiting.length >= WAITING_MAX) {
        throw new HistoryError('OVERLOADED', `${WAITING_MAX} reads of history are already waiting`);
      }
      await this.#turn(signal);
    }
  }

  /** A thread without a request; preferably one that is not still stopping an aborted one. */
  #idlest(): SupervisedThread | undefined {
    const free = this.#threads.filter((thread) => !this.#busy.has(thread));
    return free.find((thread) => thread.load === 0) ?? free[0];
  }

  /** Resolves when a thread may be free, or the client disconnects. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    const leave = () => {
      // Removed from the queue, so that no wake-up is spent on a disconnected client.
      const index = this.#waiting.indexOf(resolve);
      if (index >= 0) this.#waiting.splice(index, 1);
      resolve();
    };
    await callingOnAbort(signal, leave, promise);
  }
}
