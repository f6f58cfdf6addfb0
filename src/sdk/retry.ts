/**
 * Which calls go out again, and when: of programs and of the command line. Again is always the very same message, its request id
 * included: a change whose answer is lost may have been made, and only under the same id is it not
 * made twice (API-02). What carries no request id and changes something is
 * repeated only where the service said that it did nothing.
 */
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { fraction, type Random } from '../../streams/platform/random.ts';
import { ErrorInfoSchema } from '../gen/svc/options/v1/error_pb.ts';
import { policy } from '../gen/svc/options/v1/policy_pb.ts';

export interface RetrySettings {
  /** Tries of one call in all, the first one included; 1 = never again. */
  readonly triesMax: number;
  /** A longer wait than this is an error instead, ms. */
  readonly retryAfterMsMax: number;
}

export const DEFAULT_RETRIES: RetrySettings = { triesMax: 4, retryAfterMsMax: 30_000 };

export interface RetryRule extends RetrySettings {
  /** true: a service that nobody can reach is waited for; false: that is reported at once. */
  readonly waitsForAbsent: boolean;
  /** Makes waits up to a fifth longer, so that many clients do not come back at once. */
  readonly random?: Random;
}

const BACK_OFF_MS_MAX = 30_000;

/**
 * Milliseconds to wait before a call may go out again; undefined = that would not help.
 *
 * @param tries made so far, at least 1
 */
export function retryWaitMs(error: unknown, tries: number, rule: RetryRule): number | undefined {
  if (!(error instanceof ConnectError && isWorthIt(error, rule))) return undefined;
  return waitMsOf(error.metadata.get('retry-after'), tries, rule);
}

/** As `retryWaitMs`, of an answer that is worth another try: by its `Retry-After`, null = none. */
export function waitMsOf(
  retryAfter: string | null,
  tries: number,
  rule: Omit<RetryRule, 'waitsForAbsent'>,
): number | undefined {
  if (tries >= rule.triesMax) return undefined;
  const asked = retryAfter === null ? undefined : retryAfterMs(retryAfter);
  if (asked !== undefined) return asked <= rule.retryAfterMsMax ? asked : undefined;
  // 0.5 s, 1 s, 2 s and so on.
  const backOffMs = Math.min(2 ** (tries - 1) * 500, BACK_OFF_MS_MAX);
  return rule.random ? backOffMs * (1 + fraction(rule.random) / 5) : backOffMs;
}

/** Seconds of a `Retry-After` in milliseconds; undefined where it is a date, which we never send. */
export function retryAfterMs(header: string): number | undefined {
  return /^\d{1,9}$/.test(header) ? Number(header) * 1000 : undefined;
}

/** Reason of our error catalogue (docs/errors.md); undefined = the service did not say it. */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  return error.findDetails(ErrorInfoSchema)[0]?.reason;
}

/** Facts of a refusal that a program can use, such as `currentVersion`; {} = none. */
export function metadataOf(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof ConnectError)) return {};
  return error.findDetails(ErrorInfoSchema)[0]?.metadata ?? {};
}

/** 429, 503, a lost answer, or a change of ours that is still being finished. */
function isWorthIt(error: ConnectError, { waitsForAbsent }: RetryRule): boolean {
  if (isUntrusted(error)) return false;
  if (isUnreached(error)) return waitsForAbsent;
  // Without the header it is our own bound on the size of an answer, which no wait changes.
  const isLimited = error.code === Code.ResourceExhausted && error.metadata.has('retry-after');
  return (
    isLimited ||
    error.code === Code.Unavailable ||
    reasonOf(error) === 'IN_PROGRESS' ||
    isWithoutAnswer(error)
  );
}

/**
 * True for a call that is not made twice when it is sent twice: a read, or one with a request id or,
 * of samples, a batch id.
 */
export function isRepeatable(method: DescMethod, message: object): boolean {
  if (method.methodKind !== 'unary') return false;
  if (!getOption(method, policy).mutation) return true;
  const hasId = (field: string): boolean =>
    field in message && message[field as keyof typeof message] !== '';
  return hasId('requestId') || hasId('batchId');
}

/** No answer of the service: the network's fault, our own patience, or a gateway in between. */
export function isWithoutAnswer(error: ConnectError): boolean {
  if (reasonOf(error) !== undefined) return false;
  if (networkCodeOf(error) !== undefined) return true;
  return error.code === Code.DeadlineExceeded || error.code === Code.Unavailable;
}

const UNREACHED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

/** The request left this machine for nobody: nothing can have been done. */
export function isUnreached(error: ConnectError): boolean {
  return UNREACHED.includes(networkCodeOf(error) ?? '');
}

/** Authorities that this machine does not know. */
const UNKNOWN_AUTHORITY = [
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
];
const BAD_CERTIFICATE = ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID'];

/** Its certificate was not accepted, so that nothing was sent; the next try would end alike. */
export function isUntrusted(error: ConnectError): boolean {
  return certificateProblem(networkCodeOf(error)) !== undefined;
}

/** What a network error's code says of a certificate, and what to do; undefined = nothing. */
export function certificateProblem(code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  if (BAD_CERTIFICATE.includes(code)) return `its certificate is not valid (${code})`;
  if (!UNKNOWN_AUTHORITY.includes(code)) return undefined;
  return (
    `the authority of its certificate is not known here (${code}): name the authority's file ` +
    'in NODE_EXTRA_CA_CERTS'
  );
}

/** Code of the network error behind it, such as ECONNRESET. */
export function networkCodeOf(error: ConnectError): string | undefined {
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code;
  }
  return undefined;
}
