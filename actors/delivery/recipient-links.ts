/**
 * The actions behind the links in mails: confirm an address, or unsubscribe. The link is the proof,
 * so no sign-in is needed. All causes of an invalid link have the same message, which says what to
 * do.
 */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { activePeople, isOfMember } from '../alerting/eligible.ts';
import type { Host } from '../platform/host/host-port.ts';
import type { RecipientLinks, RecipientTokens } from './destinations-port.ts';
import { endBounceNotice, recipientOf } from './recipients.ts';

/** The host, and the form of the links. */
export interface RecipientLinksDeps {
  readonly host: Pick<Host, 'submit' | 'view' | 'findInstance'>;
  readonly tokens: RecipientTokens;
}

const byVerificationLink: Actor = { kind: 'service', name: 'verification link' };
const byUnsubscribeLink: Actor = { kind: 'service', name: 'unsubscribe link' };

/**
 * Wraps the host. Using a link twice is harmless. An invalid link throws the same `Refusal` for
 * every cause.
 */
export function createRecipientLinks({ host, tokens }: RecipientLinksDeps): RecipientLinks {
  return {
    async confirm(token) {
      const id = tokens.parse(token);
      const found = id === undefined ? undefined : host.findInstance('recipient', id);
      if (id === undefined || !found) throw deadLink();
      const tokenHash = tokens.hash(token);
      const isPersonActive = activePeople(host);
      await host.submit({
        project: found.project,
        by: byVerificationLink,
        decide(draft) {
          if (!isOfMember(draft, recipientOf(found), isPersonActive)) throw deadLink();
          const event = { type: 'verified', at: draft.at, tokenHash } as const;
          if (!draft.send('recipient', id, event).changed) throw deadLink();
        },
      });
    },
    async unsubscribe({ project, recipient }) {
      const before = host.view(project).instance('recipient', recipient);
      if (!before || before.final) return;
      await host.submit({
        project,
        by: byUnsubscribeLink,
        decide(draft) {
          const row = draft.instance('recipient', recipient);
          if (!row || row.final) return;
          const { changed } = draft.send('recipient', recipient, {
            type: 'unsubscribed',
            at: draft.at,
          });
          if (changed) endBounceNotice(draft, recipientOf(row).destination);
        },
      });
    },
  };
}

function deadLink(): Refusal {
  const message =
    'The link is not valid: it was used, is older than 24 hours, or a newer mail was sent';
  return new Refusal('INVALID_STATE', `${message}. Request another mail`);
}
