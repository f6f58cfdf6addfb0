/**
 * What stands in an unsubscribe link: project, recipient, and a code that only this service can
 * make of the two, so that nobody unsubscribes others by guessing (RFC 8058, section 7). A link has
 * no end: old mails must still lead out.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Whose mails end. */
export interface Subscription {
  /** Id. */
  readonly project: string;
  /** Id of the mail recipient. */
  readonly recipient: string;
}

export interface UnsubscribeCodes {
  make(subscription: Subscription): string;
  /** undefined: it is none of ours. */
  read(code: string): Subscription | undefined;
}

/** 128 bits: there is nothing to try it against but this service, which is limited. */
const CODE_BYTES = 16;
const FORM = /^([a-z0-9-]{1,63})\.([A-Za-z0-9_]{1,64})\.([A-Za-z0-9_-]{22})$/;

/** @param key of 32 bytes, for this purpose alone */
export function createUnsubscribeCodes(key: Uint8Array): UnsubscribeCodes {
  const codeOf = ({ project, recipient }: Subscription): Buffer =>
    createHmac('sha256', key)
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
      return timingSafeEqual(given, codeOf(subscription)) ? subscription : undefined;
    },
  };
}

/** The link of a mail's List-Unsubscribe header. `origin`: of the service, without a slash. */
export function unsubscribeUrl(origin: string, code: string): string {
  return `${origin}/v1/recipients/unsubscribe?code=${code}`;
}
