/** How long a thread that could not start is left alone: longer each time, until one starts. */
import type { Clock } from '../../../../streams/platform/clock.ts';

const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 30_000;

export class StartPause {
  readonly #clock: Clock | undefined;
  #lastMs = 0;
  #untilMs = 0;

  /** Without a clock there are no pauses. */
  constructor(clock: Clock | undefined) {
    this.#clock = clock;
  }

  /** What is left of the pause, ms; 0 = none. */
  get leftMs(): number {
    if (this.#clock === undefined) return 0;
    return Math.max(0, Math.ceil(this.#untilMs - this.#clock.elapsed()));
  }

  begin(): void {
    if (this.#clock === undefined) return;
    this.#lastMs = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, 2 * this.#lastMs));
    this.#untilMs = this.#clock.elapsed() + this.#lastMs;
  }

  end(): void {
    this.#lastMs = 0;
    this.#untilMs = 0;
  }
}
