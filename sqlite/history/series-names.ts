/**
 * The dictionary of series keys as readers see it: numbers to names, read on as it grows.
 */
import type { Statement } from 'better-sqlite3';
import type { SeriesKey } from '../../streams/samples/batch.ts';
import type { SqliteDatabase } from '../database.ts';
import { HistoryError } from './history-error.ts';

export class SeriesNames {
  readonly #keys = new Map<number, SeriesKey>();
  readonly #newer: Statement<[number], { id: number; key: string }>;
  #last = 0;

  constructor(database: SqliteDatabase) {
    this.#newer = database.prepare('SELECT id, key FROM series WHERE id > ? ORDER BY id');
  }

  /** Throws `HistoryError` DAMAGED for a number that was never given out. */
  keyOf(id: number): SeriesKey {
    if (id > this.#last) {
      for (const row of this.#newer.iterate(this.#last)) {
        this.#keys.set(row.id, row.key);
        this.#last = row.id;
      }
    }
    const key = this.#keys.get(id);
    if (key === undefined) throw new HistoryError('DAMAGED', `Series ${id} has no name`);
    return key;
  }
}
