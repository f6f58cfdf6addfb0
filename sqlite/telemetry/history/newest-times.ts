/**
 * When a VM was last observed before a moment, out of chunks: from the table where a chunk ends
 * before it, else from the chunk's time column alone. No value is decoded, so that a question of
 * age costs little and is answered also where a chunk's readings are damaged.
 */
import type { Statement } from 'better-sqlite3';
import { DamagedBytes } from '../../../streams/telemetry/samples/byte-reader.ts';
import type { SqliteDatabase } from '../../platform/database.ts';
import { Chunk } from './chunk/chunk-codec.ts';
import { HistoryError } from './history-error.ts';
import { DAY_MS } from './history-file.ts';
import { firstAtOrAfter } from './rows.ts';

/** Both Unix ms and inclusive. */
export interface NewestTimeRequest {
  readonly project: string;
  readonly vm: string;
  readonly atMs: number;
  readonly notBeforeMs: number;
}

export class NewestTimes {
  readonly #vmId: Statement<[string, string], { id: number }>;
  readonly #ended: Statement<[number, number, number], { endMs: number | null }>;
  readonly #spanning: Statement<[number, number, number, number], { id: number; data: Buffer }>;

  constructor(database: SqliteDatabase) {
    this.#vmId = database.prepare('SELECT id FROM vms WHERE project = ? AND vm = ?');
    this.#ended = database.prepare(
      'SELECT max(end_ms) AS endMs FROM chunks WHERE day = ? AND vm = ? AND end_ms <= ?',
    );
    this.#spanning = database.prepare(
      'SELECT id, data FROM chunks WHERE day = ? AND vm = ? AND start_ms <= ? AND end_ms > ?',
    );
  }

  /** Unix ms; undefined = not observed in that time. Throws `HistoryError` DAMAGED. */
  find({ project, vm, atMs, notBeforeMs }: NewestTimeRequest): number | undefined {
    const id = this.#vmId.get(project, vm)?.id;
    if (id === undefined) return undefined;
    const firstDay = Math.floor(notBeforeMs / DAY_MS);
    for (let day = Math.floor(atMs / DAY_MS); day >= firstDay; day--) {
      let newestMs = this.#ended.get(day, id, atMs)?.endMs ?? Number.NEGATIVE_INFINITY;
      for (const row of this.#spanning.iterate(day, id, atMs, atMs)) {
        newestMs = Math.max(newestMs, newestIn(row, atMs));
      }
      if (newestMs >= notBeforeMs) return newestMs;
    }
    return undefined;
  }
}

function newestIn(row: { readonly id: number; readonly data: Buffer }, atMs: number): number {
  try {
    const timesMs = new Chunk(row.data).timesMs();
    return timesMs[firstAtOrAfter(timesMs, atMs, false) - 1] ?? Number.NEGATIVE_INFINITY;
  } catch (cause) {
    if (!(cause instanceof DamagedBytes)) throw cause;
    throw new HistoryError('DAMAGED', `Chunk ${row.id}: ${cause.message}`, { cause });
  }
}
