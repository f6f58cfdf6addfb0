/**
 * Sign-in of people, opened from the settings: the identity provider and the mail server if they
 * are configured, the routes, and the session cookie. Neither the provider nor the mail server is
 * called at the start, so that the service runs while they are unavailable.
 */
import type { FastifyInstance } from 'fastify';
import type { Origins } from '../platform/http/service-address.ts';
import { MailQueue } from '../platform/mail/mail-queue.ts';
import { createMailer, mailSender, smtpUrlOf } from '../platform/mail/mailer.ts';
import type { RoomBase } from '../platform/room-base.ts';
import { readSecretFile } from '../platform/settings/secret-file.ts';
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
  /** Known when the server listens. */
  readonly address: Origins;
}

export interface SignIn {
  /** To be called for every response to a request with a session. */
  readonly rotateCookie: RotateCookie;
  /** undefined if no mail server is configured. */
  readonly mail: MailQueue | undefined;
  addRoutes(app: FastifyInstance): Promise<void>;
}

/** Throws `ConfigError` if the client secret cannot be read. */
export function openSignIn({ base, people, deriveKey, address }: SignInParts): SignIn {
  const { origin } = address;
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
        ...address,
        people,
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
  const smtpUrl = smtpUrlOf(settings);
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
    oidcClientSecretFile === null
      ? undefined
      : readSecretFile('SVC_OIDC_CLIENT_SECRET_FILE', oidcClientSecretFile);
  return createIdentityProvider({
    issuer: oidcIssuer,
    clientId: oidcClientId,
    clientSecret,
    trustsEmail: oidcTrustEmail,
    clock,
  });
}
