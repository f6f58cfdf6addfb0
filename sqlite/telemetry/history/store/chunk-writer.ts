/**
 * Writes chunks: flushes unflushed rows of the head, merges the chunks of a past day into one,
 * drops chunks older than retention. It runs in the one thread that writes `history.db`. Each step
 * is one small transaction, so a kill may interrupt it anywhere.
 */
import type { Statement } from 'better-sqlite3';
import type { SeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { DamagedBytes } from '../../../../streams/telemetry/samples/byte-reader.ts';
import type { SqliteDatabase } from '../../../platform/database.ts';
import { checksumOf } from '../../../platform/row-checksum.ts';
import { CHUNK_ROWS_MAX, Chunk, encodeChunk } from '../chunk/chunk-codec.ts';
import type { HeadReader } from '../head/head-reader.ts';
import { DAY_MS } from '../history-file.ts';
import { firstAtOrAfter, mergeRows, sliceRows, type VmRows } from '../rows.ts';

/** A VM of the head to be flushed. */
export interface FlushTarget {
  readonly slot: number;
  readonly project: string;
  readonly vm: string;
  /** Sequence of a row that did not fit into the head: a restart reads from there. 0 = none. */
  readonly refusedSequence: number;
}

/** A VM whose rows are on disk, by its slot in the head: the head may release them. */
export interface FlushedVm {
  readonly slot: number;
  /** All rows of the log up to this sequence are in chunks. */
  readonly sequence: number;
}

/** A VM whose rows cannot be flushed, for a reason of its own: they stay in the head. */
export interface FailedVm {
  readonly slot: number;
  readonly message: string;
}

/** Outcome of a flush for each of its VMs. */
export interface FlushReport {
  readonly flushed: readonly FlushedVm[];
  readonly failed: readonly FailedVm[];
}

/** Result of one step of upkeep; `more` = another step has work to do. */
export interface UpkeepReport {
  readonly droppedChunks: number;
  readonly compactedDays: number;
  /** Days that could not be merged because one of their chunks is damaged. */
  readonly damagedDays: number;
  readonly more: boolean;
}

/** Delay after a day's end until it is merged, ms: its last hour has been flushed by then. */
const COMPACTION_DELAY_MS = 2 * 3_600_000;
const COMPACTED_A_STEP = 16;
const DROPPED_A_STEP = 512;
const VACUUMED_PAGES_A_STEP = 256;
const NAMES_A_STEP = 4096;

interface EncodedChunk {
  readonly day: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly rows: number;
  readonly data: Uint8Array;
}

interface Candidate {
  readonly day: number;
  readonly vm: number;
}

/** Upkeep of `history.db`, on the thread that writes it. Each step can be repeated after a kill. */
export class ChunkWriter {
  readonly #database: SqliteDatabase;
  readonly #head: HeadReader;
  readonly #series: SeriesDictionary;
  readonly #statements: ReturnType<typeof statementsOf>;
  /** Days of VMs with a damaged chunk, left unchanged. */
  readonly #damaged = new Set<string>();
  /** Chunks that cannot be dropped, because their pages are damaged. */
  readonly #stuck = new Set<number>();
  /** Names that are not needed from this day on have been removed. */
  #namesFromDay = Number.NEGATIVE_INFINITY;

  constructor(database: SqliteDatabase, head: HeadReader) {
    this.#database = database;
    this.#head = head;
    this.#series = new SeriesDictionary(database);
    this.#statements = statementsOf(database);
  }

  /**
   * Flushes all unflushed rows of these VMs. Survives a kill once it returns. A VM whose rows
   * cannot be written does not block others. On a disk error it throws, and nothing is changed.
   */
  flush(targets: readonly FlushTarget[]): FlushReport {
    const flushed: FlushedVm[] = [];
    const failed: FailedVm[] = [];
    // A nested transaction is a savepoint.
    const flushVm = this.#database.transaction((target: FlushTarget) => this.#flushVm(target));
    const flush = this.#database.transaction(() => {
      for (const target of targets) {
        try {
          flushed.push(this.#undoing(() => flushVm(target)));
        } catch (error) {
          // After some errors SQLite has rolled back the whole transaction.
          if (!isOfOneVm(error) || !this.#database.inTransaction) throw error;
          failed.push({ slot: target.slot, message: String(error) });
        }
      }
    });
    this.#undoing(() => flush.immediate());
    return { flushed, failed };
  }

  /** Moves the floors. They are on disk on return, with every chunk written before. */
  moveFloors(floors: readonly (readonly [partition: number, sequence: number])[]): void {
    this.#database.pragma('synchronous = FULL');
    try {
      const move = this.#database.transaction(() => {
        for (const [partition, sequence] of floors) {
          this.#statements.moveFloor.run(partition, sequence, checksumOf([partition, sequence]));
        }
      });
      move.immediate();
    } finally {
      this.#database.pragma('synchronous = NORMAL');
    }
  }

  /**
   * One bounded step of dropping and merging.
   * @param dropBeforeMs chunks that end before this time are dropped as a whole, Unix ms
   */
  upkeep(options: { nowMs: number; dropBeforeMs: number }): UpkeepReport {
    const droppedChunks = this.#drop(options.dropBeforeMs);
    const namesAreLeft = droppedChunks < DROPPED_A_STEP && this.#dropNames(options.dropBeforeMs);
    const candidates = this.#candidates(dayToMerge(options.nowMs));
    let damagedDays = 0;
    for (const candidate of candidates) if (!this.#compact(candidate)) damagedDays++;
    this.#database.pragma(`incremental_vacuum(${VACUUMED_PAGES_A_STEP})`);
    const more =
      droppedChunks === DROPPED_A_STEP || candidates.length === COMPACTED_A_STEP || namesAreLeft;
    return { droppedChunks, compactedDays: candidates.length - damagedDays, damagedDays, more };
  }

  /** Past days of VMs that have to be merged, except those with a damaged chunk. */
  waitingDays(nowMs: number): number {
    const { count } = this.#statements.waiting.get(dayToMerge(nowMs)) ?? { count: 0 };
    return Math.max(0, count - this.#damaged.size);
  }

  #flushVm(target: FlushTarget): FlushedVm {
    const { project, refusedSequence: refused } = target;
    const place = this.#head.find(project, target.vm);
    if (place === undefined) throw new Error(`VM ${target.vm} is not in the head`);
    const { rows, lastSequence } = this.#head.read(place, { unflushed: true });
    const stored = refused > 0 ? Math.min(lastSequence, refused - 1) : lastSequence;
    const vm = this.#statements.vm.get(project, target.vm, stored);
    if (vm === undefined) throw new Error(`VM ${target.vm} was not stored`);
    this.#statements.sealVm.run(vm.id);
    for (const chunk of this.#encode(rows)) this.#insert(vm.id, chunk);
    return { slot: target.slot, sequence: lastSequence };
  }

  /** One chunk for each UTC day of the rows; several if a day exceeds the maximum of a chunk. */
  #encode(rows: VmRows): EncodedChunk[] {
    const chunks: EncodedChunk[] = [];
    const { timesMs } = rows;
    for (let from = 0; from < timesMs.length; ) {
      const day = Math.floor((timesMs[from] as number) / DAY_MS);
      const to = Math.min(firstAtOrAfter(timesMs, (day + 1) * DAY_MS), from + CHUNK_ROWS_MAX);
      chunks.push(this.#encodeDay(day, sliceRows(rows, from, to)));
      from = to;
    }
    return chunks;
  }

  #encodeDay(day: number, rows: VmRows): EncodedChunk {
    const startMs = rows.timesMs[0] as number;
    const endMs = rows.timesMs.at(-1) as number;
    const data = encodeChunk(rows, (key) => this.#series.idOf(key, day));
    return { day, startMs, endMs, rows: rows.timesMs.length, data };
  }

  #insert(vm: number, chunk: EncodedChunk): void {
    const { day, startMs, endMs, rows, data } = chunk;
    const { lastInsertRowid: id } = this.#statements.insert.run(
      vm,
      day,
      startMs,
      endMs,
      rows,
      data,
    );
    this.#statements.sealChunk.run(Number(id));
  }

  /**
   * Drops chunks of past days and returns their number. One on a damaged page stays, without
   * blocking the others.
   */
  #drop(beforeMs: number): number {
    const ids = this.#expired(beforeMs).filter((id) => !this.#stuck.has(id));
    ids.splice(DROPPED_A_STEP);
    try {
      this.#dropAll(ids);
      return ids.length;
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    return ids.filter((id) => this.#dropOne(id)).length;
  }

  /**
   * Chunks that ended before that time. Those of whole past days are found without reading them.
   */
  #expired(beforeMs: number): number[] {
    const day = Math.floor(beforeMs / DAY_MS);
    const limit = DROPPED_A_STEP + this.#stuck.size;
    const { ofDaysBefore, endedOn } = this.#statements;
    const ids = ofDaysBefore.all(day, limit);
    try {
      return [...ids, ...endedOn.all(day, beforeMs, limit)];
    } catch (error) {
      if (!isDamage(error)) throw error;
      return ids;
    }
  }

  #dropAll(ids: readonly number[]): void {
    const drop = this.#database.transaction(() => {
      for (const id of ids) this.#statements.drop.run(id);
    });
    drop.immediate();
  }

  #dropOne(id: number): boolean {
    try {
      this.#dropAll([id]);
      return true;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#stuck.add(id);
      return false;
    }
  }

  /**
   * Removes names of series and VMs that no chunk needs any longer; true = there may be more. The
   * one with the highest number always stays, so that no number is ever assigned twice: readers
   * cache the meaning of a number.
   */
  #dropNames(dropBeforeMs: number): boolean {
    const firstDay = this.#statements.firstDay.get()?.day ?? Math.floor(dropBeforeMs / DAY_MS);
    if (firstDay <= this.#namesFromDay) return false;
    const series = this.#series.dropBefore(firstDay, NAMES_A_STEP);
    // Without an index on their VM, the check of foreign keys would read all chunks for each.
    this.#database.pragma('foreign_keys = OFF');
    const vms = this.#statements.dropVms.run(NAMES_A_STEP).changes;
    this.#database.pragma('foreign_keys = ON');
    if (series === NAMES_A_STEP || vms === NAMES_A_STEP) return true;
    this.#namesFromDay = firstDay;
    return false;
  }

  #candidates(today: number): Candidate[] {
    const limit = COMPACTED_A_STEP + this.#damaged.size;
    const found = this.#statements.candidates.all(today, limit);
    const sound = found.filter(({ day, vm }) => !this.#damaged.has(`${day}/${vm}`));
    return sound.slice(0, COMPACTED_A_STEP);
  }

  /** Merges all chunks of a VM's day into one; false = one is damaged and all stay. */
  #compact({ day, vm }: Candidate): boolean {
    try {
      const compact = this.#database.transaction(() => {
        const parts = this.#statements.chunksOf
          .all(day, vm)
          .map((row) => new Chunk(row.data).rows((id) => this.#series.keyOf(id)));
        const chunk = this.#encodeDay(day, mergeRows(parts));
        this.#statements.remove.run(day, vm);
        this.#insert(vm, chunk);
      });
      this.#undoing(() => compact.immediate());
      return true;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged.add(`${day}/${vm}`);
      return false;
    }
  }

  /** Drops the names created by a transaction if it fails. */
  #undoing<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#series.forget();
      throw error;
    }
  }
}

