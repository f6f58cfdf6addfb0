/**
 * State of a sign-in between the redirect to the identity provider and the return from it. The
 * browser keeps it in a sealed cookie, so only the browser that began a sign-in can finish it (RFC
 * 9700, section 4.7). Each sign-in has a cookie of its own, because several tabs may begin one.
 */
import { type SealedTexts, sealTexts } from './sealed-texts.ts';

export interface LoginState {
  /** Returned in the URL (RFC 6749, section 4.1.1). */
  readonly state: string;
  /** Returned in the ID token. */
  readonly nonce: string;
  /** PKCE's (RFC 7636). */
  readonly verifier: string;
  /** Local path to open afterwards. */
  readonly returnPath: string;
  /** `yes`: the person must prove to be themselves again, whatever session the provider has. */
  readonly again: string;
}

/** Time allowed at the provider, seconds. */
export const LOGIN_STATE_SECONDS = 600;

export type LoginStates = SealedTexts<keyof LoginState>;

/** @param key 32 bytes, used for this purpose only */
export function createLoginStates(key: Uint8Array, clock: { now(): number }): LoginStates {
  return sealTexts({
    key,
    clock,
    audience: 'svc-login',
    seconds: LOGIN_STATE_SECONDS,
    names: ['state', 'nonce', 'verifier', 'returnPath', 'again'],
  });
}
