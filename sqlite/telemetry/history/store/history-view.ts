/**
 * History as one thread sees it: the head in shared memory, and the chunks through a connection of
 * its own. A query engine in a worker uses it directly.
 *
 * The head is read before the chunks. A row leaves the head only after its chunk is committed, so a
 * row that is flushed meanwhile is seen in one of the two, and merging by time keeps it once.
 */
import type { LatestRow } from '../../../../streams/telemetry/samples/columns.ts';
import { type CheckStep, checkSomeChunks } from '../chunk/chunk-check.ts';
import { ChunkReader, type RowsRequest } from '../chunk/chunk-reader.ts';
import { HeadReader } from '../head/head-reader.ts';
import type { HeadShare } from '../head/memory.ts';
import { MissingRows } from '../head/missing.ts';
import type { HeadPlace } from '../head/shared-head.ts';
import { openHistoryFileForReading } from '../history-file.ts';
import { cutRows, mergeRows, type VmRows } from '../rows.ts';
import { LATEST_ROWS, NewestRows, type NewestTimeRequest, NewestTimes } from './newest-rows.ts';
import { type StoredStatistics, storedStatistics } from './stored-statistics.ts';

/** What a thread needs to see history; goes through `workerData` or `postMessage`. */
export interface HistoryShare {
  /** Path of `history.db`. */
  readonly path: string;
  readonly head: HeadShare;
}

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
    this.#newestRows = new NewestRows({
      head: (project, vm) => this.#newestInHead(project, vm),
      stored: (request) => this.#chunks.newest(request),
    });
    this.#newestTimes = new NewestTimes(this.#database);
  }

  /**
   * Rows observed in [fromMs, toMs], both inclusive, each exactly once. Throws `HistoryError`:
   * DAMAGED when a chunk it needs is, INCOMPLETE when rows that were accepted are not readable yet;
   * and `ReadCancelled` when `isCancelled` answers true.
   */
  read(request: RowsRequest, isCancelled: () => boolean = () => false): VmRows {
    const { project, fromMs, toMs } = request;
    return this.#missing.whole(project, fromMs, toMs, () => this.#read(request, isCancelled));
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
   * Rows observed at or after a time of the last minutes. As `read`, but of a head that holds hours
   * only what it takes is copied. Throws `HistoryError` DAMAGED and INCOMPLETE.
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
   * Newest row of a VM within retention, wherever it is. Throws `HistoryError`: DAMAGED, INCOMPLETE
   * when a newer one may have been accepted.
   */
  newest(project: string, vm: string, nowMs: number): LatestRow | undefined {
    const latest = () => this.#newestRows.of(project, vm, nowMs);
    return this.#missing.newest(project, latest, (found) => found?.observedMs);
  }

  /** When a VM was last observed in [notBeforeMs, atMs], Unix ms. Throws as `newest`. */
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

  #newestInHead(project: string, vm: string): VmRows | undefined {
    const slot = this.#head.find(project, vm);
    return slot === undefined ? undefined : this.#head.read(slot, { newest: LATEST_ROWS }).rows;
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
