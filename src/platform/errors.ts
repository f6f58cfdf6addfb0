/**
 * The catalogue of refusals: each reason with its Connect code and one line of explanation. The
 * API, the plain HTTP routes and docs/errors.md are made from it. 429 is only for "too many
 * requests, back off"; whatever is too large is the caller's to narrow and answers 400.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import type { Refusal, RefusalReason } from '../../streams/platform/refusal.ts';
import { ErrorInfoSchema } from '../gen/svc/options/v1/error_pb.ts';

interface CatalogueEntry {
  readonly code: Code;
  /** Where HTTP says it more exactly than Connect's own status of the code. */
  readonly status?: number;
  readonly explanation: string;
}

export const errorCatalogue: Readonly<Record<RefusalReason, CatalogueEntry>> = {
  INVALID_FIELD: {
    code: Code.InvalidArgument,
    explanation: 'A field is missing or has a value that cannot be; `field` names it',
  },
  TOO_MANY_POINTS: {
    code: Code.InvalidArgument,
    explanation:
      'More than 10,000 points a series, or 10,000,000 samples of a preview: take a larger step or a shorter range',
  },
  EXPRESSION_TOO_LONG: {
    code: Code.InvalidArgument,
    explanation: 'An expression of more than 16 KiB',
  },
  RESPONSE_TOO_LARGE: {
    code: Code.InvalidArgument,
    explanation: 'The answer would exceed 4 MiB: ask for less',
  },
  REQUEST_TOO_LARGE: {
    code: Code.InvalidArgument,
    explanation:
      'The request body exceeds 64 KiB; 1 MiB of WriteSamples, 256 KiB of other methods whose requests hold a list, 24 KiB of methods that ask for no credential. Unpacked bytes count too',
  },
  UNKNOWN_METRIC: {
    code: Code.InvalidArgument,
    explanation: 'No metric of that id; ListMetricDescriptors lists them',
  },
  REQUEST_ID_REUSED: {
    code: Code.InvalidArgument,
    explanation:
      'The request id was used with another body: resend the exact request, or make a new id',
  },
  MISSING_CREDENTIAL: {
    code: Code.Unauthenticated,
    explanation: 'No Authorization header with a bearer credential',
  },
  MALFORMED_CREDENTIAL: {
    code: Code.Unauthenticated,
    explanation: 'The credential is not one of this service: check that it was copied whole',
  },
  CREDENTIAL_EXPIRED: {
    code: Code.Unauthenticated,
    explanation: 'The credential, session or link is past its lifetime: get a new one',
  },
  CREDENTIAL_REVOKED: {
    code: Code.Unauthenticated,
    explanation:
      'The key was revoked or replaced, the session was ended, or the one-time link was used (`cause`): get a new one',
  },
  TOKEN_EPOCH: {
    code: Code.Unauthenticated,
    explanation:
      'Permissions of the CI connection changed, or it was disabled, after the token was made: exchange again',
  },
  BAD_ASSERTION: {
    code: Code.Unauthenticated,
    explanation: 'The CI identity token does not hold; `cause` tells why. It is never told back',
  },
  PROJECT_BOUNDARY: {
    code: Code.PermissionDenied,
    explanation:
      'The credential belongs to another project, or the person is no member of this one; said whether or not the thing exists',
  },
  MISSING_CAPABILITY: {
    code: Code.PermissionDenied,
    explanation:
      'What this needs is not granted: `capability` tells what the credential, or the owner of a new key, lacks; `role` the role that is not enough',
  },
  IDENTITY_DISABLED: {
    code: Code.PermissionDenied,
    explanation: 'The identity behind the credential is disabled',
  },
  GRANT_REMOVED: { code: Code.PermissionDenied, explanation: "The identity's grant was removed" },
  HUMAN_OPERATION: {
    code: Code.PermissionDenied,
    explanation: 'Only people who have signed in may do this; no credential can',
  },
  INSECURE_TRANSPORT: {
    code: Code.PermissionDenied,
    explanation:
      'The request came over plain http past the proxy that ends TLS: ask at the https address',
  },
  WRONG_HOST: {
    code: Code.FailedPrecondition,
    status: 421,
    explanation:
      'The Host header is none of the service (SVC_PUBLIC_URL, SVC_ALLOWED_HOSTS), or is missing, repeated or malformed (then 400). It says nothing about the request itself: keep it, and ask under the right name',
  },
  EXCHANGE_DENIED: {
    code: Code.PermissionDenied,
    explanation:
      'The CI identity is not the approved one, or may not act now: `cause` tells why, `claims` lists what differs, as JSON, and `correlation` finds it in the audit',
  },
  NOT_FOUND: {
    code: Code.NotFound,
    explanation: "Nothing of that name in the caller's own project",
  },
  STALE_VERSION: {
    code: Code.Aborted,
    explanation: 'The edit is based on an older version; `currentVersion` tells the latest',
  },
  IN_PROGRESS: {
    code: Code.Aborted,
    explanation:
      'What an earlier change began is being finished (tokens of a disabled account are still being ended): resend the same request a little later',
  },
  LIMIT_EXCEEDED: {
    code: Code.FailedPrecondition,
    explanation: 'A limit of the project, or of one owner in it, is reached; `limit` tells it',
  },
  INVALID_STATE: {
    code: Code.FailedPrecondition,
    explanation: 'The thing is in a state that does not allow this',
  },
  RECIPIENT_NOT_MEMBER: {
    code: Code.FailedPrecondition,
    explanation: 'Mail goes to verified addresses of members alone; `addresses` tells the others',
  },
  TOO_MANY_REQUESTS: {
    code: Code.ResourceExhausted,
    explanation: 'Too many at once: back off, and honour Retry-After',
  },
  QUERY_TIMEOUT: {
    code: Code.DeadlineExceeded,
    explanation: 'The query took longer than 10 seconds: ask for less. Never to be read as zero',
  },
  NOT_READY: {
    code: Code.Unavailable,
    explanation: 'Part of the service does not answer; the same request may be sent again',
  },
};

