/**
 * Mails to a project's owners about notices: what the service has to say of alerting itself, in the
 * words of the notice, with the commands that show and mend it.
 */
import { oneLine } from '../../actors/alerting/one-line.ts';
import type { OwnerMail } from '../../actors/delivery/owner-news.ts';
import { type Mailer, MailFault } from './mailer.ts';

export interface OwnerMailDeps {
  readonly mailer: Pick<Mailer, 'send'>;
  /** Origin for clients. */
  readonly origin: () => string;
}

const NOTICE_CHARS_MAX = 1_000;

/** Sends one; false where the server will never take it. Rejects with a passing `MailFault`. */
export function ownerMails({ mailer, origin }: OwnerMailDeps) {
  return async ({ to, project, notice, key }: OwnerMail): Promise<boolean> => {
    const { hostname, host } = new URL(origin());
    const { id, collection } = notice.subject;
    const name = `projects/${project}/${collection}/${id}`;
    const text = [
      // It repeats names, and errors in which an endpoint may have chosen words.
      oneLine(notice.text, NOTICE_CHARS_MAX),
      `It is ${name} on ${host}. What became of its messages:\n  svc deliveries list --destination ${name}`,
      `To start it again, once it is mended:\n  svc destinations resume ${name}`,
      'You get this mail because you own the project. Nothing else is told this way.',
    ];
    try {
      await mailer.send({
        ...{ to, text: `${text.join('\n\n')}\n`, messageId: `<${key}@${hostname}>` },
        subject: `Notifications of ${project} are paused`,
      });
      return true;
    } catch (error) {
      if (error instanceof MailFault && error.isPermanent) return false;
      throw error;
    }
  };
}
