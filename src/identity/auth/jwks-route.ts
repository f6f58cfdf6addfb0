/**
 * `/.well-known/jwks.json`: the public keys that access tokens are signed with (RFC 7517), for
 * whoever wants to check one without asking us. Empty until the first token is made.
 */
import type { FastifyInstance } from 'fastify';
import type { AccessTokens } from './access-tokens.ts';

/** Seconds: keys change every 90 days, but a new one signs at once. */
const CACHE_SECONDS = 300;

export function addJwksRoute(app: FastifyInstance, tokens: Pick<AccessTokens, 'jwks'>): void {
  app.get('/.well-known/jwks.json', (_request, reply) =>
    reply
      .type('application/jwk-set+json')
      .header('cache-control', `public, max-age=${CACHE_SECONDS}`)
      .send(JSON.stringify(tokens.jwks())),
  );
}
