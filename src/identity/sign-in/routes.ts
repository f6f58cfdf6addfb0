/**
 * People's sign-in over HTTP, below `/auth`: by the identity provider, by a one-time link, by a
 * link sent to an address, and for the command line. No secret is in an address that this service
 * sees: a link's token is in the fragment and comes in a body.
 *
 *     GET sign-in -> GET login -> provider -> GET callback -> session
 *     POST email -> mail -> GET link#token -> POST link -> session
 *     svc login -> GET cli -> POST cli -> 127.0.0.1:<port> -> POST link (JSON) -> session
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { AddressLimits } from '../../platform/http/address-limits.ts';
import { addStrictHeaders, tellErrors, tellSentence } from './answers.ts';
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
      tellErrors(scope, deps.log, shared.noteRefused);
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
    limited(allowance) {
      const limits = new AddressLimits(clock, allowance);
      return async (request) => limits.assertAllowed(request.ip);
    },
  };
}

/** Before a body is read: cookies that others can read are not set, other sites change nothing. */
function refuseOtherSites(scope: FastifyInstance, origin: () => string): void {
  scope.addHook('onRequest', async (request, reply): Promise<FastifyReply | undefined> => {
    if (!keepsCookies(origin())) {
      const sentence = `Nobody can sign in at ${origin()}: it takes https, or an address of this machine`;
      return tellSentence(reply, 403, { title: 'Not here', sentence });
    }
    if (request.method === 'POST') assertSameSite(request, origin());
    return undefined;
  });
}
