/**
 * Checks that a webhook request is ours, recent and complete, by the timestamped V2 signature,
 * which covers delivery id, attempt id, time and raw body. The legacy signature is ignored: it
 * covers no time, so anyone who has seen one request could send it forever.
 *
 * Verifying does not stop a second delivery inside the five minutes: see `DeliveryDeduplicator`.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { systemClock } from '../../streams/platform/clock.ts';

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

/**
 * @param rawBody exactly the bytes received, before any decoding; a string is treated as UTF-8
 * @param secrets one, or during an overlap both: `whsec_...`
 * @param options.now the receiver's time; default the system's
 *
 * Throws `WebhookRefused` with the reason. The result comes only from the signed content.
 */
export function verifyWebhook(
  rawBody: Uint8Array | string,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { now = new Date(systemClock.now()) }: { readonly now?: Date } = {},
): VerifiedWebhook {
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).map(keyOf);
  if (keys.length === 0) throw new WebhookRefused('SECRET_MALFORMED', 'No secret was given');
  const body = typeof rawBody === 'string' ? Buffer.from(rawBody) : rawBody;
  if (body.byteLength > WEBHOOK_BODY_BYTES_MAX) throw bodyTooLarge();
  const signed = parseSignature(headerOf(headers, 'svc-signature-v2'));
  refuseOtherIds(headers, signed);
  const secretIndex = keys.findIndex((key) => isSignedWith(key, signed, body));
  if (secretIndex < 0) {
    throw new WebhookRefused(
      'SIGNATURE_MISMATCH',
      'The signature does not fit: another secret, or the body is not as it was sent',
    );
  }
  // Checked only now, because a forged request is forged however old it claims to be.
  refuseOtherTimes(signed.timestampUnix, now);
  const { deliveryId, attemptId, timestampUnix } = signed;
  return { deliveryId, attemptId, timestampUnix, secretIndex };
}

/**
 * The raw body of a request (a node:http request, or the `body` of a Fetch request), of which at
 * most 1 MiB and one chunk are read. Throws `WebhookRefused` with `BODY_TOO_LARGE` beyond.
 */
export async function readWebhookBody(body: AsyncIterable<Uint8Array> | null): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > WEBHOOK_BODY_BYTES_MAX) throw bodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

interface Signed {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly timestampUnix: number;
  readonly signatures: readonly Uint8Array[];
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
    signatures: signatures.map((value) => Buffer.from(value, 'hex')),
  };
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

/** Every signature is compared, so that the duration does not reveal which one matches. */
function isSignedWith(key: Uint8Array, signed: Signed, body: Uint8Array): boolean {
  const { deliveryId, attemptId, timestampUnix, signatures } = signed;
  const expected = createHmac('sha256', key)
    .update(`v2.${deliveryId}.${attemptId}.${timestampUnix}.`)
    .update(body)
    .digest();
  return signatures.filter((signature) => timingSafeEqual(signature, expected)).length > 0;
}

function keyOf(secret: string): Uint8Array {
  const [, encoded] = SECRET.exec(secret) ?? [];
  if (encoded !== undefined) return Buffer.from(encoded, 'base64');
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
