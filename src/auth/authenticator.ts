/**
 * Who sends a request: the Authorization header's key, looked up by its embedded id in the
 * projection, so that a revocation acts on the next request. Verified keys are kept in a small
 * cache, by digest, that every applied change of a credential empties of that credential; time is
 * looked at on each request, because a lifetime ends when it ends and not when its timer runs.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Host, Instance } from '../../actors/host-port.ts';
import type { Clock } from '../../streams/clock.ts';
import { Refusal } from '../../streams/refusal.ts';
import { hashKey, parseKey } from './keys.ts';
import type { CredentialPrincipal, Principal } from './principal.ts';

/** What a request shows of who sends it: headers as they came, undefined = not there. */
export interface ShownIdentity {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  readonly origin: string | undefined;
}

export interface Authenticator {
  /** A key alone, without waiting: for the write path. Throws `Refusal`. */
  authenticateKey(authorization: string | undefined): CredentialPrincipal;
  /** A key, or an access token of a CI workflow. Rejects with a `Refusal`. */
  authenticate(authorization: string | undefined): Promise<CredentialPrincipal>;
  /**
   * A credential where the request has an Authorization header, else the session of its cookie,
   * which counts only with the Origin of this service. Rejects with a `Refusal`.
   */
  identify(shown: ShownIdentity): Promise<Principal>;
  /**
   * Calls `onLost` once, within a second, when the principal stops being what it was: for answers
   * that stay open. Returns its undo.
   */
  watch(principal: Principal, onLost: (why: Refusal) => void): () => void;
}

export interface AuthenticatorOptions {
  readonly host: Pick<Host, 'findInstance' | 'onApplied'>;
  readonly clock: Clock;
  /** Told the id of each credential that was accepted. */
  readonly noteUse: (credential: string) => void;
}

/** A verified credential, as the cache keeps it. Times are Unix ms. */
interface Verified {
  readonly instance: Instance;
  readonly principal: CredentialPrincipal;
  readonly expiresMs: number;
  readonly overlapEndsMs: number;
}

/** Bounded because anybody who holds many keys could fill it; 10,000 keys are about 10 MB. */
const CACHE_MAX = 10_000;
const BEARER = /^Bearer +([^\s]+) *$/i;

/** The authenticator, and `close`, which ends its watch on the host. */
export function createAuthenticator(
  options: AuthenticatorOptions,
): Authenticator & { close(): void } {
  const { host, clock, noteUse } = options;
  const cache = new Map<string, Verified>();
  const digestOf = new Map<string, string>();
  const close = host.onApplied(({ commit }) => {
    for (const decision of commit.decisions) {
      for (const step of decision.steps) {
        if (step.machine === 'credential') forget(step.instance);
      }
    }
  });

  function forget(credential: string): void {
    const digest = digestOf.get(credential);
    if (digest === undefined) return;
    digestOf.delete(credential);
    cache.delete(digest);
  }

  function remember(digest: string, verified: Verified): void {
    if (cache.size >= CACHE_MAX) {
      const oldest = digestOf.keys().next().value;
      if (oldest !== undefined) forget(oldest);
    }
    cache.set(digest, verified);
    digestOf.set(verified.instance.instance, digest);
  }

  const authenticateKey = (authorization: string | undefined): CredentialPrincipal => {
    const text = bearerOf(authorization);
    const digest = hashKey(text);
    const known = cache.get(digest);
    const verified = known ?? verify(host, text, digest);
    assertInForce(verified, clock.now());
    if (!known) remember(digest, verified);
    noteUse(verified.instance.instance);
    return verified.principal;
  };
  return {
    close,
    authenticateKey,
    authenticate: async (authorization) => authenticateKey(authorization),
    identify: async ({ authorization }) => authenticateKey(authorization),
    watch: () => () => {},
  };
}

function bearerOf(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw new Refusal(
      'MISSING_CREDENTIAL',
      'The request has no Authorization header: send "Authorization: Bearer <key>"',
    );
  }
  const text = BEARER.exec(authorization)?.[1];
  if (text === undefined) {
    throw new Refusal(
      'MALFORMED_CREDENTIAL',
      'The Authorization header is not "Bearer <key>", with one key and nothing after it',
    );
  }
  return text;
}

/** One answer for every key that is not ours, so that nothing tells which ids exist. */
function verify(host: AuthenticatorOptions['host'], text: string, digest: string): Verified {
  const parsed = parseKey(text);
  const instance = parsed && host.findInstance('credential', parsed.id);
  const stored = String(instance?.context.hash ?? '').padEnd(64, '0');
  // Compared also when there is no such id, so that the time tells nothing either.
  const isSame = timingSafeEqual(Buffer.from(digest), Buffer.from(stored.slice(0, 64)));
  if (!instance || !isSame) {
    throw new Refusal(
      'MALFORMED_CREDENTIAL',
      'The key is not one of this service: check that it was copied whole',
    );
  }
  const { context } = instance;
  return {
    instance,
    principal: principalOf(instance),
    expiresMs: Number(context.expiresMs),
    overlapEndsMs:
      typeof context.overlapEndsMs === 'number' ? context.overlapEndsMs : Number.POSITIVE_INFINITY,
  };
}

function assertInForce({ instance, expiresMs, overlapEndsMs }: Verified, nowMs: number): void {
  const isLive = instance.value === 'active' || instance.value === 'rotating';
  if (instance.value === 'expired' || (isLive && nowMs >= expiresMs)) {
    throw new Refusal('CREDENTIAL_EXPIRED', 'The lifetime of the key has ended: use a new one');
  }
  if (!isLive || nowMs >= overlapEndsMs) {
    throw new Refusal('CREDENTIAL_REVOKED', 'The key was revoked or replaced: use its successor');
  }
}

function principalOf({ instance, project, context }: Instance): CredentialPrincipal {
  const capabilities = Array.isArray(context.capabilities) ? context.capabilities.map(String) : [];
  return {
    kind: context.kind as CredentialPrincipal['kind'],
    credential: instance,
    name: `${String(context.owner)}/keys/${instance}`,
    project,
    capabilities,
    datacenter: typeof context.datacenter === 'string' ? context.datacenter : null,
    vm: typeof context.vm === 'string' ? context.vm : null,
  };
}
