/**
 * The file `secrets.db`: tables that take and return sealed bytes, and the canary, which shows at
 * start whether the key is wrong. Deleting a row destroys the secret, which an append-only log cannot
 * do: the row is overwritten in the file, then SQLite's log is emptied.
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import { countChangesOf } from '../change-count.ts';
import { type Migration, openDatabase, type SqliteDatabase } from '../database.ts';
import { checksumOf } from '../row-checksum.ts';
import {
  createKeyRing,
  KEY_CHANGE,
  type KeyPair,
  type KeyRing,
  openKeyChange,
} from './key-change.ts';
import { type Seal, SealBroken, type SealOptions, WrongMasterKey } from './seal.ts';
import type { LastUsedStore } from './secret-store.ts';
import { type Later, WalTruncator } from './wal-truncator.ts';

export interface SecretStoreOptions extends SealOptions {
  /** File path; created if missing. */
  readonly path: string;
  /** For emptying the log once for many deletions; absent: after each. */
  readonly later?: Later;
  /** Stores a new master key where the next start finds it. False: that place is not writable. */
  readonly keep?: KeepKey;
}

/** Stores a master key; false if the place of the key file cannot be written. */
export type KeepKey = (next: Uint8Array) => boolean;

/** A store's file and its keys. */
export interface OpenedSecretFile {
  readonly file: SecretFile;
  readonly ring: KeyRing;
}

/**
 * The file, with a canary, and its keys: two if a change of the master key is not finished. Throws
 * `WrongMasterKey`, and what `openDatabase` throws.
 *
 * @param shared the change that the members' stream has; absent: the file's own
 */
