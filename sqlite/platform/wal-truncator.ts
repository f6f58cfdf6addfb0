/**
 * Empties SQLite's log after deletions: it keeps pages as they were before, so that what was deleted
 * is on disk until they went into the file and the log was cut to nothing. That is two waits for the
 * disk, on the calling thread: where much is deleted, deletions share them.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import type { SqliteDatabase } from './database.ts';

const SOON_MS = 10_000;

export interface Later {
  readonly clock: Clock;
  /** What kept the log from being emptied; it is tried again. */
  readonly onFault: (error: unknown) => void;
}

export class LogEmptier {
  readonly #database: SqliteDatabase;
  readonly #later: Later | undefined;
  #cancel: CancelWakeUp | undefined;

  /** @param later absent: never put off */
  constructor(database: SqliteDatabase, later: Later | undefined) {
    this.#database = database;
    this.#later = later;
  }

  /**
   * Empties it before it returns, except where another connection reads just then: soon after
   * in that case. Throws `SqliteError` of better-sqlite3.
   */
  now(): void {
    const [told] = this.#database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (told?.busy === 1) this.#putOff();
    else this.close();
  }

  /** Empties it within 10 s, together with what else asks for it until then. */
  soon(): void {
    if (this.#later) this.#putOff();
    else this.now();
  }

  /** Nothing is put off any more: closing the last connection empties the log. */
  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #putOff(): void {
    this.#cancel ??= this.#later?.clock.wakeAfter(SOON_MS, () => this.#retry());
  }

  #retry(): void {
    this.#cancel = undefined;
    try {
      this.now();
    } catch (error) {
      this.#later?.onFault(error);
      this.#putOff();
    }
  }
}
