/**
 * Authenticator of requests by key, access token or session. Verified secrets are cached by digest,
 * because what they prove never changes. Their permissions are read on each request
 * (`principals.ts`), from rows that applied commits keep fresh (`identity-rows.ts`), so that a
 * revocation takes effect on the next request.
 */
import { timingSafeEqual } from 'node:crypto';
import type { People } from '../../../actors/identity/people.ts';
import { RECENT_MS } from '../../../actors/identity/recent-sign-in.ts';
import type { RefusedKey } from '../../../actors/identity/refused-uses.ts';
import type { Host, Instance } from '../../../actors/platform/host/host-port.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Authenticator, PresentedCredentials } from '../../platform/access/authenticator.ts';
import type {
  CredentialPrincipal,
  HumanPrincipal,
  Principal,
} from '../../platform/access/principal.ts';
import { type AddressList, createAddressList } from '../../platform/http/address-list.ts';
import { hashKey, parseKey } from '../../platform/keys.ts';
import type { AccessTokens } from './access-tokens.ts';
import { Watches } from './access-watches.ts';
import { IdentityRows } from './identity-rows.ts';
import {
  resolveKey,
  resolvePrincipal,
  resolveSession,
  resolveToken,
  unknownKey,
} from './principals.ts';

/** Sessions of people; without them cookies are ignored. */
export interface SessionPorts {
  readonly people: Pick<People, 'sessionOf'>;
  /** The session's secret in a Cookie header for this origin; undefined = none. */
  readonly readCookie: (cookie: string, origin: string) => string | undefined;
  /** Origin that a page of this service reports at this Host. */
  readonly origin: (host: string | undefined) => string;
}

export interface AuthenticatorOptions {
  readonly host: Pick<Host, 'findInstance' | 'onApplied' | 'view'>;
  readonly clock: Clock;
  /** Called with the id of each accepted credential; for an access token, its connection's id. */
  readonly recordUse: (credential: string) => void;
  /** Called when a key with the right secret is refused. Absent: no one is notified. */
  readonly recordRefused?: (refused: RefusedKey, reason: string) => void;
  /** Called when a bound key is used from outside its networks. Absent: no one is notified. */
  readonly recordOutside?: (key: Instance<'credential'>, address: string) => void;
  /** Absent if access tokens are not accepted. */
  readonly tokens?: Pick<AccessTokens, 'looksLike' | 'verify'>;
  readonly sessions?: SessionPorts;
  /** Maximum age of a recent sign-in, ms; 0 = any. Default: `RECENT_MS`. */
  readonly recentMs?: number;
  /** The reason why this process cannot vouch for any credential now. Absent if it always can. */
  readonly refusal?: () => string | undefined;
}

/** Maximum verified keys in the cache, about 300 bytes each. Anyone may hold many keys. */
const SECRETS_MAX = 20_000;
const BEARER = /^Bearer +([^\s]+) *$/i;

/** `close` stops following the host's commits. */
export function createAuthenticator(
  options: AuthenticatorOptions,
): Authenticator & { close(): void } {
  const { host, clock } = options;
  const rows = new IdentityRows(host);
  const watches = new Watches({ clock, identities: rows });
  const unfollow = host.onApplied(({ commit }) => {
    const changed = rows.applied(commit);
    if (changed.size > 0) watches.changed(changed);
  });
  const verifier = new Verifier(options, rows);
  const revalidate = <P extends Principal>(principal: P): P => {
    assertVouching(options);
    // The kind of the resolved principal is that of the given one.
    const { recentMs = RECENT_MS } = options;
    return resolvePrincipal(rows, principal, { nowMs: clock.now(), recentMs }) as P;
  };
  return {
    authenticateKey: (authorization) => verifier.key(bearerOf(authorization), undefined),
    authenticate: (authorization, address) => verifier.bearer(authorization, address),
    identify: ({ authorization, cookie, origin, host, address }) =>
      authorization === undefined && options.sessions && cookie !== undefined
        ? verifier.session(options.sessions, { cookie, origin, host })
        : verifier.bearer(authorization, address),
    revalidate,
    recordRefused(principal, { reason }) {
      if (principal.kind === 'human' || principal.kind === 'ci') return;
      const { project, credential } = principal;
      if (project === SYSTEM_PROJECT) return;
      options.recordRefused?.({ project, key: credential }, reason);
    },
    watch: (principal, onLost, use) =>
      watches.add(() => {
        const now = revalidate(principal);
        use?.(now);
        return now.expiresMs;
      }, onLost),
    close() {
      unfollow();
      watches.close();
    },
  };
}

function assertVouching({ refusal }: AuthenticatorOptions): void {
  const reason = refusal?.();
  if (reason !== undefined) throw new Refusal('NOT_READY', reason);
}

/** Credential of a verified key: the part that never changes. */
interface KnownKey {
  readonly project: string;
  readonly id: string;
}

