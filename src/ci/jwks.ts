/**
 * The keys of one issuer, kept: fresh for 10 minutes, renewed in the background before that, used
 * for up to 24 hours while the issuer does not answer, with an alarm. At most one request is under
 * way, all who need it wait for that one, and every attempt counts against the next, a failed one
 * too: neither an outage nor a storm of made-up key ids becomes a storm of requests.
 */
import { type CryptoKey, importJWK, type JWK } from 'jose';
import type { Clock } from '../../streams/clock.ts';
import { Refusal } from '../../streams/refusal.ts';
import { type PartHealth, ready } from '../health.ts';
import type { Log } from '../log.ts';

export interface IssuerKeys {
  /**
   * The key of that id; undefined: the issuer has none. Rejects with a `Refusal` NOT_READY when
   * that cannot be told. Waits no longer than one request may take.
   */
  find(kid: string): Promise<CryptoKey | undefined>;
  health(): PartHealth;
  /** Since the keys were read, ms; undefined = never. */
  ageMs(): number | undefined;
}

export interface IssuerKeysOptions {
  /** Name of the issuer, for sentences. */
  readonly name: string;
  /** Text of the key set (RFC 7517). Rejects when it cannot be had; bounded by the caller too. */
  readonly fetchKeys: (signal: AbortSignal) => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onFetched?: (outcome: 'ok' | 'failed') => void;
}

/** Times in ms, all of elapsed time. */
export const FRESH_MS = 10 * 60_000;
export const RENEW_MS = 5 * 60_000;
export const STALE_MS = 24 * 3_600_000;
/** Between two attempts that unknown key ids cause, counted from any attempt, whatever came of it. */
export const UNKNOWN_KEY_PAUSE_MS = 30_000;
/** Between a failed attempt and the next one that age alone causes. */
export const RETRY_PAUSE_MS = 10_000;
export const FETCH_MS = 5_000;
/** Requests that wait for keys at a time; more are told at once to come again. */
const WAITING_MAX = 1_000;
const KEYS_MAX = 100;
const KID_LENGTH_MAX = 256;
/** Bits; RFC 7518, section 3.3 has the least. */
const MODULUS_BITS = { min: 2_048, max: 8_192 } as const;
/** 65,537, which everybody uses; smaller ones are weak, and an import accepts even 1. */
const EXPONENT = 'AQAB';

export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  return new Keys(options);
}

