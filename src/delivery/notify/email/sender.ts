/**
 * Sends one attempt as one mail to one recipient, and tells whose fault it is when the server does
 * not take it: the recipient's address (it ends), the service's own set-up (its operator is told,
 * the mail waits), or nobody's (it is tried again). All attempts of a delivery have one Message-ID.
 */
import type {
  AttemptOutcome,
  AttemptRequest,
  Channel,
} from '../../../../actors/delivery/notifier-port.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { type Mail, type Mailer, MailFault } from '../../../platform/mail/mailer.ts';
import { cutBytes } from '../cut.ts';
import { EXCERPT_BYTES_MAX, redact } from '../http/excerpt.ts';
import { CHART_CID, decodeLetter, escapeHtml } from './letter.ts';

type EmailRequest = AttemptRequest & Parameters<Channel<'email'>['attempt']>[0];

/** What the operator has to mend: login, TLS, the sender's address, a policy of the server. */
export type OurFault = 'login' | 'tls' | 'sender' | 'policy' | 'setup';

export interface EmailSenderDeps {
  /** Without a pool: deliveries wait in their own queue. */
  readonly mailer: Mailer;
  readonly clock: Clock;
  /** Of the ids of messages; asked late, because it is known once the server listens. */
  readonly host: () => string;
  /** Counted and logged by the caller. */
  readonly onOurFault: (fault: OurFault, error: MailFault) => void;
}

export function createEmailSender(deps: EmailSenderDeps): Channel<'email'> {
  return {
    attempt: (request) => attempt(deps, request),
    close: () => Promise.resolve(deps.mailer.close()),
  };
}

async function attempt(deps: EmailSenderDeps, request: EmailRequest): Promise<AttemptOutcome> {
  const { mailer, clock, host } = deps;
  const remainingMs = request.deadlineElapsedMs - clock.elapsed();
  if (remainingMs <= 0) return ourFailure('The attempt was over before it was sent');
  const deadline = new AbortController();
  const cancel = clock.wakeAfter(remainingMs, () => deadline.abort());
  try {
    await mailer.send({ ...mailOf(request, host()), signal: deadline.signal });
    return { kind: 'accepted' };
  } catch (error) {
    if (!(error instanceof MailFault)) throw error;
    return outcomeOf(deps, error, deadline.signal.aborted);
  } finally {
    cancel();
  }
}

function mailOf(request: EmailRequest, host: string): Mail {
  const { deliveryId, incident, target } = request;
  const { subject, text, html, chart } = decodeLetter(request.body);
  const { address, unsubscribeUrl } = target;
  const thread = `<${incident}@${host}>`;
  return {
    ...{ to: address, subject, messageId: `<${deliveryId}@${host}>` },
    text: `${text}${textFooter(unsubscribeUrl)}`,
    html: page(`${html}${htmlFooter(unsubscribeUrl)}`),
    headers: {
      ...(incident !== '' && { 'In-Reply-To': thread, References: thread }),
      ...(unsubscribeUrl !== '' && {
        // RFC 8058: a client may end the subscription by one POST, without showing a page.
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

const WHY = 'You get this mail because this address was confirmed for notifications.';

/** The link is the recipient's alone, and so never in what is stored. */
function textFooter(unsubscribeUrl: string): string {
  return unsubscribeUrl === '' ? '' : `\n${WHY} To end that:\n${unsubscribeUrl}\n`;
}

function htmlFooter(unsubscribeUrl: string): string {
  if (unsubscribeUrl === '') return '';
  const style = 'font-family:Arial,Helvetica,sans-serif;font-size:12px;color:#555';
  return `\n<p style="${style}">${WHY} <a href="${escapeHtml(unsubscribeUrl)}">Unsubscribe</a></p>`;
}

function page(body: string): string {
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"></head><body>\n${body}\n</body></html>\n`;
}

/** Answers to a recipient by which a server says that it takes no mail (RFC 5321, RFC 7504). */
const BOUNCES: ReadonlySet<number> = new Set([550, 551, 553, 521]);
/** Answers that ask for a login or an encryption first (RFC 4954, section 6). */
const LOGINS: ReadonlySet<number> = new Set([530, 534, 535, 538]);
/** The server takes no more from us at present. */
const BUSY = 421;

function outcomeOf(
  { onOurFault }: EmailSenderDeps,
  fault: MailFault,
  timedOut: boolean,
): AttemptOutcome {
  const number = fault.enhancedStatus() ?? fault.status;
  if (fault.mayBeTaken) {
    return { ...ourFailure('The mail was sent, and the server did not answer'), unknown: true };
  }
  if (timedOut) return ourFailure('The mail server did not take the mail within 30 s');
  const ours = ourFaultOf(fault);
  if (ours) {
    onOurFault(ours, fault);
    const answered = fault.status === undefined ? '' : ` (${fault.status})`;
    return ourFailure(
      `The mail server of this service refuses it${answered}: its operator is told`,
    );
  }
  if (!fault.isPermanent) {
    const told = number === undefined ? '' : `: it answered ${number}`;
    const slows = fault.status === BUSY && { slows: true };
    const ours = isOfServer(fault) && { ours: true as const };
    const outcome = failed(`The mail server did not take the mail${told}`);
    return { ...outcome, ...ours, ...slows, ...seen(fault) };
  }
  // The same answers to the content refuse this mail, and say nothing of the address.
  const bounced = fault.step === 'recipient' && BOUNCES.has(fault.status ?? 0);
  const error = bounced
    ? `The mail server says that the address takes no mail (${number})`
    : `The mail server refuses the mail (${number})`;
  return { kind: 'refused', error, pauseDestination: false, bounced, ...seen(fault) };
}

/** Nothing that the recipient or the message could be blamed for; undefined = it is not ours. */
function ourFaultOf(fault: MailFault): OurFault | undefined {
  const { step, status, isPermanent, isTlsFault } = fault;
  if (isTlsFault) return 'tls';
  if ((step === 'login' && (isPermanent || status === undefined)) || LOGINS.has(status ?? 0)) {
    return 'login';
  }
  if (!isPermanent) return undefined;
  if (step === 'sender') return 'sender';
  // 5.7.x is policy (RFC 3463): relaying denied, not authorized. It says nothing of the address.
  if (fault.enhancedStatus()?.startsWith('5.7.')) return 'policy';
  return step === 'setup' ? 'setup' : undefined;
}

/** All destinations share the one mail server: it is away or busy, whoever the mail is for. */
function isOfServer({ step, status }: MailFault): boolean {
  return status === undefined || status === BUSY || (step !== 'recipient' && step !== 'content');
}

/** What the server said, for people to read: they may be told of the mail, not of its network. */
function seen(fault: MailFault) {
  const excerpt = cutBytes(withoutHosts(redact(fault.answer(), {})), EXCERPT_BYTES_MAX);
  return excerpt === '' ? {} : { excerpt };
}

/**
 * The text without host names and addresses: relays name the machines that they spoke to, inside as
 * well. Enhanced status codes (5.1.1) have dots too, and no letter.
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
