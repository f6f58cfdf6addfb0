/**
 * Sign-in of people over HTTP, below `/auth`: at the identity provider, by a one-time link, by a
 * mailed link, and for the command line. No address that this service receives contains a secret: a
 * link's token is in the fragment, and is sent in a body.
 *
 *     GET sign-in -> GET login -> provider -> GET callback -> session
 *     POST email -> mail -> GET link#token -> POST link -> session
 *     svc login -> GET cli -> POST cli -> 127.0.0.1:<port> -> POST link (JSON) -> session
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { parseEmailAddress } from '../../../actors/platform/email-address.ts';
import { ulid } from '../../../streams/platform/random.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import { AddressLimits } from '../../platform/http/anonymous-limits.ts';
import type { Origins } from '../../platform/http/service-address.ts';
import { signInLetter } from '../../platform/mail/letters.ts';
import { mailProblem } from '../../platform/mail/mail-problem.ts';
import type { MailQueue } from '../../platform/mail/mail-queue.ts';
import { isLoopbackHost } from '../../platform/settings/setting-kinds.ts';
import {
  addStrictHeaders,
  asksForJson,
  keepReturnPath,
  sendErrors,
  sendPage,
  sendSentence,
} from './answers.ts';
import type { AuthRoutesDeps, AuthScope } from './auth-scope.ts';
import { redirectToPageHost } from './page-host.ts';
import {
  type CliRequest,
  cliPage,
  linkPage,
  signedInAgainPage,
  signedInPage,
  signInPage,
} from './pages.ts';
import { addProviderRoutes } from './provider-routes.ts';
import {
  fieldsOf,
  isSet,
  locationOf,
  readSmallBodies,
  signInAgainPath,
  textField,
  validateReturnPath,
  withReturn,
} from './request-fields.ts';
import { assertSameSite } from './same-site.ts';
import { cookieName, keepsCookies } from './session-cookie.ts';
import { addSignOutRoutes } from './sign-out-routes.ts';
import { agentOf, createVisitors } from './visitor.ts';

export async function addAuthRoutes(app: FastifyInstance, deps: AuthRoutesDeps): Promise<void> {
  await app.register(
    async (scope) => {
      const shared = shareOf(deps);
      addStrictHeaders(scope);
      refuseOtherSites(scope, deps);
      readSmallBodies(scope);
      sendErrors(scope, deps.log, shared.recordRefused);
      addSessionRoutes(scope, shared);
      addSignOutRoutes(scope, shared);
      addProviderRoutes(scope, shared);
      addLinkRoutes(scope, shared);
      addCliRoutes(scope, shared);
    },
    { prefix: '/auth' },
  );
}

function shareOf(deps: AuthRoutesDeps): AuthScope {
  const { metrics, clock } = deps;
  const signedIn = metrics.counter('svc_sign_ins_total', 'Sessions begun', ['by']);
  const refused = metrics.counter('svc_sign_in_refusals_total', 'Rejected requests to sign in', [
    'cause',
  ]);
  return {
    ...deps,
    visitors: createVisitors(deps),
    recordSignedIn: (by) => signedIn.inc({ by }),
    recordRefused: (cause) => refused.inc({ cause }),
    limited(rate) {
      const limits = new AddressLimits(clock, rate);
      return async (request) => limits.assertAllowed(request.ip);
    },
  };
}

/**
 * Runs before a body is read. Rejects origins whose cookies others can read, and changes by other
 * sites. Pages under another name of this machine are redirected to their own; programs sign in
 * under any.
 */
function refuseOtherSites(scope: FastifyInstance, origins: Origins): void {
  const { origin, ownOrigin, pageOrigin } = origins;
  scope.addHook('onRequest', async (request, reply): Promise<FastifyReply | undefined> => {
    if (!keepsCookies(origin())) {
      const sentence = `Sign-in does not work at ${origin()}. Use https, or an address of this machine`;
      return sendSentence(reply, 403, { title: 'Not here', sentence });
    }
    if (request.method !== 'POST') return redirectToPageHost(origins, request, reply);
    const { host } = request.headers;
    assertSameSite(request, asksForJson(request) ? ownOrigin(host) : pageOrigin(host));
    return undefined;
  });
}

