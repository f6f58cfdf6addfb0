/**
 * Text on its way to becoming bytes, with a bound on their number: what passes it ends the work at
 * once, so that no answer is built that could not be sent. Short texts are joined and encoded some
 * kilobytes at a time, because each call of the encoder costs as much as many pieces; long runs of
 * numbers are written as bytes by the caller itself.
 */

/** Chars joined before they are encoded. */
const PENDING_CHARS_MAX = 8_192;
const BYTES_AT_FIRST = 4_096;
/** Of a UTF-16 code unit; a pair of surrogates takes four together. */
const UTF8_BYTES_A_CHAR_MAX = 3;

export class BoundedText {
  readonly #bytesMax: number;
  readonly #tooLong: () => Error;
  #buffer = Buffer.allocUnsafe(BYTES_AT_FIRST);
  #length = 0;
  #pending = '';

  /** `tooLong` makes the error that is thrown past `bytesMax`. */
  constructor(bytesMax: number, tooLong: () => Error) {
    this.#bytesMax = bytesMax;
    this.#tooLong = tooLong;
  }

  append(text: string): void {
    this.#pending += text;
    if (this.#pending.length >= PENDING_CHARS_MAX) this.#encodePending();
  }

  /**
   * Bytes that the caller writes: `write` is handed an array with room for `bytesMax` more from
   * `at` on, and returns where it ended.
   */
  appendBytes(bytesMax: number, write: (bytes: Uint8Array, at: number) => number): void {
    if (this.#pending !== '') this.#encodePending();
    this.#reserve(bytesMax);
    this.#length = write(this.#buffer, this.#length);
    if (this.#length > this.#bytesMax) throw this.#tooLong();
  }

  /** The bytes in an array of their own, UTF-8. */
  toBytes(): Uint8Array<ArrayBuffer> {
    this.#encodePending();
    return new Uint8Array(this.#buffer.subarray(0, this.#length));
  }

  #encodePending(): void {
    const text = this.#pending;
    this.#pending = '';
    if (this.#length + text.length > this.#bytesMax) throw this.#tooLong();
    this.#reserve(text.length * UTF8_BYTES_A_CHAR_MAX);
    this.#length += this.#buffer.write(text, this.#length, 'utf8');
    if (this.#length > this.#bytesMax) throw this.#tooLong();
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}
