/**
 * What an authenticator needs of signed-in people and of CI workflows, in its smallest form:
 * sessions looked up by the hash in their rows, and access tokens under keys held in memory.
 */
import { Buffer } from 'node:buffer';
import type { Host } from '../../actors/host-port.ts';
import type { People } from '../../actors/identity/people-port.ts';
import type { SessionContext } from '../../machines/session.ts';
import { openAccessTokens } from '../../src/auth/access-tokens.ts';
import { hashKey, parseSecret } from '../../src/auth/keys.ts';
import type { Clock } from '../../streams/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/commit/commit.ts';
import { Refusal } from '../../streams/refusal.ts';

/** The session's secret in a Cookie header, under plain http. */
export function readTestCookie(cookie: string): string | undefined {
  return /(?:^|; )svc_session=([^;]+)/.exec(cookie)?.[1];
}

export function testSessions(host: Pick<Host, 'view'>): Pick<People, 'sessionOf'> {
  return {
    sessionOf(secret) {
      const id = parseSecret('session', secret);
      const row = id === undefined ? undefined : host.view(SYSTEM_PROJECT).instance('session', id);
      const context = row?.context as SessionContext | undefined;
      if (!row || context?.hash !== hashKey(secret)) {
        throw new Refusal('MALFORMED_CREDENTIAL', 'The session is not one of this service');
      }
      const { person, method, expiresMs } = context;
      return { session: row.instance, person, method, expiresMs, isRotationDue: false };
    },
  };
}

/** Access tokens of a service with this clock. */
export function testAccessTokens(clock: Clock, issuer = 'http://127.0.0.1:8080') {
  const values = new Map<string, Buffer>();
  return openAccessTokens({
    clock,
    issuer: () => issuer,
    secrets: {
      get: (id) => values.get(id),
      put: (id, _purpose, value) => void values.set(id, Buffer.from(value)),
    },
  });
}
