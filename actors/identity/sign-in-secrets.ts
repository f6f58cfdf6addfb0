/** The port through which sign-in makes and reads its secrets: their form is known to `src` alone. */
import { timingSafeEqual } from 'node:crypto';

/** Sign-in link, invitation, session. */
export type SignInSecretKind = 'link' | 'inv' | 'session';

export interface SignInSecrets {
  /** A new secret with 256 random bits; `id`: of the thing that it opens, when it is there before. */
  mint(
    kind: SignInSecretKind,
    id?: string,
  ): { readonly id: string; readonly text: string; readonly hash: string };
  /** Id in a well-formed secret of the kind; undefined when it is none. */
  parse(kind: SignInSecretKind, text: string): string | undefined;
  /** SHA-256, hex. */
  hash(text: string): string;
}

/** Compares two hex SHA-256 in a time that tells nothing; a stored value of another length differs. */
export function sameDigest(stored: unknown, digest: string): boolean {
  const text = (typeof stored === 'string' ? stored : '').padEnd(64, '-').slice(0, 64);
  return timingSafeEqual(Buffer.from(text), Buffer.from(digest));
}
