/**
 * History as one thread sees it: the head in shared memory, and the chunks through a connection of
 * its own. A query engine in a worker uses it directly.
 *
 * The head is read before the chunks. A row leaves the head only after its chunk is committed, so a
 * row that is flushed during a read is found in at least one of the two, and merging by time keeps
 * it once.
 */

import type { Statement } from 'better-sqlite3';
import { BoundedCache } from '../../../../streams/platform/bounded-cache.ts';
import { GAP_TOLERANCE_MS, RETENTION_MS } from '../../../../streams/telemetry/entry.ts';
import { DamagedBytes } from '../../../../streams/telemetry/samples/byte-reader.ts';
import type { LatestRow, StatedRow } from '../../../../streams/telemetry/samples/columns.ts';
import type { SqliteDatabase } from '../../../platform/database.ts';
import { type CheckStep, checkSomeChunks } from '../chunk/chunk-check.ts';
import { Chunk } from '../chunk/chunk-codec.ts';
import { ChunkReader, type RowsRequest } from '../chunk/chunk-reader.ts';
import { HeadReader } from '../head/head-reader.ts';
import type { HeadShare } from '../head/memory.ts';
import { MissingRows } from '../head/missing.ts';
import type { HeadPlace } from '../head/shared-head.ts';
import { HistoryError } from '../history-error.ts';
import {
  DAY_MS,
  type LostStretch,
  lostStretches,
  openHistoryFileForReading,
} from '../history-file.ts';
import { cutRows, firstAtOrAfter, mergeRows, sliceRows, type VmRows } from '../rows.ts';
import { type StoredStatistics, storedStatistics } from './stored-statistics.ts';

/** Data that a thread needs to read history; passes through `workerData` or `postMessage`. */
export interface HistoryShare {
  /** Path of `history.db`. */
  readonly path: string;
  readonly head: HeadShare;
  /** Age up to which rows are read, ms. Default 7 days. */
  readonly retentionMs?: number;
}

/**
 * Reads of one thread: rows of a VM, its newest row, and the time of its last observation. Throws
 * `HistoryError`.
 */
export class HistoryView {
  readonly #head: HeadReader;
  readonly #missing: MissingRows;
  readonly #database;
  readonly #chunks: ChunkReader;
  readonly #newestRows: NewestRows;
  readonly #newestTimes: NewestTimes;

  constructor(share: HistoryShare) {
    this.#head = new HeadReader(share.head);
    this.#missing = new MissingRows(share.head.missing);
    this.#database = openHistoryFileForReading(share.path);
    this.#chunks = new ChunkReader(this.#database);
    const sources: NewestRowsSources = {
      head: (project, vm, newest) => this.#newestInHead(project, vm, newest),
      stored: (request) => this.#chunks.newest(request),
    };
    this.#newestRows = new NewestRows(sources, share.retentionMs);
    this.#newestTimes = new NewestTimes(this.#database);
  }

  /**
   * Rows observed in [fromMs, toMs], both inclusive, each exactly once. Throws `HistoryError`:
   * DAMAGED if a chunk it needs is damaged, INCOMPLETE if accepted rows are not readable yet; and
   * `ReadCancelled` if `isCancelled` returns true.
   */
  read(request: RowsRequest, isCancelled: () => boolean = () => false): VmRows {
    const { project, fromMs, toMs, mayLackRows } = request;
    const read = () => this.#read(request, isCancelled);
    return mayLackRows ? read() : this.#missing.whole(project, fromMs, toMs, read);
  }

  #read(request: RowsRequest, isCancelled: () => boolean): VmRows {
    const { fromMs, toMs, names } = request;
    const slot = this.#head.find(request.project, request.vm);
    const selection = { fromMs, toMs, ...(names && { names: new Set(names) }) };
    const head = slot === undefined ? [] : [this.#head.read(slot, selection).rows];
    const chunks = this.#database.transaction(() => this.#chunks.read(request, isCancelled))();
    return mergeRows([...chunks, ...head]);
  }

  /**
   * Rows observed at or after a time in the last minutes. Like `read`, but of a head that holds
   * hours only the needed rows are copied. Throws `HistoryError` DAMAGED and INCOMPLETE.
   */
  recent(request: Omit<RowsRequest, 'toMs' | 'names'>): VmRows {
    const { project, fromMs } = request;
    return this.#missing.whole(project, fromMs, Infinity, () => this.#recent(request));
  }

  #recent({ project, vm, fromMs }: Omit<RowsRequest, 'toMs' | 'names'>): VmRows {
    const toMs = Number.MAX_SAFE_INTEGER;
    const slot = this.#head.find(project, vm);
    const head = slot === undefined ? [] : [this.#newestSince(slot, fromMs)];
    const read = () => this.#chunks.read({ project, vm, fromMs, toMs });
    const chunks = this.#database.transaction(read)();
    return mergeRows([...chunks, ...head]);
  }

