/**
 * One VM's rows in the head's memory: sorted by time, in a list of pages, with the texts that they
 * refer to. Only the writing thread uses it. Every change is made between `beginWrite` and
 * `endWrite` of the VM's sequence lock: the counter is odd during a change, so that a reader
 * notices and retries.
 */
import type { Layout } from '../../../../streams/telemetry/samples/batch.ts';
import {
  COLUMNS,
  entryOf,
  FIRST_PAGE,
  FLUSHED_SEQUENCE,
  HEADER,
  HEADER_CELLS,
  type HeadAccount,
  type HeadMemory,
  type HeadText,
  LAST_SEQUENCE,
  LOCK,
  PAGE_CELLS,
  ROW_CELLS,
  ROW_CODES,
  ROW_SEQUENCE,
  ROW_TIME,
  ROWS,
  STRIDE,
  unpackCodes,
} from './memory.ts';
import {
  ColumnSet,
  compareRow,
  fillRow,
  type NewRow,
  type SlabRow,
  SlabTexts,
  writeRow,
} from './slab-rows.ts';

/**
 * Cells of a page: about 30 rows of a dozen values; wider rows use pages of two, four, … times the
 * size.
 */
const PAGE_CELLS_MIN = 512;
const PAGE_ROWS_MIN = 4;
/** Number of newest rows kept after they were flushed: `latest` and rates need more than one. */
const ROWS_KEPT = 4;
const EMPTY = new ColumnSet();
/** Number of texts below which unused ones are not searched for. */
const TEXTS_USUAL = 2;

/** `added`: a new row. `filled`: an existing row of that time got missing values. */
export type SlabOutcome = 'added' | 'filled' | 'duplicate' | 'conflict';

/** The rows of one VM in the head. It allocates pages as rows arrive. */
export class Slab {
  readonly slot: number;
  readonly #memory: HeadMemory;
  readonly #account: HeadAccount;
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
  /** Series keys of the columns, held. */
  #keys: readonly HeadText[] = [];
  readonly #texts: SlabTexts;
  readonly #changes = { write: this.#writeTexts.bind(this), used: this.#usedTexts.bind(this) };
  // Boot of the newest row, and nearly always of the next one.
  #boot = { text: '', number: 0 };
  #stateReason = { text: '', number: 0 };

