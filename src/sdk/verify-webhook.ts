/**
 * Checks that a webhook request is ours, recent and complete, by the timestamped V2 signature,
 * which covers delivery id, attempt id, time and raw body. The legacy signature is ignored: it
 * covers no time, so anyone who has seen one request could send it forever.
 *
 * Verifying does not stop a second delivery inside the five minutes: see `DeliveryDeduplicator`.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { systemClock } from '../../streams/platform/clock.ts';
import {
  acceptWebhook,
  type OpenedWebhook,
  openWebhook,
  readWebhookBody as readBytes,
  type VerifiedWebhook,
  type WebhookBodyStream,
  type WebhookHeaders,
} from './signed-webhook.ts';

/**
 * @param rawBody exactly the bytes received, before any decoding; a string is treated as UTF-8
 * @param secrets one, or during an overlap both: `whsec_...`
 * @param options.now the receiver's time; default the system's
 *
 * Throws `WebhookRefused` with the reason. The result contains only signed content.
 */
export function verifyWebhook(
  rawBody: Uint8Array | string,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { now = new Date(systemClock.now()) }: { readonly now?: Date } = {},
): VerifiedWebhook {
  const opened = openWebhook(rawBody, headers, secrets);
  const secretIndex = opened.keys.findIndex((key) => isSignedWith(key, opened));
  return acceptWebhook(opened.signed, secretIndex, now);
}

/** `readWebhookBody` of `svc/sdk/webhook`, as a `Buffer`. */
export async function readWebhookBody(body: WebhookBodyStream): Promise<Buffer> {
  const { buffer } = await readBytes(body);
  return Buffer.from(buffer);
}

/** Every signature is compared, so that the duration does not reveal which one matches. */
function isSignedWith(key: Uint8Array, { signed, content }: OpenedWebhook): boolean {
  const expected = createHmac('sha256', key).update(content).digest();
  return signed.signatures.filter((one) => timingSafeEqual(one, expected)).length > 0;
}
