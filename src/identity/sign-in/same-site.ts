/**
 * Checks that a request that changes something comes from a page of this service or from a program.
 * Browsers report the origin in headers that no page can write. A request without them counts as
 * another site's.
 */
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { cookieName } from './session-cookie.ts';

export type CrossSiteReason = 'fetch_site' | 'origin' | 'no_origin';

/** Refusal of a request that another site may have caused. */
export class CrossSite extends Refusal {
  readonly cause: CrossSiteReason;
  constructor(cause: CrossSiteReason, message: string) {
    super('MALFORMED_CREDENTIAL', message);
    this.cause = cause;
  }
}

/**
 * Throws `CrossSite` unless Origin is the service's own and Sec-Fetch-Site, if sent, agrees. JSON
 * without our cookie needs no Origin: browsers send one with every POST, so it came from a program.
 */
export function assertSameSite({ headers }: FastifyRequest, origin: string): void {
  const { 'sec-fetch-site': site, origin: sentOrigin } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw new CrossSite('fetch_site', `The request came from another site. Open ${origin}`);
  }
  if (sentOrigin !== undefined) {
    if (sentOrigin === origin) return;
    const message = `The request came from a page of another address. Open ${origin}`;
    throw new CrossSite('origin', message);
  }
  const hasCookie = headers.cookie?.includes(cookieName(origin, 'session')) ?? false;
  if (isJson(headers['content-type']) && !hasCookie) return;
  throw new CrossSite('no_origin', `The request has no Origin header. Send "Origin: ${origin}"`);
}

export function isJson(contentType: string | undefined): boolean {
  return /^application\/json *(;|$)/i.test(contentType ?? '');
}
