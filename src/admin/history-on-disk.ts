/** `history.db` as it lies on disk, for operators whose service does not run. Changes nothing. */
import {
  addReports,
  type CheckReport,
  checkSomeChunks,
  NOTHING_CHECKED,
} from '../../sqlite/telemetry/history/chunk/chunk-check.ts';
import { openHistoryFileForReading } from '../../sqlite/telemetry/history/history-file.ts';
import {
  type StoredStatistics,
  storedStatistics,
} from '../../sqlite/telemetry/history/store/stored-statistics.ts';
import type { CheckProgress } from './history-routes.ts';

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
