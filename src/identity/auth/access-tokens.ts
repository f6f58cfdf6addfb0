/**
 * Access tokens of CI workflows: JWTs signed by jose with Ed25519 keys of this service. The first
 * key is made for the first token, is sealed in the secret store, and is replaced after 90 days. A
 * replaced key verifies until its last token has expired. Members share the keys: one member makes
 * each key, and it signs only when all members verify by it. A token proves only which connection
 * it was made for. Whether that connection may still act is resolved on each request.
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
import type { SecretStore } from '../../../sqlite/platform/secrets/secret-store.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';

export interface AccessTokens {
  /** Checks the form only: true for an access token, false for a key. */
  looksLike(text: string): boolean;
  sign(claims: AccessTokenClaims): Promise<string>;
  /** Throws a `Refusal`: MALFORMED_CREDENTIAL, CREDENTIAL_EXPIRED. */
  verify(text: string): Promise<AccessTokenClaims>;
  /** Public keys, RFC 7517; `/.well-known/jwks.json`. */
  jwks(): Promise<{ readonly keys: readonly object[] }>;
}

export interface AccessTokensOptions {
  readonly secrets: Pick<SecretStore, 'get' | 'update'>;
  readonly clock: Clock;
  /**
   * Time between the publication and the first use of a key, ms. A member that has not learned of
   * it by then no longer acts. Default 0: there are no other members, and a key is made on demand.
   */
  readonly leadMs?: number;
  /** Public URL of the service, the `iss` of every token. A function, because it is known late. */
  readonly issuer: () => string;
  /** Verified tokens in the cache; default 10,000, about 4 MB. */
  readonly cachedMax?: number;
}

