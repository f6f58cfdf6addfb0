/**
 * Writes the project's own binary formats (sample batches, history chunks) to one growing buffer.
 * Numbers are stored in the fewest bytes that restore exactly the same double: integers and short
 * decimals as scaled integers, everything else as its eight bytes.
 */
import { Buffer } from 'node:buffer';

/** Powers of ten by which a decimal may become an integer; the index is stored. */
export const SCALES: readonly number[] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/** Marks a number stored as its eight bytes, in place of a scale's index. */
export const RAW_SCALE = 15;
/** Tag of NaN, which stands for "not reported" and has no further bytes. */
export const NAN_TAG = (RAW_SCALE << 3) | 1;
/** Order in which scales are tried: integers, the usual decimals, nanoseconds. */
const TRIED_SCALES = [0, 1, 2, 3, 6, 9];

const TWO_32 = 2 ** 32;
/** Value of each lower-case hexadecimal digit by its character code; 255 = not one. */
const HEX = Uint8Array.from({ length: 128 }, (_, code) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(code));
  return digit < 0 ? 255 : digit;
});

/**
 * A growing buffer with a cursor at its end. It has no version of its own: formats that use it
 * begin with theirs.
 */
export class ByteWriter {
  #bytes: Buffer;
  #length = 0;

  /** @param capacity initial size, bytes; it doubles when exhausted */
  constructor(capacity = 256) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** The bytes written, as a view that the next write may overwrite or outgrow. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Drops the bytes written and keeps the buffer. */
  clear(): void {
    this.#length = 0;
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32LE(value, this.#length);
  }

  f64(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** An integer from 0 to 2^53 - 1 in seven bits per byte, lowest first (LEB128). */
  varint(value: number): void {
    this.#reserve(8);
    const bytes = this.#bytes;
    let at = this.#length;
    let rest = value;
    while (rest >= TWO_32) {
      bytes[at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    while (rest >= 128) {
      bytes[at++] = (rest & 127) | 128;
      rest = rest >>> 7;
    }
    bytes[at++] = rest;
    this.#length = at;
  }

  /** A UUID in its usual lower-case form takes 17 bytes, any other text its UTF-8 and a length. */
  text(value: string): void {
    this.#reserve(17);
    if (value.length === 36 && writeUuid(value, this.#bytes, this.#length + 1)) {
      this.#bytes[this.#length] = 1;
      this.#length += 17;
      return;
    }
    const length = Buffer.byteLength(value);
    this.varint(length * 2);
    this.#reserve(length);
    this.#length += this.#bytes.write(value, this.#length, 'utf8');
  }

  /** Any double, exactly: one tag byte and 0 to 8 more. */
  number(value: number): void {
    this.splitNumber(value, this);
  }

  /**
   * Like `number`, but with the tag byte written to another writer: tags of one column are mostly
   * equal, so together they compress to almost nothing.
   */
  splitNumber(value: number, tags: ByteWriter): void {
    for (const scale of TRIED_SCALES) {
      const divisor = SCALES[scale] as number;
      const scaled = Math.round(value * divisor);
      const magnitude = Math.abs(scaled);
      if (magnitude > Number.MAX_SAFE_INTEGER) break;
      // NaN fails too. -0 equals 0 and must still be read back as -0, hence the sign of 1/x.
      if (scaled / divisor !== value) continue;
      const size = bytesOf(magnitude);
      const negative = scaled < 0 || (scaled === 0 && 1 / value < 0);
      tags.u8(size | (scale << 3) | (negative ? 128 : 0));
      this.#magnitude(magnitude, size);
      return;
    }
    const nan = Number.isNaN(value);
    tags.u8(nan ? NAN_TAG : RAW_SCALE << 3);
    if (!nan) this.f64(value);
  }

  #magnitude(magnitude: number, size: number): void {
    // Up to seven bytes are written whatever the size is; the next write overwrites the surplus.
    this.#reserve(8);
    const bytes = this.#bytes;
    const at = this.#length;
    this.#length = at + size;
    if (size > 4) {
      const high = Math.floor(magnitude / TWO_32);
      bytes[at + 4] = high;
      bytes[at + 5] = high >>> 8;
      bytes[at + 6] = high >>> 16;
    }
    // 0 takes the low 32 bits of any integer below 2^53.
    const low = magnitude | 0;
    bytes[at] = low;
    bytes[at + 1] = low >>> 8;
    bytes[at + 2] = low >>> 16;
    bytes[at + 3] = low >>> 24;
  }

  #reserve(size: number): void {
    const wanted = this.#length + size;
    if (wanted <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(wanted, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** Writes the 16 bytes of a UUID; false = the text is not a UUID in its usual form. */
function writeUuid(text: string, bytes: Uint8Array, start: number): boolean {
  let at = start;
  for (let i = 0; i < 36; i += 2) {
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (text.charCodeAt(i++) !== 45) return false;
    }
    const high = HEX[text.charCodeAt(i)] ?? 255;
    const low = HEX[text.charCodeAt(i + 1)] ?? 255;
    if (high > 15 || low > 15) return false;
    bytes[at++] = (high << 4) | low;
  }
  return true;
}

function bytesOf(magnitude: number): number {
  if (magnitude < TWO_32) return magnitude === 0 ? 0 : (39 - Math.clz32(magnitude)) >>> 3;
  return 4 + ((39 - Math.clz32(Math.floor(magnitude / TWO_32))) >>> 3);
}
