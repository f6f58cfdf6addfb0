/**
 * Whether a request that changes something was made by a page of ours, or by a program. Browsers
 * tell in headers that no page can write; what they do not tell is taken for another site's.
 */
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { cookieName } from './session-cookie.ts';

export type CrossSiteReason = 'fetch_site' | 'origin' | 'no_origin';

/** A request that another site may have made the browser send. */
export class CrossSite extends Refusal {
  readonly cause: CrossSiteReason;
  constructor(cause: CrossSiteReason, message: string) {
    super('MALFORMED_CREDENTIAL', message);
    this.cause = cause;
  }
}

/**
 * Throws `CrossSite` unless Origin is the service's own and Sec-Fetch-Site, when sent, agrees. No
 * Origin is fine for JSON without our cookie: browsers send one with every POST, so a program did.
 */
export function assertSameSite({ headers }: FastifyRequest, origin: string): void {
  const { 'sec-fetch-site': site, origin: sentOrigin } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw new CrossSite('fetch_site', `The request came from another site: open ${origin}`);
  }
  if (sentOrigin !== undefined) {
    if (sentOrigin === origin) return;
    const message = `The request came from a page of another address: open ${origin}`;
    throw new CrossSite('origin', message);
  }
  const hasCookie = headers.cookie?.includes(cookieName(origin, 'session')) ?? false;
  if (isJson(headers['content-type']) && !hasCookie) return;
  throw new CrossSite('no_origin', `The request has no Origin header: send "Origin: ${origin}"`);
}

export function isJson(contentType: string | undefined): boolean {
  return /^application\/json *(;|$)/i.test(contentType ?? '');
}
