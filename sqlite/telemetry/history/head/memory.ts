/**
 * The memory shared by the head's threads: a directory with one entry per VM, and cells (doubles)
 * in blocks for everything else. Released blocks are reused, so the memory of a fleet follows its
 * unflushed rows up and down. Everything grows in small steps.
 *
 *   VM header (cells): last sequence · flushed sequence · text table and its length
 *                      · for each column the id of its series key · the cells where those are
 *   page (cells): next page · rows; a row: time · sequence · vCPUs · codes · value of each column
 *   text table (cells): for each number of a row's codes the id of a text, 0 = none · its cell
 *   text (cells): id · length in bytes · UTF-8
 *
 * Every block is charged to one project. A text is held by the VMs that use it in rows, columns or
 * names, and is freed with the last of them. A reader finds texts between the same two reads of the
 * VM's lock as its rows: while the lock is unchanged, the VM holds them. Ids of texts are never
 * reused, so a reader may cache the text of an id.
 */
import { Buffer } from 'node:buffer';
import { createMissingMemory } from './missing.ts';

/** Data that a thread needs to read the head; passes through `postMessage` without copying. */
export interface HeadShare {
  readonly directory: SharedArrayBuffer;
  readonly cells: SharedArrayBuffer;
  /** Rows that are in the log but not here; see `missing.ts`. */
  readonly missing: SharedArrayBuffer;
}

/** The memory of the head, or of one project in it, is exhausted; the rows stay in the log. */
export class HeadFull extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HeadFull';
  }
}

/** Index of the number of directory entries ever used. */
export const VM_COUNT = 0;
/** Index of a counter that increases whenever an entry is allocated or freed. */
export const VM_CHANGES = 1;
const DIRECTORY_HEADER = 4;
/** Numbers per entry. */
const ENTRY_LENGTH = 12;
/**
 * Even = at rest; odd = being written. Increases with every write, even if the entry changes its
 * VM.
 */
export const LOCK = 0;
/** Cells of the texts that name the VM. */
export const PROJECT = 1;
export const VM = 2;
/** Cell of the VM header. */
export const HEADER = 3;
export const COLUMNS = 4;
/** Cell of the first page, -1 = none. */
export const FIRST_PAGE = 5;
export const PAGE_CELLS = 6;
export const STRIDE = 7;
export const ROWS = 8;
/**
 * Odd = in use; even = free. Increases each time, so that a saved value shows whether the entry is
 * still the same.
 */
export const GENERATION = 9;

/** Cells of a VM header before its columns. */
export const LAST_SEQUENCE = 0;
export const FLUSHED_SEQUENCE = 1;
/** Cell of the text table, and its capacity in numbers. */
export const TEXT_TABLE = 2;
export const TEXT_COUNT = 3;
export const HEADER_CELLS = 4;
/** Cells of a row before its values. */
export const ROW_TIME = 0;
export const ROW_SEQUENCE = 1;
export const ROW_VCPUS = 2;
export const ROW_CODES = 3;
export const ROW_CELLS = 4;
/** Cells of a text before its bytes. */
export const TEXT_CELLS = 2;

/** Size of a cell, bytes: each is a double. */
export const CELL_BYTES = 8;
const DIRECTORY_GROWTH = 4096 * ENTRY_LENGTH * 4;
/** A million VMs on one host: twenty times the largest project. */
const DIRECTORY_BYTES_MAX = 2 ** 20 * ENTRY_LENGTH * 4;
const CELLS_GROWTH_BYTES = 1024 * 1024;
/** 50,000 VMs with an hour of 13 series each take 870 MB. */
const HEAD_BYTES_MAX = 2 ** 30;
/**
 * Maximum share of the projects together; a single project may take all of it. The rest is for
 * projects that arrive later and for rows that are being accepted.
 */
const POOL_SHARE = 7 / 8;
/**
 * Once this share of all memory is taken, a project at or above its fair share of it gets no more
 * (max-min: memory that some do not need is divided among the others). So no project is rejected
 * within its share because others were first.
 */
const TIGHT_SHARE = 3 / 4;
/**
 * Regardless of its share, a project may take this part of the free memory. So memory is never
 * exhausted: each further project that takes all it can leaves eight ninths of it to the others.
 * (Buffers shared by many queues are divided like this: Choudhury and Hahne, "Dynamic queue length
 * thresholds", 1998.)
 */
const SHARE_OF_FREE = 1 / 8;
/** A project may always take this share of all memory: large projects do not block small ones. */
const SMALL_SHARE = 1 / 64;
/** The fair share is recomputed once this share of all memory has changed hands. */
const MOVED_SHARE = 1 / 256;

