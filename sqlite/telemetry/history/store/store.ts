/**
 * The history of every VM: newest rows in the head, older ones in chunks, read as one. Rows come
 * from a log that keeps them until `floor` has passed, so history may lose everything in memory at
 * any moment and read it again. A row that arrives twice is the same row.
 *
 *   log ─▶ append ─▶ head ─▶ flush (hourly per VM) ─▶ chunks ─▶ merged by day ─▶ dropped by age
 *                      └──────────── read: head first, then chunks ─────────────┘
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { RETENTION_MS } from '../../../../streams/telemetry/entry.ts';
import type { SampleBatch } from '../../../../streams/telemetry/samples/batch.ts';
import type { LatestRow } from '../../../../streams/telemetry/samples/columns.ts';
import { makeFolder } from '../../../platform/make-folder.ts';
import {
  addReports,
  type CheckReport,
  type CheckStep,
  NOTHING_CHECKED,
} from '../chunk/chunk-check.ts';
import type { RowsRequest } from '../chunk/chunk-reader.ts';
import {
  Head,
  type HeadCounts,
  type HeadQuota,
  type LogPosition,
  type RefusedRows,
} from '../head/head.ts';
import {
  HISTORY_FILE,
  type LostStretch,
  loadProgress,
  openHistoryFile,
  recordLostStretch,
} from '../history-file.ts';
import type { VmRows } from '../rows.ts';
import type { StartWorker } from '../threads/supervised-thread.ts';
import type { UpkeepReport } from './chunk-writer.ts';
import { Flusher } from './flusher.ts';
import { type HistoryShare, HistoryView } from './history-view.ts';
import { ReadPool } from './read-pool.ts';
import type { StoredStatistics } from './stored-statistics.ts';

export interface HistoryOptions {
  /** Folder of `history.db`, existing or new. */
  readonly folder: string;
  readonly clock: Clock;
  /** Identity of the SAMPLES stream; sequences of another stream are dropped. */
  readonly logIdentity: string;
  /** Age at which chunks are dropped, by their end, ms. Default 7 days. */
  readonly retentionMs?: number;
  /** Age at which a VM's rows are flushed to a chunk, by receipt time, ms. Default 1 hour. */
  readonly flushAfterMs?: number;
  /** Number of reading threads. Default 2. */
  readonly readers?: number;
  /** Bound of the memory for the head's rows and texts, bytes. Default 1 GiB. */
  readonly headBytesMax?: number;
  /** false: nothing runs by itself; the caller flushes and runs upkeep. Default true. */
  readonly background?: boolean;
  /** Starts the threads that read and write. Default: worker threads of Node. */
  readonly startWorker?: StartWorker | undefined;
}

/** Head memory limit of each project; read for each batch. */
export interface ProjectHeadLimits {
  of(project: string): { readonly headBytes: number };
}

/** Statistics of history as a whole; counters are since the start. */
export interface HistoryStats extends HeadCounts {
  readonly vms: number;
  /** Series of these VMs. */
  readonly series: number;
  /** VMs with rows that are in no chunk yet. */
  readonly pendingVms: number;
  /** Head memory reserved from the system, in use, and its bound, bytes. */
  readonly headBytes: { readonly reserved: number; readonly used: number; readonly max: number };
  /** Projects with accepted rows that are not readable yet. */
  readonly incompleteProjects: number;
  /** `history.db` and its write-ahead file, bytes. */
  readonly fileBytes: number;
  readonly flushedVms: number;
  readonly flushFailures: number;
  readonly compactedDays: number;
  /** Past days of VMs that wait to be merged, as of the last upkeep. */
  readonly waitingDays: number;
  readonly droppedChunks: number;
  /** Days that could not be merged because one of their chunks is damaged. */
  readonly damagedDays: number;
  readonly threadCrashes: number;
  /** Last failure that has not been followed by a success; absent = healthy. */
  readonly fault?: string;
}

