/**
 * `history.db`: chunks by day and VM, the names that they refer to, and the floors. Written by one
 * thread under synchronous NORMAL; moving a floor is committed under FULL, which puts every earlier
 * commit of the same log on disk as well.
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { type Migration, openDatabase, type SqliteDatabase } from '../../platform/database.ts';
import { makePrivate } from '../../platform/private-file.ts';
import { checksumOf } from '../../platform/row-checksum.ts';

/** Name of the file in its folder. */
export const HISTORY_FILE = 'history.db';
/** Chunks end at UTC days; a day is a whole number of these since 1970. */
export const DAY_MS = 86_400_000;
/** Small steps keep the write-ahead file small; no caller waits for the thread that takes them. */
const WAL_PAGES = 256;
/** Size to which the write-ahead file is truncated after a checkpoint, bytes. */
const WAL_BYTES_KEPT = 2 * 1024 * 1024;
/** The least wasteful size from 4 to 16 KiB: an hour of a VM is 2.5 KB, a day 40 KB. */
const PAGE_BYTES = 8192;

/** Migrations of the area `history`. */
export const historyMigrations: readonly Migration[] = [
  {
    id: 1,
    sql: `
      CREATE TABLE vms (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        vm TEXT NOT NULL,
        -- All rows of the log up to this sequence are in chunks.
        flushed_sequence INTEGER NOT NULL,
        UNIQUE (project, vm)
      ) STRICT;
      CREATE TABLE series (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE
      ) STRICT;
      -- A chunk lies within one UTC day; those of one day and VM may overlap, and the lower id,
      -- which was there first, prevails.
      CREATE TABLE chunks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        vm INTEGER NOT NULL REFERENCES vms (id),
        day INTEGER NOT NULL,
        start_ms REAL NOT NULL,
        end_ms REAL NOT NULL,
        rows INTEGER NOT NULL,
        data BLOB NOT NULL
      ) STRICT;
      CREATE INDEX chunks_by_day_and_vm ON chunks (day, vm);
      CREATE TABLE floors (
        partition INTEGER PRIMARY KEY,
        sequence INTEGER NOT NULL
      ) STRICT;
      -- Identity of the log that sequences refer to.
      CREATE TABLE log (identity TEXT NOT NULL) STRICT;
    `,
  },
  {
    id: 2,
    sql: `
      -- Newest day of a chunk that has the series: when no such day is left, the name can go.
      ALTER TABLE series ADD COLUMN last_day INTEGER NOT NULL DEFAULT 0;
      UPDATE series SET last_day = (SELECT coalesce(max(day), 0) FROM chunks);
    `,
  },
  {
    id: 3,
    sql: `
      -- Which chunks there are is read without touching the pages that their data begins on.
      DROP INDEX chunks_by_day_and_vm;
      CREATE INDEX chunks_by_day_and_vm ON chunks (day, vm, id, start_ms, end_ms, rows);
    `,
  },
  {
    id: 4,
    sql: `
      -- Stretches of which this history has lost rows for good, Unix ms.
      CREATE TABLE lost (from_ms REAL NOT NULL, to_ms REAL NOT NULL) STRICT;
    `,
  },
  {
    id: 5,
    sql: `
      -- See row-checksum.ts. The checksum of a chunk's row leaves out its data, which has its own.
      ALTER TABLE vms ADD COLUMN checksum INTEGER;
      ALTER TABLE series ADD COLUMN checksum INTEGER;
      ALTER TABLE chunks ADD COLUMN checksum INTEGER;
      ALTER TABLE floors ADD COLUMN checksum INTEGER;
      ALTER TABLE log ADD COLUMN checksum INTEGER;
      ALTER TABLE lost ADD COLUMN checksum INTEGER;
    `,
  },
];

