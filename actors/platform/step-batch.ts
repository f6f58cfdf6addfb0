/** Steps of a mass change that fit into one commit: a commit takes 500 steps and 256 KiB. */
import type { StoredInstance } from '../../streams/platform/commit/projection.ts';

/** Steps of one commit at most. */
export const BATCH_STEPS_MAX = 200;
/** Bytes of their contexts, about. */
const BATCH_BYTES_MAX = 96 * 1024;

/** Counts what a commit takes. */
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
