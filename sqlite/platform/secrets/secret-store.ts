/**
 * `secrets.db`: data that is never in a commit. Sealed values (webhook secrets, URLs that carry
 * one), rendered bodies and responses of deliveries, encrypted under a key outside the database;
 * and the lossy "last used" of credentials. Deleting a row destroys the secret, which an
 * append-only log cannot do: it is overwritten in the file, then SQLite's log is emptied.
 *
 * First the port of sealed values, with two adapters that pass one suite: the file alone, here, for
 * one process, and the file of a member, which follows a stream (`shared-secrets.ts`). Then sealing
 * under the master key, and the tables, which take and return sealed bytes. A sealed value is
 * AES-256-GCM: version byte, 12-byte nonce, 16-byte tag, ciphertext. Purpose and id are
 * authenticated with it, so that a value moved to another row or subject cannot be opened.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { type Migration, openDatabase, type SqliteDatabase } from '../database.ts';
import { type Later, WalTruncator } from './wal-truncator.ts';

export interface SecretStoreOptions extends SealOptions {
  /** File path; created if missing. */
  readonly path: string;
  /** For emptying the log once for many deletions; absent: after each. */
  readonly later?: Later;
}

/**
 * Reads are local. A write is on disk when it resolves, and visible to reads here; where members
 * share the secrets, it is in the stream by then, and reaches each of them.
 */
export interface SecretStore {
  /** Seals `value` under (id, purpose), replacing the existing value. */
  put(id: string, purpose: string, value: Uint8Array): Promise<void>;
  /** The value; undefined if absent. Throws `SealBroken` if it cannot be opened. */
  get(id: string, purpose: string): Uint8Array | undefined;
  /**
   * Replaces the value by the result of `change`; undefined = unchanged. `change` is called again
   * if another member was faster, so that of several first values the same one is in force
   * everywhere.
   *
   * @returns the value in force
   */
  update(id: string, purpose: string, change: Change): Promise<Uint8Array | undefined>;
  /**
   * When it resolves, no file has the value any more; up to 10 s later if another process is
   * reading the file at that moment, and on other members. Harmless if there is none.
   */
  delete(id: string, purpose: string): Promise<void>;
  /** Ids of the sealed values with this purpose. */
  ids(purpose: string): string[];
  readonly bodies: BodyStore;
  readonly excerpts: ExcerptStore;
  readonly lastUsed: LastUsedStore;
  /**
   * Resolves once reads have everything that any member had written before the call: a commit may
   * arrive before the value that it names. Rejects with `StreamUnavailable`.
   */
  caughtUp(): Promise<void>;
  /** Removes traces of deletions from the stream: once an hour, by one member. */
  sweep(): Promise<void>;
  /** true: members share the store. */
  readonly isShared: boolean;
  /** Why reads may lack values that others wrote; undefined: they do not. */
  fault(): string | undefined;
  close(): void | Promise<void>;
}

export type Change = (current: Uint8Array | undefined) => Uint8Array | undefined;

/** Rendered webhook bodies, by delivery id: rendered once, sent unchanged on every attempt. */
export interface BodyStore {
  /**
   * Stores several in one disk write. A delivery that already has a body keeps it.
   *
   * @returns ids of the deliveries whose given body was not stored
   */
  putMissing(bodies: readonly KeptBody[]): Promise<readonly string[]>;
  get(deliveryId: string): Uint8Array | undefined;
  /** Deliveries that have a body. */
  ids(): string[];
  /** At most one disk write; no file has the bodies 10 s later, or after a start. */
  delete(deliveryIds: readonly string[]): Promise<void>;
}

export interface KeptBody {
  readonly deliveryId: string;
  readonly body: Uint8Array;
}

/** Responses of endpoints to the attempts of deliveries, redacted; see `AttemptOutcome`. */
export interface ExcerptStore {
  /** Stores several in one disk write; an attempt keeps its first one. */
  put(excerpts: readonly KeptExcerpt[]): Promise<void>;
  /** By attempt id; empty if none are stored. */
  of(deliveryId: string): ReadonlyMap<string, string>;
  /** Deletes those of all attempts of these deliveries, like `BodyStore.delete`. */
  delete(deliveryIds: readonly string[]): Promise<void>;
}