/** Media type of RFC 9068, section 2.1, which rejects tokens of other purposes. */
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
  const { clock, issuer, leadMs = 0, cachedMax = CACHED_MAX } = options;
  const keys = new SigningKeys({ ...options, leadMs, tokensLiveMs: ACCESS_TOKEN_MS });
  await keys.open();
  const verified = new BoundedCache<string, Cached>(cachedMax);
  return {
    looksLike: (text) => text.length <= LENGTH_MAX && FORM.test(text),
    jwks: async () => ({ keys: (await keys.verifying()).map(({ publicJwk }) => publicJwk) }),
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
      // A change of the public URL ends the tokens issued under the old one, cached ones too.
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

async function keyOf(kid: string | undefined, keys: SigningKeys): Promise<CryptoKey> {
  const key = await keys.find(kid);
  if (!key) throw malformed();
  return key.publicKey;
}

/** The signature proves that this service made it, so a wrong type comes from another version. */
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
  // Compared like jose does: in whole seconds, the end excluded.
  if (seconds(clock.now()) * 1000 >= claims.expiresMs) throw expired();
  return claims;
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function expired(): Refusal {
  return new Refusal(
    'CREDENTIAL_EXPIRED',
    'The access token has expired after its 15 minutes. Exchange a fresh identity token',
  );
}

/** The same for every fault: the detail would help only forgers. */
function malformed(): Refusal {
  return new Refusal(
    'MALFORMED_CREDENTIAL',
    'The access token was not issued by this service. Exchange a fresh identity token',
  );
}

/** Seconds. Keys change every 90 days, but in a single process a new one signs at once. */
const CACHE_SECONDS = 300;

/**
 * Adds `/.well-known/jwks.json`: the public keys of access tokens (RFC 7517), by which anyone can
 * verify one. Empty until the first token is made.
 */
export function addJwksRoute(app: FastifyInstance, tokens: Pick<AccessTokens, 'jwks'>): void {
  app.get('/.well-known/jwks.json', async (_request, reply) =>
    reply
      .type('application/jwk-set+json')
      .header('cache-control', `public, max-age=${CACHE_SECONDS}`)
      .send(JSON.stringify(await tokens.jwks())),
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

interface SigningKeysOptions {
  readonly secrets: Pick<SecretStore, 'get' | 'update'>;
  readonly clock: Clock;
  readonly leadMs: number;
  /** Lifetime of the tokens, ms. A key verifies for this long after it stopped signing. */
  readonly tokensLiveMs: number;
}

/** Time for which a key signs, ms: 90 days. */
export const SIGNING_KEY_MS = 90 * 86_400_000;
/** Added to the tokens' lifetime, ms, because the clocks of two nodes may differ. */
const MARGIN_MS = 60_000;
const STORED = { id: 'access-tokens', purpose: 'signing-keys' } as const;

/** Stored form. It is sealed, because `jwk` includes the private part while the key signs. */
interface StoredKey {
  readonly jwk: JWK;
  /** Unix ms. */
  readonly createdMs: number;
  /** Time when it stopped signing, Unix ms; null while it signs. */
  readonly retiredMs: number | null;
}

interface KeptKey extends VerifyingKey {
  readonly stored: StoredKey;
  /** null after it stopped signing. */
  readonly privateKey: CryptoKey | null;
}

/**
 * Ed25519 keys of access tokens: one that signs, and the public parts of earlier ones that still
 * verify. They are sealed in the secret store as one value, which changes by compare-and-set. So a
 * crash leaves either the old set or the new one, and only one of two members that replace a key at
 * once succeeds.
 */
class SigningKeys {
  readonly #options: SigningKeysOptions;
  #stored: Uint8Array | undefined;
  #keys: readonly KeptKey[] = [];
  /** Elapsed time when this member first saw a key, by key id. */
  readonly #seenMs = new Map<string, number>();
  #making: Promise<void> | undefined;

  constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  /**
   * Makes a key early if members share the keys. Throws `SealBroken`, and the errors of `update`.
   */
  async open(): Promise<void> {
    await this.#load();
    if (this.#options.leadMs > 0 && !this.#newest()) await this.#make();
  }

  /** The key to sign with, in the store. It is made if none exists or if it is too old. */
  async signing(): Promise<SigningKey> {
    const { clock } = this.#options;
    while (true) {
      await this.#load();
      const newest = this.#newest();
      if (!newest || clock.now() >= newest.stored.createdMs + SIGNING_KEY_MS) await this.#make();
      const key = this.#keys.filter(canSign).find((one) => this.#leadLeftMs(one) === 0);
      if (key) {
        if (key === this.#newest()) await this.#retireOthers(key);
        return key;
      }
      const next = this.#newest();
      if (next) await pause(clock, this.#leadLeftMs(next));
    }
  }

  /**
   * Every key whose tokens may not have expired, newest first. Empty before the first key is made.
   */
  async verifying(): Promise<readonly VerifyingKey[]> {
    await this.#load();
    return this.#keys.filter((key) => this.#lives(key.stored));
  }

  /** The key with this id. Reads the keys of other members only if the id is unknown. */
  async find(kid: string | undefined): Promise<VerifyingKey | undefined> {
    const isIt = (key: KeptKey): boolean => key.kid === kid && this.#lives(key.stored);
    return this.#keys.find(isIt) ?? (await this.verifying()).find((key) => key.kid === kid);
  }

  #newest(): (KeptKey & SigningKey) | undefined {
    return this.#keys.find(canSign);
  }

  #lives({ retiredMs }: StoredKey): boolean {
    const { clock, tokensLiveMs } = this.#options;
    return retiredMs === null || clock.now() < retiredMs + tokensLiveMs + MARGIN_MS;
  }

  /** Time until every other member has the key or no longer acts, ms. */
  #leadLeftMs({ kid, stored }: KeptKey): number {
    const { clock, leadMs } = this.#options;
    if (clock.now() >= stored.createdMs + leadMs + MARGIN_MS) return 0;
    const seenMs = this.#seenMs.get(kid) ?? clock.elapsed();
    return Math.max(0, seenMs + leadMs - clock.elapsed());
  }

  /** Makes one key for all concurrent callers, here and on other members. */
  #make(): Promise<void> {
    this.#making ??= this.#add().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #add(): Promise<void> {
    const nowMs = this.#options.clock.now();
    const made = await makeKey(nowMs);
    await this.#change((keys) => {
      const signs = ({ jwk, createdMs }: StoredKey) =>
        jwk.d !== undefined && nowMs < createdMs + SIGNING_KEY_MS;
      return keys.some(signs) ? undefined : [made, ...this.#leave(keys, nowMs)];
    });
  }

  /** The keys before a new one. They sign until the new one may. */
  #leave(keys: readonly StoredKey[], nowMs: number): readonly StoredKey[] {
    return this.#options.leadMs > 0 ? keys : keys.map((key) => retired(key, nowMs));
  }

  async #retireOthers({ stored }: KeptKey): Promise<void> {
    const others = this.#keys.filter((key) => canSign(key) && key.stored !== stored);
    if (others.length === 0) return;
    const nowMs = this.#options.clock.now();
    await this.#change(([newest, ...rest]) =>
      newest && rest.some(({ jwk }) => jwk.d !== undefined)
        ? [newest, ...rest.map((key) => retired(key, nowMs))]
        : undefined,
    );
  }

  async #change(
    change: (keys: readonly StoredKey[]) => readonly StoredKey[] | undefined,
  ): Promise<void> {
    await this.#options.secrets.update(STORED.id, STORED.purpose, (current) => {
      const keys = change(parse(current))?.filter((key) => this.#lives(key));
      return keys && new TextEncoder().encode(JSON.stringify(keys));
    });
    await this.#load();
  }

  async #load(): Promise<void> {
    const { secrets, clock } = this.#options;
    const stored = secrets.get(STORED.id, STORED.purpose);
    if (isSame(stored, this.#stored)) return;
    const known = new Map(this.#keys.map((key) => [JSON.stringify(key.stored), key]));
    const keys = await Promise.all(
      parse(stored).map((key) => known.get(JSON.stringify(key)) ?? asKey(key)),
    );
    for (const { kid } of keys) {
      if (!this.#seenMs.has(kid)) this.#seenMs.set(kid, clock.elapsed());
    }
    this.#keys = keys;
    this.#stored = stored;
  }
}

function canSign(key: KeptKey): key is KeptKey & SigningKey {
  return key.privateKey !== null;
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && Buffer.compare(a, b) === 0);
}

/** Only this file writes the value, so its form needs no check. */
function parse(stored: Uint8Array | undefined): readonly StoredKey[] {
  return stored ? (JSON.parse(new TextDecoder().decode(stored)) as readonly StoredKey[]) : [];
}

async function makeKey(createdMs: number): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  return { jwk: await exportJWK(privateKey), createdMs, retiredMs: null };
}

async function asKey(stored: StoredKey): Promise<KeptKey> {
  const open = publicPart(stored.jwk);
  const kid = await calculateJwkThumbprint(open);
  const publicKey = await importKey(open);
  const privateKey = stored.jwk.d === undefined ? null : await importKey(stored.jwk);
  const publicJwk = { ...open, kid, use: 'sig', alg: ALGORITHM };
  return { kid, stored, privateKey, publicKey, publicJwk };
}

/** From `nowMs` on, the key only verifies, which needs no private part. */
function retired({ jwk, createdMs, retiredMs }: StoredKey, nowMs: number): StoredKey {
  return { jwk: publicPart(jwk), createdMs, retiredMs: retiredMs ?? nowMs };
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
