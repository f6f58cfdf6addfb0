/**
 * One SQLite file with the streams that lie in it: the writer connection, its group commit, and
 * who wants to know about new messages. Everything else of the embedded adapter works on this.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Append, AppendOutcome, StreamMessage } from '../../../streams/platform/stream.ts';
import { migrate, openDatabase, type SqliteDatabase } from '../database.ts';
import { asUnavailable, GroupCommit } from './group-commit.ts';
import { EMBEDDED_STREAM_AREA, embeddedStreamMigrations } from './schema.ts';
import { ConsumerTable, type MessageRange, MessageTable } from './stream-tables.ts';

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

  /** Messages of a range. Throws `StreamUnavailable` when the file cannot be read. */
  read(range: MessageRange): StreamMessage[] {
    return this.reading(() => this.messages.read(range));
  }

  /** Result of a synchronous read, its SQLite errors as the port's. */
  reading<R>(read: () => R): R {
    try {
      return read();
    } catch (error) {
      throw asUnavailable(error, this.database.name);
    }
  }

  /** Removes what lies below a sequence, a bounded number of rows in each transaction. */
  async removeBelow(stream: string, sequence: number, subject?: string): Promise<void> {
    const remove = () => this.messages.removeBelow(stream, sequence, REMOVAL_ROWS, subject);
    while ((await this.commits.submit(remove)) === REMOVAL_ROWS);
  }

  /** Removes messages stored more than `ageMs` ago, a bounded number in each transaction. */
  async removeAged(stream: string, ageMs: number): Promise<void> {
    const remove = () => {
      const floor = this.messages.firstSequenceAt(stream, this.#clock.now() - ageMs);
      return this.messages.removeBelow(stream, floor, REMOVAL_ROWS);
    };
    while ((await this.commits.submit(remove)) === REMOVAL_ROWS);
  }

  /** Calls `listener` after each commit that added to the stream; the answer ends that. */
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
    // Short: waiting for a lock blocks the thread, and a refused append says so and can be repeated.
    busyTimeoutMs: 50,
  });
}
