/**
 * Bodies of deliveries that have ended are forgotten several at once: each time is a write to disk
 * that the main thread waits for. What a crash keeps from being forgotten is found at the start.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';

/** Bodies are forgotten after so long, ms, or when so many have come together. */
const WAIT_MS = 1_000;
const TOGETHER_MAX = 64;

export interface DiscardsDeps {
  readonly clock: Clock;
  /** Forgets the bodies of these deliveries; without one is harmless. */
  readonly discard: (deliveries: readonly string[]) => void;
  /** What could not be forgotten stays until the next start. */
  readonly onFault: (what: string, error: unknown) => void;
}

export class Discards {
  readonly #deps: DiscardsDeps;
  #ended: string[] = [];
  #cancel: CancelWakeUp | undefined;

  constructor(deps: DiscardsDeps) {
    this.#deps = deps;
  }

  /** The delivery has ended: its body goes soon. */
  add(delivery: string): void {
    this.#ended.push(delivery);
    if (this.#ended.length >= TOGETHER_MAX) this.flush();
    else this.#cancel ??= this.#deps.clock.wakeAfter(WAIT_MS, () => this.flush());
  }

  /** Forgets now what waits: before the process ends. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const ended = this.#ended;
    this.#ended = [];
    if (ended.length === 0) return;
    try {
      this.#deps.discard(ended);
    } catch (error) {
      this.#deps.onFault(`forgetting the bodies of ${ended.length} deliveries`, error);
    }
  }
}
