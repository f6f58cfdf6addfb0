/**
 * Why a call failed, as one type: the service's refusal with its reason, or what came instead of an
 * answer. `isDefinite` is what a mutation asks: was it decided, or may it have been saved?
 */

/** Where no answer came: the browser's own reasons beside those of the service. */
export type LocalReason =
  /** The service could not be reached, or the connection broke. */
  | 'NO_CONNECTION'
  /** No answer within the time limit. */
  | 'NO_ANSWER'
  /** Something that is not an answer of this service, such as a proxy's page. */
  | 'BAD_ANSWER'
  /** A failure that the service did not explain; its log does. */
  | 'INTERNAL';

export interface RpcErrorFields {
  /** Connect code, such as `permission_denied`; `unknown` where no answer came. */
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
  /** Facts such as `field`, `currentVersion` or `role`. */
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

  /** True when the same read may succeed a little later. */
  get isRetryable(): boolean {
    return RETRYABLE.has(this.reason);
  }

  /** True when the service decided: a mutation that met this was not carried out. */
  get isDefinite(): boolean {
    return !INDEFINITE.has(this.reason);
  }

  /** True when nobody is signed in any more. */
  get isSignedOut(): boolean {
    return this.code === 'unauthenticated';
  }

  /** True when the caller may not do this. */
  get isDenied(): boolean {
    return this.code === 'permission_denied';
  }

  /** True when the service cannot be reached, as opposed to having refused. */
  get isDisconnected(): boolean {
    return this.reason === 'NO_CONNECTION' || this.reason === 'NO_ANSWER';
  }
}

const RETRYABLE = new Set(['NO_CONNECTION', 'NO_ANSWER', 'NOT_READY', 'TOO_MANY_REQUESTS']);
// IN_PROGRESS: the change was accepted and is still being completed.
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

/** Wait before the next attempt: what the server asked for, else doubling from 1 s; 1 to 30 s. */
export function retryDelayMs(error: RpcError, attempt: number): number {
  const wanted = error.retryAfterMs ?? RETRY_MS_MIN * 2 ** Math.min(attempt, 5);
  return Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, wanted));
}

/** An error of the service from the body of its answer, in Connect's JSON. */
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

/** The ErrorInfo among the details: the service writes it as JSON beside its bytes. */
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
