/**
 * Single columns of the head, from any thread: the rows of a VM that are in no chunk yet, cut from
 * its pages between two looks at its sequence lock, without copying the other columns. The lock's
 * count tells whether anything has changed since, so that most reads need no more than that.
 */
import type { SeriesKey } from '../../../streams/samples/batch.ts';
import {
  COLUMNS,
  entryOf,
  FIRST_PAGE,
  FLUSHED_SEQUENCE,
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
  VM,
  VM_COUNT,
} from './memory.ts';
import { StringReader } from './shared-strings.ts';

/** Tries without a pause, then with one of a millisecond each: a write takes microseconds. */
const QUICK_TRIES = 100;
const SLOW_TRIES = 2000;

/** Cells of a row that are no series. */
export const HEAD_TIME = ROW_TIME;
export const HEAD_VCPUS = ROW_VCPUS;
export const HEAD_CODES = ROW_CODES;

/** Which series a VM's rows have, and in which cell of a row each is. */
export interface HeadLayout {
  readonly cells: ReadonlyMap<SeriesKey, number>;
  /** Numbers of the keys, in the order of their cells. */
  readonly ids: Float64Array;
}

/** A VM's rows that are in no chunk, as they were at one moment. */
export interface HeadCut {
  /** The lock's count then. */
  readonly version: number;
  readonly layout: HeadLayout;
  /** Unix ms, strictly increasing. */
  readonly timesMs: Float64Array;
  /** For each cell asked for, one value a row; NaN = not observed. */
  readonly columns: readonly Float64Array[];
}

export class HeadColumns {
  readonly #share: HeadShare;
  readonly #strings: StringReader;
  readonly #pause = new Int32Array(new SharedArrayBuffer(4));
  /** Layouts by the ids of their keys. */
  readonly #layouts = new Map<string, HeadLayout>();
  #directory: Int32Array;
  #cells: Float64Array;
  #known = 0;

  constructor(share: HeadShare) {
    this.#share = share;
    this.#strings = new StringReader(share.strings);
    this.#directory = new Int32Array(share.directory, 0, share.directory.byteLength / 4);
    this.#cells = cellsOf(share);
  }

  /** Tells each VM that was not told yet, with its place. */
  catchUp(onVm: (slot: number, project: string, vm: string) => void): void {
    const count = Atomics.load(this.#directory, VM_COUNT);
    if (count === this.#known) return;
    const memory = this.#share.directory;
    if (this.#directory.byteLength < memory.byteLength) {
      this.#directory = new Int32Array(memory, 0, memory.byteLength / 4);
    }
    for (; this.#known < count; this.#known++) {
      const entry = entryOf(this.#known);
      const project = this.textOf(this.#directory[entry + PROJECT] as number);
      onVm(this.#known, project, this.textOf(this.#directory[entry + VM] as number));
    }
  }

  /** Changes whenever the VM's rows do; odd while they are being changed. */
  version(slot: number): number {
    return Atomics.load(this.#directory, entryOf(slot) + LOCK);
  }

  /**
   * Cuts out columns. `wanted` names the cells of the row that are wanted, given the layout; it
   * may be asked again when the rows were changed meanwhile. `known`: a layout seen before of this
   * VM, which is looked at first.
   */
  cut(
    slot: number,
    known: HeadLayout | undefined,
    wanted: (layout: HeadLayout) => readonly number[],
  ): HeadCut {
    const entry = entryOf(slot);
    for (let tries = 0; tries < QUICK_TRIES + SLOW_TRIES; tries++) {
      if (tries >= QUICK_TRIES) Atomics.wait(this.#pause, 0, 0, 1);
      const lock = Atomics.load(this.#directory, entry + LOCK);
      if (lock % 2 !== 0) continue;
      const ids = this.#idsAt(entry);
      // Nothing read is believed before the lock was looked at again: names least of all.
      if (ids === undefined || !this.#isStill(entry, lock)) continue;
      const layout = this.#layoutOf(ids, known);
      const cut = this.#rowsAt(entry, wanted(layout));
      if (cut !== undefined && this.#isStill(entry, lock)) return { version: lock, layout, ...cut };
    }
    throw new Error('A VM of the head stayed locked for seconds: its writer has stopped midway');
  }

  /** The text of a number out of the head. */
  textOf(id: number): string {
    const text = this.#strings.text(id);
    if (text === undefined) throw new Error(`The head has no text ${id}`);
    return text;
  }

  /** A read-modify-write, so that no load before it can happen after it. */
  #isStill(entry: number, lock: number): boolean {
    return Atomics.or(this.#directory, entry + LOCK, 0) === lock;
  }

  #idsAt(entry: number): Float64Array | undefined {
    const header = this.#directory[entry + HEADER] as number;
    if (header < 0) return new Float64Array(0);
    const columns = this.#directory[entry + COLUMNS] as number;
    const end = header + HEADER_CELLS + columns;
    if (!(columns >= 0) || !this.#reaches(end)) return undefined;
    return this.#cells.slice(header + HEADER_CELLS, end);
  }

  /** The rows' times and wanted cells; undefined when what is found makes no sense. */
  #rowsAt(
    entry: number,
    wanted: readonly number[],
  ): { timesMs: Float64Array; columns: Float64Array[] } | undefined {
    const number = (offset: number) => this.#directory[entry + offset] as number;
    const header = number(HEADER);
    const [rows, stride, pageCells] = [number(ROWS), number(STRIDE), number(PAGE_CELLS)];
    const timesMs = new Float64Array(Math.max(0, rows));
    const columns = wanted.map(() => new Float64Array(timesMs.length));
    if (header < 0 || rows === 0) return { timesMs, columns };
    const perPage = Math.floor((pageCells - 1) / stride);
    if (!(perPage > 0) || !this.#reaches(header + HEADER_CELLS)) return undefined;
    const flushed = this.#cells[header + FLUSHED_SEQUENCE] as number;
    let taken = 0;
    let page = number(FIRST_PAGE);
    for (let first = 0; first < rows; first += perPage) {
      const count = Math.min(perPage, rows - first);
      if (!Number.isInteger(page) || page < 0 || !this.#reaches(page + 1 + count * stride)) {
        return undefined;
      }
      const cells = this.#cells;
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

  #reaches(end: number): boolean {
    if (end > this.#cells.length) this.#cells = cellsOf(this.#share);
    return end <= this.#cells.length;
  }

  #layoutOf(ids: Float64Array, known: HeadLayout | undefined): HeadLayout {
    if (known !== undefined && isEqual(known.ids, ids)) return known;
    const key = ids.join();
    let layout = this.#layouts.get(key);
    if (layout === undefined) {
      const cells = new Map<SeriesKey, number>();
      for (const [i, id] of ids.entries()) cells.set(this.textOf(id), ROW_CELLS + i);
      layout = { cells, ids: Float64Array.from(ids) };
      this.#layouts.set(key, layout);
    }
    return layout;
  }
}

function isEqual(a: Float64Array, b: Float64Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function cellsOf(share: HeadShare): Float64Array {
  return new Float64Array(share.cells, 0, Math.floor(share.cells.byteLength / 8));
}
