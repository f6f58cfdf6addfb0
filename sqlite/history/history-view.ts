/**
 * History as one thread sees it: the head in shared memory and the chunks through a connection of
 * its own. Works on any thread; a query engine that runs in a worker uses it directly.
 *
 * The head is read before the chunks. A row leaves the head only after its chunk is committed, so
 * that whatever is flushed meanwhile is seen in one of the two, and merging by time leaves it once.
 */
import type { LatestRow } from '../../streams/samples/columns.ts';
import { type CheckReport, ChunkReader, type RowsRequest } from './chunk-reader.ts';
import { HeadReader } from './head/head-reader.ts';
import type { HeadShare } from './head/memory.ts';
import { openHistoryFileForReading } from './history-file.ts';
import { cutRows, mergeRows, type VmRows } from './rows.ts';

/** What a thread needs to see history; goes through `workerData` or `postMessage`. */
export interface HistoryShare {
  /** Path of `history.db`. */
  readonly path: string;
  readonly head: HeadShare;
}

/** Newest rows that `latest` looks at: rates need two of each source. */
const LATEST_ROWS = 4;

export class HistoryView {
  readonly #head: HeadReader;
  readonly #database;
  readonly #chunks: ChunkReader;

  constructor(share: HistoryShare) {
    this.#head = new HeadReader(share.head);
    this.#database = openHistoryFileForReading(share.path);
    this.#chunks = new ChunkReader(this.#database);
  }

  /**
   * Rows observed in [fromMs, toMs], both inclusive, each exactly once. Throws `HistoryError`
   * DAMAGED when a chunk it needs is, and `ReadCancelled` when `isCancelled` answers true.
   */
  read(request: RowsRequest, isCancelled: () => boolean = () => false): VmRows {
    const { fromMs, toMs, names } = request;
    const slot = this.#head.find(request.project, request.vm);
    const selection = { fromMs, toMs, ...(names && { names: new Set(names) }) };
    const head = slot === undefined ? [] : [this.#head.read(slot, selection).rows];
    const chunks = this.#database.transaction(() => this.#chunks.read(request, isCancelled))();
    return mergeRows([...chunks, ...head]);
  }

  /**
   * Rows observed at or after a time of the last minutes. As `read`, but of a head that holds hours
   * only what it takes is copied.
   */
  recent({ project, vm, fromMs }: Omit<RowsRequest, 'toMs' | 'names'>): VmRows {
    const toMs = Number.MAX_SAFE_INTEGER;
    const slot = this.#head.find(project, vm);
    const head = slot === undefined ? [] : [this.#newestSince(slot, fromMs)];
    const chunks = this.#chunks.read({ project, vm, fromMs, toMs });
    return mergeRows([...chunks, ...head]);
  }

  #newestSince(slot: number, fromMs: number): VmRows {
    for (let newest = LATEST_ROWS; ; newest *= 4) {
      const { rows } = this.#head.read(slot, { newest });
      const firstMs = rows.timesMs[0];
      if (rows.timesMs.length < newest || (firstMs !== undefined && firstMs < fromMs)) {
        return cutRows(rows, fromMs, Number.MAX_SAFE_INTEGER);
      }
    }
  }

  /** Newest row of a VM that has one in the head. */
  latest(project: string, vm: string): LatestRow | undefined {
    const slot = this.#head.find(project, vm);
    if (slot === undefined) return undefined;
    return latestOf(this.#head.read(slot, { newest: LATEST_ROWS }).rows);
  }

  /** Newest row of a VM in chunks, of the last `days` days before `atMs`. */
  latestStored(project: string, vm: string, atMs: number, days: number): LatestRow | undefined {
    const rows = this.#chunks.newest({ project, vm, atMs, days });
    return rows && latestOf(rows);
  }

  /** Goes through every chunk. */
  check(isCancelled?: () => boolean): CheckReport {
    return this.#chunks.check(isCancelled);
  }

  close(): void {
    this.#database.close();
  }
}

function latestOf(columns: VmRows): LatestRow | undefined {
  const last = columns.timesMs.length - 1;
  const observedMs = columns.timesMs[last];
  if (observedMs === undefined) return undefined;
  const { state, vcpus } = columns;
  return { observedMs, state: state[last] ?? 0, vcpus: vcpus[last] ?? Number.NaN, columns };
}
