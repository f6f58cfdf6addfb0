/**
 * The head: the newest rows of every VM in shared memory, and which of them are not on disk yet.
 * One thread appends. The head determines the floor: the oldest sequence of each partition's log
 * that a restart has to read again.
 */
import type { SampleBatch } from '../../../../streams/telemetry/samples/batch.ts';
import {
  type HeadAccount,
  HeadFull,
  HeadMemory,
  type HeadMemoryOptions,
  type HeadShare,
} from './memory.ts';
import { ALL_MISSING, publishMissing } from './missing.ts';
import { Slab, type SlabOutcome } from './slab.ts';

/** Position of a batch in the log. */
export interface LogPosition {
  readonly partition: number;
  readonly sequence: number;
}

/** One VM of the head. Times are Unix ms of receipt, not of observation. */
export interface HeadVm {
  readonly project: string;
  readonly vm: string;
  readonly partition: number;
  readonly account: HeadAccount;
  readonly slab: Slab;
  /** Oldest sequence with rows that are in no chunk; 0 = none. */
  pendingSequence: number;
  pendingSinceMs: number;
  /** Rows since then that are in no chunk. */
  pendingRows: number;
  newestReceivedMs: number;
  /** At most the oldest sequence with a row that did not fit, 0 = none: it must be read again. */
  refusedSequence: number;
  /** During a flush: sequences that arrived since it began, in order. */
  sinceFlush: number[] | undefined;
}

/** Data that the writing thread needs to flush the VM. */
export function targetOf({ slab, project, vm, refusedSequence }: HeadVm) {
  return { slot: slab.slot, project, vm, refusedSequence };
}

/** Counts of the rows so far, by result. */
export interface HeadCounts {
  added: number;
  filled: number;
  duplicate: number;
  conflict: number;
  /** Rows that do not fit into the head: they stay in the log, and the floor stays before them. */
  refused: number;
  /** Rejected rows that have since been restored from the log. */
  recovered: number;
}

/** Rows of one project that did not fit. They have to be read from the log again. */
export interface RefusedRows {
  readonly project: string;
  readonly partition: number;
  /** First and last log entry that still have to be read for such rows. */
  firstSequence: number;
  lastSequence: number;
  /** Times of the rows, Unix ms, inclusive. */
  fromMs: number;
  toMs: number;
}

/** Memory of the head that a project uses and may use, bytes. */
export interface HeadQuota {
  readonly used: number;
  /** Current bound beside the other projects. */
  readonly bound: number;
  /** Own limit, regardless of the other projects. */
  readonly own: number;
}

/**
 * Bounds of the memory, and the rows that are already on disk: such rows are skipped if the log
 * delivers them again.
 */
export interface HeadOptions extends HeadMemoryOptions {
  /** Sequence up to which a VM's rows are in chunks on disk; 0 = none. */
  readonly flushedSequenceOf: (project: string, vm: string) => number;
}

/**
 * The writing side. One thread uses it; readers see its memory through `HeadReader` and
 * `HeadColumns`.
 */
export class Head {
  readonly counts: HeadCounts = {
    added: 0,
    filled: 0,
    duplicate: 0,
    conflict: 0,
    refused: 0,
    recovered: 0,
  };
  readonly #memory: HeadMemory;
  readonly #options: HeadOptions;
  readonly #vms = new Map<string, HeadVm>();
  readonly #bySlot: (HeadVm | undefined)[] = [];
  /** Newest sequence of each partition seen. */
  readonly #partitions = new Map<number, number>();
  readonly #refused = new Map<string, RefusedRows>();
  #isFilling = false;

  constructor(options: HeadOptions) {
    this.#options = options;
    this.#memory = new HeadMemory(options);
  }

  /** Handle with which another thread reads this head. */
  get share(): HeadShare {
    return this.#memory.share;
  }

