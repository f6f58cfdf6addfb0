/**
 * One VM's rows in the head's memory, sorted by time, over a list of pages. Only the writing thread
 * touches it; every change is made between `beginWrite` and `endWrite` of the VM's sequence lock
 * (a counter that is odd meanwhile), so that a reader notices and tries again.
 */
import type { Layout } from '../../../streams/samples/batch.ts';
import { ColumnSet } from './column-set.ts';
import {
  COLUMNS,
  entryOf,
  FIRST_PAGE,
  FLUSHED_SEQUENCE,
  HEADER,
  HEADER_CELLS,
  type HeadMemory,
  LAST_SEQUENCE,
  LOCK,
  PAGE_CELLS,
  packCodes,
  ROW_CELLS,
  ROW_CODES,
  ROW_SEQUENCE,
  ROW_TIME,
  ROW_VCPUS,
  ROWS,
  type RowCodes,
  STRIDE,
  unpackCodes,
} from './memory.ts';

/** A page holds about 30 rows of a dozen values; wider rows take pages of twice, four times … */
const PAGE_CELLS_MIN = 512;
const PAGE_ROWS_MIN = 4;
/** Newest rows that stay although flushed: `latest` and rates need more than one. */
const ROWS_KEPT = 4;
const EMPTY = new ColumnSet();

/** A row on its way in. `columns[i]` is where `values[from + i]` goes. */
export interface SlabRow extends RowCodes {
  readonly timeMs: number;
  readonly sequence: number;
  readonly vcpus: number;
  readonly columns: Uint32Array;
  readonly values: Float64Array;
  readonly from: number;
}

/** `added`: a new row. `filled`: a row of that time got values it lacked. */
export type SlabOutcome = 'added' | 'filled' | 'duplicate' | 'conflict';

export class Slab {
  readonly slot: number;
  readonly #memory: HeadMemory;
  readonly #entry: number;
  #set = EMPTY;
  #header = -1;
  #headerCells = 0;
  #pages: number[] = [];
  #pageCells = 0;
  #stride = 0;
  #rowsPerPage = 1;
  #rows = 0;
  #flushedSequence: number;