export function openSecretFile(
  options: SecretStoreOptions,
  synchronous: 'FULL' | 'NORMAL',
  shared?: KeyPair,
): OpenedSecretFile {
  const file = new SecretFile({ ...options, synchronous });
  try {
    const record = file.get(KEY_CHANGE);
    const pair = shared ?? (record && openKeyChange(record, options, options.path));
    const ring = createKeyRing(options, pair);
    if (!hasCanary(() => file.get(CANARY), ring, options.path)) file.put(CANARY, canary(ring));
    return { file, ring };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Value that proves that a key is the one under which the rest is sealed. */
export function canary(seal: Seal): Uint8Array {
  return seal.close(CANARY.id, CANARY.purpose, new TextEncoder().encode('ok'));
}

/**
 * Compares an existing store with the key; changes nothing. Throws `WrongMasterKey`, and what
 * SQLite throws.
 */
export function assertSealedUnder(options: Omit<SecretStoreOptions, 'later' | 'keep'>): void {
  if (!existsSync(options.path)) return;
  const database = new Database(options.path, { fileMustExist: true });
  try {
    const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sealed'");
    if (table.get() === undefined) return;
    const read = ({ id, purpose }: SealedKey) => preparedGet(database).get(id, purpose);
    const record = read(KEY_CHANGE);
    const pair = record && openKeyChange(record, options, options.path);
    hasCanary(() => read(CANARY), createKeyRing(options, pair), options.path);
  } finally {
    database.close();
  }
}

/** Throws `WrongMasterKey` if there is one that the key does not open. */
function hasCanary(get: () => Uint8Array | undefined, seal: Seal, path: string): boolean {
  try {
    const sealed = get();
    if (sealed !== undefined) seal.open(CANARY.id, CANARY.purpose, sealed);
    return sealed !== undefined;
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    throw new WrongMasterKey(
      `${path} was sealed under a master key other than the given one: use the key it was created ` +
        'with, or the last one of "svc admin rekey", or move the file away to start without its secrets',
    );
  }
}

export function lastUsedStore(database: SqliteDatabase): LastUsedStore {
  const put = database.prepare<[string, number, number]>(
    'INSERT INTO last_used (credential, at_ms, checksum) VALUES (?, ?, ?) ON CONFLICT DO UPDATE ' +
      'SET at_ms = excluded.at_ms, checksum = excluded.checksum WHERE excluded.at_ms > at_ms',
  );
  const get = database.prepare<[string], { at_ms: number }>(
    'SELECT at_ms FROM last_used WHERE credential = ?',
  );
  return {
    record: database.transaction((uses) => {
      for (const { credential, atMs } of uses) {
        put.run(credential, atMs, checksumOf([credential, atMs]));
      }
    }),
    get: (credential) => get.get(credential)?.at_ms,
  };
}

/** Opens only under the right key: shows at start whether the key is wrong or a value is broken. */
export const CANARY = { id: 'master-key', purpose: 'canary' } as const;

const OF_THE_FILE: readonly string[] = [CANARY.purpose, KEY_CHANGE.purpose];

export const BODY = 'body';
export const EXCERPT = 'excerpt';

/** Identifies a value: it is sealed under its purpose and id. */
export interface SealedKey {
  /** `body`, `excerpt`, or any purpose of sealed values. */
  readonly purpose: string;
  /** For a body the delivery's id, for an excerpt the attempt's. */
  readonly id: string;
  /** For an excerpt: delivery of its attempt. */
  readonly of?: string;
}

/** Position up to which the shared stream has been applied to the file. */
export interface Bound {
  /** Identity of the stream. */
  readonly identity: string;
  /** Every message up to this sequence is applied. */
  readonly position: number;
  /** Sequence of the last applied sweep, 0 = none. */
  readonly sweep: number;
}

/** Migrations of `secrets.db`. */
export const secretsMigrations: readonly Migration[] = [
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
  {
    id: 4,
    sql: `
      -- See row-checksum.ts. Sealed values have a tag, which also covers their keys, except for the
      -- delivery of an excerpt.
      ALTER TABLE last_used ADD COLUMN checksum INTEGER;
      ALTER TABLE excerpts ADD COLUMN checksum INTEGER;
      ALTER TABLE bound ADD COLUMN checksum INTEGER;`,
  },
  {
    id: 5,
    sql: countChangesOf({
      sealed: ['INSERT', 'UPDATE', 'DELETE'],
      bodies: ['INSERT', 'UPDATE', 'DELETE'],
      excerpts: ['INSERT', 'UPDATE', 'DELETE'],
    }),
  },
];

export interface SecretFileOptions {
  /** File path; created if missing. */
  readonly path: string;
  /** FULL if only the file has the values, NORMAL if a stream has them too. */
  readonly synchronous: 'FULL' | 'NORMAL';
  /** For emptying the log once for many deletions; absent: after each. */
  readonly later?: Later;
}

/** Maximum number of cached sealed values: each delivery attempt reads those of its destination. */
const LATEST_MAX = 256;

export class SecretFile {
  /** For the other tables in the file. */
  readonly database: SqliteDatabase;
  readonly #log: WalTruncator;
  readonly #sql: ReturnType<typeof statements>;
  readonly #latest = new BoundedCache<string, Buffer>(LATEST_MAX);
  readonly #removeAll: (keys: readonly SealedKey[]) => number;

  /** Throws what `openDatabase` throws. */
  constructor({ path, synchronous, later }: SecretFileOptions) {
    this.database = openDatabase({
      path,
      synchronous,
      migrations: secretsMigrations,
      secureDelete: true,
    });
    this.#log = new WalTruncator(this.database, later);
    try {
      // Deletions of a process that died before it emptied the log.
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
    if (purpose === BODY) return this.#sql.getBody.get(id);
    if (purpose === EXCERPT) return this.#sql.getExcerpt.get(of, id);
    const key = `${purpose} ${id}`;
    const value = this.#latest.get(key) ?? this.#sql.get.get(id, purpose);
    // A transaction's writes may be rolled back.
    if (value && !this.database.inTransaction) this.#latest.set(key, value);
    return value;
  }

  /** Replaces the existing value. */
  put({ purpose, id, of = '' }: SealedKey, value: Uint8Array): void {
    this.#latest.delete(`${purpose} ${id}`);
    if (purpose === BODY) this.#sql.putBody.run(id, value);
    else if (purpose === EXCERPT) {
      this.#sql.putExcerpt.run(of, id, value, checksumOf([of, id]));
    } else this.#sql.put.run(id, purpose, value);
  }

  /** Returns false, and changes nothing, if the value exists. */
  putMissing(key: SealedKey, value: Uint8Array): boolean {
    if (this.get(key) !== undefined) return false;
    this.put(key, value);
    return true;
  }

  /** Runs in one transaction; SQLite's log keeps the values, see `emptyLog`. @returns how many */
  remove(keys: readonly SealedKey[]): number {
    return this.#removeAll(keys);
  }

  /** Removes deleted values from SQLite's log: before it returns, or with others within 10 s. */
  emptyLog(when: 'now' | 'soon'): void {
    this.#log[when]();
  }

  ids(purpose: string): string[] {
    return purpose === BODY ? this.#sql.bodies.all() : this.#sql.ids.all(purpose);
  }

  /** Attempts of the delivery with a stored excerpt. */
  attemptsOf(delivery: string): string[] {
    return this.#sql.attempts.all(delivery);
  }

  /** Keys of all sealed values except the canary and the change of the key, which are the file's. */
  keys(): SealedKey[] {
    const values = this.#sql.values.all();
    const bodies = this.#sql.bodies.all().map((id) => ({ purpose: BODY, id }));
    const excerpts = this.#sql.excerpts.all().map((row) => ({ purpose: EXCERPT, ...row }));
    const shared = values.filter(({ purpose }) => !OF_THE_FILE.includes(purpose));
    return [...shared, ...bodies, ...excerpts];
  }

  bound(): Bound | undefined {
    return this.#sql.bound.get();
  }

  bind({ identity, position, sweep }: Bound): void {
    const columns = [identity, position, sweep] as const;
    this.#sql.bind.run(...columns, checksumOf([1, ...columns]));
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
    this.#latest.delete(`${purpose} ${id}`);
    if (purpose === BODY) return removeBody.run(id).changes;
    if (purpose === EXCERPT) return removeExcerpt.run(of, id).changes;
    return remove.run(id, purpose).changes;
  }
}

function preparedGet(database: SqliteDatabase) {
  const sql = 'SELECT value FROM sealed WHERE id = ? AND purpose = ?';
  return database.prepare<[string, string], Buffer>(sql).pluck();
}

function statements(database: SqliteDatabase) {
  const prepare = database.prepare.bind(database) as typeof database.prepare;
  return {
    get: preparedGet(database),
    put: prepare<[string, string, Uint8Array]>(
      'INSERT INTO sealed (id, purpose, value) VALUES (?, ?, ?) ' +
        'ON CONFLICT DO UPDATE SET value = excluded.value',
    ),
    remove: prepare<[string, string]>('DELETE FROM sealed WHERE id = ? AND purpose = ?'),
    ids: prepare<[string], string>('SELECT id FROM sealed WHERE purpose = ?').pluck(),
    values: prepare<[], SealedKey>('SELECT id, purpose FROM sealed'),
    getBody: prepare<[string], Buffer>('SELECT value FROM bodies WHERE delivery_id = ?').pluck(),
    putBody: prepare<[string, Uint8Array]>(
      'INSERT INTO bodies (delivery_id, value) VALUES (?, ?) ' +
        'ON CONFLICT DO UPDATE SET value = excluded.value',
    ),
    removeBody: prepare<[string]>('DELETE FROM bodies WHERE delivery_id = ?'),
    bodies: prepare<[], string>('SELECT delivery_id FROM bodies').pluck(),
    getExcerpt: prepare<[string, string], Buffer>(
      'SELECT value FROM excerpts WHERE delivery_id = ? AND attempt_id = ?',
    ).pluck(),
    putExcerpt: prepare<[string, string, Uint8Array, number]>(
      'INSERT INTO excerpts (delivery_id, attempt_id, value, checksum) VALUES (?, ?, ?, ?) ' +
        'ON CONFLICT DO UPDATE SET value = excluded.value, checksum = excluded.checksum',
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
    bind: prepare<[string, number, number, number]>(
      'INSERT INTO bound (one, identity, position, sweep, checksum) VALUES (1, ?, ?, ?, ?) ' +
        'ON CONFLICT DO UPDATE SET identity = excluded.identity, ' +
        'position = excluded.position, sweep = excluded.sweep, checksum = excluded.checksum',
    ),
  };
}
