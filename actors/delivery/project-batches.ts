/**
 * Work of one project that shares a commit: what is asked for while the last batch is under way is the
 * next one. A batch that fails by its own fault is divided, so that a bad item harms no other.
 */
import { isRetryable } from '../platform/retryable.ts';

/** Items in a batch at most: their decision is one block of the thread. */
const ITEMS_MAX = 64;

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** One batch of a project at a time. */
export class ProjectBatches<T, R> {
  readonly #work: (project: string, items: readonly T[]) => Promise<readonly R[]>;
  readonly #gathered: () => Promise<void>;
  /** By project, while a batch of it is under way or about to begin. */
  readonly #waiting = new Map<string, Waiting<T, R>[]>();

  /**
   * @param work resolves with a result for each item, in order
   * @param gathered resolves when a first batch has waited for others that come at the same time
   */
  constructor(
    work: (project: string, items: readonly T[]) => Promise<readonly R[]>,
    gathered: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#work = work;
    this.#gathered = gathered;
  }

  /** The item's own result, or the fault of its batch. */
  add(project: string, item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(project);
      if (waiting) return void waiting.push({ item, resolve, reject });
      this.#waiting.set(project, [{ item, resolve, reject }]);
      void this.#run(project);
    });
  }

  async #run(project: string): Promise<void> {
    await this.#gathered();
    const waiting = this.#waiting.get(project) ?? [];
    while (waiting.length > 0) await this.#take(project, waiting.splice(0, ITEMS_MAX));
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
