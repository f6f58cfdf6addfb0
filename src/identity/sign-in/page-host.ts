/**
 * Pages of sign-in and of the dashboard are served under one host name of this machine. A browser at
 * another one, such as 127.0.0.1, is redirected, and never gets or keeps a session cookie there.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Origins } from '../../platform/http/service-address.ts';
import { locationOf } from './request-fields.ts';
import { clearCookie, cookieName } from './session-cookie.ts';

type PageOrigins = Pick<Origins, 'ownOrigin' | 'pageOrigin'>;

/** True if browsers have their session at the host of this request. */
export function isAtPageHost(origins: PageOrigins, { headers: { host } }: FastifyRequest): boolean {
  return origins.ownOrigin(host) === origins.pageOrigin(host);
}

/** Redirects a browser to the same page at the right host; undefined: the host is right. */
export function redirectToPageHost(
  origins: PageOrigins,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  if (isAtPageHost(origins, request)) return undefined;
  const { host, cookie } = request.headers;
  const own = origins.ownOrigin(host);
  const name = cookieName(own, 'session');
  // A session from before the pages had a host of their own.
  if (cookie?.includes(`${name}=`)) reply.header('set-cookie', clearCookie(own, name));
  return reply.redirect(locationOf(origins.pageOrigin(host), request.url), 307);
}
