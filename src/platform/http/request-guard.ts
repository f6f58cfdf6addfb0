/**
 * Checks and headers for every request of a listener: a Host that names this service (health checks
 * are exempt), no plain http past the proxy that terminates TLS, and headers against type sniffing
 * and for https only. It works below the framework, on the server's `request` event, so that no
 * route, fast path or error response can bypass it.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { httpStatusOf } from '../errors.ts';
import { isLoopback } from '../settings/setting-kinds.ts';
import type { Settings } from '../settings/settings.ts';
import { createAddressList } from './address-list.ts';
import { errorAnswer } from './envelopes.ts';
import { createHostCheck, isLocalName, nameOf, originForm } from './hosts.ts';
import { PROBE_PATHS } from './operations.ts';

export interface RequestGuardOptions {
  readonly settings: Pick<Settings, 'publicUrl' | 'allowedHosts' | 'trustedProxy'>;
  /** Counts a request that was refused, by its cause. */
  readonly recordRefused: (cause: string) => void;
}

/** One year, the minimum for browsers' own lists. */
const STRICT_TRANSPORT = 'max-age=31536000';

/**
 * Puts the guard before all `request` listeners of the server so far; call it last. A guarded
 * server is made with `requireHostHeader: false`: Node's own response has no headers.
 */
export function guardRequests(server: Server, options: RequestGuardOptions): void {
  const isAdmitted = createGuard(options);
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (!isAdmitted(request, response)) return;
    for (const listener of listeners) listener.call(server, request, response);
  });
  // Node would respond itself, without these headers.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    if (!isAdmitted(request, response)) return;
    const message = 'Expect accepts only 100-continue';
    refuse(request, response, { status: 417, refusal: new Refusal('INVALID_FIELD', message) });
  });
}

/**
 * Returns a function that decides whether a request may continue, and answers those that may not.
 */
export function createGuard({ settings, recordRefused }: RequestGuardOptions) {
  const problemOfHost = createHostCheck(settings);
  const proxies = settings.trustedProxy && createAddressList(settings.trustedProxy);
  const isPublicHttps = settings.publicUrl?.startsWith('https:') === true;

  /** True if the client speaks https, to us or to the proxy. */
  const isSecure = ({ socket, headers }: IncomingMessage): boolean => {
    if (isTls(socket)) return true;
    if (!proxies?.has(socket.remoteAddress)) return false;
    const forwarded = headers['x-forwarded-proto']?.toString().split(',').at(-1)?.trim();
    return forwarded === undefined ? isPublicHttps : forwarded === 'https';
  };
  const isPastProxy = (request: IncomingMessage): boolean =>
    proxies !== null &&
    !isTls(request.socket) &&
    !proxies.has(request.socket.remoteAddress) &&
    !isLocalPeer(request.socket) &&
    !isProbe(request);

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    response.setHeader('x-content-type-options', 'nosniff');
    const problem = problemOfHost(request);
    // Orchestrators probe under names that no setting knows, and a probe's response is public.
    const mayAskByAnyName = problem?.cause === 'unknown_host' && isProbe(request);
    if (problem && !mayAskByAnyName) {
      const { cause, status, message } = problem;
      recordRefused(cause);
      const refusal = new Refusal('WRONG_HOST', message);
      refuse(request, response, { status, refusal });
      return false;
    }
    // A browser that learned it for localhost could no longer open other programs there.
    const isLocal = isLocalName(nameOf(request.headers.host ?? '') ?? '');
    if (!isLocal && isSecure(request)) {
      response.setHeader('strict-transport-security', STRICT_TRANSPORT);
    }
    request.url = originForm(request.url ?? '/');
    if (!isPastProxy(request)) return true;
    recordRefused('past_proxy');
    const message =
      'Only the proxy in front of the service (SVC_TRUSTED_PROXY) may use plain http: ' +
      'use the https address';
    refuse(request, response, { refusal: new Refusal('INSECURE_TRANSPORT', message) });
    return false;
  };
}

function isProbe({ url = '/' }: IncomingMessage): boolean {
  return PROBE_PATHS.has(originForm(url).split('?', 1)[0] ?? '');
}

function isTls(socket: Socket): boolean {
  return (socket as TLSSocket).encrypted === true;
}

/** No one else can read loopback traffic. */
function isLocalPeer({ remoteAddress }: Socket): boolean {
  return remoteAddress !== undefined && isLoopback(remoteAddress);
}

/** The body is not read, so the connection ends with the response. */
function refuse(
  { method = 'GET', url = '/', headers }: IncomingMessage,
  response: ServerResponse,
  { refusal, status = httpStatusOf(refusal.reason) }: { refusal: Refusal; status?: number },
): void {
  const requested = { method, url: originForm(url), accept: headers.accept ?? '' };
  const { type, body } = errorAnswer(requested, refusal);
  response
    .writeHead(status, {
      connection: 'close',
      'content-type': type,
      'content-length': Buffer.byteLength(body),
    })
    .end(body);
}
