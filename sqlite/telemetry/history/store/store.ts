/**
 * The history of every VM: newest rows in the head, older ones in chunks, read as one. Rows come
 * from a log that keeps them until `floor` has passed, so history may lose everything in memory at
 * any moment and read it again. A row that arrives twice is the same row.
 *
 *   log ─▶ append ─▶ head ─▶ flush (hourly per VM) ─▶ chunks ─▶ merged by day ─▶ dropped by age
 *                      └──────────── read: head first, then chunks ─────────────┘
 */
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type CancelWakeUp, type Clock, isAhead } from '../../../../streams/platform/clock.ts';
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
  type HeadVm,
  type LogPosition,
  type RefusedRows,
  targetOf,
} from '../head/head.ts';
import { HistoryError } from '../history-error.ts';
import {
  HISTORY_FILE,
  type LostStretch,
  loadProgress,
  openHistoryFile,
  recordLostStretch,
} from '../history-file.ts';
import type { VmRows } from '../rows.ts';
import { type StartWorker, SupervisedThread, threadEntry } from '../threads/supervised-thread.ts';
import type { FlushReport, UpkeepReport } from './chunk-writer.ts';
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
  mkdirSync(options.folder, { recursive: true });
  return new History(options);
}

/** All of history, as the main thread uses it: it writes the head and sends reads to threads. */
export class History implements HistoryReader {
  readonly #clock: Clock;
  readonly #path: string;
  readonly #head: Head;
  readonly #share: HistoryShare;
  readonly #view: HistoryView;
  readonly #pool: ReadPool;
  readonly #flusher: Flusher;
  readonly #retentionMs: number;
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
    this.#share = { path: this.#path, head: this.#head.share };
    this.#view = new HistoryView(this.#share);
    this.#retentionMs = options.retentionMs ?? RETENTION_MS;
    const { startWorker, readers = 2 } = options;
    this.#pool = new ReadPool({ share: this.#share, threads: readers, startWorker });
    this.#flusher = new Flusher({
      clock: options.clock,
      head: this.#head,
      share: this.#share,
      floors: progress.floors,
      retentionMs: this.#retentionMs,
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
      recordLostStretch(database, stretch, this.#clock.now() - this.#retentionMs);
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
    return { ...request, fromMs: Math.max(request.fromMs, this.#clock.now() - this.#retentionMs) };
  }

  /** Flushes all rows that are in no chunk and moves the floors. Throws `HistoryError`. */
  async flush(): Promise<void> {
    await this.#flusher.flushAll();
  }

  /** Releases memory of flushed rows, and of VMs that were silent for all of retention. */
  release(): void {
    this.#head.release(this.#clock.now() - this.#retentionMs);
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
      // The pool's threads run this program's file; its method `check` returns this type.
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

// Background work of history: flushes rows of the head into chunks, moves the floors once those are
// on disk, drops and merges chunks. One thread writes; this file decides which work is due. A
// failed step loses nothing: it is counted, logged and retried.

/** Interval of checks for due work, ms. */
const LOOK_MS = 10_000;
/** Checks between two runs of upkeep: once a minute. */
const LOOKS_A_UPKEEP = 6;
const UPKEEP_STEPS_MAX = 64;
/** VMs per transaction: about 60 ms of the writing thread. */
const GROUP = 64;
/** Checks over which a fleet that is due at once is spread: five minutes. */
const LOOKS_A_FLEET = 30;
/** Pending rows at which a VM is due early: one per second for a quarter of an hour. */
const ROWS_DUE = 1024;
/**
 * Share of its memory at which a project is flushed early: more than a fleet of the default size
 * ever uses, less than the share at which ingest rejects rows.
 */
const PRESSED_SHARE = 2 / 3;
/** VMs of such projects flushed per check: a second of the writing thread. */
const PRESSED_A_LOOK = 1024;

/** The data that the flusher processes, and its intervals. */
export interface FlusherOptions {
  readonly clock: Clock;
  readonly head: Head;
  readonly share: HistoryShare;
  /** Floors of earlier runs. */
  readonly floors: ReadonlyMap<number, number>;
  readonly retentionMs: number;
  readonly flushAfterMs: number;
  readonly startWorker: StartWorker | undefined;
}

/**
 * Counters of the flusher since the start; `fault` is the current reason why it cannot continue.
 */
export interface FlusherCounts {
  readonly flushedVms: number;
  readonly flushFailures: number;
  readonly compactedDays: number;
  readonly waitingDays: number;
  readonly droppedChunks: number;
  readonly damagedDays: number;
  readonly fault?: string;
}

/**
 * Moves rows from the head to chunks, on its own thread, and reports the floor at which a restart
 * begins.
 */
export class Flusher {
  readonly #options: FlusherOptions;
  readonly #thread: SupervisedThread;
  /** Floors on disk. */
  readonly #floors: Map<number, number>;
  readonly #counts = {
    flushedVms: 0,
    flushFailures: 0,
    compactedDays: 0,
    waitingDays: 0,
    droppedChunks: 0,
    damagedDays: 0,
  };
  /** VMs whose own rows could not be flushed, with the reason. Each is retried after all others. */
  readonly #failing = new Map<HeadVm, string>();
  #fault: string | undefined;
  #cancel: CancelWakeUp | undefined;
  #looks = 0;
  #isStopping = false;
  #looking: Promise<void> | undefined;

  constructor(options: FlusherOptions) {
    this.#options = options;
    this.#floors = new Map(options.floors);
    this.#thread = new SupervisedThread({
      entry: threadEntry(import.meta.url, 'write-thread'),
      startWorker: options.startWorker,
      name: 'history writer',
      data: options.share,
    });
  }

  get threadCrashes(): number {
    return this.#thread.crashes;
  }

  floor(partition: number): number {
    return this.#floors.get(partition) ?? 1;
  }

  newestFloor(): number {
    return Math.max(1, ...this.#floors.values());
  }

  counts(): FlusherCounts {
    const fault = this.#fault ?? this.#failingFault();
    return { ...this.#counts, ...(fault !== undefined && { fault }) };
  }

  /** Checks for due work repeatedly, until `close`. */
  start(): void {
    this.#cancel = this.#options.clock.wakeAfter(LOOK_MS, () => {
      this.#looking = this.#look().finally(() => {
        if (this.#cancel !== undefined) this.start();
      });
    });
  }

