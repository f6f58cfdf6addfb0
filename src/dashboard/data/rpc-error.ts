/**
 * Why a call failed, as one type: the service's refusal with its reason, or the lack of a valid
 * response. `isDefinite` tells a mutation whether it was decided or may have been saved.
 */

/** Reasons of the browser for missing responses, in addition to those of the service. */
export type LocalReason =
  /** The service was unreachable, or the connection broke. */
  | 'NO_CONNECTION'
  /** No response within the time limit. */
  | 'NO_ANSWER'
  /** The response is not from this service, such as a proxy's page. */
  | 'BAD_ANSWER'
  /** A failure that the service did not explain; its log has the cause. */
  | 'INTERNAL';

export interface RpcErrorFields {
  /** Connect code, such as `permission_denied`; `unknown` without a response. */
  readonly code: string;
  /** A reason of docs/errors.md, or a `LocalReason`. */
  readonly reason: string;
  readonly message: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** From `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
}

export class RpcError extends Error {
  readonly code: string;
  readonly reason: string;
  /** Details such as `field`, `currentVersion` or `role`. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;

  constructor(fields: RpcErrorFields) {
    super(fields.message);
    this.name = 'RpcError';
    this.code = fields.code;
    this.reason = fields.reason;
    this.metadata = fields.metadata ?? {};
    this.retryAfterMs = fields.retryAfterMs;
  }

  /** True if the same read may succeed a little later. */
  get isRetryable(): boolean {
    return RETRYABLE.has(this.reason);
  }

  /** True if the service decided: a mutation that got this error was not applied. */
  get isDefinite(): boolean {
    return !INDEFINITE.has(this.reason);
  }

  /** True if the session is missing or has ended. */
  get isSignedOut(): boolean {
    return this.code === 'unauthenticated';
  }

  /** True if the user must sign in again, because the sign-in is not recent. */
  get isSignInTooOld(): boolean {
    return this.reason === 'SIGN_IN_TOO_OLD';
  }

  /** True if the caller lacks permission. */
  get isDenied(): boolean {
    return this.code === 'permission_denied';
  }

  /** True if the service is unreachable, as opposed to having refused. */
  get isDisconnected(): boolean {
    return this.reason === 'NO_CONNECTION' || this.reason === 'NO_ANSWER';
  }
}

const RETRYABLE = new Set(['NO_CONNECTION', 'NO_ANSWER', 'NOT_READY', 'TOO_MANY_REQUESTS']);
// IN_PROGRESS: the change was accepted and is not complete yet.
const INDEFINITE = new Set([
  'NO_CONNECTION',
  'NO_ANSWER',
  'BAD_ANSWER',
  'INTERNAL',
  'NOT_READY',
  'QUERY_TIMEOUT',
  'IN_PROGRESS',
]);

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;

/**
 * Delay before the next attempt: as requested by the server, otherwise doubling from 1 s; 1 to 30
 * s.
 */
export function retryDelayMs(error: RpcError, attempt: number): number {
  const wanted = error.retryAfterMs ?? RETRY_MS_MIN * 2 ** Math.min(attempt, 5);
  return Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, wanted));
}

/** An error of the service, parsed from the body of its response in Connect's JSON. */
export function parseRpcError(body: unknown, retryAfter: string | null): RpcError {
  const fields = isRecord(body) ? body : {};
  const code = typeof fields.code === 'string' ? fields.code : undefined;
  const message = typeof fields.message === 'string' ? fields.message : '';
  const retryAfterMs = retryAfterOf(retryAfter);
  if (code === undefined) {
    return new RpcError({ code: 'unknown', reason: 'BAD_ANSWER', message, retryAfterMs });
  }
  const info = errorInfoOf(fields.details);
  const reason = info?.reason ?? 'INTERNAL';
  return new RpcError({ code, reason, message, metadata: info?.metadata ?? {}, retryAfterMs });
}

function retryAfterOf(header: string | null): number | undefined {
  if (header === null || !/^\d+$/.test(header)) return undefined;
  return Number(header) * 1_000;
}

interface ErrorInfo {
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The ErrorInfo among the details; the service writes it as JSON besides its bytes. */
function errorInfoOf(details: unknown): ErrorInfo | undefined {
  if (!Array.isArray(details)) return undefined;
  const detail: unknown = details.find(
    (each) => isRecord(each) && each.type === 'svc.options.v1.ErrorInfo',
  );
  const debug = isRecord(detail) ? detail.debug : undefined;
  if (!isRecord(debug) || typeof debug.reason !== 'string') return undefined;
  const metadata = isRecord(debug.metadata) ? debug.metadata : {};
  return {
    reason: debug.reason,
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [key, String(value)]),
    ),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
