/**
 * Sign-out of a browser. The session here ends first, whatever the provider does. If the person
 * signed in at the provider, the page offers to sign out there too (OpenID Connect RP-Initiated
 * Logout 1.0). The state of that request is kept in a cookie, so that only a sign-out that this
 * browser began is reported as complete.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asksForJson, sendPage, sendSentence } from './answers.ts';
import type { AuthScope } from './auth-scope.ts';
import { signedOutPage } from './pages.ts';
import { fieldsOf, locationOf } from './request-fields.ts';
import { clearCookie, cookieName, readCookie, setCookie } from './session-cookie.ts';

/** Path to register at the provider as `post_logout_redirect_uri`. */
const SIGNED_OUT_PATH = '/auth/signed-out';
/** Time allowed at the provider, seconds. */
const SIGN_OUT_SECONDS = 600;
const STATE_BYTES = 32;

export function addSignOutRoutes(scope: FastifyInstance, shared: AuthScope): void {
  const { visitors, provider } = shared;
  scope.post('/logout', async (request, reply) => {
    const { everywhere } = fieldsOf(request, ['everywhere']);
    const { sessionsEnded, method } = await visitors.end(request, reply, everywhere === true);
    if (asksForJson(request)) return reply.send({ sessionsEnded });
    if (method === 'oidc' && provider) return offerSignOut(shared, provider, reply);
    return sendSignedOut(reply, 'This browser is signed out');
  });
  scope.route({
    method: 'GET',
    url: '/signed-out',
    exposeHeadRoute: false,
    async handler(request, reply) {
      if (provider && takeState(shared, request, reply)) {
        const sentence = `This browser is signed out here and at ${provider.label}`;
        return sendSignedOut(reply, sentence);
      }
      return reply.redirect(locationOf(shared.origin(), '/auth/sign-in'), 303);
    },
  });
}

function sendSignedOut(reply: FastifyReply, sentence: string): FastifyReply {
  return sendSentence(reply, 200, { title: 'Signed out', sentence, offersSignIn: true });
}

async function offerSignOut(
  { origin, random }: AuthScope,
  provider: NonNullable<AuthScope['provider']>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const state = Buffer.from(random.bytes(STATE_BYTES)).toString('base64url');
  const redirectUri = locationOf(origin(), SIGNED_OUT_PATH);
  const address = await provider.signOutAddress({ redirectUri, state });
  if (!address) return sendSignedOut(reply, 'This browser is signed out');
  const name = cookieName(origin(), 'logout');
  const maxAgeSeconds = SIGN_OUT_SECONDS;
  reply.header('set-cookie', setCookie({ origin: origin(), name, value: state, maxAgeSeconds }));
  const { label } = provider;
  return sendPage(reply, 200, signedOutPage({ label, address: address.href }));
}

/** True if the provider returns the state of a sign-out that this browser began. It is used once. */
function takeState({ origin }: AuthScope, request: FastifyRequest, reply: FastifyReply): boolean {
  const name = cookieName(origin(), 'logout');
  const expected = readCookie(request.headers.cookie, name);
  if (expected === undefined) return false;
  reply.header('set-cookie', clearCookie(origin(), name));
  return new URL(request.url, origin()).searchParams.get('state') === expected;
}
