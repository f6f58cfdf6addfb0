/**
 * Sign-in by a one-time link, and the mail that carries one. Opening a link has no effect: mail
 * scanners open every link, and only people press buttons. A request for a mail is answered before
 * its address is looked up.
 */
import type { FastifyInstance } from 'fastify';
import { ulid } from '../../../streams/platform/random.ts';
import { AddressLimits } from '../../platform/http/anonymous-limits.ts';
import { parseAddress, signInLetter } from '../../platform/mail/letters.ts';
import type { MailQueue } from '../../platform/mail/mail-queue.ts';
import { asksForJson, sendPage, sendSentence } from './answers.ts';
import { linkPage } from './pages.ts';
import {
  fieldsOf,
  locationOf,
  textField,
  validateReturnPath,
  withReturn,
} from './request-fields.ts';
import type { AuthScope } from './scope.ts';
import { cookieName } from './session-cookie.ts';
import { agentOf } from './visitor.ts';

const LINKS = { burst: 20, refillMs: 6_000 };
const EMAIL_REQUESTS = { burst: 5, refillMs: 60_000 };
/** Mails to one address, whoever requests them, so that nobody's mailbox is filled. */
const MAILS_TO_ONE = { burst: 3, refillMs: 300_000 };
const TOKEN_CHARS_MAX = 200;

type LinkPageRequest = { Querystring: { return?: unknown } };

export function addLinkRoutes(scope: FastifyInstance, shared: AuthScope): void {
  const { people, visitors, origin, limited } = shared;
  scope.route<LinkPageRequest>({
    ...{ method: 'GET', url: '/link', exposeHeadRoute: false },
    async handler(request, reply) {
      const returnPath = validateReturnPath(request.query.return);
      const isSignedIn = (await visitors.sessionOf(request, reply)) !== undefined;
      return sendPage(reply, 200, linkPage({ isSignedIn, returnPath }));
    },
  });

  scope.post('/link', { onRequest: limited(LINKS) }, async (request, reply) => {
    const fields = fieldsOf(request, ['token', 'verifier', 'return']);
    // Before the link is used up.
    const returnPath = validateReturnPath(fields.return);
    const token = tokenIn(textField(fields, 'token'));
    const { verifier } = fields;
    const presenter = visitors.personOf(request);
    const started = await people.signInByLink({
      ...{ token, agent: agentOf(request) },
      ...(typeof verifier === 'string' && { verifier }),
      ...(presenter !== undefined && { person: presenter }),
    });
    await visitors.begin(request, reply, started);
    shared.noteSignedIn('link');
    if (!asksForJson(request)) return reply.redirect(locationOf(origin(), returnPath), 303);
    const { secret, person, expiresMs } = started;
    const expiresUnix = String(Math.floor(expiresMs / 1000));
    const cookie = cookieName(origin(), 'session');
    return reply.send({ session: { secret, expiresUnix, person, cookieName: cookie } });
  });

  addEmailRoute(scope, shared);
}

/** People enter the whole link as well as what stands behind its `#`. */
function tokenIn(entered: string): string {
  return entered.slice(entered.indexOf('#') + 1).slice(0, TOKEN_CHARS_MAX);
}

function addEmailRoute(scope: FastifyInstance, shared: AuthScope): void {
  const { mail, limited, clock, noteRefused } = shared;
  const toOne = new AddressLimits(clock, MAILS_TO_ONE);
  scope.post('/email', { onRequest: limited(EMAIL_REQUESTS) }, async (request, reply) => {
    if (!mail) {
      const sentence = 'This service sends no email: ask an operator for a link';
      return sendSentence(reply, 404, { title: 'Not here', sentence });
    }
    const fields = fieldsOf(request, ['email', 'return']);
    const returnPath = validateReturnPath(fields.return);
    const email = parseAddress(textField(fields, 'email'));
    if (email === undefined) noteRefused('no_address');
    else if (toOne.takeFrom(email) > 0) noteRefused('mails_to_one');
    else sendLink(mail, { email, returnPath }, shared);
    const sentence =
      'If the address is known here, a link is on its way to it. It may take a minute to arrive';
    if (asksForJson(request)) return reply.code(202).send({});
    return sendSentence(reply, 202, { title: 'Look at your mail', sentence });
  });
}

function sendLink(
  mail: MailQueue,
  { email: to, returnPath }: { readonly email: string; readonly returnPath: string },
  shared: AuthScope,
): void {
  const { people, origin, clock, random } = shared;
  mail.add({
    kind: 'sign-in',
    async make() {
      const link = await people.linkByEmail(to);
      if (!link) return undefined;
      const nowMs = clock.now();
      const page = withReturn('/auth/link', returnPath);
      const { token, expiresMs } = link;
      const letter = signInLetter({ origin: origin(), page, token, expiresMs, nowMs });
      const messageId = `<${ulid(nowMs, random)}@${new URL(origin()).hostname}>`;
      return { to, ...letter, messageId };
    },
  });
}
