/**
 * Opens a SQLite file as every store here needs it: WAL, an explicit `synchronous`, foreign keys, a
 * short busy timeout, numbered migrations. better-sqlite3 compiles in synchronous NORMAL for WAL,
 * under which a power loss may roll the last commits back: a store that acknowledges writes
 * requests FULL.
 */
import Database from 'better-sqlite3';
import { makePrivate } from './private-file.ts';
import { addChecksumFunction } from './row-checksum.ts';

export type SqliteDatabase = Database.Database;

/** One step of a schema. Ids grow from 1 within an area and are never reused or changed. */
export type Migration =
  | { readonly id: number; readonly sql: string }
  | { readonly id: number; readonly apply: (database: SqliteDatabase) => void };

export interface OpenDatabaseOptions {
  /** File path; its folder must exist. */
  readonly path: string;
  /**
   * Guarantee of a returned commit. FULL: on disk, power loss included. NORMAL: survives a kill of
   * the process; a power loss may roll back the last commits, consistently.
   */
  readonly synchronous: 'FULL' | 'NORMAL';
  readonly migrations: readonly Migration[];
  /** Name of the migrations' schema, for stores that share a file. Default `main`. */
  readonly area?: string;
  /** true: a read-only connection; the file must exist and have every migration. */
  readonly readonly?: boolean;
  /**
   * true: deleted data is overwritten with zeros in the file (not in the log before a checkpoint).
   */
  readonly secureDelete?: boolean;
  /** Longest wait of a statement for a lock, blocking its thread, ms. Default 250. */
  readonly busyTimeoutMs?: number;
}

// Larger values caused checkpoint stalls of 150 ms (16,000 pages); this is SQLite's own default.
const WAL_AUTOCHECKPOINT_PAGES = 1000;
const BUSY_TIMEOUT_MS = 250;

/**
 * Opens a connection with the pragmas set and the migrations applied. Close it after use. Throws
 * `SqliteError` of better-sqlite3 if the file cannot be opened or locked, and `SchemaMismatch` if a
 * newer program wrote it.
 */
export function openDatabase(options: OpenDatabaseOptions): SqliteDatabase {
  const readonly = options.readonly === true;
  if (!readonly) makePrivate(options.path);
  const database = new Database(options.path, {
    readonly,
    fileMustExist: readonly,
    timeout: options.busyTimeoutMs ?? BUSY_TIMEOUT_MS,
  });
  try {
    if (!readonly) database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${options.synchronous}`);
    database.pragma(`wal_autocheckpoint = ${WAL_AUTOCHECKPOINT_PAGES}`);
    database.pragma('foreign_keys = ON');
    // A tree page whose cells are out of bounds causes an error, not a wrong result.
    database.pragma('cell_size_check = ON');
    addChecksumFunction(database);
    if (options.secureDelete) database.pragma('secure_delete = ON');
    const area = options.area ?? 'main';
    if (readonly) assertMigrated(database, options.migrations, area);
    else migrate(database, options.migrations, area);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Applies the migrations that the file lacks, in one transaction each; harmless on a second call
 * and from two processes at once. For a store that gets a connection opened elsewhere. Throws
 * `SchemaMismatch` if the file has a migration this program does not know.
 */
export function migrate(
  database: SqliteDatabase,
  migrations: readonly Migration[],
  area = 'main',
): void {
  assertNumbered(migrations, area);
  // Also for a connection opened elsewhere.
  addChecksumFunction(database);
  database.exec(
    `CREATE TABLE IF NOT EXISTS schema_migrations (
       area TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (area, id)) STRICT, WITHOUT ROWID`,
  );
  const newest = newestOf(database, migrations, area);
  if (newest === migrations.length) return;
  const record = database.prepare<[string, number]>(
    'INSERT INTO schema_migrations (area, id) VALUES (?, ?)',
  );
  for (const migration of migrations.slice(newest)) {
    const apply = database.transaction(() => {
      // Read again inside the write lock: another process may have been faster.
      if (appliedIds(database, area).has(migration.id)) return;
      if ('sql' in migration) database.exec(migration.sql);
      else migration.apply(database);
      record.run(area, migration.id);
    });
    apply.immediate();
  }
}

/** The file's schema is not the one this program was written for. */
export class SchemaMismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SchemaMismatch';
  }
}

function appliedIds(database: SqliteDatabase, area: string): Set<number> {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'");
  if (table.get() === undefined) return new Set();
  const rows = database
    .prepare<[string], { id: number }>('SELECT id FROM schema_migrations WHERE area = ?')
    .all(area);
  return new Set(rows.map((row) => row.id));
}

function assertNumbered(migrations: readonly Migration[], area: string): void {
  for (const [i, migration] of migrations.entries()) {
    if (migration.id === i + 1) continue;
    throw new Error(`Migration ${migration.id} of ${area} is at place ${i + 1}: number from 1`);
  }
}

/** Id of the newest migration that the file has, or 0. Throws if this program does not know it. */
function newestOf(
  database: SqliteDatabase,
  migrations: readonly Migration[],
  area: string,
): number {
  const newest = Math.max(0, ...appliedIds(database, area));
  if (newest <= migrations.length) return newest;
  throw new SchemaMismatch(
    `${database.name} has schema ${area} ${newest}, this program knows up to ` +
      `${migrations.length}: run the newer program, or restore the copy made before it ran`,
  );
}

function assertMigrated(database: SqliteDatabase, migrations: readonly Migration[], area: string) {
  const applied = newestOf(database, migrations, area);
  if (applied === migrations.length) return;
  throw new SchemaMismatch(
    `${database.name} has schema ${area} ${applied}, reading needs ${migrations.length}: ` +
      'let the writing process open it first',
  );
}
