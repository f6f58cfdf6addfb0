/**
 * Identity provider of people over OpenID Connect, by openid-client: authorization code with PKCE,
 * state and nonce, and an ID token whose signature is verified with the provider's keys. Endpoints
 * are discovered at the first sign-in, not at the start. While the provider is unavailable, the
 * service runs and sessions stay valid; only new sign-ins by the provider are rejected.
 */
import * as oidc from 'openid-client';
import { Agent, fetch } from 'undici';
import type { VouchedIdentity } from '../../../actors/identity/people-sign-in.ts';
import { parseEmailAddress } from '../../../actors/platform/email-address.ts';
import { oneLine } from '../../../actors/platform/plain-text.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { createConnector } from '../../platform/http/connector.ts';
import type { LoginState } from './login-state.ts';

/** Kind of a failed sign-in at the provider. */
export type ProviderFault =
  /** No response. A later attempt may succeed. */
  | 'away'
  /** The provider does not know this service, or another issuer answers. An operator must act. */
  | 'misconfigured'
  /** A token is from the future, or too old: the clocks of provider and service differ. */
  | 'clock'
  /** The provider has new keys, which are known from now on. A new sign-in succeeds. */
  | 'new-keys'
  /** The provider or the user declined. */
  | 'denied'
  /** The provider has not asked the person to sign in again, or does not say when it did. */
  | 'not-again'
  /** The response is not valid, or does not belong to this sign-in. */
  | 'invalid';

export class SignInFailed extends Error {
  readonly fault: ProviderFault;
  /** Codes of openid-client and OAuth, statuses and issuers for the log, never a token. */
  readonly detail: string;
  constructor(fault: ProviderFault, detail: string) {
    super(`Sign-in at the identity provider: ${fault} (${detail})`);
    this.name = 'SignInFailed';
    this.fault = fault;
    this.detail = detail;
  }
}

type BegunLogin = Pick<LoginState, 'state' | 'nonce' | 'verifier'>;

export interface IdentityProvider {
  /** Host of the issuer, as displayed to users. */
  readonly label: string;
  /** Returns the address to redirect the browser to. Rejects with `SignInFailed` within 5 s. */
  begin(
    login: BegunLogin & {
      readonly redirectUri: string;
      /** Maximum age of the sign-in at the provider, ms. Default: any. */
      readonly ageMsMax?: number;
    },
  ): Promise<URL>;
  /**
   * Returns the identity of the returning person. Rejects with `SignInFailed` within 15 s.
   * @param callback the whole address that the browser was redirected to
   */
  finish(callback: URL, login: BegunLogin): Promise<VouchedIdentity>;
  /**
   * The address at which the browser signs out of the provider (OpenID Connect RP-Initiated Logout
   * 1.0); undefined if the provider has none, or is unavailable. The service keeps no ID token, so
   * the provider asks the person to confirm.
   */
  signOutAddress(returning: {
    readonly redirectUri: string;
    readonly state: string;
  }): Promise<URL | undefined>;
}

export interface IdentityProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** true: an address without `email_verified` counts as verified. */
  readonly trustsEmail: boolean;
  readonly clock: Pick<Clock, 'elapsed'>;
  /** Timeout of each request to the provider, seconds. Default: 5. */
  readonly answerSecondsMax?: number;
}

const ANSWER_SECONDS_MAX = 5;
/** Time to connect to the provider, ms. */
const CONNECT_MS = 3_000;
/** Endpoints seldom change. If they cannot be read again, the known ones stay in use. */
const KNOWN_FOR_MS = 3_600_000;
/**
 * Interval between two attempts while the provider is unavailable, ms. Sign-ins in between fail at
 * once.
 */
const RETRY_MS = 2_000;
/** Minimum interval between two readings of the provider's keys because of an unknown one, ms. */
const KEYS_MS = 5_000;
const SCOPE = 'openid email profile';

export function createIdentityProvider(options: IdentityProviderOptions): IdentityProvider {
  const discovery = new Discovery(options);
  const { trustsEmail } = options;
  return {
    label: new URL(options.issuer).host,
    async begin({ redirectUri, state, nonce, verifier, ageMsMax }) {
      const config = await discovery.config();
      return oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(ageMsMax !== undefined && {
          max_age: String(Math.ceil(ageMsMax / 1000)),
          ...(takesPrompt(config.serverMetadata()) && { prompt: 'login' }),
        }),
      });
    },
    async finish(callback, { state, nonce, verifier }) {
      const config = await discovery.config();
      try {
        const tokens = await oidc.authorizationCodeGrant(config, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
        });
        const claims = tokens.claims();
        if (!claims) throw new SignInFailed('invalid', 'no ID token');
        if (hasProfile(claims)) return identityOf(claims, claims, trustsEmail);
        const profile = await profileOf(config, tokens.access_token, claims.sub);
        return identityOf(claims, withProfile(claims, profile), trustsEmail);
      } catch (error) {
        if (error instanceof SignInFailed) throw error;
        const isNewKey = codeOf(error) === 'OAUTH_KEY_SELECTION_FAILED';
        if (isNewKey && (await discovery.readAgain())) {
          throw new SignInFailed('new-keys', detailOf(error));
        }
        throw failureOf(error);
      }
    },
    async signOutAddress({ redirectUri, state }) {
      const config = await discovery.config().catch(() => undefined);
      if (config?.serverMetadata().end_session_endpoint === undefined) return undefined;
      return endSessionAddress(config, { post_logout_redirect_uri: redirectUri, state });
    },
  };
}

