/**
 * Sign-in of people, opened from the settings: the identity provider and the mail server if they
 * are configured, the routes, and the session cookie. Neither the provider nor the mail server is
 * called at the start, so that the service runs while they are unavailable.
 */
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { MailQueue } from '../platform/mail/mail-queue.ts';
import { createMailer, mailSender } from '../platform/mail/mailer.ts';
import type { RoomBase } from '../platform/room-base.ts';
import { ConfigError } from '../platform/settings/config.ts';
import { createAccountLinks } from './sign-in/account-link.ts';
import type { AuthRoutesDeps } from './sign-in/auth-scope.ts';
import { createIdentityProvider, type IdentityProvider } from './sign-in/identity-provider.ts';
import { createLoginStates } from './sign-in/login-state.ts';
import { addAuthRoutes } from './sign-in/routes.ts';
import { createRotateCookie, type RotateCookie } from './sign-in/session-cookie.ts';

export interface SignInParts {
  readonly base: Omit<RoomBase, 'health'>;
  readonly people: AuthRoutesDeps['people'];
  readonly deriveKey: (purpose: string) => Uint8Array;
  /** Origin for clients, known when the server listens. */
  readonly origin: () => string;
}

export interface SignIn {
  /** To be called for every response to a request with a session. */
  readonly rotateCookie: RotateCookie;
  /** undefined if no mail server is configured. */
  readonly mail: MailQueue | undefined;
  addRoutes(app: FastifyInstance): Promise<void>;
}

/** Throws `ConfigError` if the client secret cannot be read. */
export function openSignIn({ base, people, deriveKey, origin }: SignInParts): SignIn {
  const { clock, random, log, metrics } = base;
  const rotateCookie = createRotateCookie({ people, origin, clock, log, metrics });
  const mail = openMail(base);
  const provider = openProvider(base);
  const loginStates = createLoginStates(deriveKey('login state'), clock);
  const accountLinks = createAccountLinks(deriveKey('account link'), clock);
  return {
    rotateCookie,
    mail,
    addRoutes: (app) =>
      addAuthRoutes(app, {
        people,
        origin,
        rotateCookie,
        mail,
        provider,
        loginStates,
        accountLinks,
        recentMs: base.settings.recentSignInMinutes * 60_000,
        clock,
        random,
        log,
        metrics,
      }),
  };
}

function openMail({ settings, clock, log, metrics, closers }: SignInParts['base']) {
  const { smtpUrl } = settings;
  if (smtpUrl === null) return undefined;
  const mailer = createMailer({
    url: smtpUrl,
    from: mailSender(settings),
    name: settings.smtpName,
  });
  closers.add('mailer', () => mailer.close());
  const queue = new MailQueue({ mailer, clock, log, metrics });
  closers.add('mail queue', () => queue.close());
  return queue;
}

function openProvider({ settings, clock }: SignInParts['base']): IdentityProvider | undefined {
  const { oidcIssuer, oidcClientId, oidcClientSecretFile, oidcTrustEmail } = settings;
  if (oidcIssuer === null || oidcClientId === null) return undefined;
  const clientSecret =
    oidcClientSecretFile === null ? undefined : readClientSecret(oidcClientSecretFile);
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
