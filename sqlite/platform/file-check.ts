/**
 * Check of a whole database: SQLite's own check of its pages, trees and indexes, the text of its
 * schema, and the checksum of every row. Together they find a flipped bit anywhere in a file, except
 * in space that nothing uses. It reads all of the file, so a running service does it on a thread.
 */
import Database from 'better-sqlite3';
import { type Migration, migrate, type SqliteDatabase } from './database.ts';
import { addChecksumFunction, CHECKSUM, checksumOf, type StoredValue } from './row-checksum.ts';

/** A place that differs from the written data. */
export interface Damage {
  /** Name of the file. */
  readonly file: string;
  /** `structure`: pages, trees, indexes or the schema; a read may miss rows. `row`: one row. */
  readonly kind: 'structure' | 'row';
  /** Table or index; null if only the page is known. */
  readonly table: string | null;
  /** Key of the row; null for more than one row. */
  readonly row: string | null;
  readonly detail: string;
}

/** Result for one file. */
export interface FileCheck {
  readonly file: string;
  readonly bytes: number;
  /** Rows with a checksum. */
  readonly rows: number;
  /** Rows from before the checksums, of which only the structure was checked. */
  readonly unproven: number;
  /** At most 100 places of each kind. */
  readonly damage: readonly Damage[];
}

/** The schema that the file must have. */
export interface FileSchema {
  readonly migrations: readonly Migration[];
  readonly area: string;
}

/** Maximum places reported per kind; a damaged disk has more damage than anyone can act on. */
const PLACES_MAX = 100;

/** Columns that have a checksum or a tag of their own, which the owner of the file checks. */
const OF_THEIR_OWN: ReadonlyMap<string, readonly string[]> = new Map([
  ['chunks', ['data']],
  ['excerpts', ['value']],
]);

/**
 * Checks an open database; `file` is its name in the findings. Changes nothing, and throws nothing
 * for a damaged file.
 */
export function checkFile(database: SqliteDatabase, file: string, schema: FileSchema): FileCheck {
  const damage: Damage[] = [];
  const report = (found: Omit<Damage, 'file'>): void => {
    const isFull = damage.filter(({ kind }) => kind === found.kind).length >= PLACES_MAX;
    if (!isFull) damage.push({ file, ...found });
  };
  const counts = { rows: 0, unproven: 0 };
  let bytes = 0;
  reporting(report, null, () => {
    const size = (name: string) => Number(database.pragma(name, { simple: true }));
    bytes = size('page_size') * size('page_count');
    checkSchema(database, schema, report);
    checkStructure(database, report);
    for (const table of checksummedTables(database)) {
      reporting(report, table, () => checkRows(database, table, counts, report));
    }
    reporting(report, 'sqlite_sequence', () => checkNumbering(database, report));
  });
  return { file, bytes, ...counts, damage };
}

/** The result for a file that cannot be opened for the given reason. */
export function unreadable(file: string, bytes: number, error: unknown): FileCheck {
  const found = { kind: 'structure', table: null, row: null, detail: textOf(error) } as const;
  return { file, bytes, rows: 0, unproven: 0, damage: [{ file, ...found }] };
}

/** True for an error by which SQLite reports a damaged file. */
export function isDamagedFile(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^SQLITE_(CORRUPT|NOTADB|FORMAT)/.test(code);
}

type Report = (found: Omit<Damage, 'file'>) => void;

