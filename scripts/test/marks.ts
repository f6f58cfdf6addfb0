/**
 * The marks in the output of a process that runs many test files: each follows the output of one
 * file. They are not TAP, and no test writes text that starts like them.
 */

/** End of a file whose process continues. */
export interface EndOfFile {
  readonly exitCode: number;
  /** CPU time of the file: its process, with threads, and children that have ended; ms. */
  readonly cpuMs: number;
  /** A fault besides its tests. */
  readonly message?: string;
}

const BEGIN = '\n\0end of file ';

export function markOf(end: EndOfFile): string {
  return `${BEGIN}${JSON.stringify(end)}\n`;
}

/** Splits output, in pieces of any size, into the text of files and the marks after it. */
export class MarkReader {
  readonly #text: (text: string) => void;
  readonly #end: (end: EndOfFile) => void;
  #rest = '';

  constructor(on: { text: (text: string) => void; end: (end: EndOfFile) => void }) {
    this.#text = on.text;
    this.#end = on.end;
  }

  write(piece: string): void {
    this.#rest += piece;
    for (;;) {
      const begin = this.#rest.indexOf(BEGIN);
      const end = begin < 0 ? -1 : this.#rest.indexOf('\n', begin + BEGIN.length);
      if (end < 0) break;
      this.#pass(begin);
      const mark = this.#rest.slice(BEGIN.length, end - begin);
      this.#rest = this.#rest.slice(end - begin + 1);
      this.#end(JSON.parse(mark));
    }
    // The last line may be the start of a mark.
    const line = this.#rest.indexOf(BEGIN);
    this.#pass(line < 0 ? Math.max(0, this.#rest.lastIndexOf('\n')) : line);
  }

  /** Ends the output: the rest is text. */
  end(): void {
    this.#pass(this.#rest.length);
  }

  /** Passes on the text before `length`, and keeps the rest. */
  #pass(length: number): void {
    if (length > 0) this.#text(this.#rest.slice(0, length));
    this.#rest = this.#rest.slice(length);
  }
}
