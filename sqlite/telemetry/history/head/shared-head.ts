/**
 * The head's memory as a reading thread sees it: the entry of each VM, and its content between two
 * reads of the VM's sequence lock. Nothing read before the second one is trusted or followed out of
 * bounds, texts least of all: their cells may have been reused.
 */
import { Buffer } from 'node:buffer';
import {
  CELL_BYTES,
  entryOf,
  GENERATION,
  type HeadShare,
  LOCK,
  PROJECT,
  TEXT_CELLS,
  VM,
  VM_CHANGES,
  VM_COUNT,
} from './memory.ts';

/** Tries without a pause, then with one of a millisecond each: a write takes microseconds. */
const QUICK_TRIES = 100;
const SLOW_TRIES = 2000;
/** Texts remembered by id: read again from the cells beyond it. */
const TEXTS_KEPT_MAX = 100_000;
/** No text is longer; a length beyond it was read while it was written. */
const TEXT_BYTES_MAX = 1024 * 1024;

/** A VM's entry, as long as it is that VM's. */
export interface HeadPlace {
  readonly slot: number;
  readonly generation: number;
}

export interface PlaceListener {
  onVm(project: string, vm: string, place: HeadPlace): void;
  /** The VM has left the head. */
  onGone(project: string, vm: string): void;
}

/** One look at an entry, which is to be believed only if the lock is still the same afterwards. */
export interface Look {
  readonly entry: number;
  readonly lock: number;
}

interface Named extends HeadPlace {
  readonly project: string;
  readonly vm: string;
}

export class SharedHead {
  directory: Int32Array;
  cells: Float64Array;
  readonly #share: HeadShare;
  readonly #pause = new Int32Array(new SharedArrayBuffer(4));
  readonly #texts = new Map<number, string>();
  /** Texts found by the look that is under way. */
  readonly #found: (readonly [id: number, text: string])[] = [];
  readonly #named: (Named | undefined)[] = [];
  #changes = 0;

  constructor(share: HeadShare) {
    this.#share = share;
    this.directory = new Int32Array(share.directory, 0, share.directory.byteLength / 4);
    this.cells = cellsOf(share);
  }

  /** Changes whenever the VM's rows do; odd while they are being changed. */
  version({ slot }: HeadPlace): number {
    return Atomics.load(this.directory, entryOf(slot) + LOCK);
  }

  /** Reports which VMs have come and gone since the last call. */
  catchUp(listener: PlaceListener): void {
    const changes = Atomics.load(this.directory, VM_CHANGES);
    if (changes === this.#changes) return;
    const count = Atomics.load(this.directory, VM_COUNT);
    const memory = this.#share.directory;
    if (this.directory.byteLength < memory.byteLength) {
      this.directory = new Int32Array(memory, 0, memory.byteLength / 4);
    }
    const changed: number[] = [];
    const came: Named[] = [];
    for (let slot = 0; slot < count; slot++) {
      const known = this.#named[slot];
      if (this.directory[entryOf(slot) + GENERATION] === (known?.generation ?? 0)) continue;
      changed.push(slot);
    }
    // All that went before any that came: a VM may have left and come back at another entry.
    for (const slot of changed) {
      const { value: named } = this.look(slot, (look) => this.#namesAt(slot, look));
      const known = this.#named[slot];
      this.#named[slot] = named ?? undefined;
      if (known !== undefined) listener.onGone(known.project, known.vm);
      if (named !== null) came.push(named);
    }
    for (const named of came) listener.onVm(named.project, named.vm, named);
    this.#changes = changes;
  }

  /**
   * What `read` finds in the entry while its lock stays still; tried again when it moves, or when
   * `read` answers undefined because what it found makes no sense.
   */
  look<T>(
    slot: number,
    read: (look: Look) => T | undefined,
  ): { readonly version: number; readonly value: T } {
    const entry = entryOf(slot);
    for (let tries = 0; tries < QUICK_TRIES + SLOW_TRIES; tries++) {
      if (tries >= QUICK_TRIES) Atomics.wait(this.#pause, 0, 0, 1);
      const lock = Atomics.load(this.directory, entry + LOCK);
      if (lock % 2 !== 0) continue;
      this.#found.length = 0;
      const value = read({ entry, lock });
      if (!this.isStill({ entry, lock }) || value === undefined) continue;
      return { version: lock, value };
    }
    throw new Error('A VM of the head stayed locked for seconds: its writer has stopped midway');
  }

  /** Is what was read up to now to be believed? Texts that it found are remembered then. */
  isStill({ entry, lock }: Look): boolean {
    // A read-modify-write, so that no load before it can happen after it.
    if (Atomics.or(this.directory, entry + LOCK, 0) !== lock) return false;
    if (this.#found.length > 0) this.#keepFound();
    return true;
  }

  /** The entry's number; see `memory.ts` for what each is. */
  number({ entry }: Look, offset: number): number {
    return this.directory[entry + offset] as number;
  }

  /** A copy of some cells; undefined when they are none. */
  slice(start: number, length: number): Float64Array | undefined {
    const isPlace = Number.isInteger(start) && start >= 0 && length >= 0;
    return isPlace && this.reaches(start + length)
      ? this.cells.slice(start, start + length)
      : undefined;
  }

  reaches(end: number): boolean {
    if (end > this.cells.length) this.cells = cellsOf(this.#share);
    return end <= this.cells.length;
  }

  /** The text with this id at this cell; undefined when there is no such thing. */
  text(id: number, start: number): string | undefined {
    if (id === 0) return '';
    const known = this.#texts.get(id);
    if (known !== undefined) return known;
    const text = this.#textAt(start, id);
    if (text !== undefined) this.#found.push([id, text]);
    return text;
  }

  #keepFound(): void {
    if (this.#texts.size + this.#found.length > TEXTS_KEPT_MAX) this.#texts.clear();
    for (const [id, text] of this.#found) this.#texts.set(id, text);
    this.#found.length = 0;
  }

  #textAt(start: number, id: number): string | undefined {
    const isPlace = Number.isInteger(start) && start >= 0 && this.reaches(start + TEXT_CELLS);
    if (!isPlace || this.cells[start] !== id) return undefined;
    const length = this.cells[start + 1] as number;
    if (!(length >= 0 && length <= TEXT_BYTES_MAX)) return undefined;
    if (!this.reaches(start + TEXT_CELLS + Math.ceil(length / CELL_BYTES))) return undefined;
    // Copied first: a decoder refuses shared memory.
    const place = (start + TEXT_CELLS) * CELL_BYTES;
    return Buffer.from(new Uint8Array(this.#share.cells, place, length)).toString('utf8');
  }

  /** Whose the entry is; null = nobody's. */
  #namesAt(slot: number, look: Look): Named | null | undefined {
    const generation = this.number(look, GENERATION);
    if (generation % 2 === 0) return null;
    const [project, vm] = [PROJECT, VM].map((offset) => {
      const start = this.number(look, offset);
      return start >= 0 && this.reaches(start + TEXT_CELLS)
        ? this.text(this.cells[start] as number, start)
        : undefined;
    });
    return project === undefined || vm === undefined
      ? undefined
      : { slot, generation, project, vm };
  }
}

function cellsOf(share: HeadShare): Float64Array {
  return new Float64Array(share.cells, 0, Math.floor(share.cells.byteLength / CELL_BYTES));
}
