/**
 * Protobuf's wire format, as far as plain messages need it. It is strict: anything truncated, not
 * UTF-8, or larger than a double holds exactly throws `NotPlain`, and the caller passes the message
 * to the full implementation. Source: protobuf.dev, "Encoding".
 */
import { Buffer } from 'node:buffer';

/** The message does not have the plain form that is read here; it may still be valid. */
export class NotPlain extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = 'NotPlain';
  }
}

/** A varint with more bytes may exceed 2^53 - 1. */
const VARINT_BYTES_MAX = 7;

/**
 * A cursor over one message. It is reused for all messages, so that decoding allocates nothing
 * itself.
 */
export class WireReader {
  bytes: Buffer = Buffer.alloc(0);
  /** Position of the next read. */
  at = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** Starts reading other bytes. */
  open(bytes: Buffer): void {
    this.bytes = bytes;
    this.at = 0;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** A tag byte, which holds field numbers up to 15; a longer tag has its high bit set. */
  tag(): number {
    return this.bytes[this.at++] ?? -1;
  }

  varint(): number {
    const { bytes } = this;
    let byte = bytes[this.at++] ?? 0x80;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let factor = 0x80;
    for (let i = 1; i < VARINT_BYTES_MAX; i++) {
      byte = bytes[this.at++] ?? 0x80;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
    throw new NotPlain('a number is longer than 49 bits, or cut off');
  }

  /** End of the length-delimited field that begins here, at most `limit`. */
  end(limit: number): number {
    const length = this.varint();
    const end = this.at + length;
    if (end > limit) throw new NotPlain('a field is longer than its enclosing message');
    return end;
  }

  /** A string field of well-formed UTF-8. */
  text(limit: number): string {
    const end = this.end(limit);
    const text = this.bytes.toString('utf8', this.at, end);
    // The decoder's replacement for bytes that are not UTF-8. If it was sent as such, the message
    // is not plain either.
    if (text.includes('\ufffd')) throw new NotPlain('a text is not UTF-8');
    this.at = end;
    return text;
  }

  /**
   * Passes a string field if it is this text of ASCII characters. A text that was read before is
   * recognised this way without being made again.
   */
  take(text: string, limit: number): boolean {
    const { bytes } = this;
    const { length } = text;
    const from = this.at + 1;
    if (length > 127 || bytes[this.at] !== length || from + length > limit) return false;
    for (let i = 0; i < length; i++) {
      const byte = bytes[from + i] as number;
      if (byte > 127 || byte !== text.charCodeAt(i)) return false;
    }
    this.at = from + length;
    return true;
  }

  double(): number {
    const at = this.at;
    if (at + 8 > this.bytes.length) throw new NotPlain('a double is cut off');
    this.at = at + 8;
    return this.#view.getFloat64(at, true);
  }
}
