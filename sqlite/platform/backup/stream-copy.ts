/**
 * Copies of streams in a file of the embedded form, whatever their source: with identity, sequences
 * and times. A service with embedded streams uses the file as it is; for a server, its messages are
 * appended again.
 */
import type {
  Stream,
  StreamMessage,
  StreamSpec,
  StreamState,
} from '../../../streams/platform/stream.ts';
import { openDatabase, type SqliteDatabase } from '../database.ts';
import { EMBEDDED_STREAM_AREA, embeddedStreamMigrations } from '../embedded-stream/schema.ts';
import { MessageTable } from '../embedded-stream/stream-tables.ts';

/** Messages per transaction, and per turn of this thread. */
const BATCH_MESSAGES = 64;

export interface StreamCopyOptions {
  readonly stream: Stream;
  readonly spec: StreamSpec;
  /** File to add it to; created if missing. */
  readonly to: string;
  /** Last sequence to copy; absent: the last one when the copy begins. */
  readonly through?: number;
  readonly signal: AbortSignal;
}

/**
 * Copies a stream; undefined if absent. On disk once the file is synced. Throws the errors of the
 * stream and of SQLite, or the reason of `signal`.
 */
export async function copyStream(options: StreamCopyOptions): Promise<StreamState | undefined> {
  const { stream, spec, to, through = Number.POSITIVE_INFINITY, signal } = options;
  const state = await stream.compare(spec);
  if (state === undefined) return undefined;
  const database = open(to, false);
  try {
    // An incomplete copy is thrown away.
    database.pragma('synchronous = OFF');
    const messages = new MessageTable(database);
    const write = writer(database, messages, spec.name);
    database.transaction(() => messages.create(spec, state))();
    const from = { sequence: state.firstSequence };
    const read = stream.read({ stream: spec.name, from, untilEnd: true });
    let batch: StreamMessage[] = [];
    try {
      for await (const message of read) {
        signal.throwIfAborted();
        if (message.sequence > through) break;
        if (batch.push(message) < BATCH_MESSAGES) continue;
        write(batch);
        batch = [];
        await new Promise<void>(setImmediate);
      }
    } finally {
      await read.close();
    }
    write(batch);
    return messages.state(spec.name);
  } finally {
    database.close();
  }
}

function writer(database: SqliteDatabase, messages: MessageTable, stream: string) {
  return database.transaction((batch: readonly StreamMessage[]) => {
    messages.begun();
    for (const message of batch) messages.copy(stream, message);
    messages.writeCounters();
  });
}

/** A copy, read in place. */
export interface StreamCopy {
  readonly state: StreamState;
  /** Messages after a sequence, in order. */
  messages(after: number): Generator<StreamMessage, void, void>;
  close(): void;
}

/** undefined: the file has no such stream. Throws `SqliteError` and `SchemaMismatch`. */
export function openStreamCopy(path: string, stream: string): StreamCopy | undefined {
  const database = open(path, true);
  const messages = new MessageTable(database);
  if (messages.find(stream) === undefined) {
    database.close();
    return undefined;
  }
  const state = messages.state(stream);
  return {
    state,
    *messages(after) {
      const range = { stream, through: state.lastSequence, limit: BATCH_MESSAGES };
      for (let last = after; ; ) {
        const batch = messages.read({ ...range, after: last });
        yield* batch;
        if (batch.length < BATCH_MESSAGES) return;
        last = batch.at(-1)?.sequence ?? last;
      }
    },
    close: () => database.close(),
  };
}

/** Brings a copy to this program's schema. Throws `SchemaMismatch` if a newer program wrote it. */
export function migrateStreamCopy(path: string): void {
  open(path, false).close();
}

function open(path: string, readonly: boolean): SqliteDatabase {
  return openDatabase({
    path,
    readonly,
    synchronous: 'NORMAL',
    migrations: embeddedStreamMigrations,
    area: EMBEDDED_STREAM_AREA,
  });
}
