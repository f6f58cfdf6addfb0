/**
 * Catalogue of refusals: each reason with its Connect code and an explanation. The API, the plain
 * HTTP routes and docs/errors.md are made from it. 429 only means "too many requests, back off"; a
 * request that is too large gets 400.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { errorToJson } from '@connectrpc/connect/protocol-connect';
import type { Refusal, RefusalReason } from '../../streams/platform/refusal.ts';
import { ErrorInfoSchema } from '../gen/svc/options/v1/error_pb.ts';

interface CatalogueEntry {
  readonly code: Code;
  /** HTTP status, if it is more exact than Connect's own status for the code. */
  readonly status?: number;
  readonly explanation: string;
}

export const errorCatalogue: Readonly<Record<RefusalReason, CatalogueEntry>> = {
  INVALID_FIELD: {
    code: Code.InvalidArgument,
    explanation: 'A field is missing or its value is not allowed; `field` names it',
  },
  TOO_MANY_POINTS: {
    code: Code.InvalidArgument,
    explanation:
      'The query exceeds 10,000 points per series, or the preview 10,000,000 samples. Use a larger step or a shorter range',
  },
  EXPRESSION_TOO_LONG: {
    code: Code.InvalidArgument,
    explanation: 'The expression is longer than 16 KiB',
  },
  RESPONSE_TOO_LARGE: {
    code: Code.InvalidArgument,
    explanation: 'The response would exceed 4 MiB. Request less',
  },
  REQUEST_TOO_LARGE: {
    code: Code.InvalidArgument,
    explanation:
      'The request body is too large. The limit is 64 KiB; for WriteSamples 1 MiB; for other methods with a list in the request 256 KiB; for methods without a credential 24 KiB. Decompressed bytes count too',
  },
  UNKNOWN_METRIC: {
    code: Code.InvalidArgument,
    explanation: 'There is no metric with that id. List them with ListMetricDescriptors',
  },
  REQUEST_ID_REUSED: {
    code: Code.InvalidArgument,
    explanation:
      'The request id was already used with another body. Resend the exact request, or generate a new id',
  },
  MISSING_CREDENTIAL: {
    code: Code.Unauthenticated,
    explanation: 'The request has no Authorization header with a bearer credential',
  },
  MALFORMED_CREDENTIAL: {
    code: Code.Unauthenticated,
    explanation: 'The credential is not one of this service; check that it was copied completely',
  },
  CREDENTIAL_EXPIRED: {
    code: Code.Unauthenticated,
    explanation: 'The credential, session or link has expired; get a new one',
  },
  CREDENTIAL_REVOKED: {
    code: Code.Unauthenticated,
    explanation:
      'The key was revoked or replaced, the session was ended, or the one-time link was used (`cause`); get a new one',
  },
  TOKEN_EPOCH: {
    code: Code.Unauthenticated,
    explanation:
      'The CI connection was changed or disabled after the token was issued; exchange again',
  },
  BAD_ASSERTION: {
    code: Code.Unauthenticated,
    explanation:
      'The CI identity token is not valid; `cause` says why. The response never repeats the token',
  },
  PROJECT_BOUNDARY: {
    code: Code.PermissionDenied,
    explanation:
      'The credential belongs to another project, or the person is not a member of this one. The response is the same whether or not the resource exists',
  },
  MISSING_CAPABILITY: {
    code: Code.PermissionDenied,
    explanation:
      'The caller lacks a permission. `capability` names the capability that the credential, or the owner of a new key, lacks; `role` names the role that is too low',
  },
  IDENTITY_DISABLED: {
    code: Code.PermissionDenied,
    explanation: 'The identity behind the credential is disabled',
  },
  GRANT_REMOVED: { code: Code.PermissionDenied, explanation: "The identity's grant was removed" },
  NETWORK_NOT_ALLOWED: {
    code: Code.PermissionDenied,
    explanation:
      'The key is bound to networks, and the request came from an address outside them. Use the key from there, or create one for the network of this client',
  },
  HUMAN_OPERATION: {
    code: Code.PermissionDenied,
    explanation: 'Only signed-in people may do this; no credential can',
  },
  SIGN_IN_TOO_OLD: {
    code: Code.PermissionDenied,
    explanation:
      'Making invitations, owners, keys, CI trusts and sessions of command lines needs a sign-in of the last 15 minutes (SVC_RECENT_SIGN_IN_MINUTES). Sign in again, then send the same request',
  },
  INSECURE_TRANSPORT: {
    code: Code.PermissionDenied,
    explanation:
      'The request arrived over plain http and bypassed the proxy that terminates TLS. Use the https address',
  },
  WRONG_HOST: {
    code: Code.FailedPrecondition,
    status: 421,
    explanation:
      'The Host header does not name this service (SVC_PUBLIC_URL, SVC_ALLOWED_HOSTS), or it is missing, repeated or malformed (then 400). The request itself may be fine. Resend it with the right host name',
  },
  EXCHANGE_DENIED: {
    code: Code.PermissionDenied,
    explanation:
      'The CI identity is not the approved one, or may not act now. `cause` says why, `claims` lists the differences as JSON, and `correlation` finds the refusal in the audit log',
  },
  NOT_FOUND: {
    code: Code.NotFound,
    explanation: "The caller's project has no resource with that name",
  },
  STALE_VERSION: {
    code: Code.Aborted,
    explanation: 'The edit is based on an older version; `currentVersion` is the latest',
  },
  IN_PROGRESS: {
    code: Code.Aborted,
    explanation:
      'An earlier change is still being completed, such as ending the tokens of a disabled account. Send the same request again a little later',
  },
  LIMIT_EXCEEDED: {
    code: Code.FailedPrecondition,
    explanation: 'The project, or one owner in it, has reached a limit; `limit` is its value',
  },
  INVALID_STATE: {
    code: Code.FailedPrecondition,
    explanation: 'The resource is in a state that does not allow this',
  },
  RECIPIENT_NOT_MEMBER: {
    code: Code.FailedPrecondition,
    explanation: 'Mail is sent only to verified addresses of members; `addresses` lists the others',
  },
  TOO_MANY_REQUESTS: {
    code: Code.ResourceExhausted,
    explanation: 'Too many requests. Back off and honour Retry-After',
  },
  QUERY_TIMEOUT: {
    code: Code.DeadlineExceeded,
    explanation: 'The query took longer than 10 seconds. Request less. Never read this as zero',
  },
  NOT_READY: {
    code: Code.Unavailable,
    explanation: 'A part of the service is not responding. The same request can be sent again',
  },
  UNKNOWN_PATH: {
    code: Code.Unimplemented,
    status: 404,
    explanation:
      'There is nothing at that path, or the service is older than its client and lacks the method',
  },
  METHOD_NOT_ALLOWED: {
    code: Code.Unimplemented,
    status: 405,
    explanation:
      'The path does not accept this HTTP method; the Allow header lists those it accepts',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    code: Code.InvalidArgument,
    status: 415,
    explanation: 'The path does not accept this Content-Type; the message names those it accepts',
  },
  INTERNAL: {
    code: Code.Internal,
    explanation:
      'The service failed. Its log has the cause, under the request id if the message names one',
  },
};

