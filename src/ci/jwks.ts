/**
 * Keys of one issuer. From the first token on they are read every 5 minutes, and count as fresh for
 * 10. Two failures are distinguished:
 *
 * - A **statement**: the issuer answered with a key set (RFC 7517, section 5), which replaces the
 *   known keys. A key that it no longer lists is not trusted from then on. An empty set ends the
 *   trust in all of them, and health reports it.
 * - An **outage**: no answer, or one that is not a key set (an error page, `{}`, a truncated
 *   document). It says nothing about keys: the last ones are used for up to 24 hours, with an
 *   alarm.
 *
 * Keys are held in memory only, so that a restart cannot restore a withdrawn key. At most one
 * request is in progress, and all callers wait for it. Every attempt, even a failed one, delays the
 * next, so that neither an outage nor a storm of invented key ids becomes a storm of requests.
 */

import { type CryptoKey, importJWK, type JWK } from 'jose';
import { Agent, type Dispatcher } from 'undici';
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import { unlessAborted, withDeadline } from '../../streams/platform/deadline.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { type PartHealth, ready } from '../platform/health.ts';
import { createConnector } from '../platform/http/connector.ts';
import type { Log } from '../platform/log.ts';
import type { Issuer } from '../platform/settings/ci-issuers.ts';

