/** Action of `svc admin` for a mail server's pipe: reads a returned mail. */
import { BOUNCE_PATH, type BounceAnswer, type BounceOutcome } from '../admin/bounce-routes.ts';
import { parseBounces } from '../platform/mail/bounce.ts';
import type { AdminAction } from './admin-actions.ts';

/** EX_TEMPFAIL of sysexits.h: the mail server keeps the mail and tries again. */
const EXIT_TRY_AGAIN = 75;

const OUTCOMES: Readonly<Record<BounceOutcome, string>> = {
  recorded: 'The address gets no more mail until it is verified again',
  already: 'Mail to the address had stopped before',
  unknown: 'Ignored: the mail was not a notification of this service',
  other: 'Ignored: the report is not about the address',
};

export const bounceActions: readonly AdminAction[] = [
  {
    name: 'bounce',
    summary: 'Read a returned mail from standard input, as piped by the mail server',
    readsInput: true,
    path: BOUNCE_PATH,
    exitOnFault: EXIT_TRY_AGAIN,
    ask: (_input, text) => ({ bounces: JSON.stringify(parseBounces(text)) }),
    render(answer) {
      const { outcomes } = answer as BounceAnswer;
      if (outcomes.length === 0) return 'Ignored: the mail is not a delivery report\n';
      return outcomes.map((outcome) => `${OUTCOMES[outcome]}\n`).join('');
    },
  },
];
