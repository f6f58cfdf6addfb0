/**
 * A CI platform's issuer on 127.0.0.1 that behaves like GitHub's: the key set, the endpoint from
 * which a job requests its identity token, every claim of a real token, replaced keys, and each
 * kind of outage. Its RSA keys are generated once per process.
 *
 *     const platform = await startCiIssuer();            // or { now: () => clock.now() }
 *     t.teardown(() => platform.close());
 *
 * Service under test:  SVC_CI_ISSUERS = platform.setting  ("github=github@http://127.0.0.1:…")
 * Parts under test:    createAssertionVerifier({ clock, issuers: [{ issuer: platform.issuer,
 *                        keys: new IssuerKeys({ ..., fetchKeys: platform.fetchKeys }) }] })
 * A job under test:    spawn(…, { env: { ...process.env, ...platform.jobEnvironment } }), for any
 *                      client of ACTIONS_ID_TOKEN_REQUEST_URL; its token has
 *                      `platform.job.claims`, which the test may assign
 * A token at once:     await platform.mint({ aud: audience, event_name: 'pull_request' }); a claim
 *                      set to undefined is left out
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { Issuer } from '../../src/platform/settings/ci-issuers.ts';

/** Claims to set; undefined removes one. */
export type ClaimChanges = Readonly<Record<string, unknown>>;

export interface CiIssuerOptions {
  /** Clock, Unix ms. Default: the machine's clock. */
  readonly now?: () => number;
  /** Claims of its tokens. Default: `githubClaims`. */
  readonly claims?: (issuedSeconds: number, issuer: string) => ClaimChanges;
}

export interface MintOptions {
  /** Header parameters to set; undefined removes one. */
  readonly header?: ClaimChanges;
}

/** Behaviour of an endpoint for its next requests. */
export type Behaviour =
  | { readonly kind: 'answer' }
  /** Takes the request and never answers. */
  | { readonly kind: 'hang' }
  /** Breaks the connection. */
  | { readonly kind: 'reset' }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

export interface CiIssuer {
  /** `iss` of its tokens. */
  readonly url: string;
  /** Value for `SVC_CI_ISSUERS`, with the name `github`. */
  readonly setting: string;
  readonly issuer: Issuer;
  /** Address of its keys, as in its discovery document. */
  readonly keysUrl: string;
  /** Reads its current key set without HTTP. */
  readonly fetchKeys: () => Promise<string>;
  /** `ACTIONS_ID_TOKEN_REQUEST_URL`, `ACTIONS_ID_TOKEN_REQUEST_TOKEN`, and the marks of a job. */
  readonly jobEnvironment: Readonly<Record<string, string>>;
  /** Claims of the endpoint's tokens. The audience is the request's. */
  readonly job: { claims: ClaimChanges };
  /** Discovery document: its content, and the behaviour of its endpoint. */
  readonly discovery: { document: () => string; behaviour: Behaviour; readonly next: Behaviour[] };
  /** Behaviour of each endpoint. `next` entries are used first, one per request. */
  readonly keySet: { behaviour: Behaviour; readonly next: Behaviour[]; requests: number };
  readonly tokens: {
    behaviour: Behaviour;
    readonly next: Behaviour[];
    requests: number;
    readonly audiences: string[];
  };
  /** A signed token with every claim of GitHub's, changed by `changes`. */
  mint(changes?: ClaimChanges, options?: MintOptions): Promise<string>;
  /** The payload that `mint` would sign. */
  payload(changes?: ClaimChanges): Record<string, unknown>;
  /** Current signing key; `publicJwk` as in the key set. */
  key(): { readonly kid: string; readonly privateKey: CryptoKey; readonly publicJwk: JWK };
  /** Signs with a new key from now on. `keepOld: false` removes the old key from the key set. */
  rotate(options?: { readonly keepOld?: boolean }): Promise<void>;
  /** Stops its server from keeping the process alive. */
  unref(): void;
  close(): Promise<void>;
}

const REQUEST_TOKEN = 'request-token-of-the-runner';
const DISCOVERY_PATH = '/.well-known/openid-configuration';
const KEYS_PATH = '/keys/of/this/issuer';
const TOKEN_PATH = '/_apis/token';