/** A project's part of the head. */
export interface HeadAccount {
  readonly project: string;
  /** Size of its own blocks. */
  bytes: number;
  vms: number;
  readonly texts: Map<string, HeadText>;
}

/** A text in the cells, held by `uses` VMs and columns. */
export interface HeadText {
  readonly text: string;
  readonly id: number;
  readonly start: number;
  readonly cells: number;
  uses: number;
}

/** Bounds, so that one project's rows cannot take the memory of all others. */
export interface HeadMemoryOptions {
  /** Bound of the cells, bytes. Default 1 GiB. */
  readonly bytesMax?: number;
  /** Bound of each project's part, bytes. */
  readonly projectBytesMax?: (project: string) => number;
}

/** Offset of a VM's entry in the directory. */
export function entryOf(slot: number): number {
  return DIRECTORY_HEADER + slot * ENTRY_LENGTH;
}

/** The writing side of the memory; one per head. */
export class HeadMemory {
  readonly share: HeadShare;
  /** All cells; replaced when they grow, so read this field again after an allocation. */
  cells: Float64Array;
  /** All entries; replaced when a VM is added. */
  directory: Int32Array;
  readonly #projectBytesMax: (project: string) => number;
  readonly #blocks = new CellBlocks();
  readonly #accounts = new Map<string, HeadAccount>();
  readonly #freeSlots: number[] = [];
  #lastTextId = 0;
  /** Fair share at its last computation, and the bytes allocated and freed since. */
  #fair = { bytes: 0, projects: -1, movedBytes: 0 };

  constructor({ bytesMax = HEAD_BYTES_MAX, projectBytesMax }: HeadMemoryOptions = {}) {
    this.share = {
      directory: new SharedArrayBuffer(DIRECTORY_GROWTH, { maxByteLength: DIRECTORY_BYTES_MAX }),
      cells: new SharedArrayBuffer(0, { maxByteLength: bytesMax }),
      missing: createMissingMemory(),
    };
    this.#projectBytesMax = projectBytesMax ?? (() => bytesMax);
    this.cells = new Float64Array(this.share.cells, 0, 0);
    this.directory = new Int32Array(this.share.directory, 0, DIRECTORY_GROWTH / 4);
  }