/** Routes of the sign-in page and of the signed-in page. */
function addSessionRoutes(scope: FastifyInstance, shared: AuthScope): void {
  const { visitors, provider, mail, pageOrigin, people } = shared;
  const get = { method: 'GET', exposeHeadRoute: false } as const;
  scope.route<{ Querystring: { return?: unknown; again?: unknown } }>({
    ...get,
    url: '/sign-in',
    async handler(request, reply) {
      const returnPath = validateReturnPath(request.query.return);
      const session = await visitors.sessionOf(request, reply);
      const isAgain = isSet(request.query.again);
      if (session && (session.isRecent || !isAgain)) {
        return reply.redirect(locationOf(pageOrigin(request.headers.host), returnPath), 303);
      }
      const providerLabel = provider?.label;
      const hasEmail = mail !== undefined;
      const signedIn = session && people.nameOf(session.person);
      const offers = { providerLabel, hasEmail, isAgain };
      return sendPage(reply, 200, signInPage({ ...offers, returnPath, signedIn }));
    },
  });
  scope.route<{ Querystring: { again?: unknown } }>({
    ...get,
    url: '/signed-in',
    async handler(request, reply) {
      const session = await visitors.sessionOf(request, reply);
      if (session) {
        const person = people.nameOf(session.person);
        if (isSet(request.query.again)) return sendPage(reply, 200, signedInAgainPage(person));
        return sendPage(reply, 200, signedInPage({ person, providerLabel: provider?.label }));
      }
      return reply.redirect(locationOf(pageOrigin(request.headers.host), '/auth/sign-in'), 303);
    },
  });
}

const LINKS = { burst: 20, refillMs: 6_000 };
const EMAIL_REQUESTS = { burst: 5, refillMs: 60_000 };
/** Mails to one address, from all requesters, so that no mailbox is flooded. */
const MAILS_TO_ONE = { burst: 3, refillMs: 300_000 };
const TOKEN_CHARS_MAX = 200;

type LinkPageRequest = { Querystring: { return?: unknown } };

/**
 * Sign-in by a one-time link, and the mail that carries one. Opening a link has no effect, because
 * mail scanners open every link and only people press buttons. A request for a mail is answered
 * before its address is looked up.
 */
function addLinkRoutes(scope: FastifyInstance, shared: AuthScope): void {
  const { people, visitors, origin, pageOrigin, limited } = shared;
  scope.route<LinkPageRequest>({
    method: 'GET',
    url: '/link',
    exposeHeadRoute: false,
    async handler(request, reply) {
      const returnPath = validateReturnPath(request.query.return);
      const session = await visitors.sessionOf(request, reply);
      const signedIn = session && people.nameOf(session.person);
      return sendPage(reply, 200, linkPage({ signedIn, returnPath }));
    },
  });

  scope.post('/link', { onRequest: limited(LINKS) }, async (request, reply) => {
    const fields = fieldsOf(request, ['token', 'verifier', 'return']);
    // Before the link is used up.
    const returnPath = validateReturnPath(fields.return);
    keepReturnPath(request, returnPath);
    const token = tokenIn(textField(fields, 'token'));
    const { verifier } = fields;
    const presenter = visitors.personOf(request);
    if (presenter !== undefined && (await people.acceptInvitation({ token, person: presenter }))) {
      if (asksForJson(request)) return reply.send({});
      return reply.redirect(locationOf(pageOrigin(request.headers.host), returnPath), 303);
    }
    const started = await people.signInByLink({
      token,
      agent: agentOf(request),
      ...(typeof verifier === 'string' && { verifier }),
    });
    await visitors.begin(request, reply, started);
    shared.recordSignedIn('link');
    if (!asksForJson(request))
      return reply.redirect(locationOf(pageOrigin(request.headers.host), returnPath), 303);
    const { secret, person, expiresMs } = started;
    const expiresUnix = String(Math.floor(expiresMs / 1000));
    const cookie = cookieName(origin(), 'session');
    return reply.send({ session: { secret, expiresUnix, person, cookieName: cookie } });
  });

  addEmailRoute(scope, shared);
}

/** People enter the whole link as well as the part after its `#`. */
function tokenIn(entered: string): string {
  return entered.slice(entered.indexOf('#') + 1).slice(0, TOKEN_CHARS_MAX);
}

function addEmailRoute(scope: FastifyInstance, shared: AuthScope): void {
  const { mail, limited, clock, recordRefused } = shared;
  const toOne = new AddressLimits(clock, MAILS_TO_ONE);
  scope.post('/email', { onRequest: limited(EMAIL_REQUESTS) }, async (request, reply) => {
    if (!mail) {
      const sentence = 'This service sends no email. Ask an operator for a link';
      return sendSentence(reply, 404, { title: 'Not here', sentence });
    }
    const fields = fieldsOf(request, ['email', 'return']);
    const returnPath = validateReturnPath(fields.return);
    const email = parseEmailAddress(textField(fields, 'email'));
    if (email === undefined) recordRefused('no_address');
    else if (toOne.takeFrom(email) > 0) recordRefused('mails_to_one');
    else sendLink(mail, { email, returnPath }, shared);
    const sentence =
      'If the address is known here, a link was mailed to it. It may take a minute to arrive';
    if (asksForJson(request)) return reply.code(202).send({});
    return sendSentence(reply, 202, { title: 'Check your mail', sentence });
  });
}

