/**
 * Once-store on a table in a file of its own. All keys taken in one turn of the event loop share
 * one transaction, so that a burst costs one disk write per turn. Each write also deletes up to
 * twice as many expired keys, so that the table stays as small as the keys in force. Only digests
 * are stored: a key may contain text from a stranger.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../../streams/platform/clock.ts';
import { assertWithinOnceMax, type OnceStore } from '../../streams/platform/once-store.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { countChangesOf } from './change-count.ts';
import { type Migration, openDatabase, type SqliteDatabase } from './database.ts';
import { checksumOf } from './row-checksum.ts';

export interface OnceStoreOptions {
  /** File path; created if missing. */
  readonly path: string;
  readonly clock: Clock;
}

/** Maximum number of pending keys. */
const WAITING_MAX = 10_000;
/** Keys per transaction, which blocks the event loop for some milliseconds. */
const BATCH_MAX = 1_000;
/** Expired keys deleted by each transaction, besides two for each key in it. */
const FORGOTTEN_MIN = 16;

/** Migrations of `claims.db`. */
export const claimsMigrations: readonly Migration[] = [
  {
    id: 1,
    sql: `
      CREATE TABLE claims (digest BLOB PRIMARY KEY, until_ms INTEGER NOT NULL)
        STRICT, WITHOUT ROWID;
      CREATE INDEX claims_by_end ON claims (until_ms);`,
  },
  { id: 2, sql: 'ALTER TABLE claims ADD COLUMN checksum INTEGER' },
  // An expired key that is deleted may return.
  { id: 3, sql: countChangesOf({ claims: ['INSERT', 'UPDATE'] }) },
];

/** Throws what `openDatabase` throws. */
export function openOnceStore(options: OnceStoreOptions): SqliteOnceStore {
  const database = openDatabase({
    path: options.path,
    synchronous: 'FULL',
    migrations: claimsMigrations,
  });
  // The schema has the file's identity, so a later truncation of the log must not undo it.
  database.pragma('wal_checkpoint(TRUNCATE)');
  return new SqliteOnceStore(database, options.clock);
}

interface Waiting {
  readonly digest: Buffer;
  readonly untilMs: number;
  readonly resolve: (isTaken: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Open until it is closed; `openOnceStore` makes one. */
export class SqliteOnceStore implements OnceStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #write: (batch: readonly Waiting[], nowMs: number) => boolean[];
  #waiting: Waiting[] = [];
  #isScheduled = false;
  #isClosed = false;

  constructor(database: SqliteDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    this.#write = writer(database);
  }

  takeOnce(key: string, untilMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      assertWithinOnceMax(untilMs, this.#clock.now());
      if (this.#isClosed) throw new Error('The once-store is closed');
      if (this.#waiting.length >= WAITING_MAX) {
        const message = `${WAITING_MAX} keys already wait for the disk: try again in a second`;
        throw new Refusal('TOO_MANY_REQUESTS', message, { retryAfterSeconds: '1' });
      }
      const digest = hash('sha256', key, 'buffer');
      this.#waiting.push({ digest, untilMs, resolve, reject });
      this.#schedule();
    });
  }

  /** Number of stored keys, including expired ones that are not yet deleted. */
  count(): number {
    const row = this.#database.prepare<[], number>('SELECT count(*) FROM claims').pluck().get();
    return row ?? 0;
  }

  /** Writes pending keys; later calls reject. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    while (this.#waiting.length > 0) this.#flush();
    this.#database.close();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#isClosed) return;
      this.#flush();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  /** One transaction: all of its keys are taken, or none. */
  #flush(): void {
    const batch = this.#waiting.splice(0, BATCH_MAX);
    let taken: boolean[];
    try {
      taken = this.#write(batch, this.#clock.now());
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const [i, { resolve }] of batch.entries()) resolve(taken[i] === true);
  }
}

function writer(database: SqliteDatabase) {
  const take = database.prepare<[Buffer, number, number, number]>(
    'INSERT INTO claims (digest, until_ms, checksum) VALUES (?, ?, ?) ON CONFLICT DO UPDATE ' +
      'SET until_ms = excluded.until_ms, checksum = excluded.checksum WHERE until_ms <= ?',
  );
  const forget = database.prepare<[number, number]>(
    'DELETE FROM claims WHERE digest IN ' +
      '(SELECT digest FROM claims WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)',
  );
  return database.transaction((batch: readonly Waiting[], nowMs: number) => {
    const taken = batch.map(({ digest, untilMs }) => {
      const checksum = checksumOf([digest, untilMs]);
      return take.run(digest, untilMs, checksum, nowMs).changes > 0;
    });
    forget.run(nowMs, FORGOTTEN_MIN + 2 * batch.length);
    return taken;
  });
}
