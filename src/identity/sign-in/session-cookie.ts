/**
 * Session cookie, and the rotation of its secret. On https its name has the prefix `__Host-`, with
 * which browsers reject it from other hosts, other paths and plain http (RFC 6265bis, section
 * 4.1.3). Plain http on loopback cannot have that prefix. If two cookies have the name, one of them
 * was planted, and both are rejected.
 */
import type { People } from '../../../actors/identity/people.ts';
import type { LiveSession, StartedSession } from '../../../actors/identity/sessions.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { isLocalName } from '../../platform/http/hosts.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { isLoopbackHost } from '../../platform/settings/setting-kinds.ts';

/** A session, or the minutes of a sign-in or a sign-out at the provider. */
type CookiePurpose = 'session' | 'login' | 'logout';

/** Name of a cookie for the service's origin, such as `__Host-svc_session`. */
export function cookieName(origin: string, purpose: CookiePurpose): string {
  const name = `svc_${purpose}`;
  return origin.startsWith('https:') ? `__Host-${name}` : name;
}

/** Length of the part of a sign-in's state that names its cookie. */
const STATE_CHARS = 8;

/** Name of the cookie of one sign-in at the provider. */
export function loginCookieName(origin: string, state: string): string {
  return `${cookieName(origin, 'login')}_${state.slice(0, STATE_CHARS)}`;
}

/** Names of the cookies of all sign-ins that a browser has begun, oldest first. */
export function loginCookieNames(header: string | undefined, origin: string): string[] {
  const prefix = `${cookieName(origin, 'login')}_`;
  // RFC 6265, section 5.4: cookies that were created earlier come first.
  const names = (header ?? '').split(';').map((pair) => pair.split('=', 1)[0]?.trim() ?? '');
  return names.filter((name) => name.startsWith(prefix));
}

/** true if no one else can read the origin's cookies: https, or loopback. */
export function keepsCookies(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === 'https:' || isLoopbackHost(hostname) || isLocalName(hostname);
}

/**
 * The value in a Cookie header, unchanged; undefined if absent. Throws MALFORMED_CREDENTIAL
 * if the header has the name more than once.
 */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values: string[] = [];
  for (const pair of (header ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at >= 0 && pair.slice(0, at).trim() === name) values.push(pair.slice(at + 1).trim());
  }
  if (values.length <= 1) return values[0];
  const message = `The request has ${values.length} cookies ${name}. Delete the cookies of this site`;
  throw new Refusal('MALFORMED_CREDENTIAL', message);
}

/** The session's secret, for the service's origin. Throws like `readCookie`. */
export function readSessionCookie(header: string | undefined, origin: string): string | undefined {
  return readCookie(header, cookieName(origin, 'session'));
}

export interface CookieToSet {
  readonly origin: string;
  readonly name: string;
  readonly value: string;
  /** 0 = delete it. */
  readonly maxAgeSeconds: number;
}

/** A Set-Cookie value. Lax keeps a person signed in who follows a link from another site. */
export function setCookie({ origin, name, value, maxAgeSeconds }: CookieToSet): string {
  const attributes = ['Path=/', `Max-Age=${maxAgeSeconds}`, 'HttpOnly', 'SameSite=Lax'];
  if (origin.startsWith('https:')) attributes.push('Secure');
  return `${name}=${value}; ${attributes.join('; ')}`;
}

/** The Set-Cookie value of a session, which lasts until the session's absolute end. */
export function setSessionCookie(
  origin: string,
  { secret, expiresMs }: Pick<StartedSession, 'secret' | 'expiresMs'>,
  nowMs: number,
): string {
  const maxAgeSeconds = Math.max(0, Math.floor((expiresMs - nowMs) / 1000));
  return setCookie({ origin, name: cookieName(origin, 'session'), value: secret, maxAgeSeconds });
}

export function clearCookie(origin: string, name: string): string {
  return setCookie({ origin, name, value: '', maxAgeSeconds: 0 });
}

/**
 * Rotates a session's secret when due, and returns the Set-Cookie value; undefined if it is not due
 * or failed. A failure is logged, and the request continues with the old secret.
 */
export type RotateCookie = (session: LiveSession) => Promise<string | undefined>;

export interface RotateCookieDeps {
  readonly people: Pick<People, 'rotate'>;
  readonly origin: () => string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export function createRotateCookie(deps: RotateCookieDeps): RotateCookie {
  const { people, origin, clock, log, metrics } = deps;
  const rotations = metrics.counter(
    'svc_session_rotations_total',
    'Rotations of session secrets, by result',
    ['outcome'],
  );

  return async ({ session, isRotationDue }) => {
    if (!isRotationDue) return undefined;
    try {
      const started = await people.rotate(session);
      rotations.inc({ outcome: 'rotated' });
      return setSessionCookie(origin(), started, clock.now());
    } catch (error) {
      const isFault = !(error instanceof Refusal);
      rotations.inc({ outcome: isFault ? 'failed' : 'refused' });
      // A refusal means that another request was faster, or that the session has just ended.
      if (isFault) log.warn({ err: error, session, part: 'sign-in' }, 'A session kept its secret');
      return undefined;
    }
  };
}
