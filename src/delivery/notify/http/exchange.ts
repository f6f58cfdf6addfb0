/**
 * One bounded HTTP exchange, shared by webhooks and chats: 3 s to connect, 10 s in all by an abort
 * signal (an idle timeout lets a slow drip pass), 16 KiB of the answer read and 4 KiB kept. No
 * redirects, no decompression, a fresh look-up whose every address must be public.
 */
import type { Agent, Dispatcher } from 'undici';
import type { AttemptOutcome } from '../../../../actors/delivery/notifier-port.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { pause } from '../../../../streams/platform/pause.ts';
import { excerptOf, type Redactions } from './excerpt.ts';
import { GivenUp, outcomeOfFault } from './faults.ts';
import {
  createGuardedAgent,
  type GuardedAgentDeps,
  NoPublicAddress,
  ResolverSilent,
} from './guarded-agent.ts';
import { requestTarget } from './request-target.ts';
import { parseRetryAfter } from './retry-after.ts';

const ANSWER_BYTES_READ_MAX = 16 * 1024;
/** Interim answers (1xx) before the one that counts: some servers send a few, an endless row none. */
const INTERIM_ANSWERS_MAX = 16;

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
  /** For tests: how long an attempt lasts whose name has no address; default 3 s. */
  readonly noAddressMs?: number;
}

/**
 * How long an attempt lasts whose host name has no address that may be called: longer than any
 * look-up takes. An answer at once would tell a name inside, which the resolver knows, from one that
 * is nowhere.
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
    const error = 'The attempt was over before it was sent';
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
        end.abort(new GivenUp('It answers without an end (1xx)'));
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

function unanswered(outcome: AttemptOutcome): Exchanged {
  return { kind: 'unanswered', outcome };
}