  /** Bytes reserved from the system for cells, bytes in use, and the bound. */
  get bytes(): { readonly reserved: number; readonly used: number; readonly max: number } {
    const { byteLength: reserved, maxByteLength: max } = this.share.cells;
    return { reserved, used: this.#blocks.taken * CELL_BYTES, max };
  }

  /** Projects with VMs in the head. */
  get projects(): number {
    return this.#accounts.size;
  }

  /** Bytes used by the project's rows and texts. */
  usedBy(project: string): number {
    return this.#accounts.get(project)?.bytes ?? 0;
  }

  /** Bound of the project in an empty head, bytes. */
  ownBoundOf(project: string): number {
    return this.#projectBytesMax(project);
  }

  /** Current bound of the project, bytes: its own bound and the part that the others leave. */
  boundOf(project: string): number {
    const { used, max } = this.bytes;
    const pool = POOL_SHARE * max;
    const own = Math.min(pool, this.#projectBytesMax(project));
    const others = used - this.usedBy(project);
    if (used < TIGHT_SHARE * max || others === 0) return own;
    const small = Math.max(SHARE_OF_FREE * (max - used), SMALL_SHARE * max);
    return Math.min(own, used < pool ? Math.max(small, this.#fairShare()) : small);
  }

  /** Maximum per project at which all together have the tight share, bytes. */
  #fairShare(): number {
    const { max } = this.bytes;
    const fair = this.#fair;
    if (fair.projects === this.#accounts.size && fair.movedBytes < MOVED_SHARE * max) {
      return fair.bytes;
    }
    const taken = Array.from(this.#accounts.values(), ({ bytes }) => bytes).sort((a, b) => a - b);
    let left = TIGHT_SHARE * max;
    let projects = taken.length;
    for (const bytes of taken) {
      if (bytes > left / projects) break;
      left -= bytes;
      projects--;
    }
    const bytes = projects === 0 ? left : left / projects;
    this.#fair = { bytes, projects: taken.length, movedBytes: 0 };
    return bytes;
  }

  /** First of `length` cells, with their previous contents. Throws `HeadFull`. */
  allocate(length: number, account: HeadAccount): number {
    const order = orderOf(length);
    const bytes = 2 ** order * CELL_BYTES;
    const bound = this.boundOf(account.project);
    if (account.bytes + bytes > bound) {
      const { project } = account;
      throw new HeadFull(
        `projects/${project} has ${bound} bytes of the head, all of which are in use`,
      );
    }
    const { max } = this.bytes;
    const start = this.#blocks.take(order, Math.floor(max / CELL_BYTES));
    if (start === undefined) throw new HeadFull(`The head is limited to ${max} bytes`);
    this.#reach((start + 2 ** order) * CELL_BYTES);
    account.bytes += bytes;
    this.#fair.movedBytes += bytes;
    return start;
  }

  /** Like `allocate` for each of the lengths; if one does not fit, none is allocated. */
  allocateAll(lengths: readonly number[], account: HeadAccount): number[] {
    const starts: number[] = [];
    try {
      for (const length of lengths) starts.push(this.allocate(length, account));
      return starts;
    } catch (error) {
      for (const [i, start] of starts.entries()) this.free(start, lengths[i] as number, account);
      throw error;
    }
  }

  /** Frees cells. A reader may still be looking at them: its lock check makes it retry. */
  free(start: number, length: number, account: HeadAccount): void {
    const order = orderOf(length);
    const bytes = 2 ** order * CELL_BYTES;
    this.#blocks.give(start, order);
    account.bytes -= bytes;
    this.#fair.movedBytes += bytes;
  }

  /**
   * The text with one more holder; written if the project does not have it yet. Throws `HeadFull`.
   */
  hold(text: string, account: HeadAccount): HeadText {
    const known = account.texts.get(text);
    if (known !== undefined) {
      known.uses++;
      return known;
    }
    const bytes = Buffer.from(text, 'utf8');
    const cells = TEXT_CELLS + Math.ceil(bytes.length / CELL_BYTES);
    const start = this.allocate(cells, account);
    const id = ++this.#lastTextId;
    this.cells[start] = id;
    this.cells[start + 1] = bytes.length;
    const place = (start + TEXT_CELLS) * CELL_BYTES;
    new Uint8Array(this.share.cells, place, bytes.length).set(bytes);
    const made = { text, id, start, cells, uses: 1 };
    account.texts.set(text, made);
    return made;
  }

  /** Like `hold` for each of the texts; if one does not fit, none is held. */
  holdAll(texts: readonly string[], account: HeadAccount): HeadText[] {
    const held: HeadText[] = [];
    try {
      for (const text of texts) held.push(this.hold(text, account));
      return held;
    } catch (error) {
      for (const text of held) this.release(text, account);
      throw error;
    }
  }

  /** Removes one holder. Call it after the VM's lock has moved: nothing may point to it then. */
  release(text: HeadText, account: HeadAccount): void {
    if (--text.uses > 0) return;
    account.texts.delete(text.text);
    this.free(text.start, text.cells, account);
  }

  /** An entry of the directory for a VM, published without rows. Throws `HeadFull`. */
  addVm(project: string, vm: string): { readonly slot: number; readonly account: HeadAccount } {
    const slot = this.#freeSlots.at(-1) ?? this.#newSlot();
    const account = this.#accounts.get(project) ?? {
      project,
      bytes: 0,
      vms: 0,
      texts: new Map(),
    };
    this.#accounts.set(project, account);
    try {
      const [ofProject, ofVm] = this.holdAll([project, vm], account);
      this.#publishVm(slot, ofProject?.start ?? 0, ofVm?.start ?? 0);
    } catch (error) {
      if (account.vms === 0) this.#accounts.delete(project);
      throw error;
    }
    if (this.#freeSlots.at(-1) === slot) this.#freeSlots.pop();
    account.vms++;
    return { slot, account };
  }

  /** Frees a VM's entry, whose header and pages have already been freed. */
  removeVm(slot: number, vm: string, account: HeadAccount): void {
    const { directory } = this;
    const entry = entryOf(slot);
    Atomics.add(directory, entry + LOCK, 1);
    directory[entry + GENERATION] = (directory[entry + GENERATION] as number) + 1;
    Atomics.add(directory, entry + LOCK, 1);
    Atomics.add(directory, VM_CHANGES, 1);
    for (const name of [account.project, vm]) {
      const text = account.texts.get(name);
      if (text !== undefined) this.release(text, account);
    }
    this.#freeSlots.push(slot);
    if (--account.vms === 0) this.#accounts.delete(account.project);
  }

  #newSlot(): number {
    const slot = this.directory[VM_COUNT] as number;
    const needed = (entryOf(slot) + ENTRY_LENGTH) * 4;
    const memory = this.share.directory;
    if (needed > DIRECTORY_BYTES_MAX) throw new HeadFull(`The head is limited to ${slot} VMs`);
    if (needed > memory.byteLength) {
      memory.grow(Math.min(DIRECTORY_BYTES_MAX, memory.byteLength + DIRECTORY_GROWTH));
      this.directory = new Int32Array(memory, 0, memory.byteLength / 4);
    }
    return slot;
  }

  #publishVm(slot: number, project: number, vm: number): void {
    const { directory } = this;
    const entry = entryOf(slot);
    Atomics.add(directory, entry + LOCK, 1);
    directory[entry + PROJECT] = project;
    directory[entry + VM] = vm;
    directory[entry + HEADER] = -1;
    directory[entry + FIRST_PAGE] = -1;
    directory[entry + ROWS] = 0;
    directory[entry + GENERATION] = (directory[entry + GENERATION] as number) + 1;
    Atomics.add(directory, entry + LOCK, 1);
    if (slot === directory[VM_COUNT]) Atomics.store(directory, VM_COUNT, slot + 1);
    Atomics.add(directory, VM_CHANGES, 1);
  }

  #reach(bytes: number): void {
    const memory = this.share.cells;
    if (bytes <= memory.byteLength) return;
    memory.grow(Math.min(memory.maxByteLength, bytes + CELLS_GROWTH_BYTES));
    this.cells = new Float64Array(memory, 0, Math.floor(memory.byteLength / CELL_BYTES));
  }
}

const CODE = 2 ** 24;

/** Non-numeric fields of a row. Texts are numbers in the VM's table. */
export interface RowCodes {
  readonly state: number;
  readonly conflicted: boolean;
  readonly stateReason: number;
  readonly boot: number;
}

/** State, conflict, reason and boot in one exact double: 3 + 1 + 24 + 24 bits. */
export function packCodes({ state, conflicted, stateReason, boot }: RowCodes): number {
  return state + (conflicted ? 8 : 0) + 16 * (stateReason + CODE * boot);
}

/** Unpacks the codes of a row; the inverse of `packCodes`. */
export function unpackCodes(packed: number): RowCodes {
  const low = packed % 16;
  const texts = Math.floor(packed / 16);
  const stateReason = texts % CODE;
  return { state: low % 8, conflicted: low >= 8, stateReason, boot: Math.floor(texts / CODE) };
}

// A buddy allocator for the head's cells: blocks of powers of two that are split and joined, so
// that memory freed by one kind of content serves every other. Without joining, short-lived texts
// would leave no space for pages.

/** The smallest useful block: two numbers of a text and 16 of its bytes. */
const ORDER_MIN = 2;

/** Exponent of the smallest block for this many cells. */
function orderOf(length: number): number {
  return Math.max(ORDER_MIN, 32 - Math.clz32(length - 1));
}

class CellBlocks {
  /** Starts of the free blocks, by exponent. */
  readonly #free: Set<number>[] = [];
  #end = 0;
  #taken = 0;

