/**
 * Reads records of the projection on any thread, through a connection of its own: a worker that
 * needs all records of a kind reads them there, instead of having them copied between threads.
 */
import type { Statement } from 'better-sqlite3';
import { openDatabase, type SqliteDatabase } from '../database.ts';
import { type RecordRow, soundRows } from './stored-rows.ts';

/** One record; its body is parsed and in the applied state. */
export interface ReadRecord {
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Reads records for worker threads. Close it when the thread ends. */
export class RecordReader {
  readonly #database: SqliteDatabase;
  readonly #statement: Statement<[string, string], RecordRow>;

  /** `path`: the projection's file, which must exist and have been opened by its writer. */
  constructor(path: string) {
    const options = { path, synchronous: 'NORMAL', migrations: [], readonly: true } as const;
    this.#database = openDatabase(options);
    this.#statement = this.#database.prepare(
      'SELECT * FROM records WHERE project = ? AND kind = ? ORDER BY id',
    );
  }

  /** All records of the kind, by id, as applied at this moment. Throws `DamagedRow`. */
  read(project: string, kind: string): ReadRecord[] {
    const rows = this.#statement.all(project, kind);
    return rows.map(soundRows(this.#database.name).record);
  }

  close(): void {
    this.#database.close();
  }
}
