/**
 * Which calls go out again, and when. Again is always the very same message, its request id
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

const BACK_OFF_MS_MAX = 30_000;

/**
 * Milliseconds to wait before the call goes out again; undefined = it does not.
 *
 * @param tries made so far, at least 1
 */
export function retryWaitMs(
  call: { readonly method: DescMethod; readonly message: object; readonly tries: number },
  error: unknown,
  { triesMax, retryAfterMsMax }: RetrySettings,
  random: Random,
): number | undefined {
  const { method, message, tries } = call;
  if (!(error instanceof ConnectError) || tries >= triesMax) return undefined;
  if (!isWorthIt(error) || !mayRepeat(method, message, error)) return undefined;
  const header = error.metadata.get('retry-after');
  const asked = header === null ? undefined : retryAfterMs(header);
  if (asked !== undefined) return asked <= retryAfterMsMax ? asked : undefined;
  // 0.5 s, 1 s, 2 s and so on, and up to a fifth more, so that many clients do not come back at once.
  return Math.min(2 ** (tries - 1) * 500, BACK_OFF_MS_MAX) * (1 + fraction(random) / 5);
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
function isWorthIt(error: ConnectError): boolean {
  if (error.code === Code.ResourceExhausted || error.code === Code.Unavailable) return true;
  return reasonOf(error) === 'IN_PROGRESS' || isLost(error);
}

function mayRepeat(method: DescMethod, message: object, error: ConnectError): boolean {
  if (method.methodKind !== 'unary') return false;
  if (!getOption(method, policy).mutation) return true;
  if ('requestId' in message && message.requestId !== '') return true;
  // Refused by the service itself, in so many words: nothing was done.
  return reasonOf(error) !== undefined;
}

/** No answer came over the connection: whether the request arrived is not known. */
function isLost(error: ConnectError): boolean {
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return LOST.has(cause.code);
  }
  return false;
}

const LOST = new Set(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN']);
