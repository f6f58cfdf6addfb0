/**
 * History as one thread sees it, column by column, for readers that repeatedly want one series of
 * many VMs. Decoded columns stay in memory within a bound, and unchanged ones are not read again.
 *
 * The head is read before the directory of chunks is refreshed (`refreshHead`, then
 * `refreshStored`): a row leaves the head only after its chunk is committed.
 */
import type { SqliteDatabase } from '../../../platform/database.ts';
import { MissingRows } from '../head/missing.ts';
import { HeadColumns } from '../head/shared-head.ts';
import { openHistoryFileForReading } from '../history-file.ts';
import type { HistoryShare } from '../store/history-view.ts';
import { ChunkColumns, ChunkGone } from './chunk-columns.ts';
import { ChunkDirectory, type ChunkPlace } from './chunk-directory.ts';
import { ColumnCache } from './column-cache.ts';
import type { DayDeps } from './day-columns.ts';
import { VmHistory } from './vm-history.ts';

/**
 * Number of restarts of a read because chunks were merged during it; in practice merges are seconds
 * apart.
 */
const TRIES = 5;

/** The history to read, and how much of it may stay decoded. */
export interface ColumnViewOptions {
  readonly share: HistoryShare;
  /** Bound of the cached decoded columns, bytes. */
  readonly cacheBytesMax: number;
}

const NOBODY: ReadonlyMap<string, VmHistory> = new Map();

/** One per thread that reads columns, with its own connection to `history.db`. */
export class ColumnView {
  readonly cache: ColumnCache;
  /** Rows missing from the head: every read runs within `missing.whole`. */
  readonly missing: MissingRows;
  readonly #database: SqliteDatabase;
  readonly #head: HeadColumns;
  readonly #directory: ChunkDirectory;
  readonly #days: DayDeps;
  /** By project, then by VM: a query of one project never reads another project's VMs. */
  readonly #projects = new Map<string, Map<string, VmHistory>>();
  readonly #byId = new Map<number, VmHistory>();
  #forgotten = 0;

  constructor({ share, cacheBytesMax }: ColumnViewOptions) {
    this.#database = openHistoryFileForReading(share.path);
    this.cache = new ColumnCache(cacheBytesMax);
    this.#head = new HeadColumns(share.head);
    this.missing = new MissingRows(share.head.missing);
    this.#days = { chunks: new ChunkColumns(this.#database), cache: this.cache };
    this.#directory = new ChunkDirectory(this.#database, {
      onVm: (id, project, vm) => this.#onVm(id, project, vm),
      onDay: (vm, day, chunks) => this.#onDay(vm, day, chunks),
      onFirstDay: (day) => {
        for (const vm of this.#byId.values()) {
          vm.dropDaysBefore(day);
          if (vm.isGone) this.#forget(vm);
        }
      },
    });
  }

  /** The project's VMs by id, including those that the head has added since the last call. */
  vmsOf(project: string): ReadonlyMap<string, VmHistory> {
    this.#head.catchUp({
      onVm: (of, vm, place) => {
        this.#vm(of, vm).setPlace(place, { head: this.#head });
      },
      onGone: (of, vm) => {
        const known = this.#projects.get(of)?.get(vm);
        known?.leaveHead();
        if (known?.isGone) this.#forget(known);
      },
    });
    return this.#projects.get(project) ?? NOBODY;
  }

  /** Number of VMs dropped because none of their rows are left: `vmsOf` no longer has them. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Number of VMs of all projects with rows as of the last call. */
  get vmCount(): number {
    let count = 0;
    for (const vms of this.#projects.values()) count += vms.size;
    return count;
  }

  /** Applies the chunks that were committed before the call. */
  refreshStored(): void {
    this.#directory.refresh();
  }

  /** Repeats the read as long as a chunk that it needs is merged into another during the read. */
  reading<T>(vm: VmHistory, read: () => T): T {
    for (let tries = 1; ; tries++) {
      try {
        return read();
      } catch (error) {
        if (!(error instanceof ChunkGone) || tries === TRIES || vm.id === undefined) throw error;
        this.refreshStored();
        for (const day of vm.days()) this.#directory.reread(vm.id, day);
      }
    }
  }

  close(): void {
    this.#database.close();
  }

  #vm(project: string, vm: string): VmHistory {
    let vms = this.#projects.get(project);
    if (vms === undefined) {
      vms = new Map();
      this.#projects.set(project, vms);
    }
    let known = vms.get(vm);
    if (known === undefined) {
      known = new VmHistory(project, vm);
      vms.set(vm, known);
    }
    return known;
  }

  #onVm(id: number, project: string, vm: string): void {
    const known = this.#vm(project, vm);
    known.id = id;
    this.#byId.set(id, known);
  }

  #onDay(vm: number, day: number, chunks: readonly ChunkPlace[]): void {
    if (!this.#byId.has(vm) && chunks.length > 0) this.#comeBack(vm);
    this.#byId.get(vm)?.setDay(day, chunks, this.#days);
  }

  /** The VM was dropped while the file still had its number, and has rows again. */
  #comeBack(id: number): void {
    const named = this.#directory.vmOf(id);
    if (named !== undefined) this.#onVm(id, named.project, named.vm);
  }

  #forget({ project, vm, id }: VmHistory): void {
    this.#forgotten++;
    if (id !== undefined) this.#byId.delete(id);
    const vms = this.#projects.get(project);
    vms?.delete(vm);
    if (vms?.size === 0) this.#projects.delete(project);
  }
}
