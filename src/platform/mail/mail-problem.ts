/**
 * Sentences about a mail that the mail server has not accepted, for the person who requested it.
 * They repeat the server's words, because these name the cause better than any summary.
 */
import { oneLine } from '../../../actors/platform/plain-text.ts';
import type { MailOutcome } from './mail-queue.ts';
import type { MailFault } from './mailer.ts';

const ANSWER_CHARS_MAX = 300;

/** null if the mail server has accepted the mail. */
export function mailProblem(outcome: MailOutcome): string | null {
  switch (outcome.kind) {
    case 'accepted':
      return null;
    case 'deferred':
      return `The mail server has not accepted the mail yet; it is tried again. ${saidBy(outcome.fault)}`;
    case 'refused':
      return `The mail server rejected the mail. ${saidBy(outcome.fault)}`;
    case 'given-up':
      return `The mail server did not accept the mail, and it is not tried again. ${saidBy(outcome.fault)}`;
    case 'dropped':
      return 'The service stopped before the mail server accepted the mail, and it is not tried again.';
  }
}

function saidBy(fault: MailFault): string {
  // Its words are for the operator: they may name the account of the service.
  if (fault.step === 'login') return 'The login of this service was rejected: ask its operator.';
  const answer = oneLine(fault.answer(), ANSWER_CHARS_MAX);
  if (answer !== '') return `It said: ${answer}`;
  return fault.isTlsFault ? 'It offers no TLS.' : 'It gave no answer.';
}
