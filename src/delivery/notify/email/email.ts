/**
 * Mail: one attempt is one mail to one recipient, by a mailer separate from that of sign-in links.
 * A rejection is attributed to the recipient's address (which ends), to the setup of this service
 * (the operator is notified and the mail waits), or to neither (it is retried). All attempts of a
 * delivery have the same Message-ID.
 */

import type {
  AttemptOutcome,
  AttemptRequest,
  Channel,
  MailTarget,
} from '../../../../actors/delivery/notifier-port.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { withDeadline } from '../../../../streams/platform/deadline.ts';
import {
  bounceReason,
  createMailer,
  type Mail,
  type Mailer,
  MailFault,
} from '../../../platform/mail/mailer.ts';
import { cutBytes, EXCERPT_BYTES_MAX, redact } from '../http/exchange.ts';
import { messageOf } from '../message/message.ts';
import type { MailServerDeps, NotificationKind } from '../message/notification-kind.ts';
import { CHART_CID, decodeLetter, encodeLetter, escapeHtml, renderLetter } from './letter.ts';

/** The kind, as registered. Without a mail server it cannot be opened, and its deliveries wait. */
export const email: NotificationKind = {
  limits: { attemptMs: 30_000, slots: 'mail', spacingMs: 0, attemptsMax: 8 },
  render: (view, delivery, options) =>
    encodeLetter(renderLetter(messageOf(view, delivery, options))),
  open: ({ mail }) => mail && openEmail(mail),
};

/** Faults that the operator has to fix: login, TLS, sender address, a policy of the mail server. */
export type OurFault = 'login' | 'tls' | 'sender' | 'policy' | 'setup';

const HOW_TO_FIX: Readonly<Record<OurFault, string>> = {
  login: 'rejects the login of this service. Check the user and password in SVC_SMTP_URL',
  tls: 'offers no trusted TLS. Check its certificate and SVC_SMTP_URL',
  sender: 'rejects the sender. Check SVC_SMTP_FROM',
  policy: 'does not relay mail of this service. Check its policy',
  setup: 'rejects this service. Check SVC_SMTP_URL and the log of the mail server',
};

/**
 * Minimum interval between two logs of the same fault, ms, because it may affect thousands of
 * mails.
 */
const LOG_EVERY_MS = 60_000;

