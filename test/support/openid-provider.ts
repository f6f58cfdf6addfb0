/**
 * A real OpenID Connect provider (oidc-provider) on 127.0.0.1 beside the service. It signs
 * `account` in without prompts. `answerToken`, `answerProfile` and `answerKeys` replace its
 * endpoints, to send invalid answers.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import type { Test } from 'tap';
import { Browser, type SignInWorld, startSignInWorld } from './sign-in-server.ts';

export const CLIENT_ID = 'svc-test';
export const CLIENT_SECRET = 'planted-client-secret-0123456789';

export interface Account {
  readonly id: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface ProviderControl {
  /** Account that signs in; undefined: the person cancels. */
  account: Account | undefined;
  /** Answers the token endpoint in place of the provider. */
  answerToken: (() => Promise<object>) | undefined;
  /** Answers the UserInfo endpoint in place of the provider. */
  answerProfile: (() => Promise<object>) | undefined;
  /** Answers for the keys in place of the provider. */
  answerKeys: (() => Promise<object>) | undefined;
  /** Accepts connections but never answers. */
  isSilent: boolean;
  readonly issuer: string;
  /** Method, path and scheme of the Authorization header of each request. */
  readonly requested: string[];
  /** Public keys of the provider after a rotation; `idToken` signs with them if `isRotated`. */
  rotatedKeys(): Promise<object>;
  /** true: `idToken` signs with the rotated key. */
  isRotated: boolean;
  /** An ID token signed with the provider's key, or another. */
  idToken(claims: JWTPayload, options?: { otherKey?: boolean }): Promise<string>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface OidcWorld extends SignInWorld {
  readonly provider: ProviderControl;
}

export const ada: Account = {
  id: 'ada-at-provider',
  claims: { email: 'Ada@Example.com', email_verified: true, name: 'Ada' },
};

/** Starts a world that ends with the test. */
export async function startOidcWorld(
  t: Test,
  options: {
    readonly environment?: Readonly<Record<string, string>>;
    readonly configuration?: Configuration;
    readonly isPublicClient?: boolean;
    /** Path of the issuer, such as `/realms/acme`; with or without a slash at its end. */
    readonly path?: string;
  } = {},
): Promise<OidcWorld> {
  const { path: mounted = '' } = options;
  const mount = mounted.replace(/\/$/, '');
  const { keys, others } = await sharedKeyPairs();
  const jwk = { ...(await exportJWK(keys.privateKey)), kid: 'k1', use: 'sig', alg: 'RS256' };
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {};
  const server = createServer((request, response) => {
    const { url = '' } = request;
    // As Express does for a mounted application.
    Object.assign(request, { originalUrl: url, url: url.slice(mount.length) });
    const [path = ''] = (request.url ?? '').split('?', 1);
    const [scheme = ''] = (request.headers.authorization ?? '').split(' ', 1);
    control.requested.push(`${request.method} ${path} ${scheme}`.trim());
    if (control.isSilent) return;
    const standIns = {
      '/token': control.answerToken,
      '/me': control.answerProfile,
      '/jwks': control.answerKeys,
    };
    const answer = standIns[path as keyof typeof standIns];
    if (!answer) {
      handle(request, response);
      return;
    }
    answer().then((body) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(body));
    }, response.destroy.bind(response));
  });
  const listen = (port: number) =>
    new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as { port: number };
  const control: ProviderControl = {
    account: ada,
    answerToken: undefined,
    answerProfile: undefined,
    answerKeys: undefined,
    isRotated: false,
    async rotatedKeys() {
      const key = await exportJWK(others.publicKey);
      return { keys: [{ ...key, kid: 'k2', use: 'sig', alg: 'RS256' }] };
    },
    isSilent: false,
    requested: [],
    issuer: `http://127.0.0.1:${port}${mounted}`,
    idToken: (claims, { otherKey = false } = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: control.isRotated ? 'k2' : 'k1' })
        .sign(otherKey || control.isRotated ? others.privateKey : keys.privateKey),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    start: () => listen(port),
  };
  t.teardown(() => (server.listening ? control.stop() : undefined));
  const world = await startSignInWorld(t, {
    SVC_OIDC_ISSUER: control.issuer,
    SVC_OIDC_CLIENT_ID: CLIENT_ID,
    ...options.environment,
  });
  const provider = openProvider(control, {
    jwk,
    origin: world.origin,
    mount,
    isPublicClient: options.isPublicClient ?? false,
    more: options.configuration ?? {},
  });
  handle = interactions(provider, control);
  return { ...world, provider: control };
}

