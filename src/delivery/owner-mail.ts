/**
 * Mails about a project's notices: what the service has to say of alerting itself, and of who can get
 * in, in the words of the notice, with the commands that show and mend it.
 */
import type { NoticeBody } from '../../actors/alerting/notices.ts';
import type { OwnerMail } from '../../actors/delivery/owner-notices.ts';
import { type AccessNotice, sentencesOf } from '../../actors/identity/access-notices.ts';
import { oneLine } from '../../actors/platform/one-line.ts';
import type { Letter } from '../platform/mail/letters.ts';
import { type Mailer, MailFault } from '../platform/mail/mailer.ts';

export interface OwnerMailDeps {
  readonly mailer: Pick<Mailer, 'send'>;
  /** Origin for clients. */
  readonly origin: () => string;
}

const NOTICE_CHARS_MAX = 1_000;

/** Sends one; false where the server will never take it. Rejects with a passing `MailFault`. */
export function ownerMails({ mailer, origin }: OwnerMailDeps) {
  return async (mail: OwnerMail): Promise<boolean> => {
    const { hostname, host } = new URL(origin());
    const { to, notice, key } = mail;
    const letter =
      notice.kind === 'ACCESS_CHANGED'
        ? accessLetter(mail, notice, host)
        : pauseLetter(mail, notice, host);
    try {
      await mailer.send({ to, ...letter, messageId: `<${key}@${hostname}>` });
      return true;
    } catch (error) {
      if (error instanceof MailFault && error.isPermanent) return false;
      throw error;
    }
  };
}

function pauseLetter({ project }: OwnerMail, { subject, text }: NoticeBody, host: string): Letter {
  const name = `projects/${project}/${subject.collection}/${subject.id}`;
  return {
    subject: `Notifications of ${project} are paused`,
    text: paragraphs(
      // It repeats names, and errors in which an endpoint may have chosen words.
      oneLine(text, NOTICE_CHARS_MAX),
      `It is ${name} on ${host}. What became of its messages:\n  svc deliveries list --destination ${name}`,
      `To start it again, once it is mended:\n  svc destinations resume ${name}`,
      'You get this mail because you own the project.',
    ),
  };
}

/** No link: whoever forges such a mail would put one there. */
function accessLetter(
  { project, isOwner, wasOwner }: OwnerMail,
  notice: AccessNotice,
  host: string,
): Letter {
  const changes = sentencesOf(notice).map((text) => `- ${oneLine(text, NOTICE_CHARS_MAX)}`);
  const show = isOwner
    ? ownersCommands(project)
    : wasOwner
      ? 'You are no owner of the project any more. If you did not expect that, ask another owner, or who runs the service, at once.'
      : `Your keys:\n  svc keys list --project ${project} --all`;
  const why = isOwner
    ? 'you own the project'
    : wasOwner
      ? 'you owned the project when it happened'
      : 'the key was yours';
  return {
    subject: `Access to ${project} on ${host} has changed`,
    text: paragraphs(changes.join('\n'), show, `You get this mail because ${why}.`),
  };
}

function ownersCommands(project: string): string {
  return [
    `Everything that can get in:\n  svc credentials --project ${project}`,
    `The members:\n  svc members list --project ${project}`,
    'What is not yours to know of, end at once:',
    '  svc keys revoke NAME, svc trusts disable NAME, svc members remove MEMBER',
    'A collector or agent key is ended by who runs the service: svc admin revoke-key NAME',
  ].join('\n');
}

function paragraphs(...parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`;
}