/** Seconds a caller is told to wait where the same request may be sent again. */
const RETRY_AFTER_SECONDS = 1;

/**
 * The refusal as Connect tells it, with its `ErrorInfo`; 429, 503 and IN_PROGRESS carry `Retry-After`,
 * 401 says how to authenticate (RFC 9110, section 11.6.1).
 */
export function toConnectError(refusal: Refusal): ConnectError {
  const { code } = errorCatalogue[refusal.reason];
  const error = new ConnectError(refusal.message, code, undefined, [
    {
      desc: ErrorInfoSchema,
      value: { reason: refusal.reason, metadata: { ...refusal.metadata } },
    },
  ]);
  const isBusy = code === Code.ResourceExhausted || code === Code.Unavailable;
  if (isBusy || refusal.reason === 'IN_PROGRESS') {
    error.metadata.set(
      'retry-after',
      refusal.metadata.retryAfterSeconds ?? String(RETRY_AFTER_SECONDS),
    );
  }
  if (code === Code.Unauthenticated) error.metadata.set('www-authenticate', 'Bearer');
  return error;
}

/** HTTP status of each Connect code (Connect protocol, "Error codes"). */
const HTTP_STATUS: Partial<Record<Code, number>> = {
  [Code.InvalidArgument]: 400,
  [Code.FailedPrecondition]: 400,
  [Code.Unauthenticated]: 401,
  [Code.PermissionDenied]: 403,
  [Code.NotFound]: 404,
  [Code.Aborted]: 409,
  [Code.ResourceExhausted]: 429,
  [Code.Unavailable]: 503,
  [Code.DeadlineExceeded]: 504,
};

/** HTTP status of a refusal: what plain HTTP routes answer, the same as Connect would. */
export function httpStatusOf(reason: RefusalReason): number {
  const { code, status } = errorCatalogue[reason];
  return status ?? HTTP_STATUS[code] ?? 500;
}

/** docs/errors.md, whole. */
export function errorsPage(): string {
  const rows = Object.entries(errorCatalogue).map(
    ([reason, { code, explanation }]) =>
      `| ${reason} | ${snakeCase(Code[code])} | ${httpStatusOf(reason as RefusalReason)} | ${explanation} |`,
  );
  return [
    '# Errors',
    '',
    "Every error of the API is Connect's JSON error with a detail `svc.options.v1.ErrorInfo {reason, metadata}`.",
    'Made from `src/platform/errors.ts` by `npm run generate`.',
    '',
    '| reason | Connect code | HTTP | what it means, and what would do |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function snakeCase(name: string | undefined): string {
  return (name ?? '').replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
}
