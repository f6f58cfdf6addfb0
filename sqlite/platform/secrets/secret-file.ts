/**
 * The tables of `secrets.db`. They take and return sealed bytes: what seals and opens them is above.
 * What is deleted is overwritten in the file, and SQLite's log is emptied after it.
 */

import { type Migration, openDatabase, type SqliteDatabase } from '../database.ts';
import { CANARY } from './seal.ts';
import { type Later, WalTruncator } from './wal-truncator.ts';

export const BODY = 'body';
export const EXCERPT = 'excerpt';

/** Which value: sealed under its purpose and id. */
export interface SealedKey {
  /** `body`, `excerpt`, or any other of sealed values. */
  readonly purpose: string;
  /** Of a body the delivery's, of an excerpt the attempt's. */
  readonly id: string;
  /** The delivery of an excerpt's attempt. */
  readonly of?: string;
}

/** How far the shared stream has been applied to the file. */
export interface Bound {
  /** The stream's. */
  readonly identity: string;
  /** Every message up to this sequence is applied. */
  readonly position: number;
  /** Sequence of the last sweep that is applied, 0 = none. */
  readonly sweep: number;
}

const migrations: readonly Migration[] = [
  {
    id: 1,
    sql: `
      CREATE TABLE sealed (id TEXT NOT NULL, purpose TEXT NOT NULL, value BLOB NOT NULL,
        PRIMARY KEY (id, purpose)) STRICT, WITHOUT ROWID;
      CREATE TABLE bodies (delivery_id TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
      CREATE TABLE last_used (credential TEXT PRIMARY KEY, at_ms INTEGER NOT NULL)
        STRICT, WITHOUT ROWID;`,
  },
  {
    id: 2,
    sql: `
      CREATE TABLE excerpts (delivery_id TEXT NOT NULL, attempt_id TEXT NOT NULL,
        value BLOB NOT NULL, PRIMARY KEY (delivery_id, attempt_id)) STRICT, WITHOUT ROWID;`,
  },
  {
    id: 3,
    sql: `
      CREATE TABLE bound (one INTEGER PRIMARY KEY CHECK (one = 1), identity TEXT NOT NULL,
        position INTEGER NOT NULL, sweep INTEGER NOT NULL) STRICT;`,
  },
];

export interface SecretFileOptions {
  /** File path; made when missing. */
  readonly path: string;
  /** FULL where the file alone has the values, NORMAL where a stream has them too. */
  readonly synchronous: 'FULL' | 'NORMAL';
  /** For emptying the log once for many deletions; absent: with each. */
  readonly later?: Later;
}

interface Row {
  readonly value: Buffer;
}

export class SecretFile {
  /** For what else lies in the file. */
  readonly database: SqliteDatabase;
  readonly #log: WalTruncator;
  readonly #sql: ReturnType<typeof statements>;
  readonly #removeAll: (keys: readonly SealedKey[]) => number;

  /** Throws what `openDatabase` throws. */
  constructor({ path, synchronous, later }: SecretFileOptions) {
    this.database = openDatabase({ path, synchronous, migrations, secureDelete: true });
    this.#log = new WalTruncator(this.database, later);
    try {
      // What a process deleted that died before it emptied the log.
      this.#log.now();
      this.#sql = statements(this.database);
    } catch (error) {
      this.database.close();
      throw error;
    }
    this.#removeAll = this.database.transaction((keys: readonly SealedKey[]) =>
      keys.reduce((removed, key) => removed + this.#removeOne(key), 0),
    );
  }

  get({ purpose, id, of = '' }: SealedKey): Buffer | undefined {
    const { getBody, getExcerpt, get } = this.#sql;
    if (purpose === BODY) return getBody.get(id)?.value;
    return purpose === EXCERPT ? getExcerpt.get(of, id)?.value : get.get(id, purpose)?.value;
  }

  /** Replaces what was there. */
  put({ purpose, id, of = '' }: SealedKey, value: Uint8Array): void {
    if (purpose === BODY) this.#sql.putBody.run(id, value);
    else if (purpose === EXCERPT) this.#sql.putExcerpt.run(of, id, value);
    else this.#sql.put.run(id, purpose, value);
  }

  /** False, and nothing is changed, when there is one. */
  putMissing(key: SealedKey, value: Uint8Array): boolean {
    if (this.get(key) !== undefined) return false;
    this.put(key, value);
    return true;
  }

