/**
 * The Ed25519 keys that access tokens are signed with: one that signs, and those before it that
 * still verify. They lie sealed in the secret store as one value, so that a crash leaves the old
 * set or the new one; a key signs only once it is on disk.
 */
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import type { SecretStore } from '../../sqlite/secret-store.ts';
import type { Clock } from '../../streams/clock.ts';

export interface SigningKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  /** As told to others: `kid`, `use` and `alg` in it, nothing private. */
  readonly publicJwk: JWK;
  /** Unix ms. */
  readonly createdMs: number;
  /** When it stopped signing, Unix ms; null = it signs. */
  readonly retiredMs: number | null;
}

export interface SigningKeys {
  /** The key to sign with: made when there is none or it is too old, and on disk by then. */
  signing(): Promise<SigningKey>;
  /** Every key whose tokens may still live, newest first. Empty before the first is made. */
  verifying(): readonly SigningKey[];
}

export interface SigningKeysOptions {
  readonly secrets: Pick<SecretStore, 'get' | 'put'>;
  readonly clock: Clock;
  /** How long what a key signed lives, ms: so long it verifies after it stopped signing. */
  readonly tokensLiveMs: number;
}

/** How long a key signs, ms: 90 days, the lifetime of a key by default. */
export const SIGNING_KEY_MS = 90 * 86_400_000;
/** Beside the tokens' own lifetime: clocks of two nodes may differ by so much, ms. */
const MARGIN_MS = 60_000;
const STORED = { id: 'access-tokens', purpose: 'signing-keys' } as const;
const ALGORITHM = 'EdDSA';

interface StoredKey {
  readonly jwk: JWK;
  readonly createdMs: number;
  readonly retiredMs: number | null;
}

/** The stored keys, ready. Throws `SealBroken` when they do not open. */
export async function openSigningKeys(options: SigningKeysOptions): Promise<SigningKeys> {
  const { secrets, clock, tokensLiveMs } = options;
  let keys = await loadKeys(secrets);
  let making: Promise<SigningKey> | undefined;

  const lives = (key: SigningKey): boolean =>
    key.retiredMs === null || clock.now() < key.retiredMs + tokensLiveMs + MARGIN_MS;
  const current = (): SigningKey | undefined =>
    keys.find((key) => key.retiredMs === null && clock.now() < key.createdMs + SIGNING_KEY_MS);

  async function rotate(): Promise<SigningKey> {
    const nowMs = clock.now();
    const made = await makeKey(nowMs);
    const retired = keys.map((key) => ({ ...key, retiredMs: key.retiredMs ?? nowMs }));
    const next = [made, ...retired.filter(lives)];
    await storeKeys(secrets, next);
    keys = next;
    return made;
  }
  return {
    verifying: () => keys.filter(lives),
    signing: async () => {
      const key = current();
      if (key) return key;
      making ??= rotate().finally(() => {
        making = undefined;
      });
      return making;
    },
  };
}

async function makeKey(createdMs: number): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  return asKey({ jwk: await exportJWK(privateKey), createdMs, retiredMs: null });
}

async function loadKeys(secrets: SigningKeysOptions['secrets']): Promise<SigningKey[]> {
  const stored = secrets.get(STORED.id, STORED.purpose);
  if (!stored) return [];
  // Sealed and written by this file alone: its form needs no check.
  const keys = JSON.parse(new TextDecoder().decode(stored)) as readonly StoredKey[];
  return Promise.all(keys.map(asKey));
}

async function storeKeys(
  secrets: SigningKeysOptions['secrets'],
  keys: readonly SigningKey[],
): Promise<void> {
  const stored = await Promise.all(
    keys.map(async ({ privateKey, createdMs, retiredMs }): Promise<StoredKey> => {
      return { jwk: await exportJWK(privateKey), createdMs, retiredMs };
    }),
  );
  secrets.put(STORED.id, STORED.purpose, new TextEncoder().encode(JSON.stringify(stored)));
}

async function asKey({ jwk, createdMs, retiredMs }: StoredKey): Promise<SigningKey> {
  const { d: _private, ...open } = jwk;
  const kid = await calculateJwkThumbprint(open);
  const privateKey = await importKey(jwk);
  const publicKey = await importKey(open);
  const publicJwk = { ...open, kid, use: 'sig', alg: ALGORITHM };
  return { kid, privateKey, publicKey, publicJwk, createdMs, retiredMs };
}

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, ALGORITHM, { extractable: true });
  if (key instanceof Uint8Array)
    throw new Error('A signing key in the secret store is no key pair');
  return key;
}
