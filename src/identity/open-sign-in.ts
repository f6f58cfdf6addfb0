/**
 * Sign-in of people, opened from the settings: the identity provider and the mail server if they
 * are configured, the routes, and the session cookie. Neither the provider nor the mail server is
 * called at the start, so that the service runs while they are unavailable.
 */
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Closers } from '../platform/closers.ts';
import type { Log } from '../platform/log.ts';
import { MailQueue } from '../platform/mail/mail-queue.ts';
import { createMailer, mailSender } from '../platform/mail/mailer.ts';
import type { Metrics } from '../platform/metrics.ts';
import { ConfigError } from '../platform/settings/config.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { createAccountLinks } from './sign-in/account-link.ts';
import type { AuthRoutesDeps } from './sign-in/auth-scope.ts';
import { createIdentityProvider, type IdentityProvider } from './sign-in/identity-provider.ts';
import { createLoginStates } from './sign-in/login-state.ts';
import { addAuthRoutes } from './sign-in/routes.ts';
import { createRotateCookie, type RotateCookie } from './sign-in/session-cookie.ts';

export interface SignInOptions {
  readonly settings: Pick<
    Settings,
    | 'oidcIssuer'
    | 'oidcClientId'
    | 'oidcClientSecretFile'
    | 'oidcTrustEmail'
    | 'smtpUrl'
    | 'smtpFrom'
    | 'publicUrl'
  >;
  readonly people: AuthRoutesDeps['people'];
  readonly deriveKey: (purpose: string) => Uint8Array;
  /** Origin for clients, known when the server listens. */
  readonly origin: () => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly closers: Closers;
}

export interface SignIn {
  /** To be called for every response to a request with a session. */
  readonly rotateCookie: RotateCookie;
  /** undefined if no mail server is configured. */
  readonly mail: MailQueue | undefined;
  addRoutes(app: FastifyInstance): Promise<void>;
}

/** Throws `ConfigError` if the client secret cannot be read. */
export function openSignIn(options: SignInOptions): SignIn {
  const { deriveKey, clock } = options;
  const rotateCookie = createRotateCookie(options);
  const mail = openMail(options);
  const provider = openProvider(options);
  const loginStates = createLoginStates(deriveKey('login state'), clock);
  const accountLinks = createAccountLinks(deriveKey('account link'), clock);
  return {
    rotateCookie,
    mail,
    addRoutes: (app) =>
      addAuthRoutes(app, {
        ...options,
        rotateCookie,
        mail,
        provider,
        loginStates,
        accountLinks,
      }),
  };
}

function openMail(options: SignInOptions): MailQueue | undefined {
  const { smtpUrl } = options.settings;
  if (smtpUrl === null) return undefined;
  const mailer = createMailer({ url: smtpUrl, from: mailSender(options.settings) });
  options.closers.add('mailer', () => mailer.close());
  const queue = new MailQueue({ ...options, mailer });
  options.closers.add('mail queue', () => queue.close());
  return queue;
}

function openProvider(options: SignInOptions): IdentityProvider | undefined {
  const { oidcIssuer, oidcClientId, oidcClientSecretFile, oidcTrustEmail } = options.settings;
  if (oidcIssuer === null || oidcClientId === null) return undefined;
  const clientSecret =
    oidcClientSecretFile === null ? undefined : readClientSecret(oidcClientSecretFile);
  const { clock } = options;
  return createIdentityProvider({
    issuer: oidcIssuer,
    clientId: oidcClientId,
    clientSecret,
    trustsEmail: oidcTrustEmail,
    clock,
  });
}

/** Throws `ConfigError` if the file is unreadable or empty. */
export function readClientSecret(file: string): string {
  let secret: string;
  try {
    secret = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`SVC_OIDC_CLIENT_SECRET_FILE cannot be read: ${cause}`]);
  }
  if (secret !== '') return secret;
  throw new ConfigError([`SVC_OIDC_CLIENT_SECRET_FILE ${file} is empty`]);
}
