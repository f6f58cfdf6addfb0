/**
 * Damage on the disk, while the service runs: its databases are checked at the start and once a day,
 * and reads that met damage are counted. Small files are checked before anything is decided; a start
 * never waits for large ones.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from '../../actors/platform/supervision.ts';
import { SchemaMismatch } from '../../sqlite/platform/database.ts';
import type { Damage, FileCheck } from '../../sqlite/platform/file-check.ts';
import { scanLog } from '../../sqlite/platform/log-scan.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { LostEnd } from '../admin/check/acknowledged-marks.ts';
import { checkFiles } from '../admin/check/check-files.ts';
import {
  checkChanges,
  checkDataFile,
  DATA_FILES,
  type DataFile,
  DECIDING_FILES,
  damageText,
  WAYS_BACK,
} from '../admin/check/data-files.ts';
import { isDamage, type RecordDamage } from '../platform/damage.ts';
import { DataFolderUnusable } from '../platform/data-folder.ts';
import { type PartHealth, ready } from '../platform/health.ts';
import { type DataFolders, folderOf } from '../platform/history-folder.ts';
import type { RoomBase } from '../platform/room-base.ts';

/** Files of which each transaction is synced before the next. The others follow from the streams. */
const SYNCED_FILES: readonly DataFile[] = [
  ...(['events.db', 'secrets.db', 'claims.db', 'samples.db'] as const),
];
/** Largest file that is checked before the service answers: about a tenth of a second. */
const START_BYTES_MAX = 8 * 1024 * 1024;
/** Interval between checks of all files, ms. */
const CHECK_MS = 24 * 3_600_000;

/** The checks of a start: small files. */
export interface StartCheck {
  readonly checks: readonly FileCheck[];
  /** Files that are too large for the start. */
  readonly left: readonly DataFile[];
}

/**
 * Checks the small files of the folder before they are opened. Throws `DataFolderUnusable` if the
 * structure of one is damaged from which the service decides: a read could miss rows.
 * @param isShared true: the truth is on NATS, and a power loss may take files here back
 */
export function checkAtStart(folders: DataFolders, isShared: boolean): StartCheck {
  const { data: folder } = folders;
  const checks: FileCheck[] = [];
  const left: DataFile[] = [];
  const ends: Damage[] = [];
  for (const file of DATA_FILES) {
    const path = join(folderOf(folders, file), file);
    if (!existsSync(path)) continue;
    if (!isShared && SYNCED_FILES.includes(file)) assertWholeLog(folder, file);
    const isSmall = statSync(path).size <= START_BYTES_MAX;
    const check = isSmall
      ? unlessOlder(() => checkDataFile(folderOf(folders, file), file, undefined))
      : undefined;
    if (check !== undefined) checks.push(check);
    else {
      left.push(file);
      ends.push(...(unlessOlder(() => checkChanges(folderOf(folders, file), file)) ?? []));
    }
  }
  const fatal = [...checks.flatMap(({ damage }) => damage), ...ends].find(isFatal);
  if (fatal !== undefined) throw new DataFolderUnusable(refusalText(folder, fatal));
  return { checks, left };
}

/**
 * SQLite would drop the rest of the log, and overwrite it. Throws `DataFolderUnusable` before that.
 */
function assertWholeLog(folder: string, file: DataFile): void {
  const { frames, lost } = scanLog(join(folder, file));
  if (lost === 0) return;
  throw new DataFolderUnusable(
    `SVC_DATA ${folder} is damaged (${file}-wal, frame ${frames + 1}): at least ${lost} acknowledged ` +
      `${lost === 1 ? 'transaction' : 'transactions'} behind it cannot be read. Nothing was ` +
      'changed. Check for a failing disk (dmesg, smartctl) and keep a copy of the folder. Restore ' +
      `a backup, or continue without them: sqlite3 ${join(folder, file)} ` +
      '"PRAGMA wal_checkpoint(TRUNCATE)"',
  );
}

