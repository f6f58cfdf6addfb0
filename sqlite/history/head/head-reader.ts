/**
 * Reads the head from any thread without stopping its writer: rows are copied between two looks at
 * the VM's sequence lock and copied again when it moved, so that no reader ever sees half a row or
 * half a change. Nothing read before the second look is believed or followed out of bounds.
 */

import { splitSeriesKey } from '../../../streams/evaluation/entry.ts';
import type { SeriesKey } from '../../../streams/samples/batch.ts';
import { conflictsOf, cutRows, type VmRows } from '../rows.ts';
import {
  COLUMNS,
  entryOf,
  FIRST_PAGE,
  FLUSHED_SEQUENCE,
  HEADER,
  HEADER_CELLS,
  type HeadShare,
  LAST_SEQUENCE,
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
  unpackCodes,
  VM,
  VM_COUNT,
} from './memory.ts';
import { StringReader } from './shared-strings.ts';

/** Tries without a pause, then with one of a millisecond each: a write takes microseconds. */
const QUICK_TRIES = 100;
const SLOW_TRIES = 2000;

export interface HeadSelection {
  /** Both inclusive, Unix ms; absent = all. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Series names wanted; absent = all. */
  readonly names?: ReadonlySet<string>;
  /** Only rows that are not in chunks yet. */
  readonly unflushed?: boolean;
  /** Only so many newest rows. */
  readonly newest?: number;
}

export interface HeadSnapshot {
  readonly rows: VmRows;
  /** All rows of the log up to this sequence are in the snapshot or already flushed. */
  readonly lastSequence: number;
}

/** A VM's part of the memory, copied whole. */
interface Copy {
  readonly header: Float64Array;
  /** Row after row, `stride` cells each. */
  readonly rows: Float64Array;
  readonly stride: number;
}

export class HeadReader {
  readonly #share: HeadShare;
  readonly #strings: StringReader;
  readonly #slots = new Map<string, number>();
  readonly #pause = new Int32Array(new SharedArrayBuffer(4));
  #directory: Int32Array;
  #cells: Float64Array;
  #known = 0;

  constructor(share: HeadShare) {
    this.#share = share;
    this.#strings = new StringReader(share.strings);
    this.#directory = new Int32Array(share.directory, 0, share.directory.byteLength / 4);
    this.#cells = cellsOf(share);
  }

