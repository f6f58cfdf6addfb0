/**
 * One SQLite file with its streams: the writer connection, its group commit, and the listeners for
 * new messages. Everything else of the embedded adapter builds on this.
 */
import Database from 'better-sqlite3';
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import {
  type Append,
  type AppendOutcome,
  type StreamHealth,
  type StreamMessage,
  StreamUnavailable,
} from '../../../streams/platform/stream.ts';
import { migrate, openDatabase, type SqliteDatabase } from '../database.ts';
import { ConsumerTable } from './consumer-table.ts';
import { EMBEDDED_STREAM_AREA, embeddedStreamMigrations } from './schema.ts';
import { type DamagedMessage, type MessageRange, MessageTable } from './stream-tables.ts';

// Rows removed in one transaction: a long truncation must not block the thread.
const REMOVAL_ROWS = 256;

export class StreamFile {
  readonly database: SqliteDatabase;
  readonly messages: MessageTable;
  readonly consumers: ConsumerTable;
  readonly commits: GroupCommit;
  readonly #clock: Clock;
  readonly #ownsDatabase: boolean;
  readonly #listeners = new Map<string, Set<() => void>>();

  /** @param storage a path to open here (and close), or an open connection (left open) */
  constructor(storage: string | SqliteDatabase, clock: Clock, fsyncDelayMs: number) {
    this.#clock = clock;
    this.#ownsDatabase = typeof storage === 'string';
    this.database = typeof storage === 'string' ? open(storage) : storage;
    if (typeof storage !== 'string') {
      migrate(storage, embeddedStreamMigrations, EMBEDDED_STREAM_AREA);
    }
    const messages = new MessageTable(this.database);
    this.messages = messages;
    this.consumers = new ConsumerTable(this.database);
    this.commits = new GroupCommit({
      database: this.database,
      clock,
      fsyncDelayMs,
      begun: () => messages.begun(),
      beforeCommit: () => messages.writeCounters(),
      rolledBack: () => messages.rolledBack(),
    });
  }

