/**
 * The head's memory as seen by a reading thread: the entry of each VM, and its content between two
 * reads of the VM's sequence lock. Before the second read, no value is trusted or followed out of
 * bounds, least of all texts: their cells may have been reused.
 */
import { Buffer } from 'node:buffer';
import type { SeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { WeakValues } from '../weak-values.ts';
import {
  CELL_BYTES,
  COLUMNS,
  entryOf,
  FIRST_PAGE,
  FLUSHED_SEQUENCE,
  GENERATION,
  HEADER,
  HEADER_CELLS,
  type HeadShare,
  LOCK,
  PAGE_CELLS,
  PROJECT,
  ROW_CELLS,
  ROW_CODES,
  ROW_SEQUENCE,
  ROW_TIME,
  ROW_VCPUS,
  ROWS,
  STRIDE,
  TEXT_CELLS,
  TEXT_COUNT,
  TEXT_TABLE,
  VM,
  VM_CHANGES,
  VM_COUNT,
} from './memory.ts';

/** Number of attempts without a pause; later ones pause 1 ms each. A write takes microseconds. */
const QUICK_TRIES = 100;
const SLOW_TRIES = 2000;
/** Maximum number of texts cached by id; beyond it they are read again from the cells. */
const TEXTS_KEPT_MAX = 100_000;
/** Maximum size of a text, bytes; a greater length was read during a write. */
const TEXT_BYTES_MAX = 1024 * 1024;

/** A VM's entry, as long as it belongs to that VM. */
export interface HeadPlace {
  readonly slot: number;
  readonly generation: number;
}

/** Called for each VM added or removed, with the slot of its entry in the directory. */
export interface PlaceListener {
  onVm(project: string, vm: string, place: HeadPlace): void;
  /** The VM has left the head. */
  onGone(project: string, vm: string): void;
}

/** One read of an entry, valid only if the lock is unchanged afterwards. */
export interface Look {
  readonly entry: number;
  readonly lock: number;
}

interface Named extends HeadPlace {
  readonly project: string;
  readonly vm: string;
}

/** A reading thread's view of the memory, with a cache of decoded texts. */
export class SharedHead {
  directory: Int32Array;
  cells: Float64Array;
  readonly #share: HeadShare;
  readonly #pause = new Int32Array(new SharedArrayBuffer(4));
  readonly #texts = new Map<number, string>();
  /** Texts found by the current look. */
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

  /** Reports the VMs added and removed since the last call. */
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
    // Removals before additions: a VM may have left and returned at another entry.
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
   * The result of `read` on the entry while its lock is unchanged; retried if the lock moves, or if
   * `read` returns undefined because it found inconsistent data.
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
    throw new Error(
      'A VM of the head stayed locked for seconds: its writer stopped during a write',
    );
  }

  /** True if the data read so far is valid. The texts found are cached then. */
  isStill({ entry, lock }: Look): boolean {
    // A read-modify-write, so that no load before it can happen after it.
    if (Atomics.or(this.directory, entry + LOCK, 0) !== lock) return false;
    if (this.#found.length > 0) this.#keepFound();
    return true;
  }

  /** A number of the entry; see `memory.ts` for their meaning. */
  number({ entry }: Look, offset: number): number {
    return this.directory[entry + offset] as number;
  }

  /** A copy of some cells; undefined if they are out of bounds. */
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

  /** The text with this id at this cell; undefined if absent. */
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
    // Copied first: a decoder rejects shared memory.
    const place = (start + TEXT_CELLS) * CELL_BYTES;
    return Buffer.from(new Uint8Array(this.#share.cells, place, length)).toString('utf8');
  }

  /** Owner of the entry; null = it is free. */
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

// Reads single columns of the head from any thread: rows that are in no chunk yet, copied from a
// VM's pages between two reads of its sequence lock, without the other columns. The lock's count
// shows whether anything has changed since, so most reads need only that.

/** Cells of a row that do not belong to a series. */
export const HEAD_TIME = ROW_TIME;
export const HEAD_VCPUS = ROW_VCPUS;
export const HEAD_CODES = ROW_CODES;

/** The series of a VM's rows, and the cell of each in a row. */
export interface HeadLayout {
  readonly cells: ReadonlyMap<SeriesKey, number>;
  /** Ids of the keys, in the order of their cells. */
  readonly ids: Float64Array;
}

/** A VM's rows that are in no chunk, as of one moment. */
export interface HeadCut {
  /** Count of the lock at that moment. */
  readonly version: number;
  readonly layout: HeadLayout;
  /** Unix ms, strictly increasing. */
  readonly timesMs: Float64Array;
  /** For each requested cell, one value per row; NaN = not observed. */
  readonly columns: readonly Float64Array[];
  /** Texts by their number in a row's codes; only if the codes were requested. */
  readonly texts: readonly string[];
}

/** Columns of the head for one reading thread. */
export class HeadColumns {
  readonly #head: SharedHead;
  /** Layouts by the ids of their keys, each kept as long as the reader of a VM uses it. */
  readonly #layouts = new WeakValues<string, HeadLayout>();

  constructor(share: HeadShare) {
    this.#head = new SharedHead(share);
  }

  /** Reports the VMs added and removed since the last call. */
  catchUp(listener: PlaceListener): void {
    this.#head.catchUp(listener);
  }

  /** Changes whenever the VM's rows do; odd while they are being changed. */
  version(place: HeadPlace): number {
    return this.#head.version(place);
  }

  /**
   * Copies columns. `wanted` returns the requested cells of a row, given the layout; it may be
   * called again if the rows were changed during the call. `known`: a layout seen before of this
   * VM, which is tried first. A VM that has left the head has no rows.
   */
  cut(
    { slot, generation }: HeadPlace,
    known: HeadLayout | undefined,
    wanted: (layout: HeadLayout) => readonly number[],
  ): HeadCut {
    const { version, value } = this.#head.look(slot, (look) => {
      const isHere = this.#head.number(look, GENERATION) === generation;
      const header = isHere ? this.#headerAt(look) : NO_HEADER;
      if (header === undefined) return undefined;
      const layout = this.#layoutOf(header, look, known);
      if (layout === undefined) return undefined;
      const cells = wanted(layout);
      const rows = this.#rowsAt(look, header, cells);
      const texts =
        header !== NO_HEADER && cells.includes(HEAD_CODES) ? textsOf(this.#head, header) : [];
      return rows && texts && { layout, ...rows, texts };
    });
    return { version, ...value };
  }

  /** undefined if the VM has no rows and columns. */
  #headerAt(look: Look): Float64Array | undefined {
    const start = this.#head.number(look, HEADER);
    if (start < 0) return NO_HEADER;
    return this.#head.slice(start, HEADER_CELLS + 2 * this.#head.number(look, COLUMNS));
  }

  /** The times and requested cells of the rows; undefined if the data is inconsistent. */
  #rowsAt(
    look: Look,
    header: Float64Array,
    wanted: readonly number[],
  ): { timesMs: Float64Array; columns: Float64Array[] } | undefined {
    const head = this.#head;
    const number = (offset: number) => head.number(look, offset);
    const rows = header === NO_HEADER ? 0 : number(ROWS);
    const [stride, pageCells] = [number(STRIDE), number(PAGE_CELLS)];
    const timesMs = new Float64Array(Math.max(0, rows));
    const columns = wanted.map(() => new Float64Array(timesMs.length));
    if (rows === 0) return { timesMs, columns };
    const perPage = Math.floor((pageCells - 1) / stride);
    if (!(perPage > 0)) return undefined;
    const flushed = header[FLUSHED_SEQUENCE] as number;
    let taken = 0;
    let page = number(FIRST_PAGE);
    for (let first = 0; first < rows; first += perPage) {
      const count = Math.min(perPage, rows - first);
      const isPlace = Number.isInteger(page) && page >= 0;
      if (!isPlace || !head.reaches(page + 1 + count * stride)) return undefined;
      const { cells } = head;
      for (let i = 0; i < count; i++) {
        const row = page + 1 + i * stride;
        if ((cells[row + ROW_SEQUENCE] as number) <= flushed) continue;
        timesMs[taken] = cells[row + ROW_TIME] as number;
        for (let k = 0; k < wanted.length; k++) {
          (columns[k] as Float64Array)[taken] = cells[row + (wanted[k] as number)] as number;
        }
        taken++;
      }
      page = cells[page] as number;
    }
    if (taken === rows) return { timesMs, columns };
    return { timesMs: timesMs.slice(0, taken), columns: columns.map((one) => one.slice(0, taken)) };
  }

  /** undefined: the header is inconsistent. */
  #layoutOf(
    header: Float64Array,
    look: Look,
    known: HeadLayout | undefined,
  ): HeadLayout | undefined {
    const columns = (header.length - HEADER_CELLS) / 2;
    const ids = header.subarray(HEADER_CELLS, HEADER_CELLS + columns);
    if (known !== undefined && isEqual(known.ids, ids)) return known;
    const key = ids.join();
    const found = this.#layouts.get(key);
    if (found !== undefined) return found;
    const cells = new Map<SeriesKey, number>();
    for (const [i, id] of ids.entries()) {
      const text = this.#head.text(id, header[HEADER_CELLS + columns + i] as number);
      if (text === undefined) return undefined;
      cells.set(text, ROW_CELLS + i);
    }
    // Checked before the layout is built and cached.
    if (!this.#head.isStill(look)) return undefined;
    const layout = { cells, ids: Float64Array.from(ids) };
    this.#layouts.set(key, layout);
    return layout;
  }
}

const NO_HEADER = new Float64Array(HEADER_CELLS);

function isEqual(a: Float64Array, b: Float64Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Texts by their number in the VM's rows; undefined if the data is inconsistent. */
export function textsOf(head: SharedHead, header: Float64Array): readonly string[] | undefined {
  const start = header[TEXT_TABLE] as number;
  const count = header[TEXT_COUNT] as number;
  const texts = [''];
  if (start < 0) return texts;
  const table = head.slice(start, 2 * count);
  if (table === undefined) return undefined;
  for (let i = 0; i < table.length; i += 2) {
    const text = head.text(table[i] as number, table[i + 1] as number);
    if (text === undefined) return undefined;
    texts.push(text);
  }
  return texts;
}
