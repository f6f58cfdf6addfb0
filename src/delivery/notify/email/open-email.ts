/**
 * The mail channel where a mail server is set: a mailer of its own, apart from the one of sign-in
 * links, and what the operator is told when that server refuses the service itself.
 */
import type { Channel } from '../../../../actors/delivery/notifier-port.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { Log } from '../../../platform/log.ts';
import { createMailer } from '../../../platform/mail/mailer.ts';
import type { Metrics } from '../../../platform/metrics.ts';
import { createEmailSender, type OurFault } from './sender.ts';

export interface OpenEmailDeps {
  /** Of SVC_SMTP_URL; null = no mail server is set. */
  readonly smtpUrl: string | null;
  /** An address, or `Name <address>`. */
  readonly from: string;
  /** Of the service, as clients reach it; asked late. */
  readonly publicUrl: () => string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The same fault is logged once in so long, ms: thousands of mails may meet it. */
const LOG_EVERY_MS = 60_000;

const WHAT_TO_MEND: Readonly<Record<OurFault, string>> = {
  login: 'does not let the service log in: look at the user and password of SVC_SMTP_URL',
  tls: 'offers no TLS that can be trusted: look at its certificate, or at SVC_SMTP_URL',
  sender: 'refuses the sender: look at SVC_SMTP_FROM',
  policy: 'does not pass on mail of the service: look at what it allows',
  setup: 'refuses the service: look at SVC_SMTP_URL and at its own log',
};

/** undefined where no mail server is set. */
export function openEmail(deps: OpenEmailDeps): Channel<'email'> | undefined {
  const { smtpUrl, from, publicUrl, clock, log, metrics } = deps;
  if (smtpUrl === null) return undefined;
  const faults = metrics.counter(
    'svc_mail_setup_faults_total',
    'Notifications that the mail server did not take for a fault of this service',
    ['fault'],
  );
  const loggedMs = new Map<OurFault, number>();
  return createEmailSender({
    mailer: createMailer({ url: smtpUrl, from, isUnpooled: true }),
    clock,
    host: () => new URL(publicUrl()).hostname,
    onOurFault(fault, error) {
      faults.inc({ fault });
      const nowMs = clock.elapsed();
      if (nowMs - (loggedMs.get(fault) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return;
      loggedMs.set(fault, nowMs);
      log.error({ err: error, part: 'notifier' }, `The mail server ${WHAT_TO_MEND[fault]}`);
    },
  });
}