  /** In one transaction. SQLite's log still has them: see `emptyLog`. @returns how many there were */
  remove(keys: readonly SealedKey[]): number {
    return this.#removeAll(keys);
  }

  /** Ends what was deleted in SQLite's log too: before it returns, or with others within 10 s. */
  emptyLog(when: 'now' | 'soon'): void {
    this.#log[when]();
  }

  ids(purpose: string): string[] {
    return purpose === BODY ? this.#sql.bodies.all() : this.#sql.ids.all(purpose);
  }

  /** Attempts of the delivery of which an excerpt is kept. */
  attemptsOf(delivery: string): string[] {
    return this.#sql.attempts.all(delivery);
  }

  /** Of everything sealed but the canary, which is of this file alone. */
  keys(): SealedKey[] {
    const values = this.#sql.values.all();
    const bodies = this.#sql.bodies.all().map((id) => ({ purpose: BODY, id }));
    const excerpts = this.#sql.excerpts.all().map((row) => ({ purpose: EXCERPT, ...row }));
    return [...values.filter(({ purpose }) => purpose !== CANARY.purpose), ...bodies, ...excerpts];
  }

  bound(): Bound | undefined {
    return this.#sql.bound.get();
  }

  bind({ identity, position, sweep }: Bound): void {
    this.#sql.bind.run(identity, position, sweep);
  }

  transaction(work: () => void): void {
    this.database.transaction(work)();
  }

  close(): void {
    this.#log.close();
    this.database.close();
  }

  #removeOne({ purpose, id, of = '' }: SealedKey): number {
    const { removeBody, removeExcerpt, remove } = this.#sql;
    if (purpose === BODY) return removeBody.run(id).changes;
    if (purpose === EXCERPT) return removeExcerpt.run(of, id).changes;
    return remove.run(id, purpose).changes;
  }
}

function statements(database: SqliteDatabase) {
  const prepare = database.prepare.bind(database) as typeof database.prepare;
  return {
    get: prepare<[string, string], Row>('SELECT value FROM sealed WHERE id = ? AND purpose = ?'),
    put: prepare<[string, string, Uint8Array]>(
      'INSERT INTO sealed (id, purpose, value) VALUES (?, ?, ?) ' +
        'ON CONFLICT DO UPDATE SET value = excluded.value',
    ),
    remove: prepare<[string, string]>('DELETE FROM sealed WHERE id = ? AND purpose = ?'),
    ids: prepare<[string], string>('SELECT id FROM sealed WHERE purpose = ?').pluck(),
    values: prepare<[], SealedKey>('SELECT id, purpose FROM sealed'),
    getBody: prepare<[string], Row>('SELECT value FROM bodies WHERE delivery_id = ?'),
    putBody: prepare<[string, Uint8Array]>(
      'INSERT INTO bodies (delivery_id, value) VALUES (?, ?) ' +
        'ON CONFLICT DO UPDATE SET value = excluded.value',
    ),
    removeBody: prepare<[string]>('DELETE FROM bodies WHERE delivery_id = ?'),
    bodies: prepare<[], string>('SELECT delivery_id FROM bodies').pluck(),
    getExcerpt: prepare<[string, string], Row>(
      'SELECT value FROM excerpts WHERE delivery_id = ? AND attempt_id = ?',
    ),
    putExcerpt: prepare<[string, string, Uint8Array]>(
      'INSERT INTO excerpts (delivery_id, attempt_id, value) VALUES (?, ?, ?) ' +
        'ON CONFLICT DO UPDATE SET value = excluded.value',
    ),
    removeExcerpt: prepare<[string, string]>(
      'DELETE FROM excerpts WHERE delivery_id = ? AND attempt_id = ?',
    ),
    attempts: prepare<[string], string>(
      'SELECT attempt_id FROM excerpts WHERE delivery_id = ?',
    ).pluck(),
    excerpts: prepare<[], { of: string; id: string }>(
      'SELECT delivery_id AS "of", attempt_id AS id FROM excerpts',
    ),
    bound: prepare<[], Bound>('SELECT identity, position, sweep FROM bound'),
    bind: prepare<[string, number, number]>(
      'INSERT INTO bound (one, identity, position, sweep) VALUES (1, ?, ?, ?) ' +
        'ON CONFLICT DO UPDATE SET identity = excluded.identity, ' +
        'position = excluded.position, sweep = excluded.sweep',
    ),
  };
}
