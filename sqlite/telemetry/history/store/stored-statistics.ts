/**
 * Statistics of `history.db`: use of disk space and extent of history. Reads only the table, not
 * the chunks.
 */
import type { SqliteDatabase } from '../../../platform/database.ts';
import { DAY_MS } from '../history-file.ts';

/** Sizes and extent of the stored data. */
export interface StoredStatistics {
  readonly projects: number;
  /** VMs with chunks. */
  readonly vms: number;
  /** Distinct series keys of all VMs. */
  readonly seriesKeys: number;
  readonly chunks: number;
  readonly rows: number;
  /** Size of all chunks. */
  readonly chunkBytes: number;
  /** Size of the file, and the part of it that is free for new chunks. */
  readonly fileBytes: number;
  readonly freeBytes: number;
  /** Oldest and newest observation, Unix ms; absent without chunks. */
  readonly oldestMs?: number;
  readonly newestMs?: number;
  /** Newest first. */
  readonly days: readonly StoredDay[];
}

/** Chunks of one UTC day. */
export interface StoredDay {
  /** Start of the day, Unix ms. */
  readonly startMs: number;
  readonly vms: number;
  readonly chunks: number;
  readonly rows: number;
  readonly bytes: number;
}

interface DayRow extends Omit<StoredDay, 'startMs'> {
  readonly day: number;
  readonly oldestMs: number;
  readonly newestMs: number;
}

/** Takes as long as reading the table without its chunks: milliseconds per gigabyte. */
export function storedStatistics(database: SqliteDatabase): StoredStatistics {
  const count = (sql: string): number =>
    database.prepare<[], { count: number }>(sql).get()?.count ?? 0;
  const pageBytes = Number(database.pragma('page_size', { simple: true }));
  const days = database
    .prepare<[], DayRow>(
      `SELECT day, count(DISTINCT vm) AS vms, count(*) AS chunks, sum(rows) AS rows,
         sum(length(data)) AS bytes, min(start_ms) AS oldestMs, max(end_ms) AS newestMs
       FROM chunks GROUP BY day ORDER BY day DESC`,
    )
    .all();
  const sum = (of: (day: DayRow) => number): number => days.reduce((all, day) => all + of(day), 0);
  const stored = 'FROM vms WHERE id IN (SELECT vm FROM chunks)';
  return {
    projects: count(`SELECT count(DISTINCT project) AS count ${stored}`),
    vms: count(`SELECT count(*) AS count ${stored}`),
    seriesKeys: count('SELECT count(*) AS count FROM series'),
    chunks: sum((day) => day.chunks),
    rows: sum((day) => day.rows),
    chunkBytes: sum((day) => day.bytes),
    fileBytes: pageBytes * Number(database.pragma('page_count', { simple: true })),
    freeBytes: pageBytes * Number(database.pragma('freelist_count', { simple: true })),
    ...(days.length > 0 && {
      oldestMs: Math.min(...days.map((day) => day.oldestMs)),
      newestMs: Math.max(...days.map((day) => day.newestMs)),
    }),
    days: days.map(({ day, vms, chunks, rows, bytes }) => {
      return { startMs: day * DAY_MS, vms, chunks, rows, bytes };
    }),
  };
}
