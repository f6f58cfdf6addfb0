/**
 * Sign-in at the identity provider: the redirect there, with state, nonce and PKCE sealed in a cookie
 * of ten minutes, and the callback with the code. Only the browser that was redirected can return.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendSentence } from './answers.ts';
import { SignInFailed } from './identity-provider.ts';
import { LOGIN_STATE_SECONDS } from './login-state.ts';
import { locationOf, validateReturnPath, withReturn } from './request-fields.ts';
import type { AuthScope } from './scope.ts';
import { clearCookie, cookieName, readCookie, setCookie } from './session-cookie.ts';
import { agentOf } from './visitor.ts';

const CALLBACK_PATH = '/auth/callback';
/** Many people may share an address; each sign-in is one request to the provider. */
const CALLBACKS = { burst: 20, refillMs: 3_000 };
/** In each of state, nonce and verifier. */
const RANDOM_BYTES = 32;

export function addProviderRoutes(scope: FastifyInstance, shared: AuthScope): void {
  const { provider, loginStates, origin, random, visitors, limited } = shared;
  const get = { method: 'GET', exposeHeadRoute: false } as const;
  const randomText = () => Buffer.from(random.bytes(RANDOM_BYTES)).toString('base64url');

  scope.route<{ Querystring: { return?: unknown } }>({
    ...{ ...get, url: '/login' },
    async handler(request, reply) {
      const returnPath = validateReturnPath(request.query.return);
      if (!provider) {
        return reply.redirect(locationOf(origin(), withReturn('/auth/sign-in', returnPath)), 303);
      }
      const login = { state: randomText(), nonce: randomText(), verifier: randomText() };
      const redirectUri = locationOf(origin(), CALLBACK_PATH);
      const target = await provider.begin({ ...login, redirectUri });
      const value = await loginStates.seal({ ...login, returnPath });
      const cookie = { origin: origin(), purpose: 'login', value } as const;
      reply.header('set-cookie', setCookie({ ...cookie, maxAgeSeconds: LOGIN_STATE_SECONDS }));
      return reply.redirect(target.href, 303);
    },
  });

  async function callback(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!provider) {
      const sentence = 'This service has no identity provider: sign in with a link';
      return sendSentence(reply, 404, { title: 'Not here', sentence });
    }
    // Refuses two cookies before the code is used up.
    visitors.personOf(request);
    const sealed = readCookie(request.headers.cookie, cookieName(origin(), 'login'));
    // Used once, whatever the outcome.
    reply.header('set-cookie', clearCookie(origin(), 'login'));
    const begun = sealed === undefined ? undefined : await loginStates.open(sealed);
    if (!begun) throw new SignInFailed('invalid', 'no sign-in was begun in this browser');
    const identity = await provider.finish(new URL(request.url, origin()), begun);
    const started = await shared.people.signInByIdentity(identity, agentOf(request));
    await visitors.begin(request, reply, started);
    shared.noteSignedIn('provider');
    return reply.redirect(locationOf(origin(), begun.returnPath), 303);
  }
  scope.route({ ...get, url: '/callback', onRequest: limited(CALLBACKS), handler: callback });
}
