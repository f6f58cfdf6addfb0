/**
 * The history of every VM: newest rows in the head, older ones in chunks, read as one. Rows come
 * from a log that keeps them until `floor` has passed, so that history may forget everything in
 * memory at any moment and take it in again; a row that comes twice is the same row.
 *
 *   log ─▶ append ─▶ head ─▶ flush (hourly a VM) ─▶ chunks ─▶ merged by day ─▶ dropped by age
 *                      └──────────── read: head first, then chunks ────────────┘
 */
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { RETENTION_MS } from '../../../../streams/telemetry/entry.ts';
import type { SampleBatch } from '../../../../streams/telemetry/samples/batch.ts';
import type { HistoryReader, LatestRow } from '../../../../streams/telemetry/samples/columns.ts';
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
import { HISTORY_FILE, loadProgress, openHistoryFile } from '../history-file.ts';
import type { VmRows } from '../rows.ts';
import type { UpkeepReport } from './chunk-writer.ts';
import { Flusher } from './flusher.ts';
import { type HistoryShare, HistoryView } from './history-view.ts';
import { ReadPool } from './read-pool.ts';
import type { StoredStatistics } from './stored-statistics.ts';

export interface HistoryOptions {
  /** Existing or new folder in which `history.db` lies. */
  readonly folder: string;
  readonly clock: Clock;
  /** Identity of the SAMPLES stream; sequences of another stream are forgotten. */
  readonly logIdentity: string;
  /** Chunks that end longer ago are dropped, ms. Default 7 days. */
  readonly retentionMs?: number;
  /** A VM's rows are put into a chunk after so long, ms of its receipt times. Default 1 hour. */
  readonly flushAfterMs?: number;
  /** Reading threads. Default 2. */
  readonly readers?: number;
  /** Bound of the memory for the head's rows and texts, bytes. Default 1 GiB. */
  readonly headBytesMax?: number;
  /** Bound of what one project may take of it, bytes. Default: all of it; see `boundProjects`. */
  readonly projectHeadBytesMax?: (project: string) => number;
  /** false: nothing happens by itself; the caller flushes and keeps up. Default true. */
  readonly background?: boolean;
}

export interface HistoryStats extends HeadCounts {
  readonly vms: number;
  /** VMs with rows that are in no chunk yet. */
  readonly pendingVms: number;
  /** Memory of the head taken from the system, in use, and its bound, bytes. */
  readonly headBytes: { readonly reserved: number; readonly used: number; readonly max: number };
  /** Projects with rows that were accepted and are not readable yet. */
  readonly incompleteProjects: number;
  /** `history.db` and its write-ahead file, bytes. */
  readonly fileBytes: number;
  readonly flushedVms: number;
  readonly flushFailures: number;
  readonly compactedDays: number;
  /** Days of VMs that are over and wait to be merged, as of the last upkeep. */
  readonly waitingDays: number;
  readonly droppedChunks: number;
  /** Days that could not be merged because a chunk of them is damaged. */
  readonly damagedDays: number;
  readonly threadCrashes: number;
  /** What failed last and has not succeeded since; absent = all is well. */
  readonly fault?: string;
}

/** Opens the store, making the file when it is missing. Close it after use. */
export function openHistory(options: HistoryOptions): History {
  mkdirSync(options.folder, { recursive: true });
  return new History(options);
}

export class History implements HistoryReader {
  readonly #clock: Clock;
  readonly #path: string;
  readonly #head: Head;
  readonly #share: HistoryShare;
  readonly #view: HistoryView;
  readonly #pool: ReadPool;
  readonly #flusher: Flusher;
  readonly #retentionMs: number;
  #projectHeadBytesMax: (project: string) => number;