/** Google lists other values of `prompt` than `login`, so it gets `max_age` alone. */
function takesPrompt({ issuer, prompt_values_supported: values }: oidc.ServerMetadata): boolean {
  if (Array.isArray(values)) return values.includes('login');
  return issuer !== 'https://accounts.google.com';
}

/** undefined if the endpoint is not an https address. */
function endSessionAddress(
  config: oidc.Configuration,
  parameters: Readonly<Record<string, string>>,
): URL | undefined {
  try {
    return oidc.buildEndSessionUrl(config, parameters);
  } catch {
    return undefined;
  }
}

/** Keys and metadata of large providers have about 20 KB. */
const ANSWER_BYTES_MAX = 512 * 1024;

class AnswerTooLarge extends Error {
  readonly code = 'ANSWER_TOO_LARGE';
  constructor() {
    super(`The response has more than ${ANSWER_BYTES_MAX} bytes`);
    this.name = 'AnswerTooLarge';
  }
}

/** Idle connections of the agent keep no process alive. */
const agent = new Agent({ connect: createConnector({ timeoutMs: CONNECT_MS }) });

/**
 * Fetch for openid-client with a bound on the size of a response; the request's signal bounds its
 * time. Rejects with `AnswerTooLarge`, and with the errors of fetch. Follows no redirects.
 */
const boundedFetch: oidc.CustomFetch = async (url, options) => {
  const { method, headers, body, signal } = options;
  const answer = await fetch(url, {
    method,
    headers,
    redirect: 'manual',
    dispatcher: agent,
    ...(body != null && { body }),
    ...(signal && { signal }),
  });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > ANSWER_BYTES_MAX) throw new AnswerTooLarge();
    chunks.push(chunk);
  }
  const hasBody = chunks.length > 0;
  const { status, headers: received } = answer;
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers: received });
};

/** The provider's endpoints, read on demand by one request at a time. */
class Discovery {
  readonly #options: IdentityProviderOptions;
  #config: oidc.Configuration | undefined;
  #readMs = 0;
  #underWay: Promise<oidc.Configuration> | undefined;
  #failed: { readonly error: SignInFailed; readonly atMs: number } | undefined;

  constructor(options: IdentityProviderOptions) {
    this.#options = options;
  }

