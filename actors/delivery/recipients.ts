/**
 * The recipients of mail destinations: adding, keeping and removing them, and their verification
 * mails. Tokens are made before the decision that stores their hashes, and mails are sent after it,
 * so that every sent link is known.
 */

import { type RecipientContext, VERIFICATION_MS } from '../../machines/delivery/recipient.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import { activePeople, type IsPersonActive, isOfMember } from '../alerting/eligible.ts';
import { endNotice, raiseNotice } from '../alerting/notices.ts';
import { checkAudiencesWith } from '../alerting/rule-limits.ts';
import { parseEmail } from '../identity/people-index.ts';
import { canonicalEmail } from '../platform/email-address.ts';
import type { Draft, Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
import { recordMailProblem } from '../platform/mail-problems.ts';
import type { RecipientTokens, VerificationMails } from './destinations-port.ts';

/** Maximum recipients of one destination: a team. A mailing list is one address. */
const RECIPIENTS_MAX = 50;

/** The reason why a recipient was removed, as displayed in the audit log. */
type RemovedReason = 'TAKEN_OFF' | 'DESTINATION_DELETED';

/** A token made for an address, and the id of its recipient if one is started. */
export interface Invitation {
  readonly id: string;
  readonly token: string;
  readonly tokenHash: string;
}

/** Canonical, each once. Throws a `Refusal` INVALID_FIELD. */
export function parseAddresses(field: string, texts: readonly string[]): string[] {
  const addresses = [...new Set(texts.map((text) => parseEmail(field, text)))];
  if (addresses.length > 0 && addresses.length <= RECIPIENTS_MAX) return addresses;
  const message = `${field} has ${addresses.length} addresses; it must have 1 to ${RECIPIENTS_MAX}`;
  throw invalidField(field, message);
}

/** Recipients of the destination that are not removed, sorted by address. */
export function recipientRows(view: ProjectView, destination: string): Instance<'recipient'>[] {
  return allInstances(view, 'recipient')
    .filter(({ context }) => context.destination === destination)
    .sort((a, b) => (recipientOf(a).address < recipientOf(b).address ? -1 : 1));
}

/** The context of a recipient's row, in its newest version. */
export function recipientOf({ context }: Pick<Instance<'recipient'>, 'context'>): RecipientContext {
  return context;
}

/** An older version stored other spellings of it. */
function addressOf(row: Instance<'recipient'>): string {
  return canonicalEmail(recipientOf(row).address);
}

/**
 * Makes exactly these addresses the recipients: new ones are invited, existing ones are unchanged,
 * missing ones are removed. Throws a `Refusal` RECIPIENT_NOT_MEMBER (`addresses`) for new addresses
 * that belong to no member, LIMIT_EXCEEDED if a rule would notify too many.
 *
 * @returns ids of the invited recipients
 */
export function setRecipients(
  draft: Draft,
  destination: string,
  invitations: ReadonlyMap<string, Invitation>,
  isPersonActive: IsPersonActive,
): string[] {
  const before = recipientRows(draft, destination);
  const kept = new Set(before.map(addressOf));
  const added = [...invitations].filter(([address]) => !kept.has(address));
  const memberships = membershipsOf(draft, added, isPersonActive);
  const gone = before.filter((row) => !invitations.has(addressOf(row)));
  removeRecipients(draft, gone, 'TAKEN_OFF');
  for (const [address, { id, tokenHash }] of added) {
    const membership = memberships.get(address) ?? '';
    const about = { project: draft.project, destination, membership, address, tokenHash };
    draft.start('recipient', id, { at: draft.at, ...about });
  }
  if (added.length > gone.length) checkAudiencesWith(draft, destination);
  endBounceNotice(draft, destination);
  return added.map(([, { id }]) => id);
}

/** Memberships by address, without locked people. Throws RECIPIENT_NOT_MEMBER. */
function membershipsOf(
  draft: Draft,
  wanted: readonly (readonly [string, Invitation])[],
  isPersonActive: IsPersonActive,
): Map<string, string> {
  if (wanted.length === 0) return new Map();
  const members = new Map<string, string>();
  for (const row of allInstances(draft, 'membership')) {
    const { email, person } = row.context;
    if (row.value === 'active' && isPersonActive(person)) {
      members.set(canonicalEmail(email), row.instance);
    }
  }
  const strangers = wanted.map(([address]) => address).filter((address) => !members.has(address));
  if (strangers.length === 0) return members;
  const message = `No member of the project has the verified address ${strangers.join(', ')}`;
  const way =
    'invite them, and let them sign in with the provider or by a link mailed to the address';
  throw new Refusal('RECIPIENT_NOT_MEMBER', `${message}: ${way}`, {
    addresses: strangers.join(','),
  });
}

/**
 * Removes recipients inside a decision. Their queued deliveries are suppressed when their turn
 * comes.
 */
export function removeRecipients(
  draft: Draft,
  rows: readonly Instance<'recipient'>[],
  reason: RemovedReason,
): void {
  for (const { instance } of rows) {
    draft.send('recipient', instance, { type: 'removed', at: draft.at, reason });
  }
}

/** Ends the bounce notice if no address of the destination bounces anymore. */
export function endBounceNotice(draft: Draft, destination: string): void {
  const isLeft = recipientRows(draft, destination).some(({ value }) => value === 'bounced');
  const subject = { collection: 'destinations', id: destination } as const;
  if (!isLeft) endNotice(draft, { kind: 'RECIPIENT_BOUNCED', subject });
}

/** Records that the address accepts no mail: nothing more is sent, and a notice is raised. */
export function recordBounce(draft: Draft, recipient: string, reason: string): void {
  const { changed, instance } = draft.send('recipient', recipient, {
    type: 'bounced',
    at: draft.at,
    reason,
  });
  if (!changed) return;
  const { destination } = recipientOf(instance);
  const named = draft.instance('destination', destination)?.context.displayName ?? destination;
  raiseNotice(draft, {
    kind: 'RECIPIENT_BOUNCED',
    subject: { collection: 'destinations', id: destination },
    text: `A recipient of "${String(named)}" gets no more mail. ${reason}. Remove the address, or verify it again.`,
  });
}

const byVerificationMail: Actor = { kind: 'service', name: 'verification mail' };

/**
 * Sends the verification mail of a recipient who was just invited, unless removed since.
 *
 * @returns whether the mail was queued
 */
export function mailInvitation(
  mails: VerificationMails,
  host: Pick<Host, 'view' | 'submit'>,
  project: string,
  { id, token, tokenHash }: Invitation,
): boolean {
  const view = host.view(project);
  const row = view.instance('recipient', id);
  if (!row || row.final) return false;
  const isPersonActive = activePeople(host);
  const isCurrent = (): boolean => {
    const now = view.instance('recipient', id);
    if (now === undefined || recipientOf(now).tokenHash !== tokenHash) return false;
    return isOfMember(view, recipientOf(now), isPersonActive);
  };
  const { address, destination, tokenExpiresMs, updatedMs } = recipientOf(row);
  const about = view.instance('destination', destination)?.context as { displayName?: string };
  return mails.send({
    project: row.project,
    address,
    token,
    isCurrent,
    onProblem: (text) => recordMailProblem(host, { project, subject: `recipients/${id}`, text }),
    async onBounced(reason) {
      await host.submit({
        project,
        by: byVerificationMail,
        decide(draft) {
          const now = draft.instance('recipient', id);
          if (now && recipientOf(now).tokenHash === tokenHash) recordBounce(draft, id, reason);
        },
      });
    },
    destinationDisplayName: about?.displayName ?? '',
    expiresMs: tokenExpiresMs ?? updatedMs + VERIFICATION_MS,
  });
}

/** Makes a new token and recipient id for each address. */
export function invite(
  { tokens, newId }: { readonly tokens: RecipientTokens; readonly newId: () => string },
  addresses: readonly string[],
): Map<string, Invitation> {
  return new Map(addresses.map((address) => [address, invitationTo(tokens, newId())]));
}

/** A new verification link for a recipient: its token is mailed, its hash is committed. */
export function invitationTo(tokens: RecipientTokens, id: string): Invitation {
  const { text: token, hash: tokenHash } = tokens.mint(id);
  return { id, token, tokenHash };
}
