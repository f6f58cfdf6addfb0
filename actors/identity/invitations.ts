/**
 * Invitations: made by an owner or the operator, and accepted once, by the holder of the link or
 * the proven owner of the address. Each address has at most one open invitation; a new one replaces
 * it.
 */
import type { Role } from '../../machines/identity/membership.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { emailSpellings } from '../platform/email-address.ts';
import type { Draft, Host, Instance, ProjectView, RequestKey } from '../platform/host/host-port.ts';
import { displayedActor, recordAccessChange } from './access-notices.ts';
import { memberIdOf } from './grants.ts';
import {
  higher,
  isOutdated,
  join,
  KEYS_A_DECISION,
  recordFacts,
  revokeKeys,
} from './membership-changes.ts';
import {
  INVITATIONS_MAX,
  openTo,
  recordAccepted,
  recordInvitation,
  withdrawInvitation,
} from './open-invitations.ts';
import {
  assertActive,
  memberFactsOf,
  parseEmail,
  personByEmail,
  personRow,
} from './people-index.ts';
import type { SignInSecrets } from './sign-in-secrets.ts';

/** The host, and the form of the links. */
export interface InvitationDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly secrets: SignInSecrets;
}

/** Invites an address to a project in a role. */
export interface Invite {
  readonly project: string;
  readonly by: Actor;
  readonly email: string;
  readonly role: Role;
  readonly request?: RequestKey;
}

/** The open invitation, and its link if this request made it. */
export interface Invited {
  readonly invitation: Instance<'invitation'>;
  /** `svc_inv_...`; null for a resent request, because it cannot be read again. */
  readonly token: string | null;
}

/** Invitations of all projects. Each one is in its project's chain. */
export interface Invitations {
  /** Throws a `Refusal`: INVALID_FIELD, INVALID_STATE (already a member), LIMIT_EXCEEDED. */
  invite(request: Invite): Promise<Invited>;
  /** Throws a `Refusal`: NOT_FOUND, INVALID_STATE (already accepted). */
  revoke(request: {
    readonly project: string;
    readonly by: Actor;
    readonly invitation: string;
    readonly request?: RequestKey;
  }): Promise<void>;
  /** Open invitations to an address, in all projects. */
  openFor(email: string): readonly Instance<'invitation'>[];
  /**
   * Makes a person a member. Changes nothing if that person has already accepted it. Throws a
   * `Refusal`: CREDENTIAL_REVOKED, CREDENTIAL_EXPIRED, IDENTITY_DISABLED, LIMIT_EXCEEDED.
   */
  accept(request: {
    readonly project: string;
    readonly invitation: string;
    readonly person: string;
  }): Promise<void>;
  /** Ends a person's personal keys in every project. */
  revokeKeysOf(person: string, reason: string): Promise<void>;
  /** Copies a person's name and address to their memberships where those differ. */
  recordName(person: string): Promise<void>;
}

/** Wraps the host. The decision checks the limits and the one open invitation per address. */
export function createInvitations(deps: InvitationDeps): Invitations {
  const { host } = deps;
  return {
    invite: (request) => invite(deps, request),
    async revoke({ project, by, invitation, request }) {
      await host.submit({
        project,
        by,
        ...(request && { request }),
        decide(draft) {
          const row = draft.instance('invitation', invitation);
          if (!row) throw notFound(invitation);
          if (row.value === 'accepted') {
            throw new Refusal(
              'INVALID_STATE',
              'The invitation was already accepted. Remove the member instead',
            );
          }
          withdrawInvitation(draft, row, by.name);
          return {};
        },
      });
    },
    openFor: (email) => openFor(deps, email),
    accept: (request) => accept(deps, request),
    revokeKeysOf: (person, reason) => revokeKeysOf(host, person, reason),
    recordName: (person) => recordName(host, person),
  };
}