  /** Rejects with `SignInFailed`. */
  async config(): Promise<oidc.Configuration> {
    const nowMs = this.#options.clock.elapsed();
    if (this.#config && nowMs - this.#readMs < KNOWN_FOR_MS) return this.#config;
    if (this.#failed && nowMs - this.#failed.atMs < RETRY_MS) {
      if (this.#config) return this.#config;
      throw this.#failed.error;
    }
    this.#underWay ??= this.#read().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  /** Reads endpoints and keys again. Returns false if they were read in the last five seconds. */
  async readAgain(): Promise<boolean> {
    if (this.#options.clock.elapsed() - this.#readMs < KEYS_MS) return false;
    this.#readMs = -KNOWN_FOR_MS;
    await this.config();
    return true;
  }

  async #read(): Promise<oidc.Configuration> {
    const { issuer, clock } = this.#options;
    try {
      this.#config = await this.#discover(issuer).catch((error: unknown) => {
        const named = issuerInstead(error);
        if (named === undefined || !differsBySlash(named, issuer)) throw error;
        return this.#discover(named);
      });
      this.#readMs = clock.elapsed();
      this.#failed = undefined;
      return this.#config;
    } catch (error) {
      const failed = discoveryFailure(error, issuer);
      this.#failed = { error: failed, atMs: clock.elapsed() };
      if (this.#config) return this.#config;
      throw failed;
    }
  }

  #discover(issuer: string): Promise<oidc.Configuration> {
    const { clientId, clientSecret, answerSecondsMax } = this.#options;
    const server = new URL(issuer);
    return oidc.discovery(server, clientId, undefined, authenticationOf(clientSecret), {
      [oidc.customFetch]: boundedFetch,
      timeout: answerSecondsMax ?? ANSWER_SECONDS_MAX,
      execute: [
        oidc.enableNonRepudiationChecks,
        // The settings allow http only for loopback.
        ...(server.protocol === 'http:' ? [oidc.allowInsecureRequests] : []),
      ],
    });
  }
}

/** The issuer that a provider calls itself, if it is not the configured one. */
function issuerInstead(error: unknown): string | undefined {
  if (codeOf(error) !== 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') return undefined;
  const { cause } = causeOf(error) as { readonly cause?: unknown };
  const { body } = (cause ?? causeOf(error) ?? {}) as { readonly body?: { issuer?: unknown } };
  const issuer = body?.issuer;
  return typeof issuer === 'string' && /^https?:\/\/[\x21-\x7e]{1,200}$/.test(issuer)
    ? issuer
    : undefined;
}

/** Providers agree with themselves about the slash at the end; people who copy it do not. */
function differsBySlash(a: string, b: string): boolean {
  return a.replace(/\/$/, '') === b.replace(/\/$/, '');
}

function discoveryFailure(error: unknown, issuer: string): SignInFailed {
  const named = issuerInstead(error);
  if (named === undefined) return new SignInFailed('away', `discovery: ${detailOf(error)}`);
  return new SignInFailed(
    'misconfigured',
    `the provider calls itself ${named}, and SVC_OIDC_ISSUER is ${issuer}`,
  );
}

/**
 * By the method that the provider supports. OpenID Connect Discovery, section 3, defines the
 * default.
 */
function authenticationOf(secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...request) => {
    const { token_endpoint_auth_methods_supported: methods } = server;
    const takesBasic = methods?.includes('client_secret_basic') ?? true;
    return (takesBasic ? basic : post)(server, ...request);
  };
}

function hasProfile(claims: Claims): boolean {
  return claims.email !== undefined && claims.email_verified !== undefined;
}

/**
 * Claims of an ID token without an address, completed from the profile. Address and
 * `email_verified` are taken from one response, because a mix would vouch for an address that was
 * never verified.
 */
function withProfile(claims: Claims, profile: Claims): Claims {
  const { email, email_verified } = profile.email === undefined ? claims : profile;
  return { ...profile, ...claims, email, email_verified };
}

type Claims = Readonly<Record<string, unknown>>;

/** Many providers return the address only here; {} if there is no such endpoint. */
async function profileOf(
  config: oidc.Configuration,
  accessToken: string,
  subject: string,
): Promise<Claims> {
  if (config.serverMetadata().userinfo_endpoint === undefined) return {};
  return oidc.fetchUserInfo(config, accessToken, subject);
}

const NAME_CHARS_MAX = 100;

interface Account {
  readonly iss: string;
  readonly sub: string;
  /** Unix seconds; absent if the provider does not say. */
  readonly auth_time?: number;
}

function identityOf(
  { iss: issuer, sub: subject, auth_time: authTime }: Account,
  claims: Claims,
  trustsEmail: boolean,
): VouchedIdentity {
  const email = (typeof claims.email === 'string' && parseEmailAddress(claims.email)) || '';
  const names = [claims.name, claims.preferred_username, email, subject];
  const name = names.find((one): one is string => typeof one === 'string' && one.trim() !== '');
  return {
    issuer,
    subject,
    email,
    isEmailVerified: email !== '' && isVerified(claims.email_verified, trustsEmail),
    displayName: oneLine(name ?? subject, NAME_CHARS_MAX),
    ...(typeof authTime === 'number' && { authenticatedMs: authTime * 1000 }),
  };
}

/**
 * Only `true` itself counts, because the text "false" is truthy. A provider that is trusted may leave
 * the claim out, but a `false` is always believed.
 */
function isVerified(claim: unknown, trustsEmail: boolean): boolean {
  return claim === true || (trustsEmail && claim === undefined);
}

/** Errors of the token endpoint that concern only this sign-in (RFC 6749, section 5.2). */
const ABOUT_THE_CODE = ['invalid_grant', 'invalid_request'];
/** Errors that stay until an operator has changed something. */
const ABOUT_THIS_SERVICE = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type'];
/** Codes of openid-client for a missing response, or one with an unexpected status. */
const AWAY_CODES = ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'];

function failureOf(error: unknown): SignInFailed {
  const detail = detailOf(error);
  if (error instanceof oidc.AuthorizationResponseError) return new SignInFailed('denied', detail);
  if (error instanceof oidc.ResponseBodyError) {
    if (ABOUT_THE_CODE.includes(error.error)) return new SignInFailed('invalid', detail);
    const isOurs = ABOUT_THIS_SERVICE.includes(error.error);
    return new SignInFailed(isOurs ? 'misconfigured' : 'away', detail);
  }
  const code = codeOf(error);
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return new SignInFailed('clock', detail);
  const isAway = code === undefined || AWAY_CODES.includes(code) || !code.startsWith('OAUTH_');
  return new SignInFailed(isAway ? 'away' : 'invalid', detail);
}

/** Codes only, because messages and causes may contain the provider's response. */
function detailOf(error: unknown): string {
  const { name, error: oauth } = error as { name?: unknown; error?: unknown };
  const cause = (error as { cause?: unknown }).cause;
  const words = [name, codeOf(error), oauth, codeOf(cause), statusOf(cause)];
  const safe = words.filter((one) => typeof one === 'string' && /^[\w.-]{1,60}$/.test(one));
  return [...new Set(safe)].join(' ') || 'unknown';
}

/** Status of a response that openid-client could not use. */
function statusOf(cause: unknown): string | undefined {
  return cause instanceof Response ? String(cause.status) : undefined;
}

function causeOf(error: unknown): unknown {
  return (error as { cause?: unknown } | null | undefined)?.cause;
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
