/**
 * The dictionary of series keys for readers: numbers to names, read on first use. Names are cached
 * up to a bound, at which the cache is emptied, so that names that are no longer stored do not
 * stay.
 */
import type { Statement } from 'better-sqlite3';
import type { SeriesKey } from '../../../streams/telemetry/samples/batch.ts';
import type { SqliteDatabase } from '../../platform/database.ts';
import { checksumOf } from '../../platform/row-checksum.ts';
import { HistoryError } from './history-error.ts';

interface SeriesRow {
  readonly key: string;
  readonly lastDay: number;
  readonly checksum: number | null;
}

/** Maximum size of the cached names, characters: those of a few hundred thousand series. */
const CHARACTERS_MAX = 16 * 1024 * 1024;

/** Keys of series by their numbers in chunks. */
export class SeriesNames {
  readonly #keys = new Map<number, SeriesKey>();
  readonly #keyOf: Statement<[number], SeriesRow>;
  readonly #charactersMax: number;
  #characters = 0;

  constructor(database: SqliteDatabase, charactersMax = CHARACTERS_MAX) {
    this.#keyOf = database.prepare(
      'SELECT id, key, last_day AS lastDay, checksum FROM series WHERE id = ?',
    );
    this.#charactersMax = charactersMax;
  }

  /** Size of the cached names, characters. */
  get characters(): number {
    return this.#characters;
  }

  /** Throws `HistoryError` DAMAGED for a number without a name. */
  keyOf(id: number): SeriesKey {
    const known = this.#keys.get(id);
    if (known !== undefined) return known;
    const row = this.#keyOf.get(id);
    if (row === undefined) throw new HistoryError('DAMAGED', `Series ${id} has no name`);
    const { key, lastDay, checksum } = row;
    if (checksum !== null && checksum !== checksumOf([id, key, lastDay])) {
      throw new HistoryError('DAMAGED', `The name of series ${id} is damaged`);
    }
    if (this.#characters + key.length > this.#charactersMax) {
      this.#keys.clear();
      this.#characters = 0;
    }
    this.#keys.set(id, key);
    this.#characters += key.length;
    return key;
  }
}
