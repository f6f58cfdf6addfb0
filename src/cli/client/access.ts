/**
 * The endpoint of the service and the identity of the caller. The endpoint comes from --endpoint,
 * SVC_ENDPOINT or the stored session, in this order; the credential from SVC_API_KEY or the stored
 * session, never from the command line. Operations reserved for people use only the session,
 * because no key can perform them.
 */

import { redactedUrl } from '../../../streams/platform/redacted-url.ts';
import { parseKey } from '../../platform/keys.ts';
import { BadSetting, origin } from '../../platform/settings/setting-kinds.ts';
import { isConfidential } from '../../sdk/access.ts';
import type { ClientPorts, Surroundings } from '../command.ts';
import { EXIT_DENIED, Fault, UsageError } from './faults.ts';
import { readSession, type StoredSession, sessionPath, writeSession } from './session-file.ts';

/** Callers that may make a call: any caller with a credential, only people, or anonymous callers. */
export type Caller = 'any' | 'person' | 'nobody';

export interface Access {
  /** Origin of the API. */
  readonly endpoint: string;
  /** Headers that identify the caller; {} for an anonymous one. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** Extracts a rotated session from `Set-Cookie` values and stores it. */
  readonly recordCookies: (setCookies: readonly string[]) => void;
}

export interface AccessOptions {
  /** Value of --endpoint. */
  readonly endpoint: string | undefined;
  readonly caller: Caller;
  readonly environment: Surroundings['environment'];
  readonly ports: Pick<ClientPorts, 'homeFolder'>;
}

/** Throws `UsageError` without an endpoint, `Fault` without a credential. */
export function openAccess(options: AccessOptions): Access {
  const { environment, ports, caller } = options;
  const path = sessionPath(environment, ports.homeFolder);
  const hasKey = caller === 'any' && Boolean(environment.SVC_API_KEY);
  if (caller === 'nobody' || hasKey) {
    // The session is read only to find the endpoint.
    const endpoint = givenEndpoint(options) ?? readSession(path)?.endpoint;
    if (endpoint === undefined) throw notKnownWhere();
    const key = hasKey ? { authorization: `Bearer ${checkedKey(environment)}` } : {};
    return { endpoint, headers: () => key, recordCookies: () => {} };
  }
  const stored = readSession(path);
  if (stored === undefined) throw notSignedIn(caller);
  const endpoint = givenEndpoint(options) ?? stored.endpoint;
  if (stored.endpoint !== endpoint) {
    throw new Fault(`You are signed in at ${stored.endpoint}, not at ${endpoint}`, {
      exitCode: EXIT_DENIED,
      hint: `Sign in there: svc login --endpoint ${endpoint}`,
    });
  }
  return sessionAccess(path, stored);
}

/**
 * Reads the session from the file at each request: another command may have received a new secret
 * in the meantime, and the service treats the use of an old one as theft.
 */
function sessionAccess(path: string, stored: StoredSession): Access {
  let session = stored;
  return {
    endpoint: stored.endpoint,
    headers() {
      const now = readSession(path);
      const isSame = now?.endpoint === stored.endpoint && now.person === stored.person;
      if (isSame) session = now;
      return sessionHeaders(session);
    },
    recordCookies(setCookies) {
      const secret = rotatedSecret(setCookies, session.cookieName);
      if (secret === undefined || secret === session.secret) return;
      session = { ...session, secret };
      writeSession(path, session);
    },
  };
}

/** The headers that a browser would send: a session is valid only with the service's own origin. */
function sessionHeaders(session: StoredSession): Readonly<Record<string, string>> {
  return { cookie: `${session.cookieName}=${session.secret}`, origin: session.endpoint };
}

function rotatedSecret(setCookies: readonly string[], name: string): string | undefined {
  for (const cookie of setCookies) {
    const [pair = ''] = cookie.split(';');
    // An empty value deletes the cookie: the file stays, and the next call reports the problem.
    if (pair.startsWith(`${name}=`) && pair.length > name.length + 1) {
      return pair.slice(name.length + 1);
    }
  }
  return undefined;
}

function givenEndpoint({ endpoint, environment }: AccessOptions): string | undefined {
  if (endpoint) return parseEndpoint('--endpoint', endpoint);
  const { SVC_ENDPOINT } = environment;
  return SVC_ENDPOINT ? parseEndpoint('SVC_ENDPOINT', SVC_ENDPOINT) : undefined;
}

/**
 * Origin for programs of an address that a browser has. Browsers resolve names under `.localhost`
 * themselves; the resolvers of most systems do not.
 */
export function programOrigin(address: string): string {
  const url = new URL(address);
  if (url.protocol === 'http:' && url.hostname.endsWith('.localhost')) url.hostname = '127.0.0.1';
  return url.origin;
}

function notKnownWhere(): UsageError {
  return new UsageError(
    'The address of the service is not set',
    'Set --endpoint or SVC_ENDPOINT, for example https://monitoring.example.com',
  );
}

/** An origin to which a credential may be sent. Throws `UsageError`. */
function parseEndpoint(what: string, text: string): string {
  let endpoint: string;
  try {
    endpoint = programOrigin(origin.parse(text));
  } catch (error) {
    if (!(error instanceof BadSetting) && !(error instanceof TypeError)) throw error;
    throw new UsageError(
      `${what} must be ${origin.takes}, not ${JSON.stringify(redactedUrl(text))}`,
    );
  }
  if (isConfidential(new URL(endpoint))) return endpoint;
  throw new UsageError(
    `${what} uses plain HTTP, so the credential could be read on the network`,
    'Use HTTPS. Plain HTTP is accepted only for this machine',
  );
}

/** Access tokens and keys, restricted to characters that a header may contain. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

function checkedKey({ SVC_API_KEY: key = '' }: Surroundings['environment']): string {
  const isOurs = key.startsWith('svc_');
  if (HEADER_SAFE.test(key) && (!isOurs || parseKey(key))) return key;
  throw new Fault('SVC_API_KEY is not a valid key: its checksum is wrong', {
    exitCode: EXIT_DENIED,
    hint: 'Check that it was copied completely, without spaces or quotes',
  });
}

function notSignedIn(caller: Caller): Fault {
  return new Fault('You are not signed in', {
    exitCode: EXIT_DENIED,
    hint:
      caller === 'person'
        ? 'Sign in with "svc login". Keys cannot do this'
        : 'Sign in with "svc login", or set SVC_API_KEY to a key',
  });
}
