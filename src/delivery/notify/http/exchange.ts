/**
 * One bounded HTTP exchange, shared by webhooks and chats: 3 s to connect, 10 s in all by an abort
 * signal (an idle timeout would let a slow drip pass), 16 KiB of the answer read and 4 KiB kept. No
 * redirects, no decompression, and a fresh DNS lookup whose every address must be public.
 */
import type { Agent, Dispatcher } from 'undici';
import type { AttemptOutcome } from '../../../../actors/delivery/notifier-port.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { pause } from '../../../../streams/platform/pause.ts';
import { excerptOf, type Redactions } from './excerpt.ts';
import {
  createGuardedAgent,
  type GuardedAgentDeps,
  NoPublicAddress,
  ResolverSilent,
} from './guarded-agent.ts';
import { type Answer, GivenUp, outcomeOfFault } from './outcomes.ts';
import { requestTarget } from './request-target.ts';

const ANSWER_BYTES_READ_MAX = 16 * 1024;
/** Interim answers (1xx) before the final one: some servers send a few. */
const INTERIM_ANSWERS_MAX = 16;

export interface Post extends Redactions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Deadline of the exchange (Clock.elapsed, ms); checked before the first byte too. */
  readonly deadlineElapsedMs: number;
}

/** An exchange without an answer is already the attempt's outcome. */
export type Exchanged = Answer | { readonly kind: 'unanswered'; readonly outcome: AttemptOutcome };

export interface HttpExchange {
  /** Never throws for a fault of the network or the endpoint. */
  post(request: Post): Promise<Exchanged>;
  /** Closes all connections; requests under way fail. */
  close(): Promise<void>;
}

export interface HttpExchangeDeps extends GuardedAgentDeps {
  readonly clock: Clock;
  /** For tests: see `NO_ADDRESS_MS`. */
  readonly noAddressMs?: number;
}

/**
 * Duration of an attempt whose host name has no callable address: longer than any lookup takes. A
 * quick answer would reveal which internal names the resolver knows.
 */
const NO_ADDRESS_MS = 3_000;

export function createHttpExchange(deps: HttpExchangeDeps): HttpExchange {
  const agent = createGuardedAgent(deps);
  return {
    post: (request) => post(deps, agent, request),
    close: () => agent.destroy(),
  };
}

const NO_ANSWER = 'No answer within the time of an attempt';

async function post(
  { guard, clock, noAddressMs = NO_ADDRESS_MS }: HttpExchangeDeps,
  agent: Agent,
  request: Post,
): Promise<Exchanged> {
  const refusal = guard.refuseUrl(request.url);
  if (refusal) {
    const error = `${refusal}: fix the URL`;
    return unanswered({ kind: 'failed', unknown: false, error });
  }
  const startedMs = clock.elapsed();
  const remainingMs = request.deadlineElapsedMs - startedMs;
  if (remainingMs <= 0) {
    const error = 'The deadline of the attempt passed before it was sent';
    return unanswered({ kind: 'failed', unknown: false, ours: true, error });
  }
  const end = new AbortController();
  const cancel = clock.wakeAfter(remainingMs, () => end.abort(new GivenUp(NO_ANSWER)));
  try {
    return await exchange(agent, request, end, clock.now());
  } catch (error) {
    const fault: unknown = end.signal.aborted ? end.signal.reason : error;
    if (fault instanceof NoPublicAddress || fault instanceof ResolverSilent) {
      await pause(clock, startedMs + noAddressMs - clock.elapsed(), end.signal);
    }
    return unanswered(outcomeOfFault(fault));
  } finally {
    cancel();
  }
}

async function exchange(
  agent: Agent,
  request: Post,
  end: AbortController,
  nowMs: number,
): Promise<Answer> {
  const { signal } = end;
  let interim = 0;
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
    onInfo: () => {
      if (++interim > INTERIM_ANSWERS_MAX)
        end.abort(new GivenUp('The endpoint sends interim answers (1xx) without end'));
    },
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

/** Reads at most 16 KiB of the answer, then drops the connection. */
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
    // The status decides, even when the body breaks off or drips past the deadline.
  } finally {
    body.on('error', () => {}).destroy();
  }
  return { bytes: Buffer.concat(chunks).subarray(0, ANSWER_BYTES_READ_MAX), isCut };
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function unanswered(outcome: AttemptOutcome): Exchanged {
  return { kind: 'unanswered', outcome };
}

const RETRY_SECONDS = /^\d{1,8}$/;
/** The three date forms of section 5.6.7; servers today send the first. */
const RETRY_DATES = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/**
 * The wait that a `Retry-After` header asks for (RFC 9110, section 10.2.3), ms, never negative;
 * undefined when the header is absent or malformed. A date counts from the answer's own `Date`
 * header, because both come from the endpoint's clock; without one from `nowMs`.
 */
export function parseRetryAfter(
  value: string | undefined,
  { date, nowMs }: { readonly date?: string | undefined; readonly nowMs: number },
): number | undefined {
  const text = value?.trim() ?? '';
  if (RETRY_SECONDS.test(text)) return Number(text) * 1000;
  const untilMs = parseDate(text);
  if (untilMs === undefined) return undefined;
  return Math.max(0, untilMs - (parseDate(date?.trim() ?? '') ?? nowMs));
}

function parseDate(text: string): number | undefined {
  if (!RETRY_DATES.some((form) => form.test(text))) return undefined;
  // The asctime form names no zone but means GMT, as the others.
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}
