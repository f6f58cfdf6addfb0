/**
 * Minimal cookies and CI tokens for an authenticator: the cookie under plain HTTP, and access
 * tokens under keys in memory.
 */
import { openAccessTokens } from '../../src/identity/auth/access-tokens.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { secretsIn } from './secrets-in-memory.ts';

/** The session's secret from a Cookie header, under plain HTTP. */
export function readTestCookie(cookie: string): string | undefined {
  return /(?:^|; )svc_session=([^;]+)/.exec(cookie)?.[1];
}

/** Access tokens of a service with this clock. */
export function testAccessTokens(clock: Clock, issuer = 'http://127.0.0.1:8080') {
  return openAccessTokens({
    clock,
    issuer: () => issuer,
    secrets: secretsIn(new Map()),
  });
}
