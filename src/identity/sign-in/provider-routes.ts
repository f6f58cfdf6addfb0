/**
 * Sign-in at the identity provider: the redirect there, with state, nonce and PKCE sealed in a cookie
 * of ten minutes, and the callback with the code. Only the browser that was redirected can return.
 * An account that fits no person is linked with the person who is signed in, if they say so.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { UnknownAccount, type VouchedIdentity } from '../../../actors/identity/people-sign-in.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { keepReturnPath, sendPage, sendSentence } from './answers.ts';
import type { AuthScope } from './auth-scope.ts';
import { type IdentityProvider, SignInFailed } from './identity-provider.ts';
import { LOGIN_STATE_SECONDS, type LoginState } from './login-state.ts';
import { accountPage } from './pages.ts';
import {
  fieldsOf,
  isSet,
  locationOf,
  START_PATH,
  signInAgainPath,
  textField,
  validateReturnPath,
  withReturn,
} from './request-fields.ts';
import {
  clearCookie,
  loginCookieName,
  loginCookieNames,
  readCookie,
  setCookie,
} from './session-cookie.ts';
import { agentOf } from './visitor.ts';

const CALLBACK_PATH = '/auth/callback';
/** Many people may share an address. Each sign-in is one request to the provider. */
const CALLBACKS = { burst: 20, refillMs: 3_000 };
const ACCOUNT_LINKS = { burst: 10, refillMs: 6_000 };
/** Bytes in each of state, nonce and verifier. */
const RANDOM_BYTES = 32;
/** A state in base64url. */
const STATE = /^[\w-]{43}$/;
/** Sign-ins of one browser at a time. A further one ends the oldest. */
const LOGINS_MAX = 4;