export async function startCiIssuer(options: CiIssuerOptions = {}): Promise<CiIssuer> {
  const { now = Date.now, claims: claimsOf = githubClaims } = options;
  let keys = [await rsaKey(0)];
  const keySet = {
    behaviour: { kind: 'answer' } as Behaviour,
    next: [] as Behaviour[],
    requests: 0,
  };
  const tokens = { ...keySet, next: [] as Behaviour[], audiences: [] as string[] };
  const discovery: CiIssuer['discovery'] = {
    document: () => JSON.stringify({ issuer: url, jwks_uri: url + KEYS_PATH }),
    behaviour: { kind: 'answer' },
    next: [],
  };
  const job: CiIssuer['job'] = { claims: {} };
  const server = createServer();
  const url = await listen(server);
  const payload = (changes: ClaimChanges = {}) => {
    const claims = { ...claimsOf(Math.floor(now() / 1000), url), ...changes };
    return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  };
  const key = () => keys[0] ?? thrown('No key');
  const mint = async (changes: ClaimChanges = {}, { header = {} }: MintOptions = {}) => {
    const { kid, privateKey } = key();
    const parameters = { typ: 'JWT', alg: 'RS256', x5t: kid.slice(0, 27), kid, ...header };
    const kept = Object.entries(parameters).filter(([, value]) => value !== undefined);
    return new SignJWT(payload(changes))
      .setProtectedHeader(Object.fromEntries(kept) as { alg: string })
      .sign(privateKey);
  };
  const jwks = () => JSON.stringify({ keys: keys.map(({ publicJwk }) => publicJwk) });
  const answer = endpoints({ url, job, discovery, keySet, tokens, mint, jwks });
  server.on('request', (request, response) => {
    void answer(request, response).catch((error) => response.destroy(error));
  });
  return {
    url,
    job,
    discovery,
    keySet,
    tokens,
    mint,
    payload,
    key,
    setting: `github=github@${url}`,
    issuer: { name: 'github', kind: 'github', url, keysUrl: undefined },
    keysUrl: url + KEYS_PATH,
    fetchKeys: async () => jwks(),
    jobEnvironment: {
      ACTIONS_ID_TOKEN_REQUEST_URL: `${url}${TOKEN_PATH}?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: REQUEST_TOKEN,
      GITHUB_ACTIONS: 'true',
      CI: 'true',
    },
    rotate: async ({ keepOld = true } = {}) => {
      const next = await rsaKey(rotations++);
      keys = keepOld ? [next, ...keys] : [next];
    },
    unref() {
      server.unref().on('connection', (socket) => socket.unref());
    },
    close: () => close(server),
  };
}

/** Request handlers of its addresses. */
function endpoints(
  parts: Pick<CiIssuer, 'url' | 'job' | 'discovery' | 'keySet' | 'tokens' | 'mint'> & {
    jwks(): string;
  },
) {
  const { url, job, discovery, keySet, tokens, mint, jwks } = parts;

  async function answerToken(requested: URL, request: IncomingMessage, response: ServerResponse) {
    if (request.headers.authorization !== `Bearer ${REQUEST_TOKEN}`) {
      return sendJson(response, 401, '{"message":"The request token is not the runner’s"}');
    }
    // A client that appends "?audience=" to a URL with a query loses that query.
    if (requested.searchParams.get('api-version') !== '2.0') return sendJson(response, 400, '{}');
    const aud = requested.searchParams.get('audience') ?? 'https://github.com/octo-org';
    tokens.audiences.push(aud);
    const value = await mint({ aud, ...job.claims });
    sendJson(response, 200, JSON.stringify({ count: value.length, value }));
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requested = new URL(request.url ?? '/', url);
    if (requested.pathname === KEYS_PATH) {
      keySet.requests++;
      if (!misbehave(keySet, request, response)) sendJson(response, 200, jwks());
    } else if (requested.pathname === DISCOVERY_PATH) {
      if (!misbehave(discovery, request, response)) sendJson(response, 200, discovery.document());
    } else if (requested.pathname === TOKEN_PATH) {
      tokens.requests++;
      if (!misbehave(tokens, request, response)) await answerToken(requested, request, response);
    } else {
      sendJson(response, 404, '{}');
    }
  };
}

/**
 * Every claim of a token that GitHub gives a job on the branch main, started by a push, without an
 * environment. `nbf` is ten minutes before `iat`, as in theirs.
 */
export function githubClaims(issuedSeconds: number, issuer: string): Record<string, unknown> {
  const workflow = 'octo-org/octo-repo/.github/workflows/deploy.yml@refs/heads/main';
  const sha = '5f8d3c1b2a0e9f7d6c5b4a39281706f5e4d3c2b1';
  return {
    jti: crypto.randomUUID(),
    sub: 'repo:octo-org@65/octo-repo@74:ref:refs/heads/main',
    aud: 'https://github.com/octo-org',
    ref: 'refs/heads/main',
    sha,
    repository: 'octo-org/octo-repo',
    repository_owner: 'octo-org',
    repository_owner_id: '65',
    run_id: '22259804324',
    run_number: '10',
    run_attempt: '1',
    repository_visibility: 'private',
    repository_id: '74',
    actor_id: '12',
    actor: 'octocat',
    workflow: 'deploy',
    head_ref: '',
    base_ref: '',
    event_name: 'push',
    ref_protected: 'true',
    ref_type: 'branch',
    workflow_ref: workflow,
    workflow_sha: sha,
    job_workflow_ref: workflow,
    job_workflow_sha: sha,
    runner_environment: 'github-hosted',
    check_run_id: '90000001',
    iss: issuer,
    nbf: issuedSeconds - 600,
    exp: issuedSeconds + 300,
    iat: issuedSeconds,
  };
}

type Key = ReturnType<CiIssuer['key']>;

/** Generating an RSA key takes 0.1 s, so the issuers of a process share the first ones. */
const made = new Map<number, Promise<Key>>();
let rotations = 1;

function rsaKey(number: number): Promise<Key> {
  const known = made.get(number);
  if (known) return known;
  const key = makeKey(number);
  made.set(number, key);
  return key;
}

async function makeKey(number: number): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const kid = `38826b17-6a30-5f9b-b169-8beb8202f72${number}`;
  const publicJwk = { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' };
  return { kid, privateKey, publicJwk };
}

interface Endpoint {
  readonly behaviour: Behaviour;
  readonly next: Behaviour[];
}

/** Returns true if it handled the request. */
function misbehave(
  endpoint: Endpoint,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const behaviour = endpoint.next.shift() ?? endpoint.behaviour;
  switch (behaviour.kind) {
    case 'answer':
      return false;
    case 'hang':
      return true;
    case 'reset':
      request.socket.destroy();
      return true;
    case 'status':
      response.writeHead(behaviour.status, behaviour.headers ?? {}).end(behaviour.body ?? '');
      return true;
  }
}

function sendJson(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(body);
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      resolve(`http://127.0.0.1:${port}`);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function thrown(message: string): never {
  throw new Error(message);
}
