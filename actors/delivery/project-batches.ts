/**
 * Work of a project that shares commits: attempts that are opened at the same time, and those that
 * end at the same time.
 */
import { isRetryable } from '../platform/retryable.ts';

/** Maximum items in a batch, because its decision blocks the thread. */
export const BATCH_ITEMS_MAX = 64;

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Work of one project that shares a commit. Requests that arrive while a batch is in progress form
 * the next one. A batch that fails by its own fault is split, so that a bad item does not affect
 * others.
 */
export class ProjectBatches<T, R> {
  readonly #work: (project: string, items: readonly T[]) => Promise<readonly R[]>;
  readonly #gathered: (project: string, count: () => number) => Promise<void>;
  /** By project, while a batch of it is in progress or about to start. */
  readonly #waiting = new Map<string, Waiting<T, R>[]>();

  /**
   * @param work resolves with a result for each item, in order
   * @param gathered resolves when a batch has waited for others that arrive at the same time;
   * `count` returns their number
   */
  constructor(
    work: (project: string, items: readonly T[]) => Promise<readonly R[]>,
    gathered: (project: string, count: () => number) => Promise<void>,
  ) {
    this.#work = work;
    this.#gathered = gathered;
  }

  /** Resolves with the item's own result, or rejects with the fault of its batch. */
  add(project: string, item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(project);
      if (waiting) return void waiting.push({ item, resolve, reject });
      this.#waiting.set(project, [{ item, resolve, reject }]);
      void this.#run(project);
    });
  }

  async #run(project: string): Promise<void> {
    const waiting = this.#waiting.get(project) ?? [];
    while (waiting.length > 0) {
      await this.#gathered(project, () => waiting.length);
      await this.#take(project, waiting.splice(0, BATCH_ITEMS_MAX));
    }
    this.#waiting.delete(project);
  }

  async #take(project: string, batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const items = batch.map(({ item }) => item);
      const results = await this.#work(project, items);
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as R);
    } catch (error) {
      if (batch.length === 1 || isRetryable(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await this.#take(project, batch.slice(0, middle));
      await this.#take(project, batch.slice(middle));
    }
  }
}