export interface KeptExcerpt {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly excerpt: string;
}

/** Time of the last use of credentials on this member, Unix ms; may lack the last minutes. */
export interface LastUsedStore {
  /** Keeps the later of the stored and the given time. */
  record(uses: readonly { readonly credential: string; readonly atMs: number }[]): void;
  get(credential: string): number | undefined;
}

/** The store of one process: a write waits only for the disk. */
export interface LocalSecretStore extends SecretStore {
  close(): void;
}

/** Throws `WrongMasterKey`, and what `openDatabase` throws. */
export function openSecretStore(options: SecretStoreOptions): LocalSecretStore {
  const seal = createSeal(options);
  const file = openSecretFile(options, 'FULL');
  const reads = sealedReads(file, seal);
  return {
    ...reads,
    put: async (id, purpose, value) => file.put({ id, purpose }, seal.close(id, purpose, value)),
    update: async (id, purpose, change) => {
      const current = reads.get(id, purpose);
      const changed = change(current);
      if (changed === undefined) return current;
      file.put({ id, purpose }, seal.close(id, purpose, changed));
      return changed;
    },
    delete: async (id, purpose) => {
      if (file.remove([{ id, purpose }]) > 0) file.emptyLog('now');
    },
    bodies: localBodies(file, seal, reads.bodies),
    excerpts: localExcerpts(file, seal, reads.excerpts),
    lastUsed: lastUsedStore(file.database),
    isShared: false,
    caughtUp: async () => {},
    sweep: async () => {},
    fault: () => undefined,
    close: () => file.close(),
  };
}

/** The file, with a canary. Throws `WrongMasterKey`, and what `openDatabase` throws. */
export function openSecretFile(
  options: SecretStoreOptions,
  synchronous: 'FULL' | 'NORMAL',
): SecretFile {
  const seal = createSeal(options);
  const file = new SecretFile({ ...options, synchronous });
  try {
    if (!hasCanary(() => file.get(CANARY), seal, options.path)) file.put(CANARY, canary(seal));
    return file;
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
export function assertSealedUnder(options: Omit<SecretStoreOptions, 'later'>): void {
  if (!existsSync(options.path)) return;
  const database = new Database(options.path, { fileMustExist: true });
  try {
    const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sealed'");
    if (table.get() === undefined) return;
    const value = () => preparedGet(database).get(CANARY.id, CANARY.purpose);
    hasCanary(value, createSeal(options), options.path);
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
        'with, or move the file away to start without the secrets in it',
    );
  }
}

/** Reads, the same for both adapters. */
export function sealedReads(file: SecretFile, seal: Seal) {
  const open = (id: string, purpose: string, sealed: Uint8Array | undefined) =>
    sealed && seal.open(id, purpose, sealed);
  const excerptOf = (deliveryId: string, attemptId: string): string => {
    const sealed = file.get({ purpose: EXCERPT, id: attemptId, of: deliveryId });
    return Buffer.from(open(attemptId, EXCERPT, sealed) ?? []).toString('utf8');
  };
  return {
    get: (id: string, purpose: string) => open(id, purpose, file.get({ id, purpose })),
    ids: (purpose: string) => file.ids(purpose),
    bodies: {
      get: (deliveryId: string) =>
        open(deliveryId, BODY, file.get({ purpose: BODY, id: deliveryId })),
      ids: () => file.ids(BODY),
    },
    excerpts: {
      of: (deliveryId: string): ReadonlyMap<string, string> =>
        new Map(file.attemptsOf(deliveryId).map((id) => [id, excerptOf(deliveryId, id)])),
    },
  };
}

/** Seals an excerpt under its attempt's id. */
export function sealExcerpt(seal: Seal, { attemptId, excerpt }: KeptExcerpt): Uint8Array {
  return seal.close(attemptId, EXCERPT, Buffer.from(excerpt, 'utf8'));
}

/** The keys of all excerpts of the deliveries. */
export function excerptKeys(file: SecretFile, deliveryIds: readonly string[]) {
  return deliveryIds.flatMap((of) =>
    file.attemptsOf(of).map((id) => ({ purpose: EXCERPT, id, of })),
  );
}

function localBodies(
  file: SecretFile,
  seal: Seal,
  reads: Pick<BodyStore, 'get' | 'ids'>,
): BodyStore {
  return {
    ...reads,
    putMissing: async (bodies) => {
      const others: string[] = [];
      file.transaction(() => {
        for (const { deliveryId: id, body } of bodies) {
          const isKept = file.putMissing({ purpose: BODY, id }, seal.close(id, BODY, body));
          if (!isKept) others.push(id);
        }
      });
      return others;
    },
    delete: async (deliveryIds) => {
      const keys = deliveryIds.map((id) => ({ purpose: BODY, id }));
      if (file.remove(keys) > 0) file.emptyLog('soon');
    },
  };
}

function localExcerpts(
  file: SecretFile,
  seal: Seal,
  reads: Pick<ExcerptStore, 'of'>,
): ExcerptStore {
  return {
    ...reads,
    put: async (excerpts) =>
      file.transaction(() => {
        for (const kept of excerpts) {
          const key = { purpose: EXCERPT, id: kept.attemptId, of: kept.deliveryId };
          file.putMissing(key, sealExcerpt(seal, kept));
        }
      }),
    delete: async (deliveryIds) => {
      if (file.remove(excerptKeys(file, deliveryIds)) > 0) file.emptyLog('soon');
    },
  };
}

export function lastUsedStore(database: SqliteDatabase): LastUsedStore {
  const put = database.prepare<[string, number]>(
    'INSERT INTO last_used (credential, at_ms) VALUES (?, ?) ' +
      'ON CONFLICT DO UPDATE SET at_ms = max(at_ms, excluded.at_ms)',
  );
  const get = database.prepare<[string], { at_ms: number }>(
    'SELECT at_ms FROM last_used WHERE credential = ?',
  );
  return {
    record: database.transaction((uses) => {
      for (const { credential, atMs } of uses) put.run(credential, atMs);
    }),
    get: (credential) => get.get(credential)?.at_ms,
  };
}

export const MASTER_KEY_BYTES = 32;

/** The master key is not the one under which a value was sealed. */
export class WrongMasterKey extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WrongMasterKey';
  }
}

