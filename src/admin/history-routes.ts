/** Operator commands about history, answered by the service, or read from disk without it. */
import {
  addReports,
  type CheckReport,
  checkSomeChunks,
  NOTHING_CHECKED,
} from '../../sqlite/telemetry/history/chunk/chunk-check.ts';
import { openHistoryFileForReading } from '../../sqlite/telemetry/history/history-file.ts';
import type { History, HistoryStats } from '../../sqlite/telemetry/history/store/store.ts';
import {
  type StoredStatistics,
  storedStatistics,
} from '../../sqlite/telemetry/history/store/stored-statistics.ts';
import type { AdminRoute } from './admin-server.ts';

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

/** Responds to `HISTORY_CHECK_PATH` with a `CheckReport`, after `CheckProgress`. */
export function historyRoutes(history: History): Record<string, AdminRoute> {
  return {
    async [HISTORY_STATS_PATH](): Promise<HistoryStatsAnswer> {
      return { stored: await history.stored(), running: history.stats() };
    },
    async [HISTORY_CHECK_PATH](signal, onProgress): Promise<CheckReport> {
      const { chunks } = await history.stored();
      const onStep = ({ chunks: checked }: CheckReport) =>
        onProgress({ checked, chunks: Math.max(checked, chunks) } satisfies CheckProgress);
      return history.check({ signal, onStep });
    },
  };
}

export interface HistoryOnDisk {
  stored(): StoredStatistics;
  check(onProgress: (progress: CheckProgress) => void): CheckReport;
  close(): void;
}

/** Throws `SqliteError` and `SchemaMismatch`. */
export function openHistoryOnDisk(path: string): HistoryOnDisk {
  const database = openHistoryFileForReading(path);
  return {
    stored: () => storedStatistics(database),
    check(onProgress) {
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
    },
    close: () => database.close(),
  };
}
