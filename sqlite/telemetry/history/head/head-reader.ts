/**
 * Reads the head from any thread without stopping its writer. Rows are copied between two reads of
 * the VM's sequence lock, and copied again if it has moved, so no reader sees half a row or half a
 * change. Before the second read, no value is trusted or followed out of bounds.
 */

import { type SeriesKey, splitSeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { conflictsOf, cutRows, type VmRows } from '../rows.ts';
import {
  COLUMNS,
  FIRST_PAGE,
  FLUSHED_SEQUENCE,
  GENERATION,
  HEADER,
  HEADER_CELLS,
  type HeadShare,
  LAST_SEQUENCE,
  PAGE_CELLS,
  ROW_CELLS,
  ROW_CODES,
  ROW_SEQUENCE,
  ROW_TIME,
  ROW_VCPUS,
  ROWS,
  STRIDE,
  unpackCodes,
} from './memory.ts';
import { type HeadPlace, type Look, SharedHead, textsOf } from './shared-head.ts';

/** Rows and series of a VM to copy; an absent field means all. */
export interface HeadSelection {
  /** Both inclusive, Unix ms; absent = all. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Requested series names; absent = all. */
  readonly names?: ReadonlySet<string>;
  /** Only rows that are not in chunks yet. */
  readonly unflushed?: boolean;
  /** Maximum number of newest rows. */
  readonly newest?: number;
}

/** Copied rows of one VM as of one moment. */
export interface HeadSnapshot {
  readonly rows: VmRows;
  /** All rows of the log up to this sequence are in the snapshot or already flushed. */
  readonly lastSequence: number;
}

/** A VM's part of the memory, copied completely. */
interface Copy {
  readonly header: Float64Array;
  /** Row after row, `stride` cells each. */
  readonly rows: Float64Array;
  readonly stride: number;
  /** Series of the columns. */
  readonly keys: readonly SeriesKey[];
  /** Texts by their number in a row's codes. */
  readonly texts: readonly string[];
}

const NO_ROWS = new Float64Array(0);

/** Copies rows out of the head. One per thread. */
export class HeadReader {
  readonly #head: SharedHead;
  readonly #places = new Map<string, HeadPlace>();

  constructor(share: HeadShare) {
    this.#head = new SharedHead(share);
  }

  /** Entry of a VM in the head; undefined if it has none. */
  find(project: string, vm: string): HeadPlace | undefined {
    this.#head.catchUp({
      onVm: (ofProject, id, place) => this.#places.set(`${ofProject}\n${id}`, place),
      onGone: (ofProject, id) => this.#places.delete(`${ofProject}\n${id}`),
    });
    return this.#places.get(`${project}\n${vm}`);
  }

  /** A VM's rows as of one moment, sorted by time; empty for a VM that has left the head. */
  read(place: HeadPlace, selection: HeadSelection = {}): HeadSnapshot {
    const copy = this.#copy(place, selection.newest);
    const { header, rows, stride } = copy;
    const flushed = header[FLUSHED_SEQUENCE] as number;
    const taken: number[] = [];
    for (let at = 0; at < rows.length; at += stride) {
      if (selection.unflushed && (rows[at + ROW_SEQUENCE] as number) <= flushed) continue;
      taken.push(at);
    }
    const all = this.#decode(copy, taken, selection.names);
    const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = selection;
    return { rows: cutRows(all, fromMs, toMs), lastSequence: header[LAST_SEQUENCE] as number };
  }

  #decode(
    { rows: cells, keys, texts }: Copy,
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
    for (const [i, key] of keys.entries()) {
      if (names && !names.has(splitSeriesKey(key).name)) continue;
      const values = column(ROW_CELLS + i);
      if (!values.every(Number.isNaN)) series.set(key, values);
    }
    const codes = taken.map((at) => unpackCodes(cells[at + ROW_CODES] as number));
    const strings = [''];
    const numbers = new Map([[0, 0]]);
    const local = (number: number): number => {
      const known = numbers.get(number);
      if (known !== undefined) return known;
      const text = texts[number];
      if (text === undefined)
        throw new Error(`A row of the head refers to text ${number}, which does not exist`);
      numbers.set(number, strings.length);
      return strings.push(text) - 1;
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

  #copy({ slot, generation }: HeadPlace, newest = Number.POSITIVE_INFINITY): Copy {
    return this.#head.look(slot, (look) => this.#tryCopy(look, generation, newest)).value;
  }

  /** One attempt; undefined if the data is inconsistent, because it is being changed. */
  #tryCopy(look: Look, generation: number, newest: number): Copy | undefined {
    const head = this.#head;
    const number = (offset: number) => head.number(look, offset);
    const start = number(HEADER);
    if (start < 0 || number(GENERATION) !== generation) {
      const header = new Float64Array(HEADER_CELLS);
      return { header, rows: NO_ROWS, stride: 1, keys: [], texts: [''] };
    }
    const columns = number(COLUMNS);
    const header = head.slice(start, HEADER_CELLS + 2 * columns);
    const rows = number(ROWS);
    const stride = number(STRIDE);
    const perPage = Math.floor((number(PAGE_CELLS) - 1) / stride);
    if (header === undefined || !(perPage > 0) || !(rows >= 0)) return undefined;
    const keys = this.#keysIn(header, columns);
    const texts = textsOf(head, header);
    if (keys === undefined || texts === undefined) return undefined;
    const skipped = Math.max(0, rows - newest);
    const copy = new Float64Array((rows - skipped) * stride);
    let page = number(FIRST_PAGE);
    for (let row = 0; row < rows; row += perPage) {
      const from = Math.max(0, Math.min(perPage, skipped - row));
      const to = Math.min(perPage, rows - row);
      const part = head.slice(page, to > from ? 1 + to * stride : 1);
      if (part === undefined) return undefined;
      if (to > from) {
        copy.set(part.subarray(1 + from * stride), Math.max(0, row - skipped) * stride);
      }
      page = part[0] as number;
    }
    return { header, rows: copy, stride, keys, texts };
  }

  #keysIn(header: Float64Array, columns: number): readonly SeriesKey[] | undefined {
    const keys: SeriesKey[] = [];
    for (let i = HEADER_CELLS; i < HEADER_CELLS + columns; i++) {
      const key = this.#head.text(header[i] as number, header[i + columns] as number);
      if (key === undefined) return undefined;
      keys.push(key);
    }
    return keys;
  }
}
