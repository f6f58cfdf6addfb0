/** Progress of long work on standard error: standard output has the result alone. */
import type { Surroundings } from '../command.ts';

/**
 * A line that changes on a terminal, a line for each quarter otherwise. The last step is always
 * shown.
 */
export class ProgressLine {
  readonly #surroundings: Surroundings;
  readonly #verb: string;
  readonly #noun: string;
  #shown = 0;

  /** `verb` and `noun` say what is done to what: `checked` and `chunks`. */
  constructor(surroundings: Surroundings, verb: string, noun: string) {
    this.#surroundings = surroundings;
    this.#verb = verb;
    this.#noun = noun;
  }

  /** `all` may be 0: then all is done. */
  show(done: number, all: number): void {
    const { isTerminal, stderr } = this.#surroundings;
    const percent = all === 0 ? 100 : Math.floor((100 * done) / all);
    if (percent < this.#shown + (isTerminal ? 1 : 25) && done !== all) return;
    this.#shown = percent;
    const text = `${this.#verb} ${done} of ${all} ${this.#noun} (${percent} %)`;
    stderr(isTerminal ? `\r${text}` : `${text}\n`);
  }

  /** Ends the line that changes, before anything else is printed. */
  end(): void {
    if (this.#surroundings.isTerminal && this.#shown > 0) this.#surroundings.stderr('\n');
  }
}
