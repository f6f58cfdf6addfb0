/**
 * Reads single columns of the head from any thread: rows that are in no chunk yet, cut from a VM's
 * pages between two reads of its sequence lock, without copying the other columns. The lock's count
 * shows whether anything has changed since, so most reads need no more than that.
 */
import type { SeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { WeakValues } from '../weak-values.ts';
import {
  COLUMNS,
  FIRST_PAGE,
  FLUSHED_SEQUENCE,
  GENERATION,
  HEADER,
  HEADER_CELLS,
  type HeadShare,
  PAGE_CELLS,
  ROW_CELLS,
  ROW_CODES,
  ROW_SEQUENCE,
  ROW_TIME,
  ROW_VCPUS,
  ROWS,
  STRIDE,
  TEXT_COUNT,
  TEXT_TABLE,
} from './memory.ts';
import { type HeadPlace, type Look, type PlaceListener, SharedHead } from './shared-head.ts';

/** Cells of a row that are no series. */
export const HEAD_TIME = ROW_TIME;
export const HEAD_VCPUS = ROW_VCPUS;
export const HEAD_CODES = ROW_CODES;

/** Which series a VM's rows have, and in which cell of a row each is. */
export interface HeadLayout {
  readonly cells: ReadonlyMap<SeriesKey, number>;
  /** Ids of the keys, in the order of their cells. */
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
  /** Texts by the number that a row's codes have; only when the codes were asked for. */
  readonly texts: readonly string[];
}

export class HeadColumns {
  readonly #head: SharedHead;
  /** Layouts by the ids of their keys, each as long as a VM's reader has it. */
  readonly #layouts = new WeakValues<string, HeadLayout>();

  constructor(share: HeadShare) {
    this.#head = new SharedHead(share);
  }

  /** Reports which VMs have come and gone since the last call. */
  catchUp(listener: PlaceListener): void {
    this.#head.catchUp(listener);
  }

  /** Changes whenever the VM's rows do; odd while they are being changed. */
  version(place: HeadPlace): number {
    return this.#head.version(place);
  }

  /**
   * Cuts out columns. `wanted` names the cells of the row that are wanted, given the layout; it
   * may be asked again when the rows were changed meanwhile. `known`: a layout seen before of this
   * VM, which is looked at first. A VM that has left the head has no rows.
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

  /** Without rows and columns where the VM has none. */
  #headerAt(look: Look): Float64Array | undefined {
    const start = this.#head.number(look, HEADER);
    if (start < 0) return NO_HEADER;
    return this.#head.slice(start, HEADER_CELLS + 2 * this.#head.number(look, COLUMNS));
  }

  /** The rows' times and wanted cells; undefined when what is found makes no sense. */
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

  /** undefined: what the header says is not to be believed. */
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
    // Before anything is made of it, and remembered.
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

/** Texts by the number that the VM's rows have for them; undefined when it makes no sense. */
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
