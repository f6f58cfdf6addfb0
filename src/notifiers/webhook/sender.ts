/**
 * Sends one webhook attempt and tells its outcome as data. Everything is bounded: 3 s to connect,
 * 10 s in all by an abort signal (an idle timeout lets a slow drip pass), 16 KiB of the answer
 * read. No redirects, no decompression, a fresh look-up whose every address must be public.
 */
import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import type { AttemptOutcome, Channel } from '../../../actors/notifier-port.ts';
import type { Clock } from '../../../streams/clock.ts';
import type { AddressGuard } from '../http/address-guard.ts';
import { signatureHeaders } from './signature.ts';

const CONNECT_MS = 3_000;
const ANSWER_BYTES_READ_MAX = 16 * 1024;
const EXCERPT_BYTES_MAX = 4 * 1024;
/** Characters of an error that are kept. */
const ERROR_LENGTH_MAX = 300;
const USER_AGENT = 'svc-webhook/1';

/** How names become addresses: the system's resolver, or a table in tests. */
export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

export interface WebhookSenderDeps {
  readonly guard: AddressGuard;
  readonly clock: Clock;
  readonly resolve?: Resolve;
  /**
   * Told why an address was refused, with the address, which its tenant must not learn: where an
   * internal name leads is the operator's business.
   */
  readonly onRefusedAddress?: (sentence: string) => void;
  /** Extra trusted certificates (PEM), for receivers with a private authority. */
  readonly ca?: string;
}

type WebhookRequest = Parameters<Channel<'webhook'>['attempt']>[0];

/** An address that must not be called: the owner has to mend the URL, trying again cannot help. */
class RefusedAddress extends Error {
  constructor(host: string) {
    super(`${host} resolves to an address that is not public: fix the URL`);
  }
}

export function createWebhookSender(deps: WebhookSenderDeps): Channel<'webhook'> {
  const agent = new Agent({
    connect: guardedConnector(deps),
    pipelining: 1,
    connections: 16,
    keepAliveTimeout: 10_000,
    maxHeaderSize: 16 * 1024,
  });
  return {
    attempt: (request) => attempt(deps, agent, request),
    close: () => agent.destroy(),
  };
}

async function attempt(
  deps: WebhookSenderDeps,
  agent: Agent,
  request: WebhookRequest,
): Promise<AttemptOutcome> {
  const refusal = deps.guard.refuseUrl(request.target.url);
  if (refusal) return refused(refusal);
  const remainingMs = request.deadlineElapsedMs - deps.clock.elapsed();
  if (remainingMs <= 0)
    return failed('The attempt was over before it was sent', { unknown: false });
  const deadline = new AbortController();
  const cancel = deps.clock.wakeAfter(remainingMs, () => deadline.abort());
  const sent = { bytes: false };
  try {
    return await exchange(agent, request, deadline.signal, sent);
  } catch (error) {
    return outcomeOfError(error, deadline.signal.aborted, sent.bytes);
  } finally {
    cancel();
  }
}

async function exchange(
  agent: Agent,
  request: WebhookRequest,
  signal: AbortSignal,
  sent: { bytes: boolean },
): Promise<AttemptOutcome> {
  const url = new URL(request.target.url);
  const answer = await agent.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      'accept-encoding': 'identity',
      'svc-event': request.event,
      ...signatureHeaders({ ...request, secrets: request.target.secrets }),
    },
    body: Buffer.from(request.body),
    signal,
    headersTimeout: 0,
    bodyTimeout: 0,
  } satisfies Dispatcher.RequestOptions);
  sent.bytes = true;
  const excerpt = await readExcerpt(answer.body, signal);
  return outcomeOfStatus(answer.statusCode, answer.headers['retry-after'], excerpt);
}

/** At most 16 KiB of the answer are read, then the connection is given up. */
async function readExcerpt(
  body: Dispatcher.ResponseData['body'],
  signal: AbortSignal,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= ANSWER_BYTES_READ_MAX || signal.aborted) break;
    }
  } catch {
    // The status decides; an answer that breaks off, or drips past the deadline, changes nothing.
  } finally {
    body.on('error', () => {}).destroy();
  }
  return Buffer.concat(chunks).subarray(0, EXCERPT_BYTES_MAX).toString('utf8');
}

