/**
 * Who has the main thread next. Work of many projects shares it in turns: one at a time, the projects
 * round robin, and only a few milliseconds of them in one round of the event loop, so that sockets,
 * samples and commits get through in between. A project with a hundred calls under way costs another
 * project's call one turn, not a hundred.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { FairQueue } from './fair-queue.ts';

/** Turns given in one round of the event loop, while its time is not used up. */
const ROUND_TURNS_MAX = 8;
/** After this no further turn begins in the round, ms; with the last one it stays below 25 ms. */
const ROUND_MS = 8;

export class FairTurns {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #queue = new FairQueue<() => void>();
  /** A turn was given in this round of the event loop, or turns are waited for. */
  #isBusy = false;
  #roundStartMs: number | undefined;

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /** Turns that are waited for. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Resolves when it is the party's turn; at once where nobody else had one in this round. The turn
   * is what the caller does until it waits for something. A turn that nobody uses any more costs
   * nothing, so that a wait is never given up.
   */
  take(party: string): Promise<void> {
    if (!this.#isBusy) {
      this.#isBusy = true;
      this.#plan();
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#queue.push(party, resolve));
  }

  /** Plans the turns of the next round. Between two of them all that the first one does is done. */
  #plan(): void {
    const count = Math.min(Math.max(this.#queue.size, 1), ROUND_TURNS_MAX);
    this.#roundStartMs = undefined;
    for (let i = 1; i <= count; i++) setImmediate(() => this.#give(i === count));
  }

  #give(isLast: boolean): void {
    const nowMs = this.#clock.elapsed();
    this.#roundStartMs ??= nowMs;
    if (nowMs - this.#roundStartMs < ROUND_MS) this.#queue.next()?.();
    if (!isLast) return;
    if (this.#queue.size > 0) this.#plan();
    else this.#isBusy = false;
  }
}