  get vms(): readonly HeadVm[] {
    return [...this.#vms.values()];
  }

  get bytes(): { readonly reserved: number; readonly used: number; readonly max: number } {
    return this.#memory.bytes;
  }

  /** Memory that the project uses and may use. */
  quota(project: string): HeadQuota {
    const memory = this.#memory;
    const used = memory.usedBy(project);
    const { used: all, max } = memory.bytes;
    const bound = Math.min(memory.boundOf(project), used + max - all);
    return { used, bound, own: memory.ownBoundOf(project) };
  }

  /** Rows that did not fit, by project. */
  refused(): readonly RefusedRows[] {
    return [...this.#refused.values()];
  }

  /**
   * Adds a batch that is durable in the log at `position`. Repeating it is harmless. Rows without
   * space are rejected: they hold the floor, and reads of their times fail, until `takeAgain` has
   * added them. It does not throw for them.
   */
  append(batch: SampleBatch, position: LogPosition): void {
    this.pass(position);
    const vms = batch.vms.map((ref) => this.#vmOf(ref.project, ref.vm, position.partition));
    for (let i = 0; i < batch.count; i++) {
      const vm = vms[batch.vm[i] as number];
      const isIn = vm !== undefined && this.#put(vm, batch, i, position.sequence);
      if (!isIn) this.#refuse(batch, i, position);
    }
    // Only now: a flush between two rows of a batch must not treat the batch as complete.
    for (const vm of vms) vm?.slab.finish(position.sequence);
  }

  /**
   * Adds the previously rejected rows of a batch for one project. Call it for one entry after the
   * other, from `firstSequence` on.
   *
   * @returns false: there is no space yet, or a flush of the project is running; retry this entry
   * later
   */
  takeAgain(project: string, batch: SampleBatch, position: LogPosition): boolean {
    const refused = this.#refused.get(project);
    if (refused === undefined || position.sequence < refused.firstSequence) return true;
    const partitionSequence = this.#partitions.get(position.partition) ?? position.sequence;
    const before = this.counts.added + this.counts.filled;
    for (let i = 0; i < batch.count; i++) {
      const ref = batch.vms[batch.vm[i] as number];
      if (ref?.project !== project) continue;
      const vm = this.#vmOf(project, ref.vm, position.partition);
      if (vm === undefined || vm.sinceFlush !== undefined) return false;
      // Marked with the newest entry's sequence: older ones count as flushed if later rows were.
      vm.slab.reopen(partitionSequence);
      if (!this.#put(vm, batch, i, partitionSequence)) return false;
      vm.slab.finish(partitionSequence);
      // The floor stays before the row's actual entry.
      if (vm.pendingSequence > position.sequence) vm.pendingSequence = position.sequence;
    }
    this.counts.recovered += this.counts.added + this.counts.filled - before;
    this.#advance(refused, position.sequence + 1);
    return true;
  }

  /** Called when no log entry before `sequence` has rejected rows of the project any longer. */
  tookThrough(project: string, sequence: number): void {
    const refused = this.#refused.get(project);
    if (refused !== undefined) this.#advance(refused, sequence + 1);
  }

  /**
   * After a start, rows that are in no chunk have to be read from the log again. While this is true
   * every read fails, because any time may lack rows.
   */
  setFilling(isFilling: boolean): void {
    if (isFilling === this.#isFilling) return;
    this.#isFilling = isFilling;
    this.#publishRefused();
  }

  /** Records an entry of the log without rows, so that the floor can pass it. */
  pass({ partition, sequence }: LogPosition): void {
    const known = this.#partitions.get(partition);
    if (known === undefined || sequence > known) this.#partitions.set(partition, sequence);
  }

  /** VMs with rows that are in no chunk and no running flush. */
  pending(): HeadVm[] {
    return this.vms.filter((vm) => vm.pendingSequence > 0 && vm.sinceFlush === undefined);
  }

  beginFlush(vms: readonly HeadVm[]): void {
    for (const vm of vms) vm.sinceFlush = [];
  }

  /** Called when a flush has stored all rows up to `sequence` in chunks, durable across a kill. */
  endFlush(vm: HeadVm, sequence: number): void {
    vm.slab.flushed(sequence);
    const since = vm.sinceFlush?.filter((one) => one > sequence) ?? [];
    vm.pendingSequence = since[0] ?? 0;
    vm.pendingRows = since.length;
    vm.pendingSinceMs = vm.newestReceivedMs;
    vm.sinceFlush = undefined;
  }

  /** Called when a flush has failed: the state is unchanged, and the VMs are due again. */
  failFlush(vms: readonly HeadVm[]): void {
    for (const vm of vms) vm.sinceFlush = undefined;
  }

  /**
   * Releases memory: all flushed rows except the newest few, and all data of VMs whose newest row
   * was observed before `expiredBeforeMs`, Unix ms; those VMs leave the head.
   */
  release(expiredBeforeMs: number): void {
    for (const vm of this.vms) {
      if (vm.pendingSequence > 0 || vm.sinceFlush !== undefined) continue;
      const { newestMs } = vm.slab;
      if (newestMs === undefined || newestMs < expiredBeforeMs) this.#remove(vm);
      else vm.slab.dropFlushed();
    }
  }

  vmAt(slot: number): HeadVm | undefined {
    return this.#bySlot[slot];
  }

  /** For each partition seen: the oldest sequence that is not completely in chunks. */
  floors(): Map<number, number> {
    const floors = new Map<number, number>();
    for (const [partition, last] of this.#partitions) floors.set(partition, last + 1);
    const hold = (partition: number, sequence: number) => {
      const floor = floors.get(partition);
      if (floor !== undefined && sequence < floor) floors.set(partition, sequence);
    };
    for (const { partition, firstSequence } of this.#refused.values()) {
      hold(partition, firstSequence);
    }
    for (const vm of this.#vms.values()) {
      if (vm.pendingSequence > 0) hold(vm.partition, vm.pendingSequence);
    }
    return floors;
  }

  /** false: the row does not fit. */
  #put(vm: HeadVm, batch: SampleBatch, i: number, sequence: number): boolean {
    const layout = batch.layouts[batch.layout[i] as number];
    if (layout === undefined) throw new RangeError(`Row ${i} has no layout`);
    vm.newestReceivedMs = Math.max(vm.newestReceivedMs, batch.receivedMs);
    try {
      const outcome = vm.slab.put({
        timeMs: batch.observedMs[i] as number,
        sequence,
        vcpus: batch.vcpus[i] as number,
        state: batch.state[i] as number,
        boot: batch.strings[batch.boot[i] as number] ?? '',
        stateReason: batch.strings[batch.stateReason[i] as number] ?? '',
        layout,
        values: batch.values,
        from: batch.valueOffset[i] as number,
      });
      this.#count(vm, outcome, sequence);
      return true;
    } catch (error) {
      if (!(error instanceof HeadFull)) throw error;
      return false;
    }
  }

  #count(vm: HeadVm, outcome: SlabOutcome, sequence: number): void {
    this.counts[outcome]++;
    if (outcome === 'duplicate' || sequence <= vm.slab.flushedSequence) return;
    if (vm.pendingSequence === 0) {
      vm.pendingSequence = sequence;
      vm.pendingSinceMs = vm.newestReceivedMs;
    }
    vm.pendingRows++;
    if (vm.sinceFlush && vm.sinceFlush.at(-1) !== sequence) vm.sinceFlush.push(sequence);
  }

  /** Leaves the row in the log; reads of its time fail until it is restored. */
  #refuse(batch: SampleBatch, i: number, { partition, sequence }: LogPosition): void {
    const ref = batch.vms[batch.vm[i] as number];
    if (ref === undefined) throw new RangeError(`Row ${i} has no VM`);
    this.counts.refused++;
    const vm = this.#vms.get(`${ref.project}\n${ref.vm}`);
    if (vm?.refusedSequence === 0) vm.refusedSequence = sequence;
    const timeMs = batch.observedMs[i] as number;
    const known = this.#refused.get(ref.project);
    if (known === undefined) {
      const span = {
        fromMs: timeMs,
        toMs: timeMs,
        firstSequence: sequence,
        lastSequence: sequence,
      };
      this.#refused.set(ref.project, { project: ref.project, partition, ...span });
      this.#publishRefused();
      return;
    }
    known.firstSequence = Math.min(known.firstSequence, sequence);
    known.lastSequence = Math.max(known.lastSequence, sequence);
    if (timeMs >= known.fromMs && timeMs <= known.toMs) return;
    known.fromMs = Math.min(known.fromMs, timeMs);
    known.toMs = Math.max(known.toMs, timeMs);
    this.#publishRefused();
  }

  /** Called when the rows rejected before `sequence` have been added. */
  #advance(refused: RefusedRows, sequence: number): void {
    refused.firstSequence = Math.max(refused.firstSequence, sequence);
    if (refused.firstSequence <= refused.lastSequence) return;
    for (const vm of this.#vms.values()) {
      if (vm.project === refused.project) vm.refusedSequence = 0;
    }
    this.#refused.delete(refused.project);
    this.#publishRefused();
  }

  #publishRefused(): void {
    const spans = this.refused().map(({ project, fromMs, toMs }) => ({ project, fromMs, toMs }));
    publishMissing(this.share.missing, this.#isFilling ? [ALL_MISSING, ...spans] : spans);
  }

  /** The VM, created if new; undefined if no more fit. */
  #vmOf(project: string, vm: string, partition: number): HeadVm | undefined {
    const key = `${project}\n${vm}`;
    const known = this.#vms.get(key);
    if (known !== undefined) return known;
    let place: { readonly slot: number; readonly account: HeadAccount };
    try {
      place = this.#memory.addVm(project, vm);
    } catch (error) {
      if (error instanceof HeadFull) return undefined;
      throw error;
    }
    const slab = new Slab(this.#memory, place, this.#options.flushedSequenceOf(project, vm));
    const idle = { pendingSequence: 0, pendingSinceMs: 0, pendingRows: 0, newestReceivedMs: 0 };
    // Its own rows may be among the rejected ones, if it was not in the head yet or has left it.
    const refusedSequence = this.#refused.get(project)?.firstSequence ?? 0;
    const made: HeadVm = {
      project,
      vm,
      partition,
      slab,
      account: place.account,
      ...idle,
      refusedSequence,
      sinceFlush: undefined,
    };
    this.#vms.set(key, made);
    this.#bySlot[place.slot] = made;
    return made;
  }

  #remove(vm: HeadVm): void {
    vm.slab.clear();
    this.#memory.removeVm(vm.slab.slot, vm.vm, vm.account);
    this.#vms.delete(`${vm.project}\n${vm.vm}`);
    this.#bySlot[vm.slab.slot] = undefined;
  }
}
