/**
 * Verification mails on their way to the owners of addresses, and the secrets in their links. No
 * mail is lost here: a lost mail has the same effect as a link that is not opened.
 */
import { createHash } from 'node:crypto';
import type {
  RecipientTokens,
  VerificationMail,
  VerificationMails,
} from '../../actors/delivery/destinations-port.ts';
import type { Dice } from './dice.ts';

export class Mailbox implements VerificationMails {
  /** Mailed tokens, oldest first. */
  readonly tokens: string[] = [];

  room(): number {
    return 1_000;
  }

  take(): number {
    return 0;
  }

  send({ token }: VerificationMail): boolean {
    this.tokens.push(token);
    return true;
  }
}

/** The form of secrets in links: the recipient's id and an unguessable part. */
export function tokensOf(dice: Dice): RecipientTokens {
  const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
  return {
    mint(recipient) {
      const text = `${recipient}.${dice.below(2 ** 31)}`;
      return { text, hash: hash(text) };
    },
    parse: (text) => text.split('.')[0],
    hash,
  };
}
