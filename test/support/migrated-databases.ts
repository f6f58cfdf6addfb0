/**
 * Copies of a world's databases with every migration applied, in files or in memory. Creating a
 * file with its write-ahead log and tables costs many times as much as a copy. The first world of a
 * process creates the originals.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { openInstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { migrate, openDatabase, type SqliteDatabase } from '../../sqlite/platform/database.ts';
import {
  EMBEDDED_STREAM_AREA,
  embeddedStreamMigrations,
} from '../../sqlite/platform/embedded-stream/schema.ts';
import { addChecksumFunction } from '../../sqlite/platform/row-checksum.ts';
import { HISTORY_FILE, openHistoryFile } from '../../sqlite/telemetry/history/history-file.ts';

const CONTROL_FILE = 'control.db';
const STREAMS_FILE = 'streams.db';

/** Folder of the originals, removed when the process ends. */
let originals: string | undefined;
/** Pages of the original in memory. */
let pages: Buffer | undefined;

/**
 * Copies empty databases into the folder, to be opened by the caller; existing files are kept.
 * Returns the path of `control.db`.
 */
export function copyMigratedDatabases(folder: string): string {
  copyMigratedHistory(folder);
  return copyMigratedControl(folder);
}

/** Copies the projection's database alone, and returns its path. */
export function copyMigratedControl(folder: string): string {
  return copyOnce(CONTROL_FILE, join(folder, CONTROL_FILE));
}

/** Copies the database of a history alone. */
export function copyMigratedHistory(folder: string): void {
  copyOnce(HISTORY_FILE, join(folder, HISTORY_FILE));
}

/** Copies the database of streams alone to this path, and returns it. */
export function copyMigratedStreams(path: string): string {
  return copyOnce(STREAMS_FILE, path);
}

/** Opens a projection's database in memory that no other connection sees. */
export function openMigratedInMemory(): SqliteDatabase {
  pages ??= migratedPages();
  const database = new Database(pages);
  database.pragma('foreign_keys = ON');
  database.pragma('cell_size_check = ON');
  addChecksumFunction(database);
  return database;
}

function copyOnce(original: string, path: string): string {
  originals ??= migratedFiles();
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) copyFileSync(join(originals, original), path);
  return path;
}

function migratedFiles(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-databases-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  // The last connection that closes moves the write-ahead log into the file.
  migratedControl(join(folder, CONTROL_FILE)).close();
  openDatabase({
    path: join(folder, STREAMS_FILE),
    synchronous: 'FULL',
    migrations: embeddedStreamMigrations,
    area: EMBEDDED_STREAM_AREA,
  }).close();
  openHistoryFile(join(folder, HISTORY_FILE)).close();
  return folder;
}

function migratedPages(): Buffer {
  const database = migratedControl(':memory:');
  const made = database.serialize();
  database.close();
  return made;
}

/** The projection and the streams in one database. */
function migratedControl(path: string): SqliteDatabase {
  const database = openDatabase({ path, synchronous: 'NORMAL', migrations: [] });
  openInstanceStore(database);
  migrate(database, embeddedStreamMigrations, EMBEDDED_STREAM_AREA);
  return database;
}