/** Undefined if no mail server is configured. */
export function openEmail(deps: MailServerDeps): Channel<MailTarget> | undefined {
  const { smtpUrl, from, name, publicUrl, clock, log, metrics } = deps;
  if (smtpUrl === null) return undefined;
  const faults = metrics.counter(
    'svc_mail_setup_faults_total',
    'Notifications that the mail server rejected because of a fault of this service',
    ['fault'],
  );
  const loggedMs = new Map<OurFault, number>();
  return createEmailSender({
    mailer: createMailer({ url: smtpUrl, from, name, isUnpooled: true }),
    clock,
    host: () => new URL(publicUrl()).hostname,
    onOurFault(fault, error) {
      faults.inc({ fault });
      const nowMs = clock.elapsed();
      if (nowMs - (loggedMs.get(fault) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return;
      loggedMs.set(fault, nowMs);
      log.error({ err: error, part: 'notifier' }, `The mail server ${HOW_TO_FIX[fault]}`);
    },
  });
}

/** The mailer, and the reporting of faults of this service's own setup. */
export interface EmailSenderDeps {
  /** Without a pool, because deliveries wait in their own queue. */
  readonly mailer: Mailer;
  readonly clock: Clock;
  /** Host name in message ids. Called late, because it is known only when the server listens. */
  readonly host: () => string;
  /** Counts and logs the fault. */
  readonly onOurFault: (fault: OurFault, error: MailFault) => void;
}

/** Makes a sender of its own. Closing it closes the mailer's connections. */
export function createEmailSender(deps: EmailSenderDeps): Channel<MailTarget> {
  return {
    attempt: (request) => attempt(deps, request),
    close: () => Promise.resolve(deps.mailer.close()),
  };
}

async function attempt(
  deps: EmailSenderDeps,
  request: AttemptRequest<MailTarget>,
): Promise<AttemptOutcome> {
  const { mailer, clock, host } = deps;
  const remainingMs = request.deadlineElapsedMs - clock.elapsed();
  if (remainingMs <= 0)
    return ourFailure('The deadline of the attempt passed before the mail was sent');
  return await withDeadline(clock, { ms: remainingMs }, async (signal) => {
    try {
      await mailer.send({ ...mailOf(request, host()), signal });
      return { kind: 'accepted' };
    } catch (error) {
      if (!(error instanceof MailFault)) throw error;
      return outcomeOf(deps, error, signal.aborted);
    }
  });
}

function mailOf(request: AttemptRequest<MailTarget>, host: string): Mail {
  const { deliveryId, incident, target } = request;
  const { subject, text, html, chart } = decodeLetter(request.body);
  const { address, unsubscribeUrl } = target;
  const thread = `<${incident}@${host}>`;
  return {
    to: address,
    subject,
    messageId: `<${deliveryId}@${host}>`,
    text: `${text}${textFooter(unsubscribeUrl)}`,
    html: page(`${html}${htmlFooter(unsubscribeUrl)}`),
    headers: {
      ...(incident !== '' && { 'In-Reply-To': thread, References: thread }),
      ...(unsubscribeUrl !== '' && {
        // RFC 8058: a client may end the subscription by one POST, without a page.
        'List-Unsubscribe': `<${unsubscribeUrl}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    },
    pictures: chart === undefined ? [] : [pictureOf(chart)],
  };
}

function pictureOf(base64: string) {
  const content = Buffer.from(base64, 'base64');
  return { cid: CHART_CID, filename: 'chart.png', contentType: 'image/png', content };
}

const WHY = 'You receive this mail because this address was confirmed for notifications.';

/** The link is a secret of the recipient, so it is never stored with the body. */
function textFooter(unsubscribeUrl: string): string {
  return unsubscribeUrl === '' ? '' : `\n${WHY} To unsubscribe:\n${unsubscribeUrl}\n`;
}

function htmlFooter(unsubscribeUrl: string): string {
  if (unsubscribeUrl === '') return '';
  const style = 'font-family:Arial,Helvetica,sans-serif;font-size:12px;color:#555';
  return `\n<p style="${style}">${WHY} <a href="${escapeHtml(unsubscribeUrl)}">Unsubscribe</a></p>`;
}

function page(body: string): string {
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"></head><body>\n${body}\n</body></html>\n`;
}

/** Statuses for an address that accepts no mail (RFC 5321, RFC 7504). */
const BOUNCES: ReadonlySet<number> = new Set([550, 551, 553, 521]);
/** Statuses that demand a login or encryption first (RFC 4954, section 6). */
const LOGINS: ReadonlySet<number> = new Set([530, 534, 535, 538]);
/** The server is busy. */
const BUSY = 421;

function outcomeOf(
  { onOurFault }: EmailSenderDeps,
  fault: MailFault,
  timedOut: boolean,
): AttemptOutcome {
  const number = fault.enhancedStatus() ?? fault.status;
  if (fault.mayBeTaken) {
    return {
      ...ourFailure('The mail was sent, but the mail server did not answer'),
      unknown: true,
    };
  }
  if (timedOut) return ourFailure('The mail server did not accept the mail within 30 s');
  const ours = ourFaultOf(fault);
  if (ours) {
    onOurFault(ours, fault);
    const answered = fault.status === undefined ? '' : ` (${fault.status})`;
    return ourFailure(
      `The mail server of this service rejected it${answered}. The operator has been notified`,
    );
  }
  if (!fault.isPermanent) {
    const answered = number === undefined ? '' : `: it answered ${number}`;
    const slows = fault.status === BUSY && { slows: true };
    const ours = isOfServer(fault) && { ours: true as const };
    const outcome = failed(`The mail server did not accept the mail${answered}`);
    return { ...outcome, ...ours, ...slows, ...excerptField(fault) };
  }
  // In reply to the content, the same statuses reject this mail, not the address.
  const bounced = fault.step === 'recipient' && BOUNCES.has(fault.status ?? 0);
  const error = bounced ? bounceReason(fault) : `The mail server rejected the mail (${number})`;
  return { kind: 'refused', error, pauseDestination: false, bounced, ...excerptField(fault) };
}

/**
 * The fault of our setup behind a rejection; undefined if the recipient or the message is at fault.
 */
function ourFaultOf(fault: MailFault): OurFault | undefined {
  const { step, status, isPermanent, isTlsFault } = fault;
  if (isTlsFault) return 'tls';
  if ((step === 'login' && (isPermanent || status === undefined)) || LOGINS.has(status ?? 0)) {
    return 'login';
  }
  if (!isPermanent) return undefined;
  if (step === 'sender') return 'sender';
  // 5.7.x is policy (RFC 3463): relaying denied, not authorized. The address is not at fault.
  if (fault.enhancedStatus()?.startsWith('5.7.')) return 'policy';
  return step === 'setup' ? 'setup' : undefined;
}

/** True if the shared mail server is down or busy, for which no destination is to blame. */
function isOfServer({ step, status }: MailFault): boolean {
  return status === undefined || status === BUSY || (step !== 'recipient' && step !== 'content');
}

/** The server's answer for users, without the names of machines in its network. */
function excerptField(fault: MailFault) {
  const excerpt = cutBytes(withoutHosts(redact(fault.answer(), {})), EXCERPT_BYTES_MAX);
  return excerpt === '' ? {} : { excerpt };
}

/**
 * The text without host names and addresses, because relays name other machines, internal ones too.
 * Enhanced status codes (5.1.1) have dots but no letters, so they stay.
 */
function withoutHosts(text: string): string {
  return text
    .replaceAll(
      /\b(?:\d{1,3}\.){3}\d{1,3}\b|\[?(?:IPv6:)?(?:[\da-f]{0,4}:){2,7}[\da-f.]{0,15}\]?/gi,
      '[address]',
    )
    .replaceAll(/\b[\w-]+(?:\.[\w-]+)*\.[a-z][\w-]*\b/gi, '[host]');
}

function failed(error: string): Extract<AttemptOutcome, { kind: 'failed' }> {
  return { kind: 'failed', unknown: false, error };
}

function ourFailure(error: string): Extract<AttemptOutcome, { kind: 'failed' }> {
  return { ...failed(error), ours: true };
}
