/** Sends invitations where the service has a mail server: what `InviteMember` is given. */
import type { Clock } from '../../streams/clock.ts';
import { type Random, ulid } from '../../streams/random.ts';
import type { InviteMail } from '../rpc/identity/members.ts';
import { invitationLetter } from './letters.ts';
import type { MailQueue } from './mail-queue.ts';

export function inviteMail({
  mail,
  origin,
  clock,
  random,
}: {
  readonly mail: Pick<MailQueue, 'add'>;
  readonly origin: () => string;
  readonly clock: Clock;
  readonly random: Random;
}): InviteMail {
  return ({ email, ...invitation }) =>
    mail.add({
      kind: 'invitation',
      make: async () => {
        const nowMs = clock.now();
        const letter = invitationLetter({ ...invitation, origin: origin(), nowMs });
        const messageId = `<${ulid(nowMs, random)}@${new URL(origin()).hostname}>`;
        return { to: email, ...letter, messageId };
      },
    });
}
