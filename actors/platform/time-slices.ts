/**
 * Cooperative scheduling on the main thread. Long work checks between its pieces whether its slice
 * of the current event loop turn is used up, and then yields to the next turn, so that requests and
 * samples get through in between.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { type PageReader, pagesOf } from '../../streams/platform/commit/page.ts';
import type { Pacer } from '../../streams/platform/operators.ts';

/** Work done in one turn before it yields, ms; no block may last 25 ms (API-31). */
const SLICE_MS = 8;

/** One for everything that shares a thread's turns: they have one slice between them. */
export class TimeSlices implements Pacer {
  readonly #clock: Clock;
  #startedMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True when the current turn's slice is used up. The first call in a turn starts the slice. */
  isSpent(): boolean {
    const now = this.#clock.elapsed();
    if (this.#startedMs === undefined) {
      this.#startedMs = now;
      setImmediate(() => {
        this.#startedMs = undefined;
      });
    }
    return now - this.#startedMs >= SLICE_MS;
  }

  /** Resolves at once, or in a later turn when the slice of this one is used up. */
  async yieldIfDue(): Promise<void> {
    while (this.isSpent()) await nextTurn();
  }

  nextTurn(resume: () => void): () => void {
    const immediate = setImmediate(resume);
    return () => clearImmediate(immediate);
  }
}

/**
 * Every item of a list, each page read in a turn of its own: commits may be applied between two, so an
 * item is as it was when its page was read.
 */
export async function* itemsInTurns<T>(
  limit: number,
  read: PageReader<T>,
): AsyncGenerator<T, void, undefined> {
  // Before the first one too: many short lists are as long as a large one.
  await nextTurn();
  for (const { items } of pagesOf(limit, read)) {
    yield* items;
    await nextTurn();
  }
}

/** Resolves in the next turn of the event loop, after everything that already waits. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
