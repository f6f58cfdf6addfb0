/**
 * Texts as numbers, so that a text can be an entry of a column; the same number for the same text
 * as long as the thread lives.
 */
export class TextIds {
  readonly #ids = new Map<string, number>();
  readonly #texts: string[] = [];

  idOf(text: string): number {
    let id = this.#ids.get(text);
    if (id === undefined) {
      id = this.#texts.push(text) - 1;
      this.#ids.set(text, id);
    }
    return id;
  }

  /** '' for a number that was never given out, NaN included. */
  textOf(id: number): string {
    return this.#texts[id] ?? '';
  }
}
