/**
 * A count of a file's changes, in the file. SQLite reads a truncated write-ahead log as if nothing
 * had followed, so the rows alone do not show that acknowledged ones are lost. The count is also
 * written to a second place and compared with it later. A trigger cannot compute the checksum of
 * other rows (`row-checksum.ts`), so a column with the negative sum of the others shows a flipped
 * bit.
 */
import Database from 'better-sqlite3';
import type { SqliteDatabase } from './database.ts';
import { DamagedRow } from './row-checksum.ts';

/** Number of changes of the tables since the file was created. */
export interface ChangeCount {
  /** Differs for each file, so that a new file is not mistaken for a truncated one. */
  readonly identity: string;
  readonly last: number;
}

/** Changes that are counted: those whose loss would be wrong. */
type Counted = Readonly<Record<string, readonly ('INSERT' | 'UPDATE' | 'DELETE')[]>>;

/** The SQL of a migration: the count, and triggers that count changes of these tables. */
export function countChangesOf(tables: Counted): string {
  const triggers = Object.entries(tables).flatMap(([table, events]) =>
    events.map(
      (event) => `
      CREATE TRIGGER ${table}_${event.toLowerCase()}_counted AFTER ${event} ON ${table} BEGIN
        UPDATE change_count SET changes = changes + 1, mirror = mirror - 1;
      END;`,
    ),
  );
  return `
      CREATE TABLE change_count (one INTEGER PRIMARY KEY CHECK (one = 1), identity INTEGER NOT NULL,
        changes INTEGER NOT NULL, mirror INTEGER NOT NULL) STRICT;
      INSERT INTO change_count (one, identity, changes, mirror)
        SELECT 1, id, 0, -id FROM (SELECT random() >> 12 AS id);${triggers.join('')}`;
}

/** The count of a database; undefined for one that an older program wrote. Throws `DamagedRow`. */
export function changeCountOf(database: SqliteDatabase): ChangeCount | undefined {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'change_count'");
  if (table.get() === undefined) return undefined;
  const row = database.prepare('SELECT * FROM change_count WHERE one = 1').get();
  const { identity = 0, changes = 0, mirror = 1 } = (row ?? {}) as Record<string, number>;
  if (mirror !== -(identity + changes)) {
    throw new DamagedRow({ file: database.name, table: 'change_count', row: '1' });
  }
  return { identity: String(identity), last: changes };
}

/** The count in the file at this path, beside its writer. Throws also what better-sqlite3 throws. */
export function readChangeCount(path: string): ChangeCount | undefined {
  const database = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return changeCountOf(database);
  } finally {
    database.close();
  }
}
