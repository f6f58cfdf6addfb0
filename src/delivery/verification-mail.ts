/**
 * Verification mails, by which the holders of addresses confirm them. Editors of destinations
 * choose the recipients of these mails. Only members can be editors, but mails are still limited
 * per address and per project.
 */
import type {
  RecipientTokens,
  VerificationMails,
} from '../../actors/delivery/destinations-port.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { AddressLimits } from '../platform/http/anonymous-limits.ts';
import { hashKey, mintSecret, parseSecret } from '../platform/keys.ts';
import { verificationLetter } from '../platform/mail/letters.ts';
import { mailProblem } from '../platform/mail/mail-problem.ts';
import type { MailQueue } from '../platform/mail/mail-queue.ts';
import { bounceReason } from '../platform/mail/mailer.ts';

/** For one address, from all callers. */
const MAILS_TO_ONE = { burst: 3, refillMs: 300_000 };
/** For one project: all recipients of a destination at once, then one per minute. */
const MAILS_OF_PROJECT = { burst: 50, refillMs: 60_000 };

export interface VerificationMailDeps {
  readonly mail: Pick<MailQueue, 'add' | 'room' | 'recordLimited'>;
  readonly origin: () => string;
  /** Display name of a project. */
  readonly displayNameOf: (project: string) => string;
  readonly clock: Clock;
  readonly random: Random;
}

export function verificationMails(deps: VerificationMailDeps): VerificationMails {
  const { mail, origin, displayNameOf, clock, random } = deps;
  const toOne = new AddressLimits(clock, MAILS_TO_ONE);
  const ofProject = new AddressLimits(clock, MAILS_OF_PROJECT);
  return {
    room: (project) => mail.room({ kind: 'verification', project }),
    take(project, address) {
      const waitMs = toOne.takeFrom(address) || ofProject.takeFrom(project);
      if (waitMs > 0) mail.recordLimited('verification');
      return waitMs;
    },
    send({ address, project, isCurrent, onBounced, onProblem, ...verification }) {
      return mail.add({
        kind: 'verification',
        project,
        isCurrent,
        worksUntilMs: () => verification.expiresMs,
        onOutcome: async (outcome) => {
          await onProblem(mailProblem(outcome));
          if (outcome.kind !== 'refused' || !outcome.fault.isBounce()) return;
          await onBounced(bounceReason(outcome.fault));
        },
        make: async () => {
          const nowMs = clock.now();
          const projectDisplayName = displayNameOf(project);
          const about = { ...verification, projectDisplayName, origin: origin(), nowMs };
          const messageId = `<${ulid(nowMs, random)}@${new URL(origin()).hostname}>`;
          return { to: address, ...verificationLetter(about), messageId };
        },
      });
    },
  };
}

/** Prefix of a recipient's id. The rest is a secret of letters and digits. */
const ID_PREFIX = 'rcp_';

/** Makes secrets for verification mails, in the form of all secrets of the service. */
export function createRecipientTokens(ports: { clock: Clock; random: Random }): RecipientTokens {
  return {
    mint(recipient) {
      const id = recipient.slice(ID_PREFIX.length);
      return mintSecret('verify', { nowMs: ports.clock.now(), random: ports.random, id });
    },
    parse(text) {
      const id = parseSecret('verify', text);
      return id === undefined ? undefined : `${ID_PREFIX}${id}`;
    },
    hash: hashKey,
  };
}
