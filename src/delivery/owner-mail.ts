/**
 * Mails about a project's notices: problems of alerting itself, and changes of access. Each mail
 * has the text of the notice and the commands that display and fix the problem.
 */
import type { NoticeBody } from '../../actors/alerting/notices.ts';
import type { OwnerMail } from '../../actors/delivery/owner-notices.ts';
import { type AccessNotice, sentencesOf } from '../../actors/identity/access-notices.ts';
import { oneLine } from '../../actors/platform/plain-text.ts';
import type { Letter } from '../platform/mail/letters.ts';
import { type Mailer, MailFault } from '../platform/mail/mailer.ts';

export interface OwnerMailDeps {
  readonly mailer: Pick<Mailer, 'send'>;
  /** Origin for clients. */
  readonly origin: () => string;
}

const NOTICE_CHARS_MAX = 1_000;

/**
 * Sends a mail. Resolves to false if the server will never accept it. Rejects with a retryable
 * `MailFault`.
 */
export function ownerMails({ mailer, origin }: OwnerMailDeps) {
  return async (mail: OwnerMail): Promise<boolean> => {
    const { hostname, host } = new URL(origin());
    const { to, notice, key } = mail;
    const letter =
      notice.kind === 'ACCESS_CHANGED'
        ? accessLetter(mail, notice, host)
        : destinationLetter(mail, notice, host);
    try {
      await mailer.send({ to, ...letter, messageId: `<${key}@${hostname}>` });
      return true;
    } catch (error) {
      if (error instanceof MailFault && error.isPermanent) return false;
      throw error;
    }
  };
}

function destinationLetter(
  { project }: OwnerMail,
  { kind, subject, text }: NoticeBody,
  host: string,
): Letter {
  const isPaused = kind === 'DESTINATION_PAUSED';
  const name = `projects/${project}/${subject.collection}/${subject.id}`;
  return {
    subject: `Notifications of ${project} are ${isPaused ? 'paused' : 'rejected'}`,
    text: paragraphs(
      // Contains names, and errors in words that an endpoint may have chosen.
      oneLine(text, NOTICE_CHARS_MAX),
      `It is ${name} on ${host}. To list its messages:\n  svc deliveries list --destination ${name}`,
      isPaused
        ? `To resume it after fixing the problem:\n  svc destinations resume ${name}`
        : `To test it after fixing the problem:\n  svc destinations test ${name}`,
      'You receive this mail because you own the project.',
    ),
  };
}

/** Contains no link, because forged mails of this kind would have one. */
function accessLetter(
  { project, isOwner, wasOwner }: OwnerMail,
  notice: AccessNotice,
  host: string,
): Letter {
  const changes = sentencesOf(notice).map((text) => `- ${oneLine(text, NOTICE_CHARS_MAX)}`);
  const show = isOwner
    ? ownersCommands(project)
    : wasOwner
      ? 'You no longer own the project. If you did not expect that, contact another owner or the operator of the service at once.'
      : `Your keys:\n  svc keys list --project ${project} --all`;
  const why = isOwner
    ? 'you own the project'
    : wasOwner
      ? 'you owned the project at that time'
      : 'the key was yours';
  return {
    subject: `Access to ${project} on ${host} has changed`,
    text: paragraphs(changes.join('\n'), show, `You receive this mail because ${why}.`),
  };
}

function ownersCommands(project: string): string {
  return [
    `All credentials with access:\n  svc credentials --project ${project}`,
    `The members:\n  svc members list --project ${project}`,
    'Immediately end all access that you do not recognize:',
    '  svc keys revoke NAME, svc trusts disable NAME, svc members remove MEMBER',
    'Keys of collectors and agents are revoked by the operator of the service: svc admin revoke-key NAME',
  ].join('\n');
}

function paragraphs(...parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`;
}
