/**
 * Numbers of series keys as the writing thread assigns them, and the last day on which each is
 * needed. Devices and interfaces come and go, and a name that no chunk uses is removed.
 */
import type { Statement } from 'better-sqlite3';
import type { SeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { DamagedBytes } from '../../../../streams/telemetry/samples/byte-reader.ts';
import type { SqliteDatabase } from '../../../platform/database.ts';

interface KnownSeries {
  readonly id: number;
  readonly key: SeriesKey;
  lastDay: number;
}

export class SeriesDictionary {
  readonly #byKey = new Map<SeriesKey, KnownSeries>();
  readonly #byId = new Map<number, KnownSeries>();
  readonly #all: Statement<[], KnownSeries>;
  readonly #add: Statement<[string, number]>;
  readonly #use: Statement<[number, number]>;
  readonly #drop: Statement<[number, number], { id: number }>;

  constructor(database: SqliteDatabase) {
    this.#all = database.prepare('SELECT id, key, last_day AS lastDay FROM series');
    this.#add = database.prepare('INSERT INTO series (key, last_day) VALUES (?, ?)');
    this.#use = database.prepare('UPDATE series SET last_day = ? WHERE id = ?');
    this.#drop = database.prepare(
      `DELETE FROM series WHERE id IN
         (SELECT id FROM series WHERE last_day < ? AND id < (SELECT max(id) FROM series) LIMIT ?)
       RETURNING id`,
    );
    this.forget();
  }

  /** Number of a key for a chunk of the day, made where the key has none. */
  idOf(key: SeriesKey, day: number): number {
    const known = this.#byKey.get(key);
    if (known === undefined) {
      const id = Number(this.#add.run(key, day).lastInsertRowid);
      return this.#remember({ id, key, lastDay: day });
    }
    if (known.lastDay < day) {
      this.#use.run(day, known.id);
      known.lastDay = day;
    }
    return known.id;
  }

  /** Throws `DamagedBytes` for a number that was never given out. */
  keyOf(id: number): SeriesKey {
    const known = this.#byId.get(id);
    if (known === undefined) throw new DamagedBytes('MALFORMED', `Series ${id} has no name`);
    return known.key;
  }

  /** Removes at most `limit` keys that only chunks of earlier days had; says how many went. */
  dropBefore(day: number, limit: number): number {
    const dropped = this.#drop.all(day, limit);
    for (const { id } of dropped) {
      const known = this.#byId.get(id);
      this.#byId.delete(id);
      if (known !== undefined) this.#byKey.delete(known.key);
    }
    return dropped.length;
  }

  /** Goes back to what is stored. */
  forget(): void {
    this.#byKey.clear();
    this.#byId.clear();
    for (const row of this.#all.all()) this.#remember(row);
  }

  #remember(known: KnownSeries): number {
    this.#byKey.set(known.key, known);
    this.#byId.set(known.id, known);
    return known.id;
  }
}