/** Days before it are over, including their last hour. */
function dayToMerge(nowMs: number): number {
  return Math.floor((nowMs - COMPACTION_DELAY_MS) / DAY_MS);
}

/** True for a bug, or an SQLite error about one row. Errors of the disk concern all VMs. */
function isOfOneVm(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return !code.startsWith('SQLITE_') || /^SQLITE_(CONSTRAINT|CORRUPT|TOOBIG)/.test(code);
}

/** True if the chunk, or its pages, are damaged. */
function isDamage(error: unknown): boolean {
  if (error instanceof DamagedBytes) return true;
  return error instanceof Error && 'code' in error && /^SQLITE_CORRUPT/.test(String(error.code));
}

/**
 * Days with several chunks of a VM. A day whose merged rows could exceed the maximum of a chunk is
 * skipped: it would be retried over and over, before every later day.
 */
const MERGEABLE = `FROM chunks WHERE day < ?
  GROUP BY day, vm HAVING count(*) > 1 AND sum(rows) <= ${CHUNK_ROWS_MAX}`;

function statementsOf(database: SqliteDatabase) {
  const ofDaysBefore: Statement<[number, number], number> = database.prepare(
    'SELECT id FROM chunks WHERE day < ? LIMIT ?',
  );
  const endedOn: Statement<[number, number, number], number> = database.prepare(
    'SELECT id FROM chunks WHERE day = ? AND end_ms < ? LIMIT ?',
  );
  return {
    vm: database.prepare<[string, string, number], { id: number }>(
      `INSERT INTO vms (project, vm, flushed_sequence) VALUES (?, ?, ?)
       ON CONFLICT (project, vm) DO UPDATE
       SET flushed_sequence = max(flushed_sequence, excluded.flushed_sequence) RETURNING id`,
    ),
    insert: database.prepare<[number, number, number, number, number, Uint8Array]>(
      'INSERT INTO chunks (vm, day, start_ms, end_ms, rows, data) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    sealVm: database.prepare<[number]>(
      'UPDATE vms SET checksum = row_checksum(id, project, vm, flushed_sequence) WHERE id = ?',
    ),
    sealChunk: database.prepare<[number]>(
      `UPDATE chunks SET checksum = row_checksum(id, vm, day, start_ms, end_ms, rows)
       WHERE id = ?`,
    ),
    moveFloor: database.prepare<[number, number, number]>(
      `INSERT INTO floors (partition, sequence, checksum) VALUES (?, ?, ?)
       ON CONFLICT (partition) DO UPDATE SET sequence = excluded.sequence,
         checksum = excluded.checksum WHERE excluded.sequence > sequence`,
    ),
    ofDaysBefore: ofDaysBefore.pluck(),
    endedOn: endedOn.pluck(),
    drop: database.prepare<[number]>('DELETE FROM chunks WHERE id = ?'),
    candidates: database.prepare<[number, number], Candidate>(
      `SELECT day, vm ${MERGEABLE} LIMIT ?`,
    ),
    waiting: database.prepare<[number], { count: number }>(
      `SELECT count(*) AS count FROM (SELECT 1 ${MERGEABLE})`,
    ),
    firstDay: database.prepare<[], { day: number | null }>('SELECT min(day) AS day FROM chunks'),
    // The VM's sequence shows which of its rows the log may still hold: it is needed until the
    // floors have passed it.
    dropVms: database.prepare<[number]>(
      `DELETE FROM vms WHERE id IN
         (SELECT id FROM vms WHERE id NOT IN (SELECT vm FROM chunks)
            AND flushed_sequence < (SELECT min(sequence) FROM floors)
            AND id < (SELECT max(id) FROM vms) LIMIT ?)`,
    ),
    chunksOf: database.prepare<[number, number], { data: Buffer }>(
      'SELECT data FROM chunks WHERE day = ? AND vm = ? ORDER BY id',
    ),
    remove: database.prepare<[number, number]>('DELETE FROM chunks WHERE day = ? AND vm = ?'),
  };
}

