/**
 * Problems of mails about an invitation, a recipient or a person, for the requester of the mail:
 * the answers of the mail server. Recorded when the mail server has not accepted a mail for a
 * while, and removed when it has. A record, and not a state of the machine: an invitation whose
 * mail failed is as valid as before, because its link can be passed on.
 */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Host, ProjectView } from './host/host-port.ts';

declare module './host/rows.ts' {
  interface RecordBodies {
    mailProblem: { readonly text: string; readonly atMs: number };
  }
}

const KIND = 'mailProblem';
const byMail: Actor = { kind: 'service', name: 'mail' };

/** Subject of a mail; people are those of `_system`. */
export type MailSubject = `${'invitations' | 'recipients' | 'people'}/${string}`;

/** The problem in a sentence; '' = none. */
export function mailProblemOf(view: Pick<ProjectView, 'record'>, subject: MailSubject): string {
  return view.record(KIND, subject)?.body.text ?? '';
}

/** Records a problem, or that it has ended (null). Throws the errors of `Host.submit`. */
export async function recordMailProblem(
  host: Pick<Host, 'submit' | 'view'>,
  about: { readonly project: string; readonly subject: MailSubject; readonly text: string | null },
): Promise<void> {
  const { project, subject, text } = about;
  // Most mails are accepted at once, which costs no commit.
  if (mailProblemOf(host.view(project), subject) === (text ?? '')) return;
  await host.submit({
    project,
    by: byMail,
    decide(draft) {
      const body = text === null ? null : { text, atMs: draft.at };
      draft.putRecord({ kind: KIND, id: subject, body });
    },
  });
}
