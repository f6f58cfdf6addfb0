/**
 * The package's entry `svc/sdk/sqlite`, also part of `svc/sdk`: a deduplicator for a webhook
 * receiver, which remembers received deliveries. A signature alone is not
 * enough. Delivery is at least once, so a retry has the same delivery id and another attempt id;
 * and a stranger can send a recorded request again within the five minutes of a signature.
 */
import { type Clock, systemClock } from '../../streams/platform/clock.ts';

/** Remembers delivery ids for at least `DEDUPLICATION_MS_MIN`. */
export interface DeliveryDeduplicator {
  /**
   * true for the first caller, in any process; false from then on. An id counts as received from
   * this moment, so store the work in the same transaction, or before answering 2xx.
   */
  claim(deliveryId: string): boolean | Promise<boolean>;
  /** Reverts a claim whose work could not be stored, so that the next retry is accepted. */
  release(deliveryId: string): void | Promise<void>;
}

/** Retries continue for 24 h, and a clock or two may be off by a few minutes. */
export const DEDUPLICATION_MS_MIN = (24 * 60 + 10) * 60_000;

/** `DeliveryDeduplicator` on SQLite: its calls are synchronous, so they fit into a transaction. */
export interface SqliteDeduplicator extends DeliveryDeduplicator {
  claim(deliveryId: string): boolean;
  release(deliveryId: string): void;
  /** Closes a database that was opened by path; a given one stays open. */
  close(): void;
}

/** The part of a database that is used: of `node:sqlite`, better-sqlite3, or alike. */
export interface SqliteDatabase {
  prepare(sql: string): {
    run(...values: (string | number)[]): { readonly changes: number | bigint };
  };
  exec(sql: string): unknown;
}

export type SqliteDeduplicatorOptions = {
  /** Time for which an id is remembered, ms; default 25 h. */
  readonly rememberMs?: number;
  readonly clock?: Pick<Clock, 'now'>;
} & (
  | {
      /** Path of a dedicated file, which is created if it does not exist. */
      readonly path: string;
    }
  | {
      /** The receiver's own database, so that a claim and its work are one transaction. */
      readonly database: SqliteDatabase;
    }
);

/**
 * Opens it. Several processes may have the same file open. A claim is on disk when it returns.
 * Throws a `RangeError` for less than `DEDUPLICATION_MS_MIN`, and the errors of SQLite.
 */
export function openSqliteDeduplicator(options: SqliteDeduplicatorOptions): SqliteDeduplicator {
  const { rememberMs = 25 * 3_600_000, clock = systemClock } = options;
  if (!(rememberMs >= DEDUPLICATION_MS_MIN)) {
    throw new RangeError(
      `Retries continue for 24 h, so ids must be remembered for at least ${DEDUPLICATION_MS_MIN} ms`,
    );
  }
  const { database, close } = 'path' in options ? openFile(options.path) : given(options.database);
  database.exec(SCHEMA);
  const forget = database.prepare(FORGET);
  const claim = database.prepare(CLAIM);
  const release = database.prepare('DELETE FROM webhook_deliveries WHERE delivery_id = ?');
  return {
    claim(deliveryId) {
      const nowMs = clock.now();
      forget.run(nowMs - rememberMs);
      return Number(claim.run(deliveryId, nowMs).changes) === 1;
    },
    release: (deliveryId) => void release.run(deliveryId),
    close,
  };
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS webhook_deliveries (
    delivery_id TEXT PRIMARY KEY,
    claimed_unix_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS webhook_deliveries_by_age ON webhook_deliveries (claimed_unix_ms);
`;

/** One statement decides: of two processes, one inserts and the other changes nothing. */
const CLAIM = 'INSERT INTO webhook_deliveries VALUES (?, ?) ON CONFLICT DO NOTHING';

/** A few at a time, so that no claim waits for a day's worth of them. */
const FORGET = `
  DELETE FROM webhook_deliveries WHERE delivery_id IN (
    SELECT delivery_id FROM webhook_deliveries WHERE claimed_unix_ms < ?
    ORDER BY claimed_unix_ms LIMIT 64
  )`;

/** Maximum wait of a claim for another process, ms. */
const BUSY_MS = 5_000;

interface Opened {
  readonly database: SqliteDatabase;
  readonly close: () => void;
}

type SqliteOfNode = Pick<typeof import('node:sqlite'), 'DatabaseSync'>;

/** The receiver closes its own database. */
function given(database: SqliteDatabase): Opened {
  return { database, close: () => {} };
}

/** With SQLite of Node, loaded only here, so that bundles for other places leave it out. */
function openFile(path: string): Opened {
  const sqlite = process.getBuiltinModule('node:sqlite') as SqliteOfNode | undefined;
  if (!sqlite) {
    throw new TypeError(
      'This Node has no node:sqlite: use Node 22.13 or newer, or pass a database of better-sqlite3',
    );
  }
  const database = new sqlite.DatabaseSync(path, { timeout: BUSY_MS });
  database.exec('PRAGMA journal_mode = WAL');
  // A claim lost in a power cut would let a delivery through twice.
  database.exec('PRAGMA synchronous = FULL');
  return { database, close: () => void database.close() };
}
