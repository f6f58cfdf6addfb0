/**
 * The keys of one issuer: fresh for 10 minutes and read again every 5, whether or not anybody asks,
 * once a token has asked for the first time. Two things that can go wrong are kept apart:
 *
 * - A **statement**: the issuer answered with a key set (RFC 7517, section 5). It replaces what was
 *   known. A key that it no longer lists is not trusted from then on, and an empty set ends the
 *   trust in all of them: the issuer said so, and health repeats it.
 * - An **outage**: no answer, or one that is no key set (an error page, `{}`, a part of a document).
 *   It says nothing about keys: the last ones are used for up to 24 hours, with an alarm.
 *
 * Keys are held in memory alone, so that a restart cannot bring back a key that was taken away. At
 * most one request is under way, all who need it wait for that one, and every attempt counts against
 * the next, a failed one too: neither an outage nor a storm of made-up key ids becomes a storm of
 * requests.
 */
import { type CryptoKey, importJWK, type JWK } from 'jose';
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { type PartHealth, ready } from '../platform/health.ts';
import type { Log } from '../platform/log.ts';

export interface IssuerKeys {
  /**
   * The key of that id; undefined: the issuer has none. Rejects with a `Refusal` NOT_READY when
   * that cannot be told. Waits no longer than one request may take.
   */
  find(kid: string): Promise<CryptoKey | undefined>;
  health(): PartHealth;
  /** Since the keys were read, ms; undefined = never. */
  ageMs(): number | undefined;
  /** Keys that are trusted now; undefined = none was ever read, or they are too old. */
  trusted(): number | undefined;
  /** Ends the readings in the background. */
  close(): void;
}

export interface IssuerKeysOptions {
  /** Name of the issuer, for sentences. */
  readonly name: string;
  /** Text of the key set (RFC 7517). Rejects when it cannot be had; bounded by the caller too. */
  readonly fetchKeys: (signal: AbortSignal) => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onFetched?: (outcome: FetchOutcome) => void;
}

/** `no_key`: the issuer answered with a key set in which no key can be trusted. */
export type FetchOutcome = 'ok' | 'no_key' | 'failed';

