/** Steps of a mass change that fit into one commit, which holds 500 steps and 256 KiB. */
import type { StoredInstance } from '../../streams/platform/commit/projection.ts';

/** Maximum number of steps in one commit. */
export const BATCH_STEPS_MAX = 200;
/** Approximate maximum size of their contexts, bytes. */
const BATCH_BYTES_MAX = 96 * 1024;

/** Counts the content of a commit. */
export class StepBatch {
  #steps = 0;
  #bytes = 0;

  get isFull(): boolean {
    return this.#steps >= BATCH_STEPS_MAX || this.#bytes >= BATCH_BYTES_MAX;
  }

  take({ context }: Pick<StoredInstance, 'context'>): void {
    this.#steps++;
    this.#bytes += JSON.stringify(context).length;
  }
}
