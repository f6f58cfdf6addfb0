/**
 * The memory that the head's threads share: a directory with one entry a VM, and cells (doubles)
 * in pages. Pages come in few sizes and go back to a free list, so that the memory a fleet needs
 * follows its unflushed rows up and down without moving them; everything grows in small steps.
 *
 *   VM header (cells): last sequence · flushed sequence · number of each column's series key
 *   page (cells): next page · rows; a row: time · sequence · vCPUs · codes · value of each column
 */
import { createStringMemory, HeadFull, StringWriter } from './shared-strings.ts';

/** What a thread needs to read the head; goes through `postMessage` without copying. */
export interface HeadShare {
  readonly directory: SharedArrayBuffer;
  readonly cells: SharedArrayBuffer;
  readonly strings: SharedArrayBuffer;
}

/** Index of the number of VMs in the directory. */
export const VM_COUNT = 0;
const DIRECTORY_HEADER = 4;
/** Numbers of an entry, and what each is. */
const ENTRY_LENGTH = 12;
/** Even = at rest; odd = being written. Grows with every write. */
export const LOCK = 0;
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

/** Cells of a VM header before its columns. */
export const LAST_SEQUENCE = 0;
export const FLUSHED_SEQUENCE = 1;
export const HEADER_CELLS = 2;
/** Cells of a row before its values. */
export const ROW_TIME = 0;
export const ROW_SEQUENCE = 1;
export const ROW_VCPUS = 2;
export const ROW_CODES = 3;
export const ROW_CELLS = 4;

const CELL_BYTES = 8;
const DIRECTORY_GROWTH = 4096 * ENTRY_LENGTH * 4;
/** A million VMs on one host: twenty times the largest project. */
const DIRECTORY_BYTES_MAX = 2 ** 20 * ENTRY_LENGTH * 4;
const CELLS_GROWTH_BYTES = 1024 * 1024;
/** 50,000 VMs with an hour of 13 series each take 870 MB. */
export const HEAD_BYTES_MAX = 2 ** 30;

/** Place of a VM's entry in the directory. */
export function entryOf(slot: number): number {
  return DIRECTORY_HEADER + slot * ENTRY_LENGTH;
}

/** The writing side of the memory; one per head. */
export class HeadMemory {
  readonly share: HeadShare;
  readonly strings: StringWriter;
  /** All cells there are; replaced when they grow, so read it anew after an allocation. */
  cells: Float64Array;
  /** All entries there are; replaced when a VM is added. */
  directory: Int32Array;
  readonly #free = new Map<number, number[]>();
  #cellsUsed = 0;
  #cellsFree = 0;

  /** @param bytesMax bound of the cells, which `allocate` enforces */
  constructor(bytesMax = HEAD_BYTES_MAX) {
    this.share = {
      directory: new SharedArrayBuffer(DIRECTORY_GROWTH, { maxByteLength: DIRECTORY_BYTES_MAX }),
      cells: new SharedArrayBuffer(0, { maxByteLength: bytesMax }),
      strings: createStringMemory(),
    };
    this.strings = new StringWriter(this.share.strings);
    this.cells = new Float64Array(this.share.cells, 0, 0);
    this.directory = new Int32Array(this.share.directory, 0, DIRECTORY_GROWTH / 4);
  }

  /** Bytes taken from the system for cells, and those of them that hold something. */
  get bytes(): { readonly reserved: number; readonly used: number } {
    const used = (this.#cellsUsed - this.#cellsFree) * CELL_BYTES;
    return { reserved: this.share.cells.byteLength, used };
  }

  /** First of `length` cells with whatever they held before. Throws `HeadFull`. */
  allocate(length: number): number {
    const reused = this.#free.get(length)?.pop();
    if (reused !== undefined) {
      this.#cellsFree -= length;
      return reused;
    }
    const start = this.#cellsUsed;
    this.#grow((start + length) * CELL_BYTES);
    this.#cellsUsed = start + length;
    return start;
  }

  /** As `allocate` for each of the lengths; when one finds no room, none is taken. */
  allocateAll(lengths: readonly number[]): number[] {
    const starts: number[] = [];
    try {
      for (const length of lengths) starts.push(this.allocate(length));
      return starts;
    } catch (error) {
      for (const [i, start] of starts.entries()) this.free(start, lengths[i] as number);
      throw error;
    }
  }

  /** Gives cells back. A reader may still be looking at them: its lock check makes it try again. */
  free(start: number, length: number): void {
    const list = this.#free.get(length);
    if (list === undefined) this.#free.set(length, [start]);
    else list.push(start);
    this.#cellsFree += length;
  }

  /** A new entry of the directory, published without rows. Throws `HeadFull`. */
  addVm(project: string, vm: string): number {
    const slot = this.directory[VM_COUNT] as number;
    const needed = (entryOf(slot) + ENTRY_LENGTH) * 4;
    const memory = this.share.directory;
    if (needed > DIRECTORY_BYTES_MAX) throw new HeadFull(`${slot} VMs are the most on one host`);
    if (needed > memory.byteLength) {
      memory.grow(Math.min(DIRECTORY_BYTES_MAX, memory.byteLength + DIRECTORY_GROWTH));
      this.directory = new Int32Array(memory, 0, memory.byteLength / 4);
    }
    const entry = entryOf(slot);
    this.directory[entry + PROJECT] = this.strings.idOf(project);
    this.directory[entry + VM] = this.strings.idOf(vm);
    this.directory[entry + HEADER] = -1;
    this.directory[entry + FIRST_PAGE] = -1;
    Atomics.store(this.directory, VM_COUNT, slot + 1);
    return slot;
  }

  #grow(bytes: number): void {
    const memory = this.share.cells;
    if (bytes <= memory.byteLength) return;
    if (bytes > memory.maxByteLength) {
      throw new HeadFull(`The head is limited to ${memory.maxByteLength} bytes`);
    }
    memory.grow(Math.min(memory.maxByteLength, bytes + CELLS_GROWTH_BYTES));
    this.cells = new Float64Array(memory, 0, Math.floor(memory.byteLength / CELL_BYTES));
  }
}

const CODE = 2 ** 24;

/** What a row says besides numbers. Texts by their number. */
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

export function unpackCodes(packed: number): RowCodes {
  const low = packed % 16;
  const texts = Math.floor(packed / 16);
  const stateReason = texts % CODE;
  return { state: low % 8, conflicted: low >= 8, stateReason, boot: Math.floor(texts / CODE) };
}