  /** Place of a VM in the head; undefined when it has none. */
  find(project: string, vm: string): number | undefined {
    const count = Atomics.load(this.#directory, VM_COUNT);
    if (count > this.#known) this.#catchUp(count);
    return this.#slots.get(`${project}\n${vm}`);
  }

  /** A VM's rows as they were at one moment, sorted by time. */
  read(slot: number, selection: HeadSelection = {}): HeadSnapshot {
    const { header, rows, stride } = this.#copy(slot, selection.newest);
    const flushed = header[FLUSHED_SEQUENCE] as number;
    const taken: number[] = [];
    for (let at = 0; at < rows.length; at += stride) {
      if (selection.unflushed && (rows[at + ROW_SEQUENCE] as number) <= flushed) continue;
      taken.push(at);
    }
    const all = this.#decode(header, rows, taken, selection.names);
    const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = selection;
    return { rows: cutRows(all, fromMs, toMs), lastSequence: header[LAST_SEQUENCE] as number };
  }

  #decode(
    header: Float64Array,
    cells: Float64Array,
    taken: number[],
    names: ReadonlySet<string> | undefined,
  ): VmRows {
    const column = (offset: number) => {
      const values = new Float64Array(taken.length);
      for (let i = 0; i < taken.length; i++) {
        values[i] = cells[(taken[i] as number) + offset] as number;
      }
      return values;
    };
    const series = new Map<SeriesKey, Float64Array>();
    for (let i = HEADER_CELLS; i < header.length; i++) {
      const key = this.#textOf(header[i] as number);
      if (names && !names.has(splitSeriesKey(key).name)) continue;
      const values = column(ROW_CELLS + i - HEADER_CELLS);
      if (!values.every(Number.isNaN)) series.set(key, values);
    }
    const codes = taken.map((at) => unpackCodes(cells[at + ROW_CODES] as number));
    const strings = [''];
    const numbers = new Map([[0, 0]]);
    const local = (id: number): number => {
      const known = numbers.get(id);
      if (known !== undefined) return known;
      numbers.set(id, strings.length);
      return strings.push(this.#textOf(id)) - 1;
    };
    return {
      timesMs: column(ROW_TIME),
      series,
      vcpus: column(ROW_VCPUS),
      state: Uint8Array.from(codes, (row) => row.state),
      boot: Uint32Array.from(codes, (row) => local(row.boot)),
      stateReason: Uint32Array.from(codes, (row) => local(row.stateReason)),
      strings,
      ...conflictsOf(Uint8Array.from(codes, (row) => (row.conflicted ? 1 : 0))),
    };
  }

  #copy(slot: number, newest = Number.POSITIVE_INFINITY): Copy {
    const entry = entryOf(slot);
    if (entry >= this.#directory.length) this.#catchUp(Atomics.load(this.#directory, VM_COUNT));
    for (let tries = 0; tries < QUICK_TRIES + SLOW_TRIES; tries++) {
      if (tries >= QUICK_TRIES) Atomics.wait(this.#pause, 0, 0, 1);
      const lock = Atomics.load(this.#directory, entry + LOCK);
      if (lock % 2 !== 0) continue;
      const copy = this.#tryCopy(entry, newest);
      // A read-modify-write, so that no load above can happen after it.
      if (Atomics.or(this.#directory, entry + LOCK, 0) === lock && copy !== undefined) return copy;
    }
    throw new Error('A VM of the head stayed locked for seconds: its writer has stopped midway');
  }

  /** One attempt; undefined when what it found makes no sense, because it is being changed. */
  #tryCopy(entry: number, newest: number): Copy | undefined {
    const number = (offset: number) => this.#directory[entry + offset] as number;
    const header = number(HEADER);
    if (header < 0) {
      return { header: new Float64Array(HEADER_CELLS), rows: new Float64Array(0), stride: 1 };
    }
    const headerCopy = this.#slice(header, HEADER_CELLS + number(COLUMNS));
    const rows = number(ROWS);
    const stride = number(STRIDE);
    const perPage = Math.floor((number(PAGE_CELLS) - 1) / stride);
    if (headerCopy === undefined || !(perPage > 0)) return undefined;
    const skipped = Math.max(0, rows - newest);
    const copy = new Float64Array((rows - skipped) * stride);
    let page = number(FIRST_PAGE);
    for (let row = 0; row < rows; row += perPage) {
      const from = Math.max(0, Math.min(perPage, skipped - row));
      const to = Math.min(perPage, rows - row);
      const part = this.#slice(page, to > from ? 1 + to * stride : 1);
      if (part === undefined) return undefined;
      if (to > from) {
        copy.set(part.subarray(1 + from * stride), Math.max(0, row - skipped) * stride);
      }
      page = part[0] as number;
    }
    return { header: headerCopy, rows: copy, stride };
  }

  #slice(start: number, length: number): Float64Array | undefined {
    if (start + length > this.#cells.length) this.#cells = cellsOf(this.#share);
    const inside = Number.isInteger(start) && start >= 0 && length >= 0;
    if (!inside || start + length > this.#cells.length) return undefined;
    return this.#cells.slice(start, start + length);
  }

  #catchUp(count: number): void {
    const memory = this.#share.directory;
    if (this.#directory.byteLength < memory.byteLength) {
      this.#directory = new Int32Array(memory, 0, memory.byteLength / 4);
    }
    for (; this.#known < count; this.#known++) {
      const entry = entryOf(this.#known);
      const project = this.#textOf(this.#directory[entry + PROJECT] as number);
      const vm = this.#textOf(this.#directory[entry + VM] as number);
      this.#slots.set(`${project}\n${vm}`, this.#known);
    }
  }

  #textOf(id: number): string {
    const text = this.#strings.text(id);
    if (text === undefined) throw new Error(`The head has no text ${id}`);
    return text;
  }
}

function cellsOf(share: HeadShare): Float64Array {
  return new Float64Array(share.cells, 0, Math.floor(share.cells.byteLength / 8));
}
