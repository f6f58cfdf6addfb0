/**
 * Reads chunks of one VM back as rows, on any thread with a connection of its own; and goes
 * through all of them to say which are damaged.
 */
import type { Statement } from 'better-sqlite3';
import { splitSeriesKey } from '../../streams/evaluation/entry.ts';
import { DamagedBytes } from '../../streams/samples/byte-reader.ts';
import type { SqliteDatabase } from '../database.ts';
import { Chunk } from './chunk/chunk-codec.ts';
import { statisticsOf } from './chunk/statistics.ts';
import { HistoryError } from './history-error.ts';
import { DAY_MS } from './history-file.ts';
import { cutRows, type VmRows } from './rows.ts';
import { SeriesNames } from './series-names.ts';

/** A VM and a stretch of time, both ends inclusive, Unix ms. */
export interface RowsRequest {
  readonly project: string;
  readonly vm: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Series names (the part before the labels) wanted; absent = all. */
  readonly names?: readonly string[];
}

/** A chunk that is not what was written. */
export interface DamagedChunk {
  readonly chunk: number;
  readonly project: string;
  readonly vm: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly detail: string;
}

export interface CheckReport {
  readonly chunks: number;
  readonly rows: number;
  readonly bytes: number;
  readonly damaged: readonly DamagedChunk[];
}

/** Thrown out of a read whose asker has gone. */
export class ReadCancelled extends Error {}

interface ChunkRow {
  readonly id: number;
  readonly data: Buffer;
}

interface CheckedChunk extends ChunkRow {
  readonly project: string;
  readonly vm: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly rows: number;
}

export class ChunkReader {
  readonly #database: SqliteDatabase;
  readonly #vmId: Statement<[string, string], { id: number }>;
  readonly #chunks: Statement<[number, number, number, number], ChunkRow>;
  readonly #days: Statement<[], { first: number | null; last: number | null }>;
  readonly #newestDay: Statement<[number, number], ChunkRow>;
  readonly #names: SeriesNames;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#vmId = database.prepare('SELECT id FROM vms WHERE project = ? AND vm = ?');
    this.#chunks = database.prepare(
      `SELECT id, data FROM chunks
       WHERE day = ? AND vm = ? AND start_ms <= ? AND end_ms >= ? ORDER BY id`,
    );
    this.#days = database.prepare('SELECT min(day) AS first, max(day) AS last FROM chunks');
    this.#newestDay = database.prepare(
      `SELECT id, data FROM chunks WHERE day = ? AND vm = ? ORDER BY end_ms DESC LIMIT 1`,
    );
    this.#names = new SeriesNames(database);
  }

  /**
   * The VM's chunks that touch the stretch, cut to it, oldest chunk of each day first: the order
   * in which `mergeRows` lets the first prevail. Throws `HistoryError` DAMAGED, never gives a part.
   */
  read(request: RowsRequest, isCancelled: () => boolean = () => false): VmRows[] {
    const vm = this.#vmId.get(request.project, request.vm)?.id;
    if (vm === undefined) return [];
    const wanted = request.names && new Set(request.names);
    const parts: VmRows[] = [];
    const stored = this.#days.get();
    const lastDay = Math.min(Math.floor(request.toMs / DAY_MS), stored?.last ?? -Infinity);
    const firstDay = Math.max(Math.floor(request.fromMs / DAY_MS), stored?.first ?? Infinity);
    for (let day = firstDay; day <= lastDay; day++) {
      for (const row of this.#chunks.iterate(day, vm, request.toMs, request.fromMs)) {
        if (isCancelled()) throw new ReadCancelled();
        const rows = this.#decode(row, wanted);
        parts.push(cutRows(rows, request.fromMs, request.toMs));
      }
    }
    return parts;
  }

  /** Rows of the VM's newest chunk at or before a time and at most `days` days older. */
  newest(options: { project: string; vm: string; atMs: number; days: number }): VmRows | undefined {
    const vm = this.#vmId.get(options.project, options.vm)?.id;
    if (vm === undefined) return undefined;
    const lastDay = Math.floor(options.atMs / DAY_MS);
    for (let day = lastDay; day >= lastDay - options.days; day--) {
      const row = this.#newestDay.get(day, vm);
      if (row !== undefined) return this.#decode(row, undefined);
    }
    return undefined;
  }

  /** Decodes every chunk and compares it with what the table says of it. */
  check(isCancelled: () => boolean = () => false): CheckReport {
    const damaged: DamagedChunk[] = [];
    let [chunks, rows, bytes] = [0, 0, 0];
    for (const row of this.#allChunks().iterate()) {
      if (isCancelled()) throw new ReadCancelled();
      chunks++;
      rows += row.rows;
      bytes += row.data.length;
      const detail = this.#faultOf(row);
      const { id: chunk, project, vm, startMs, endMs } = row;
      if (detail !== undefined) damaged.push({ chunk, project, vm, startMs, endMs, detail });
    }
    return { chunks, rows, bytes, damaged };
  }

  #allChunks(): Statement<[], CheckedChunk> {
    return this.#database.prepare(
      `SELECT chunks.id AS id, project, vms.vm AS vm, start_ms AS startMs, end_ms AS endMs, rows,
         data FROM chunks JOIN vms ON vms.id = chunks.vm ORDER BY chunks.id`,
    );
  }

  #decode(row: ChunkRow, wanted: ReadonlySet<string> | undefined): VmRows {
    try {
      return new Chunk(row.data).rows((id) => {
        const key = this.#names.keyOf(id);
        return wanted && !wanted.has(splitSeriesKey(key).name) ? undefined : key;
      });
    } catch (cause) {
      if (!(cause instanceof DamagedBytes)) throw cause;
      throw new HistoryError('DAMAGED', `Chunk ${row.id}: ${cause.message}`, { cause });
    }
  }

  #faultOf(row: CheckedChunk): string | undefined {
    try {
      const { timesMs } = this.#decode(row, undefined);
      if (timesMs.length !== row.rows) return `${timesMs.length} rows where ${row.rows} belong`;
      if (timesMs.some((time, i) => i > 0 && !(time > (timesMs[i - 1] as number)))) {
        return 'its times do not rise';
      }
      if (timesMs[0] !== row.startMs || timesMs.at(-1) !== row.endMs) {
        return 'its times are not those of its place';
      }
      return statisticsFault(new Chunk(row.data));
    } catch (error) {
      if (error instanceof HistoryError) return error.message;
      throw error;
    }
  }
}

function statisticsFault(chunk: Chunk): string | undefined {
  for (const id of chunk.seriesIds()) {
    const stored = chunk.statistics(id);
    const values = chunk.values(id);
    if (stored === undefined || values === undefined) return 'a column is missing';
    const fresh = statisticsOf(values);
    const names = ['count', 'min', 'max', 'sum', 'first', 'last', 'resets'] as const;
    if (names.some((name) => !Object.is(stored[name], fresh[name]))) {
      return 'its statistics are not those of its values';
    }
  }
  return undefined;
}