let keyPairs: ReturnType<typeof makeKeyPairs> | undefined;

/** Generating an RSA key takes 0.1 s of CPU, so the providers of a process share them. */
function sharedKeyPairs(): ReturnType<typeof makeKeyPairs> {
  keyPairs ??= makeKeyPairs();
  return keyPairs;
}

/** The provider's key, and another key. */
async function makeKeyPairs() {
  const keys = await generateKeyPair('RS256', { extractable: true });
  return { keys, others: await generateKeyPair('RS256') };
}

/** Signs every browser in, or cancels, without a page. */
function interactions(provider: ReturnType<typeof openProvider>, control: ProviderControl) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (!request.url?.startsWith('/interaction/')) {
      void provider.callback()(request, response);
      return;
    }
    const { account } = control;
    const result = account
      ? { login: { accountId: account.id } }
      : { error: 'access_denied', error_description: 'cancelled' };
    provider
      .interactionFinished(request, response, result, { mergeWithLastSubmission: false })
      .catch(() => response.destroy());
  };
}

function openProvider(
  control: ProviderControl,
  options: {
    readonly jwk: object;
    /** Origin of the service. */
    readonly origin: string;
    readonly mount: string;
    readonly isPublicClient: boolean;
    readonly more: Configuration;
  },
): Provider {
  const authentication = options.isPublicClient
    ? { token_endpoint_auth_method: 'none' as const }
    : { client_secret: CLIENT_SECRET };
  const { origin, mount } = options;
  const client = {
    client_id: CLIENT_ID,
    redirect_uris: [`${origin}/auth/callback`],
    post_logout_redirect_uris: [`${origin}/auth/signed-out`],
    ...authentication,
  };
  return new Provider(control.issuer, {
    clients: [client],
    jwks: { keys: [options.jwk as { kty: 'RSA' }] },
    cookies: { keys: ['cookies of the provider'] },
    // Lifetimes, s.
    ttl: { AccessToken: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false }, rpInitiatedLogout: logout },
    interactions: { url: (_context, { uid }) => `${mount}/interaction/${uid}` },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: async () => ({ ...control.account?.claims, sub }),
    }),
    async loadExistingGrant({ oidc }) {
      const accountId = oidc.session?.accountId;
      const grant = new oidc.provider.Grant({
        clientId: CLIENT_ID,
        ...(accountId && { accountId }),
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
    ...options.more,
  });
}

/** Asks for a confirmation with the form alone. */
const logout = {
  enabled: true,
  logoutSource(context: { body: unknown }, form: string) {
    context.body = form;
  },
};

export interface AtProvider {
  /** Complete address at which the browser returns to the service. */
  readonly callback: string;
  /** Address to which the service sent the browser. */
  readonly authorization: URL;
}

/**
 * Follows the redirects from the service to the provider, up to the callback, which is not called.
 */
export async function goToProvider(
  world: OidcWorld,
  browser: Browser,
  options: {
    readonly return?: string;
    readonly change?: (url: URL) => void;
    /** Cookies at the provider. Default: none. */
    readonly there?: Browser;
    /** Path at the service. Default: `/auth/login`. */
    readonly path?: string;
  } = {},
): Promise<AtProvider> {
  const login = new URL(options.path ?? '/auth/login', world.origin);
  if (options.return !== undefined) login.searchParams.set('return', options.return);
  const { location } = await browser.get(login.pathname + login.search);
  const authorization = new URL(location);
  options.change?.(authorization);
  const { there = atProvider(world) } = options;
  const { origin } = new URL(world.provider.issuer);
  let next = authorization.href;
  for (let hops = 0; next.startsWith(origin) && hops < 10; hops++) {
    const answer = await there.get(next);
    next = new URL(answer.location, next).href;
  }
  return { callback: next, authorization };
}

/** A browser's cookies at the provider. */
export function atProvider({ provider }: Pick<OidcWorld, 'provider'>): Browser {
  const { origin } = new URL(provider.issuer);
  return new Browser({ address: origin, origin });
}

/**
 * Confirms the sign-out at the provider. Returns the address to which it redirects the browser.
 * @param address to which the service has sent the browser
 */
export async function signOutAtProvider(there: Browser, address: string): Promise<string> {
  const { text } = await there.get(address);
  const action = /action="([^"]+)"/.exec(text)?.[1] ?? '';
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const confirmed = await there.post(action, { xsrf, logout: 'yes' });
  return confirmed.location;
}

/** Path and query of an address, as a browser requests them. */
export function pathOf(address: string): string {
  const { pathname, search } = new URL(address);
  return pathname + search;
}