class Verifier {
  readonly #options: AuthenticatorOptions;
  readonly #rows: IdentityRows;
  readonly #keys = new BoundedCache<string, KnownKey>(SECRETS_MAX);
  /** By the list in the row of a key. */
  readonly #networks = new WeakMap<readonly string[], AddressList>();

  constructor(options: AuthenticatorOptions, rows: IdentityRows) {
    this.#options = options;
    this.#rows = rows;
  }

  async bearer(authorization: string | undefined, address: string): Promise<CredentialPrincipal> {
    const text = bearerOf(authorization);
    if (this.#options.tokens?.looksLike(text)) return this.#token(text);
    try {
      return this.key(text, address);
    } catch (error) {
      if (error instanceof Refusal) this.#recordRefused(text, error);
      throw error;
    }
  }

  /** Only a verified secret identifies its key. */
  #recordRefused(text: string, { reason }: Refusal): void {
    const known = this.#keys.get(hashKey(text));
    if (!known || known.project === SYSTEM_PROJECT || reason === 'NOT_READY') return;
    this.#options.recordRefused?.({ project: known.project, key: known.id }, reason);
  }

  /** @param address of the client; undefined = not known here */
  key(text: string, address: string | undefined): CredentialPrincipal {
    assertVouching(this.#options);
    const digest = hashKey(text);
    const known = this.#keys.get(digest) ?? this.#verifyKey(text, digest);
    const { recordUse, clock } = this.#options;
    const row = this.#rows.find('credential', known.project, known.id);
    if (!row) throw unknownKey();
    const principal = resolveKey(this.#rows, row, clock.now());
    this.#assertInNetworks(row, address);
    recordUse(known.id);
    return principal;
  }

  /** Throws NETWORK_NOT_ALLOWED for a bound key that is used from elsewhere. */
  #assertInNetworks(key: Instance<'credential'>, address: string | undefined): void {
    const { networks } = key.context;
    if (!networks) return;
    const list = this.#networks.get(networks) ?? createAddressList(networks);
    this.#networks.set(networks, list);
    if (list.has(address)) return;
    if (address !== undefined) this.#options.recordOutside?.(key, address);
    const seen = address === undefined ? 'this address' : address.slice(0, 50);
    const message = `The key may not be used from ${seen}: it is bound to other networks`;
    throw new Refusal('NETWORK_NOT_ALLOWED', message);
  }

  /** Answers the same for every unknown key, so that callers cannot learn which ids exist. */
  #verifyKey(text: string, digest: string): KnownKey {
    const parsed = parseKey(text);
    const found = parsed && this.#rows.findCredential(parsed.id);
    const stored = String(found?.context.hash ?? '').padEnd(64, '0');
    // An unknown id is compared too, so that the duration is the same.
    const isSame = timingSafeEqual(Buffer.from(digest), Buffer.from(stored.slice(0, 64)));
    if (!found || !isSame) throw unknownKey();
    const known = { project: found.project, id: found.instance };
    this.#keys.set(digest, known);
    return known;
  }

  async #token(text: string): Promise<CredentialPrincipal> {
    assertVouching(this.#options);
    const { tokens, clock, recordUse } = this.#options;
    const claims = await tokens?.verify(text);
    if (!claims) throw unknownKey();
    const principal = resolveToken(this.#rows, claims, clock.now());
    // Tokens live for minutes, so owners want to know when the connection was used.
    recordUse(claims.connection);
    return principal;
  }

  async session(
    { people, readCookie, origin }: SessionPorts,
    presented: { readonly cookie: string } & Pick<PresentedCredentials, 'origin' | 'host'>,
  ): Promise<HumanPrincipal> {
    assertVouching(this.#options);
    const { cookie, origin: requestOrigin, host } = presented;
    const own = origin(host);
    const secret = readCookie(cookie, own);
    // Other cookies of the host identify no one.
    if (secret === undefined) throw missingCredential();
    if (requestOrigin !== own) {
      const seen = requestOrigin === undefined ? 'none' : `"${requestOrigin.slice(0, 100)}"`;
      const message = `A session requires the header "Origin: ${own}", not ${seen}`;
      throw new Refusal('MISSING_CREDENTIAL', message);
    }
    const live = people.sessionOf(secret);
    const { clock, recentMs = RECENT_MS } = this.#options;
    const principal = resolveSession(this.#rows, live, { nowMs: clock.now(), recentMs });
    return { ...principal, isRotationDue: live.isRotationDue };
  }
}

/** The bearer token of a header. Throws a `Refusal`: MISSING_CREDENTIAL, MALFORMED_CREDENTIAL. */
function bearerOf(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw missingCredential();
  }
  const text = BEARER.exec(authorization)?.[1];
  if (text === undefined) {
    throw new Refusal(
      'MALFORMED_CREDENTIAL',
      'The Authorization header must be "Bearer <key>" with one key and nothing after it',
    );
  }
  return text;
}

function missingCredential(): Refusal {
  return new Refusal(
    'MISSING_CREDENTIAL',
    'The request has no Authorization header: send "Authorization: Bearer <key>"',
  );
}