  async append(append: Append): Promise<AppendOutcome> {
    const write = () => this.messages.append(append, this.#clock.now());
    const outcome = await this.commits.submit(write, append.data.byteLength);
    if (outcome.kind === 'appended') this.#announce(append.stream);
    return outcome;
  }

  /** Messages of a range. Throws `StreamUnavailable` if the file cannot be read. */
  read(range: MessageRange): StreamMessage[] {
    return this.reading(() => this.messages.read(range));
  }

  /** Like `read`, with damaged messages in their places. */
  readAll(range: MessageRange): (StreamMessage | DamagedMessage)[] {
    return this.reading(() => this.messages.readAll(range));
  }

  /** Result of a synchronous read, with SQLite errors converted to the port's. */
  reading<R>(read: () => R): R {
    try {
      return read();
    } catch (error) {
      throw asUnavailable(error, this.database.name);
    }
  }

  /** Removes the messages below a sequence, a bounded number of rows per transaction. */
  async removeBelow(stream: string, sequence: number, subject?: string): Promise<void> {
    const remove = () => this.messages.removeBelow(stream, sequence, REMOVAL_ROWS, subject);
    while ((await this.commits.submit(remove)) === REMOVAL_ROWS);
  }

  /** Removes messages stored more than `ageMs` ago, a bounded number per transaction. */
  async removeAged(stream: string, ageMs: number): Promise<void> {
    const remove = () => {
      const floor = this.messages.firstSequenceAt(stream, this.#clock.now() - ageMs);
      return this.messages.removeBelow(stream, floor, REMOVAL_ROWS);
    };
    while ((await this.commits.submit(remove)) === REMOVAL_ROWS);
  }

  /**
   * Calls `listener` after each commit that added to the stream. Returns a function that ends this.
   */
  onAppended(stream: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(stream) ?? new Set();
    this.#listeners.set(stream, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  close(): void {
    this.commits.close();
    if (this.#ownsDatabase) this.database.close();
  }

  #announce(stream: string): void {
    for (const listener of [...(this.#listeners.get(stream) ?? [])]) listener();
  }
}

function open(path: string): SqliteDatabase {
  return openDatabase({
    path,
    // An acknowledged append survives a power loss.
    synchronous: 'FULL',
    migrations: embeddedStreamMigrations,
    area: EMBEDDED_STREAM_AREA,
    // Short: waiting for a lock blocks the thread, and a refused append is reported and can be
    // repeated.
    busyTimeoutMs: 50,
  });
}

export interface GroupCommitOptions {
  readonly database: SqliteDatabase;
  readonly clock: Clock;
  /** Blocks the thread for this long in each commit, ms: a slow disk, for measurements. */
  readonly fsyncDelayMs: number;
  /** Called inside a transaction before its first write. */
  readonly begun: () => void;
  /** Called inside a transaction after its last write. */
  readonly beforeCommit: () => void;
  readonly rolledBack: () => void;
}

interface Write {
  readonly bytes: number;
  /** Runs inside the transaction; again in a later one if this one was rolled back. */
  readonly run: () => void;
  readonly committed: () => void;
  /** Absent: no caller waits for the write, so it stays queued until it is on disk. */
  readonly failed?: (error: unknown) => void;
}

// Maximum number of writes per transaction, which takes some milliseconds; more would block the
// loop for too long.
const BATCH_WRITES_MAX = 512;
const BATCH_BYTES_MAX = 1024 * 1024;
const SLOW_COMMIT_MS = 2;
const SLOW_COMMIT_GAP_MS_MAX = 5;
const PROBE_INTERVAL_MS = 1000;
const PROBE_BYTES = 16 * 1024;

/**
 * Group commit: the writes of one turn of the event loop share one transaction and one fsync. There
 * is no fixed delay: a flush runs as soon as the loop is free. Only if the disk is slow (a commit
 * over 2 ms), the next flush waits for a quarter of the commit time, so that the thread, which
 * SQLite blocks during a commit, also does other work.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #begin: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #rollback: Database.Statement;
  readonly #probe: Database.Statement<[Uint8Array]>;
  readonly #delay = new Int32Array(new SharedArrayBuffer(4));
  #queue: Write[] = [];
  /** Number of next writes that get a transaction each: one of them failed by its own fault. */
  #alone = 0;
  #scheduled = false;
  #cancelWait: CancelWakeUp | undefined;
  #cancelProbe: CancelWakeUp | undefined;
  #commitMs = Number.POSITIVE_INFINITY;
  #notBefore = 0;
  #fault: string | undefined;
  #closed = false;

  constructor(options: GroupCommitOptions) {
    const { database } = options;
    this.#options = options;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
    this.#probe = database.prepare('INSERT OR REPLACE INTO stream_probe (id, data) VALUES (1, ?)');
  }

  /**
   * Result of `write`, once its transaction is on disk. `write` is synchronous and may first run in
   * a transaction that is rolled back. Throws `StreamUnavailable` if the disk or the database
   * refused it, and what `write` throws.
   */
  submit<R>(write: () => R, bytes = 0): Promise<R> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise<R>((resolve, reject) => {
      let result: R;
      this.#enqueue({
        bytes,
        run: () => {
          result = write();
        },
        committed: () => resolve(result),
        failed: reject,
      });
    });
  }

  /** Like `submit`, for a write that no caller waits for: retried until it is on disk. */
  submitLazily(write: () => void): void {
    if (!this.#closed) this.#enqueue({ bytes: 0, run: write, committed: () => {} });
  }

  health(): StreamHealth {
    if (this.#fault === undefined) return { state: 'available' };
    return { state: 'unavailable', reason: this.#fault };
  }

  /** Writes the queue, then accepts nothing more. */
  close(): void {
    if (this.#closed) return;
    while (this.#queue.length > 0 && (this.#flush() === 'committed' || this.#alone > 0));
    this.#closed = true;
    this.#cancelWait?.();
    this.#cancelProbe?.();
    for (const write of this.#queue.splice(0)) write.failed?.(closedError());
  }

  #enqueue(write: Write): void {
    this.#queue.push(write);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#closed || this.#queue.length === 0) return;
    this.#scheduled = true;
    const waitMs = this.#notBefore - this.#options.clock.elapsed();
    if (waitMs > 0) this.#cancelWait = this.#options.clock.wakeAfter(waitMs, () => this.#turn());
    else setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    this.#cancelWait = undefined;
    if (this.#closed) return;
    // After a failure the probe continues, so that writes without a waiting caller do not spin on
    // the disk.
    if (this.#flush() === 'committed') this.#schedule();
  }

  #flush(): 'committed' | 'failed' {
    const batch = this.#takeBatch();
    let begun = false;
    let commitStartedMs: number | undefined;
    try {
      this.#begin.run();
      begun = true;
      this.#options.begun();
      for (const write of batch) write.run();
      this.#options.beforeCommit();
      commitStartedMs = this.#options.clock.elapsed();
      this.#commit.run();
    } catch (error) {
      // SQLite itself rolls back on some errors; a transaction of another owner is not ours to end.
      if (begun && this.#options.database.inTransaction) this.#rollback.run();
      this.#failed(batch, error, commitStartedMs !== undefined);
      return 'failed';
    }
    if (this.#options.fsyncDelayMs > 0) Atomics.wait(this.#delay, 0, 0, this.#options.fsyncDelayMs);
    this.#measured(commitStartedMs);
    this.#recovered();
    for (const write of batch) write.committed();
    return 'committed';
  }

  #takeBatch(): Write[] {
    if (this.#alone > 0) {
      this.#alone -= 1;
      return this.#queue.splice(0, 1);
    }
    let bytes = 0;
    let count = 0;
    for (const write of this.#queue) {
      bytes += write.bytes;
      if (count > 0 && (count >= BATCH_WRITES_MAX || bytes > BATCH_BYTES_MAX)) break;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  #measured(startedMs: number): void {
    const endMs = this.#options.clock.elapsed();
    const tookMs = endMs - startedMs;
    // Near the shortest recent time: a checkpoint, or a busy processor, does not mean a slow disk.
    const known = Number.isFinite(this.#commitMs);
    this.#commitMs = known ? this.#commitMs + (tookMs - this.#commitMs) / 16 : tookMs;
    this.#commitMs = Math.min(this.#commitMs, tookMs);
    const slow = this.#commitMs >= SLOW_COMMIT_MS;
    this.#notBefore = slow ? endMs + Math.min(this.#commitMs / 4, SLOW_COMMIT_GAP_MS_MAX) : 0;
  }

  #failed(batch: Write[], error: unknown, committing: boolean): void {
    this.#options.rolledBack();
    const cause = asUnavailable(error, this.#options.database.name, committing);
    if (cause instanceof StreamUnavailable) this.#refuse(batch, cause);
    else this.#isolate(batch, cause);
  }

  #refuse(batch: Write[], cause: StreamUnavailable): void {
    this.#queue.unshift(...batch.filter((write) => write.failed === undefined));
    this.#fault = cause.message;
    this.#cancelProbe ??= this.#options.clock.wakeAfter(PROBE_INTERVAL_MS, () => this.#tryAgain());
    for (const write of batch) write.failed?.(cause);
  }

  /** A caller's mistake or ours in one write: the others must not fail with it. */
  #isolate(batch: Write[], cause: unknown): void {
    const [write] = batch;
    if (batch.length > 1) {
      this.#queue.unshift(...batch);
      this.#alone = batch.length;
    } else if (write?.failed !== undefined) {
      write.failed(cause);
    } else {
      // No caller waits for it, and a retry cannot help: a fault of this program, which must not be
      // hidden.
      setImmediate(() => {
        throw cause;
      });
    }
    this.#schedule();
  }

  #tryAgain(): void {
    this.#cancelProbe = undefined;
    if (this.#closed) return;
    // As large as a small append: an update in place could succeed on a full disk.
    const probe = () => void this.#probe.run(new Uint8Array(PROBE_BYTES));
    this.#queue.unshift({ bytes: PROBE_BYTES, run: probe, committed: () => {}, failed: () => {} });
    if (this.#flush() === 'committed') this.#schedule();
  }

  #recovered(): void {
    this.#fault = undefined;
    this.#cancelProbe?.();
    this.#cancelProbe = undefined;
  }
}

const UNAVAILABLE = /^SQLITE_(FULL|BUSY|LOCKED|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PROTOCOL)/;

/** A SQLite error caused by the disk or another connection, as the port's; others unchanged. */
function asUnavailable(error: unknown, file: string, committing = false): unknown {
  if (!(error instanceof Database.SqliteError) || !UNAVAILABLE.test(error.code)) return error;
  // A commit record may be in the WAL although its fsync failed: only then may it have happened.
  const unknown = committing && error.code.startsWith('SQLITE_IOERR');
  const message = `Cannot write to ${file}: ${sentenceFor(error)} (${error.code})`;
  return new StreamUnavailable(message, unknown ? 'unknown' : 'refused', { cause: error });
}

function sentenceFor(error: { code: string; message: string }): string {
  if (error.code.startsWith('SQLITE_FULL')) return 'the disk is full; free some space';
  if (/^SQLITE_(BUSY|LOCKED)/.test(error.code)) return 'another connection holds its lock';
  if (error.code.startsWith('SQLITE_IOERR')) return 'reading or writing the disk failed';
  return error.message;
}

function closedError(): StreamUnavailable {
  return new StreamUnavailable('The stream is closed', 'refused');
}
