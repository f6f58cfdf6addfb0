/**
 * A read of an embedded stream: batches by range, then the live tail. The commit that appends wakes
 * the tail, in process; nothing polls.
 */
import {
  type ReadOptions,
  type StreamMessage,
  StreamMisconfigured,
  type StreamRead,
  subjectMatches,
} from '../../../streams/platform/stream.ts';
import { openDatabase, type SqliteDatabase } from '../database.ts';
import { EMBEDDED_STREAM_AREA, embeddedStreamMigrations } from './schema.ts';
import type { StreamFile } from './stream-file.ts';
import { type DamagedMessage, MessageTable } from './stream-tables.ts';

// Messages per batch, read without a break on the main thread: bounded by the time for 64 large
// payloads.
const BATCH_MESSAGES = 64;
// Messages examined at a time for a pattern that few of them may match.
const SCAN_MESSAGES = 4096;

/** Whether a read continues after a damaged message. Called for each of them. */
export type SkipsDamaged = (stream: string, message: DamagedMessage) => boolean;

export class EmbeddedRead implements StreamRead {
  readonly #file: StreamFile;
  readonly #options: ReadOptions;
  readonly #onClosed: () => void;
  readonly #skips: SkipsDamaged;
  #through = Number.MAX_SAFE_INTEGER;
  #after = 0;
  #fault: unknown;
  #closed = false;
  #wake: () => void = () => {};
  readonly #unsubscribe: () => void;

  /**
   * @param onClosed called once the read has ended, by itself or by `close`
   * @param skips decides about a damaged message; if false, the read fails there
   */
  constructor(
    file: StreamFile,
    options: ReadOptions,
    onClosed: () => void,
    skips: SkipsDamaged = () => false,
  ) {
    this.#file = file;
    this.#skips = skips;
    this.#options = options;
    this.#onClosed = onClosed;
    this.#unsubscribe = file.onAppended(options.stream, () => this.#wake());
    try {
      this.#begin();
    } catch (error) {
      // As with a remote server, the iteration reports the fault.
      this.#fault = error;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamMessage, void, void> {
    try {
      if (this.#fault !== undefined) throw this.#fault;
      while (!this.#closed) {
        const batch = this.#next();
        for (const message of batch) {
          if (this.#closed) return;
          yield message;
        }
        if (batch.length > 0) continue;
        if (this.#after < this.#last()) await new Promise<void>(setImmediate);
        else if (this.#options.untilEnd) return;
        else await this.#appended();
      }
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#unsubscribe();
    this.#wake();
    this.#onClosed();
  }

  #begin(): void {
    const { from, stream, untilEnd } = this.#options;
    const { messages } = this.#file;
    const { lastSequence, spec } = this.#file.reading(() => messages.get(stream));
    if (spec.retention === 'workQueue') {
      throw new StreamMisconfigured(`Stream ${stream} is a work queue: consume it`);
    }
    if (untilEnd) this.#through = lastSequence;
    const first = this.#file.reading(() =>
      'sequence' in from ? from.sequence : messages.firstSequenceAt(stream, from.timeMs),
    );
    this.#after = first - 1;
  }

  #next(): readonly StreamMessage[] {
    const { stream, subject } = this.#options;
    const after = this.#after;
    const newest = this.#file.messages.newest(stream, after, this.#last());
    if (newest !== undefined) {
      this.#after = newest.at(-1)?.sequence ?? after;
      if (subject === undefined) return newest;
      return newest.filter((message) => subjectMatches(message.subject, subject));
    }
    // An index over subjects finds the next message of one subject at any distance.
    const isOne = subject !== undefined && !/[*>]/.test(subject);
    const through = isOne ? this.#last() : Math.min(this.#last(), after + SCAN_MESSAGES);
    const limit = BATCH_MESSAGES;
    const batch = this.#file.readAll({ stream, subject, after, through, limit });
    const read = batch.length < limit ? through : (batch.at(-1)?.sequence ?? through);
    this.#after = Math.max(after, read);
    return batch.flatMap((found) => {
      if (!('damage' in found)) return [found];
      if (!this.#skips(stream, found)) throw found.damage;
      return [];
    });
  }

  /** Sequence of the newest message within this read's range. */
  #last(): number {
    const { lastSequence } = this.#file.messages.get(this.#options.stream);
    return Math.min(this.#through, lastSequence);
  }

  /**
   * Resolves on the next append to the stream, or on close. Nothing can happen in between: one
   * thread.
   */
  #appended(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#closed) resolve();
    });
  }
}

/** Messages of an embedded stream in its file on disk, with no service running. Changes nothing. */
export class StreamOnDisk {
  readonly #database: SqliteDatabase;
  readonly #messages: MessageTable;
  readonly #stream: string;

  /**
   * Throws `SqliteError` and `SchemaMismatch`, and `StreamMisconfigured` if the stream is missing.
   */
  constructor(path: string, stream: string) {
    this.#database = openDatabase({
      path,
      synchronous: 'NORMAL',
      readonly: true,
      migrations: embeddedStreamMigrations,
      area: EMBEDDED_STREAM_AREA,
    });
    this.#messages = new MessageTable(this.#database);
    this.#stream = stream;
    this.#messages.get(stream);
  }

  /** The message's bytes; `removed` by retention; undefined: it is missing but should be there. */
  async at(sequence: number): Promise<Uint8Array | 'removed' | undefined> {
    const range = { after: sequence - 1, through: sequence, limit: 1 };
    const [found] = this.#messages.read({ stream: this.#stream, ...range });
    if (found) return found.data;
    return sequence < this.#messages.state(this.#stream).firstSequence ? 'removed' : undefined;
  }

  close(): void {
    this.#database.close();
  }
}
