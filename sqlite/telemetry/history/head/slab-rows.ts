/** One row in its cells: how it is written, compared with another of its time, and filled from it. */
import type { Layout } from '../../../../streams/telemetry/samples/batch.ts';
import {
  packCodes,
  ROW_CELLS,
  ROW_CODES,
  ROW_SEQUENCE,
  ROW_TIME,
  ROW_VCPUS,
  type RowCodes,
  unpackCodes,
} from './memory.ts';

/** A row as the log has it; its values are those of `layout`, from `values[from]` on. */
export interface NewRow {
  readonly timeMs: number;
  readonly sequence: number;
  readonly vcpus: number;
  readonly state: number;
  /** '' = not told. */
  readonly boot: string;
  readonly stateReason: string;
  readonly layout: Layout;
  readonly values: Float64Array;
  readonly from: number;
}

/** A row on its way in. `columns[i]` is where `values[from + i]` goes. */
export interface SlabRow extends RowCodes, Omit<NewRow, 'boot' | 'stateReason' | 'layout'> {
  readonly columns: Uint32Array;
}

/** What a row of the same time as the one at `cell` would change there. */
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

/** Puts in what the row at `cell` lacks. */
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
  // As new as its newest part, so that a flush takes it (again).
  const sequence = cells[cell + ROW_SEQUENCE] as number;
  cells[cell + ROW_SEQUENCE] = Math.max(sequence, row.sequence);
}

/** Writes a new row of `stride` cells; columns that it does not have are not observed. */
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
