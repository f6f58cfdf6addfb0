/**
 * A webhook request as its receiver reads it: the signature header, the raw body and the secrets,
 * and every reason to refuse one. Pure: no module of Node, so that it also runs in browsers and edge
 * runtimes. `verify-webhook.ts` and `webhook.ts` add the HMAC.
 */

/** Maximum bytes of a body (LIMIT-16). */
export const WEBHOOK_BODY_BYTES_MAX = 1024 * 1024;
/** Maximum difference between the signed time and now, in both directions, seconds. */
export const WEBHOOK_WINDOW_SECONDS = 300;

/**
 * Headers of a request: of node:http, of the Fetch API, or any object. Names are case-insensitive.
 */
export type WebhookHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

export interface VerifiedWebhook {
  /** The same in every attempt of one delivery, by which duplicates are recognised. */
  readonly deliveryId: string;
  /** Different in every attempt. */
  readonly attemptId: string;
  /** Unix seconds of the attempt. */
  readonly timestampUnix: number;
  /** Index in `secrets` of the secret that signed it. */
  readonly secretIndex: number;
}

export type WebhookRefusalReason =
  /** More than 1 MiB. */
  | 'BODY_TOO_LARGE'
  /** A mistake of the receiver: what it passed is not the body as received, but parsed or read. */
  | 'BODY_NOT_RAW'
  /** No `svc-signature-v2`. A legacy signature alone does not count. */
  | 'SIGNATURE_MISSING'
  /** The header is not one of ours, or was sent twice. */
  | 'SIGNATURE_MALFORMED'
  /** A header has another delivery id than the signature. */
  | 'DELIVERY_ID_MISMATCH'
  /** A header has another attempt id than the signature. */
  | 'ATTEMPT_ID_MISMATCH'
  /** Signed with none of the secrets, or changed in transit. */
  | 'SIGNATURE_MISMATCH'
  /** Ours, but more than five minutes old: a replay, or the local clock is ahead. */
  | 'TIMESTAMP_TOO_OLD'
  /** Ours, but more than five minutes ahead: the local clock is behind. */
  | 'TIMESTAMP_TOO_NEW'
  /** A mistake of the receiver: a secret is `whsec_` and the base64 of 32 bytes. */
  | 'SECRET_MALFORMED';

/** A request that must be rejected. No message contains a secret or a byte of the body. */
export class WebhookRefused extends Error {
  readonly reason: WebhookRefusalReason;

  constructor(reason: WebhookRefusalReason, message: string) {
    super(message);
    this.name = 'WebhookRefused';
    this.reason = reason;
  }
}

/** A request whose signature is still to be checked. */
export interface OpenedWebhook {
  readonly keys: readonly Uint8Array<ArrayBuffer>[];
  readonly signed: Signed;
  /** The signed bytes. */
  readonly content: Uint8Array<ArrayBuffer>;
}

/** Reads everything but checks no signature and no time. Throws `WebhookRefused`. */
export function openWebhook(
  rawBody: Uint8Array | string,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
): OpenedWebhook {
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).map(keyOf);
  if (keys.length === 0) throw new WebhookRefused('SECRET_MALFORMED', 'No secret was given');
  const body = bytesOf(rawBody);
  if (body.byteLength > WEBHOOK_BODY_BYTES_MAX) throw bodyTooLarge();
  const signed = parseSignature(headerOf(headers, 'svc-signature-v2'));
  refuseOtherIds(headers, signed);
  const { deliveryId, attemptId, timestampUnix } = signed;
  const prefix = new TextEncoder().encode(`v2.${deliveryId}.${attemptId}.${timestampUnix}.`);
  return { keys, signed, content: joined([prefix, body]) };
}

/** @param secretIndex of the secret that signed it; -1 = none. Throws `WebhookRefused`. */
export function acceptWebhook(
  { deliveryId, attemptId, timestampUnix }: Signed,
  secretIndex: number,
  now: Date,
): VerifiedWebhook {
  if (secretIndex < 0) {
    throw new WebhookRefused(
      'SIGNATURE_MISMATCH',
      'The signature does not fit: another secret, or the body is not as it was sent',
    );
  }
  // Checked only now, because a forged request is forged however old it claims to be.
  refuseOtherTimes(timestampUnix, now);
  return { deliveryId, attemptId, timestampUnix, secretIndex };
}

/** A stream of node:http, or the `body` of a Fetch request: null if it has none. */
export type WebhookBodyStream = AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null;

/**
 * The raw body of a request (a node:http request, or the `body` of a Fetch request), of which at
 * most 1 MiB and one chunk are read. Throws `WebhookRefused`: `BODY_TOO_LARGE` beyond, and
 * `BODY_NOT_RAW` if a parser has read it before, or for anything else than a stream.
 */
export async function readWebhookBody(body: WebhookBodyStream): Promise<Uint8Array<ArrayBuffer>> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(body)) {
    if (!isBytes(chunk)) throw notRaw('a stream of text: remove its encoding');
    bytes += chunk.byteLength;
    if (bytes > WEBHOOK_BODY_BYTES_MAX) throw bodyTooLarge();
    chunks.push(chunk);
  }
  return joined(chunks);
}

/** Browsers that cannot iterate over a stream have a reader for it. */
function chunksOf(body: unknown): AsyncIterable<unknown> {
  const { locked, readableDidRead, getReader } = (body ?? {}) as Partial<
    Record<'locked' | 'readableDidRead' | 'getReader', unknown>
  >;
  if (locked === true || readableDidRead === true) {
    throw notRaw('a stream that was read before: pass the request to no parser first');
  }
  if (isAsyncIterable(body)) return body;
  if (typeof getReader === 'function') return readAll(body as ReadableStream<unknown>);
  throw notRaw(`${nameOf(body)}: pass the request of node:http, or the body of a Fetch request`);
}

