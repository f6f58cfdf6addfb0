/**
 * The databases of a data folder, each with its check, the consequence of damage, and the remedy.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ChangeCount, changeCountOf } from '../../../sqlite/platform/change-count.ts';
import { instanceMigrations } from '../../../sqlite/platform/control/instances-schema.ts';
import { openDatabase, type SqliteDatabase } from '../../../sqlite/platform/database.ts';
import {
  EMBEDDED_STREAM_AREA,
  embeddedStreamMigrations,
} from '../../../sqlite/platform/embedded-stream/schema.ts';
import {
  checkFile,
  type Damage,
  type FileCheck,
  type FileSchema,
  isDamagedFile,
  unreadable,
} from '../../../sqlite/platform/file-check.ts';
import { claimsMigrations } from '../../../sqlite/platform/once-store.ts';
import { DamagedRow } from '../../../sqlite/platform/row-checksum.ts';
import { brokenSeals } from '../../../sqlite/platform/secrets/seal-check.ts';
import { secretsMigrations } from '../../../sqlite/platform/secrets/secret-file.ts';
import { HISTORY_FILE, historyMigrations } from '../../../sqlite/telemetry/history/history-file.ts';
import { MARKS_FILE, readMarks } from './acknowledged-marks.ts';

const streamSchema = { migrations: embeddedStreamMigrations, area: EMBEDDED_STREAM_AREA };

const SCHEMAS = {
  'control.db': { migrations: instanceMigrations, area: 'instances' },
  'events.db': streamSchema,
  'secrets.db': { migrations: secretsMigrations, area: 'main' },
  'claims.db': { migrations: claimsMigrations, area: 'main' },
  'samples.db': streamSchema,
  [HISTORY_FILE]: { migrations: historyMigrations, area: 'history' },
} as const satisfies Record<string, FileSchema>;

export type DataFile = keyof typeof SCHEMAS;

/** Names of the databases, with those first that the others follow from. */
export const DATA_FILES = Object.keys(SCHEMAS) as readonly DataFile[];

/** The databases whose structure must be sound before a service may decide anything. */
export const DECIDING_FILES: readonly DataFile[] = [
  ...(['control.db', 'events.db', 'secrets.db', 'claims.db'] as const),
];

/** The way back from damage in a file, as the last sentence of a message. */
export const WAYS_BACK: Readonly<Record<DataFile, string>> = {
  'control.db':
    'It follows from EVENTS. If no commit is older than 30 days, move control.db and control.db-wal ' +
    'aside and start again; otherwise restore a backup',
  'events.db': 'It holds the commits. Restore a backup',
  'secrets.db':
    'It holds the secrets of destinations. Restore a backup, or enter the named secrets again',
  'claims.db':
    'It holds used CI tokens of the last minutes. Move claims.db and claims.db-wal aside, and start ' +
    'again after 10 minutes',
  'samples.db':
    'It holds the samples of the last hours, and history.db those before. Restore a backup, or move ' +
    'samples.db and samples.db-wal aside and lose them',
  'history.db':
    'Reads of what is damaged fail. Restore a backup, or wait: chunks are dropped after 7 days',
};

/** Opens sealed values; absent: the master key is elsewhere, and they stay unproven. */
export type MasterKey = Uint8Array | undefined;

/**
 * Checks one file in its folder; undefined if it does not exist. Throws `SchemaMismatch` for the file of another
 * program, and faults that are not damage.
 */
export function checkDataFile(
  folder: string,
  file: DataFile,
  masterKey: MasterKey,
): FileCheck | undefined {
  const path = join(folder, file);
  if (!existsSync(path)) return undefined;
  try {
    return withFile(folder, file, (database) => {
      const check = checkFile(database, file, SCHEMAS[file]);
      // Not even a table may be readable.
      if (check.damage.some(({ kind }) => kind === 'structure')) return check;
      const damage = [...check.damage, ...lostChanges(folder, file, database)];
      if (file !== 'secrets.db' || masterKey === undefined) return { ...check, damage };
      const broken = brokenSeals(database, masterKey).map((found) => ({ file, ...found }));
      return { ...check, damage: [...damage, ...broken] };
    });
  } catch (error) {
    if (!isDamagedFile(error)) throw error;
    return unreadable(file, statSync(path).size, error);
  }
}

/**
 * The part of a check that takes no time: whether the file has every change that it had acknowledged.
 * Other damage is left to the whole check. Throws like `checkDataFile`.
 */
export function checkChanges(folder: string, file: DataFile): readonly Damage[] {
  try {
    return withFile(folder, file, (database) => lostChanges(folder, file, database));
  } catch (error) {
    if (!isDamagedFile(error)) throw error;
    return [];
  }
}

function withFile<T>(folder: string, file: DataFile, use: (database: SqliteDatabase) => T): T {
  const { migrations, area } = SCHEMAS[file];
  const path = join(folder, file);
  const database = openDatabase({ path, readonly: true, synchronous: 'NORMAL', migrations, area });
  try {
    return use(database);
  } finally {
    database.close();
  }
}

function lostChanges(folder: string, file: DataFile, database: SqliteDatabase): Damage[] {
  // Read first, because a running service keeps counting.
  const mark = readMarks(folder)[file];
  let count: ChangeCount | undefined;
  try {
    count = changeCountOf(database);
  } catch (error) {
    if (!(error instanceof DamagedRow)) throw error;
    const { table, row } = error;
    return [{ file, kind: 'row', table, row, detail: 'its checksum differs' }];
  }
  if (mark === undefined || count?.identity !== mark.identity || count.last >= mark.last) return [];
  const detail =
    `it ends at change ${count.last}, but change ${mark.last} was acknowledged: its write-ahead log ` +
    'was cut, or an older copy of the file is in its place. To continue without these changes, ' +
    `remove ${join(folder, MARKS_FILE)}`;
  return [{ file, kind: 'structure', table: null, row: null, detail }];
}

/** A finding as a line: file, table, row and problem. */
export function damageText({ file, table, row, detail }: Damage): string {
  const place = [file, table, row].filter((part) => part !== null && part !== '').join(', ');
  return `${place}: ${detail}`;
}
