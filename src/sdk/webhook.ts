/**
 * The package's entry `svc/sdk/webhook`: receivers of webhooks that run anywhere, with the HMAC of
 * Web Crypto: Node, browsers, edge runtimes, and bundles for each. It imports no module of Node and
 * no package. `verifyWebhook` of `svc/sdk` is the same without a promise, for Node alone.
 */
import { systemClock } from '../../streams/platform/clock.ts';
import {
  acceptWebhook,
  type OpenedWebhook,
  openWebhook,
  type VerifiedWebhook,
  type WebhookHeaders,
} from './signed-webhook.ts';

export {
  readWebhookBody,
  type VerifiedWebhook,
  WEBHOOK_BODY_BYTES_MAX,
  WEBHOOK_WINDOW_SECONDS,
  type WebhookBodyStream,
  type WebhookHeaders,
  type WebhookRefusalReason,
  WebhookRefused,
} from './signed-webhook.ts';

/**
 * @param rawBody exactly the bytes received, before any decoding; a string is treated as UTF-8
 * @param secrets one, or during an overlap both: `whsec_...`
 * @param options.now the receiver's time; default the system's
 *
 * Rejects with `WebhookRefused` and the reason. The result contains only signed content.
 */
export async function verifyWebhook(
  rawBody: Uint8Array | string,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { now = new Date(systemClock.now()) }: { readonly now?: Date } = {},
): Promise<VerifiedWebhook> {
  const opened = openWebhook(rawBody, headers, secrets);
  const results = await Promise.all(opened.keys.map((key) => isSignedWith(key, opened)));
  return acceptWebhook(opened.signed, results.indexOf(true), now);
}

const HMAC = { name: 'HMAC', hash: 'SHA-256' } as const;

/** Web Crypto compares in constant time. */
async function isSignedWith(
  bytes: Uint8Array<ArrayBuffer>,
  { signed, content }: OpenedWebhook,
): Promise<boolean> {
  const { subtle } = globalThis.crypto;
  const key = await subtle.importKey('raw', bytes, HMAC, false, ['verify']);
  const results = await Promise.all(
    signed.signatures.map((one) => subtle.verify('HMAC', key, one, content)),
  );
  return results.includes(true);
}
