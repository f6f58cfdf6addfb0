/**
 * People's identity provider over OpenID Connect, by openid-client: authorization code with PKCE,
 * state and nonce, the ID token's signature checked against the provider's keys. The provider is
 * asked for its endpoints when somebody first signs in, not at the start: while it is away the
 * service runs and sessions go on, only new sign-ins by it are refused with a sentence.
 */
import * as oidc from 'openid-client';
import type { VouchedIdentity } from '../../../actors/identity/people-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { parseAddress } from '../../platform/mail/address.ts';
import { boundedFetch } from './bounded-fetch.ts';
import type { LoginState } from './login-state.ts';

/** What a sign-in at the provider came to when it failed. */
export type ProviderFault =
  /** No answer, or none that makes sense; or it refuses this service. Trying later may help. */
  | 'away'
  /** The provider, or the person there, said no. */
  | 'denied'
  /** What came back does not belong to the sign-in that was begun, or does not hold. */
  | 'invalid';

export class SignInFailed extends Error {
  readonly fault: ProviderFault;
  /** For the log: codes of openid-client and OAuth, never a token or an answer. */
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
  /** Host of the issuer, for people. */
  readonly label: string;
  /** Where to send the browser. Rejects with `SignInFailed`, within 5 s. */
  begin(login: BegunLogin & { readonly redirectUri: string }): Promise<URL>;
  /**
   * Who came back, by the whole address that the browser was sent to. Rejects with `SignInFailed`,
   * within 15 s.
   */
  finish(callback: URL, login: BegunLogin): Promise<VouchedIdentity>;
}

export interface IdentityProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** undefined: a public client. */
  readonly clientSecret: string | undefined;
  readonly clock: Pick<Clock, 'elapsed'>;
  /** Of each request to the provider. Default: 5. */
  readonly answerSecondsMax?: number;
}

const ANSWER_SECONDS_MAX = 5;
/** Endpoints change seldom; when they cannot be read anew, those known stay in use. */
const KNOWN_FOR_MS = 3_600_000;
/** Between two attempts while it is away: who comes meanwhile is told at once. */
const RETRY_MS = 2_000;
const SCOPE = 'openid email profile';

export function createIdentityProvider(options: IdentityProviderOptions): IdentityProvider {
  const discovery = new Discovery(options);
  return {
    label: new URL(options.issuer).host,
    async begin({ redirectUri, state, nonce, verifier }) {
      const config = await discovery.config();
      return oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
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
        if (hasProfile(claims)) return identityOf(claims.iss, claims.sub, claims);
        const profile = await profileOf(config, tokens.access_token, claims.sub);
        return identityOf(claims.iss, claims.sub, joined(claims, profile));
      } catch (error) {
        throw error instanceof SignInFailed ? error : failureOf(error);
      }
    },
  };
}

/** The provider's endpoints: read when asked for, by one request at a time. */
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

  async #read(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret, clock, answerSecondsMax } = this.#options;
    const server = new URL(issuer);
    try {
      this.#config = await oidc.discovery(
        server,
        clientId,
        undefined,
        authenticationOf(clientSecret),
        {
          [oidc.customFetch]: boundedFetch,
          timeout: answerSecondsMax ?? ANSWER_SECONDS_MAX,
          execute: [
            oidc.enableNonRepudiationChecks,
            // The settings allow http for loopback alone.
            ...(server.protocol === 'http:' ? [oidc.allowInsecureRequests] : []),
          ],
        },
      );
      this.#readMs = clock.elapsed();
      this.#failed = undefined;
      return this.#config;
    } catch (error) {
      const failed = new SignInFailed('away', `discovery: ${detailOf(error)}`);
      this.#failed = { error: failed, atMs: clock.elapsed() };
      if (this.#config) return this.#config;
      throw failed;
    }
  }
}

/** In the way that the provider says it takes; the default is in OpenID Connect Discovery, section 3. */
function authenticationOf(secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...request) => {
    const { token_endpoint_auth_methods_supported: methods } = server;
    const takesBasic = methods?.includes('client_secret_basic') ?? true;
    return (takesBasic ? basic : post)(server, ...request);
  };
}

function hasProfile(claims: Told): boolean {
  return claims.email !== undefined && claims.email_verified !== undefined;
}

/**
 * An ID token without a whole address, and the profile. The address and the word that it is verified
 * are of one answer: put together from two, that word would vouch for an address it was not said of.
 */
function joined(claims: Told, profile: Told): Told {
  const { email, email_verified } = profile.email === undefined ? claims : profile;
  return { ...profile, ...claims, email, email_verified };
}

type Told = Readonly<Record<string, unknown>>;

/** Many providers tell the address here alone; {} when they have no such endpoint. */
async function profileOf(
  config: oidc.Configuration,
  accessToken: string,
  subject: string,
): Promise<Told> {
  if (config.serverMetadata().userinfo_endpoint === undefined) return {};
  return oidc.fetchUserInfo(config, accessToken, subject);
}

const NAME_CHARS_MAX = 100;

function identityOf(issuer: string, subject: string, told: Told): VouchedIdentity {
  const email = (typeof told.email === 'string' && parseAddress(told.email)) || '';
  const names = [told.name, told.preferred_username, email, subject];
  const name = names.find((one): one is string => typeof one === 'string' && one.trim() !== '');
  return {
    issuer,
    subject,
    email,
    // Only `true` itself: a text "false" is no assurance.
    isEmailVerified: email !== '' && told.email_verified === true,
    displayName: (name ?? subject)
      .replaceAll(/\p{C}+/gu, ' ')
      .trim()
      .slice(0, NAME_CHARS_MAX),
  };
}

/** Errors of the token endpoint that are about this one sign-in (RFC 6749, section 5.2). */
const ABOUT_THE_CODE = ['invalid_grant', 'invalid_request'];
/** Codes of openid-client for no answer, or one with another status than the protocol's. */
const AWAY_CODES = ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'];

function failureOf(error: unknown): SignInFailed {
  const detail = detailOf(error);
  if (error instanceof oidc.AuthorizationResponseError) return new SignInFailed('denied', detail);
  if (error instanceof oidc.ResponseBodyError) {
    return new SignInFailed(ABOUT_THE_CODE.includes(error.error) ? 'invalid' : 'away', detail);
  }
  const code = codeOf(error);
  const isAway = code === undefined || AWAY_CODES.includes(code) || !code.startsWith('OAUTH_');
  return new SignInFailed(isAway ? 'away' : 'invalid', detail);
}

/** Codes alone: messages and causes may hold what the provider answered. */
function detailOf(error: unknown): string {
  const { name, error: oauth } = error as { name?: unknown; error?: unknown };
  const cause = (error as { cause?: unknown }).cause;
  const words = [name, codeOf(error), oauth, codeOf(cause)];
  const safe = words.filter((one) => typeof one === 'string' && /^[\w.-]{1,60}$/.test(one));
  return [...new Set(safe)].join(' ') || 'unknown';
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
