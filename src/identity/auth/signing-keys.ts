/**
 * Ed25519 keys of access tokens: one that signs, and the public parts of earlier ones that still
 * verify. They are sealed in the secret store as one value, so that a crash leaves the old set or the
 * new one. A key signs only once it is on disk.
 */
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import type { SecretStore } from '../../../sqlite/platform/secret-store.ts';
import type { Clock } from '../../../streams/platform/clock.ts';

export interface VerifyingKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly publicKey: CryptoKey;
  /** Published form, with `kid`, `use` and `alg`, without private parts. */
  readonly publicJwk: JWK;
}

export interface SigningKey extends VerifyingKey {
  readonly privateKey: CryptoKey;
}

export interface SigningKeys {
  /** The key to sign with, on disk. Made when there is none or it is too old. */
  signing(): Promise<SigningKey>;
  /** Every key whose tokens may still live, newest first. Empty before the first is made. */
  verifying(): readonly VerifyingKey[];
}

export interface SigningKeysOptions {
  readonly secrets: Pick<SecretStore, 'get' | 'put'>;
  readonly clock: Clock;
  /** Lifetime of the tokens, ms: a key verifies for this long after it stopped signing. */
  readonly tokensLiveMs: number;
}

/** How long a key signs, ms: 90 days. */
export const SIGNING_KEY_MS = 90 * 86_400_000;
/** Added to the tokens' lifetime, ms, because clocks of two nodes may differ. */
const MARGIN_MS = 60_000;
const STORED = { id: 'access-tokens', purpose: 'signing-keys' } as const;
const ALGORITHM = 'EdDSA';

/** Stored form, sealed because `jwk` has the private part while the key signs. */
interface StoredKey {
  readonly jwk: JWK;
  /** Unix ms. */
  readonly createdMs: number;
  /** When it stopped signing, Unix ms; null = it signs. */
  readonly retiredMs: number | null;
}

interface KeptKey extends VerifyingKey {
  readonly stored: StoredKey;
  /** null once it has stopped signing. */
  readonly privateKey: CryptoKey | null;
}

/** Loads the stored keys. Throws `SealBroken` when they cannot be unsealed. */
export async function openSigningKeys(options: SigningKeysOptions): Promise<SigningKeys> {
  const { secrets, clock, tokensLiveMs } = options;
  let keys = await loadKeys(secrets);
  let making: Promise<SigningKey> | undefined;

  const lives = ({ stored: { retiredMs } }: KeptKey): boolean =>
    retiredMs === null || clock.now() < retiredMs + tokensLiveMs + MARGIN_MS;
  const current = (): SigningKey | undefined => keys.find(isSigning(clock.now()));

  async function rotate(): Promise<SigningKey> {
    const nowMs = clock.now();
    const made = await makeKey(nowMs);
    const next = [made, ...keys.map((key) => retired(key, nowMs)).filter(lives)];
    const stored = JSON.stringify(next.map((key) => key.stored));
    secrets.put(STORED.id, STORED.purpose, new TextEncoder().encode(stored));
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

function isSigning(nowMs: number) {
  return (key: KeptKey): key is KeptKey & SigningKey =>
    key.privateKey !== null && nowMs < key.stored.createdMs + SIGNING_KEY_MS;
}

async function makeKey(createdMs: number): Promise<KeptKey & SigningKey> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const kept = await asKey({ jwk: await exportJWK(privateKey), createdMs, retiredMs: null });
  return { ...kept, privateKey };
}

async function loadKeys(secrets: SigningKeysOptions['secrets']): Promise<KeptKey[]> {
  const stored = secrets.get(STORED.id, STORED.purpose);
  if (!stored) return [];
  // Only this file writes the value, so its form needs no check.
  const keys = JSON.parse(new TextDecoder().decode(stored)) as readonly StoredKey[];
  return Promise.all(keys.map(asKey));
}

async function asKey(stored: StoredKey): Promise<KeptKey> {
  const open = publicPart(stored.jwk);
  const kid = await calculateJwkThumbprint(open);
  const publicKey = await importKey(open);
  const privateKey = stored.jwk.d === undefined ? null : await importKey(stored.jwk);
  const publicJwk = { ...open, kid, use: 'sig', alg: ALGORITHM };
  return { kid, stored, privateKey, publicKey, publicJwk };
}

/** From `nowMs` on the key only verifies, which needs no private part. */
function retired(key: KeptKey, nowMs: number): KeptKey {
  const { jwk, createdMs, retiredMs } = key.stored;
  const stored = { jwk: publicPart(jwk), createdMs, retiredMs: retiredMs ?? nowMs };
  return { ...key, privateKey: null, stored };
}

function publicPart({ d: _private, ...open }: JWK): JWK {
  return open;
}

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, ALGORITHM);
  if (key instanceof Uint8Array)
    throw new Error('A signing key in the secret store is not a key pair');
  return key;
}
