/**
 * `secrets.db`: what is never in a commit. Sealed values (webhook secrets, URLs that carry one) and
 * rendered bodies and answers of deliveries, encrypted under a key that lies outside the database; and the lossy
 * "last used" of credentials, which is off the commit path. Deleting a row ends the secret, which
 * an append-only log cannot do: its bytes are overwritten, and SQLite's log is emptied after it.
 *
 * A value is AES-256-GCM: version byte, 12-byte nonce, 16-byte tag, ciphertext. Purpose and id are
 * authenticated with it, so that a value moved to another row does not open.
 */

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { existsSync } from 'node:fs';
import Database, { type Statement } from 'better-sqlite3';
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';
import { type Migration, openDatabase, type SqliteDatabase } from './database.ts';

export const MASTER_KEY_BYTES = 32;

export interface SecretStoreOptions {
  /** File path; made when missing. */
  readonly path: string;
  /** 32 bytes. */
  readonly masterKey: Uint8Array;
  /** For nonces: must be the system's generator outside tests. */
  readonly random: Random;
  /** For emptying the log once for many deletions; absent: with each. */
  readonly later?: Later;
}

/** Every write is on disk when it returns (WAL, synchronous FULL). */
export interface SecretStore {
  /** Seals `value` under (id, purpose), replacing what was there. */
  put(id: string, purpose: string, value: Uint8Array): void;
  /** The value; undefined when there is none. Throws `SealBroken` when it does not open. */
  get(id: string, purpose: string): Uint8Array | undefined;
  /**
   * When it returns no file has the value any more; up to 10 s later where somebody else reads the
   * file just then. Harmless when there is none.
   */
  delete(id: string, purpose: string): void;
  /** Of what is sealed for the purpose. */
  ids(purpose: string): string[];
  readonly bodies: BodyStore;
  readonly excerpts: ExcerptStore;
  readonly lastUsed: LastUsedStore;
  close(): void;
}

/** Rendered webhook bodies, by delivery id: rendered once, sent unchanged on every attempt. */
export interface BodyStore {
  /** Keeps several in one disk write. A delivery that has a body keeps the one it has. */
  putMissing(bodies: readonly { readonly deliveryId: string; readonly body: Uint8Array }[]): void;
  get(deliveryId: string): Uint8Array | undefined;
  /** Deliveries that have a body. */
  ids(): string[];
  /** One disk write, none where there is nothing; no file has them 10 s later, or after a start. */
  delete(deliveryIds: readonly string[]): void;
}

/** What endpoints answered to the attempts of deliveries, redacted; see `AttemptOutcome`. */
export interface ExcerptStore {
  /** Keeps several in one disk write; an attempt has one, the first. */
  put(excerpts: readonly KeptExcerpt[]): void;
  /** By attempt id; empty where nothing is kept. */
  of(deliveryId: string): ReadonlyMap<string, string>;
  /** Of all attempts of these deliveries, as `BodyStore.delete`. */
  delete(deliveryIds: readonly string[]): void;
}

export interface KeptExcerpt {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly excerpt: string;
}

/** When credentials were last used, Unix ms; may lack the last minutes. */
export interface LastUsedStore {
  /** Keeps the later of what is there and what is given. */
  record(uses: readonly { readonly credential: string; readonly atMs: number }[]): void;
  get(credential: string): number | undefined;
}

/** The database was sealed under another key than the one given. */
export class WrongMasterKey extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WrongMasterKey';
  }
}

/** A stored value does not open although the key is right: the row was changed. */
export class SealBroken extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SealBroken';
  }
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
];

const BODY = 'body';
const EXCERPT = 'excerpt';
/** Opens only under the right key: shows at start whether the key is wrong or a row is broken. */
const CANARY = { id: 'master-key', purpose: 'canary' } as const;