  #newestSince(slot: HeadPlace, fromMs: number): VmRows {
    for (let newest = LATEST_ROWS; ; newest *= 4) {
      const { rows } = this.#head.read(slot, { newest });
      const firstMs = rows.timesMs[0];
      if (rows.timesMs.length < newest || (firstMs !== undefined && firstMs < fromMs)) {
        return cutRows(rows, fromMs, Number.MAX_SAFE_INTEGER);
      }
    }
  }

  /**
   * Newest row of a VM within retention, in the head or in chunks. Throws `HistoryError`: DAMAGED,
   * or INCOMPLETE if a newer one may have been accepted.
   */
  newest(project: string, vm: string, nowMs: number): LatestRow | undefined {
    const latest = () => this.#newestRows.of(project, vm, nowMs);
    return this.#missing.newest(project, latest, (found) => found?.observedMs);
  }

  /** Time ranges whose rows are lost for good. */
  lost(): readonly LostStretch[] {
    return lostStretches(this.#database);
  }

  /** Time of a VM's last observation in [notBeforeMs, atMs], Unix ms. Throws like `newest`. */
  newestTime(request: NewestTimeRequest): number | undefined {
    const { project } = request;
    return this.#missing.newest(
      project,
      () => this.#newestTime(request),
      (found) => found,
    );
  }

  #newestTime(request: NewestTimeRequest): number | undefined {
    const { project, vm, atMs, notBeforeMs } = request;
    const slot = this.#head.find(project, vm);
    const selection = { fromMs: notBeforeMs, toMs: atMs, names: new Set<string>() };
    const head = slot === undefined ? undefined : this.#head.read(slot, selection).rows;
    const stored = this.#newestTimes.find(request);
    const newestMs = Math.max(head?.timesMs.at(-1) ?? -Infinity, stored ?? -Infinity);
    return Number.isFinite(newestMs) ? newestMs : undefined;
  }

  #newestInHead(project: string, vm: string, newest: number): VmRows | undefined {
    const slot = this.#head.find(project, vm);
    return slot === undefined ? undefined : this.#head.read(slot, { newest }).rows;
  }

  /** Checks the next chunks; see `checkSomeChunks`. */
  check(after: number): CheckStep {
    return checkSomeChunks(this.#database, after);
  }

  stored(): StoredStatistics {
    return storedStatistics(this.#database);
  }

  close(): void {
    this.#database.close();
  }
}

// The newest rows of each VM, including VMs that fell silent before the head began. A few rows per
// VM are decoded from chunks once and cached. They stay valid, because later rows arrive through
// the head, which keeps its newest.

/** Number of newest rows that are read: rates need two of each source. */
const LATEST_ROWS = 4;
/**
 * Number of head rows searched for a state if the newest have none: eight hours of an agent whose
 * VM is no longer reported by a hypervisor.
 */
const STATE_ROWS_MAX = 1_000;
/**
 * Maximum number of cached VMs: 3 KB each. The largest project has 50,000 VMs, few of them silent.
 */
const REMEMBERED_MAX = 20_000;

/** Sources of newest rows, the head first. */
export interface NewestRowsSources {
  /** This many newest rows in the head; undefined = the VM has none there. */
  readonly head: (project: string, vm: string, newest: number) => VmRows | undefined;
  /** Rows of the VM's newest chunk of the last `days` days before `atMs`. */
  readonly stored: (vm: {
    readonly project: string;
    readonly vm: string;
    readonly atMs: number;
    readonly days: number;
  }) => VmRows | undefined;
}

/** Newest rows of VMs, with a cache of those in chunks, which only a flush changes. */
export class NewestRows {
  readonly #sources: NewestRowsSources;
  readonly #retentionMs: number;
  /** Oldest first; undefined = no chunk within retention. */
  readonly #stored = new BoundedCache<string, StoredRows | undefined>(REMEMBERED_MAX);

  constructor(sources: NewestRowsSources, retentionMs = RETENTION_MS) {
    this.#sources = sources;
    this.#retentionMs = retentionMs;
  }

  /** Newest row within retention; undefined = none. Throws `HistoryError` DAMAGED. */
  of(project: string, vm: string, nowMs: number): LatestRow | undefined {
    const head = this.#sources.head(project, vm, LATEST_ROWS);
    const headMs = head?.timesMs.at(-1);
    // Late rows may be all that the head has of a VM that was silent before a restart. After a
    // restart that followed a flush, it has too few rows for rates.
    const isEnough =
      headMs !== undefined &&
      nowMs - headMs <= GAP_TOLERANCE_MS &&
      (head?.timesMs.length ?? 0) >= LATEST_ROWS;
    const stored = isEnough ? undefined : this.#remembered(project, vm, nowMs)?.rows;
    const rows = newest(mergeRows([stored, head].filter((each) => each !== undefined)));
    const latest = latestOf(rows);
    if (!latest || latest.observedMs < nowMs - this.#retentionMs) return undefined;
    const stated = lastStated(rows) ?? this.#olderStated(project, vm, nowMs);
    if (!stated || stated.observedMs < nowMs - this.#retentionMs) return latest;
    return { ...latest, stated };
  }

  /**
   * The last state before the newest rows, if they report none: only a guest's agent still reports.
   */
  #olderStated(project: string, vm: string, nowMs: number): StatedRow | undefined {
    const head = this.#sources.head(project, vm, STATE_ROWS_MAX);
    return (head && lastStated(head)) ?? this.#remembered(project, vm, nowMs)?.stated;
  }

  #remembered(project: string, vm: string, atMs: number): StoredRows | undefined {
    const key = `${project}\n${vm}`;
    if (!this.#stored.has(key)) {
      const days = Math.ceil(this.#retentionMs / DAY_MS);
      const rows = this.#sources.stored({ project, vm, atMs, days });
      this.#stored.set(key, rows && { rows: newest(rows), stated: lastStated(rows) });
    }
    return this.#stored.get(key);
  }
}

/** Cached rows of a VM's newest chunk. */
interface StoredRows {
  readonly rows: VmRows;
  readonly stated: StatedRow | undefined;
}

/**
 * The newest row with those before it; undefined without any. Values that a row may omit (a source
 * inside the guest does not know the vCPUs) are taken from the newest recent row that has them.
 */
function latestOf(columns: VmRows): LatestRow | undefined {
  const { timesMs, vcpus } = columns;
  const observedMs = timesMs.at(-1);
  if (observedMs === undefined) return undefined;
  const lately = (timeMs: number | undefined): boolean =>
    timeMs !== undefined && observedMs - timeMs <= GAP_TOLERANCE_MS;
  const sized = vcpus.findLastIndex((count, i) => !Number.isNaN(count) && lately(timesMs[i]));
  return { observedMs, vcpus: vcpus[sized] ?? Number.NaN, columns };
}

function lastStated({ timesMs, state }: VmRows): StatedRow | undefined {
  const at = state.findLastIndex((code) => code !== 0);
  const observedMs = timesMs[at];
  return observedMs === undefined ? undefined : { observedMs, state: state[at] ?? 0 };
}

function newest(rows: VmRows): VmRows {
  const count = rows.timesMs.length;
  return sliceRows(rows, Math.max(0, count - LATEST_ROWS), count);
}

/** Both Unix ms and inclusive. */
export interface NewestTimeRequest {
  readonly project: string;
  readonly vm: string;
  readonly atMs: number;
  readonly notBeforeMs: number;
}

/**
 * Times of the newest observation before a moment, from the table if that suffices, otherwise from
 * one chunk.
 */
export class NewestTimes {
  readonly #vmId: Statement<[string, string], { id: number }>;
  readonly #ended: Statement<[number, number, number], { endMs: number | null }>;
  readonly #spanning: Statement<[number, number, number, number], { id: number; data: Buffer }>;

  constructor(database: SqliteDatabase) {
    this.#vmId = database.prepare('SELECT id FROM vms WHERE project = ? AND vm = ?');
    this.#ended = database.prepare(
      'SELECT max(end_ms) AS endMs FROM chunks WHERE day = ? AND vm = ? AND end_ms <= ?',
    );
    this.#spanning = database.prepare(
      'SELECT id, data FROM chunks WHERE day = ? AND vm = ? AND start_ms <= ? AND end_ms > ?',
    );
  }

  /** Unix ms; undefined = not observed in that time. Throws `HistoryError` DAMAGED. */
  find({ project, vm, atMs, notBeforeMs }: NewestTimeRequest): number | undefined {
    const id = this.#vmId.get(project, vm)?.id;
    if (id === undefined) return undefined;
    const firstDay = Math.floor(notBeforeMs / DAY_MS);
    for (let day = Math.floor(atMs / DAY_MS); day >= firstDay; day--) {
      let newestMs = this.#ended.get(day, id, atMs)?.endMs ?? Number.NEGATIVE_INFINITY;
      for (const row of this.#spanning.iterate(day, id, atMs, atMs)) {
        newestMs = Math.max(newestMs, newestIn(row, atMs));
      }
      if (newestMs >= notBeforeMs) return newestMs;
    }
    return undefined;
  }
}

function newestIn(row: { readonly id: number; readonly data: Buffer }, atMs: number): number {
  try {
    const timesMs = new Chunk(row.data).timesMs();
    return timesMs[firstAtOrAfter(timesMs, atMs, false) - 1] ?? Number.NEGATIVE_INFINITY;
  } catch (cause) {
    if (!(cause instanceof DamagedBytes)) throw cause;
    throw new HistoryError('DAMAGED', `Chunk ${row.id}: ${cause.message}`, { cause });
  }
}
