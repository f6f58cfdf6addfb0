/**
 * Responses of the sign-in routes: strict headers on all of them, pages for browsers, Connect's
 * JSON errors for programs, and a sentence for every refusal. The referrer policy hides the
 * browser's address from other sites. Forms need `same-origin`, because browsers send `Origin:
 * null` with `no-referrer`.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { UnknownAccount } from '../../../actors/identity/people-sign-in.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../../streams/platform/stream.ts';
import { httpStatusOf } from '../../platform/errors.ts';
import { CLIENT_GONE, sendRefusal } from '../../platform/http/fallbacks.ts';
import type { Log } from '../../platform/log.ts';
import { type ProviderFault, SignInFailed } from './identity-provider.ts';
import { type Page, sentencePage } from './pages.ts';
import { START_PATH, withReturn } from './request-fields.ts';
import { CrossSite, isJson } from './same-site.ts';

/** Called with the cause of each refusal, from a closed set. */
export type NoteRefused = (cause: string) => void;

export function addStrictHeaders(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
  });
}

export function sendPage(reply: FastifyReply, status: number, page: Page): FastifyReply {
  reply.header('content-security-policy', page.contentSecurityPolicy);
  if (page.hasForm) reply.header('referrer-policy', 'same-origin');
  return reply.code(status).type('text/html; charset=utf-8').send(page.html);
}

export function sendSentence(
  reply: FastifyReply,
  status: number,
  page: { readonly title: string; readonly sentence: string; readonly offersSignIn?: boolean },
): FastifyReply {
  const { offersSignIn = false } = page;
  const signInPath = withReturn('/auth/sign-in', returnPaths.get(reply.request) ?? START_PATH);
  const offer = offersSignIn ? { signInPath } : {};
  return sendPage(reply, status, sentencePage({ ...page, ...offer }));
}

const returnPaths = new WeakMap<FastifyRequest, string>();

/** Remembers the path for the sign-in that a refusal of this request offers. */
export function keepReturnPath(request: FastifyRequest, returnPath: string): void {
  returnPaths.set(request, returnPath);
}

type AuthError = FastifyError | Refusal | StreamUnavailable | SignInFailed;

/**
 * Turns every error of these routes into a response. The cause of an unexpected one is only logged.
 */
export function sendErrors(
  scope: FastifyInstance,
  log: Log,
  recordRefused: NoteRefused,
  part: 'sign-in' | 'recipients' | 'leaks' | 'dashboard' = 'sign-in',
): void {
  scope.setErrorHandler((error: AuthError, request, reply) => {
    if (error instanceof SignInFailed) {
      recordRefused(`provider_${error.fault}`);
      log.warn({ detail: error.detail, part: 'sign-in' }, 'A sign-in at the provider failed');
      return sendProviderFault(reply, error);
    }
    const refusal = error instanceof Refusal ? error : refusalOf(error);
    if (refusal) {
      recordRefused(causeOf(refusal));
      // Fastify's own status (413, 415) is more precise than the catalogue's.
      const status = ('statusCode' in error && error.statusCode) || statusOf(refusal);
      return answerRefusal(request, reply, { refusal, status });
    }
    // The browser disconnected, which is not a fault.
    if (reply.raw.destroyed) return reply.code(CLIENT_GONE).send();
    recordRefused('failed');
    log.error({ err: error, requestId: request.id, part }, 'A page request failed');
    const sentence = `The service failed. Its log has the cause under request id ${request.id}`;
    if (!asksForJson(request)) return sendSentence(reply, 500, { title: 'Failed', sentence });
    return sendRefusal(reply, new Refusal('INTERNAL', sentence));
  });
}

/** Refusal for an unavailable stream, or for fastify's error about a body, whose text may quote it. */
function refusalOf(error: FastifyError | StreamUnavailable): Refusal | undefined {
  if (error instanceof StreamUnavailable) {
    return new Refusal('NOT_READY', 'The service cannot store anything at the moment. Try again');
  }
  const { statusCode = 500 } = error;
  if (statusCode < 400 || statusCode >= 500) return undefined;
  if (statusCode === 413) return new Refusal('REQUEST_TOO_LARGE', 'The request is too large');
  const message = 'The request is neither a form nor valid JSON';
  return new Refusal(statusCode === 415 ? 'UNSUPPORTED_MEDIA_TYPE' : 'INVALID_FIELD', message);
}

/** 403 rather than 401 for a request from another site, because signing in would not help. */
function statusOf(refusal: Refusal): number {
  return refusal instanceof CrossSite ? 403 : httpStatusOf(refusal.reason);
}

function answerRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { refusal, status }: { refusal: Refusal; status: number },
): FastifyReply {
  if (asksForJson(request)) return sendRefusal(reply, refusal, status);
  if (status === 429 || status === 503) {
    reply.header('retry-after', refusal.metadata.retryAfterSeconds ?? '1');
  }
  const isHopeless = refusal instanceof UnknownAccount && refusal.cause === 'NOT_INVITED';
  const offersSignIn = (status === 401 || status === 403) && !isHopeless;
  return sendSentence(reply, status, { title: 'Refused', sentence: refusal.message, offersSignIn });
}

/** Name of a refusal in the metrics. */
function causeOf(refusal: Refusal): string {
  if (refusal instanceof CrossSite) return refusal.cause;
  if (refusal instanceof UnknownAccount) return `account_${refusal.cause.toLowerCase()}`;
  return refusal.reason;
}

/** Text of a failed sign-in at the provider, for the person. */
const FAULTS: Readonly<Record<ProviderFault, { status: number; title: string; sentence: string }>> =
  {
    away: {
      status: 503,
      title: 'Not now',
      sentence: 'The identity provider sent no usable response. Try again in a minute',
    },
    misconfigured: {
      status: 503,
      title: 'Not set up',
      sentence:
        'The identity provider and this service are not set up for each other. Tell an operator: the log of this service has the cause. Until then, sign in with a link',
    },
    clock: {
      status: 503,
      title: 'Not signed in',
      sentence:
        'The clocks of the identity provider and of this service differ by more than 30 seconds. Tell an operator',
    },
    'new-keys': {
      status: 503,
      title: 'Not now',
      sentence: 'The identity provider has new keys. Start again',
    },
    'not-again': {
      status: 403,
      title: 'Not signed in again',
      sentence:
        'The identity provider does not say that you have just signed in there. Sign in with a link instead, or tell an operator: the log of this service has the cause',
    },
    denied: {
      status: 403,
      title: 'Not signed in',
      sentence: 'The identity provider rejected the sign-in, or you cancelled it',
    },
    invalid: {
      status: 400,
      title: 'Not signed in',
      sentence:
        'The response of the identity provider does not belong to this sign-in. Start again',
    },
  };

function sendProviderFault(reply: FastifyReply, { fault }: SignInFailed): FastifyReply {
  const { status, title, sentence } = FAULTS[fault];
  if (fault === 'away') reply.header('retry-after', '5');
  return sendSentence(reply, status, { title, sentence, offersSignIn: true });
}

export function asksForJson({ headers }: FastifyRequest): boolean {
  return isJson(headers['content-type']);
}
