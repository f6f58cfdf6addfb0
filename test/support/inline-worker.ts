/**
 * Runs the code of a thread in the thread of the test. A worker takes a third of a second of CPU to
 * start, and most tests are about a thread's answers. Calls and replies are cloned, and memory is
 * moved, as between threads. Tests of the threads themselves (crashes, cancellation, heaps,
 * fairness) use real workers.
 */
import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { WorkerOptions } from 'node:worker_threads';
import {
  type OpenThread,
  replyTo,
  type ThreadCall,
  type ThreadData,
  type ThreadDefinition,
  type ThreadReply,
  type ThreadWorker,
} from '../../sqlite/telemetry/history/threads/supervised-thread.ts';

/** `startWorker` for supervised threads, query threads and history. */
export function inlineWorker(entry: URL, { workerData }: WorkerOptions): ThreadWorker {
  // `ThreadWorker` has the overloads of `Worker`; this class has those that a supervisor calls.
  return new InlineWorker(entry, workerData as ThreadData<unknown>) as unknown as ThreadWorker;
}

class InlineWorker extends EventEmitter {
  readonly #cancelled: Int32Array;
  readonly #opened: Promise<OpenThread | undefined>;
  #last: Promise<unknown> = Promise.resolve();
  #hasEnded = false;

  constructor(entry: URL, { data, cancelled }: ThreadData<unknown>) {
    super();
    this.#cancelled = new Int32Array(cancelled);
    this.#opened = this.#open(entry, structuredClone(data));
  }

  postMessage(call: ThreadCall): void {
    const copied = structuredClone(call);
    this.#last = this.#last.then(() => this.#answer(copied));
  }

  ref(): void {}

  unref(): void {}

  async terminate(): Promise<number> {
    this.#end(1);
    return 1;
  }

  async #open(entry: URL, data: unknown): Promise<OpenThread | undefined> {
    try {
      const { thread } = (await import(entry.href)) as { thread: ThreadDefinition<unknown> };
      const opened = thread.open(data);
      this.#emit('message', { started: true });
      return opened;
    } catch (error) {
      this.#emit('error', error);
      this.#end(1);
      return undefined;
    }
  }

  async #answer(call: ThreadCall): Promise<void> {
    const opened = await this.#opened;
    // A thread never answers before its caller has continued.
    await setImmediate();
    if (opened === undefined || this.#hasEnded) return;
    await replyTo(opened, call, this.#cancelled, (reply: ThreadReply, transfer = []) => {
      this.#emit('message', structuredClone(reply, { transfer }));
    });
    if (call.method === 'close') this.#end(0);
  }

  #end(code: number): void {
    this.#emit('exit', code);
    this.#hasEnded = true;
  }

  #emit(event: string, value: unknown): void {
    if (!this.#hasEnded) this.emit(event, value);
  }
}
