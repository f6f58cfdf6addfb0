/**
 * Connect's framing of streams: one byte of flags, four bytes of length (big-endian), then JSON
 * (Connect protocol, "Streaming RPCs"). Network chunks may end anywhere.
 */

const HEADER_BYTES = 5;
const END_FLAG = 0b10;

export interface Envelope {
  /** True for the last envelope, which carries an error or nothing. */
  readonly isEnd: boolean;
  readonly json: unknown;
}

/** The bytes of one request message. */
export function encodeEnvelope(json: unknown): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(JSON.stringify(json));
  const bytes = new Uint8Array(HEADER_BYTES + body.length);
  new DataView(bytes.buffer).setUint32(1, body.length);
  bytes.set(body, HEADER_BYTES);
  return bytes;
}

/** Reads whole envelopes from chunks and keeps the rest for the next chunk. */
export class EnvelopeReader {
  #held = new Uint8Array(0);

  /** The envelopes completed by `chunk`. Throws if the bytes are not JSON. */
  read(chunk: Uint8Array): Envelope[] {
    const bytes = new Uint8Array(this.#held.length + chunk.length);
    bytes.set(this.#held);
    bytes.set(chunk, this.#held.length);
    const view = new DataView(bytes.buffer);
    const envelopes: Envelope[] = [];
    let at = 0;
    while (bytes.length - at >= HEADER_BYTES) {
      const end = at + HEADER_BYTES + view.getUint32(at + 1);
      if (end > bytes.length) break;
      const text = new TextDecoder().decode(bytes.subarray(at + HEADER_BYTES, end));
      envelopes.push({ isEnd: (view.getUint8(at) & END_FLAG) !== 0, json: JSON.parse(text) });
      at = end;
    }
    this.#held = bytes.slice(at);
    return envelopes;
  }
}