export interface IssuerKeysOptions {
  /** Name of the issuer, for sentences. */
  readonly name: string;
  /** Text of the key set (RFC 7517). The caller has its own deadline. */
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
/** Minimum time from any attempt to one caused by an unknown key id. */
export const UNKNOWN_KEY_PAUSE_MS = 30_000;
/** Minimum time from a failed attempt to one caused by age. */
export const RETRY_PAUSE_MS = 10_000;
/** Time from a failed attempt to the next one in the background. */
export const BACKGROUND_RETRY_MS = 60_000;
export const FETCH_MS = 5_000;
/** Maximum requests that wait for keys at a time. Further ones are rejected at once. */
const WAITING_MAX = 1_000;
const KEYS_MAX = 100;
const KID_LENGTH_MAX = 256;
/** Bits; the minimum is from RFC 7518, section 3.3. */
const MODULUS_BITS = { min: 2_048, max: 8_192 } as const;
/** 65,537, the usual one; smaller ones are weak, and an import accepts even 1. */
const EXPONENT = 'AQAB';

/** Nothing is read before the first token arrives. */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #set: KeySet = { keys: new Map(), ambiguous: [] };
  /** Time when the request for this set was sent. */
  #readAt: Moment | undefined;
  #lastAttemptMs = Number.NEGATIVE_INFINITY;
  /** The reason why the last attempt failed; undefined if it succeeded. */
  #fault: string | undefined;
  #underWay: Promise<void> | undefined;
  #waiting = 0;
  #cancelNext: CancelWakeUp = () => {};
  #isClosed = false;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /**
   * The key with that id; undefined if the issuer does not list it. Rejects with a `Refusal`
   * NOT_READY if that is unknown. Waits at most as long as one request may take.
   */
  async find(kid: string): Promise<CryptoKey | undefined> {
    await this.#keepFresh();
    const age = this.ageMs();
    if (age === undefined || age > STALE_MS) throw this.#notReady();
    const known = this.#set.keys.get(kid);
    if (known) return known;
    if (this.#underWay || this.#sinceAttemptMs() >= UNKNOWN_KEY_PAUSE_MS) await this.#renewed();
    const found = this.#set.keys.get(kid);
    // The issuer does not answer, so it may have added this key.
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
      : 'A CI issuer lists no trusted key, or different keys under one id';
    return { state: 'degraded', reason: reasons.join('. '), summary };
  }

  /** Time since the keys were read, ms; undefined = never. */
  ageMs(): number | undefined {
    const readAt = this.#readAt;
    if (readAt === undefined) return undefined;
    const { clock } = this.#options;
    // The longer of the two, because elapsed time stops while a machine is suspended.
    return Math.max(clock.elapsed() - readAt.elapsedMs, clock.now() - readAt.wallMs);
  }

  /** Number of trusted keys; undefined = never read, or too old. */
  trusted(): number | undefined {
    const age = this.ageMs();
    return age === undefined || age > STALE_MS ? undefined : this.#set.keys.size;
  }

  /** Stops reading in the background. */
  close(): void {
    this.#isClosed = true;
    this.#cancelNext();
  }

  #outage(): string | undefined {
    if (this.#fault === undefined) return undefined;
    const age = this.ageMs();
    const used =
      age === undefined || age > STALE_MS
        ? 'its tokens are rejected until then'
        : `the keys of ${Math.floor(age / 60_000)} minutes ago are used, for at most 24 hours`;
    return `Keys of ${this.#options.name} cannot be read (${this.#fault}): ${used}`;
  }

  /** Fault of the last key set itself. */
  #statedLoss(): string | undefined {
    const { name } = this.#options;
    if (this.#readAt === undefined) return undefined;
    if (this.#set.keys.size === 0) {
      return `${name} lists no key for RS256 signatures, so all of its tokens are rejected until it does`;
    }
    const [kid] = this.#set.ambiguous;
    if (kid === undefined) return undefined;
    return `${name} lists different keys under one id (${JSON.stringify(kid.slice(0, 64))}), so tokens that name it are rejected`;
  }

  async #keepFresh(): Promise<void> {
    const age = this.ageMs() ?? Number.POSITIVE_INFINITY;
    if (age <= RENEW_MS) return;
    const mayTry = this.#fault === undefined || this.#sinceAttemptMs() >= RETRY_PAUSE_MS;
    if (!mayTry && !this.#underWay) return;
    // In a known outage, usable keys are used at once, without waiting for the next attempt.
    const mayUse = age <= FRESH_MS || (this.#fault !== undefined && age <= STALE_MS);
    if (mayUse) void this.#renew();
    else await this.#renewed();
  }

  /** Resolves when the current attempt, or a new one, has ended; after at most `FETCH_MS`. */
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

  /** Never rejects: health, log and counter report a failure. */
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
    if (this.#fault !== undefined) log.info({ issuer }, 'The keys of the issuer can be read again');
    const removed = [...this.#set.keys.keys()].filter((kid) => !keys.has(kid));
    const isFirst = this.#readAt === undefined;
    if (keys.size === 0 && (isFirst || removed.length > 0)) {
      log.warn(
        { issuer, removed },
        'The issuer lists no key for RS256 signatures, so all of its tokens are rejected',
      );
    } else if (removed.length > 0) {
      log.info(
        { issuer, removed },
        'The issuer withdrew keys. Tokens signed with them are rejected',
      );
    }
  }

  /** Detects withdrawn keys and reports outages without waiting for a token. */
  #scheduleNext(): void {
    if (this.#isClosed) return;
    const waitMs = this.#fault === undefined ? RENEW_MS : BACKGROUND_RETRY_MS;
    this.#cancelNext = this.#options.clock.wakeAfter(waitMs, () => void this.#renew());
  }

  /** Has its own deadline, which holds even if the fetch ignores its signal. */
  #fetched(): Promise<string> {
    const { clock, fetchKeys } = this.#options;
    const reason = () => new Error(`no answer within ${FETCH_MS / 1000} s`);
    return withDeadline(clock, { ms: FETCH_MS, reason }, (signal) =>
      unlessAborted(signal, fetchKeys(signal)),
    );
  }

  #sinceAttemptMs(): number {
    return this.#options.clock.elapsed() - this.#lastAttemptMs;
  }

  #notReady(): Refusal {
    const { name } = this.#options;
    const waitSeconds = Math.ceil(RETRY_PAUSE_MS / 1000);
    return new Refusal(
      'NOT_READY',
      `The keys of the CI issuer ${name} cannot be read at the moment. Try again in ${waitSeconds} s`,
      { retryAfterSeconds: String(waitSeconds) },
    );
  }
}

/** A time on both clocks, ms. */
interface Moment {
  readonly elapsedMs: number;
  readonly wallMs: number;
}

/** Trusted keys of a statement. */
interface KeySet {
  /** By id. */
  readonly keys: ReadonlyMap<string, CryptoKey>;
  /** Ids with several different keys, none of which is trusted. */
  readonly ambiguous: readonly string[];
}

