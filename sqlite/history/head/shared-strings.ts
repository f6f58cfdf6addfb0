/**
 * Texts that threads share by number: ids of VMs, series keys, boot ids, state reasons. One thread
 * appends, every other reads what it has not read yet; nothing is ever changed or removed, so that
 * no lock is needed.
 *
 *   texts (4) · bytes used (4) · then each text: length (4) · UTF-8, padded to 4
 */
import { Buffer } from 'node:buffer';

const HEADER_BYTES = 8;
const GROWTH_BYTES = 64 * 1024;
/** A hundred bytes for each of 600,000 texts; beyond it something names things without end. */
const BYTES_MAX = 64 * 1024 * 1024;
/** Numbers must fit into the 24 bits that a row of the head has for them. */
const TEXTS_MAX = 2 ** 24;

/** Memory set aside for the head is used up; the rows stay in the log and are read again. */
export class HeadFull extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HeadFull';
  }
}

/** Memory for texts, empty: number 0 is '' without being stored. */
export function createStringMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(GROWTH_BYTES, { maxByteLength: BYTES_MAX });
}

/** The appending side; one per memory. */
export class StringWriter {
  readonly #memory: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #ids = new Map<string, number>([['', 0]]);
  #used = HEADER_BYTES;

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory;
    this.#header = new Int32Array(memory, 0, 2);
  }

  /** Number of the text, the same for ever. Throws `HeadFull`. */
  idOf(text: string): number {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    const bytes = Buffer.from(text);
    const end = this.#used + 4 + Math.ceil(bytes.length / 4) * 4;
    if (end > BYTES_MAX || this.#ids.size >= TEXTS_MAX) {
      throw new HeadFull(`${this.#ids.size} names are more than the head has room for`);
    }
    while (this.#memory.byteLength < end) {
      this.#memory.grow(Math.min(BYTES_MAX, this.#memory.byteLength + GROWTH_BYTES));
    }
    new Int32Array(this.#memory, this.#used, 1)[0] = bytes.length;
    new Uint8Array(this.#memory, this.#used + 4, bytes.length).set(bytes);
    this.#used = end;
    const id = this.#ids.size;
    this.#ids.set(text, id);
    // Published last: a reader that sees the count sees the bytes.
    Atomics.store(this.#header, 1, end);
    Atomics.store(this.#header, 0, id);
    return id;
  }
}

/** A reading side, on any thread. */
export class StringReader {
  readonly #memory: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #texts: string[] = [''];
  #read = HEADER_BYTES;

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory;
    this.#header = new Int32Array(memory, 0, 2);
  }

  /** The text of a number that the writer has given out; undefined for any other. */
  text(id: number): string | undefined {
    if (id >= this.#texts.length) this.#catchUp();
    return this.#texts[id];
  }

  #catchUp(): void {
    const count = Atomics.load(this.#header, 0);
    while (this.#texts.length <= count) {
      const length = new Int32Array(this.#memory, this.#read, 1)[0] as number;
      // Copied first: a decoder refuses shared memory.
      const bytes = Buffer.from(new Uint8Array(this.#memory, this.#read + 4, length));
      this.#texts.push(bytes.toString('utf8'));
      this.#read += 4 + Math.ceil(length / 4) * 4;
    }
  }
}