/** Opens the store and creates the file if it is missing. Close it after use. */
export function openHistory(options: HistoryOptions): History {
  makeFolder(options.folder);
  return new History(options);
}

/** All of history, as the main thread uses it: it writes the head and sends reads to threads. */
export class History {
  readonly #clock: Clock;
  readonly #path: string;
  readonly #head: Head;
  readonly #share: HistoryShare;
  readonly #view: HistoryView;
  readonly #pool: ReadPool;
  readonly #flusher: Flusher;
  /** Age up to which rows are kept and read, ms. */
  readonly retentionMs: number;
  #projectLimits: ProjectHeadLimits | undefined;

  /** Use `openHistory`. */
  constructor(options: HistoryOptions) {
    this.#clock = options.clock;
    this.#path = join(options.folder, HISTORY_FILE);
    const database = openHistoryFile(this.#path);
    const progress = loadProgress(database, options.logIdentity);
    database.close();
    this.#head = new Head({
      projectBytesMax: (project) => this.#projectLimits?.of(project).headBytes ?? Infinity,
      ...(options.headBytesMax !== undefined && { bytesMax: options.headBytesMax }),
      flushedSequenceOf: (project, vm) => progress.flushedSequences.get(`${project}\n${vm}`) ?? 0,
    });
    this.retentionMs = options.retentionMs ?? RETENTION_MS;
    const { retentionMs } = this;
    this.#share = { path: this.#path, head: this.#head.share, retentionMs };
    this.#view = new HistoryView(this.#share);
    const { startWorker, readers = 2 } = options;
    this.#pool = new ReadPool({ share: this.#share, threads: readers, startWorker });
    this.#flusher = new Flusher({
      clock: options.clock,
      head: this.#head,
      share: this.#share,
      floors: progress.floors,
      retentionMs,
      flushAfterMs: options.flushAfterMs ?? 3_600_000,
      startWorker,
    });
    if (options.background !== false) this.#flusher.start();
  }

  /** Data that another thread needs to read this history: pass it to a `HistoryView` there. */
  get share(): HistoryShare {
    return this.#share;
  }

  /**
   * Adds a batch that is durable in the log. It is visible to every reader on return, but on disk
   * here only once `floor` has passed it. Repeating a batch, or adding an older one, changes
   * nothing.
   */
  append(batch: SampleBatch, position: LogPosition): void {
    this.#head.append(batch, position);
  }

  /** Bounds the head memory of each project from now on, bytes. */
  boundProjects(limits: ProjectHeadLimits): void {
    this.#projectLimits = limits;
  }

  /** Head memory that the project uses and may use now, bytes. */
  quota(project: string): HeadQuota {
    return this.#head.quota(project);
  }

  /** Accepted rows that did not fit: `takeAgain` has to be called for their entries. */
  refused(): readonly RefusedRows[] {
    return this.#head.refused();
  }

  /** See `Head.takeAgain`. */
  takeAgain(project: string, batch: SampleBatch, position: LogPosition): boolean {
    return this.#head.takeAgain(project, batch, position);
  }

  /** See `Head.tookThrough`. */
  tookThrough(project: string, sequence: number): void {
    this.#head.tookThrough(project, sequence);
  }

  /** Records a log entry without samples, so that the floor can pass it. */
  pass(position: LogPosition): void {
    this.#head.pass(position);
  }

  /**
   * Sequence from which a restart reads the partition's log. Everything before it is in chunks on
   * disk, safe even from power loss, and may be truncated. 1 for a partition without any.
   */
  floor(partition: number): number {
    return this.#flusher.floor(partition);
  }

  /** Records that rows of a time range are lost for good: queries report it from now on. */
  recordLost(stretch: LostStretch): void {
    const database = openHistoryFile(this.#path);
    try {
      recordLostStretch(database, stretch, this.#clock.now() - this.retentionMs);
    } finally {
      database.close();
    }
  }

  /**
   * The highest floor of all partitions; a log that begins later was truncated for another history.
   */
  newestFloor(): number {
    return this.#flusher.newestFloor();
  }

  /** Sequence below which no partition's log is needed; 1: unknown. */
  oldestFloor(): number {
    return this.#flusher.oldestFloor();
  }

  /** See `Head.setFilling`. */
  setFilling(isFilling: boolean): void {
    this.#head.setFilling(isFilling);
  }

  /**
   * Rows observed in [fromMs, toMs] and within retention, read in another thread. Throws
   * `HistoryError`, or the reason of `signal` if it aborts.
   */
  async read(request: RowsRequest & { readonly signal?: AbortSignal }): Promise<VmRows> {
    const { signal, ...rest } = request;
    // The pool's threads run this program's file; its method `read` returns this type.
    return (await this.#pool.call('read', this.#retained(rest), signal)) as VmRows;
  }

  /**
   * Like `read`, in this thread: for minutes of one VM, where a thread costs more than it saves.
   */
  readNow(request: RowsRequest): VmRows {
    return this.#view.read(this.#retained(request));
  }

  /** Newest row of a VM within retention, read in this thread. Throws `HistoryError` DAMAGED. */
  newest(project: string, vm: string): LatestRow | undefined {
    return this.#view.newest(project, vm, this.#clock.now());
  }

  /** Excludes rows older than retention, even if their chunk or head memory still holds them. */
  #retained(request: RowsRequest): RowsRequest {
    return { ...request, fromMs: Math.max(request.fromMs, this.#clock.now() - this.retentionMs) };
  }

  /** Flushes all rows that are in no chunk and moves the floors. Throws `HistoryError`. */
  async flush(): Promise<void> {
    await this.#flusher.flushAll();
  }

  /** Releases memory of flushed rows, and of VMs that were silent for all of retention. */
  release(): void {
    this.#head.release(this.#clock.now() - this.retentionMs);
  }

  /** Drops whole chunks that ended before retention, and merges past days. */
  async retain(nowMs: number): Promise<UpkeepReport> {
    return await this.#flusher.upkeep(nowMs);
  }

  /**
   * Reads and verifies every chunk, in another thread and in steps that let reads through. `onStep`
   * gets the report so far. Throws `HistoryError`, or the signal's reason.
   */
  async check(
    options: { readonly signal?: AbortSignal; readonly onStep?: (sofar: CheckReport) => void } = {},
  ): Promise<CheckReport> {
    let report = NOTHING_CHECKED;
    let after: number | undefined = 0;
    while (after !== undefined) {
      // The pool's threads run the same program, whose method `check` returns this type.
      const { last, ...step } = (await this.#pool.call(
        'check',
        after,
        options.signal,
      )) as CheckStep;
      report = addReports(report, step);
      options.onStep?.(report);
      after = last;
    }
    return report;
  }

  /** Statistics of the chunks, computed in another thread. Throws `HistoryError`. */
  async stored(): Promise<StoredStatistics> {
    return (await this.#pool.call('stored', undefined)) as StoredStatistics;
  }

  stats(): HistoryStats {
    return {
      ...this.#head.counts,
      vms: this.#head.vms.length,
      series: this.#head.vms.reduce((sum, { slab }) => sum + slab.series, 0),
      pendingVms: this.#head.vms.filter((vm) => vm.pendingSequence > 0).length,
      headBytes: this.#head.bytes,
      incompleteProjects: this.#head.refused().length,
      fileBytes: sizeOf(this.#path) + sizeOf(`${this.#path}-wal`),
      ...this.#flusher.counts(),
      threadCrashes: this.#pool.crashes + this.#flusher.threadCrashes,
    };
  }

  /** Ends threads and connections. Unflushed rows are read again from the log. */
  async close(): Promise<void> {
    await this.#flusher.stop();
    await this.#pool.close();
    this.#view.close();
    // The writer last: only a connection that may write checkpoints the write-ahead file.
    await this.#flusher.close();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