interface KnownSeries {
  readonly id: number;
  readonly key: SeriesKey;
  lastDay: number;
}

/**
 * Numbers of series keys as assigned by the writing thread, and the last day on which each is
 * needed. Devices and interfaces appear and disappear, and a name that no chunk uses is removed.
 */
export class SeriesDictionary {
  readonly #byKey = new Map<SeriesKey, KnownSeries>();
  readonly #byId = new Map<number, KnownSeries>();
  readonly #all: Statement<[], KnownSeries>;
  readonly #add: Statement<[string, number]>;
  readonly #use: Statement<[number, number]>;
  readonly #seal: Statement<[number]>;
  readonly #drop: Statement<[number, number], { id: number }>;

  constructor(database: SqliteDatabase) {
    this.#all = database.prepare('SELECT id, key, last_day AS lastDay FROM series');
    this.#add = database.prepare('INSERT INTO series (key, last_day) VALUES (?, ?)');
    this.#use = database.prepare('UPDATE series SET last_day = ? WHERE id = ?');
    this.#seal = database.prepare(
      'UPDATE series SET checksum = row_checksum(id, key, last_day) WHERE id = ?',
    );
    this.#drop = database.prepare(
      `DELETE FROM series WHERE id IN
         (SELECT id FROM series WHERE last_day < ? AND id < (SELECT max(id) FROM series) LIMIT ?)
       RETURNING id`,
    );
    this.forget();
  }

  /** Number of a key for a chunk of the day, assigned if the key has none. */
  idOf(key: SeriesKey, day: number): number {
    const known = this.#byKey.get(key);
    if (known === undefined) {
      const id = Number(this.#add.run(key, day).lastInsertRowid);
      this.#seal.run(id);
      return this.#remember({ id, key, lastDay: day });
    }
    if (known.lastDay < day) {
      this.#use.run(day, known.id);
      this.#seal.run(known.id);
      known.lastDay = day;
    }
    return known.id;
  }

  /** Throws `DamagedBytes` for a number that was never assigned. */
  keyOf(id: number): SeriesKey {
    const known = this.#byId.get(id);
    if (known === undefined) throw new DamagedBytes('MALFORMED', `Series ${id} has no name`);
    return known.key;
  }

  /** Removes at most `limit` keys that only chunks of earlier days used; returns their number. */
  dropBefore(day: number, limit: number): number {
    const dropped = this.#drop.all(day, limit);
    for (const { id } of dropped) {
      const known = this.#byId.get(id);
      this.#byId.delete(id);
      if (known !== undefined) this.#byKey.delete(known.key);
    }
    return dropped.length;
  }

  /** Reverts to the stored state. */
  forget(): void {
    this.#byKey.clear();
    this.#byId.clear();
    for (const row of this.#all.all()) this.#remember(row);
  }

  #remember(known: KnownSeries): number {
    this.#byKey.set(known.key, known);
    this.#byId.set(known.id, known);
    return known.id;
  }
}