class Keys implements IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: ReadonlyMap<string, CryptoKey> = new Map();
  /** Elapsed time at which the request was sent that brought these keys. */
  #readAtMs: number | undefined;
  #lastAttemptMs = Number.NEGATIVE_INFINITY;
  /** Why the last attempt failed; undefined: it did not. */
  #fault: string | undefined;
  #underWay: Promise<void> | undefined;
  #waiting = 0;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  async find(kid: string): Promise<CryptoKey | undefined> {
    await this.#keepFresh();
    const age = this.ageMs();
    if (age === undefined || age > STALE_MS) throw this.#notReady();
    const known = this.#keys.get(kid);
    if (known) return known;
    if (this.#underWay || this.#sinceAttemptMs() >= UNKNOWN_KEY_PAUSE_MS) await this.#renewed();
    const found = this.#keys.get(kid);
    // Keys may have been replaced behind an issuer that does not answer: nobody can tell.
    if (!found && this.#fault !== undefined) throw this.#notReady();
    return found;
  }

  health(): PartHealth {
    const { name } = this.#options;
    if (this.#fault === undefined) return ready;
    const age = this.ageMs();
    const minutes = Math.floor((age ?? 0) / 60_000);
    const used =
      age === undefined || age > STALE_MS
        ? 'its tokens are refused meanwhile'
        : `those of ${minutes} minutes ago are used, for 24 hours at most`;
    return {
      state: 'degraded',
      reason: `Keys of ${name} cannot be read (${this.#fault}): ${used}`,
      summary: 'Keys of a CI issuer cannot be read',
    };
  }

  ageMs(): number | undefined {
    if (this.#readAtMs === undefined) return undefined;
    return this.#options.clock.elapsed() - this.#readAtMs;
  }

  async #keepFresh(): Promise<void> {
    const age = this.ageMs() ?? Number.POSITIVE_INFINITY;
    if (age <= RENEW_MS) return;
    const mayTry = this.#fault === undefined || this.#sinceAttemptMs() >= RETRY_PAUSE_MS;
    if (!mayTry && !this.#underWay) return;
    // Once an outage is known, keys that may still be used are: nobody waits for the next attempt.
    const mayUse = age <= FRESH_MS || (this.#fault !== undefined && age <= STALE_MS);
    if (mayUse) void this.#renew();
    else await this.#renewed();
  }

  /** Resolves when the attempt under way, or a new one, is over. Bounded by its time. */
  async #renewed(): Promise<void> {
    if (this.#waiting >= WAITING_MAX) throw this.#notReady();
    this.#waiting++;
    try {
      await this.#renew();
    } finally {
      this.#waiting--;
    }
  }

  #renew(): Promise<void> {
    this.#underWay ??= this.#attempt().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  /** Never rejects: what failed is told by health, log and counter. */
  async #attempt(): Promise<void> {
    const { clock, log, name, onFetched } = this.#options;
    const startedMs = clock.elapsed();
    this.#lastAttemptMs = startedMs;
    try {
      this.#keys = await readKeys(await this.#fetched());
      this.#readAtMs = startedMs;
      if (this.#fault !== undefined) log.info({ issuer: name }, 'The keys of the issuer are back');
      this.#fault = undefined;
      onFetched?.('ok');
    } catch (error) {
      if (this.#fault === undefined) {
        log.warn({ err: error, issuer: name }, 'The keys of the issuer cannot be read');
      }
      this.#fault = error instanceof Error ? error.message : String(error);
      onFetched?.('failed');
    }
  }

  /** With a deadline of its own, which holds also where the fetch ignores its signal. */
  #fetched(): Promise<string> {
    const { clock, fetchKeys } = this.#options;
    const given = new AbortController();
    return new Promise<string>((resolve, reject) => {
      const cancel = clock.wakeAfter(FETCH_MS, () => {
        reject(new Error(`no answer within ${FETCH_MS / 1000} s`));
        given.abort();
      });
      fetchKeys(given.signal).then(resolve, reject).finally(cancel);
    });
  }

  #sinceAttemptMs(): number {
    return this.#options.clock.elapsed() - this.#lastAttemptMs;
  }

  #notReady(): Refusal {
    const { name } = this.#options;
    const waitSeconds = Math.ceil(RETRY_PAUSE_MS / 1000);
    return new Refusal(
      'NOT_READY',
      `The keys of the CI issuer ${name} cannot be read at the moment: try again in ${waitSeconds} s`,
      { retryAfterSeconds: String(waitSeconds) },
    );
  }
}

/** The RS256 keys of a key set, by id. Throws when there is none. */
async function readKeys(text: string): Promise<ReadonlyMap<string, CryptoKey>> {
  const set: unknown = JSON.parse(text);
  const listed = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined;
  if (!Array.isArray(listed)) throw new Error('the answer is no key set');
  if (listed.length > KEYS_MAX) throw new Error(`the key set has more than ${KEYS_MAX} keys`);
  const keys = new Map<string, CryptoKey>();
  for (const jwk of listed.filter(isUsable)) {
    if (keys.has(jwk.kid)) throw new Error('the key set has two keys of one id');
    const key = await importKey(jwk);
    if (key) keys.set(jwk.kid, key);
  }
  if (keys.size === 0) throw new Error('the key set has no RS256 key');
  return keys;
}

type UsableKey = JWK & { readonly kid: string };

/** Keys for other algorithms and uses are none of ours. */
function isUsable(jwk: unknown): jwk is UsableKey {
  if (typeof jwk !== 'object' || jwk === null) return false;
  const { kty, kid, use, alg, n, e } = jwk as Record<string, unknown>;
  if (kty !== 'RSA' || typeof kid !== 'string' || kid === '' || kid.length > KID_LENGTH_MAX) {
    return false;
  }
  if (use !== undefined && use !== 'sig') return false;
  if (alg !== undefined && alg !== 'RS256') return false;
  if (e !== EXPONENT) return false;
  return typeof n === 'string';
}

/** undefined for a key that does not import: one broken key must not end the others. */
async function importKey({ kty, n, e }: UsableKey): Promise<CryptoKey | undefined> {
  try {
    // Public parts alone, so that a document with private ones is no different.
    const key = await importJWK({ kty, n, e } as JWK, 'RS256');
    if (key instanceof Uint8Array) return undefined;
    const bits = 'modulusLength' in key.algorithm ? Number(key.algorithm.modulusLength) : 0;
    return bits >= MODULUS_BITS.min && bits <= MODULUS_BITS.max ? key : undefined;
  } catch {
    return undefined;
  }
}
