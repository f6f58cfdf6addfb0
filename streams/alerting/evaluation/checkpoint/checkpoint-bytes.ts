/**
 * Writer and reader of checkpoints: `ByteWriter` and `ByteReader`, with the frequent values of a
 * state. Times are close to the one written before them, readings are close to the one before them
 * in their series, and a text may hold half of a surrogate pair, which UTF-8 cannot encode. Every
 * double is restored bit for bit; every NaN is restored as the same NaN.
 */
import { Buffer } from 'node:buffer';
import { ByteReader, malformed } from '../../../telemetry/samples/byte-reader.ts';
import { ByteWriter, RAW_SCALE } from '../../../telemetry/samples/byte-writer.ts';

// Tags that `ByteWriter.number` does not use: the raw scale with a size above 1.
const tag = (size: number): number => (RAW_SCALE << 3) | size;
/** The reading before this one, again. */
const SAME = tag(2);
/** Difference from the reading before this one, as a zigzag varint. */
const DIFFERENCE = tag(3);
/** A time that no difference restores exactly, stored as its eight bytes. */
const ABSOLUTE = tag(4);
const ZERO = tag(5);
const INFINITE = tag(6);
const NEGATIVE_INFINITE = tag(7);

/** Header of a text in UTF-16, which `ByteWriter.text` does not use. */
const UTF_16 = 3;

/** A difference must be this much smaller than the number to take fewer bytes. */
const SMALLER = 256;

/** Bytes of one part of a checkpoint. */
export class CheckpointWriter extends ByteWriter {
  #timeMs = 0;

  override clear(): void {
    super.clear();
    this.#timeMs = 0;
  }

  /** Any text, half surrogate pairs included. */
  override text(value: string): void {
    if (value.isWellFormed()) {
      super.text(value);
      return;
    }
    this.varint(UTF_16);
    this.varint(value.length);
    this.bytes(Buffer.from(value, 'utf16le'));
  }

  /** A time, usually Unix ms: stored as the difference from the previous one. */
  time(ms: number): void {
    if (ms === 0 && !Object.is(ms, -0)) this.u8(ZERO);
    else if (ms === Number.POSITIVE_INFINITY) this.u8(INFINITE);
    else if (ms === Number.NEGATIVE_INFINITY) this.u8(NEGATIVE_INFINITE);
    else {
      const difference = ms - this.#timeMs;
      if (Number.isNaN(ms) || Object.is(this.#timeMs + difference, ms)) this.number(difference);
      else {
        this.u8(ABSOLUTE);
        this.f64(ms);
      }
      if (!Number.isNaN(ms)) this.#timeMs = ms;
    }
  }

  /** Any double, stored as its difference from `before` if that is shorter. */
  reading(value: number, before: number): void {
    if (Object.is(value, before)) {
      this.u8(SAME);
      return;
    }
    const difference = value - before;
    const isShort =
      Number.isSafeInteger(value) &&
      Number.isSafeInteger(before) &&
      Math.abs(difference) * SMALLER < Math.abs(value);
    if (!isShort) {
      this.number(value);
      return;
    }
    this.u8(DIFFERENCE);
    this.varint(difference < 0 ? -2 * difference - 1 : 2 * difference);
  }
}

/** Reads the output of `CheckpointWriter`. Throws `DamagedBytes`. */
export class CheckpointReader extends ByteReader {
  #timeMs = 0;

  override text(): string {
    if (this.peek() !== UTF_16) return super.text();
    this.varint();
    return this.bytes(this.count(2) * 2).toString('utf16le');
  }

  time(): number {
    const tag = this.u8();
    switch (tag) {
      case ZERO:
        return 0;
      case INFINITE:
        return Number.POSITIVE_INFINITY;
      case NEGATIVE_INFINITE:
        return Number.NEGATIVE_INFINITY;
      default: {
        const ms = tag === ABSOLUTE ? this.f64() : this.#timeMs + this.taggedNumber(tag);
        if (!Number.isNaN(ms)) this.#timeMs = ms;
        return ms;
      }
    }
  }

  reading(before: number): number {
    const tag = this.u8();
    if (tag === SAME) return before;
    if (tag !== DIFFERENCE) return this.taggedNumber(tag);
    const zigzag = this.varint();
    return before + (zigzag % 2 === 1 ? -(zigzag + 1) / 2 : zigzag / 2);
  }

  /** Position of an item in a list of `length` items. */
  index(length: number): number {
    const index = this.varint();
    if (index >= length) throw malformed('an index beyond its list');
    return index;
  }
}