/** A sealed value cannot be opened although the key is right: it was changed, or moved. */
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
  /** Source of nonces: must be the system's generator outside tests. */
  readonly random: Random;
}

/** Opens only under the right key: shows at start whether the key is wrong or a value is broken. */
export const CANARY = { id: 'master-key', purpose: 'canary' } as const;

const KEY_ID_BYTES = 8;

/** Public name of the key, for a manifest, a refusal, a member's record: 16 hex digits. */
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
 * deliveries an hour across all members, that is five centuries. Throws `WrongMasterKey` for a key
 * of another length.
 */
export function createSeal({ masterKey, random }: SealOptions): Seal {
  if (masterKey.length !== MASTER_KEY_BYTES) {
    throw new WrongMasterKey(
      `The master key has ${masterKey.length} bytes: it must have ${MASTER_KEY_BYTES}`,
    );
  }
  // Prepared once, because preparing a key takes longer than sealing a value.
  const key = createSecretKey(masterKey);
  return {
    close: (id, purpose, value) => {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
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
      const cipher = createDecipheriv('aes-256-gcm', key, nonce, {
        authTagLength: TAG_BYTES,
      });
      cipher.setAAD(boundTo(id, purpose));
      cipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
      try {
        return Buffer.concat([cipher.update(sealed.subarray(HEAD_BYTES)), cipher.final()]);
      } catch (error) {
        throw new SealBroken(`${what} cannot be opened: it was changed, or moved`, {
          cause: error,
        });
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
    this.database = openDatabase({ path, synchronous, migrations, secureDelete: true });
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
    else if (purpose === EXCERPT) this.#sql.putExcerpt.run(of, id, value);
    else this.#sql.put.run(id, purpose, value);
  }

  /** False, without a change, if there is one. */
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

  /** Keys of all sealed values except the canary, which belongs to this file alone. */
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
