/**
 * Scoped keys, as the API sees them. The key itself is in the first answer alone; commits, and the
 * answers kept for resends, hold its hash and its id.
 */
import type { Committed } from '../platform/host/host-port.ts';
import type { IdentityChange } from './accounts-port.ts';
import type { KeyOwner } from './names.ts';

/** A new secret, as the form of our keys makes it. */
export interface MintedKey {
  readonly id: string;
  /** The secret. */
  readonly text: string;
  /** SHA-256 of it, hex. */
  readonly hash: string;
  readonly lastFour: string;
}

export interface CreateKey extends IdentityChange {
  /** In the change's project. */
  readonly owner: KeyOwner;
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** 1 ms to 365 days; undefined = 90 days. */
  readonly lifetimeMs: number | undefined;
}

export interface RotateKey extends IdentityChange {
  readonly owner: KeyOwner;
  readonly key: string;
  /** How long the old key still works, 0 to 24 hours. */
  readonly overlapMs: number;
  /** Of the successor; undefined = 90 days. */
  readonly lifetimeMs: number | undefined;
}

export interface RevokeKey extends IdentityChange {
  readonly owner: KeyOwner;
  readonly key: string;
  readonly reason: string;
}

export interface IssuedKey {
  /** Id of the new key. */
  readonly key: string;
  /** The key itself; null: this answers a resend, and it cannot be had again. */
  readonly secret: string | null;
  readonly sequence: number;
}

/**
 * Methods throw a `Refusal`: INVALID_FIELD, NOT_FOUND (no such owner or key), MISSING_CAPABILITY (the
 * owner does not have it), INVALID_STATE (the account is disabled; the key has ended, or has a
 * successor that works), LIMIT_EXCEEDED (as many keys work as may), REQUEST_ID_REUSED; and what
 * `Host.submit` throws.
 */
export interface Keys {
  create(request: CreateKey): Promise<IssuedKey>;
  /** A successor with the same capabilities, as far as the owner still has them. */
  rotate(request: RotateKey): Promise<IssuedKey>;
  /** Harmless for a key that has ended. */
  revoke(request: RevokeKey): Promise<Committed<{ readonly key: string }>>;
}
