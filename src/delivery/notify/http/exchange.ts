/**
 * One bounded HTTP exchange, shared by webhooks and chats: 3 s to connect, 10 s in total (by an
 * abort signal, because an idle timeout would let a slow drip pass), 16 KiB of the answer read and
 * 4 KiB kept. It follows no redirects, does not decompress, and makes a fresh DNS lookup in which
 * every address must be public.
 */
import type { Agent, Dispatcher } from 'undici';
import type { AttemptOutcome } from '../../../../actors/delivery/notifier-port.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { pause } from '../../../../streams/platform/pause.ts';
import { NotConnected } from '../../../platform/http/dial.ts';
import { scrubSecrets } from '../../../platform/log.ts';
import { NotReached, ProxyFault } from './egress-proxy.ts';
import {
  createGuardedAgent,
  type GuardedAgentDeps,
  NoPublicAddress,
  ResolverSilent,
} from './guarded-agent.ts';

const ANSWER_BYTES_READ_MAX = 16 * 1024;
/** Maximum interim answers (1xx) before the final one. Some servers send a few. */
const INTERIM_ANSWERS_MAX = 16;

/** One request. Its redactions name whatever must not be stored of its answer. */
export interface Post extends Redactions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Deadline of the exchange (Clock.elapsed, ms), also checked before the first byte. */
  readonly deadlineElapsedMs: number;
}

/** An exchange without an answer is already the outcome of the attempt. */
export type Exchanged = Answer | { readonly kind: 'unanswered'; readonly outcome: AttemptOutcome };

/** Sends requests over one agent. Destinations with the same origin share its connections. */
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
 * Duration of an attempt whose host name has no callable address, ms. It is longer than any lookup,
 * because a quick answer would reveal which internal names the resolver knows.
 */
const NO_ADDRESS_MS = 3_000;

/** Opens an agent of its own; `close` destroys it. */
export function createHttpExchange(deps: HttpExchangeDeps): HttpExchange {
  const agent = createGuardedAgent(deps);
  return {
    post: (request) => post(deps, agent, request),
    close: () => agent.destroy(),
  };
}

const NO_ANSWER = 'No response within the time limit of an attempt';

async function post(
  { guard, clock, noAddressMs = NO_ADDRESS_MS }: HttpExchangeDeps,
  agent: Agent,
  request: Post,
): Promise<Exchanged> {
  const refusal = guard.refuseUrl(request.url);
  if (refusal) {
    const error = `${refusal}. Fix the URL`;
    return unanswered({ kind: 'failed', unknown: false, error });
  }
  const startedMs = clock.elapsed();
  const remainingMs = request.deadlineElapsedMs - startedMs;
  if (remainingMs <= 0) {
    const error = 'The deadline of the attempt passed before the request was sent';
    return unanswered({ kind: 'failed', unknown: false, ours: true, error });
  }
  const end = new AbortController();
  const cancel = clock.wakeAfter(remainingMs, () => end.abort(new GivenUp(NO_ANSWER)));
  try {
    return await exchange(agent, request, end, clock.now());
  } catch (error) {
    const fault: unknown = end.signal.aborted ? end.signal.reason : error;
    if (isUniform(fault)) {
      await pause(clock, startedMs + noAddressMs - clock.elapsed(), end.signal);
    }
    return unanswered(outcomeOfFault(fault));
  } finally {
    cancel();
  }
}

