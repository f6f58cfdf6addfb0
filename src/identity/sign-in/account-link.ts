/**
 * An account that the provider has vouched for and that fits no person, between the page that asks
 * a signed-in person whether it is theirs and the press of its button. Without that question, whoever
 * signs this browser in at the provider could become the person here.
 */
import { type SealedTexts, sealTexts } from './sealed-texts.ts';

export interface AccountLink {
  readonly issuer: string;
  readonly subject: string;
  /** Id of the session that requested the link. */
  readonly session: string;
}

/** Time to press the button, seconds. */
const ACCOUNT_LINK_SECONDS = 600;

export type AccountLinks = SealedTexts<keyof AccountLink>;

/** @param key 32 bytes, used for this purpose only */
export function createAccountLinks(key: Uint8Array, clock: { now(): number }): AccountLinks {
  return sealTexts({
    key,
    clock,
    audience: 'svc-account-link',
    seconds: ACCOUNT_LINK_SECONDS,
    names: ['issuer', 'subject', 'session'],
  });
}
