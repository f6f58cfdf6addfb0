/**
 * Decides which calls are retried, and when, for programs and the command line. A retry is always
 * the very same message, including its request id: a change whose response is lost may have been
 * made, and only the same id keeps it from being made twice (API-02). A change without a request id
 * is retried only if the service reported that it did nothing.
 */
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { fraction, type Random } from '../../streams/platform/random.ts';
import { ErrorInfoSchema } from '../gen/svc/options/v1/error_pb.ts';
import { policy } from '../gen/svc/options/v1/policy_pb.ts';

export interface RetrySettings {
  /** Maximum tries of one call, including the first one; 1 = no retry. */
  readonly triesMax: number;
  /** Maximum wait before a retry, ms. A longer wait is an error instead. */
  readonly retryAfterMsMax: number;
}

export const DEFAULT_RETRIES: RetrySettings = { triesMax: 4, retryAfterMsMax: 30_000 };

export interface RetryRule extends RetrySettings {
  /** true: waits for an unreachable service; false: reports it at once. */
  readonly waitsForAbsent: boolean;
  /** Lengthens waits by up to a fifth, so that many clients do not return at the same time. */
  readonly random?: Random;
}

const BACK_OFF_MS_MAX = 30_000;

/**
 * Milliseconds to wait before a call may be retried; undefined if a retry would not help.
 *
 * @param tries made so far, at least 1
 */
export function retryWaitMs(error: unknown, tries: number, rule: RetryRule): number | undefined {
  if (!(error instanceof ConnectError && isWorthIt(error, rule))) return undefined;
  return waitMsOf(error.metadata.get('retry-after'), tries, rule);
}

/**
 * Like `retryWaitMs`, for a response that is worth another try: by its `Retry-After`, null = none.
 */
export function waitMsOf(
  retryAfter: string | null,
  tries: number,
  rule: Omit<RetryRule, 'waitsForAbsent'>,
): number | undefined {
  if (tries >= rule.triesMax) return undefined;
  const requested = retryAfter === null ? undefined : retryAfterMs(retryAfter);
  // A wait of zero would use up all tries at once.
  if (requested) return requested <= rule.retryAfterMsMax ? requested : undefined;
  // 0.5 s, 1 s, 2 s and so on.
  const backOffMs = Math.min(2 ** (tries - 1) * 500, BACK_OFF_MS_MAX);
  return rule.random ? backOffMs * (1 + fraction(rule.random) / 5) : backOffMs;
}

/** Value of a `Retry-After` header, converted from s to ms; undefined if it is a date, which the service never sends. */
export function retryAfterMs(header: string): number | undefined {
  return /^\d{1,9}$/.test(header) ? Number(header) * 1000 : undefined;
}

/**
 * Reason of our error catalogue (docs/errors.md); undefined if the error is not from the service.
 */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  return error.findDetails(ErrorInfoSchema)[0]?.reason;
}

/** Facts of a refusal that a program can use, such as `currentVersion`; {} = none. */
export function metadataOf(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof ConnectError)) return {};
  return error.findDetails(ErrorInfoSchema)[0]?.metadata ?? {};
}

/** 429, 503, a lost response, or a change of ours that is still being finished. */
function isWorthIt(error: ConnectError, { waitsForAbsent }: RetryRule): boolean {
  if (isUntrusted(error)) return false;
  if (isUnreached(error)) return waitsForAbsent;
  // Without the header it is our own bound on the size of a response, which no wait changes.
  const isLimited = error.code === Code.ResourceExhausted && error.metadata.has('retry-after');
  return (
    isLimited ||
    error.code === Code.Unavailable ||
    reasonOf(error) === 'IN_PROGRESS' ||
    isWithoutAnswer(error)
  );
}

/**
 * True for a call that is not made twice if it is sent twice: a read, or one with a request id or,
 * for samples, a batch id.
 */
export function isRepeatable(method: DescMethod, message: object): boolean {
  if (method.methodKind !== 'unary') return false;
  if (!getOption(method, policy).mutation) return true;
  const hasId = (field: string): boolean =>
    field in message && message[field as keyof typeof message] !== '';
  return hasId('requestId') || hasId('batchId');
}

/** No response from the service: a network fault, our own timeout, or a gateway in between. */
export function isWithoutAnswer(error: ConnectError): boolean {
  if (reasonOf(error) !== undefined) return false;
  if (networkCodeOf(error) !== undefined) return true;
  return error.code === Code.DeadlineExceeded || error.code === Code.Unavailable;
}

const UNREACHED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

/** The request did not reach any service, so nothing can have been done. */
export function isUnreached(error: ConnectError): boolean {
  return UNREACHED.includes(networkCodeOf(error) ?? '');
}

/** Codes for authorities that this machine does not know. */
const UNKNOWN_AUTHORITY = [
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
];
const BAD_CERTIFICATE = ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID'];

/** Its certificate was not accepted, so nothing was sent. The next try would fail too. */
export function isUntrusted(error: ConnectError): boolean {
  return certificateProblem(networkCodeOf(error)) !== undefined;
}

/**
 * The problem of a certificate according to a network error's code, and what to do; undefined if
 * there is none.
 */
export function certificateProblem(code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  if (BAD_CERTIFICATE.includes(code)) return `its certificate is not valid (${code})`;
  if (!UNKNOWN_AUTHORITY.includes(code)) return undefined;
  return (
    `the authority of its certificate is not known here (${code}). Name the authority's file ` +
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
