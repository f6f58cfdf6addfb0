/**
 * A caller's mistake, with a stable reason: thrown by a decision to refuse. The API maps the reason
 * to a status in one catalogue (`src/platform/errors.ts`); the message names the value seen and the
 * remedy.
 */
export const REFUSAL_REASONS = [
  'INVALID_FIELD',
  'TOO_MANY_POINTS',
  'EXPRESSION_TOO_LONG',
  'RESPONSE_TOO_LARGE',
  'REQUEST_TOO_LARGE',
  'UNKNOWN_METRIC',
  'REQUEST_ID_REUSED',
  'MISSING_CREDENTIAL',
  'MALFORMED_CREDENTIAL',
  'CREDENTIAL_EXPIRED',
  'CREDENTIAL_REVOKED',
  'TOKEN_EPOCH',
  'BAD_ASSERTION',
  'PROJECT_BOUNDARY',
  'MISSING_CAPABILITY',
  'IDENTITY_DISABLED',
  'GRANT_REMOVED',
  'NETWORK_NOT_ALLOWED',
  'HUMAN_OPERATION',
  'SIGN_IN_TOO_OLD',
  'INSECURE_TRANSPORT',
  'WRONG_HOST',
  'EXCHANGE_DENIED',
  'NOT_FOUND',
  'STALE_VERSION',
  'IN_PROGRESS',
  'LIMIT_EXCEEDED',
  'INVALID_STATE',
  'RECIPIENT_NOT_MEMBER',
  'TOO_MANY_REQUESTS',
  'QUERY_TIMEOUT',
  'NOT_READY',
  'UNKNOWN_PATH',
  'METHOD_NOT_ALLOWED',
  'UNSUPPORTED_MEDIA_TYPE',
  'INTERNAL',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

export class Refusal extends Error {
  readonly reason: RefusalReason;
  /** Facts a program can use, e.g. `currentVersion`; never a secret. */
  readonly metadata: Readonly<Record<string, string>>;

  constructor(
    reason: RefusalReason,
    message: string,
    metadata: Readonly<Record<string, string>> = {},
  ) {
    // A message may quote half of a surrogate pair, from a caller's text or a truncated one. JSON
    // cannot hold it.
    super(message.toWellFormed());
    this.name = 'Refusal';
    this.reason = reason;
    this.metadata = Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [name, value.toWellFormed()]),
    );
  }
}

/**
 * The refusal of one field's value. The message names the field, the value and the valid values.
 */
export function invalidField(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}
