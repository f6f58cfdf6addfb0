/**
 * One bounded HTTP exchange, shared by webhooks and chats: 3 s to connect, 10 s in all by an abort
 * signal (an idle timeout lets a slow drip pass), 16 KiB of the answer read and 4 KiB kept. No
 * redirects, no decompression, a fresh look-up whose every address must be public.
 */
import type { Agent, Dispatcher } from 'undici';
import type { AttemptOutcome } from '../../../actors/notifier-port.ts';
import type { Clock } from '../../../streams/clock.ts';
import { cutText } from '../cut.ts';
import { excerptOf, type Redactions, redact } from './excerpt.ts';
import { createGuardedAgent, type GuardedAgentDeps, RefusedAddress } from './guarded-agent.ts';
import { requestTarget } from './request-target.ts';
import { parseRetryAfter } from './retry-after.ts';

const ANSWER_BYTES_READ_MAX = 16 * 1024;
/** Code points of an error that are kept: it goes into a commit. */
const ERROR_LENGTH_MAX = 300;

export interface Post extends Redactions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The exchange must be over by then (Clock.elapsed, ms); checked before the first byte too. */
  readonly deadlineElapsedMs: number;
}

export interface Answer {
  readonly kind: 'answered';
  readonly httpStatus: number;
  /** First 16 KiB at most, as they came: for the channel to read, never to keep. */
  readonly text: string;
  /** First 4 KiB at most, redacted. */
  readonly excerpt: string;
  readonly retryAfterMs?: number;
}

/** An exchange without an answer is already the attempt's outcome. */
export type Exchanged = Answer | { readonly kind: 'unanswered'; readonly outcome: AttemptOutcome };

export interface HttpExchange {
  /** Never throws for what the outside does. */
  post(request: Post): Promise<Exchanged>;
  /** Ends the connections; what is on the wire fails. */
  close(): Promise<void>;
}

export interface HttpExchangeDeps extends GuardedAgentDeps {
  readonly clock: Clock;
}

export function createHttpExchange(deps: HttpExchangeDeps): HttpExchange {
  const agent = createGuardedAgent(deps);
  return {
    post: (request) => post(deps, agent, request),
    close: () => agent.destroy(),
  };
}

async function post(
  { guard, clock }: HttpExchangeDeps,
  agent: Agent,
  request: Post,
): Promise<Exchanged> {
  const refusal = guard.refuseUrl(request.url);
  if (refusal) return unanswered(refused(refusal));
  const remainingMs = request.deadlineElapsedMs - clock.elapsed();
  if (remainingMs <= 0) {
    return unanswered(failed('The attempt was over before it was sent', { unknown: false }));
  }
  const deadline = new AbortController();
  const cancel = clock.wakeAfter(remainingMs, () => deadline.abort());
  try {
    return await exchange(agent, request, deadline.signal, clock.now());
  } catch (error) {
    return unanswered(outcomeOfError(error, request, deadline.signal.aborted));
  } finally {
    cancel();
  }
}

async function exchange(
  agent: Agent,
  request: Post,
  signal: AbortSignal,
  nowMs: number,
): Promise<Answer> {
  const { statusCode, headers, body } = await agent.request({
    origin: new URL(request.url).origin,
    path: requestTarget(request.url),
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      ...request.headers,
    },
    body: Buffer.from(request.body),
    signal,
    headersTimeout: 0,
    bodyTimeout: 0,
  } satisfies Dispatcher.RequestOptions);
  const { bytes, isCut } = await readAnswer(body, signal);
  const date = single(headers.date);
  const retryAfterMs = parseRetryAfter(single(headers['retry-after']), { date, nowMs });
  return {
    kind: 'answered',
    httpStatus: statusCode,
    text: bytes.toString('utf8'),
    excerpt: excerptOf(bytes, request, isCut),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** At most 16 KiB of the answer are read, then the connection is given up. */
async function readAnswer(body: Dispatcher.ResponseData['body'], signal: AbortSignal) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let isCut = true;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= ANSWER_BYTES_READ_MAX || signal.aborted) break;
    }
    isCut = bytes >= ANSWER_BYTES_READ_MAX;
  } catch {
    // The status decides; an answer that breaks off, or drips past the deadline, changes nothing.
  } finally {
    body.on('error', () => {}).destroy();
  }
  return { bytes: Buffer.concat(chunks).subarray(0, ANSWER_BYTES_READ_MAX), isCut };
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Before the connection stood nothing can have been accepted; after that nobody knows. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENODATA',
  'ESERVFAIL',
  'EREFUSED',
  'ETIMEOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPROTO',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function outcomeOfError(error: unknown, request: Post, timedOut: boolean): AttemptOutcome {
  if (error instanceof RefusedAddress) return refused(error.message);
  if (timedOut) return failed('No answer within the time of an attempt', { unknown: true });
  const { code, message } = error as NodeJS.ErrnoException;
  const told = redact(message || String(code), request);
  if (isCertificateError(code)) {
    return failed(`TLS: ${told}; fix the URL or the certificate`, { unknown: false });
  }
  return failed(told, { unknown: !NOT_SENT.has(code) && !isTlsError(code) });
}

function isCertificateError(code: string | undefined): boolean {
  return code !== undefined && /^(ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code);
}

/** The handshake failed: no byte of the request was sent. */
function isTlsError(code: string | undefined): boolean {
  return code !== undefined && /^(ERR_SSL_|ERR_TLS_)/.test(code);
}

function unanswered(outcome: AttemptOutcome): Exchanged {
  return { kind: 'unanswered', outcome };
}

function refused(error: string): AttemptOutcome {
  return { kind: 'refused', error: cutError(error), pauseDestination: false };
}

function failed(error: string, { unknown }: { unknown: boolean }): AttemptOutcome {
  return { kind: 'failed', unknown, error: cutError(error) };
}

/** The outside words some errors (a certificate lists its names). */
function cutError(error: string): string {
  return cutText(error, ERROR_LENGTH_MAX);
}
