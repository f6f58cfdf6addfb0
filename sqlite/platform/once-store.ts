/**
 * Claims on a table in a file of its own. All claims of one turn of the event loop share one
 * transaction, so that a storm of them costs one disk write a turn; each such write also forgets
 * twice as many claims whose time is over, so that the table stays as small as what is in force.
 * A key is kept as its digest: it may be told by a stranger, and its text is nobody's business.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../../streams/platform/clock.ts';
import { assertClaimable, type Claims } from '../../streams/platform/once-store.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { type Migration, openDatabase, type SqliteDatabase } from './database.ts';

export interface ClaimStoreOptions {
  /** File path; made when missing. */
  readonly path: string;
  readonly clock: Clock;
}

export interface ClaimStore extends Claims {
  /** Claims that are kept, in force or not yet forgotten. */
  count(): number;
  /** Writes what is waiting; later claims reject. */
  close(): void;
}

/** Claims that wait for the disk at a time. */
const WAITING_MAX = 10_000;
/** Claims of one transaction: it blocks the event loop for some milliseconds. */
const BATCH_MAX = 1_000;
/** Forgotten with each transaction, beside two for each claim in it. */
const FORGOTTEN_MIN = 16;

const migrations: readonly Migration[] = [
  {
    id: 1,
    sql: `
      CREATE TABLE claims (digest BLOB PRIMARY KEY, until_ms INTEGER NOT NULL)
        STRICT, WITHOUT ROWID;
      CREATE INDEX claims_by_end ON claims (until_ms);`,
  },
];

/** Throws what `openDatabase` throws. */
export function openClaimStore(options: ClaimStoreOptions): ClaimStore {
  const database = openDatabase({ path: options.path, synchronous: 'FULL', migrations });
  return new TableClaims(database, options.clock);
}

interface Waiting {
  readonly digest: Buffer;
  readonly untilMs: number;
  readonly resolve: (claimed: boolean) => void;
  readonly reject: (error: unknown) => void;
}

class TableClaims implements ClaimStore {
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

  claimOnce(key: string, untilMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      assertClaimable(untilMs, this.#clock.now());
      if (this.#isClosed) throw new Error('The claims are closed');
      if (this.#waiting.length >= WAITING_MAX) {
        const message = `${WAITING_MAX} claims wait for the disk already: try again in a second`;
        throw new Refusal('TOO_MANY_REQUESTS', message, { retryAfterSeconds: '1' });
      }
      const digest = hash('sha256', key, 'buffer');
      this.#waiting.push({ digest, untilMs, resolve, reject });
      this.#schedule();
    });
  }

  count(): number {
    const row = this.#database.prepare<[], number>('SELECT count(*) FROM claims').pluck().get();
    return row ?? 0;
  }

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

  /** One transaction; its claims stand or fail together. */
  #flush(): void {
    const batch = this.#waiting.splice(0, BATCH_MAX);
    let claimed: boolean[];
    try {
      claimed = this.#write(batch, this.#clock.now());
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const [i, { resolve }] of batch.entries()) resolve(claimed[i] === true);
  }
}

function writer(database: SqliteDatabase) {
  const claim = database.prepare<[Buffer, number, number]>(
    'INSERT INTO claims (digest, until_ms) VALUES (?, ?) ' +
      'ON CONFLICT DO UPDATE SET until_ms = excluded.until_ms WHERE until_ms <= ?',
  );
  const forget = database.prepare<[number, number]>(
    'DELETE FROM claims WHERE digest IN ' +
      '(SELECT digest FROM claims WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)',
  );
  return database.transaction((batch: readonly Waiting[], nowMs: number) => {
    const claimed = batch.map(
      ({ digest, untilMs }) => claim.run(digest, untilMs, nowMs).changes > 0,
    );
    forget.run(nowMs, FORGOTTEN_MIN + 2 * batch.length);
    return claimed;
  });
}
