/**
 * HTTP routes and pages behind the links in mails, below `/v1/recipients`. Opening a link changes
 * nothing, because mail scanners open every link; only a button does. There is no sign-in and no
 * cookie: the link is the proof. The pages reveal nothing about the project.
 *
 *     mail -> GET verify#token -> POST verify
 *     mail -> GET unsubscribe?code -> POST unsubscribe?code   (or the mail program's own button)
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RecipientLinks } from '../../../actors/delivery/destinations-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import {
  addStrictHeaders,
  asksForJson,
  sendErrors,
  sendPage,
  sendSentence,
} from '../../identity/sign-in/answers.ts';
import { escaped, LINK_SCRIPT, type Page, page } from '../../identity/sign-in/pages.ts';
import { fieldsOf, readSmallBodies, textField } from '../../identity/sign-in/request-fields.ts';
import { assertSameSite } from '../../identity/sign-in/same-site.ts';
import { AddressLimits } from '../../platform/http/anonymous-limits.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Subscription, UnsubscribeCodes } from './unsubscribe-codes.ts';

export interface RecipientRoutesDeps {
  readonly links: RecipientLinks;
  readonly codes: UnsubscribeCodes;
  /** Origin for clients, called while the server listens. */
  readonly origin: () => string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Limits for one network, because mail providers unsubscribe many people from few addresses. */
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
    'Confirmations and unsubscriptions by mailed links',
    ['kind', 'outcome'],
  );
  const refusals = deps.metrics.counter(
    'svc_recipient_link_refusals_total',
    'Rejected requests with mailed links',
    ['cause'],
  );
  await app.register(
    async (scope) => {
      addStrictHeaders(scope);
      readSmallBodies(scope);
      sendErrors(scope, deps.log, (cause) => refusals.inc({ cause }), 'recipients');
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
  record: () => void,
): void {
  const { links, origin, clock } = deps;
  const limits = new AddressLimits(clock, VERIFICATIONS);
  scope.route({
    ...get,
    url: '/verify',
    handler: async (_request, reply) => sendPage(reply, 200, verifyPage()),
  });
  const onRequest = async (request: FastifyRequest): Promise<void> => {
    assertSameSite(request, origin());
    limits.assertAllowed(request.ip);
  };
  scope.post('/verify', { onRequest }, async (request, reply) => {
    const token = textField(fieldsOf(request, ['token']), 'token').slice(0, TOKEN_CHARS_MAX);
    await links.confirm(token);
    record();
    if (asksForJson(request)) return reply.send({});
    const sentence = 'Alerts of this destination will now be mailed to you';
    return sendSentence(reply, 200, { title: 'Your address is confirmed', sentence });
  });
}

/** Mail programs send no Origin and are cross-site: the code alone authorizes the request. */
function addUnsubscribeRoutes(
  scope: FastifyInstance,
  { links, codes, clock }: RecipientRoutesDeps,
  record: () => void,
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
    ...get,
    url: '/unsubscribe',
    onRequest,
    async handler(request, reply) {
      const { code } = request.query;
      subscriptionOf(codes, code);
      return sendPage(reply, 200, unsubscribePage(String(code)));
    },
  });
  scope.route<{ Querystring: { code?: unknown } }>({
    method: 'POST',
    url: '/unsubscribe',
    onRequest,
    async handler(request, reply) {
      const subscription = subscriptionOf(codes, request.query.code);
      assertOneClick(request);
      await links.unsubscribe(subscription);
      record();
      const sentence = 'You will receive no more mails of this destination';
      return sendSentence(reply, 200, { title: 'Unsubscribed', sentence });
    },
  });
}

function subscriptionOf(codes: UnsubscribeCodes, code: unknown): Subscription {
  const subscription = typeof code === 'string' ? codes.read(code) : undefined;
  if (subscription) return subscription;
  const message = 'The link is incomplete. Open it from the mail, or copy all of it';
  throw invalidField('code', message);
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
  throw invalidField('List-Unsubscribe', message);
}

/** The same page for every link. Only the button reveals the project. */
function verifyPage(): Page {
  return page({
    title: 'Confirm your address',
    script: LINK_SCRIPT,
    body: `<p>Press the button to receive the alerts that the mail with this link describes.</p>
<form method="post" action="/v1/recipients/verify">
<div id="typed"><label for="token">The part of the link after #</label>
<input id="token" name="token" type="text" autocomplete="off" spellcheck="false" maxlength="200" required></div>
<button>Confirm my address</button>
</form>`,
  });
}

/** The button sends the same request as a mail program's own button (RFC 8058, section 3.2). */
function unsubscribePage(code: string): Page {
  const action = `/v1/recipients/unsubscribe?code=${encodeURIComponent(code)}`;
  return page({
    title: 'Unsubscribe from alerts',
    body: `<p>Press the button to stop all mails of the destination that sent you the mail with this link.</p>
<form method="post" action="${escaped(action)}">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Unsubscribe</button>
</form>`,
  });
}