async function invite({ host, secrets }: InvitationDeps, requested: Invite): Promise<Invited> {
  const { project, by, role, request } = requested;
  const email = parseEmail('email', requested.email);
  const minted = secrets.mint('inv');
  const { answer } = await host.submit({
    project,
    by,
    ...(request && { request }),
    decide(draft) {
      assertNoMember(host.view(SYSTEM_PROJECT), draft, email);
      const before = openTo(draft, email);
      if (before) withdrawInvitation(draft, before, by.name);
      else if (draft.countInstances('invitation', { final: false }) >= INVITATIONS_MAX) {
        throw new Refusal(
          'LIMIT_EXCEEDED',
          `${INVITATIONS_MAX} invitations are already open. Revoke one first`,
          { limit: String(INVITATIONS_MAX) },
        );
      }
      const offer = { email, role, tokenHash: minted.hash, invitedBy: by.name };
      draft.start('invitation', minted.id, { at: draft.at, project, ...offer });
      if (role === 'OWNER') {
        const text = `${email} was invited as an OWNER by ${displayedActor(draft, by.name)}`;
        recordAccessChange(draft, { about: 'ACCESS', text, isForOwners: true, member: null });
      }
      recordInvitation(draft, email, minted.id);
      return { invitation: minted.id };
    },
  });
  const invitation = host.view(project).instance('invitation', answer.invitation);
  if (!invitation)
    throw new Error(`The invitation ${answer.invitation} was committed but has no row`);
  return { invitation, token: answer.invitation === minted.id ? minted.text : null };
}

function assertNoMember(system: ProjectView, draft: Draft, email: string): void {
  const person = personByEmail(system, email);
  if (person === undefined) return;
  const member = draft.instance('membership', memberIdOf(draft.project, person));
  if (member?.value !== 'active') return;
  throw new Refusal(
    'INVALID_STATE',
    `${email} is already a member. Change the member's role instead`,
  );
}

function openFor({ host, clock }: InvitationDeps, email: string): Instance<'invitation'>[] {
  const nowMs = clock.now();
  return emailSpellings(email)
    .flatMap((spelling) => host.findInstancesOf('invitation', spelling))
    .filter((row) => row.value === 'pending' && nowMs < row.context.expiresMs);
}

async function accept(
  { host }: InvitationDeps,
  requested: Parameters<Invitations['accept']>[0],
): Promise<void> {
  const { project, invitation, person } = requested;
  const by = personActor(person);
  await host.submit({
    project,
    by,
    decide(draft) {
      const row = draft.instance('invitation', invitation);
      if (!row) throw notFound(invitation);
      const { expiresMs, person: acceptedBy, role } = row.context;
      if (acceptedBy === person) return;
      if (row.value === 'accepted' || row.value === 'revoked') {
        throw new Refusal('CREDENTIAL_REVOKED', 'The invitation was accepted or withdrawn');
      }
      if (row.value !== 'pending' || draft.at >= expiresMs) {
        throw new Refusal('CREDENTIAL_EXPIRED', 'The invitation has expired');
      }
      const system = host.view(SYSTEM_PROJECT);
      const facts = memberFactsOf(system, person, assertActive(system, person));
      recordAccepted(draft, row, person);
      // An invitation never lowers a role.
      const present = draft.instance('membership', memberIdOf(project, person));
      const has = present?.value === 'active' ? present.context.role : role;
      join(draft, { person, ...facts }, higher(role, has), by);
    },
  });
}

/** Copies a person's name and address to their memberships where those differ. */
export async function recordName(
  host: Pick<Host, 'submit' | 'view' | 'findInstancesOf'>,
  person: string,
): Promise<void> {
  const system = host.view(SYSTEM_PROJECT);
  const facts = memberFactsOf(system, person, personRow(system, person).context);
  for (const row of host.findInstancesOf('membership', person)) {
    if (!isOutdated(row, facts)) continue;
    await host.submit({
      project: row.project,
      by: personActor(person),
      decide: (draft) => recordFacts(draft, row.instance, facts),
    });
  }
}

async function revokeKeysOf(host: Host, person: string, reason: string): Promise<void> {
  for (const { project, instance: member } of host.findInstancesOf('membership', person)) {
    await revokeAllKeys(host, { project, member, reason, by: personActor(person) });
  }
}

/** Actor of changes that a person's sign-in causes. */
function personActor(person: string): Actor {
  return { kind: 'human', name: `people/${person}` };
}

/** Revokes all keys of a member, in batches. */
export async function revokeAllKeys(
  host: Host,
  { project, member, reason, by }: { project: string; member: string; reason: string; by: Actor },
): Promise<void> {
  for (let count = KEYS_A_DECISION; count === KEYS_A_DECISION; ) {
    const { answer } = await host.submit({
      project,
      by,
      decide: (draft) => revokeKeys(draft, member, reason, by),
    });
    count = answer;
  }
}

function notFound(invitation: string): Refusal {
  return new Refusal('NOT_FOUND', `There is no invitation ${invitation} in the project`);
}