  constructor(
    memory: HeadMemory,
    { slot, account }: { readonly slot: number; readonly account: HeadAccount },
    flushedSequence: number,
  ) {
    this.slot = slot;
    this.#memory = memory;
    this.#account = account;
    this.#texts = new SlabTexts(memory, account);
    this.#entry = entryOf(slot);
    this.#flushedSequence = flushedSequence;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Number of columns: series of the VM's rows here, and of earlier ones until `clear`. */
  get series(): number {
    return this.#set.keys.length;
  }

  /** Rows up to this sequence of the log are in chunks. */
  get flushedSequence(): number {
    return this.#flushedSequence;
  }

  /** Time of the newest row, Unix ms; undefined without rows. */
  get newestMs(): number | undefined {
    return this.#rows === 0 ? undefined : this.#timeAt(this.#rows - 1);
  }

  /** Columns of the layout's series; missing ones are created. Throws `HeadFull`. */
  #columnsOf(layout: Layout): Uint32Array {
    const known = this.#set.mapping(layout);
    // A row may have a state and no value: even then the VM needs its header and pages.
    if (known !== undefined && this.#header >= 0) return known;
    this.#rebuild(layout);
    return this.#set.mapping(layout) as Uint32Array;
  }

  /** Inserts the row by its time, or merges it into the row of the same time. Throws `HeadFull`. */
  put(given: NewRow): SlabOutcome {
    const columns = this.#columnsOf(given.layout);
    if (given.boot !== this.#boot.text) {
      this.#boot = { text: given.boot, number: this.#texts.numberOf(given.boot, this.#changes) };
    }
    if (given.stateReason !== this.#stateReason.text) {
      const number = this.#texts.numberOf(given.stateReason, this.#changes);
      this.#stateReason = { text: given.stateReason, number };
    }
    const [boot, stateReason] = [this.#boot.number, this.#stateReason.number];
    const { timeMs, sequence, vcpus, state, values, from } = given;
    const row = {
      timeMs,
      sequence,
      vcpus,
      state,
      boot,
      stateReason,
      conflicted: false,
      columns,
      values,
      from,
    };
    const slot = this.#slotOf(row.timeMs);
    if (slot < this.#rows && this.#timeAt(slot) === row.timeMs) return this.#fill(slot, row);
    const lastPage = this.#makeRoom();
    this.#beginWrite();
    if (lastPage >= 0) this.#appendPage(lastPage);
    // Rows may have been dropped, so the position is determined again.
    const at = this.#slotOf(row.timeMs);
    this.#openSlot(at);
    this.#rows++;
    writeRow(this.#memory.cells, this.#cellOf(at), this.#stride, row);
    this.#memory.directory[this.#entry + ROWS] = this.#rows;
    this.#endWrite();
    return 'added';
  }

  /** Records that all rows up to this sequence of the log have been added. */
  finish(sequence: number): void {
    const cells = this.#memory.cells;
    if (this.#header < 0 || (cells[this.#header + LAST_SEQUENCE] as number) >= sequence) return;
    this.#beginWrite();
    cells[this.#header + LAST_SEQUENCE] = sequence;
    this.#endWrite();
  }

  /**
   * Records that all rows up to this sequence are in chunks on disk: they may be dropped if memory
   * is short.
   */
  flushed(sequence: number): void {
    if (sequence <= this.#flushedSequence) return;
    this.#flushedSequence = sequence;
    if (this.#header < 0) return;
    this.#beginWrite();
    this.#memory.cells[this.#header + FLUSHED_SEQUENCE] = sequence;
    this.#endWrite();
  }

  /** Called when earlier rows are read again with the entry `sequence`: they are in no chunk. */
  reopen(sequence: number): void {
    if (sequence > this.#flushedSequence) return;
    this.#flushedSequence = sequence - 1;
    if (this.#header < 0) return;
    this.#beginWrite();
    this.#memory.cells[this.#header + FLUSHED_SEQUENCE] = this.#flushedSequence;
    this.#endWrite();
  }

  /**
   * Releases the pages of flushed rows, except the newest few, and the texts that no row uses any
   * longer.
   */
  dropFlushed(): void {
    const pages: number[] = [];
    while (this.#pages.length > 1 && this.#rows - this.#rowsPerPage >= ROWS_KEPT) {
      if (!this.#isFirstPageFlushed()) break;
      this.#beginWrite();
      pages.push(this.#pages.shift() as number);
      this.#rows -= this.#rowsPerPage;
      this.#publish();
      this.#endWrite();
    }
    for (const page of pages) this.#memory.free(page, this.#pageCells, this.#account);
    if (pages.length > 0 && this.#texts.count > TEXTS_USUAL) this.#texts.keepOnly(this.#changes);
  }

  #isFirstPageFlushed(): boolean {
    for (let i = 0; i < this.#rowsPerPage; i++) {
      const sequence = this.#memory.cells[this.#cellOf(i) + ROW_SEQUENCE] as number;
      if (sequence > this.#flushedSequence) return false;
    }
    return true;
  }

  /** Releases everything, as if the VM never had a row. All rows must be flushed. */
  clear(): void {
    if (this.#header < 0) return;
    const [header, pages, keys] = [this.#header, this.#pages, this.#keys];
    const cells = { header: this.#headerCells, page: this.#pageCells };
    this.#beginWrite();
    this.#pages = [];
    this.#header = -1;
    this.#headerCells = 0;
    this.#set = EMPTY;
    this.#rows = 0;
    this.#publish();
    this.#endWrite();
    this.#keys = [];
    this.#boot = { text: '', number: 0 };
    this.#stateReason = { text: '', number: 0 };
    this.#texts.clear();
    for (const page of pages) this.#memory.free(page, cells.page, this.#account);
    this.#memory.free(header, cells.header, this.#account);
    for (const key of keys) this.#memory.release(key, this.#account);
  }

  #usedTexts(): ReadonlySet<number> {
    const used = new Set([this.#boot.number, this.#stateReason.number]);
    for (let row = 0; row < this.#rows; row++) {
      const codes = unpackCodes(this.#memory.cells[this.#cellOf(row) + ROW_CODES] as number);
      used.add(codes.boot).add(codes.stateReason);
    }
    return used;
  }

  #writeTexts(change: () => void): void {
    this.#beginWrite();
    change();
    this.#texts.publish(this.#header);
    this.#endWrite();
  }

  /** A page for one more row, allocated before the lock is taken; -1 = no page is needed. */
  #makeRoom(): number {
    const isFull = () => this.#rows >= this.#pages.length * this.#rowsPerPage;
    if (isFull()) this.dropFlushed();
    if (!isFull()) return -1;
    return this.#memory.allocate(this.#pageCells, this.#account);
  }

  #appendPage(page: number): void {
    const cells = this.#memory.cells;
    cells[page] = -1;
    const last = this.#pages.at(-1);
    if (last !== undefined) cells[last] = page;
    this.#pages.push(page);
    if (last === undefined) this.#publish();
  }

  /**
   * Merges a row into an existing one of its time: missing values are filled in; contradicting ones
   * are rejected, and the row is marked.
   */
  #fill(slot: number, row: SlabRow): SlabOutcome {
    const { cells } = this.#memory;
    const cell = this.#cellOf(slot);
    const { fills, contradicts, marked } = compareRow(cells, cell, row);
    if (!fills && (marked || !contradicts)) return contradicts ? 'conflict' : 'duplicate';
    this.#beginWrite();
    fillRow(cells, cell, row, contradicts);
    this.#endWrite();
    return contradicts ? 'conflict' : 'filled';
  }

  /**
   * Moves the rows to pages with a column for every series of the layout; columns without values
   * are dropped.
   */
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
    const headerCells = HEADER_CELLS + 2 * set.keys.length;
    // Allocates names and cells first: if either is exhausted, the VM must stay unchanged.
    const held = this.#memory.holdAll(set.keys, this.#account);
    const pageCount = Math.ceil(this.#rows / rowsPerPage);
    const sizes = [headerCells, ...new Array<number>(pageCount).fill(pageCells)];
    const [header = -1, ...pages] = this.#allocateOrRelease(sizes, held);
    const before = { header: this.#header, cells: this.#headerCells, keys: this.#keys };
    const [pagesBefore, pageCellsBefore] = [this.#pages, this.#pageCells];
    this.#beginWrite();
    this.#copyRows(pages, rowsPerPage, stride, kept);
    this.#writeHeader(header, held);
    this.#pages = pages;
    this.#keys = held;
    this.#header = header;
    this.#headerCells = headerCells;
    this.#set = set;
    this.#stride = stride;
    this.#pageCells = pageCells;
    this.#rowsPerPage = rowsPerPage;
    this.#publish();
    this.#endWrite();
    for (const page of pagesBefore) this.#memory.free(page, pageCellsBefore, this.#account);
    if (before.header >= 0) this.#memory.free(before.header, before.cells, this.#account);
    for (const key of before.keys) this.#memory.release(key, this.#account);
  }

  #allocateOrRelease(sizes: readonly number[], held: readonly HeadText[]): number[] {
    try {
      return this.#memory.allocateAll(sizes, this.#account);
    } catch (error) {
      for (const key of held) this.#memory.release(key, this.#account);
      throw error;
    }
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

  #writeHeader(header: number, keys: readonly HeadText[]): void {
    const cells = this.#memory.cells;
    cells[header + LAST_SEQUENCE] =
      this.#header < 0 ? 0 : (cells[this.#header + LAST_SEQUENCE] as number);
    cells[header + FLUSHED_SEQUENCE] = this.#flushedSequence;
    this.#texts.publish(header);
    for (const [i, { id, start }] of keys.entries()) {
      cells[header + HEADER_CELLS + i] = id;
      cells[header + HEADER_CELLS + keys.length + i] = start;
    }
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
  #slotOf(timeMs: number): number {
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

  /**
   * Moves the rows from `at` by one position, page by page: a sender may send a week newest first.
   */
  #openSlot(at: number): void {
    const perPage = this.#rowsPerPage;
    const firstPage = Math.floor(at / perPage);
    for (let page = Math.floor(this.#rows / perPage); page >= firstPage; page--) {
      const start = page * perPage;
      const from = Math.max(at, start);
      this.#moveRows(from, Math.min(this.#rows, start + perPage - 1) - from, from + 1);
      if (page > firstPage) this.#moveRows(start - 1, 1, start);
    }
  }

  /** Moves rows within one page. */
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
