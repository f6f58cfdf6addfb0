/** Progress of long operations on standard error; standard output carries only the result. */
import type { Surroundings } from '../command.ts';

/**
 * A line that is updated on a terminal; elsewhere, one line per quarter. The last step is always
 * shown.
 */
export class ProgressLine {
  readonly #surroundings: Surroundings;
  readonly #verb: string;
  readonly #noun: string;
  #displayed = 0;

  /** `verb` and `noun` describe the work: `checked` and `chunks`. */
  constructor(surroundings: Surroundings, verb: string, noun: string) {
    this.#surroundings = surroundings;
    this.#verb = verb;
    this.#noun = noun;
  }

  /** `all` may be 0: then everything is done. */
  show(done: number, all: number): void {
    const { isTerminal, stderr } = this.#surroundings;
    const percent = all === 0 ? 100 : Math.floor((100 * done) / all);
    if (percent < this.#displayed + (isTerminal ? 1 : 25) && done !== all) return;
    this.#displayed = percent;
    const text = `${this.#verb} ${done} of ${all} ${this.#noun} (${percent} %)`;
    stderr(isTerminal ? `\r${text}` : `${text}\n`);
  }

  /** The same for work without a count, from 0 to 1; only on a terminal. */
  showShare(share: number): void {
    const { isTerminal, stderr } = this.#surroundings;
    const percent = Math.min(100, Math.floor(100 * share));
    if (!isTerminal || percent <= this.#displayed) return;
    this.#displayed = percent;
    stderr(`\r${this.#verb} ${percent} % of ${this.#noun}`);
  }

  /** Ends the updated line before anything else is printed. */
  end(): void {
    if (this.#surroundings.isTerminal && this.#displayed > 0) this.#surroundings.stderr('\n');
  }
}