/** True for the errors that must not differ by their duration. */
function isUniform(fault: unknown): boolean {
  const kinds = [NoPublicAddress, ResolverSilent, NotReached];
  return kinds.some((kind) => fault instanceof kind);
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
        end.abort(new GivenUp('The endpoint sends too many interim responses (1xx)'));
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

/** Reads at most 16 KiB of the answer, then closes the connection. */
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
    // The status decides, even if the body breaks off or drips past the deadline.
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
/** The three date forms of section 5.6.7; servers today send the first one. */
const RETRY_DATES = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/**
 * The wait that a `Retry-After` header requests (RFC 9110, section 10.2.3), ms, never negative;
 * undefined if the header is absent or malformed. A date is relative to the answer's own `Date`
 * header, because both come from the endpoint's clock; without that header, it is relative to
 * `nowMs`.
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
  // The asctime form names no zone but means GMT, like the others.
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

// The excerpt: the beginning of an endpoint's answer, redacted for users. An endpoint may echo the
// request, so the URL's path and query (in chats they are the password) and the signing secrets are
// removed first, then everything that looks like a credential.

/** Bytes of an answer that are stored for users, after redaction. */
export const EXCERPT_BYTES_MAX = 4 * 1024;

/** Secrets that the excerpt must not contain. */
export interface Redactions {
  readonly url?: string;
  readonly secrets?: readonly string[];
}

const REDACTED = '[redacted]';
/** A shorter part of a URL is a word like `api`, not a secret. */
const PATH_PART_CHARS_MIN = 8;
const WHOLE_PATH_CHARS_MIN = 4;
/** As long as the shortest keys in use: 128 bits in hexadecimal. */
const OPAQUE_CHARS_MIN = 32;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Redacted text of at most 4 KiB. `isCut`: the answer was longer than these bytes. */
export function excerptOf(answer: Uint8Array, redactions: Redactions, isCut: boolean): string {
  if (answer.length === 0) return '';
  const text = redact(Buffer.from(answer).toString('utf8'), redactions);
  const kept = cutBytes(text, EXCERPT_BYTES_MAX);
  // A secret at the cut may have lost its end, so that no pattern recognizes it.
  return isCut && kept.length === text.length ? withoutLastWord(kept) : kept;
}

/** The longest prefix of a text that is at most `max` bytes of UTF-8. */
export function cutBytes(text: string, max: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= max) return text.toWellFormed();
  let end = max;
  // A byte 10xxxxxx continues a code point that began earlier.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** Longer words are cut in the middle, because no secret is that long. */
const LAST_WORD_CHARS_MAX = 2_048;

function withoutLastWord(text: string): string {
  const endMin = Math.max(0, text.length - LAST_WORD_CHARS_MAX);
  let end = text.length;
  while (end > endMin && /\S/.test(text.charAt(end - 1))) end--;
  return end === text.length ? text : `${text.slice(0, end)}…`;
}

/** The text without secrets and without invisible characters. Never throws. */
export function redact(text: string, { url, secrets = [] }: Redactions): string {
  const known = [
    ...(url === undefined ? [] : secretParts(url)),
    ...secrets.flatMap((secret) => [secret, secret.slice(6)]),
  ].flatMap(spellings);
  // Joiners stay, because Persian, Indic scripts and emoji need them.
  const printable = text.replaceAll(/[^\P{C}\n\t\u200c\u200d]/gu, ' ');
  const withoutKnown = without(printable, known);
  return scrubSecrets(withoutKnown)
    .replaceAll(/\b(Basic\s{1,4})[^\s"'\\,]{6,}/gi, `$1${REDACTED}`)
    .replaceAll(
      /((?:token|secret|password|api[_-]?key|signature|\bsig)["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"'\\,;&<]{4,}/gi,
      `$1${REDACTED}`,
    )
    .replaceAll(/[\w+=-]+/g, (word) => (isOpaque(word) ? REDACTED : word));
}

/** True for a long run of letters and digits that is neither typed by hand nor a UUID. */
function isOpaque(word: string): boolean {
  const isMixed = /\d/.test(word) && /[a-z]/i.test(word);
  return word.length >= OPAQUE_CHARS_MIN && isMixed && !UUID.test(word);
}

/**
 * Replaces every occurrence of each part, ignoring case. It searches by index, not by a pattern
 * built from the parts, because the error of a pattern that does not compile quotes it in full.
 */
function without(text: string, parts: readonly string[]): string {
  const folded = foldCase(text);
  const isSecret = new Uint8Array(text.length);
  // Most answers are a word or two, shorter than any of the parts.
  const fitting = parts.filter((part) => part.length <= text.length);
  for (const part of new Set(fitting.map(foldCase))) {
    if (part === '') continue;
    for (let at = folded.indexOf(part); at >= 0; at = folded.indexOf(part, at + part.length)) {
      isSecret.fill(1, at, at + part.length);
    }
  }
  let kept = '';
  for (let from = 0; from < text.length; ) {
    const start = isSecret.indexOf(1, from);
    if (start < 0) return kept + text.slice(from);
    kept += text.slice(from, start) + REDACTED;
    const end = isSecret.indexOf(0, start);
    from = end < 0 ? text.length : end;
  }
  return kept;
}

/** Folds ASCII only, so that every character keeps its index. */
function foldCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Path and query of a URL, whole and in parts; the whole text if it is not a URL. */
function secretParts(text: string): string[] {
  if (!URL.canParse(text)) return [text];
  const target = requestTarget(text);
  const { pathname, search, searchParams } = new URL(text);
  const [path = ''] = target.split('?', 1);
  const pieces = [...path.split('/'), ...search.slice(1).split(/[&=]/), ...searchParams.values()];
  return [
    ...[target, path, pathname].filter((part) => part.length >= WHOLE_PATH_CHARS_MIN),
    ...pieces.filter((piece) => piece.length >= PATH_PART_CHARS_MIN),
  ];
}

/** The forms in which an answer may contain the part: as written, encoded, decoded, JSON, HTML. */
function spellings(part: string): string[] {
  return [
    part,
    decoded(part),
    encodeURIComponent(part.toWellFormed()),
    JSON.stringify(part).slice(1, -1),
    part.replaceAll('/', '\\/'),
    part.replaceAll('&', '&amp;'),
  ];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A stray % is not an encoding.
    return part;
  }
}

// The outcome of an attempt, in the same words for all HTTP kinds. Each kind judges answers.
// Exchanges without an answer are judged by the error codes of Node, c-ares, OpenSSL and undici:
// whether anything was sent, whose fault it is, and the sentence for users. Error messages of those
// libraries are not repeated, because they name hosts and addresses that not every reader may know.

type Failed = Extract<AttemptOutcome, { kind: 'failed' }>;

/** An endpoint's answer, whatever its status. */
export interface Answer {
  readonly kind: 'answered';
  readonly httpStatus: number;
  /** The first 16 KiB, unredacted. For the kind to judge, never to store. */
  readonly text: string;
  /** The first 4 KiB, redacted. */
  readonly excerpt: string;
  readonly retryAfterMs?: number;
}

/** Statuses of an endpoint that asks for fewer requests, or is in trouble itself (HOOK-16). */
const SLOWING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The outcome of an answer that the kind judges a success. */
export function accepted({ httpStatus, excerpt }: Answer): AttemptOutcome {
  return { kind: 'accepted', httpStatus, ...excerptField(excerpt) };
}

/** A retry can help. */
export function failed(answer: Answer, error: string): Failed {
  const { httpStatus, excerpt, retryAfterMs } = answer;
  return {
    kind: 'failed',
    unknown: false,
    httpStatus,
    error,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(SLOWING.has(httpStatus) && { slows: true }),
    ...excerptField(excerpt),
  };
}

/**
 * A retry cannot help. `pauses`: no other message to that address can succeed either. `content`:
 * another form of the message may be accepted.
 */
export function refused(
  { httpStatus, excerpt }: Answer,
  error: string,
  { pauses, content = false }: { readonly pauses: boolean; readonly content?: boolean },
): AttemptOutcome {
  return {
    kind: 'refused',
    httpStatus,
    error,
    pauseDestination: pauses,
    ...(content && { content }),
    ...excerptField(excerpt),
  };
}

function excerptField(excerpt: string) {
  return excerpt === '' ? {} : { excerpt };
}

/** The reason for giving up an exchange, passed to its abort signal. */
class GivenUp extends Error {}

/** The outcome of an exchange that threw. Never throws. */
export function outcomeOfFault(error: unknown): Failed {
  if (error instanceof NoPublicAddress || error instanceof NotReached) return fault(error.message);
  if (error instanceof ResolverSilent || error instanceof ProxyFault)
    return { ...fault(error.message), ours: true };
  if (error instanceof GivenUp) return { ...fault(error.message), unknown: true };
  if (error instanceof NotConnected) return notConnected(error);
  const { code } = error as NodeJS.ErrnoException;
  if (OF_THIS_HOST.has(code)) {
    return { ...fault('This service could not open a connection'), ours: true };
  }
  const sentence = NOT_SENT.get(code);
  if (sentence !== undefined) return fault(sentence);
  if (isCertificateFault(code)) {
    const problem = CERTIFICATES.get(code) ?? `the certificate is not valid${codeInBrackets(code)}`;
    return fault(`TLS: ${problem}. Fix the URL or the certificate`);
  }
  if (isTlsFault(code)) return fault(`TLS: the handshake failed${codeInBrackets(code)}`);
  const broken = BROKEN.get(code) ?? `The request failed${codeInBrackets(code)}`;
  return { ...fault(broken), unknown: true };
}

/** Out of files, ports or memory, or a firewall on this machine. The operator has to fix it. */
const OF_THIS_HOST: ReadonlySet<unknown> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
]);

/** Without a connection nothing can have been accepted. With one, that is unknown. */
const NOT_SENT: ReadonlyMap<unknown, string> = new Map([
  ['ECONNREFUSED', 'Connection refused'],
  ['EHOSTUNREACH', 'The host cannot be reached'],
  ['ENETUNREACH', 'The host cannot be reached'],
  ['ETIMEDOUT', 'No connection within 3 s'],
  // The connection was opened before; see `dial.ts`.
  ['UND_ERR_CONNECT_TIMEOUT', 'TLS: no handshake within 3 s'],
]);

/**
 * One sentence if all addresses failed alike; otherwise one clause for each address family, because
 * a host often has addresses of a family that this machine cannot use.
 */
function notConnected({ failures }: NotConnected): Failed {
  const codes = [...new Set(failures.map(({ code }) => code))];
  if (codes.every((code) => OF_THIS_HOST.has(code))) {
    return { ...fault('This service could not open a connection'), ours: true };
  }
  const wordsOf = (code: string) => NOT_SENT.get(code) ?? `No connection${codeInBrackets(code)}`;
  const [code = '', ...others] = codes;
  if (others.length === 0) return fault(wordsOf(code));
  const clauses = failures.map((one) => `${one.family}: ${lowerFirst(wordsOf(one.code))}`);
  return fault(clauses.join('; '));
}

function lowerFirst(words: string): string {
  return words.charAt(0).toLowerCase() + words.slice(1);
}

const CERTIFICATES: ReadonlyMap<unknown, string> = new Map([
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'the certificate is for another host name'],
  ['CERT_HAS_EXPIRED', 'the certificate has expired'],
  ['CERT_NOT_YET_VALID', 'the certificate is not valid yet'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'the certificate is self-signed'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'the certificate authority is not trusted'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'the certificate authority is not trusted'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'the certificate authority is not trusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'the certificate authority is not trusted'],
]);

const BROKEN: ReadonlyMap<unknown, string> = new Map([
  ['ECONNRESET', 'The connection was closed before a response arrived'],
  ['EPIPE', 'The connection was closed before a response arrived'],
  ['UND_ERR_SOCKET', 'The connection was closed before a response arrived'],
  ['UND_ERR_HEADERS_OVERFLOW', 'The response headers are too long'],
]);

function isCertificateFault(code: unknown): boolean {
  return /^(?:ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(String(code));
}

/** True if the handshake failed, so that no byte of the request was sent. */
function isTlsFault(code: unknown): boolean {
  return code === 'EPROTO' || /^ERR_(?:SSL|TLS)_/.test(String(code));
}

/** The code, if it has the form of one. Other text could be from anyone. */
function codeInBrackets(code: unknown): string {
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? ` (${code})` : '';
}

function fault(error: string): Failed {
  return { kind: 'failed', unknown: false, error };
}

// The path and query of a URL, as the request line sends them. They are kept byte for byte where
// possible, because a Teams workflow signs its address and the URL parser would resolve dots and
// encode again.

/** Path and query as written; normalized by the parser if the text contains other characters. */
export function requestTarget(text: string): string {
  // The parser treats a backslash as a slash, so text with one is not cut as written.
  const written = /^https?:\/\/[^/?#]+([^#]*)/i.exec(text);
  const plain = /^[\x21-\x5b\x5d-\x7e]+$/.test(text);
  const { pathname, search } = new URL(text);
  if (!plain || written?.[1] === undefined) return pathname + search;
  return written[1].startsWith('/') ? written[1] : `/${written[1]}`;
}