function outcomeOfStatus(
  httpStatus: number,
  retryAfter: string | string[] | undefined,
  excerpt: string,
): AttemptOutcome {
  if (httpStatus >= 200 && httpStatus < 300) return { kind: 'accepted', httpStatus };
  if (httpStatus === 410) {
    const error = 'The endpoint answered 410: it is gone';
    return { kind: 'refused', httpStatus, error, pauseDestination: true, excerpt };
  }
  const retryAfterMs = parseRetryAfter(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter);
  const redirect = httpStatus >= 300 && httpStatus < 400;
  const error = redirect
    ? `The endpoint answered ${httpStatus}: redirects are not followed, fix the URL`
    : `The endpoint answered ${httpStatus}`;
  return {
    kind: 'failed',
    unknown: false,
    httpStatus,
    error,
    excerpt,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** `Retry-After` in ms when it is a number of seconds; a date is ignored: it needs their clock. */
function parseRetryAfter(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,8}$/.test(value.trim()) ? Number(value) * 1000 : undefined;
}

/** Before the connection stood nothing can have been accepted; after that nobody knows. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function outcomeOfError(error: unknown, timedOut: boolean, answered: boolean): AttemptOutcome {
  if (error instanceof RefusedAddress) return refused(error.message);
  if (timedOut) return failed('No answer within 10 s', { unknown: !answered });
  const { code, message } = error as NodeJS.ErrnoException;
  if (isCertificateError(code)) {
    return failed(`TLS: ${message}; fix the URL or the certificate`, { unknown: false });
  }
  return failed(message || String(code), { unknown: !NOT_SENT.has(code) });
}

function isCertificateError(code: string | undefined): boolean {
  return code !== undefined && /^(ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code);
}

function refused(error: string): AttemptOutcome {
  return { kind: 'refused', error: cut(error), pauseDestination: false };
}

function failed(error: string, { unknown }: { unknown: boolean }): AttemptOutcome {
  return { kind: 'failed', unknown, error: cut(error) };
}

/** The outside words some errors (a certificate lists its names), and they go into commits. */
function cut(error: string): string {
  return error.length <= ERROR_LENGTH_MAX ? error : `${error.slice(0, ERROR_LENGTH_MAX - 1)}…`;
}

/** Connects only where every resolved address, and the socket's own, passes the guard. */
function guardedConnector({
  guard,
  resolve = resolveAll,
  onRefusedAddress,
  ca,
}: WebhookSenderDeps): buildConnector.connector {
  const refusedAddress = (sentence: string, host: string): RefusedAddress => {
    onRefusedAddress?.(sentence);
    return new RefusedAddress(host);
  };
  const lookup: LookupFunction = (host, options, done) => {
    resolve(host, (error, addresses) => {
      if (error) return done(error, '', 0);
      const refusal = addresses
        .map(({ address }) => guard.refuseAddress(address, host))
        .find((sentence) => sentence !== undefined);
      if (refusal) return done(refusedAddress(refusal, host), '', 0);
      const first = addresses[0];
      if (!first) return done(noAddress(host), '', 0);
      if (options.all) done(null, [...addresses]);
      else done(null, first.address, first.family);
    });
  };
  const connect = buildConnector({
    lookup,
    timeout: CONNECT_MS,
    ...(ca === undefined ? {} : { ca }),
  });
  return (options, done) => {
    connect(options, (error, socket) => {
      if (error) return done(error, null);
      const refusal = guard.refuseAddress(socket.remoteAddress ?? 'unknown', options.hostname);
      if (!refusal) return done(null, socket);
      socket.destroy();
      done(refusedAddress(refusal, options.hostname), null);
    });
  };
}

/** As the system's resolver calls it: a name may be given an address yet. */
function noAddress(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' });
}

const resolveAll: Resolve = (host, done) => dnsLookup(host, { all: true }, done);
