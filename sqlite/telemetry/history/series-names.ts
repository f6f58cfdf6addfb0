/**
 * The dictionary of series keys for readers: numbers to names, read on first use. Names are
 * remembered up to a bound and then forgotten, so that names that are no longer stored do not stay.
 */
import type { Statement } from 'better-sqlite3';
import type { SeriesKey } from '../../../streams/telemetry/samples/batch.ts';
import type { SqliteDatabase } from '../../platform/database.ts';
import { HistoryError } from './history-error.ts';

/** Characters of the names that are remembered: those of some hundred thousand series. */
const CHARACTERS_MAX = 16 * 1024 * 1024;

/** Keys of series by the numbers that chunks hold. */
export class SeriesNames {
  readonly #keys = new Map<number, SeriesKey>();
  readonly #keyOf: Statement<[number], { key: string }>;
  readonly #charactersMax: number;
  #characters = 0;

  constructor(database: SqliteDatabase, charactersMax = CHARACTERS_MAX) {
    this.#keyOf = database.prepare('SELECT key FROM series WHERE id = ?');
    this.#charactersMax = charactersMax;
  }

  /** Characters that are remembered. */
  get characters(): number {
    return this.#characters;
  }

  /** Throws `HistoryError` DAMAGED for a number that has no name. */
  keyOf(id: number): SeriesKey {
    const known = this.#keys.get(id);
    if (known !== undefined) return known;
    const key = this.#keyOf.get(id)?.key;
    if (key === undefined) throw new HistoryError('DAMAGED', `Series ${id} has no name`);
    if (this.#characters + key.length > this.#charactersMax) {
      this.#keys.clear();
      this.#characters = 0;
    }
    this.#keys.set(id, key);
    this.#characters += key.length;
    return key;
  }
}
