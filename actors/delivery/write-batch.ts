/**
 * A batch of small writes. The main thread waits for each write to disk, so items that arrive
 * within a second, or 64 of them, share one. A crash loses the waiting items.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';

const WAIT_MS = 1_000;
const ITEMS_MAX = 64;

/** The write that items share, and the handler of its failures. */
export interface WriteBatchDeps<T> {
  readonly clock: Clock;
  /** Writes all items at once. */
  readonly write: (items: readonly T[]) => Promise<void>;
  /** Called when a write fails. Its items are dropped. */
  readonly onFault: (count: number, error: unknown) => void;
}

/** Collects items. The first one of a batch starts its one-second wait. `flush` writes at once. */
export class WriteBatch<T> {
  readonly #deps: WriteBatchDeps<T>;
  #waiting: T[] = [];
  #cancel: CancelWakeUp | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(deps: WriteBatchDeps<T>) {
    this.#deps = deps;
  }

  add(item: T): void {
    this.#waiting.push(item);
    if (this.#waiting.length >= ITEMS_MAX) void this.flush();
    else this.#cancel ??= this.#deps.clock.wakeAfter(WAIT_MS, () => void this.flush());
  }

  /**
   * Writes the waiting items, and resolves when nothing is being written. Called before the process
   * ends.
   */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const items = this.#waiting;
    this.#waiting = [];
    if (items.length > 0) this.#writing = Promise.all([this.#writing, this.#write(items)]);
    await this.#writing;
  }

  async #write(items: readonly T[]): Promise<void> {
    try {
      await this.#deps.write(items);
    } catch (error) {
      this.#deps.onFault(items.length, error);
    }
  }
}