function sendLink(
  mail: MailQueue,
  { email: to, returnPath }: { readonly email: string; readonly returnPath: string },
  shared: AuthScope,
): void {
  const { people, origin, clock, random } = shared;
  let worksUntilMs = Number.POSITIVE_INFINITY;
  let person = '';
  mail.add({
    kind: 'sign-in',
    worksUntilMs: () => worksUntilMs,
    async onOutcome(outcome) {
      // Without a person, or after a stop, there is nothing to record about the address.
      if (person === '' || outcome.kind === 'dropped') return;
      await people.recordMailProblem(person, mailProblem(outcome));
    },
    async make() {
      const link = await people.linkByEmail(to);
      if (!link) return undefined;
      worksUntilMs = link.expiresMs;
      person = link.person;
      const nowMs = clock.now();
      const page = withReturn('/auth/link', returnPath);
      const { token, expiresMs } = link;
      const letter = signInLetter({ origin: origin(), page, token, expiresMs, nowMs });
      const messageId = `<${ulid(nowMs, random)}@${new URL(origin()).hostname}>`;
      return { to, ...letter, messageId };
    },
  });
}

/** Host name of `svc login`, for services whose own host is the machine's. */
const CLI_HOST = 'svc-login.localhost';
const CLI_LINKS = { burst: 10, refillMs: 6_000 };

/**
 * Sign-in of the command line by the browser (RFC 8252, section 7.3). A signed-in person confirms, and
 * the browser carries a one-time code to the port on which `svc login` listens. The code is useless
 * without the verifier that the command line keeps (RFC 7636).
 */
function addCliRoutes(scope: FastifyInstance, shared: AuthScope): void {
  const { visitors, origin, pageOrigin, people, limited } = shared;
  scope.route({
    method: 'GET',
    url: '/cli',
    exposeHeadRoute: false,
    async handler(request, reply) {
      const requested = validateCliRequest(request.query as Readonly<Record<string, unknown>>);
      const session = await visitors.sessionOf(request, reply);
      if (session?.isRecent) {
        const target = cliOrigin(origin(), requested.port);
        return sendPage(reply, 200, cliPage({ ...requested, target }));
      }
      const here = `/auth/cli?${new URLSearchParams({ ...requested, port: String(requested.port) })}`;
      const page = pageOrigin(request.headers.host);
      return reply.redirect(locationOf(page, signInAgainPath(here)), 303);
    },
  });
  scope.post('/cli', { onRequest: limited(CLI_LINKS) }, async (request, reply) => {
    const requested = validateCliRequest(fieldsOf(request, ['port', 'state', 'challenge']));
    const session = await visitors.sessionOf(request, reply);
    if (!session) {
      throw new Refusal('MISSING_CREDENTIAL', 'You are not signed in. Run svc login again');
    }
    const { person, session: id } = session;
    const by = { kind: 'human', name: `people/${person}` } as const;
    const { token } = await people.linkFor(by, person, 'cli', {
      challenge: requested.challenge,
      session: id,
    });
    const query = new URLSearchParams({ state: requested.state, code: token });
    return reply.redirect(`${cliOrigin(origin(), requested.port)}/?${query}`, 303);
  });
}

/**
 * Where `svc login` listens. Under another host name than the pages' own, because browsers send
 * their cookies to every port of a host, on https too.
 */
function cliOrigin(origin: string, port: number): string {
  const { protocol, hostname } = new URL(origin);
  const isShared = protocol === 'https:' && isLoopbackHost(hostname);
  return `http://${isShared ? CLI_HOST : '127.0.0.1'}:${port}`;
}

const PORT = /^[1-9]\d{0,4}$/;
const STATE = /^[\w-]{16,128}$/;
/** SHA-256 in base64url. */
const CHALLENGE = /^[\w-]{43}$/;

/** Throws INVALID_FIELD. */
function validateCliRequest(fields: Readonly<Record<string, unknown>>): CliRequest {
  const port = Number(textOf(fields, 'port', PORT));
  if (port > 65_535) throw bad('port');
  return {
    port,
    state: textOf(fields, 'state', STATE),
    challenge: textOf(fields, 'challenge', CHALLENGE),
  };
}

function textOf(fields: Readonly<Record<string, unknown>>, name: string, form: RegExp): string {
  const value = fields[name];
  if (typeof value === 'string' && form.test(value)) return value;
  throw bad(name);
}

function bad(field: string): Refusal {
  const message = `${field} does not have the form that svc login sends. Run svc login again`;
  return invalidField(field, message);
}
