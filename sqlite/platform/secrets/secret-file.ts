/**
 * Sealing under the master key, and the tables of `secrets.db`, which take and return sealed bytes. A
 * sealed value is AES-256-GCM: version byte, 12-byte nonce, 16-byte tag, ciphertext. Purpose and id are
 * authenticated with it, so that a value moved to another row, or sent under another subject, does not
 * open. What is deleted is overwritten in the file, and SQLite's log is emptied after it.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Random } from '../../../streams/platform/random.ts';
import { type Migration, openDatabase, type SqliteDatabase } from '../database.ts';
import { type Later, WalTruncator } from './wal-truncator.ts';

export const MASTER_KEY_BYTES = 32;

/** The master key is not the one under which something was sealed. */
export class WrongMasterKey extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WrongMasterKey';
  }
}

/** A sealed value does not open although the key is right: it was changed, or moved. */
export class SealBroken extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SealBroken';
  }
}

export interface Seal {
  close(id: string, purpose: string, value: Uint8Array): Uint8Array;
  /** Throws `SealBroken`. */
  open(id: string, purpose: string, sealed: Uint8Array): Uint8Array;
}

export interface SealOptions {
  /** 32 bytes. */
  readonly masterKey: Uint8Array;
  /** For nonces: must be the system's generator outside tests. */
  readonly random: Random;
}

/** Opens only under the right key: shows at start whether the key is wrong or a value is broken. */
export const CANARY = { id: 'master-key', purpose: 'canary' } as const;

const KEY_ID_BYTES = 8;

/** Names the key where it must not be shown: in a manifest, a refusal, a member's record. 16 hex digits. */
export function keyIdOf(masterKey: Uint8Array): string {
  const id = hkdfSync('sha256', masterKey, '', 'svc key id', KEY_ID_BYTES);
  return Buffer.from(id).toString('hex');
}

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/**
 * Random nonces under one key are safe for 2^32 values (NIST SP 800-38D, 8.3); at a thousand
 * deliveries an hour, of all members together, that is five centuries. Throws `WrongMasterKey` for a
 * key of another length.
 */
export function createSeal({ masterKey, random }: SealOptions): Seal {
  if (masterKey.length !== MASTER_KEY_BYTES) {
    throw new WrongMasterKey(
      `The master key has ${masterKey.length} bytes: give ${MASTER_KEY_BYTES}`,
    );
  }
  return {
    close: (id, purpose, value) => {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', masterKey, nonce);
      cipher.setAAD(boundTo(id, purpose));
      const body = Buffer.concat([cipher.update(value), cipher.final()]);
      return Buffer.concat([Uint8Array.of(VERSION), nonce, cipher.getAuthTag(), body]);
    },
    open: (id, purpose, sealed) => {
      const what = `The sealed ${purpose} of ${id}`;
      if (sealed[0] !== VERSION || sealed.length < HEAD_BYTES) {
        throw new SealBroken(`${what} has a form that this program does not know`);
      }
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const cipher = createDecipheriv('aes-256-gcm', masterKey, nonce, {
        authTagLength: TAG_BYTES,
      });
      cipher.setAAD(boundTo(id, purpose));
      cipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
      try {
        return Buffer.concat([cipher.update(sealed.subarray(HEAD_BYTES)), cipher.final()]);
      } catch (error) {
        throw new SealBroken(`${what} does not open: it was changed, or moved`, { cause: error });
      }
    },
  };
}

/** JSON keeps the two apart whatever they contain. */
function boundTo(id: string, purpose: string): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(['svc-sealed', VERSION, purpose, id]));
}

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
