/**
 * The head: the newest rows of every VM in shared memory, and what of them is not on disk yet.
 * One thread appends; from it follows the floor, the oldest sequence of each partition's log that
 * a restart has to read again.
 */
import type { SampleBatch } from '../../../streams/samples/batch.ts';
import { HEAD_BYTES_MAX, HeadMemory, type HeadShare } from './memory.ts';
import { HeadFull } from './shared-strings.ts';
import { Slab, type SlabOutcome } from './slab.ts';

/** Where in the log a batch stands. */
export interface LogPosition {
  readonly partition: number;
  readonly sequence: number;
}

/** One VM of the head. Times are Unix ms of receipt, not of observation. */
export interface HeadVm {
  readonly project: string;
  readonly vm: string;
  readonly partition: number;
  readonly slab: Slab;
  /** Oldest sequence with rows that are in no chunk; 0 = none. */
  pendingSequence: number;
  pendingSinceMs: number;
  /** Rows since then, in no chunk. */
  pendingRows: number;
  newestReceivedMs: number;
  /** Oldest sequence with a row that found no room, 0 = none: a restart must take it in again. */
  refusedSequence: number;
  /** While a flush is under way: sequences that came in since it began, in order. */
  sinceFlush: number[] | undefined;
}

/** What the writing thread has to know to flush the VM. */
export function targetOf({ slab, project, vm, refusedSequence }: HeadVm) {
  return { slot: slab.slot, project, vm, refusedSequence };
}

/** What became of the rows so far. */
export interface HeadCounts {
  added: number;
  filled: number;
  duplicate: number;
  conflict: number;
  /** No room in the head: they stay in the log, and the floor stays before them. */
  refused: number;
}

interface Partition {
  lastSequence: number;
  /** Sequence of a row that found no room; the floor does not pass it until a restart. */
  refusedSequence: number;
}

export interface HeadOptions {
  /** Bound of the memory for rows, bytes. Default 1 GiB. */
  readonly bytesMax?: number;
  /** Sequence up to which a VM's rows are in chunks on disk; 0 = none. */
  readonly flushedSequenceOf: (project: string, vm: string) => number;
}

export class Head {
  readonly counts: HeadCounts = { added: 0, filled: 0, duplicate: 0, conflict: 0, refused: 0 };
  readonly #memory: HeadMemory;
  readonly #options: HeadOptions;
  readonly #vms = new Map<string, HeadVm>();
  readonly #bySlot: HeadVm[] = [];
  readonly #partitions = new Map<number, Partition>();

  constructor(options: HeadOptions) {
    this.#options = options;
    this.#memory = new HeadMemory(options.bytesMax ?? HEAD_BYTES_MAX);
  }

  /** What another thread needs to read this head. */
  get share(): HeadShare {
    return this.#memory.share;
  }

  get vms(): readonly HeadVm[] {
    return this.#bySlot;
  }

  get bytes(): { readonly reserved: number; readonly used: number } {
    return this.#memory.bytes;
  }