export function addProviderRoutes(scope: FastifyInstance, shared: AuthScope): void {
  const { provider, limited, pageOrigin } = shared;
  const get = { method: 'GET', exposeHeadRoute: false } as const;
  scope.route<{ Querystring: { return?: unknown; again?: unknown } }>({
    ...get,
    url: '/login',
    async handler(request, reply) {
      const returnPath = validateReturnPath(request.query.return);
      keepReturnPath(request, returnPath);
      const isAgain = isSet(request.query.again);
      if (provider) return begin(shared, provider, { request, reply, returnPath, isAgain });
      const path = isAgain ? signInAgainPath(returnPath) : withReturn('/auth/sign-in', returnPath);
      return reply.redirect(locationOf(pageOrigin(request.headers.host), path), 303);
    },
  });
  scope.route({
    ...get,
    url: '/callback',
    onRequest: limited(CALLBACKS),
    async handler(request, reply) {
      if (provider) return callback(shared, provider, { request, reply });
      const sentence = 'This service has no identity provider. Sign in with a link';
      return sendSentence(reply, 404, { title: 'Not here', sentence });
    },
  });
  scope.post('/account', { onRequest: limited(ACCOUNT_LINKS) }, (request, reply) =>
    linkAccount(shared, { request, reply }),
  );
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface Begun {
  readonly returnPath: string;
  /** true: the person must prove to be themselves again. */
  readonly isAgain: boolean;
}

async function begin(
  { loginStates, origin, random, recentMs }: AuthScope,
  provider: IdentityProvider,
  { request, reply, returnPath, isAgain }: Exchange & Begun,
): Promise<FastifyReply> {
  const randomText = () => Buffer.from(random.bytes(RANDOM_BYTES)).toString('base64url');
  const login = { state: randomText(), nonce: randomText(), verifier: randomText() };
  const redirectUri = locationOf(origin(), CALLBACK_PATH);
  const again = isAgain ? { ageMsMax: recentMs } : {};
  const target = await provider.begin({ ...login, redirectUri, ...again });
  const begun = loginCookieNames(request.headers.cookie, origin());
  const surplus = begun.slice(0, Math.max(0, begun.length - LOGINS_MAX + 1));
  const cookie = {
    origin: origin(),
    name: loginCookieName(origin(), login.state),
    value: await loginStates.seal({ ...login, returnPath, again: isAgain ? 'yes' : '' }),
    maxAgeSeconds: LOGIN_STATE_SECONDS,
  };
  reply.header('set-cookie', [
    ...surplus.map((name) => clearCookie(origin(), name)),
    setCookie(cookie),
  ]);
  return reply.redirect(target.href, 303);
}

async function callback(
  shared: AuthScope,
  provider: IdentityProvider,
  { request, reply }: Exchange,
): Promise<FastifyReply> {
  const { visitors, origin, people, recordSignedIn } = shared;
  const page = shared.pageOrigin(request.headers.host);
  // Rejects a request with two cookies before the code is used up.
  const isSignedIn = visitors.personOf(request) !== undefined;
  const begun = await takeLogin(shared, { request, reply });
  if (!begun && isSignedIn) {
    // The back button, or a second tab whose sign-in was finished in this one.
    return reply.redirect(locationOf(page, START_PATH), 303);
  }
  if (!begun) throw new SignInFailed('invalid', 'no sign-in was started in this browser');
  keepReturnPath(request, begun.returnPath);
  const identity = await finish(provider, new URL(request.url, origin()), begun);
  if (identity === undefined) {
    const query = new URLSearchParams({ return: begun.returnPath });
    if (begun.again === 'yes') query.set('again', '1');
    return reply.redirect(locationOf(page, `/auth/login?${query}`), 303);
  }
  if (begun.again === 'yes') assertAgain(shared, identity);
  try {
    const started = await people.signInByIdentity(identity, agentOf(request));
    await visitors.begin(request, reply, started);
    recordSignedIn('provider');
  } catch (error) {
    if (!(error instanceof UnknownAccount)) throw error;
    if (isSignedIn) return askForLink(shared, provider, { request, reply, identity, begun });
    const { cause } = error;
    const fields = { cause, issuer: identity.issuer, part: 'sign-in' };
    shared.log.warn(fields, 'An account of the identity provider fits no person');
    throw error;
  }
  return reply.redirect(locationOf(page, begun.returnPath), 303);
}

/**
 * Throws unless the provider says that the sign-in is recent. The request for it passes through the
 * browser, whose user may remove it, so only the claim counts (OpenID Connect Core, section 2).
 */
function assertAgain(
  { clock, recentMs }: AuthScope,
  { authenticatedMs }: Pick<VouchedIdentity, 'authenticatedMs'>,
): void {
  if (authenticatedMs === undefined) throw new SignInFailed('not-again', 'no auth_time');
  const ageMs = clock.now() - authenticatedMs;
  if (ageMs <= recentMs) return;
  throw new SignInFailed('not-again', `auth_time is ${Math.floor(ageMs / 1000)} s old`);
}

/** The account that has signed in; undefined if the provider's new keys need another sign-in. */
async function finish(
  provider: IdentityProvider,
  callback: URL,
  begun: LoginState,
): Promise<VouchedIdentity | undefined> {
  try {
    return await provider.finish(callback, begun);
  } catch (error) {
    if (error instanceof SignInFailed && error.fault === 'new-keys') return undefined;
    throw error;
  }
}

/** The sign-in that this browser began with the state of the callback; its cookie is used once. */
async function takeLogin(
  { loginStates, origin }: AuthScope,
  { request, reply }: Exchange,
): Promise<LoginState | undefined> {
  const state = new URL(request.url, origin()).searchParams.get('state') ?? '';
  if (!STATE.test(state)) return undefined;
  const name = loginCookieName(origin(), state);
  const sealed = readCookie(request.headers.cookie, name);
  if (sealed === undefined) return undefined;
  reply.header('set-cookie', clearCookie(origin(), name));
  return loginStates.open(sealed);
}

interface UnlinkedAccount extends Exchange {
  readonly identity: VouchedIdentity;
  readonly begun: Pick<LoginState, 'returnPath'>;
}

async function askForLink(
  { visitors, accountLinks, people }: AuthScope,
  provider: IdentityProvider,
  { request, reply, identity, begun }: UnlinkedAccount,
): Promise<FastifyReply> {
  const session = await visitors.sessionOf(request, reply);
  if (!session) throw new SignInFailed('invalid', 'the session ended during the sign-in');
  const { issuer, subject, email, displayName } = identity;
  const account = await accountLinks.seal({ issuer, subject, session: session.session });
  const { returnPath } = begun;
  const name = email === '' ? displayName : email;
  const person = people.nameOf(session.person);
  const { label } = provider;
  return sendPage(reply, 200, accountPage({ account, person, name, label, returnPath }));
}

/** Links the account that the page of `askForLink` has named. */
async function linkAccount(
  { visitors, accountLinks, people, pageOrigin }: AuthScope,
  { request, reply }: Exchange,
): Promise<FastifyReply> {
  const fields = fieldsOf(request, ['account', 'return']);
  const returnPath = validateReturnPath(fields.return);
  keepReturnPath(request, returnPath);
  const session = await visitors.sessionOf(request, reply);
  if (!session) throw new Refusal('MISSING_CREDENTIAL', 'You are not signed in. Sign in again');
  const link = await accountLinks.open(textField(fields, 'account'));
  if (link?.session !== session.session) {
    throw new Refusal(
      'INVALID_STATE',
      'This page is older than ten minutes, or was made for another session. Sign in at the identity provider again',
    );
  }
  await people.linkAccount(session.session, link);
  return reply.redirect(locationOf(pageOrigin(request.headers.host), returnPath), 303);
}