/**
 * The RS256 keys of a key set. Throws for text that is not a key set: a JSON object with a list
 * `keys` of objects that each have a `kty` (RFC 7517, sections 4.1 and 5), of bounded length.
 * Broken and unusable keys are skipped.
 */
async function readKeySet(text: string): Promise<KeySet> {
  const set: unknown = JSON.parse(text);
  const listed = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined;
  if (!Array.isArray(listed) || !listed.every(isJwk))
    throw new Error('the answer is not a key set');
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

/** false for keys of other algorithms and uses. */
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

/** undefined for a broken key, which must not affect the others. */
async function importKey({ kty, n, e }: UsableKey): Promise<CryptoKey | undefined> {
  try {
    // Only the public parts, whatever else the document contains.
    const key = await importJWK({ kty, n, e } as JWK, 'RS256');
    if (key instanceof Uint8Array) return undefined;
    const bits = 'modulusLength' in key.algorithm ? Number(key.algorithm.modulusLength) : 0;
    return bits >= MODULUS_BITS.min && bits <= MODULUS_BITS.max ? key : undefined;
  } catch {
    return undefined;
  }
}

const CONNECT_MS = 3_000;
const IDLE_MS = 4_000;
/** Maximum bytes of a key set; GitHub's has 12 KiB. */
const BYTES_MAX = 256 * 1024;

/**
 * Reads what an issuer publishes over HTTP: its discovery document and its key set. It follows no
 * redirects, does not decompress, reads at most 256 KiB each, and takes a few seconds. Errors are
 * phrases for operators.
 */
export interface KeyFetcher {
  /**
   * Text of the key set. Without `keysUrl`, the discovery document names its address each time
   * (OpenID Connect Discovery 1.0, section 4). Rejects with a phrase for operators.
   */
  fetch(issuer: Pick<Issuer, 'url' | 'keysUrl'>, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

export function createKeyFetcher(): KeyFetcher {
  const agent = new Agent({
    connect: createConnector({ timeoutMs: CONNECT_MS }),
    connections: 1,
    maxHeaderSize: 16 * 1024,
    headersTimeout: IDLE_MS,
    bodyTimeout: IDLE_MS,
  });
  return {
    async fetch({ url, keysUrl }, signal) {
      if (keysUrl !== undefined) return fetchText(agent, keysUrl, signal);
      const document = await fetchText(agent, discoveryUrlOf(url), signal);
      return fetchText(agent, keysUrlIn(document, url), signal);
    },
    close: () => agent.destroy(),
  };
}

function discoveryUrlOf(issuerUrl: string): string {
  return `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

/**
 * The address of the keys that the document names. Keys on another host require the operator's
 * decision: a tampered document must neither move the trust elsewhere nor make this service call
 * addresses inside its network.
 */
function keysUrlIn(document: string, issuerUrl: string): string {
  const { issuer, jwks_uri: keys } = (JSON.parse(document) ?? {}) as Record<string, unknown>;
  if (issuer !== issuerUrl) throw new Error('the discovery document belongs to another issuer');
  if (typeof keys !== 'string' || !URL.canParse(keys)) {
    throw new Error('the discovery document names no jwks_uri');
  }
  const { origin, host } = new URL(keys);
  if (origin === new URL(issuerUrl).origin) return keys;
  throw new Error(
    `the discovery document names keys on ${host}. If that is right, add ;keys= to the issuer in SVC_CI_ISSUERS`,
  );
}

async function fetchText(agent: Agent, address: string, signal: AbortSignal): Promise<string> {
  const url = new URL(address);
  const answer = await agent.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'GET',
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'svc-ci-issuers/1',
    },
    signal,
  } satisfies Dispatcher.RequestOptions);
  try {
    if (answer.statusCode !== 200)
      throw new Error(`${url.host}${url.pathname} answered ${answer.statusCode}`);
    return await readText(answer.body);
  } finally {
    // Also for an answer that was not read completely, because a second error would have no
    // listener.
    answer.body.on('error', () => {}).destroy();
  }
}

async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BYTES_MAX) throw new Error(`the answer has more than ${BYTES_MAX / 1024} KiB`);
    chunks.push(chunk);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
}