/** Runs `check`; an error of SQLite is a finding of the table. */
function reporting(report: Report, table: string | null, check: () => void): void {
  try {
    check();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // A busy or full disk is not damage.
    if (!isDamagedFile(error) && code !== 'SQLITE_ERROR') throw error;
    report({ kind: 'structure', table, row: null, detail: textOf(error) });
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Compares with a new database of the same migrations, whose texts are never edited. */
function checkSchema(database: SqliteDatabase, schema: FileSchema, report: Report): void {
  const expected = expectedOf(schema);
  const found = schemaOf(database);
  // Anything else in the file is an operator's own, such as an index or statistics.
  for (const [name, definition] of expected.definitions) {
    if (found.get(name) === definition) continue;
    const detail = 'the text of its definition differs from what the program created';
    report({ kind: 'structure', table: name, row: null, detail });
  }
  if (expected.migrations !== migrationsOf(database)) {
    const detail = 'the migrations differ from those of the program';
    report({ kind: 'structure', table: 'schema_migrations', row: null, detail });
  }
}

interface Expected {
  /** Text of each definition by its name. */
  readonly definitions: ReadonlyMap<string, string>;
  readonly migrations: string;
}

/** Contents of a new database, which is made once for each schema. */
const expectations = new WeakMap<FileSchema, Expected>();

function expectedOf(schema: FileSchema): Expected {
  const known = expectations.get(schema);
  if (known) return known;
  const fresh = new Database(':memory:');
  try {
    addChecksumFunction(fresh);
    migrate(fresh, schema.migrations, schema.area);
    const expected = { definitions: schemaOf(fresh), migrations: migrationsOf(fresh) };
    expectations.set(schema, expected);
    return expected;
  } finally {
    fresh.close();
  }
}

function migrationsOf(database: SqliteDatabase): string {
  const rows = database.prepare('SELECT area, id FROM schema_migrations ORDER BY area, id').all();
  return JSON.stringify(rows);
}

function schemaOf(database: SqliteDatabase): Map<string, string> {
  const rows = database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema').all();
  // Versions of SQLite differ in the white space that they write.
  const textOfRow = (row: object) =>
    JSON.stringify(Object.values(row)).replaceAll(/(\\n|\s)+/g, ' ');
  return new Map((rows as { name: string }[]).map((row) => [row.name, textOfRow(row)] as const));
}

function checkStructure(database: SqliteDatabase, report: Report): void {
  const roots = new Map(
    (
      database.prepare('SELECT rootpage, name FROM sqlite_schema WHERE rootpage > 0').all() as {
        rootpage: number;
        name: string;
      }[]
    ).map(({ rootpage, name }) => [rootpage, name]),
  );
  const found = database.pragma(`integrity_check(${PLACES_MAX})`) as { integrity_check: string }[];
  for (const { integrity_check: detail } of found) {
    if (detail === 'ok') continue;
    const root = /^Tree (\d+)/.exec(detail)?.[1];
    const named = /(?:missing from|entries in) index (\S+)|in (\w+)\.\w+$/.exec(detail);
    const table = root ? (roots.get(Number(root)) ?? null) : (named?.[1] ?? named?.[2] ?? null);
    report({ kind: 'structure', table, row: null, detail });
  }
}

function checksummedTables(database: SqliteDatabase): string[] {
  return (
    database
      .prepare(
        `SELECT t.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
         WHERE t.type = 'table' AND c.name = ? ORDER BY t.name`,
      )
      .pluck() as Database.Statement<[string], string>
  ).all(CHECKSUM);
}

function checkRows(
  database: SqliteDatabase,
  table: string,
  counts: { rows: number; unproven: number },
  report: Report,
): void {
  const info = database.prepare('SELECT name, pk FROM pragma_table_info(?)').all(table) as {
    name: string;
    pk: number;
  }[];
  const own = [CHECKSUM, ...(OF_THEIR_OWN.get(table) ?? [])];
  const columns = info.map(({ name }) => name).filter((name) => !own.includes(name));
  const keys = info.filter(({ pk }) => pk > 0).map(({ name }) => name);
  const shown = keys.length > 0 ? keys : columns.slice(0, 3);
  // NOT INDEXED: the rows themselves are read, not the copies of their columns in an index.
  const select = `SELECT ${[...columns, CHECKSUM].join(', ')} FROM ${table} NOT INDEXED`;
  const rows = database.prepare(select).raw().iterate() as Iterable<StoredValue[]>;
  for (const row of rows) {
    const checksum = row.pop();
    if (checksum === null) counts.unproven++;
    else counts.rows++;
    if (checksum === null || checksum === checksumOf(row)) continue;
    const key = shown.map((name) => shownValue(row[columns.indexOf(name)] ?? null)).join(' ');
    report({ kind: 'row', table, row: key, detail: 'its checksum differs' });
  }
}

function shownValue(value: StoredValue): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}

/** A number that AUTOINCREMENT assigned must not be assigned again. */
function checkNumbering(database: SqliteDatabase, report: Report): void {
  const has = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'");
  if (has.get() === undefined) return;
  const rows = database.prepare('SELECT name, seq FROM sqlite_sequence').all();
  for (const { name, seq } of rows as { name: string; seq: number }[]) {
    const isTable = database.prepare(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?",
    );
    const last = isTable.get(name) && database.prepare(`SELECT max(id) AS id FROM ${name}`).get();
    if (last === undefined || ((last as { id: number | null }).id ?? 0) > seq) {
      const detail = 'the last number of the table differs from its rows';
      report({ kind: 'structure', table: 'sqlite_sequence', row: name, detail });
    }
  }
}
