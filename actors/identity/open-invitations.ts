/**
 * Open invitations of a project: at most one per address. An owner who loses the role or leaves
 * loses their open invitations too: they know the links, and could return through them.
 */
import { emailSpellings } from '../platform/email-address.ts';
import type { Draft, EventOf, Instance, ProjectView } from '../platform/host/host-port.ts';
import { emailKey } from './people-index.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    invitationTo: { readonly invitation: string };
  }
}

/** Maximum open invitations of a project. */
export const INVITATIONS_MAX = 100;

/** Record of the open invitation to an address, by the digest of the address. */
const TO_ADDRESS = 'invitationTo';

/** The open invitation to an address; undefined if the address has no invitation. */
export function openTo(
  view: Pick<ProjectView, 'record' | 'instance'>,
  email: string,
): Instance<'invitation'> | undefined {
  for (const spelling of emailSpellings(email)) {
    const id = view.record(TO_ADDRESS, emailKey(spelling))?.body.invitation;
    const row = typeof id === 'string' ? view.instance('invitation', id) : undefined;
    if (row?.value === 'pending') return row;
  }
  return undefined;
}

/** Records the invitation that the same decision starts. */
export function recordInvitation(draft: Draft, email: string, invitation: string): void {
  draft.putRecord({ kind: TO_ADDRESS, id: emailKey(email), body: { invitation } });
}

/** Withdraws an invitation, and releases its address for another one. */
export function withdrawInvitation(draft: Draft, row: Instance<'invitation'>, by: string): void {
  end(draft, row, { type: 'revoked', at: draft.at, by });
}

/** Records who has accepted an invitation, and releases its address for another one. */
export function recordAccepted(draft: Draft, row: Instance<'invitation'>, person: string): void {
  end(draft, row, { type: 'accepted', at: draft.at, person });
}

function end(draft: Draft, row: Instance<'invitation'>, event: EventOf<'invitation'>): void {
  draft.send('invitation', row.instance, event);
  const id = emailKey(row.context.email);
  if (draft.record(TO_ADDRESS, id)?.body.invitation === row.instance) {
    draft.putRecord({ kind: TO_ADDRESS, id, body: null });
  }
}

/** Withdraws the open invitations that a person has made. */
export function withdrawInvitationsOf(draft: Draft, person: string, by: string): void {
  const { items } = draft.instances('invitation', { final: false, limit: INVITATIONS_MAX });
  for (const row of items) {
    if (row.value !== 'pending' || row.context.invitedBy !== `people/${person}`) continue;
    withdrawInvitation(draft, row, by);
  }
}