  /** Use `openHistory`. */
  constructor(options: HistoryOptions) {
    this.#clock = options.clock;
    this.#path = join(options.folder, HISTORY_FILE);
    const database = openHistoryFile(this.#path);
    const progress = loadProgress(database, options.logIdentity);
    database.close();
    this.#projectHeadBytesMax = options.projectHeadBytesMax ?? (() => Infinity);
    this.#head = new Head({
      projectBytesMax: (project) => this.#projectHeadBytesMax(project),
      ...(options.headBytesMax !== undefined && { bytesMax: options.headBytesMax }),
      flushedSequenceOf: (project, vm) => progress.flushedSequences.get(`${project}\n${vm}`) ?? 0,
    });
    this.#share = { path: this.#path, head: this.#head.share };
    this.#view = new HistoryView(this.#share);
    this.#retentionMs = options.retentionMs ?? RETENTION_MS;
    this.#pool = new ReadPool({ share: this.#share, threads: options.readers ?? 2 });
    this.#flusher = new Flusher({
      ...{ clock: options.clock, head: this.#head, share: this.#share, floors: progress.floors },
      retentionMs: this.#retentionMs,
      flushAfterMs: options.flushAfterMs ?? 3_600_000,
    });
    if (options.background !== false) this.#flusher.start();
  }

  /** What a thread of someone else needs to see this history: hand it to a `HistoryView` there. */
  get share(): HistoryShare {
    return this.#share;
  }

  /**
   * Takes in a batch that is durable in the log. Visible to every reader when it returns; on disk
   * here only once `floor` has passed it. Repeating one, or an older one, changes nothing.
   */
  append(batch: SampleBatch, position: LogPosition): void {
    this.#head.append(batch, position);
  }

  /** From here on no project takes more of the head than this says, bytes. */
  boundProjects(bytesMax: (project: string) => number): void {
    this.#projectHeadBytesMax = bytesMax;
  }

  /** What the project takes of the head and may take now, bytes. */
  quota(project: string): HeadQuota {
    return this.#head.quota(project);
  }

  /** Rows that were accepted and found no room: `takeAgain` is to be called for their entries. */
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

  /** Notes an entry of the log that holds no samples, so that the floor can pass it. */
  pass(position: LogPosition): void {
    this.#head.pass(position);
  }

  /**
   * Sequence from which a restart reads the partition's log; everything before it is in chunks on
   * disk, power loss included, and may be truncated. 1 for a partition without any.
   */
  floor(partition: number): number {
    return this.#flusher.floor(partition);
  }

  /** The highest floor of all partitions; a log that begins later was cut for another history. */
  newestFloor(): number {
    return this.#flusher.newestFloor();
  }

  /**
   * Rows observed in [fromMs, toMs] and within retention, read in another thread. Throws
   * `HistoryError`, or the reason of `signal` when it aborts.
   */
  async read(request: RowsRequest & { readonly signal?: AbortSignal }): Promise<VmRows> {
    const { signal, ...rest } = request;
    // The pool's threads run our own file, whose answer to `read` is this.
    return (await this.#pool.call('read', this.#retained(rest), signal)) as VmRows;
  }

  /** As `read`, in this thread: for minutes of one VM, where a thread costs more than it saves. */
  readNow(request: RowsRequest): VmRows {
    return this.#view.read(this.#retained(request));
  }

  /** Newest row of a VM within retention, in this thread. Throws `HistoryError` DAMAGED. */
  newest(project: string, vm: string): LatestRow | undefined {
    return this.#view.newest(project, vm, this.#clock.now());
  }

  /** Without what is older than retention, though its chunk or its row in the head be there. */
  #retained(request: RowsRequest): RowsRequest {
    return { ...request, fromMs: Math.max(request.fromMs, this.#clock.now() - this.#retentionMs) };
  }

  /** Puts all rows that are in no chunk into chunks and moves the floors. Throws `HistoryError`. */
  async flush(): Promise<void> {
    await this.#flusher.flushAll();
  }

  /** Gives back memory of what is in chunks, and of VMs that were silent for all of retention. */
  release(): void {
    this.#head.release(this.#clock.now() - this.#retentionMs);
  }

  /** Drops whole chunks that ended before retention, and merges days that are over. */
  async retain(nowMs: number): Promise<UpkeepReport> {
    return await this.#flusher.upkeep(nowMs);
  }

  /**
   * Reads and verifies every chunk, in another thread and in steps that let reads through.
   * `onStep` gets what has been checked so far. Throws `HistoryError`, or the signal's reason.
   */
  async check(
    options: { readonly signal?: AbortSignal; readonly onStep?: (sofar: CheckReport) => void } = {},
  ): Promise<CheckReport> {
    let report = NOTHING_CHECKED;
    let after: number | undefined = 0;
    while (after !== undefined) {
      // The pool's threads run our own file, whose answer to `check` is this.
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

  /** What is in chunks, counted in another thread. Throws `HistoryError`. */
  async stored(): Promise<StoredStatistics> {
    return (await this.#pool.call('stored', undefined)) as StoredStatistics;
  }

  stats(): HistoryStats {
    return {
      ...this.#head.counts,
      vms: this.#head.vms.length,
      pendingVms: this.#head.vms.filter((vm) => vm.pendingSequence > 0).length,
      headBytes: this.#head.bytes,
      incompleteProjects: this.#head.refused().length,
      fileBytes: sizeOf(this.#path) + sizeOf(`${this.#path}-wal`),
      ...this.#flusher.counts(),
      threadCrashes: this.#pool.crashes + this.#flusher.threadCrashes,
    };
  }

  /** Ends threads and connections. What is not flushed comes back from the log. */
  async close(): Promise<void> {
    await this.#flusher.stop();
    await this.#pool.close();
    this.#view.close();
    // The writer goes last: only a connection that may write folds the write-ahead file in.
    await this.#flusher.close();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