/** undefined: an older program wrote the file, which is migrated when it is opened. */
function unlessOlder<T>(check: () => T): T | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof SchemaMismatch) return undefined;
    throw error;
  }
}

function isFatal({ file, kind }: Damage): boolean {
  return kind === 'structure' && DECIDING_FILES.includes(file as DataFile);
}

function refusalText(folder: string, damage: Damage): string {
  return (
    `SVC_DATA ${folder} is damaged (${damageText(damage)}). Nothing was changed. Check for a ` +
    `failing disk (dmesg, smartctl) and keep a copy of the folder. ${wayBack(damage.file)}. ` +
    '"svc audit verify" lists all damage'
  );
}

function wayBack(file: string): string {
  return WAYS_BACK[file as DataFile] ?? 'Restore a backup';
}

export interface DamageWatch {
  readonly record: RecordDamage;
  /** Checks the files that the start has skipped, and all files once a day. */
  readonly part: Part;
}

/** Reports damage in `/readyz` and in metrics until the service closes. */
export function watchDamage(
  { settings, clock, health, metrics, log }: RoomBase,
  start: StartCheck,
  lost: readonly LostEnd[],
): DamageWatch {
  const known = new Map<string, FileCheck>();
  const reads = metrics.counter(
    'svc_damaged_reads_total',
    'Calls that failed because stored data that they needed is damaged',
  );
  reads.inc({}, 0);
  metrics.gauge(
    'svc_damaged_places',
    'Damaged places that the newest check of a database found',
    ['file'],
    (gauge) => {
      for (const { file, damage } of known.values()) gauge.set({ file }, damage.length);
    },
  );
  const take = (checks: readonly FileCheck[]): void => {
    for (const check of checks) {
      known.set(check.file, check);
      for (const damage of check.damage) {
        log.error({ part: 'data files', damage }, 'Stored data is damaged');
      }
    }
  };
  take(start.checks);
  let lastRead: string | undefined;
  health.watch({ kind: 'data files' }, () => damageHealth([...known.values()], lastRead, lost));
  const check = async (files: readonly DataFile[], signal: AbortSignal): Promise<void> => {
    if (files.length === 0) return;
    const { data: folder, historyData: historyFolder } = settings;
    try {
      take(await checkFiles({ folder, historyFolder, files, masterKey: undefined, signal }));
    } catch (error) {
      // A file that is being replaced, or no memory for a thread: the service works without it.
      if (!signal.aborted) log.warn({ err: error, part: 'data check' }, 'Files were not checked');
    }
  };
  return {
    record(error) {
      if (!isDamage(error)) return;
      reads.inc({});
      lastRead = error.message;
    },
    part: {
      name: 'data check',
      async run(signal) {
        for (let files = start.left; !signal.aborted; files = DATA_FILES) {
          await check(files, signal);
          await pause(clock, CHECK_MS, signal);
          // A read that still meets damage reports it again.
          lastRead = undefined;
        }
      },
    },
  };
}

function damageHealth(
  checks: readonly FileCheck[],
  lastRead: string | undefined,
  lost: readonly LostEnd[],
): PartHealth {
  const [end] = lost;
  if (end !== undefined) {
    const summary = 'Acknowledged samples are lost';
    const { stream, last, acknowledged } = end;
    const reason = `${summary}: ${stream} ended at ${last}, but ${acknowledged} was acknowledged`;
    return { state: 'degraded', reason, summary };
  }
  const damage = checks.flatMap((check) => check.damage);
  const [first] = damage;
  if (first === undefined && lastRead === undefined) return ready;
  const summary = 'Stored data is damaged: reads of it fail, and all others continue';
  const places = first
    ? `${damage.length} places, the first in ${damageText(first)}. ${wayBack(first.file)}`
    : `${lastRead}`;
  return {
    state: 'degraded',
    reason: `${summary}. ${places}. "svc audit verify" and "svc history check" list all of them`,
    summary,
  };
}
