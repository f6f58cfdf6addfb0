/** Truncation of SQLite's write-ahead log after deletions, so that deleted data leaves the disk. */
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import type { SqliteDatabase } from '../database.ts';

const DELAY_MS = 10_000;

/** Ports for a later truncation. */
export interface Later {
  readonly clock: Clock;
  /** Called when a truncation failed; it is retried. */
  readonly onFault: (error: unknown) => void;
}

/**
 * Truncates SQLite's write-ahead log after deletions. The log keeps pages as they were before, so
 * deleted data stays on disk until a checkpoint writes the pages into the file and truncates the
 * log to zero. That blocks the calling thread for two disk writes, so frequent deletions share one.
 */
export class WalTruncator {
  readonly #database: SqliteDatabase;
  readonly #later: Later | undefined;
  #cancel: CancelWakeUp | undefined;

  /** @param later absent: every truncation happens at once */
  constructor(database: SqliteDatabase, later: Later | undefined) {
    this.#database = database;
    this.#later = later;
  }

  /**
   * Truncates the log before it returns. If another connection is reading, schedules the truncation
   * instead. Throws `SqliteError` of better-sqlite3.
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
