/**
 * Reads the output of `ByteWriter`. Strict: every read checks the end of the buffer and the form of
 * its data, so damaged bytes give a typed error and never a partial result.
 */
import { Buffer } from 'node:buffer';
import { NAN_TAG, RAW_SCALE, SCALES } from './byte-writer.ts';

/** `VERSION`: written by another version of this program; the bytes may well be intact. */
export type DamageReason = 'TRUNCATED' | 'CHECKSUM' | 'VERSION' | 'MALFORMED';

/** Invalid bytes. A retry cannot help. */
export class DamagedBytes extends Error {
  readonly reason: DamageReason;
  constructor(reason: DamageReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DamagedBytes';
    this.reason = reason;
  }
}

const TWO_32 = 2 ** 32;

/** A cursor over bytes. Every method advances it past the data read, or throws. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = at;
  }

  /** Position of the next read. */
  get at(): number {
    return this.#at;
  }

  /** Number of bytes not read yet. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** Throws `DamagedBytes` unless everything was read. */
  assertEnd(): void {
    if (this.left !== 0) throw malformed(`${this.left} bytes follow the end`);
  }

  u8(): number {
    return this.#bytes[this.#take(1)] as number;
  }

  /** The next byte, without advancing; undefined at the end. */
  peek(): number | undefined {
    return this.#bytes[this.#at];
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  f64(): number {
    return this.#bytes.readDoubleLE(this.#take(8));
  }

  /** A view of the next `length` bytes. */
  bytes(length: number): Buffer {
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  varint(): number {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.u8();
      value += (byte & 127) * factor;
      if (byte < 128) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      factor *= 128;
    }
    throw malformed('a number is longer than 53 bits');
  }

  /** A varint that counts items of at least `itemBytes` bytes each, all still to be read. */
  count(itemBytes: number): number {
    const count = this.varint();
    if (count * itemBytes > this.left) throw truncated();
    return count;
  }

  text(): string {
    const header = this.varint();
    if (header === 1) {
      const at = this.#take(16);
      const hex = this.#bytes.toString('hex', at, at + 16);
      const [time, clock] = [`${hex.slice(0, 8)}-${hex.slice(8, 12)}-`, hex.slice(16, 20)];
      return `${time}${hex.slice(12, 16)}-${clock}-${hex.slice(20)}`;
    }
    if (header % 2 === 1) throw malformed('unknown kind of text');
    const at = this.#take(header / 2);
    return this.#bytes.toString('utf8', at, at + header / 2);
  }

  number(): number {
    return this.taggedNumber(this.u8());
  }

  /** The rest of a number whose tag byte was stored elsewhere. */
  taggedNumber(tag: number): number {
    const scale = (tag >>> 3) & 15;
    const size = tag & 7;
    if (scale === RAW_SCALE) {
      if (tag === NAN_TAG) return Number.NaN;
      if (tag !== RAW_SCALE << 3) throw malformed('unknown kind of number');
      return this.f64();
    }
    const divisor = SCALES[scale];
    if (divisor === undefined) throw malformed('unknown scale of a number');
    const at = this.#take(size);
    const bytes = this.#bytes;
    let low = 0;
    for (let i = Math.min(size, 4) - 1; i >= 0; i--) low = (low << 8) | (bytes[at + i] as number);
    let magnitude = low >>> 0;
    if (size > 4) {
      let high = 0;
      for (let i = size - 1; i >= 4; i--) high = (high << 8) | (bytes[at + i] as number);
      magnitude += high * TWO_32;
    }
    const value = divisor === 1 ? magnitude : magnitude / divisor;
    return tag >= 128 ? -value : value;
  }

  #take(length: number): number {
    const at = this.#at;
    if (at + length > this.#bytes.length) throw truncated();
    this.#at = at + length;
    return at;
  }
}

function truncated(): DamagedBytes {
  return new DamagedBytes('TRUNCATED', 'The bytes end before their content');
}

/** Content that no writer of this version produces. */
export function malformed(detail: string): DamagedBytes {
  return new DamagedBytes('MALFORMED', `The bytes do not have this format: ${detail}`);
}
