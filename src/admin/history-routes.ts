/** Operator commands about history, answered by the service, or read from disk without it. */
import { dirname } from 'node:path';
import type { SqliteDatabase } from '../../sqlite/platform/database.ts';
import type { FileCheck } from '../../sqlite/platform/file-check.ts';
import {
  addReports,
  type CheckReport,
  checkSomeChunks,
  NOTHING_CHECKED,
} from '../../sqlite/telemetry/history/chunk/chunk-check.ts';
import {
  HISTORY_FILE,
  openHistoryFileForReading,
} from '../../sqlite/telemetry/history/history-file.ts';
import type { History, HistoryStats } from '../../sqlite/telemetry/history/store/store.ts';
import {
  type StoredStatistics,
  storedStatistics,
} from '../../sqlite/telemetry/history/store/stored-statistics.ts';
import type { AdminRoute } from './admin-server.ts';
import { checkFiles } from './check/check-files.ts';
import { checkDataFile } from './check/data-files.ts';

export const HISTORY_STATS_PATH = '/v1/history/stats';
export const HISTORY_CHECK_PATH = '/v1/history/check';

/** Response of `HISTORY_STATS_PATH`. */
export interface HistoryStatsAnswer {
  readonly stored: StoredStatistics;
  /** Data in memory, and results of the background work; absent if no service was asked. */
  readonly running?: HistoryStats;
}

/** Progress of a check. */
export interface CheckProgress {
  readonly checked: number;
  readonly chunks: number;
}

/** Result of `svc history check`: the chunks, and the file that holds them. */
export interface HistoryCheck extends CheckReport {
  readonly files: readonly FileCheck[];
}

/**
 * Responds to `HISTORY_CHECK_PATH` with a `HistoryCheck`, after `CheckProgress`.
 * @param folder the folder of history.db
 */
export function historyRoutes(history: History, folder: string): Record<string, AdminRoute> {
  return {
    async [HISTORY_STATS_PATH](): Promise<HistoryStatsAnswer> {
      return { stored: await history.stored(), running: history.stats() };
    },
    async [HISTORY_CHECK_PATH](signal, onProgress): Promise<HistoryCheck> {
      const job = { folder, files: [HISTORY_FILE], masterKey: undefined } as const;
      const files = await checkFiles({ ...job, signal });
      return withChunks(files, async () => {
        const { chunks } = await history.stored();
        const onStep = ({ chunks: checked }: CheckReport) =>
          onProgress({ checked, chunks: Math.max(checked, chunks) } satisfies CheckProgress);
        return history.check({ signal, onStep });
      });
    },
  };
}

/** If a damaged file prevents the check of its chunks, the damage is the result. */
async function withChunks(
  files: readonly FileCheck[],
  check: () => CheckReport | Promise<CheckReport>,
): Promise<HistoryCheck> {
  try {
    return { ...(await check()), files };
  } catch (error) {
    if (files.every(({ damage }) => damage.length === 0)) throw error;
    return { ...NOTHING_CHECKED, files };
  }
}

export interface HistoryOnDisk {
  stored(): StoredStatistics;
  check(onProgress: (progress: CheckProgress) => void): Promise<HistoryCheck>;
  close(): void;
}

function checkChunks(
  database: SqliteDatabase,
  onProgress: (progress: CheckProgress) => void,
): CheckReport {
  const { chunks } = storedStatistics(database);
  let report = NOTHING_CHECKED;
  let after: number | undefined = 0;
  while (after !== undefined) {
    const { last, ...step } = checkSomeChunks(database, after);
    report = addReports(report, step);
    onProgress({ checked: report.chunks, chunks: Math.max(report.chunks, chunks) });
    after = last;
  }
  return report;
}

/** Throws `SqliteError` and `SchemaMismatch`. */
export function openHistoryOnDisk(path: string): HistoryOnDisk {
  const database = openHistoryFileForReading(path);
  return {
    stored: () => storedStatistics(database),
    check(onProgress) {
      const found = checkDataFile(dirname(path), HISTORY_FILE, undefined);
      return withChunks(found ? [found] : [], () => checkChunks(database, onProgress));
    },
    close: () => database.close(),
  };
}
