/**
 * What happened and what to do next, for each reason for which a call can fail. A test checks this
 * table against the service's list of reasons, in both directions.
 */
import { localized } from './localized.ts';

/** The error to explain: an `RpcError`. */
interface Failure {
  readonly reason: string;
  /** The message that the service sent. */
  readonly message: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

interface Explanation {
  readonly [key: string]: string;
  readonly what: string;
  readonly next: string;
}

/** Errors that only a page of another version can cause. */
const otherVersion = {
  what: 'This page and the service have different versions',
  next: 'Reload the page.',
} as const;

/**
 * Explanations by reason: first those in docs/errors.md, then those of the browser (`LocalReason`).
 */
export const explanations: Readonly<Record<string, Explanation>> = localized({
  INVALID_FIELD: {
    what: 'A field is missing or its value is not allowed',
    next: 'Correct the named field and try again.',
  },
  TOO_MANY_POINTS: {
    what: 'The response would contain too many points',
    next: 'Choose a shorter range or fewer VMs.',
  },
  EXPRESSION_TOO_LONG: {
    what: 'The expression is longer than 16 KiB',
    next: 'Shorten or split it.',
  },
  RESPONSE_TOO_LARGE: {
    what: 'The response would exceed 4 MiB',
    next: 'Choose a shorter range or fewer metrics.',
  },
  REQUEST_TOO_LARGE: {
    what: 'The request is too large',
    next: 'Send less at once.',
  },
  UNKNOWN_METRIC: {
    what: 'This metric does not exist',
    next: 'Choose a metric from the list.',
  },
  REQUEST_ID_REUSED: {
    what: 'An earlier change used the same id',
    next: 'Reload the page to see what was saved, then make the change again.',
  },
  MISSING_CREDENTIAL: { what: 'You are signed out', next: 'Sign in again.' },
  MALFORMED_CREDENTIAL: {
    what: 'The session does not belong to this service',
    next: 'Sign in again.',
  },
  CREDENTIAL_EXPIRED: { what: 'The session has expired', next: 'Sign in again.' },
  CREDENTIAL_REVOKED: { what: 'The session was ended', next: 'Sign in again.' },
  TOKEN_EPOCH: {
    what: 'The CI connection was changed after the token was issued',
    next: 'Run the job again.',
  },
  BAD_ASSERTION: {
    what: 'The identity token of the CI job is not valid',
    next: 'Check the cause, then run the job again.',
  },
  PROJECT_BOUNDARY: {
    what: 'You are not a member of this project, or it does not exist',
    next: 'Ask a project owner for an invitation.',
  },
  MISSING_CAPABILITY: {
    what: 'Your role does not allow this',
    next: 'A project owner can change your role on the Members page.',
  },
  IDENTITY_DISABLED: {
    what: 'This identity is disabled',
    next: 'A project owner can enable it.',
  },
  GRANT_REMOVED: {
    what: 'Your membership or permission was removed',
    next: 'Ask a project owner to restore it.',
  },
  NETWORK_NOT_ALLOWED: {
    what: 'The key is bound to other networks',
    next: 'Create a key for this network.',
  },
  HUMAN_OPERATION: {
    what: 'Only a signed-in user can do this',
    next: 'Sign in and open this page at the address of the service.',
  },
  SIGN_IN_TOO_OLD: {
    what: 'This needs a recent sign-in',
    next: 'Sign in in a new tab, then retry.',
  },
  INSECURE_TRANSPORT: {
    what: 'The request was sent over plain HTTP',
    next: 'Open the dashboard over HTTPS.',
  },
  WRONG_HOST: {
    what: 'This is not the address of the service',
    next: 'Open the dashboard at the address of the service (SVC_PUBLIC_URL).',
  },
  EXCHANGE_DENIED: {
    what: 'The CI job does not match the approved one',
    next: 'Review the differences, then correct the workflow or verify it again.',
  },
  NOT_FOUND: {
    what: 'This does not exist in the project',
    next: 'It may have been deleted.',
  },
  STALE_VERSION: {
    what: 'A newer version was saved in the meantime',
    next: 'Compare it with your changes, then save again.',
  },
  IN_PROGRESS: {
    what: 'An earlier change is still in progress',
    next: 'Send the same change again in a moment.',
  },
  LIMIT_EXCEEDED: {
    what: 'The project has reached a limit',
    next: 'Delete unused resources, or ask the operator to raise the limit.',
  },
  INVALID_STATE: {
    what: 'The current state does not allow this',
    next: 'The reason is shown below. Reload if you expected another state.',
  },
  RECIPIENT_NOT_MEMBER: {
    what: 'Mail is sent only to verified addresses of members',
    next: 'Invite the person to the project first, or remove the address.',
  },
  TOO_MANY_REQUESTS: {
    what: 'Too many requests',
    next: 'Wait a moment. Reading resumes automatically.',
  },
  QUERY_TIMEOUT: {
    what: 'The query took longer than 10 s',
    next: 'Choose a shorter range or fewer VMs. The timeout says nothing about the values.',
  },
  NOT_READY: {
    what: 'Part of the service is not responding',
    next: 'Wait a moment. Reading resumes automatically.',
  },
  UNKNOWN_PATH: otherVersion,
  METHOD_NOT_ALLOWED: otherVersion,
  UNSUPPORTED_MEDIA_TYPE: otherVersion,
  NO_CONNECTION: {
    what: 'The service cannot be reached',
    next: 'Check your network. The dashboard retries automatically.',
  },
  NO_ANSWER: {
    what: 'The service did not respond in time',
    next: 'The dashboard retries automatically.',
  },
  BAD_ANSWER: {
    what: 'The response is not from svc',
    next: 'A proxy may have responded instead. Reload the page.',
  },
  INTERNAL: {
    what: 'Internal error',
    next: 'The service log has the cause. Try again, or ask the operator.',
  },
});

const narrowing = localized({
  preview: (hours: string, vms: string) =>
    `Choose a history of at most ${hours} hours, or at most ${vms} VMs.`,
});

/** What happened and what to do next. An unknown reason is shown as is. */
export function explain(error: Failure): { readonly what: string; readonly next: string } {
  const { historySecondsMax, vmsMax } = error.metadata ?? {};
  const known = explanations[error.reason];
  if (known && historySecondsMax !== undefined && vmsMax !== undefined) {
    const hours = String(Math.floor(Number(historySecondsMax) / 3600));
    return { ...known, next: narrowing.preview(hours, vmsMax) };
  }
  return known ?? { what: error.reason, next: error.message };
}