  constructor(memory: HeadMemory, slot: number, flushedSequence: number) {
    this.slot = slot;
    this.#memory = memory;
    this.#entry = entryOf(slot);
    this.#flushedSequence = flushedSequence;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Rows up to this sequence of the log are in chunks. */
  get flushedSequence(): number {
    return this.#flushedSequence;
  }

  /** Unix ms of the newest row; undefined without rows. */
  get newestMs(): number | undefined {
    return this.#rows === 0 ? undefined : this.#timeAt(this.#rows - 1);
  }

  /** Columns of the layout's series, made where they are missing. Throws `HeadFull`. */
  columnsOf(layout: Layout): Uint32Array {
    const known = this.#set.mapping(layout);
    // A row may carry a state and no value: even then the VM needs its header and pages.
    if (known !== undefined && this.#header >= 0) return known;
    this.#rebuild(layout);
    return this.#set.mapping(layout) as Uint32Array;
  }

  /** Puts the row in its place by time, or into the row of the same time. Throws `HeadFull`. */
  put(row: SlabRow): SlabOutcome {
    const place = this.#placeOf(row.timeMs);
    if (place < this.#rows && this.#timeAt(place) === row.timeMs) return this.#fill(place, row);
    const lastPage = this.#makeRoom();
    this.#beginWrite();
    if (lastPage >= 0) this.#appendPage(lastPage);
    // Rows were perhaps dropped, so the place is looked up again.
    const at = this.#placeOf(row.timeMs);
    this.#openPlace(at);
    this.#rows++;
    this.#writeRow(this.#cellOf(at), row);
    this.#memory.directory[this.#entry + ROWS] = this.#rows;
    this.#endWrite();
    return 'added';
  }

  /** Says that all rows up to this sequence of the log are in. */
  finish(sequence: number): void {
    const cells = this.#memory.cells;
    if (this.#header < 0 || (cells[this.#header + LAST_SEQUENCE] as number) >= sequence) return;
    this.#beginWrite();
    cells[this.#header + LAST_SEQUENCE] = sequence;
    this.#endWrite();
  }

  /** Says that all rows up to this sequence are in chunks on disk: they may go when room is short. */
  flushed(sequence: number): void {
    if (sequence <= this.#flushedSequence) return;
    this.#flushedSequence = sequence;
    if (this.#header < 0) return;
    this.#beginWrite();
    this.#memory.cells[this.#header + FLUSHED_SEQUENCE] = sequence;
    this.#endWrite();
  }

  /** Gives back the pages of flushed rows, the newest few excepted. */
  dropFlushed(): void {
    while (this.#pages.length > 1 && this.#rows - this.#rowsPerPage >= ROWS_KEPT) {
      for (let i = 0; i < this.#rowsPerPage; i++) {
        const sequence = this.#memory.cells[this.#cellOf(i) + ROW_SEQUENCE] as number;
        if (sequence > this.#flushedSequence) return;
      }
      this.#beginWrite();
      this.#memory.free(this.#pages.shift() as number, this.#pageCells);
      this.#rows -= this.#rowsPerPage;
      this.#publish();
      this.#endWrite();
    }
  }

  /** Gives back everything, as of a VM that has never had a row. All rows must be flushed. */
  clear(): void {
    if (this.#header < 0) return;
    this.#beginWrite();
    for (const page of this.#pages) this.#memory.free(page, this.#pageCells);
    this.#memory.free(this.#header, this.#headerCells);
    this.#pages = [];
    this.#header = -1;
    this.#headerCells = 0;
    this.#set = EMPTY;
    this.#rows = 0;
    this.#publish();
    this.#endWrite();
  }

  /** A page for one more row, allocated before the lock is taken; -1 = there is room already. */
  #makeRoom(): number {
    const isFull = () => this.#rows >= this.#pages.length * this.#rowsPerPage;
    if (isFull()) this.dropFlushed();
    if (!isFull()) return -1;
    return this.#memory.allocate(this.#pageCells);
  }

  #appendPage(page: number): void {
    const cells = this.#memory.cells;
    cells[page] = -1;
    const last = this.#pages.at(-1);
    if (last !== undefined) cells[last] = page;
    this.#pages.push(page);
    if (last === undefined) this.#publish();
  }

  /** Same time again: what the row lacks is filled, what contradicts it is refused and marked. */
  #fill(place: number, row: SlabRow): SlabOutcome {
    const cells = this.#memory.cells;
    const cell = this.#cellOf(place);
    const codes = unpackCodes(cells[cell + ROW_CODES] as number);
    let [fills, contradicts] = [false, false];
    const compare = (kept: number, given: number, none: number) => {
      if (Object.is(given, none) || Object.is(kept, given)) return;
      if (Object.is(kept, none)) fills = true;
      else contradicts = true;
    };
    for (const [i, column] of row.columns.entries()) {
      const kept = cells[cell + ROW_CELLS + column] as number;
      compare(kept, row.values[row.from + i] as number, Number.NaN);
    }
    compare(cells[cell + ROW_VCPUS] as number, row.vcpus, Number.NaN);
    for (const name of ['state', 'boot', 'stateReason'] as const)
      compare(codes[name], row[name], 0);
    const marks = contradicts && !codes.conflicted;
    if (!fills && !marks) return contradicts ? 'conflict' : 'duplicate';
    this.#beginWrite();
    this.#fillRow(cell, row, codes, contradicts || codes.conflicted);
    this.#endWrite();
    return contradicts ? 'conflict' : 'filled';
  }

  #fillRow(cell: number, row: SlabRow, codes: RowCodes, conflicted: boolean): void {
    const cells = this.#memory.cells;
    for (const [i, column] of row.columns.entries()) {
      const at = cell + ROW_CELLS + column;
      if (Number.isNaN(cells[at])) cells[at] = row.values[row.from + i] as number;
    }
    if (Number.isNaN(cells[cell + ROW_VCPUS])) cells[cell + ROW_VCPUS] = row.vcpus;
    cells[cell + ROW_CODES] = packCodes({
      state: codes.state || row.state,
      boot: codes.boot || row.boot,
      stateReason: codes.stateReason || row.stateReason,
      conflicted,
    });
    // As new as its newest part, so that a flush takes it (again).
    const sequence = cells[cell + ROW_SEQUENCE] as number;
    cells[cell + ROW_SEQUENCE] = Math.max(sequence, row.sequence);
  }

  #writeRow(cell: number, row: SlabRow): void {
    const cells = this.#memory.cells;
    cells.fill(Number.NaN, cell + ROW_CELLS, cell + this.#stride);
    cells[cell + ROW_TIME] = row.timeMs;
    cells[cell + ROW_SEQUENCE] = row.sequence;
    cells[cell + ROW_VCPUS] = row.vcpus;
    cells[cell + ROW_CODES] = packCodes(row);
    const { columns, values, from } = row;
    for (let i = 0; i < columns.length; i++) {
      cells[cell + ROW_CELLS + (columns[i] as number)] = values[from + i] as number;
    }
  }

  /** Moves to pages with a column for every series of the layout; columns without values go. */
  #rebuild(layout: Layout): void {
    this.dropFlushed();
    const kept = this.#set.keys.flatMap((_, column) => (this.#isUsed(column) ? [column] : []));
    const keys = kept.map((column) => this.#set.keys[column] as string);
    const base = kept.length === this.#set.keys.length ? this.#set : new ColumnSet(keys);
    const set = base.with(layout);
    const stride = ROW_CELLS + set.keys.length;
    let pageCells = PAGE_CELLS_MIN;
    while ((pageCells - 1) / stride < PAGE_ROWS_MIN) pageCells *= 2;
    const rowsPerPage = Math.floor((pageCells - 1) / stride);
    const headerCells = HEADER_CELLS + set.keys.length;
    // Names and room first: when either runs out, the VM must be as it was.
    const ids = set.keys.map((key) => this.#memory.strings.idOf(key));
    const pageCount = Math.ceil(this.#rows / rowsPerPage);
    const sizes = [headerCells, ...new Array<number>(pageCount).fill(pageCells)];
    const [header = -1, ...pages] = this.#memory.allocateAll(sizes);
    this.#beginWrite();
    this.#copyRows(pages, rowsPerPage, stride, kept);
    this.#writeHeader(header, ids);
    for (const page of this.#pages) this.#memory.free(page, this.#pageCells);
    if (this.#header >= 0) this.#memory.free(this.#header, this.#headerCells);
    this.#pages = pages;
    this.#header = header;
    this.#headerCells = headerCells;
    this.#set = set;
    this.#stride = stride;
    this.#pageCells = pageCells;
    this.#rowsPerPage = rowsPerPage;
    this.#publish();
    this.#endWrite();
  }

  #copyRows(pages: number[], rowsPerPage: number, stride: number, kept: number[]): void {
    const cells = this.#memory.cells;
    for (const [i, page] of pages.entries()) cells[page] = pages[i + 1] ?? -1;
    for (let row = 0; row < this.#rows; row++) {
      const page = pages[Math.floor(row / rowsPerPage)] as number;
      const to = page + 1 + (row % rowsPerPage) * stride;
      const from = this.#cellOf(row);
      cells.copyWithin(to, from, from + ROW_CELLS);
      cells.fill(Number.NaN, to + ROW_CELLS, to + stride);
      for (const [column, before] of kept.entries()) {
        cells[to + ROW_CELLS + column] = cells[from + ROW_CELLS + before] as number;
      }
    }
  }

  #writeHeader(header: number, ids: number[]): void {
    const cells = this.#memory.cells;
    cells[header + LAST_SEQUENCE] =
      this.#header < 0 ? 0 : (cells[this.#header + LAST_SEQUENCE] as number);
    cells[header + FLUSHED_SEQUENCE] = this.#flushedSequence;
    cells.set(ids, header + HEADER_CELLS);
  }

  #publish(): void {
    const directory = this.#memory.directory;
    directory[this.#entry + HEADER] = this.#header;
    directory[this.#entry + COLUMNS] = this.#set.keys.length;
    directory[this.#entry + FIRST_PAGE] = this.#pages[0] ?? -1;
    directory[this.#entry + PAGE_CELLS] = this.#pageCells;
    directory[this.#entry + STRIDE] = this.#stride;
    directory[this.#entry + ROWS] = this.#rows;
  }

  #isUsed(column: number): boolean {
    for (let row = 0; row < this.#rows; row++) {
      if (!Number.isNaN(this.#memory.cells[this.#cellOf(row) + ROW_CELLS + column])) return true;
    }
    return false;
  }

  #cellOf(row: number): number {
    const page = this.#pages[Math.floor(row / this.#rowsPerPage)] as number;
    return page + 1 + (row % this.#rowsPerPage) * this.#stride;
  }

  #timeAt(row: number): number {
    return this.#memory.cells[this.#cellOf(row) + ROW_TIME] as number;
  }

  /** Index of the first row at or after the time; nearly always one past the last. */
  #placeOf(timeMs: number): number {
    if (this.#rows === 0 || this.#timeAt(this.#rows - 1) < timeMs) return this.#rows;
    let low = 0;
    let high = this.#rows - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#timeAt(middle) < timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Moves the rows from `at` on by one, page by page: a sender may bring a week newest first. */
  #openPlace(at: number): void {
    const perPage = this.#rowsPerPage;
    const firstPage = Math.floor(at / perPage);
    for (let page = Math.floor(this.#rows / perPage); page >= firstPage; page--) {
      const start = page * perPage;
      const from = Math.max(at, start);
      this.#moveRows(from, Math.min(this.#rows, start + perPage - 1) - from, from + 1);
      if (page > firstPage) this.#moveRows(start - 1, 1, start);
    }
  }

  /** Moves rows that lie in one page. */
  #moveRows(from: number, count: number, to: number): void {
    if (count <= 0) return;
    const cell = this.#cellOf(from);
    this.#memory.cells.copyWithin(this.#cellOf(to), cell, cell + count * this.#stride);
  }

  #beginWrite(): void {
    // A read-modify-write, so that no store below can be seen before it.
    Atomics.add(this.#memory.directory, this.#entry + LOCK, 1);
  }

  #endWrite(): void {
    Atomics.add(this.#memory.directory, this.#entry + LOCK, 1);
  }
}