/** Throws `WrongMasterKey`, and what `openDatabase` throws. */
export function openSecretStore(options: SecretStoreOptions): SecretStore {
  if (options.masterKey.length !== MASTER_KEY_BYTES) {
    throw new WrongMasterKey(
      `The master key has ${options.masterKey.length} bytes: give ${MASTER_KEY_BYTES}`,
    );
  }
  const { path } = options;
  const database = openDatabase({ path, synchronous: 'FULL', migrations, secureDelete: true });
  const log = new WalTruncator(database, options.later);
  try {
    // What a process deleted that died before it emptied the log.
    log.now();
    const seal = createSeal(options);
    const values = sealedValues(database, seal, log);
    if (!hasCanary(values, path)) {
      values.put(CANARY.id, CANARY.purpose, new TextEncoder().encode('ok'));
    }
    return {
      ...values,
      bodies: bodyStore(database, seal, log),
      excerpts: excerptStore(database, seal, log),
      lastUsed: lastUsedStore(database),
      close() {
        log.close();
        database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Compares an existing store with the key, and changes nothing; a missing one is not made.
 * Throws `WrongMasterKey`, and what SQLite throws.
 */
export function assertSealedUnder(options: Omit<SecretStoreOptions, 'later'>): void {
  if (!existsSync(options.path)) return;
  const database = new Database(options.path, { fileMustExist: true });
  try {
    const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sealed'");
    if (table.get() === undefined) return;
    hasCanary(sealedValues(database, createSeal(options)), options.path);
  } finally {
    database.close();
  }
}

type Values = Pick<SecretStore, 'put' | 'get' | 'delete' | 'ids'>;

/** Throws `WrongMasterKey` where there is one that the key does not open. */
function hasCanary(values: Pick<Values, 'get'>, path: string): boolean {
  try {
    return values.get(CANARY.id, CANARY.purpose) !== undefined;
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    throw new WrongMasterKey(
      `${path} was sealed under another master key than the one given: give the key it was made ` +
        'with, or move the file away to start without the secrets in it',
    );
  }
}

function sealedValues(
  database: SqliteDatabase,
  seal: Seal,
  log?: Pick<WalTruncator, 'now'>,
): Values {
  const put = database.prepare<[string, string, Uint8Array]>(
    'INSERT INTO sealed (id, purpose, value) VALUES (?, ?, ?) ' +
      'ON CONFLICT DO UPDATE SET value = excluded.value',
  );
  const get = database.prepare<[string, string], { value: Buffer }>(
    'SELECT value FROM sealed WHERE id = ? AND purpose = ?',
  );
  const remove = database.prepare<[string, string]>(
    'DELETE FROM sealed WHERE id = ? AND purpose = ?',
  );
  const ids = database.prepare<[string], string>('SELECT id FROM sealed WHERE purpose = ?').pluck();
  return {
    ids: (purpose) => ids.all(purpose),
    put: (id, purpose, value) => void put.run(id, purpose, seal.close(id, purpose, value)),
    get: (id, purpose) => {
      const row = get.get(id, purpose);
      return row && seal.open(id, purpose, row.value);
    },
    delete: (id, purpose) => {
      if (remove.run(id, purpose).changes > 0) log?.now();
    },
  };
}

function bodyStore(database: SqliteDatabase, seal: Seal, log: WalTruncator): BodyStore {
  const put = database.prepare<[string, Uint8Array]>(
    'INSERT INTO bodies (delivery_id, value) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  const get = database.prepare<[string], { value: Buffer }>(
    'SELECT value FROM bodies WHERE delivery_id = ?',
  );
  const ids = database.prepare<[], string>('SELECT delivery_id FROM bodies').pluck();
  const remove = database.prepare<[string]>('DELETE FROM bodies WHERE delivery_id = ?');
  return {
    putMissing: database.transaction((bodies) => {
      for (const { deliveryId, body } of bodies) {
        put.run(deliveryId, seal.close(deliveryId, BODY, body));
      }
    }),
    get: (deliveryId) => {
      const row = get.get(deliveryId);
      return row && seal.open(deliveryId, BODY, row.value);
    },
    ids: () => ids.all(),
    delete: removal(database, remove, log),
  };
}

/** Deletes the rows of all ids in one transaction, and soon from the log. */
function removal(database: SqliteDatabase, remove: Statement<[string]>, log: WalTruncator) {
  const removeAll = database.transaction((ids: readonly string[]) =>
    ids.reduce((removed, id) => removed + remove.run(id).changes, 0),
  );
  return (ids: readonly string[]): void => {
    if (removeAll(ids) > 0) log.soon();
  };
}

function excerptStore(database: SqliteDatabase, seal: Seal, log: WalTruncator): ExcerptStore {
  const put = database.prepare<[string, string, Uint8Array]>(
    'INSERT INTO excerpts (delivery_id, attempt_id, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const of = database.prepare<[string], { attempt_id: string; value: Buffer }>(
    'SELECT attempt_id, value FROM excerpts WHERE delivery_id = ?',
  );
  const remove = database.prepare<[string]>('DELETE FROM excerpts WHERE delivery_id = ?');
  // An attempt's id identifies it.
  const sealed = (attemptId: string, excerpt: string) =>
    seal.close(attemptId, EXCERPT, Buffer.from(excerpt, 'utf8'));
  const opened = (attemptId: string, value: Uint8Array) =>
    Buffer.from(seal.open(attemptId, EXCERPT, value)).toString('utf8');
  return {
    put: database.transaction((excerpts) => {
      for (const { deliveryId, attemptId, excerpt } of excerpts) {
        put.run(deliveryId, attemptId, sealed(attemptId, excerpt));
      }
    }),
    of: (deliveryId) =>
      new Map(of.all(deliveryId).map((row) => [row.attempt_id, opened(row.attempt_id, row.value)])),
    delete: removal(database, remove, log),
  };
}

function lastUsedStore(database: SqliteDatabase): LastUsedStore {
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

interface Seal {
  close(id: string, purpose: string, value: Uint8Array): Uint8Array;
  open(id: string, purpose: string, sealed: Uint8Array): Uint8Array;
}

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/**
 * Random nonces under one key are safe for 2^32 values (NIST SP 800-38D, 8.3); at a thousand
 * deliveries an hour that is five centuries.
 */
function createSeal({ masterKey, random }: SecretStoreOptions): Seal {
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

const DELAY_MS = 10_000;

/** What is needed to truncate later. */
export interface Later {
  readonly clock: Clock;
  /** Called when a truncation failed; it is retried. */
  readonly onFault: (error: unknown) => void;
}

/**
 * Truncates SQLite's write-ahead log after deletions. The log keeps pages as they were before, so
 * deleted data stays on disk until a checkpoint writes the pages into the file and cuts the log to
 * zero. That waits for the disk twice on the calling thread, so frequent deletions share one.
 */
class WalTruncator {
  readonly #database: SqliteDatabase;
  readonly #later: Later | undefined;
  #cancel: CancelWakeUp | undefined;

  /** @param later absent: every truncation happens at once */
  constructor(database: SqliteDatabase, later: Later | undefined) {
    this.#database = database;
    this.#later = later;
  }

  /**
   * Truncates the log before it returns. When another connection is reading, the truncation is
   * scheduled instead. Throws `SqliteError` of better-sqlite3.
   */
  now(): void {
    const [answer] = this.#database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (answer?.busy === 1) this.#schedule();
    else this.close();
  }

  /** Truncates the log within 10 s, once for all calls until then. */
  soon(): void {
    if (this.#later) this.#schedule();
    else this.now();
  }

  /** Cancels a scheduled truncation: closing the last connection truncates the log. */
  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    this.#cancel ??= this.#later?.clock.wakeAfter(DELAY_MS, () => this.#retry());
  }

  #retry(): void {
    this.#cancel = undefined;
    try {
      this.now();
    } catch (error) {
      this.#later?.onFault(error);
      this.#schedule();
    }
  }
}
