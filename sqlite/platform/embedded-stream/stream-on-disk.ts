/** Messages of an embedded stream as its file lies on disk, where no service runs. Changes nothing. */
import { openDatabase, type SqliteDatabase } from '../database.ts';
import { EMBEDDED_STREAM_AREA, embeddedStreamMigrations } from './schema.ts';
import { MessageTable } from './stream-tables.ts';

export class StreamOnDisk {
  readonly #database: SqliteDatabase;
  readonly #messages: MessageTable;
  readonly #stream: string;

  /** Throws `SqliteError` and `SchemaMismatch`, and `StreamMisconfigured` when it is not there. */
  constructor(path: string, stream: string) {
    this.#database = openDatabase({
      ...{ path, synchronous: 'NORMAL', readonly: true },
      ...{ migrations: embeddedStreamMigrations, area: EMBEDDED_STREAM_AREA },
    });
    this.#messages = new MessageTable(this.#database);
    this.#stream = stream;
    this.#messages.get(stream);
  }

  /** The message's bytes; `removed` by retention; undefined: it should be there and is not. */
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
