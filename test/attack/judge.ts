/**
 * The judge of every answer, whatever the request: a known status in a well-formed envelope,
 * without a stack trace, a path of this machine, a secret, or a word of another tenant. A 5xx is a
 * fault unless the service sends it on purpose.
 */
import { fileURLToPath } from 'node:url';
import { REFUSAL_REASONS } from '../../streams/platform/refusal.ts';
import { CANARY_PREFIX } from './tenants.ts';
import { bytesOf, type WireAnswer, type WireRequest } from './wire.ts';

/** Contents forbidden in every answer. */
export interface Forbidden {
  /**
   * Secrets of the calling tenant and of the service; answers that return one once are not judged
   * here.
   */
  readonly secrets: readonly string[];
  /** Texts of every other tenant. */
  readonly texts: readonly string[];
  /** Paths of this machine, such as the data folder. */
  readonly paths: readonly string[];
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** Statuses below 500 that the service uses. */
const KNOWN = new Set([
  200, 202, 204, 303, 304, 307, 400, 401, 403, 404, 405, 406, 408, 409, 413, 414, 415, 417, 421,
  422, 426, 429, 431,
]);

/**
 * The deliberate ones, each with the text that it must contain: a query timed out, or a part is
 * unavailable. With 501, Connect rejects an unsupported compression or protocol.
 */
const DELIBERATE: Readonly<Record<number, RegExp>> = {
  501: /"code":"unimplemented"/,
  503: /NOT_READY|"errorType":"timeout"|"ready":false/,
  504: /QUERY_TIMEOUT/,
};

const TRACE =
  /\n\s+at .+[:(]\d+|node:internal|node_modules|\.ts:\d+:\d+|file:\/\/\/\S*\/(?:src|actors|sqlite|streams|machines|bin)\//;
const CANARY = new RegExp(`${CANARY_PREFIX}[a-z0-9]+`, 'gi');

/** Why the answer is wrong; undefined if it is right. `sent` is the request as text. */
export function problemOf(
  answer: WireAnswer,
  sent: string,
  forbidden: Forbidden,
): string | undefined {
  return statusProblem(answer) ?? envelopeProblem(answer) ?? textProblem(answer, sent, forbidden);
}

/** The content of a request, as an answer may repeat it. */
export function sentText(request: WireRequest): string {
  return bytesOf(request).toString('utf8');
}

function statusProblem({ status, text, failure }: WireAnswer): string | undefined {
  if (failure === 'not HTTP') return 'the answer is not HTTP';
  if (failure === 'timeout') return 'no complete answer arrived in time';
  if (failure === 'closed') return 'the connection was closed without an answer';
  if (KNOWN.has(status)) return undefined;
  if (status >= 500) return DELIBERATE[status]?.test(text) ? undefined : `${status} is a fault`;
  return `${status} is no status of this service`;
}

function envelopeProblem({ status, headers, text }: WireAnswer): string | undefined {
  const type = headers.get('content-type') ?? '';
  if (!type.startsWith('application/json') || text === '') return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return 'the answer says that it is JSON, but it is not';
  }
  if (status < 400 || typeof body !== 'object' || body === null) return undefined;
  return refusalProblem(body as Record<string, unknown>);
}

function refusalProblem(body: Record<string, unknown>): string | undefined {
  // The envelope of Prometheus or Connect, or the report of /readyz.
  if (body.status === 'error') {
    const isWhole = typeof body.errorType === 'string' && typeof body.error === 'string';
    return isWhole ? undefined : 'a PromQL refusal lacks errorType or error';
  }
  if ('ready' in body) return undefined;
  if (typeof body.code !== 'string') return 'a refusal has no code';
  for (const { debug } of (body.details ?? []) as { debug?: { reason?: string } }[]) {
    const { reason } = debug ?? {};
    if (reason !== undefined && !(REFUSAL_REASONS as readonly string[]).includes(reason)) {
      return `the reason ${reason} is not in the catalogue`;
    }
  }
  return undefined;
}

function textProblem(
  { text, headers }: WireAnswer,
  sent: string,
  forbidden: Forbidden,
): string | undefined {
  const whole = `${text}\n${[...headers.values()].join('\n')}`;
  return forbiddenIn(whole, sent, forbidden);
}

/** The first forbidden item in a text that `sent` does not contain. */
export function forbiddenIn(text: string, sent: string, forbidden: Forbidden): string | undefined {
  const trace = TRACE.exec(text);
  if (trace && !sent.includes(trace[0].trim()))
    return `a stack trace or a path: ${trace[0].trim()}`;
  for (const path of [ROOT, ...forbidden.paths]) {
    if (text.includes(path) && !sent.includes(path)) return `a path of this machine: ${path}`;
  }
  for (const secret of forbidden.secrets) {
    if (text.includes(secret) && !sent.includes(secret)) return `a secret: ${secret.slice(0, 12)}…`;
  }
  for (const foreign of forbidden.texts) {
    if (text.includes(foreign) && !sent.includes(foreign)) return `another tenant's: ${foreign}`;
  }
  const requested = sent.toLowerCase();
  const known = forbidden.texts.map((each) => each.toLowerCase());
  for (const [found] of text.matchAll(CANARY)) {
    const canary = found.toLowerCase();
    if (known.some((each) => each.includes(canary)) && !requested.includes(canary)) {
      return `a canary of another tenant: ${found}`;
    }
  }
  return undefined;
}

/** Reason of a refusal in Connect's envelope, or undefined. */
export function reasonOf({ text }: WireAnswer): string | undefined {
  return /"reason":"([A-Z_]+)"/.exec(text)?.[1];
}
