/**
 * The chunks of history, in memory, kept current without reading their contents. A chunk never
 * changes and its id is never reused. Chunks are added one at a time (flush) or replace those of a
 * day (merge), and old days are dropped. So ids above the newest known one show which days of which
 * VMs to read again, and the oldest remaining day shows which days have been dropped.
 */
import type { Statement } from 'better-sqlite3';
import type { SqliteDatabase } from '../../../platform/database.ts';
import { checksumOf } from '../../../platform/row-checksum.ts';
import { HistoryError } from '../history-error.ts';

/** A chunk and its time span: Unix ms, both inclusive. */
export interface ChunkPlace {
  readonly id: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly rows: number;
}

/** Receives the changes. */
export interface DirectoryListener {
  onVm(id: number, project: string, vm: string): void;
  /** All chunks of a VM's UTC day, by increasing id; an empty list = the day was dropped. */
  onDay(vm: number, day: number, chunks: readonly ChunkPlace[]): void;
  /** Days before this one were dropped. */
  onFirstDay(day: number): void;
}

interface VmNames {
  readonly project: string;
  readonly vm: string;
}

interface VmRow extends VmNames {
  readonly id: number;
  readonly flushed_sequence: number;
  readonly checksum: number | null;
}

type PlaceRow = ChunkPlace & { readonly vm: number; readonly day: number };

/** The existing chunks as of the last refresh; changes are reported to a listener. */
export class ChunkDirectory {
  readonly #listener: DirectoryListener;
  readonly #statements: ReturnType<typeof statementsOf>;
  #version: number | undefined;
  #lastChunk = 0;
  #lastVm = 0;
  #firstDay = Number.NEGATIVE_INFINITY;

  constructor(database: SqliteDatabase, listener: DirectoryListener) {
    this.#listener = listener;
    this.#statements = statementsOf(database);
  }

  /**
   * Applies commits made before the call; takes microseconds if there are none. Later commits may
   * be applied too, and are checked again by the next call.
   */
  refresh(): void {
    const version = this.#statements.version.get() as number;
    if (version === this.#version) return;
    const { newer, newerVms, firstDay } = this.#statements;
    const isFirst = this.#version === undefined;
    const found = isFirst ? this.#readAll() : newer.all(this.#lastChunk);
    for (const row of newerVms.all(this.#lastVm)) {
      const { id } = row;
      const { project, vm } = this.#namesOf(row);
      this.#listener.onVm(id, project, vm);
      this.#lastVm = id;
    }
    if (isFirst) this.#reportDays(found as PlaceRow[]);
    else this.#reportChanged(found);
    for (const { id } of found) if (id > this.#lastChunk) this.#lastChunk = id;
    const first = firstDay.get() ?? Number.NEGATIVE_INFINITY;
    if (first > this.#firstDay) this.#listener.onFirstDay(first);
    this.#firstDay = first;
    this.#version = version;
  }

  /** The VM with this number; undefined = it no longer exists. */
  vmOf(id: number): VmNames | undefined {
    const row = this.#statements.vmOf.get(id);
    return row && this.#namesOf(row);
  }

  /** Reads a day again after one of its chunks was found missing. */
  reread(vm: number, day: number): void {
    this.#listener.onDay(vm, day, this.#statements.chunksOf.all(day, vm));
  }

  /** The names of a damaged row are also in its index. Throws `HistoryError` DAMAGED. */
  #namesOf({ id, project, vm, flushed_sequence: flushed, checksum }: VmRow): VmNames {
    if (checksum === null || checksum === checksumOf([id, project, vm, flushed])) {
      return { project, vm };
    }
    const names = this.#statements.namesInIndex.get(id);
    if (names === undefined) throw new HistoryError('DAMAGED', `The name of VM ${id} is damaged`);
    return names;
  }

  #readAll(): PlaceRow[] {
    return this.#statements.all.all();
  }

  /** `found` is sorted by day and VM. */
  #reportDays(found: readonly PlaceRow[]): void {
    for (let from = 0; from < found.length; ) {
      const { vm, day } = found[from] as PlaceRow;
      let to = from;
      while (found[to]?.vm === vm && found[to]?.day === day) to++;
      const chunks = found.slice(from, to).map(({ id, startMs, endMs, rows }) => {
        return { id, startMs, endMs, rows };
      });
      this.#listener.onDay(vm, day, chunks);
      from = to;
    }
  }

  #reportChanged(found: readonly { readonly vm: number; readonly day: number }[]): void {
    const reported = new Set<string>();
    for (const { vm, day } of found) {
      const key = `${vm} ${day}`;
      if (reported.has(key)) continue;
      reported.add(key);
      this.reread(vm, day);
    }
  }
}

function statementsOf(database: SqliteDatabase) {
  const version: Statement<[], number> = database.prepare('PRAGMA data_version');
  const firstDay: Statement<[], number | null> = database.prepare('SELECT min(day) FROM chunks');
  return {
    version: version.pluck(),
    firstDay: firstDay.pluck(),
    all: database.prepare<[], PlaceRow>(
      `SELECT id, vm, day, start_ms AS startMs, end_ms AS endMs, rows FROM chunks
       ORDER BY day, vm, id`,
    ),
    newer: database.prepare<[number], { id: number; vm: number; day: number }>(
      'SELECT id, vm, day FROM chunks WHERE id > ? ORDER BY id',
    ),
    newerVms: database.prepare<[number], VmRow>('SELECT * FROM vms WHERE id > ? ORDER BY id'),
    vmOf: database.prepare<[number], VmRow>('SELECT * FROM vms WHERE id = ?'),
    // The sign makes SQLite scan the index instead of looking the row up.
    namesInIndex: database.prepare<[number], VmNames>(
      'SELECT project, vm FROM vms INDEXED BY sqlite_autoindex_vms_1 WHERE +id = ?',
    ),
    chunksOf: database.prepare<[number, number], ChunkPlace>(
      `SELECT id, start_ms AS startMs, end_ms AS endMs, rows FROM chunks
       WHERE day = ? AND vm = ? ORDER BY id`,
    ),
  };
}
