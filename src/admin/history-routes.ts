/** What operators may ask of the running service's history. */
import type { CheckReport } from '../../sqlite/telemetry/history/chunk/chunk-check.ts';
import type { History, HistoryStats } from '../../sqlite/telemetry/history/store/store.ts';
import type { StoredStatistics } from '../../sqlite/telemetry/history/store/stored-statistics.ts';
import type { AdminRoute } from './admin-server.ts';

export const HISTORY_STATS_PATH = '/v1/history/stats';
export const HISTORY_CHECK_PATH = '/v1/history/check';

/** Answer of `HISTORY_STATS_PATH`. */
export interface HistoryStatsAnswer {
  readonly stored: StoredStatistics;
  /** What the service holds in memory, and what its background work has come to; absent: not asked. */
  readonly running?: HistoryStats;
}

/** How far a check is. */
export interface CheckProgress {
  readonly checked: number;
  readonly chunks: number;
}

/** Answer of `HISTORY_CHECK_PATH`: `CheckReport`, after `CheckProgress`. */
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