/** Times in ms. */
export const FRESH_MS = 10 * 60_000;
export const RENEW_MS = 5 * 60_000;
export const STALE_MS = 24 * 3_600_000;
/** Between two attempts that unknown key ids cause, counted from any attempt, whatever came of it. */
export const UNKNOWN_KEY_PAUSE_MS = 30_000;
/** Between a failed attempt and the next one that age alone causes. */
export const RETRY_PAUSE_MS = 10_000;
/** Between a failed attempt and the next one where no token asks. */
export const BACKGROUND_RETRY_MS = 60_000;
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
  #set: KeySet = { keys: new Map(), ambiguous: [] };
  /** When the request was sent that brought this set. */
  #readAt: Moment | undefined;
  #lastAttemptMs = Number.NEGATIVE_INFINITY;
  /** Why the last attempt failed; undefined: it did not. */
  #fault: string | undefined;
  #underWay: Promise<void> | undefined;
  #waiting = 0;
  #cancelNext: CancelWakeUp = () => {};
  #isClosed = false;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  async find(kid: string): Promise<CryptoKey | undefined> {
    await this.#keepFresh();
    const age = this.ageMs();
    if (age === undefined || age > STALE_MS) throw this.#notReady();
    const known = this.#set.keys.get(kid);
    if (known) return known;
    if (this.#underWay || this.#sinceAttemptMs() >= UNKNOWN_KEY_PAUSE_MS) await this.#renewed();
    const found = this.#set.keys.get(kid);
    // Keys may have been replaced behind an issuer that does not answer: nobody can tell.
    if (!found && this.#fault !== undefined) throw this.#notReady();
    return found;
  }

  health(): PartHealth {
    const outage = this.#outage();
    const loss = this.#statedLoss();
    const reasons = [outage, loss].filter((one) => one !== undefined);
    if (reasons.length === 0) return ready;
    const summary = outage
      ? 'Keys of a CI issuer cannot be read'
      : 'A CI issuer lists no key to trust, or different keys under one id';
    return { state: 'degraded', reason: reasons.join('. '), summary };
  }

  ageMs(): number | undefined {
    const readAt = this.#readAt;
    if (readAt === undefined) return undefined;
    const { clock } = this.#options;
    // The longer of the two: elapsed time stands still while a machine is suspended.
    return Math.max(clock.elapsed() - readAt.elapsedMs, clock.now() - readAt.wallMs);
  }

  trusted(): number | undefined {
    const age = this.ageMs();
    return age === undefined || age > STALE_MS ? undefined : this.#set.keys.size;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelNext();
  }

  #outage(): string | undefined {
    if (this.#fault === undefined) return undefined;
    const age = this.ageMs();
    const used =
      age === undefined || age > STALE_MS
        ? 'its tokens are refused meanwhile'
        : `those of ${Math.floor(age / 60_000)} minutes ago are used, for 24 hours at most`;
    return `Keys of ${this.#options.name} cannot be read (${this.#fault}): ${used}`;
  }

  /** What the last key set itself takes away; undefined: nothing. */
  #statedLoss(): string | undefined {
    const { name } = this.#options;
    if (this.#readAt === undefined) return undefined;
    if (this.#set.keys.size === 0) {
      return `${name} lists no key for RS256 signatures: all of its tokens are refused until it does`;
    }
    const [kid] = this.#set.ambiguous;
    if (kid === undefined) return undefined;
    return `${name} lists different keys under one id (${JSON.stringify(kid.slice(0, 64))}): tokens that name it are refused`;
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

  /** Never rejects: what failed is reported by health, log and counter. */
  async #attempt(): Promise<void> {
    const { clock, log, name, onFetched } = this.#options;
    const sentAt = { elapsedMs: clock.elapsed(), wallMs: clock.now() };
    this.#lastAttemptMs = sentAt.elapsedMs;
    this.#cancelNext();
    try {
      const set = await readKeySet(await this.#fetched());
      this.#logChanges(set);
      this.#set = set;
      this.#readAt = sentAt;
      this.#fault = undefined;
      onFetched?.(set.keys.size === 0 ? 'no_key' : 'ok');
    } catch (error) {
      if (this.#fault === undefined) {
        log.warn({ err: error, issuer: name }, 'The keys of the issuer cannot be read');
      }
      this.#fault = error instanceof Error ? error.message : String(error);
      onFetched?.('failed');
    }
    this.#scheduleNext();
  }

  #logChanges({ keys }: KeySet): void {
    const { log, name: issuer } = this.#options;
    if (this.#fault !== undefined) log.info({ issuer }, 'The keys of the issuer are back');
    const removed = [...this.#set.keys.keys()].filter((kid) => !keys.has(kid));
    const isFirst = this.#readAt === undefined;
    if (keys.size === 0 && (isFirst || removed.length > 0)) {
      log.warn(
        { issuer, removed },
        'The issuer lists no key for RS256 signatures: all of its tokens are refused',
      );
    } else if (removed.length > 0) {
      log.info(
        { issuer, removed },
        'The issuer took keys away: tokens signed with them are refused',
      );
    }
  }

  /** A key that is taken away is noticed, and an outage reported, also where no token asks. */
  #scheduleNext(): void {
    if (this.#isClosed) return;
    const waitMs = this.#fault === undefined ? RENEW_MS : BACKGROUND_RETRY_MS;
    this.#cancelNext = this.#options.clock.wakeAfter(waitMs, () => void this.#renew());
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

/** A moment on both clocks, ms. */
interface Moment {
  readonly elapsedMs: number;
  readonly wallMs: number;
}

/** What an issuer stated: the keys that can be trusted. */
interface KeySet {
  /** By id. */
  readonly keys: ReadonlyMap<string, CryptoKey>;
  /** Ids under which it lists different keys: nobody can say which one signs, so none is trusted. */
  readonly ambiguous: readonly string[];
}

/**
 * The RS256 keys of a key set. Throws for what is no key set, and so states nothing: no JSON object
 * with a list `keys` of objects that each have a `kty` (RFC 7517, sections 4.1 and 5), or a longer
 * one than is looked at. A key that is broken, or of no use here, does not end the others.
 */
async function readKeySet(text: string): Promise<KeySet> {
  const set: unknown = JSON.parse(text);
  const listed = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined;
  if (!Array.isArray(listed) || !listed.every(isJwk)) throw new Error('the answer is no key set');
  if (listed.length > KEYS_MAX) throw new Error(`the key set has more than ${KEYS_MAX} keys`);
  const keys = new Map<string, CryptoKey>();
  const moduli = new Map<string, string | undefined>();
  const ambiguous = new Set<string>();
  for (const jwk of listed.filter(isUsable)) {
    if (moduli.has(jwk.kid) && moduli.get(jwk.kid) !== jwk.n) ambiguous.add(jwk.kid);
    moduli.set(jwk.kid, jwk.n);
    const key = await importKey(jwk);
    if (key) keys.set(jwk.kid, key);
  }
  for (const kid of ambiguous) keys.delete(kid);
  return { keys, ambiguous: [...ambiguous] };
}

function isJwk(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && 'kty' in value && typeof value.kty === 'string'
  );
}

type UsableKey = JWK & { readonly kid: string };

/** Keys for other algorithms and uses are none of ours. */
function isUsable(jwk: Readonly<Record<string, unknown>>): jwk is UsableKey {
  const { kty, kid, use, key_ops: operations, alg, n, e } = jwk;
  if (kty !== 'RSA' || typeof kid !== 'string' || kid === '' || kid.length > KID_LENGTH_MAX) {
    return false;
  }
  if (use !== undefined && use !== 'sig') return false;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return false;
  }
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