/** Default Retry-After of requests that can be sent again unchanged, seconds. */
const RETRY_AFTER_SECONDS = 1;

/**
 * The refusal as a Connect error with its `ErrorInfo`; 429, 503 and IN_PROGRESS carry
 * `Retry-After`; 401 says how to authenticate (RFC 9110, section 11.6.1).
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

/** The refusal as the body of a response: Connect's JSON error with its `ErrorInfo`. */
export function refusalBody(refusal: Refusal): string {
  return JSON.stringify(errorToJson(toConnectError(refusal), undefined));
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

/** HTTP status of a refusal on plain HTTP routes, the same as Connect would send. */
export function httpStatusOf(reason: RefusalReason): number {
  const { code, status } = errorCatalogue[reason];
  return status ?? HTTP_STATUS[code] ?? 500;
}

/** The text of docs/errors.md. */
export function errorsPage(): string {
  const rows = Object.entries(errorCatalogue).map(
    ([reason, { code, explanation }]) =>
      `| ${reason} | ${snakeCase(Code[code])} | ${httpStatusOf(reason as RefusalReason)} | ${explanation} |`,
  );
  return [
    '# Errors',
    '',
    "Every error of the API is Connect's JSON error with a detail `svc.options.v1.ErrorInfo {reason, metadata}`.",
    'Generated from `src/platform/errors.ts` by `npm run generate`.',
    '',
    '| reason | Connect code | HTTP | meaning and what to do |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function snakeCase(name: string | undefined): string {
  return (name ?? '').replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
}