  /** Flushes every VM with pending rows. Throws `HistoryError`. */
  async flushAll(): Promise<void> {
    await this.#flush(this.#options.head.pending());
    await this.#moveFloors();
    const fault = this.#failingFault();
    if (fault !== undefined) throw new HistoryError('FAULT', fault);
  }

  /**
   * Drops and merges, step by step, until nothing is left to do, or until `stop`. Throws
   * `HistoryError`.
   */
  async upkeep(nowMs: number): Promise<UpkeepReport> {
    const total = { droppedChunks: 0, compactedDays: 0, damagedDays: 0, more: true };
    const options = { nowMs, dropBeforeMs: nowMs - this.#options.retentionMs };
    for (let step = 0; total.more && step < UPKEEP_STEPS_MAX && !this.#isStopping; step++) {
      // The thread runs this program's file; its method `upkeep` returns this type.
      const report = (await this.#thread.call('upkeep', options)) as UpkeepReport;
      total.droppedChunks += report.droppedChunks;
      total.compactedDays += report.compactedDays;
      total.damagedDays += report.damagedDays;
      total.more = report.more;
      // Updated after each step: a day of a large fleet takes minutes, and progress must be
      // visible.
      this.#counts.droppedChunks += report.droppedChunks;
      this.#counts.compactedDays += report.compactedDays;
      this.#counts.damagedDays += report.damagedDays;
      this.#counts.waitingDays = Math.max(0, this.#counts.waitingDays - report.compactedDays);
    }
    if (this.#isStopping) return total;
    // The thread runs this program's file; its method `waitingDays` returns this type.
    this.#counts.waitingDays = (await this.#thread.call('waitingDays', nowMs)) as number;
    return total;
  }

  /** Stops checking and waits for the current step; the rest is due at the next start. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#cancel?.();
    this.#cancel = undefined;
    await this.#looking;
  }

  /** Ends the writing thread. */
  async close(): Promise<void> {
    await this.stop();
    await this.#thread.close();
  }

  async #look(): Promise<void> {
    try {
      await this.#flush(this.#due());
      await this.#moveFloors();
      if (++this.#looks % LOOKS_A_UPKEEP === 0) await this.#keepUp();
      this.#fault = undefined;
    } catch (error) {
      // Retried at the next check; meanwhile `stats` reports it, and the log keeps the rows.
      this.#fault = error instanceof Error ? error.message : String(error);
    }
  }

  async #keepUp(): Promise<void> {
    const { clock, head, retentionMs } = this.#options;
    const nowMs = clock.now();
    head.release(nowMs - retentionMs);
    await this.upkeep(nowMs);
  }

  #due(): HeadVm[] {
    const { clock, head, flushAfterMs } = this.#options;
    const nowMs = clock.now();
    const isLong = (sinceMs: number): boolean =>
      sinceMs <= nowMs - flushAfterMs || isAhead(sinceMs, nowMs);
    const due = head
      .pending()
      .filter((vm) => isLong(vm.pendingSinceMs) || vm.pendingRows >= ROWS_DUE)
      .sort((a, b) => Number(this.#failing.has(a)) - Number(this.#failing.has(b)));
    const inTime = due.slice(0, Math.max(GROUP, Math.ceil(head.vms.length / LOOKS_A_FLEET)));
    const pressed = this.#pressed(new Set(inTime));
    return [...inTime, ...pressed];
  }

  /** VMs with the most pending rows in projects short of memory, except those in `besides`. */
  #pressed(besides: ReadonlySet<HeadVm>): HeadVm[] {
    const { head } = this.#options;
    const pending = head.pending().filter((vm) => !besides.has(vm) && this.#isPressed(vm.project));
    return pending.sort((a, b) => b.pendingRows - a.pendingRows).slice(0, PRESSED_A_LOOK);
  }

  #isPressed(project: string): boolean {
    const { used, bound } = this.#options.head.quota(project);
    return used > bound * PRESSED_SHARE;
  }

  async #flush(vms: readonly HeadVm[]): Promise<void> {
    for (let i = 0; i < vms.length; i += GROUP) await this.#flushGroup(vms.slice(i, i + GROUP));
  }

  async #flushGroup(vms: readonly HeadVm[]): Promise<void> {
    const { head } = this.#options;
    const group = vms.filter((vm) => vm.sinceFlush === undefined);
    head.beginFlush(group);
    try {
      const targets = group.map(targetOf);
      // The thread runs this program's file; its method `flush` returns this type.
      const { flushed, failed } = (await this.#thread.call('flush', targets)) as FlushReport;
      for (const { slot, sequence } of flushed) {
        const vm = head.vmAt(slot);
        if (vm === undefined) continue;
        head.endFlush(vm, sequence);
        this.#failing.delete(vm);
        if (this.#isPressed(vm.project)) vm.slab.dropFlushed();
      }
      for (const { slot, message } of failed) this.#failed(head.vmAt(slot), message);
      this.#counts.flushedVms += flushed.length;
    } catch (error) {
      head.failFlush(group);
      this.#counts.flushFailures++;
      throw error;
    }
  }

  /** The rows stay in the head and hold the floor. */
  #failed(vm: HeadVm | undefined, message: string): void {
    this.#counts.flushFailures++;
    if (vm === undefined) return;
    this.#options.head.failFlush([vm]);
    this.#failing.set(vm, message);
  }

  #failingFault(): string | undefined {
    const [first] = this.#failing;
    if (first === undefined) return undefined;
    const [{ project, vm }, message] = first;
    const others = this.#failing.size > 1 ? `, nor can ${this.#failing.size - 1} others` : '';
    return `VM ${vm} of ${project} cannot be flushed${others}: ${message}`;
  }

  async #moveFloors(): Promise<void> {
    const moved = [...this.#options.head.floors()].filter(
      ([partition, sequence]) => sequence > this.floor(partition),
    );
    if (moved.length === 0) return;
    await this.#thread.call('moveFloors', moved);
    for (const [partition, sequence] of moved) this.#floors.set(partition, sequence);
  }
}
