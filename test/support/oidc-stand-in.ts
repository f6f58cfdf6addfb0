/**
 * A minimal OpenID Connect provider on 127.0.0.1 for a complete sign-in. The test knows all its
 * secrets: client secret, code, and issued tokens.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

export interface OidcStandIn {
  readonly issuer: string;
  /** Code for every authorization; the service must send it back. */
  readonly code: string;
  /** Issued tokens. */
  readonly tokens: string[];
  /** True once the service has sent the client secret. */
  readonly hasSeenSecret: () => boolean;
  /** Nonce of the next sign-in, from the address to which the service sends a browser. */
  nonce: string;
  /** true: every browser cancels; false: it is signed in without a prompt. */
  isCancelled: boolean;
}

/** Starts a provider that ends with the test. */
export async function startOidcStandIn(
  t: { teardown(fn: () => unknown): unknown },
  client: { readonly id: string; readonly secret: string; readonly email: string },
): Promise<OidcStandIn> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', use: 'sig', alg: 'RS256' };
  const state = { seen: false };
  const tokens: string[] = [];
  const answers: Readonly<Record<string, () => Promise<object>>> = {
    '/.well-known/openid-configuration': async () => ({
      issuer: made.issuer,
      jwks_uri: `${made.issuer}/jwks`,
      authorization_endpoint: `${made.issuer}/authorize`,
      token_endpoint: `${made.issuer}/token`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
    }),
    '/jwks': async () => ({ keys: [jwk] }),
    '/token': async () => {
      const idToken = await new SignJWT({
        nonce: made.nonce,
        email: client.email,
        email_verified: true,
        name: 'Grace',
      })
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .setIssuer(made.issuer)
        .setAudience(client.id)
        .setSubject('grace-at-provider')
        .setIssuedAt()
        .setExpirationTime('5 minutes')
        .sign(privateKey);
      const accessToken = 'provider-access-token-0123456789';
      tokens.push(idToken, accessToken);
      const type = { token_type: 'Bearer', expires_in: 300 };
      return { ...type, id_token: idToken, access_token: accessToken };
    },
  };
  const server = createServer((request, response) => {
    const requested = new URL(request.url ?? '', 'http://provider');
    if (requested.pathname === '/authorize') {
      response.writeHead(303, { location: backFrom(made, requested.searchParams) }).end();
      return;
    }
    void text(request).then(async (body) => {
      const basic = Buffer.from((request.headers.authorization ?? '').slice(6), 'base64');
      // Both methods encode the secret as a form does (RFC 6749, section 2.3.1).
      if (decodeURIComponent(`${basic}${body}`).includes(client.secret)) state.seen = true;
      const answer = answers[(request.url ?? '').split('?', 1)[0] ?? ''];
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify((await answer?.()) ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const made: OidcStandIn = {
    issuer: `http://127.0.0.1:${port}`,
    tokens,
    nonce: '',
    isCancelled: false,
    code: 'authorization-code-0123456789-planted',
    hasSeenSecret: () => state.seen,
  };
  return made;
}

/** Address to which the authorization endpoint redirects a browser (RFC 6749, section 4.1.2). */
function backFrom(provider: OidcStandIn, requested: URLSearchParams): string {
  const back = new URL(requested.get('redirect_uri') ?? '');
  back.searchParams.set('state', requested.get('state') ?? '');
  if (provider.isCancelled) back.searchParams.set('error', 'access_denied');
  else back.searchParams.set('code', provider.code);
  provider.nonce = requested.get('nonce') ?? '';
  return back.href;
}
