/**
 * Contents of a slab's cells. Rows and texts: a row is written, compared with another of its time,
 * and filled from it; a VM's texts are held and released. Columns: the cell of each series in a
 * row.
 */
import type { Layout, SeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { WeakValues } from '../weak-values.ts';
import {
  type HeadAccount,
  type HeadMemory,
  type HeadText,
  packCodes,
  ROW_CELLS,
  ROW_CODES,
  ROW_SEQUENCE,
  ROW_TIME,
  ROW_VCPUS,
  type RowCodes,
  TEXT_COUNT,
  TEXT_TABLE,
  unpackCodes,
} from './memory.ts';

/** A row as in the log; its values are those of `layout`, from `values[from]` on. */
export interface NewRow {
  readonly timeMs: number;
  readonly sequence: number;
  readonly vcpus: number;
  readonly state: number;
  /** '' = not reported. */
  readonly boot: string;
  readonly stateReason: string;
  readonly layout: Layout;
  readonly values: Float64Array;
  readonly from: number;
}

/** A row to be written. `columns[i]` is the column of `values[from + i]`. */
export interface SlabRow extends RowCodes, Omit<NewRow, 'boot' | 'stateReason' | 'layout'> {
  readonly columns: Uint32Array;
}

/** Changes that a row of the same time would make to the one at `cell`. */
export function compareRow(
  cells: Float64Array,
  cell: number,
  row: SlabRow,
): { readonly fills: boolean; readonly contradicts: boolean; readonly marked: boolean } {
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
  for (const name of ['state', 'boot', 'stateReason'] as const) compare(codes[name], row[name], 0);
  return { fills, contradicts, marked: codes.conflicted };
}

/** Fills in values that the row at `cell` lacks. */
export function fillRow(
  cells: Float64Array,
  cell: number,
  row: SlabRow,
  contradicts: boolean,
): void {
  for (const [i, column] of row.columns.entries()) {
    const at = cell + ROW_CELLS + column;
    if (Number.isNaN(cells[at])) cells[at] = row.values[row.from + i] as number;
  }
  if (Number.isNaN(cells[cell + ROW_VCPUS])) cells[cell + ROW_VCPUS] = row.vcpus;
  const codes = unpackCodes(cells[cell + ROW_CODES] as number);
  cells[cell + ROW_CODES] = packCodes({
    state: codes.state || row.state,
    boot: codes.boot || row.boot,
    stateReason: codes.stateReason || row.stateReason,
    conflicted: contradicts || codes.conflicted,
  });
  // As new as its newest part, so that a flush stores it (again).
  const sequence = cells[cell + ROW_SEQUENCE] as number;
  cells[cell + ROW_SEQUENCE] = Math.max(sequence, row.sequence);
}

/** Writes a new row of `stride` cells; columns that it lacks are not observed. */
export function writeRow(cells: Float64Array, cell: number, stride: number, row: SlabRow): void {
  cells.fill(Number.NaN, cell + ROW_CELLS, cell + stride);
  cells[cell + ROW_TIME] = row.timeMs;
  cells[cell + ROW_SEQUENCE] = row.sequence;
  cells[cell + ROW_VCPUS] = row.vcpus;
  cells[cell + ROW_CODES] = packCodes(row);
  const { columns, values, from } = row;
  for (let i = 0; i < columns.length; i++) {
    cells[cell + ROW_CELLS + (columns[i] as number)] = values[from + i] as number;
  }
}

/** A boot id and a state reason, and their predecessors. */
const TEXTS_MIN = 4;
/** Cells of an entry: the text's id, 0 = none, and its cell. */
const ENTRY_CELLS = 2;

/** Functions of the slab that the table uses. */
export interface TextChanges {
  /** Makes a change that readers see atomically. */
  readonly write: (change: () => void) => void;
  /** Numbers used by rows, now or in a moment. */
  readonly used: () => ReadonlySet<number>;
}

/**
 * Texts of one VM's rows (state reasons, boot ids) by the small numbers that rows hold. They are
 * held and released with the rows.
 */
export class SlabTexts {
  readonly #memory: HeadMemory;
  readonly #account: HeadAccount;
  /** Index = number - 1. */
  readonly #texts: (HeadText | undefined)[] = [];
  readonly #numbers = new Map<string, number>();
  #table = -1;

  constructor(memory: HeadMemory, account: HeadAccount) {
    this.#memory = memory;
    this.#account = account;
  }

  /** Number of texts with a number. */
  get count(): number {
    return this.#numbers.size;
  }

  /** Number of the text, assigned if it has none; 0 = ''. Throws `HeadFull`. */
  numberOf(text: string, changes: TextChanges): number {
    if (text === '') return 0;
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    if (this.#numbers.size === this.#texts.length) {
      this.keepOnly(changes);
      // Twice as many as are in use, so that this scan of all rows is rare.
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

  /** Releases the texts that no row uses any longer. */
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

  /** Writes the location of the table into a VM's header. */
  publish(header: number): void {
    this.#memory.cells[header + TEXT_TABLE] = this.#table;
    this.#memory.cells[header + TEXT_COUNT] = this.#texts.length;
  }

  /** Releases everything. Call it when no header points to the table any longer. */
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

// The series that have a column in a VM's slab, in order. Sets are shared between VMs and grow by
// one series at a time along recorded steps, so that similar VMs share one set, and one mapping per
// layout.

/**
 * The series of one VM's rows, in the order of their cells. VMs with the same series share a set.
 */
export class ColumnSet {
  readonly keys: readonly SeriesKey[];
  readonly #index: ReadonlyMap<SeriesKey, number>;
  readonly #next = new WeakValues<SeriesKey, ColumnSet>();
  readonly #mappings = new WeakMap<Layout, Uint32Array | 'incomplete'>();

  constructor(keys: readonly SeriesKey[] = []) {
    this.keys = keys;
    this.#index = new Map(keys.map((key, i) => [key, i]));
  }

  /** Column of each series of the layout; undefined if one of them has no column here. */
  mapping(layout: Layout): Uint32Array | undefined {
    let mapping = this.#mappings.get(layout);
    if (mapping === undefined) {
      const columns = layout.series.map((key) => this.#index.get(key) ?? -1);
      mapping = columns.includes(-1) ? 'incomplete' : Uint32Array.from(columns);
      this.#mappings.set(layout, mapping);
    }
    return mapping === 'incomplete' ? undefined : mapping;
  }

  /** The set extended by a column for each missing series of the layout. */
  with(layout: Layout): ColumnSet {
    let set: ColumnSet = this;
    for (const key of layout.series) {
      if (!set.#index.has(key)) set = set.#extended(key);
    }
    return set;
  }

  #extended(key: SeriesKey): ColumnSet {
    const known = this.#next.get(key);
    if (known !== undefined) return known;
    const extended = new ColumnSet([...this.keys, key]);
    this.#next.set(key, extended);
    return extended;
  }
}
