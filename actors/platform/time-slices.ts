/**
 * Sharing the main thread: work that could go on for long asks for its turn between pieces, and
 * once a turn of the event loop has been used for `TURN_MS` waits for the next one, so that
 * requests and samples get through in between.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Pacer } from '../../streams/platform/operators/map-in-slices.ts';

/** Work done in one turn before others are let in, ms; no block may last 25 ms (API-31). */
const TURN_MS = 8;

export class Turns implements Pacer {
  readonly #clock: Clock;
  #startedMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Is the current turn's time used up? The first call in a turn starts it. */
  isSpent(): boolean {
    const now = this.#clock.elapsed();
    if (this.#startedMs === undefined) {
      this.#startedMs = now;
      setImmediate(() => {
        this.#startedMs = undefined;
      });
    }
    return now - this.#startedMs >= TURN_MS;
  }

  /** Goes on at once, or in the next turn when this one is spent. */
  async breathe(): Promise<void> {
    while (this.isSpent()) await nextTurn();
  }

  nextTurn(resume: () => void): () => void {
    const immediate = setImmediate(resume);
    return () => clearImmediate(immediate);
  }
}

/** Lets everything else that is waiting go first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
