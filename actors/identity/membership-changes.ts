/**
 * Changes of memberships inside a decision of their project: joining, changing the role, leaving. A
 * project always keeps at least one owner. Leaving revokes the member's personal keys.
 */
import type { Role } from '../../machines/identity/membership.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, Instance, ProjectView } from '../platform/host/host-port.ts';
import { displayedActor, keepFormerOwner, recordAccessChange } from './access-notices.ts';
import { memberIdOf, ownerName } from './grants.ts';
import { withdrawInvitationsOf } from './open-invitations.ts';

/** Maximum memberships of a project, including those of people who left. */
export const MEMBERS_MAX = 1_000;
/**
 * Maximum keys revoked by one decision. The next one revokes the rest, which no longer have grants.
 */
export const KEYS_A_DECISION = 200;

/** Facts about a person that a membership stores. */
export interface MemberFacts {
  readonly person: string;
  readonly displayName: string;
  readonly email: string;
}

const RANK: Readonly<Record<Role, number>> = { VIEWER: 1, EDITOR: 2, OWNER: 3 };

/** The higher of two roles. */
export function higher(one: Role, other: Role): Role {
  return RANK[one] >= RANK[other] ? one : other;
}

/**
 * Makes a person a member, whether new, returning or current. Returns the id. Throws
 * LIMIT_EXCEEDED.
 */
export function join(draft: Draft, facts: MemberFacts, role: Role, by: Actor): string {
  const { project, at } = draft;
  const id = memberIdOf(project, facts.person);
  const row = draft.instance('membership', id);
  if (!row) {
    if (draft.countInstances('membership', { final: false }) >= MEMBERS_MAX) {
      throw new Refusal('LIMIT_EXCEEDED', `A project has at most ${MEMBERS_MAX} members`, {
        limit: String(MEMBERS_MAX),
      });
    }
    draft.start('membership', id, { at, project, ...facts, role, by: by.name });
    if (role === 'OWNER') recordNewOwner(draft, id, by);
    return id;
  }
  if (row.value === 'removed') {
    draft.send('membership', id, { type: 'rejoined', at, role, by: by.name });
    if (role === 'OWNER') recordNewOwner(draft, id, by);
  } else {
    changeRole(draft, id, role, by);
  }
  recordFacts(draft, id, facts);
  return id;
}

type Named = Pick<MemberFacts, 'displayName' | 'email'>;

/** True if an active membership has another name or address than the person. */
export function isOutdated(row: Instance<'membership'>, { displayName, email }: Named): boolean {
  const before = row.context;
  const isSame = before.displayName === displayName && before.email === email;
  return row.value === 'active' && !isSame;
}

/** Copies the person's name and address to the membership if they differ. */
export function recordFacts(draft: Draft, id: string, { displayName, email }: Named): void {
  const row = draft.instance('membership', id);
  if (!row || !isOutdated(row, { displayName, email })) return;
  draft.send('membership', id, { type: 'renamed', at: draft.at, displayName, email });
}

/** Throws NOT_FOUND, and INVALID_STATE for the last owner. */
export function changeRole(draft: Draft, id: string, role: Role, by: Actor): void {
  const before = activeMember(draft, id);
  if (before.context.role === role) return;
  if (before.context.role === 'OWNER') assertAnotherOwner(draft, id);
  draft.send('membership', id, { type: 'roleChanged', at: draft.at, role, by: by.name });
  if (role === 'OWNER') recordNewOwner(draft, id, by);
  else if (before.context.role === 'OWNER') recordLostOwner(draft, id, `was made ${role}`, by);
}

/** Notifies the other owners. A project's first owner has none. */
function recordNewOwner(draft: Draft, id: string, by: Actor): void {
  const member = draft.instance('membership', id);
  if (!member || !hasOtherOwner(draft, id)) return;
  const text = `${displayedMember(member)} was made an OWNER by ${displayedActor(draft, by.name)}`;
  recordAccessChange(draft, { about: 'ACCESS', text, isForOwners: true, member: null });
}

/**
 * Withdraws the owner's open invitations. Notifies the remaining owners and the former one, who
 * still sees the changes up to now.
 */
function recordLostOwner(draft: Draft, id: string, what: string, by: Actor): void {
  const member = draft.instance('membership', id);
  if (!member) return;
  withdrawInvitationsOf(draft, member.context.person, by.name);
  const text = `${displayedMember(member)}, an OWNER, ${what} by ${displayedActor(draft, by.name)}`;
  recordAccessChange(draft, { about: 'ACCESS', text, isForOwners: true, member: id });
  keepFormerOwner(draft, id);
}

function displayedMember(member: Instance<'membership'>): string {
  const { displayName, email, person } = member.context;
  const address = email === '' ? '' : `, ${email}`;
  return `${displayName} (people/${person}${address})`;
}

/**
 * Ends a membership and the member's personal keys. Throws NOT_FOUND, and INVALID_STATE for the
 * last owner.
 */
export function leave(draft: Draft, id: string, reason: string, by: Actor): void {
  const before = activeMember(draft, id);
  if (before.context.role === 'OWNER') assertAnotherOwner(draft, id);
  draft.send('membership', id, { type: 'removed', at: draft.at, reason, by: by.name });
  revokeKeys(draft, id, 'MEMBER_REMOVED', by);
  if (before.context.role === 'OWNER') recordLostOwner(draft, id, 'was removed', by);
}

/** Revokes up to 200 personal keys of a member. Returns the number of revoked keys. */
export function revokeKeys(draft: Draft, member: string, reason: string, by: Actor): number {
  const owner = ownerName({ project: draft.project, machine: 'membership', id: member });
  const live = draft.instances('credential', { final: false, owner, limit: KEYS_A_DECISION });
  for (const { instance } of live.items) {
    const event = { type: 'revoked', at: draft.at, reason, by: by.name } as const;
    draft.send('credential', instance, event);
  }
  return live.items.length;
}

function activeMember(draft: Draft, id: string): Instance<'membership'> {
  const row = draft.instance('membership', id);
  if (row?.value === 'active') return row;
  throw new Refusal('NOT_FOUND', `There is no member ${id} in the project`);
}

function hasOtherOwner(view: Pick<ProjectView, 'instances'>, id: string): boolean {
  const { items } = view.instances('membership', { final: false, limit: MEMBERS_MAX });
  return items.some(
    (row) => row.instance !== id && row.value === 'active' && row.context.role === 'OWNER',
  );
}

function assertAnotherOwner(view: Pick<ProjectView, 'instances'>, id: string): void {
  if (hasOtherOwner(view, id)) return;
  throw new Refusal(
    'INVALID_STATE',
    'The project would have no OWNER left. Make another member an OWNER first',
  );
}
