/**
 * Mails invitations, for services with a mail server. Owners of projects choose the recipients, so
 * mails are limited per address and per project. Beyond the limit, an invitation is still made, and
 * the inviter passes on its link.
 */
import type { Host } from '../../actors/platform/host/host-port.ts';
import { recordMailProblem } from '../../actors/platform/mail-problems.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { AddressLimits } from '../platform/http/anonymous-limits.ts';
import { invitationLetter } from '../platform/mail/letters.ts';
import { mailProblem } from '../platform/mail/mail-problem.ts';
import type { MailQueue } from '../platform/mail/mail-queue.ts';
import type { InviteMail } from './api/members.ts';

/** Mails to one address, from all inviters. */
const MAILS_TO_ONE = { burst: 3, refillMs: 300_000 };
/** Mails of one project: a team at once, then one per minute. */
const MAILS_OF_PROJECT = { burst: 50, refillMs: 60_000 };

export function inviteMail({
  mail,
  origin,
  clock,
  random,
  isOpen,
  record,
}: {
  readonly mail: Pick<MailQueue, 'add' | 'recordLimited'>;
  readonly origin: () => string;
  readonly clock: Clock;
  readonly random: Random;
  /** False for an invitation that was accepted, withdrawn or replaced, or has expired. */
  readonly isOpen: (project: string, invitation: string) => boolean;
  /** Records the problem of an invitation's mail; null = none. */
  readonly record: (project: string, invitation: string, problem: string | null) => Promise<void>;
}): InviteMail {
  const toOne = new AddressLimits(clock, MAILS_TO_ONE);
  const ofProject = new AddressLimits(clock, MAILS_OF_PROJECT);
  return ({ email, project, invitation: id, ...invitation }) => {
    if (toOne.takeFrom(email) > 0 || ofProject.takeFrom(project) > 0) {
      mail.recordLimited('invitation');
      return false;
    }
    return mail.add({
      kind: 'invitation',
      project,
      isCurrent: () => isOpen(project, id),
      worksUntilMs: () => invitation.expiresMs,
      onOutcome: (outcome) => record(project, id, mailProblem(outcome)),
      make: async () => {
        const nowMs = clock.now();
        const letter = invitationLetter({ ...invitation, origin: origin(), nowMs });
        const messageId = `<${ulid(nowMs, random)}@${new URL(origin()).hostname}>`;
        return { to: email, ...letter, messageId };
      },
    });
  };
}

/** The same over the host that has the invitations. */
export function invitationMails(
  ports: Omit<Parameters<typeof inviteMail>[0], 'isOpen' | 'record'>,
  host: Pick<Host, 'submit' | 'view'>,
): InviteMail {
  return inviteMail({
    ...ports,
    isOpen: (project, id) => host.view(project).instance('invitation', id)?.value === 'pending',
    record: (project, id, text) =>
      recordMailProblem(host, { project, subject: `invitations/${id}`, text }),
  });
}
