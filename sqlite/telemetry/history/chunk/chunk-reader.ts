/** Reads chunks of one VM back as rows, on any thread with its own connection. */
import type { Statement } from 'better-sqlite3';
import { splitSeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { DamagedBytes } from '../../../../streams/telemetry/samples/byte-reader.ts';
import type { SqliteDatabase } from '../../../platform/database.ts';
import { HistoryError, ReadCancelled } from '../history-error.ts';
import { DAY_MS } from '../history-file.ts';
import { cutRows, type VmRows } from '../rows.ts';
import { SeriesNames } from '../series-names.ts';
import { Chunk } from './chunk-codec.ts';

interface ChunkRow {
  readonly id: number;
  readonly data: Buffer;
}

/** A VM and a time range, both ends inclusive, Unix ms. */
export interface RowsRequest {
  readonly project: string;
  readonly vm: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Requested series names (the part before the labels); absent = all. */
  readonly names?: readonly string[];
  /**
   * true: accepted rows that are not readable yet may be missing from the result. Absent: such a
   * read fails as INCOMPLETE.
   */
  readonly mayLackRows?: boolean;
}

/**
 * Rows of chunks. Every read compares checksums, and throws `HistoryError` DAMAGED if one does not
 * match.
 */
export class ChunkReader {
  readonly #vmId: Statement<[string, string], { id: number }>;
  readonly #chunks: Statement<[number, number, number, number], ChunkRow>;
  readonly #days: Statement<[], { first: number | null; last: number | null }>;
  readonly #newestDay: Statement<[number, number], ChunkRow>;
  readonly #names: SeriesNames;

  constructor(database: SqliteDatabase) {
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
   * The VM's chunks that touch the time range, trimmed to it, oldest chunk of each day first: the
   * order of precedence in `mergeRows`. Throws `HistoryError` DAMAGED rather than return an
   * incomplete result.
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

  /**
   * Rows of the VM's newest chunk that ends at or before a time and is at most `days` days older.
   */
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
}
