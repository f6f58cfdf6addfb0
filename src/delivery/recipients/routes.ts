/**
 * What the holder of a mail address does with the links in our mails, below `/v1/recipients`.
 * Opening a link changes nothing: programs that look at mails open every link, and only people
 * press buttons. Nobody need be signed in, and no cookie is read: the link is the proof.
 *
 *     mail -> GET verify#token -> POST verify
 *     mail -> GET unsubscribe?code -> POST unsubscribe?code   (or the mail program's own button)
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RecipientLinks } from '../../../actors/delivery/destinations-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import {
  addStrictHeaders,
  asksForJson,
  tellErrors,
  tellPage,
  tellSentence,
} from '../../identity/sign-in/answers.ts';
import { fieldsOf, readSmallBodies, textField } from '../../identity/sign-in/request-fields.ts';
import { assertSameSite } from '../../identity/sign-in/same-site.ts';
import { AddressLimits } from '../../platform/http/address-limits.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { unsubscribePage, verifyPage } from './pages.ts';
import type { Subscription, UnsubscribeCodes } from './unsubscribe-codes.ts';

export interface RecipientRoutesDeps {
  readonly links: RecipientLinks;
  readonly codes: UnsubscribeCodes;
  /** Origin for clients, asked while the server listens. */
  readonly origin: () => string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Presses of one network: mail providers unsubscribe many people from few addresses. */
const VERIFICATIONS = { burst: 20, refillMs: 6_000 };
const UNSUBSCRIPTIONS = { burst: 200, refillMs: 1_000 };
const TOKEN_CHARS_MAX = 200;
const FORM_DATA_BYTES_MAX = 8 * 1024;

export async function addRecipientRoutes(
  app: FastifyInstance,
  deps: RecipientRoutesDeps,
): Promise<void> {
  const presses = deps.metrics.counter(
    'svc_recipient_links_total',
    'Links of mails that were pressed',
    ['kind', 'outcome'],
  );
  const refusals = deps.metrics.counter(
    'svc_recipient_link_refusals_total',
    'Requests with links of mails that were refused',
    ['cause'],
  );
  await app.register(
    async (scope) => {
      addStrictHeaders(scope);
      readSmallBodies(scope);
      tellErrors(scope, deps.log, (cause) => refusals.inc({ cause }), 'recipients');
      addVerifyRoutes(scope, deps, () => presses.inc({ kind: 'verify', outcome: 'done' }));
      addUnsubscribeRoutes(scope, deps, () =>
        presses.inc({ kind: 'unsubscribe', outcome: 'done' }),
      );
    },
    { prefix: '/v1/recipients' },
  );
}

const get = { method: 'GET', exposeHeadRoute: false } as const;

function addVerifyRoutes(
  scope: FastifyInstance,
  deps: RecipientRoutesDeps,
  note: () => void,
): void {
  const { links, origin, clock } = deps;
  const limits = new AddressLimits(clock, VERIFICATIONS);
  scope.route({
    ...{ ...get, url: '/verify' },
    handler: async (_request, reply) => tellPage(reply, 200, verifyPage()),
  });
  const onRequest = async (request: FastifyRequest): Promise<void> => {
    assertSameSite(request, origin());
    limits.assertAllowed(request.ip);
  };
  scope.post('/verify', { onRequest }, async (request, reply) => {
    const token = textField(fieldsOf(request, ['token']), 'token').slice(0, TOKEN_CHARS_MAX);
    await links.confirm(token);
    note();
    if (asksForJson(request)) return reply.send({});
    const sentence = 'Alerts of this destination are mailed to you from now on';
    return tellSentence(reply, 200, { title: 'Your address is confirmed', sentence });
  });
}

/** Mail programs send no Origin, and are of another site: the code alone says that it may be. */
function addUnsubscribeRoutes(
  scope: FastifyInstance,
  { links, codes, clock }: RecipientRoutesDeps,
  note: () => void,
): void {
  const limits = new AddressLimits(clock, UNSUBSCRIPTIONS);
  const onRequest = async (request: FastifyRequest): Promise<void> =>
    limits.assertAllowed(request.ip);
  // RFC 8058, section 3.2: a form in either encoding.
  const options = { parseAs: 'string', bodyLimit: FORM_DATA_BYTES_MAX } as const;
  scope.addContentTypeParser('multipart/form-data', options, (_request, body, done) =>
    done(null, body),
  );
  scope.route<{ Querystring: { code?: unknown } }>({
    ...{ ...get, url: '/unsubscribe', onRequest },
    async handler(request, reply) {
      const { code } = request.query;
      subscriptionOf(codes, code);
      return tellPage(reply, 200, unsubscribePage(String(code)));
    },
  });
  scope.route<{ Querystring: { code?: unknown } }>({
    ...{ method: 'POST', url: '/unsubscribe', onRequest },
    async handler(request, reply) {
      const subscription = subscriptionOf(codes, request.query.code);
      assertOneClick(request);
      await links.unsubscribe(subscription);
      note();
      const sentence = 'No more mails of this destination are sent to you';
      return tellSentence(reply, 200, { title: 'Unsubscribed', sentence });
    },
  });
}

function subscriptionOf(codes: UnsubscribeCodes, code: unknown): Subscription {
  const subscription = typeof code === 'string' ? codes.read(code) : undefined;
  if (subscription) return subscription;
  const message = 'The link is not whole: open it from the mail, or copy all of it';
  throw new Refusal('INVALID_FIELD', message, { field: 'code' });
}

/** `List-Unsubscribe=One-Click`, in either encoding of a form. */
const ONE_CLICK = /(?:^|&)List-Unsubscribe=One-Click(?:&|$)/;
const ONE_CLICK_PART =
  /name="?List-Unsubscribe"?[^\r\n]*(?:\r?\n[^\r\n]+)*\r?\n\r?\nOne-Click\r?\n/;

function assertOneClick(request: FastifyRequest): void {
  const body = typeof request.body === 'string' ? request.body : '';
  const isFormData = /^multipart\/form-data/i.test(request.headers['content-type'] ?? '');
  if ((isFormData ? ONE_CLICK_PART : ONE_CLICK).test(body)) return;
  const message = 'The request does not say List-Unsubscribe=One-Click (RFC 8058)';
  throw new Refusal('INVALID_FIELD', message, { field: 'List-Unsubscribe' });
}
