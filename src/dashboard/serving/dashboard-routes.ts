/**
 * Serves the dashboard over HTTP: the shell at each path of routes.ts, only with a session, and the
 * assets, which contain no data and need none. All other paths are unaffected.
 *
 *     GET /projects/demo -> no session -> /auth/sign-in?return=/projects/demo -> back
 *                        -> session    -> the shell -> GET /assets/... -> RPC
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addStrictHeaders, sendErrors, sendSentence } from '../../identity/sign-in/answers.ts';
import { redirectToPageHost } from '../../identity/sign-in/page-host.ts';
import { isReturnPath, locationOf } from '../../identity/sign-in/request-fields.ts';
import type { Visitors } from '../../identity/sign-in/visitor.ts';
import { negotiateEncoding } from '../../platform/http/negotiation.ts';
import type { Origins } from '../../platform/http/service-address.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { routes } from '../routes.ts';
import {
  BUILD_IT,
  type BuiltDashboard,
  CODINGS,
  type NoDashboard,
  noDashboard,
} from './built-dashboard.ts';
import { SHELL_POLICY, shellOf } from './shell.ts';

export interface DashboardRoutesDeps extends Pick<Origins, 'ownOrigin' | 'pageOrigin'> {
  /** The build, or the reason why there is none, which the pages display. */
  readonly built: BuiltDashboard | NoDashboard;
  readonly visitors: Pick<Visitors, 'sessionOf'>;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The name of an asset changes with its content, so a browser never has to revalidate it. */
const FOREVER = 'public, max-age=31536000, immutable';

export async function addDashboardRoutes(
  app: FastifyInstance,
  deps: DashboardRoutesDeps,
): Promise<void> {
  const refused = deps.metrics.counter(
    'svc_dashboard_refusals_total',
    'Requests for dashboard pages that were rejected',
    ['cause'],
  );
  await app.register(async (scope) => {
    addStrictHeaders(scope);
    sendErrors(scope, deps.log, (cause) => refused.inc({ cause }), 'dashboard');
    addPages(scope, deps);
    if (typeof deps.built === 'object') addAssets(scope, deps.built);
  });
}

function addPages(scope: FastifyInstance, deps: DashboardRoutesDeps): void {
  const { built, visitors } = deps;
  async function answer(
    shell: string | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    if (typeof built === 'string' || shell === undefined) {
      const why = noDashboard[typeof built === 'string' ? built : 'NOT_BUILT'];
      const sentence = `${why}; the API works. ${BUILD_IT}`;
      return sendSentence(reply, 503, { title: 'No dashboard', sentence });
    }
    const redirected = redirectToPageHost(deps, request, reply);
    if (redirected) return redirected;
    if (!(await visitors.sessionOf(request, reply))) {
      const query = new URLSearchParams({ return: isReturnPath(request.url) ? request.url : '/' });
      const page = deps.pageOrigin(request.headers.host);
      return reply.redirect(locationOf(page, `/auth/sign-in?${query}`), 303);
    }
    reply.headers({ 'content-security-policy': SHELL_POLICY, 'referrer-policy': 'same-origin' });
    return reply.type('text/html; charset=utf-8').send(shell);
  }
  for (const { path, page } of routes) {
    const shell = typeof built === 'object' ? shellOf(built, page) : undefined;
    scope.route({
      method: 'GET',
      url: path,
      exposeHeadRoute: false,
      handler: (request, reply) => answer(shell, request, reply),
    });
  }
}

function addAssets(scope: FastifyInstance, { assets, licenses }: BuiltDashboard): void {
  scope.route<{ Params: { name: string } }>({
    method: 'GET',
    url: '/assets/:name',
    exposeHeadRoute: false,
    handler(request, reply) {
      const { name } = request.params;
      if (name === 'LICENSES.txt') return reply.type('text/plain; charset=utf-8').send(licenses);
      const asset = assets.get(name);
      if (!asset) return reply.callNotFound();
      const coding = negotiateEncoding(request.headers['accept-encoding'], CODINGS);
      if (coding !== 'identity') reply.header('content-encoding', coding);
      reply.headers({ 'cache-control': FOREVER, vary: 'Accept-Encoding' });
      return reply.type(asset.contentType).send(asset.bodies[coding]);
    },
  });
}
