/**
 * The three signatures of a webhook request. `webhook-signature` is the Standard Webhooks form,
 * `svc-signature-v2` also covers the attempt id, and `svc-signature` is the legacy one over the raw
 * body. Each scheme signs other content or uses another key, so no signature is valid under another
 * scheme. The functions are pure: they take key bytes, ids, time and body, and return header values.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

export interface SignedAttempt {
  readonly deliveryId: string;
  readonly attemptId: string;
  /** Unix seconds of this attempt. */
  readonly timestampUnix: number;
  readonly body: Uint8Array;
  /** `whsec_...`, current first; the second one exists only during an overlap. */
  readonly secrets: readonly string[];
}

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;
/** The current secret, and the previous one during an overlap. */
const SECRETS_MAX = 2;

/** A new webhook secret from 32 random bytes. Throws a `RangeError` for another length. */
export function formatSecret(bytes: Uint8Array): string {
  if (bytes.length !== SECRET_BYTES) {
    throw new RangeError(`A webhook secret has ${SECRET_BYTES} bytes, not ${bytes.length}`);
  }
  return SECRET_PREFIX + Buffer.from(bytes).toString('base64');
}

/**
 * Headers of the signed request, in lower case. Throws for an empty or overlong list of secrets.
 */
export function signatureHeaders(attempt: SignedAttempt): Record<string, string> {
  const { deliveryId, attemptId, timestampUnix, secrets } = attempt;
  if (secrets.length === 0 || secrets.length > SECRETS_MAX) {
    throw new RangeError(`A webhook must have 1 or ${SECRETS_MAX} secrets, not ${secrets.length}`);
  }
  const v1 = secrets.map((secret) => `v1,${standardSignature(attempt, secret)}`);
  const v2 = secrets.map((secret) => `v2=${v2Signature(attempt, secret)}`);
  // During an overlap, the legacy signature still uses the previous secret (EVENT-10).
  const legacySecret = secrets.at(-1) as string;
  return {
    'webhook-id': deliveryId,
    'webhook-timestamp': String(timestampUnix),
    'webhook-signature': v1.join(' '),
    'svc-delivery-id': deliveryId,
    'svc-attempt-id': attemptId,
    'svc-signature-v2': [`t=${timestampUnix}`, `id=${deliveryId}`, `att=${attemptId}`, ...v2].join(
      ',',
    ),
    'svc-signature': `sha256=${legacySignature(attempt.body, legacySecret)}`,
  };
}

/** Standard Webhooks: HMAC-SHA256 over `<id>.<seconds>.<body>`, standard base64. */
function standardSignature(attempt: SignedAttempt, secret: string): string {
  return createHmac('sha256', keyOf(secret))
    .update(`${attempt.deliveryId}.${attempt.timestampUnix}.`)
    .update(attempt.body)
    .digest('base64');
}

/** V2: HMAC-SHA256 over `v2.<delivery>.<attempt>.<seconds>.<body>`, hex. */
function v2Signature(attempt: SignedAttempt, secret: string): string {
  return createHmac('sha256', keyOf(secret))
    .update(`v2.${attempt.deliveryId}.${attempt.attemptId}.${attempt.timestampUnix}.`)
    .update(attempt.body)
    .digest('hex');
}

/** Legacy: the key is the whole secret as text, so it differs from V2's key. */
function legacySignature(body: Uint8Array, secret: string): string {
  const key = createSecretKey(secret, 'utf8');
  return createHmac('sha256', key).update(body).digest('hex');
}

/** A key object, because `createHmac` takes three times as long with bytes. */
function keyOf(secret: string): KeyObject {
  if (!secret.startsWith(SECRET_PREFIX))
    throw new RangeError('A webhook secret must begin with whsec_');
  return createSecretKey(secret.slice(SECRET_PREFIX.length), 'base64');
}
