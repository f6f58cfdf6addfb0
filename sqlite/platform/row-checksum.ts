/**
 * A checksum of each row. SQLite's pages have none, so that a bit that the disk has flipped inside
 * of a value is read as another value. Each row that is not protected otherwise (a commit by its
 * hash, a chunk by its own checksum, a sealed value by its tag) has a CRC-32 of its columns in the
 * column `checksum`: a read compares it, and so does a check of the whole file (`file-check.ts`).
 * NULL: the row was written before the column existed.
 */
import { crc32 } from 'node:zlib';
import type Database from 'better-sqlite3';

/** A value as SQLite stores it. */
export type StoredValue = string | number | null | Uint8Array;

/** Name of the column, the last of its table. */
export const CHECKSUM = 'checksum';

/** A stored row differs from the written one. The message names its file, table and row. */
export class DamagedRow extends Error {
  /** Path of the database. */
  readonly file: string;
  readonly table: string;
  /** The row's key, as text. */
  readonly row: string;

  constructor(place: { readonly file: string; readonly table: string; readonly row: string }) {
    super(
      `${place.file}: row ${place.row} of ${place.table} is damaged (its checksum differs). ` +
        'Run "svc audit verify" for all damage and the way back',
    );
    this.name = 'DamagedRow';
    this.file = place.file;
    this.table = place.table;
    this.row = place.row;
  }
}

/** CRC-32 of the values in the order of their columns, which finds every flip of one bit. */
export function checksumOf(values: readonly StoredValue[]): number {
  let sum = 0;
  let text = '';
  for (const value of values) {
    if (value === null) text += 'n;';
    else if (typeof value === 'number') text += `${value};`;
    else if (typeof value === 'string') text += `${value.length}:${value};`;
    else {
      sum = crc32(value, crc32(`${text}b${value.length}:`, sum));
      text = '';
    }
  }
  return crc32(text, sum);
}

/** Throws `DamagedRow` if the stored checksum differs from that of the values. */
export function assertChecksum(
  stored: number | null,
  values: readonly StoredValue[],
  place: () => ConstructorParameters<typeof DamagedRow>[0],
): void {
  if (stored !== null && stored !== checksumOf(values)) throw new DamagedRow(place());
}

/** Makes `row_checksum(column, ...)` available to statements that change a part of a row. */
export function addChecksumFunction(database: Database.Database): void {
  database.function('row_checksum', { varargs: true, deterministic: true }, (...values) =>
    checksumOf(values as StoredValue[]),
  );
}