/** A time range whose rows are lost, both ends inclusive, Unix ms. */
export interface LostStretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Unsorted; few. */
export function lostStretches(database: SqliteDatabase): readonly LostStretch[] {
  return database
    .prepare<[], LostStretch>('SELECT from_ms AS fromMs, to_ms AS toMs FROM lost')
    .all();
}

/**
 * Records a time range, merged with those that it touches; drops those that ended before
 * `keptFromMs`.
 */
export function recordLostStretch(
  database: SqliteDatabase,
  { fromMs, toMs }: LostStretch,
  keptFromMs: number,
): void {
  const note = database.transaction(() => {
    const touching = lostStretches(database).filter(
      (other) => other.fromMs <= toMs && other.toMs >= fromMs,
    );
    const merged = [
      Math.min(fromMs, ...touching.map((other) => other.fromMs)),
      Math.max(toMs, ...touching.map((other) => other.toMs)),
    ];
    database
      .prepare('DELETE FROM lost WHERE to_ms < ? OR (from_ms <= ? AND to_ms >= ?)')
      .run(keptFromMs, toMs, fromMs);
    database
      .prepare('INSERT INTO lost (from_ms, to_ms, checksum) VALUES (?, ?, ?)')
      .run(...merged, checksumOf(merged));
  });
  note.immediate();
}

/** Opens the file for its only writer and creates it if it is missing. */
export function openHistoryFile(path: string): SqliteDatabase {
  if (!existsSync(path)) prepare(path);
  const database = openDatabase({
    path,
    synchronous: 'NORMAL',
    migrations: historyMigrations,
    area: 'history',
  });
  database.pragma(`wal_autocheckpoint = ${WAL_PAGES}`);
  database.pragma(`journal_size_limit = ${WAL_BYTES_KEPT}`);
  return database;
}

/** Opens the file for reading. It must exist. */
export function openHistoryFileForReading(path: string): SqliteDatabase {
  const options = {
    synchronous: 'NORMAL',
    migrations: historyMigrations,
    area: 'history',
    readonly: true,
  } as const;
  return openDatabase({ path, ...options });
}

/** Page size and incremental vacuum must be set before the file has its first table. */
function prepare(path: string): void {
  makePrivate(path);
  const database = new Database(path);
  database.pragma(`page_size = ${PAGE_BYTES}`);
  database.pragma('auto_vacuum = INCREMENTAL');
  database.exec('VACUUM');
  database.close();
}

/** State of an earlier run that is needed to read the log again. */
export interface HistoryProgress {
  /** Sequence up to which a VM's rows are in chunks, by `project`, newline, `vm`. */
  readonly flushedSequences: Map<string, number>;
  readonly floors: Map<number, number>;
}

/**
 * Progress of earlier runs. If sequences refer to another log (it was deleted and created again),
 * they mean nothing: they are dropped, the chunks stay.
 */
export function loadProgress(database: SqliteDatabase, logIdentity: string): HistoryProgress {
  const stored = database.prepare<[], { identity: string }>('SELECT identity FROM log').get();
  if (stored?.identity !== logIdentity) {
    const adopt = database.transaction(() => {
      database.exec(`UPDATE vms SET flushed_sequence = 0,
          checksum = row_checksum(id, project, vm, 0);
        DELETE FROM floors; DELETE FROM log`);
      database
        .prepare('INSERT INTO log (identity, checksum) VALUES (?, ?)')
        .run(logIdentity, checksumOf([logIdentity]));
    });
    adopt.immediate();
  }
  const vms = database
    .prepare<[], { key: string; sequence: number }>(
      'SELECT project || char(10) || vm AS key, flushed_sequence AS sequence FROM vms',
    )
    .all();
  const floors = database
    .prepare<[], { partition: number; sequence: number }>('SELECT partition, sequence FROM floors')
    .all();
  return {
    flushedSequences: new Map(vms.map((row) => [row.key, row.sequence])),
    floors: new Map(floors.map((row) => [row.partition, row.sequence])),
  };
}
