/**
 * Each reason for which a call can fail, in words: what happened, and what the person can do. A test
 * compares the table with the service's own list of reasons, both ways.
 */
import { localized } from './localized.ts';

/** What is explained: an `RpcError`. */
interface Failure {
  readonly reason: string;
  /** The service's own sentence. */
  readonly message: string;
}

interface Explanation {
  readonly [key: string]: string;
  readonly what: string;
  readonly next: string;
}

/** What only a page of another version asks for. */
const otherVersion = {
  what: 'This page is of another version than the service',
  next: 'Reload the page.',
} as const;

/** By reason: those of docs/errors.md, then those of the browser (`LocalReason`). */
export const explanations: Readonly<Record<string, Explanation>> = localized({
  INVALID_FIELD: {
    what: 'A field is missing, or its value is not allowed',
    next: 'Correct the field that is named, then send it again.',
  },
  TOO_MANY_POINTS: {
    what: 'That is more points than one answer may have',
    next: 'Choose a shorter range or fewer VMs.',
  },
  EXPRESSION_TOO_LONG: {
    what: 'The expression is longer than 16 KiB',
    next: 'Shorten it, or split it into several.',
  },
  RESPONSE_TOO_LARGE: {
    what: 'The answer would be larger than 4 MiB',
    next: 'Choose a shorter range or fewer metrics.',
  },
  REQUEST_TOO_LARGE: {
    what: 'That is more than one request may carry',
    next: 'Send less at once: fewer names, or a shorter text.',
  },
  UNKNOWN_METRIC: {
    what: 'There is no such metric',
    next: 'Choose one from the list of metrics.',
  },
  REQUEST_ID_REUSED: {
    what: 'An earlier change was sent under the same id',
    next: 'Reload the page to see what was saved, then make the change again.',
  },
  MISSING_CREDENTIAL: { what: 'You are signed out', next: 'Sign in again.' },
  MALFORMED_CREDENTIAL: { what: 'The session is not one of this service', next: 'Sign in again.' },
  CREDENTIAL_EXPIRED: { what: 'The session has expired', next: 'Sign in again.' },
  CREDENTIAL_REVOKED: { what: 'The session was ended', next: 'Sign in again.' },
  TOKEN_EPOCH: {
    what: 'The CI connection was changed after the token was issued',
    next: 'Run the job again: it gets a new token.',
  },
  BAD_ASSERTION: {
    what: 'The identity token of the CI job is not valid',
    next: 'See the cause, then run the job again.',
  },
  PROJECT_BOUNDARY: {
    what: 'You are not a member of this project, or it does not exist',
    next: 'Ask an owner of the project for an invitation.',
  },
  MISSING_CAPABILITY: {
    what: 'Your role does not allow this',
    next: 'An owner of the project can change your role, on the page Members.',
  },
  IDENTITY_DISABLED: {
    what: 'This identity is disabled',
    next: 'An owner of the project can enable it.',
  },
  GRANT_REMOVED: {
    what: 'Your membership or permission was removed',
    next: 'Ask an owner of the project.',
  },
  HUMAN_OPERATION: {
    what: 'Only a signed-in person may do this',
    next: 'Sign in, and open this page under the address of the service.',
  },
  INSECURE_TRANSPORT: {
    what: 'The request came over plain http',
    next: 'Open the dashboard by its https address.',
  },
  WRONG_HOST: {
    what: 'This address is not the address of the service',
    next: 'Open the dashboard by the address that the operator set (SVC_PUBLIC_URL).',
  },
  EXCHANGE_DENIED: {
    what: 'The CI job is not the one that was approved',
    next: 'See the differences, then correct the workflow or verify it again.',
  },
  NOT_FOUND: {
    what: 'This does not exist in the project',
    next: 'It may have been deleted: go back to the list.',
  },
  STALE_VERSION: {
    what: 'Somebody else saved a newer version meanwhile',
    next: 'Compare it with yours, then save again.',
  },
  IN_PROGRESS: {
    what: 'An earlier change is still being completed',
    next: 'Send the same again in a moment.',
  },
  LIMIT_EXCEEDED: {
    what: 'A limit of the project is reached',
    next: 'Delete what is no longer needed, or ask the operator to raise the limit.',
  },
  INVALID_STATE: {
    what: 'Its state does not allow this now',
    next: 'The reason stands below. Reload if you expected another state.',
  },
  RECIPIENT_NOT_MEMBER: {
    what: 'Mail goes only to verified addresses of members',
    next: 'Invite the person to the project first, or leave the address out.',
  },
  TOO_MANY_REQUESTS: {
    what: 'Too many requests at once',
    next: 'Wait a moment; reading goes on by itself.',
  },
  QUERY_TIMEOUT: {
    what: 'The query took longer than ten seconds',
    next: 'Choose a shorter range or fewer VMs. Nothing follows from it about the values.',
  },
  NOT_READY: {
    what: 'A part of the service does not answer',
    next: 'Wait a moment; reading goes on by itself.',
  },
  UNKNOWN_PATH: otherVersion,
  METHOD_NOT_ALLOWED: otherVersion,
  UNSUPPORTED_MEDIA_TYPE: otherVersion,
  NO_CONNECTION: {
    what: 'The service cannot be reached',
    next: 'Check your network; the next attempt is made by itself.',
  },
  NO_ANSWER: {
    what: 'The service did not answer in time',
    next: 'The next attempt is made by itself.',
  },
  BAD_ANSWER: {
    what: 'What came back is not an answer of this service',
    next: 'A proxy in between may have answered. Reload the page.',
  },
  INTERNAL: {
    what: 'The service failed',
    next: 'Its log has the cause. Try again, or ask the operator.',
  },
});

/** What happened and what to do, for an error; a reason that is not known here is shown as it is. */
export function explain(error: Failure): { readonly what: string; readonly next: string } {
  return explanations[error.reason] ?? { what: error.reason, next: error.message };
}
