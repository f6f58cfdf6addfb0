/** Port that makes and parses secrets of sign-in. `src/platform/keys.ts` defines their form. */
import { timingSafeEqual } from 'node:crypto';

/** Sign-in link, invitation, session. */
export type SignInSecretKind = 'link' | 'inv' | 'session';

/** Makes, recognises and hashes secrets. Only the hash of a secret is ever stored. */
export interface SignInSecrets {
  /** A new secret with 256 random bits. `id` is that of an existing row that it belongs to. */
  mint(
    kind: SignInSecretKind,
    id?: string,
  ): { readonly id: string; readonly text: string; readonly hash: string };
  /** Id in a well-formed secret of the kind; undefined for other texts. */
  parse(kind: SignInSecretKind, text: string): string | undefined;
  /** SHA-256, hex. */
  hash(text: string): string;
}

/**
 * Compares two hex SHA-256 values in constant time. A stored value of another length never matches.
 */
export function sameDigest(stored: unknown, digest: string): boolean {
  const text = (typeof stored === 'string' ? stored : '').padEnd(64, '-').slice(0, 64);
  return timingSafeEqual(Buffer.from(text), Buffer.from(digest));
}
