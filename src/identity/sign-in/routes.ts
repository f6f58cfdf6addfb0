/**
 * Sign-in of people over HTTP, below `/auth`: at the identity provider, by a one-time link, by a
 * mailed link, and for the command line. No address that this service receives holds a secret: a
 * link's token is in the fragment, and is sent in a body.
 *
 *     GET sign-in -> GET login -> provider -> GET callback -> session
 *     POST email -> mail -> GET link#token -> POST link -> session
 *     svc login -> GET cli -> POST cli -> 127.0.0.1:<port> -> POST link (JSON) -> session
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { AddressLimits } from '../../platform/http/anonymous-limits.ts';
import { addStrictHeaders, sendErrors, sendSentence } from './answers.ts';
import { addCliRoutes } from './cli-routes.ts';
import { addLinkRoutes } from './link-routes.ts';
import { addProviderRoutes } from './provider-routes.ts';
import { readSmallBodies } from './request-fields.ts';
import { assertSameSite } from './same-site.ts';
import type { AuthRoutesDeps, AuthScope } from './scope.ts';
import { keepsCookies } from './session-cookie.ts';
import { addSessionRoutes } from './session-routes.ts';
import { createVisitors } from './visitor.ts';

export async function addAuthRoutes(app: FastifyInstance, deps: AuthRoutesDeps): Promise<void> {
  await app.register(
    async (scope) => {
      const shared = shareOf(deps);
      addStrictHeaders(scope);
      refuseOtherSites(scope, deps.origin);
      readSmallBodies(scope);
      sendErrors(scope, deps.log, shared.noteRefused);
      addSessionRoutes(scope, shared);
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
  const refused = metrics.counter(
    'svc_sign_in_refusals_total',
    'Requests to sign in that were refused',
    ['cause'],
  );
  return {
    ...deps,
    visitors: createVisitors(deps),
    noteSignedIn: (by) => signedIn.inc({ by }),
    noteRefused: (cause) => refused.inc({ cause }),
    limited(rate) {
      const limits = new AddressLimits(clock, rate);
      return async (request) => limits.assertAllowed(request.ip);
    },
  };
}

/** Before a body is read: refuses origins whose cookies others can read, and changes by other sites. */
function refuseOtherSites(scope: FastifyInstance, origin: () => string): void {
  scope.addHook('onRequest', async (request, reply): Promise<FastifyReply | undefined> => {
    if (!keepsCookies(origin())) {
      const sentence = `Nobody can sign in at ${origin()}: use https, or an address of this machine`;
      return sendSentence(reply, 403, { title: 'Not here', sentence });
    }
    if (request.method === 'POST') assertSameSite(request, origin());
    return undefined;
  });
}
