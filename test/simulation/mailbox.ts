/**
 * Verification mails on their way to the holders of addresses, and the secrets in their links. No
 * mail is ever lost here: what is lost shows as a link that nobody opens.
 */
import { createHash } from 'node:crypto';
import type {
  RecipientTokens,
  VerificationMail,
  VerificationMails,
} from '../../actors/delivery/destinations-port.ts';
import type { Dice } from './dice.ts';

export class Mailbox implements VerificationMails {
  /** Tokens that were mailed, oldest first. */
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

/** The form of secrets in links: the recipient's id, and something nobody guesses. */
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
