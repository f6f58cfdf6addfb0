/** Routes of the sign-in page, the signed-in page and the sign-out. */
import type { FastifyInstance } from 'fastify';
import { asksForJson, sendPage, sendSentence } from './answers.ts';
import { signedInPage, signInPage } from './pages.ts';
import { fieldsOf, locationOf, validateReturnPath } from './request-fields.ts';
import type { AuthScope } from './scope.ts';

export function addSessionRoutes(scope: FastifyInstance, shared: AuthScope): void {
  const { visitors, provider, mail, origin } = shared;
  const get = { method: 'GET', exposeHeadRoute: false } as const;
  scope.route<{ Querystring: { return?: unknown } }>({
    ...{ ...get, url: '/sign-in' },
    async handler(request, reply) {
      const returnPath = validateReturnPath(request.query.return);
      if (await visitors.sessionOf(request, reply)) {
        return reply.redirect(locationOf(origin(), returnPath), 303);
      }
      const providerLabel = provider?.label;
      const hasEmail = mail !== undefined;
      return sendPage(reply, 200, signInPage({ providerLabel, hasEmail, returnPath }));
    },
  });
  scope.route({
    ...{ ...get, url: '/signed-in' },
    async handler(request, reply) {
      if (await visitors.sessionOf(request, reply)) return sendPage(reply, 200, signedInPage());
      return reply.redirect(locationOf(origin(), '/auth/sign-in'), 303);
    },
  });
  scope.post('/logout', async (request, reply) => {
    const { everywhere } = fieldsOf(request, ['everywhere']);
    const sessionsEnded = await visitors.end(request, reply, everywhere === true);
    if (asksForJson(request)) return reply.send({ sessionsEnded });
    const sentence = 'This browser is signed out';
    return sendSentence(reply, 200, { title: 'Signed out', sentence, offersSignIn: true });
  });
}
