/**
 * The texts that one VM's rows name, by the numbers that their codes have: a table in the head's
 * cells. Only the writing thread touches it; a change of what readers see is made by the slab, within
 * its sequence lock, and what is let go of is freed after it.
 */
import {
  type HeadAccount,
  type HeadMemory,
  type HeadText,
  TEXT_COUNT,
  TEXT_TABLE,
} from './memory.ts';

/** A boot id and a state reason, and those before them. */
const TEXTS_MIN = 4;
/** Cells of an entry: the text's id, 0 = none, and its place. */
const ENTRY_CELLS = 2;

/** How the slab lets its table be changed. */
export interface TextChanges {
  /** Makes a change that readers see all of or nothing. */
  readonly write: (change: () => void) => void;
  /** Numbers that rows have, or are about to have. */
  readonly used: () => ReadonlySet<number>;
}

export class SlabTexts {
  readonly #memory: HeadMemory;
  readonly #account: HeadAccount;
  /** By number, less 1. */
  readonly #texts: (HeadText | undefined)[] = [];
  readonly #numbers = new Map<string, number>();
  #table = -1;

  constructor(memory: HeadMemory, account: HeadAccount) {
    this.#memory = memory;
    this.#account = account;
  }

  /** Texts that have a number. */
  get count(): number {
    return this.#numbers.size;
  }

  /** Number of the text, made where it has none; 0 = ''. Throws `HeadFull`. */
  numberOf(text: string, changes: TextChanges): number {
    if (text === '') return 0;
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    if (this.#numbers.size === this.#texts.length) {
      this.keepOnly(changes);
      // Twice as many as are used, so that this look at all rows is rare.
      if (this.#numbers.size * 2 >= this.#texts.length) this.#grow(changes);
    }
    const held = this.#memory.hold(text, this.#account);
    const place = this.#texts.indexOf(undefined);
    const at = this.#table + ENTRY_CELLS * place;
    changes.write(() => this.#memory.cells.set([held.id, held.start], at));
    this.#texts[place] = held;
    this.#numbers.set(text, place + 1);
    return place + 1;
  }

  /** Lets go of the texts that no row has any more. */
  keepOnly({ used, write }: TextChanges): void {
    const kept = used();
    const unused = this.#texts.flatMap((text, i) =>
      text && !kept.has(i + 1) ? [{ text, i }] : [],
    );
    if (unused.length === 0) return;
    write(() => {
      for (const { i } of unused) this.#memory.cells[this.#table + ENTRY_CELLS * i] = 0;
    });
    for (const { text, i } of unused) {
      this.#texts[i] = undefined;
      this.#numbers.delete(text.text);
      this.#memory.release(text, this.#account);
    }
  }

  /** Says in a VM's header where the table is. */
  publish(header: number): void {
    this.#memory.cells[header + TEXT_TABLE] = this.#table;
    this.#memory.cells[header + TEXT_COUNT] = this.#texts.length;
  }

  /** Gives back everything, when no header points to the table any more. */
  clear(): void {
    if (this.#table >= 0) this.#memory.free(this.#table, this.#cells, this.#account);
    for (const text of this.#texts) if (text) this.#memory.release(text, this.#account);
    this.#texts.length = 0;
    this.#numbers.clear();
    this.#table = -1;
  }

  get #cells(): number {
    return ENTRY_CELLS * this.#texts.length;
  }

  #grow({ write }: TextChanges): void {
    const count = Math.max(TEXTS_MIN, 2 * this.#texts.length);
    const table = this.#memory.allocate(ENTRY_CELLS * count, this.#account);
    const before = { table: this.#table, cells: this.#cells };
    write(() => {
      const { cells } = this.#memory;
      const { table: from, cells: length } = before;
      if (from >= 0) cells.copyWithin(table, from, from + length);
      cells.fill(0, table + length, table + ENTRY_CELLS * count);
      this.#table = table;
      while (this.#texts.length < count) this.#texts.push(undefined);
    });
    if (before.table >= 0) this.#memory.free(before.table, before.cells, this.#account);
  }
}
