/**
 * How the routes of signing in answer: strict headers on everything, pages for browsers, Connect's
 * JSON errors for programs, a sentence for every refusal. An address that a browser was at is told
 * to nobody else; forms need `same-origin`, since with `no-referrer` browsers send `Origin: null`.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { errorToJson } from '@connectrpc/connect/protocol-connect';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../../streams/platform/stream.ts';
import { httpStatusOf, toConnectError } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import { SignInFailed } from './identity-provider.ts';
import { type Page, sentencePage } from './pages.ts';
import { CrossSite, isJson } from './same-site.ts';

/** Told of each refusal by its cause, a closed set. */
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

export function tellPage(reply: FastifyReply, status: number, page: Page): FastifyReply {
  reply.header('content-security-policy', page.contentSecurityPolicy);
  if (page.hasForm) reply.header('referrer-policy', 'same-origin');
  return reply.code(status).type('text/html; charset=utf-8').send(page.html);
}

export function tellSentence(
  reply: FastifyReply,
  status: number,
  told: { readonly title: string; readonly sentence: string; readonly offersSignIn?: boolean },
): FastifyReply {
  return tellPage(reply, status, sentencePage({ offersSignIn: false, ...told }));
}

type AuthError = FastifyError | Refusal | StreamUnavailable | SignInFailed;

/** Every error of these routes as an answer; what nobody foresaw goes to the log alone. */
export function tellErrors(
  scope: FastifyInstance,
  log: Log,
  noteRefused: NoteRefused,
  part: 'sign-in' | 'recipients' | 'leaks' = 'sign-in',
): void {
  scope.setErrorHandler((error: AuthError, request, reply) => {
    if (error instanceof SignInFailed) {
      noteRefused(`provider_${error.fault}`);
      log.warn({ detail: error.detail, part: 'sign-in' }, 'A sign-in at the provider failed');
      return tellProviderFault(reply, error);
    }
    const refusal = error instanceof Refusal ? error : refusalOf(error);
    if (refusal) {
      noteRefused(refusal instanceof CrossSite ? refusal.cause : refusal.reason);
      // Fastify's own status says more than the catalogue's: 413, 415.
      const status = ('statusCode' in error && error.statusCode) || statusOf(refusal);
      return tellRefusal(request, reply, { refusal, status });
    }
    noteRefused('failed');
    log.error({ err: error, requestId: request.id, part }, 'A request of a page failed');
    const sentence = `The service failed; its log says why under request id ${request.id}`;
    if (!asksForJson(request)) return tellSentence(reply, 500, { title: 'Failed', sentence });
    return reply.code(500).send(errorToJson(new ConnectError(sentence, Code.Internal), undefined));
  });
}

/** A stream that is away, and what fastify refuses about a body, without its text: it may repeat it. */
function refusalOf(error: FastifyError | StreamUnavailable): Refusal | undefined {
  if (error instanceof StreamUnavailable) {
    return new Refusal('NOT_READY', 'Nothing can be kept at the moment: try again');
  }
  const { statusCode = 500 } = error;
  if (statusCode < 400 || statusCode >= 500) return undefined;
  if (statusCode === 413) return new Refusal('REQUEST_TOO_LARGE', 'The request is too large');
  const message = 'The request is not a form and not JSON that can be read';
  return new Refusal('INVALID_FIELD', message);
}

/** Another site's request is refused whoever is signed in: 403, not 401. */
function statusOf(refusal: Refusal): number {
  return refusal instanceof CrossSite ? 403 : httpStatusOf(refusal.reason);
}

function tellRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { refusal, status }: { refusal: Refusal; status: number },
): FastifyReply {
  if (status === 429 || status === 503) {
    reply.header('retry-after', refusal.metadata.retryAfterSeconds ?? '1');
  }
  if (asksForJson(request)) {
    return reply.code(status).send(errorToJson(toConnectError(refusal), undefined));
  }
  const offersSignIn = status === 401 || status === 403;
  return tellSentence(reply, status, { title: 'Refused', sentence: refusal.message, offersSignIn });
}

function tellProviderFault(reply: FastifyReply, { fault }: SignInFailed): FastifyReply {
  if (fault === 'away') {
    reply.header('retry-after', '5');
    const sentence = 'The identity provider gives no usable answer: try again in a little while';
    return tellSentence(reply, 503, { title: 'Not now', sentence, offersSignIn: true });
  }
  if (fault === 'denied') {
    const sentence = 'The identity provider did not let you sign in, or you cancelled it';
    return tellSentence(reply, 403, { title: 'Not signed in', sentence, offersSignIn: true });
  }
  const sentence = 'What the identity provider sent does not hold for this sign-in: begin again';
  return tellSentence(reply, 400, { title: 'Not signed in', sentence, offersSignIn: true });
}

export function asksForJson({ headers }: FastifyRequest): boolean {
  return isJson(headers['content-type']);
}
