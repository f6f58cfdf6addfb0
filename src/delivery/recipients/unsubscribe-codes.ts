/**
 * Codes in unsubscribe links: project, recipient, and a MAC over both, so that one cannot
 * unsubscribe others by guessing (RFC 8058, section 7). Links do not expire, because those in old
 * mails must still work.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface Subscription {
  /** Project id. */
  readonly project: string;
  /** Id of the mail recipient. */
  readonly recipient: string;
}

export interface UnsubscribeCodes {
  make(subscription: Subscription): string;
  /** Undefined for a code that this service did not make. */
  read(code: string): Subscription | undefined;
}

/** 128 bits are enough: guesses can only be tried against this service, which limits them. */
const CODE_BYTES = 16;
const FORM = /^([a-z0-9-]{1,63})\.([A-Za-z0-9_]{1,64})\.([A-Za-z0-9_-]{22})$/;

/**
 * @param key 32 bytes, used for this purpose only
 * @param earlier keys under which codes were made before
 */
export function createUnsubscribeCodes(
  key: Uint8Array,
  earlier: () => readonly Uint8Array[] = () => [],
): UnsubscribeCodes {
  const codeOf = ({ project, recipient }: Subscription, by = key): Buffer =>
    createHmac('sha256', by)
      .update(JSON.stringify([project, recipient]))
      .digest()
      .subarray(0, CODE_BYTES);
  return {
    make(subscription) {
      const { project, recipient } = subscription;
      return `${project}.${recipient}.${codeOf(subscription).toString('base64url')}`;
    },
    read(text) {
      const [, project = '', recipient = '', code = ''] = FORM.exec(text) ?? [];
      const given = Buffer.from(code, 'base64url');
      if (given.length !== CODE_BYTES) return undefined;
      const subscription = { project, recipient };
      const isOurs = [key, ...earlier()].some((by) =>
        timingSafeEqual(given, codeOf(subscription, by)),
      );
      return isOurs ? subscription : undefined;
    },
  };
}

/**
 * The link in a mail's List-Unsubscribe header. `origin` is that of the service, without a slash.
 */
export function unsubscribeUrl(origin: string, code: string): string {
  return `${origin}/v1/recipients/unsubscribe?code=${code}`;
}