async function* readAll(stream: ReadableStream<unknown>): AsyncGenerator<unknown> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    await reader.cancel();
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** Also of another realm: test runners have constructors of their own. */
function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && value.constructor.name !== 'DataView' && isOfBytes(value);
}

function isOfBytes(view: ArrayBufferView): boolean {
  return (view as Partial<Uint8Array>).BYTES_PER_ELEMENT === 1;
}

function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (isBytes(body)) return body;
  const way = 'pass the bytes as received, a Uint8Array, for example of readWebhookBody';
  throw notRaw(`${nameOf(body)}: ${way}`);
}

/** In words for the developer of a receiver, without any of the content. */
function nameOf(value: unknown): string {
  if (value === undefined) return 'undefined';
  if (value === null) return 'null';
  const name = Object.prototype.toString.call(value).slice(8, -1);
  if (name === 'ArrayBuffer') return 'an ArrayBuffer, which new Uint8Array(body) makes bytes of';
  return name === 'Object' || name === 'Array' ? 'a parsed body' : `a ${name}`;
}

function notRaw(what: string): WebhookRefused {
  return new WebhookRefused('BODY_NOT_RAW', `The body is ${what}`);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

/** The fields of `svc-signature-v2`. */
export interface Signed {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly timestampUnix: number;
  readonly signatures: readonly Uint8Array<ArrayBuffer>[];
}

const SECRET = /^whsec_([A-Za-z0-9+/]{43}=)$/;
const ID = /^[A-Za-z0-9_-]{1,128}$/;
/** Without leading zeros, so that the number is exactly the signed one. */
const TIME = /^(0|[1-9]\d{0,14})$/;
const SIGNATURE = /^[0-9a-f]{64}$/;
/** Two sign during an overlap. More would let a sender make receivers compute. */
const SIGNATURES_MAX = 8;

function parseSignature(header: string | undefined): Signed {
  if (!header) {
    throw new WebhookRefused('SIGNATURE_MISSING', 'There is no svc-signature-v2 header');
  }
  const fields = new Map<string, string[]>();
  for (const field of header.split(',')) {
    const [, name, value] = /^([a-z][a-z0-9]*)=(.*)$/.exec(field) ?? [];
    if (name === undefined || value === undefined) throw malformed('a field is not name=value');
    fields.set(name, [...(fields.get(name) ?? []), value]);
  }
  const one = (name: string, pattern: RegExp): string => {
    const [value, ...more] = fields.get(name) ?? [];
    if (value === undefined || more.length > 0) throw malformed(`${name} is not there once`);
    if (!pattern.test(value)) throw malformed(`${name} has another form`);
    return value;
  };
  const signatures = fields.get('v2') ?? [];
  if (signatures.length === 0 || signatures.length > SIGNATURES_MAX) {
    throw malformed(`it has ${signatures.length} signatures, not 1 to ${SIGNATURES_MAX}`);
  }
  if (!signatures.every((value) => SIGNATURE.test(value))) throw malformed('v2 has another form');
  return {
    deliveryId: one('id', ID),
    attemptId: one('att', ID),
    timestampUnix: Number(one('t', TIME)),
    signatures: signatures.map(bytesOfHex),
  };
}

function bytesOfHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function malformed(problem: string): WebhookRefused {
  return new WebhookRefused('SIGNATURE_MALFORMED', `svc-signature-v2 is malformed: ${problem}`);
}

/** The headers beside the signature are for logs and libraries. They must match it. */
function refuseOtherIds(headers: WebhookHeaders, { deliveryId, attemptId }: Signed): void {
  for (const name of ['svc-delivery-id', 'webhook-id']) {
    if ((headerOf(headers, name) ?? deliveryId) === deliveryId) continue;
    throw new WebhookRefused('DELIVERY_ID_MISMATCH', `${name} is not the delivery that was signed`);
  }
  if ((headerOf(headers, 'svc-attempt-id') ?? attemptId) === attemptId) return;
  throw new WebhookRefused(
    'ATTEMPT_ID_MISMATCH',
    'svc-attempt-id is not the attempt that was signed',
  );
}

function refuseOtherTimes(timestampUnix: number, now: Date): void {
  const age = Math.floor(now.getTime() / 1000) - timestampUnix;
  if (age > WEBHOOK_WINDOW_SECONDS) {
    throw new WebhookRefused('TIMESTAMP_TOO_OLD', `It was signed ${age} s ago`);
  }
  // Written so that a time that is not a number is rejected too.
  if (age >= -WEBHOOK_WINDOW_SECONDS) return;
  throw new WebhookRefused('TIMESTAMP_TOO_NEW', `It was signed ${-age} s ahead of the clock here`);
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const [, encoded] = SECRET.exec(secret) ?? [];
  if (encoded !== undefined) return Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
  throw new WebhookRefused(
    'SECRET_MALFORMED',
    'A webhook secret is whsec_ and the base64 of 32 bytes: check that it was copied whole',
  );
}

/** A header that was sent more than once is joined, as node:http and Fetch do. */
function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (isFetchHeaders(headers)) return headers.get(name) ?? undefined;
  const values = Object.entries(headers)
    .filter(([given]) => given.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
  return values.length === 0 ? undefined : values.join(', ');
}

function isFetchHeaders(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function bodyTooLarge(): WebhookRefused {
  return new WebhookRefused(
    'BODY_TOO_LARGE',
    `The body has more than ${WEBHOOK_BODY_BYTES_MAX} bytes`,
  );
}
