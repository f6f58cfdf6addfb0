/**
 * State of a sign-in between the redirect to the identity provider and the return from it. The
 * browser keeps it in a sealed cookie. So the service stores nothing for abandoned sign-ins, and
 * only the browser that began a sign-in can finish it (RFC 9700, section 4.7).
 */
import { EncryptJWT, errors, jwtDecrypt } from 'jose';

export interface LoginState {
  /** Returned in the URL (RFC 6749, section 4.1.1). */
  readonly state: string;
  /** Returned in the ID token. */
  readonly nonce: string;
  /** PKCE's (RFC 7636). */
  readonly verifier: string;
  /** Local path to open afterwards. */
  readonly returnPath: string;
}

/** Time allowed at the provider, seconds. */
export const LOGIN_STATE_SECONDS = 600;

const AUDIENCE = 'svc-login';
const TEXT_CLAIMS = ['state', 'nonce', 'verifier', 'returnPath'] as const;

export interface LoginStates {
  seal(state: LoginState): Promise<string>;
  /** undefined if it was not sealed here, was changed, or is too old. */
  open(sealed: string): Promise<LoginState | undefined>;
}

/** @param key 32 bytes, used for this purpose only */
export function createLoginStates(key: Uint8Array, clock: { now(): number }): LoginStates {
  return {
    seal(state) {
      const seconds = Math.floor(clock.now() / 1000);
      return new EncryptJWT({ ...state })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(AUDIENCE)
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + LOGIN_STATE_SECONDS)
        .encrypt(key);
    },
    async open(sealed) {
      try {
        const { payload } = await jwtDecrypt(sealed, key, {
          audience: AUDIENCE,
          currentDate: new Date(clock.now()),
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
          requiredClaims: ['iat', 'exp', ...TEXT_CLAIMS],
        });
        return stateOf(payload);
      } catch (error) {
        if (error instanceof errors.JOSEError) return undefined;
        throw error;
      }
    },
  };
}

function stateOf(payload: Readonly<Record<string, unknown>>): LoginState {
  const [state, nonce, verifier, returnPath] = TEXT_CLAIMS.map((name) => String(payload[name]));
  return {
    state: state ?? '',
    nonce: nonce ?? '',
    verifier: verifier ?? '',
    returnPath: returnPath ?? '',
  };
}
