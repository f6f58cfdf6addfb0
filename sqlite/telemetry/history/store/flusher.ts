/**
 * Background work of history: flushes rows of the head into chunks, moves the floors once those are
 * on disk, drops and merges chunks. One thread writes; this file decides which work is due. A failed
 * step loses nothing: it is counted, logged and retried.
 */
import { type CancelWakeUp, type Clock, isAhead } from '../../../../streams/platform/clock.ts';
import { type Head, type HeadVm, targetOf } from '../head/head.ts';
import { HistoryError } from '../history-error.ts';
import { type StartWorker, SupervisedThread, threadEntry } from '../threads/supervised-thread.ts';
import type { FlushReport, UpkeepReport } from './chunk-writer.ts';
import type { HistoryShare } from './history-view.ts';

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

  /** Entries below it are in no partition's rows that are not in chunks; 1: unknown. */
  oldestFloor(): number {
    // A partition without a floor had no entry when the others got theirs.
    return this.#floors.size === 0 ? 1 : Math.min(...this.#floors.values());
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
      // Retried at the next check. Until then `stats` reports it, and the log keeps the rows.
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