  /**
   * Takes in a batch that is durable in the log at `position`. Repeating one is harmless. Rows that
   * find no room are counted as refused and hold the floor; nothing is thrown for them.
   */
  append(batch: SampleBatch, position: LogPosition): void {
    this.pass(position);
    const vms = batch.vms.map((ref) => this.#vmOf(ref.project, ref.vm, position.partition));
    for (let i = 0; i < batch.count; i++) {
      const vm = vms[batch.vm[i] as number];
      if (vm === undefined) this.#refuse(position);
      else this.#put(vm, batch, i, position);
    }
    // Only now: a flush that runs between two rows of a batch must not call the batch whole.
    for (const vm of vms) vm?.slab.finish(position.sequence);
  }

  /** Notes an entry of the log without rows, so that the floor can pass it. */
  pass({ partition, sequence }: LogPosition): void {
    const known = this.#partitions.get(partition);
    if (known === undefined) {
      this.#partitions.set(partition, { lastSequence: sequence, refusedSequence: 0 });
    } else if (sequence > known.lastSequence) known.lastSequence = sequence;
  }

  /** VMs with rows that are in no chunk, none of which is being flushed. */
  pending(): HeadVm[] {
    return this.#bySlot.filter((vm) => vm.pendingSequence > 0 && vm.sinceFlush === undefined);
  }

  beginFlush(vms: readonly HeadVm[]): void {
    for (const vm of vms) vm.sinceFlush = [];
  }

  /** The flush has put all rows up to `sequence` into chunks, durably enough to survive a kill. */
  endFlush(vm: HeadVm, sequence: number): void {
    vm.slab.flushed(sequence);
    const since = vm.sinceFlush?.filter((one) => one > sequence) ?? [];
    vm.pendingSequence = since[0] ?? 0;
    vm.pendingRows = since.length;
    vm.pendingSinceMs = vm.newestReceivedMs;
    vm.sinceFlush = undefined;
  }

  /** The flush has failed: everything is as it was, and due again. */
  failFlush(vms: readonly HeadVm[]): void {
    for (const vm of vms) vm.sinceFlush = undefined;
  }

  /**
   * Gives back memory that is not needed: of flushed rows all but the newest few, and everything of
   * VMs whose newest row was observed before `expiredBeforeMs`, Unix ms.
   */
  release(expiredBeforeMs: number): void {
    for (const { slab, pendingSequence, sinceFlush } of this.#bySlot) {
      if (pendingSequence > 0 || sinceFlush !== undefined) continue;
      const { newestMs } = slab;
      if (newestMs === undefined) continue;
      if (newestMs < expiredBeforeMs) slab.clear();
      else slab.dropFlushed();
    }
  }

  vmAt(slot: number): HeadVm | undefined {
    return this.#bySlot[slot];
  }

  /** For each partition seen: oldest sequence that is not wholly in chunks. */
  floors(): Map<number, number> {
    const floors = new Map<number, number>();
    for (const [partition, { lastSequence, refusedSequence }] of this.#partitions) {
      floors.set(partition, refusedSequence > 0 ? refusedSequence : lastSequence + 1);
    }
    for (const vm of this.#bySlot) {
      const floor = floors.get(vm.partition);
      if (vm.pendingSequence > 0 && floor !== undefined && vm.pendingSequence < floor) {
        floors.set(vm.partition, vm.pendingSequence);
      }
    }
    return floors;
  }

  #put(vm: HeadVm, batch: SampleBatch, i: number, position: LogPosition): void {
    const layout = batch.layouts[batch.layout[i] as number];
    if (layout === undefined) throw new RangeError(`Row ${i} has no layout`);
    vm.newestReceivedMs = Math.max(vm.newestReceivedMs, batch.receivedMs);
    try {
      const outcome = vm.slab.put({
        timeMs: batch.observedMs[i] as number,
        sequence: position.sequence,
        vcpus: batch.vcpus[i] as number,
        state: batch.state[i] as number,
        boot: this.#textOf(batch, batch.boot[i] as number),
        stateReason: this.#textOf(batch, batch.stateReason[i] as number),
        conflicted: false,
        columns: vm.slab.columnsOf(layout),
        values: batch.values,
        from: batch.valueOffset[i] as number,
      });
      this.#count(vm, outcome, position.sequence);
    } catch (error) {
      if (!(error instanceof HeadFull)) throw error;
      if (vm.refusedSequence === 0) vm.refusedSequence = position.sequence;
      this.#refuse(position);
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

  #refuse({ partition, sequence }: LogPosition): void {
    this.counts.refused++;
    const known = this.#partitions.get(partition);
    if (known && known.refusedSequence === 0) known.refusedSequence = sequence;
  }

  #textOf(batch: SampleBatch, index: number): number {
    return index === 0 ? 0 : this.#memory.strings.idOf(batch.strings[index] ?? '');
  }

  /** The VM, made when it is new; undefined when there is no room for one more. */
  #vmOf(project: string, vm: string, partition: number): HeadVm | undefined {
    const key = `${project}\n${vm}`;
    const known = this.#vms.get(key);
    if (known !== undefined) return known;
    let slot: number;
    try {
      slot = this.#memory.addVm(project, vm);
    } catch (error) {
      if (error instanceof HeadFull) return undefined;
      throw error;
    }
    const slab = new Slab(this.#memory, slot, this.#options.flushedSequenceOf(project, vm));
    const idle = { pendingSequence: 0, pendingSinceMs: 0, pendingRows: 0, newestReceivedMs: 0 };
    const whole = { refusedSequence: 0, sinceFlush: undefined };
    const made: HeadVm = { project, vm, partition, slab, ...idle, ...whole };
    this.#vms.set(key, made);
    this.#bySlot.push(made);
    return made;
  }
}
