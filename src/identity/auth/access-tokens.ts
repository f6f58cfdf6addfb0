/**
 * Access tokens of CI workflows: JWTs signed by jose with Ed25519 keys of this service. The first key
 * is made for the first token, is sealed in the secret store, and is replaced after 90 days; a
 * replaced key verifies until its last token has expired. A token proves only for which connection it
 * was made: whether that connection may still act is resolved on each request.
 */
import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import {
  type CryptoKey,
  calculateJwkThumbprint,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import { ACCESS_TOKEN_MS, type AccessTokenClaims } from '../../../actors/ci/exchange.ts';
import type { SecretStore } from '../../../sqlite/platform/secret-store.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';

export interface AccessTokens {
  /** Checks the form only: true for an access token, false for a key. */
  looksLike(text: string): boolean;
  sign(claims: AccessTokenClaims): Promise<string>;
  /** Throws a `Refusal`: MALFORMED_CREDENTIAL, CREDENTIAL_EXPIRED. */
  verify(text: string): Promise<AccessTokenClaims>;
  /** Public keys, RFC 7517; `/.well-known/jwks.json`. */
  jwks(): { readonly keys: readonly object[] };
}

export interface AccessTokensOptions {
  readonly secrets: Pick<SecretStore, 'get' | 'put'>;
  readonly clock: Clock;
  /** Public URL of the service, `iss` of every token. A function, because it is known late. */
  readonly issuer: () => string;
  /** Verified tokens in the cache; default 10,000, about 4 MB. */
  readonly cachedMax?: number;
}

/** Media type of RFC 9068, section 2.1, which keeps tokens of other purposes out. */
const TYP = 'at+jwt';
const ALGORITHM = 'EdDSA';
/** Our tokens have about 600 characters. */
const LENGTH_MAX = 2_048;
const FORM = /^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const CACHED_MAX = 10_000;
const PROJECTS = 'projects/';

/**
 * Access tokens with the keys in the secret store. Throws `SealBroken` when the stored keys cannot be
 * unsealed.
 */
export async function openAccessTokens(options: AccessTokensOptions): Promise<AccessTokens> {
  const { clock, issuer, cachedMax = CACHED_MAX } = options;
  const keys = await openSigningKeys({ ...options, tokensLiveMs: ACCESS_TOKEN_MS });
  const verified = new BoundedCache<string, Cached>(cachedMax);
  return {
    looksLike: (text) => text.length <= LENGTH_MAX && FORM.test(text),
    jwks: () => ({ keys: keys.verifying().map(({ publicJwk }) => publicJwk) }),
    sign: async (claims) => {
      const key = await keys.signing();
      return new SignJWT({ client_id: claims.connection, token_epoch: claims.tokenEpoch })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYP, kid: key.kid })
        .setIssuer(issuer())
        .setSubject(claims.connection)
        .setAudience(PROJECTS + claims.project)
        .setJti(claims.token)
        .setIssuedAt(seconds(clock.now()))
        .setExpirationTime(seconds(claims.expiresMs))
        .sign(key.privateKey);
    },
    verify: async (text) => {
      const digest = hash('sha256', text, 'base64url');
      // A changed public URL ends the tokens issued under the old one, also cached ones.
      const known = verified.get(digest);
      if (known && known.issuer === issuer()) return inTime(known.claims, clock);
      if (text.length > LENGTH_MAX) throw malformed();
      const claims = await verify({ text, keys, issuer: issuer(), nowMs: clock.now() });
      verified.set(digest, { claims, issuer: issuer() });
      return claims;
    },
  };
}

interface Cached {
  readonly claims: AccessTokenClaims;
  readonly issuer: string;
}

interface Verification {
  readonly text: string;
  readonly keys: SigningKeys;
  readonly issuer: string;
  readonly nowMs: number;
}

async function verify({ text, keys, issuer, nowMs }: Verification): Promise<AccessTokenClaims> {
  try {
    const { payload } = await jwtVerify(text, ({ kid }) => keyOf(kid, keys), {
      algorithms: [ALGORITHM],
      typ: TYP,
      issuer,
      requiredClaims: ['iss', 'sub', 'aud', 'iat', 'exp', 'jti', 'token_epoch'],
      currentDate: new Date(nowMs),
    });
    return claimsOf(payload);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (error instanceof errors.JWTExpired) throw expired();
    if (error instanceof errors.JOSEError) throw malformed();
    throw error;
  }
}

function keyOf(kid: string | undefined, keys: SigningKeys): CryptoKey {
  const key = keys.verifying().find((one) => one.kid === kid);
  if (!key) throw malformed();
  return key.publicKey;
}

/** The signature proves that we made it, so a wrong type comes from another version of ours. */
function claimsOf(payload: JWTPayload): AccessTokenClaims {
  const { jti, sub, aud, exp, token_epoch: tokenEpoch } = payload;
  if (typeof aud !== 'string' || !aud.startsWith(PROJECTS) || typeof sub !== 'string') {
    throw malformed();
  }
  if (typeof jti !== 'string' || typeof exp !== 'number' || typeof tokenEpoch !== 'number') {
    throw malformed();
  }
  const project = aud.slice(PROJECTS.length);
  return { token: jti, project, connection: sub, tokenEpoch, expiresMs: exp * 1000 };
}

function inTime(claims: AccessTokenClaims, clock: Clock): AccessTokenClaims {
  // Compared as jose does: in whole seconds, the end excluded.
  if (seconds(clock.now()) * 1000 >= claims.expiresMs) throw expired();
  return claims;
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function expired(): Refusal {
  return new Refusal(
    'CREDENTIAL_EXPIRED',
    'The 15 minutes of the access token are over: exchange a fresh identity token',
  );
}

/** Alike for every fault: which part of a forged token was wrong helps only its forger. */
function malformed(): Refusal {
  return new Refusal(
    'MALFORMED_CREDENTIAL',
    'The access token is not one of this service: exchange a fresh identity token',
  );
}

/** Seconds. Keys change every 90 days, but a new one signs at once. */
const CACHE_SECONDS = 300;

/**
 * Adds `/.well-known/jwks.json`: the public keys of access tokens (RFC 7517), with which anybody can
 * verify one. Empty until the first token is made.
 */
export function addJwksRoute(app: FastifyInstance, tokens: Pick<AccessTokens, 'jwks'>): void {
  app.get('/.well-known/jwks.json', (_request, reply) =>
    reply
      .type('application/jwk-set+json')
      .header('cache-control', `public, max-age=${CACHE_SECONDS}`)
      .send(JSON.stringify(tokens.jwks())),
  );
}

interface VerifyingKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly publicKey: CryptoKey;
  /** Published form, with `kid`, `use` and `alg`, without private parts. */
  readonly publicJwk: JWK;
}

interface SigningKey extends VerifyingKey {
  readonly privateKey: CryptoKey;
}

/**
 * Ed25519 keys of access tokens: one that signs, and the public parts of earlier ones that still
 * verify. They are sealed in the secret store as one value, so that a crash leaves the old set or the
 * new one. A key signs only once it is on disk.
 */
interface SigningKeys {
  /** The key to sign with, on disk. Made when there is none or it is too old. */
  signing(): Promise<SigningKey>;
  /** Every key whose tokens may still live, newest first. Empty before the first is made. */
  verifying(): readonly VerifyingKey[];
}

interface SigningKeysOptions {
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
async function openSigningKeys(options: SigningKeysOptions): Promise<SigningKeys> {
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