  /** Cells in allocated blocks. */
  get taken(): number {
    return this.#taken;
  }

  /** First cell of a block of 2 ** `order`; undefined when it would end beyond `endMax`. */
  take(order: number, endMax: number): number | undefined {
    const start = this.#fromFree(order) ?? this.#fromEnd(order, endMax);
    if (start !== undefined) this.#taken += 2 ** order;
    return start;
  }

  give(start: number, order: number): void {
    this.#taken -= 2 ** order;
    this.#join(start, order);
  }

  #fromFree(order: number): number | undefined {
    for (let larger = order; larger < this.#free.length; larger++) {
      const blocks = this.#free[larger];
      if (blocks === undefined || blocks.size === 0) continue;
      const [start = 0] = blocks;
      blocks.delete(start);
      while (larger > order) this.#freeOf(--larger).add(start + 2 ** larger);
      return start;
    }
    return undefined;
  }

  #fromEnd(order: number, endMax: number): number | undefined {
    const size = 2 ** order;
    const start = Math.ceil(this.#end / size) * size;
    if (start + size > endMax) return undefined;
    // Blocks begin at a multiple of their size; the cells skipped for that are free.
    while (this.#end < start) {
      const gap = 31 - Math.clz32(this.#end & -this.#end);
      const from = this.#end;
      this.#end += 2 ** gap;
      this.#join(from, gap);
    }
    this.#end = start + size;
    return start;
  }

  #join(start: number, order: number): void {
    let [first, joined] = [start, order];
    for (; ; joined++) {
      const size = 2 ** joined;
      const buddy = first % (2 * size) === 0 ? first + size : first - size;
      if (!this.#freeOf(joined).delete(buddy)) break;
      first = Math.min(first, buddy);
    }
    this.#freeOf(joined).add(first);
  }

  #freeOf(order: number): Set<number> {
    while (this.#free.length <= order) this.#free.push(new Set());
    return this.#free[order] as Set<number>;
  }
}
