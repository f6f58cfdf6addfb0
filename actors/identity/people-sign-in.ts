/**
 * Signing in: by a one-time link, by the link of an invitation, or by an account that an identity
 * provider vouches for. The session is begun in the same decision that uses the link, or that
 * makes or finds the person; a project's chain is another one, so joining it is a commit of its
 * own, made before (link of an invitation) or after (verified address) and safe to repeat.
 *
 *     invitation link:   person (_system) -> accepted, member (project) -> session (_system)
 *     verified address:  person and session (_system) -> accepted, member (project)
 */
import type { InvitationContext } from '../../machines/identity/invitation.ts';
import type { LinkedIdentity, PersonContext } from '../../machines/identity/person.ts';
import type { SignInMethod } from '../../machines/identity/session.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { ulid } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, Instance } from '../platform/host/host-port.ts';
import type { PeopleDeps } from './people-deps.ts';
import {
  assertActive,
  claimEmail,
  emailOrNone,
  invitedPersonId,
  linkIdentity,
  personByClaim,
  personByEmail,
  personByIdentity,
  rename,
  shownName,
  startPerson,
} from './people-index.ts';
import { adopt, KEYS_TO_END, signInByOwnLink, unknownLink } from './people-links.ts';
import type { People, StartedSession, VouchedIdentity } from './people-port.ts';
import { startSession } from './sessions.ts';
import { sameDigest } from './sign-in-secrets.ts';
import { hasSignIns } from './sign-ins.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    invitationUsed: { readonly session: string };
  }
}

/** An invitation whose link has begun a session. */
const INVITATION_USED = 'invitationUsed';

type LinkRequest = Parameters<People['signInByLink']>[0];

export function createSignIns(deps: PeopleDeps): Pick<People, 'signInByLink' | 'signInByIdentity'> {
  return {
    async signInByLink(request) {
      const link = deps.secrets.parse('link', request.token);
      if (link !== undefined) {
        const { provenEmail, ...session } = await signInByOwnLink(deps, { link, ...request });
        await afterSignIn(deps, session.person, provenEmail);
        return session;
      }
      const invitation = deps.secrets.parse('inv', request.token);
      if (invitation === undefined) throw unknownLink();
      return signInByInvitation(deps, invitation, request);
    },
    signInByIdentity: (identity, agent) => signInByIdentity(deps, identity, agent),
  };
}

async function signInByInvitation(
  deps: PeopleDeps,
  id: string,
  { token, agent, person: presenter }: LinkRequest,
): Promise<StartedSession> {
  const { host, secrets, invitations } = deps;
  const row = host.findInstance('invitation', id);
  const isToken = sameDigest(row?.context.tokenHash, secrets.hash(token));
  if (!row || !isToken) throw unknownLink();
  assertOpen(host.view(SYSTEM_PROJECT), row, deps.clock.now());
  const person = await personOfInvitation(deps, row, presenter);
  await invitations.accept({ project: row.project, invitation: id, person });
  const session = secrets.mint('session');
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by: humanOf(person),
    decide(draft) {
      assertActive(draft, person);
      assertOpen(draft, row, draft.at);
      // Joining was another commit: who owns the address may have come in between.
      if (presenter === undefined && isSomebody(draft, person, row)) throw usedInvitation('USED');
      draft.putRecord({ kind: INVITATION_USED, id, body: { session: session.id } });
      const about = { person, method: 'link' as const, agent };
      return startSession(draft, { id: session.id, hash: session.hash, ...about });
    },
  });
  return { session: session.id, person, secret: session.text, expiresMs: answer };
}

/** Its link begins one session, also when the attempt before ended between two commits. */
function assertOpen(
  system: Pick<Draft, 'record'>,
  row: Instance<'invitation'>,
  atMs: number,
): void {
  const isUsed = system.record(INVITATION_USED, row.instance) !== undefined;
  if (isUsed || row.value === 'revoked') throw usedInvitation(isUsed ? 'USED' : 'REVOKED');
  if (row.value !== 'expired' && atMs < invitationOf(row).expiresMs) return;
  throw new Refusal('CREDENTIAL_EXPIRED', 'The invitation is past its time: ask for a new one');
}

/**
 * Whose the invitation is: whoever is signed in, or becomes a person by it. Its link is known to
 * whoever invited, so it proves no address, and signs nobody in who was there before: else whoever
 * reads an invitation within a week could become that person. To a new one the operator's word
 * counts as proof of the address. An acceptance that was cut off before its session goes on: of
 * whoever is signed in, or of the person that this very link has made (`id`). Accepted in another
 * way, the link is of no use: it would sign somebody else in.
 */
async function personOfInvitation(
  { host }: PeopleDeps,
  row: Instance<'invitation'>,
  presenter: string | undefined,
): Promise<string> {
  const { email, invitedBy, person: acceptedBy } = invitationOf(row);
  const isVouched = isByOperator(invitedBy);
  const id = invitedPersonId(row.instance);
  if (acceptedBy !== null) {
    if (acceptedBy === presenter) return acceptedBy;
    const isOwn = acceptedBy === id && presenter === undefined;
    if (isOwn && !isSomebody(host.view(SYSTEM_PROJECT), id, row)) return acceptedBy;
    throw usedInvitation('USED');
  }
  if (presenter !== undefined) return presenter;
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by: humanOf(id),
    decide(draft) {
      const known = personByEmail(draft, email);
      if (known !== undefined && known !== id) throw knownAlready();
      if (draft.instance('person', id)) return id;
      const displayName = shownName(email.split('@')[0] ?? '', 'Invited');
      startPerson(draft, { id, displayName, email: isVouched ? email : '' });
      if (!isVouched && email !== '') claimEmail(draft, id, email);
      return id;
    },
  });
  return answer;
}

/**
 * Has anybody proven to be the person that the link of an invitation made, or got a session or a
 * link to sign in as that person? From then on the link signs nobody in.
 */
function isSomebody(
  system: Pick<Draft, 'instance' | 'record'>,
  person: string,
  invitation: Instance<'invitation'>,
): boolean {
  if (hasSignIns(system, person)) return true;
  const { email } = assertActive(system, person);
  return email !== '' && !isByOperator(invitationOf(invitation).invitedBy);
}

/** The operator's invitation makes a person whose address counts as proven from the start. */
export function isByOperator(invitedBy: string): boolean {
  return invitedBy.startsWith('operator/');
}

function usedInvitation(cause: 'USED' | 'REVOKED'): Refusal {
  const message = 'The invitation was accepted, or taken back: sign in, or ask for a new one';
  return new Refusal('CREDENTIAL_REVOKED', message, { cause });
}

function knownAlready(): Refusal {
  return new Refusal(
    'INVALID_STATE',
    'Somebody with the invited address is known here: sign in with that address, or by another link, then open the invitation again',
  );
}

async function signInByIdentity(
  deps: PeopleDeps,
  identity: VouchedIdentity,
  agent: string,
): Promise<StartedSession> {
  const { host, clock, random, secrets, invitations } = deps;
  const email = identity.isEmailVerified ? emailOrNone(identity.email) : '';
  const isInvited = email !== '' && invitations.openFor(email).length > 0;
  const fresh = ulid(clock.now(), random);
  const session = secrets.mint('session');
  const told = { ...identity, email, displayName: shownName(identity.displayName, '') };
  const system = host.view(SYSTEM_PROJECT);
  const guess = personByIdentity(system, told) ?? knownByAddress(system, email)?.person;
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by: humanOf(guess ?? fresh),
    decide(draft) {
      const person = recognise(draft, told, isInvited ? fresh : undefined);
      assertActive(draft, person);
      const about = { person, method: 'oidc' as SignInMethod, agent };
      const begun = { id: session.id, hash: session.hash, ...about };
      return { person, expiresMs: startSession(draft, begun) };
    },
  });
  await afterSignIn(deps, answer.person, email);
  return { session: session.id, secret: session.text, ...answer };
}

/** The person of an account; `fresh`: id of a new one, if one may be made. */
function recognise(
  draft: Draft,
  told: LinkedIdentity & { readonly displayName: string; readonly email: string },
  fresh: string | undefined,
): string {
  const linked = personByIdentity(draft, told);
  if (linked !== undefined) {
    assertActive(draft, linked);
    rename(draft, linked, told);
    return linked;
  }
  const known = knownByAddress(draft, told.email);
  if (known !== undefined) {
    const { person, isClaimed } = known;
    if (hasOtherAccount(assertActive(draft, person), told)) throw unknownPerson();
    if (isClaimed) adopt(draft, person, told);
    linkIdentity(draft, person, told);
    return person;
  }
  if (fresh === undefined) throw unknownPerson();
  const { issuer, subject, email } = told;
  const displayName = told.displayName === '' ? email : told.displayName;
  startPerson(draft, { id: fresh, displayName, email, identity: { issuer, subject } });
  return fresh;
}

/** Whose a verified address is; `isClaimed`: until now it was only claimed. */
function knownByAddress(
  view: Pick<Draft, 'record'>,
  email: string,
): { readonly person: string; readonly isClaimed: boolean } | undefined {
  const owner = personByEmail(view, email);
  if (owner !== undefined) return { person: owner, isClaimed: false };
  const claimant = personByClaim(view, email);
  return claimant === undefined ? undefined : { person: claimant, isClaimed: true };
}

/** An address may be given to somebody new; the account that was linked first stays the person's. */
function hasOtherAccount({ identities }: PersonContext, { issuer }: LinkedIdentity): boolean {
  return identities.some((identity) => identity.issuer === issuer);
}

function unknownPerson(): Refusal {
  return new Refusal(
    'GRANT_REMOVED',
    'Nobody here is known by this account: ask an owner of your project for an invitation',
  );
}

/**
 * What a sign-in means for projects: keys of whoever else was the person end, open invitations to
 * the verified address are accepted, a new name is told. What fails is tried again at the next
 * sign-in, and fails this one only where keys could not be ended: nobody gets in beside them.
 */
async function afterSignIn(deps: PeopleDeps, person: string, email: string): Promise<void> {
  const { invitations, onFault } = deps;
  await endKeysOfBefore(deps, person);
  if (email === '') return;
  for (const { project, instance } of invitations.openFor(email)) {
    try {
      await invitations.accept({ project, invitation: instance, person });
    } catch (error) {
      // A refusal is the invitation's own: it was taken back meanwhile, or the project is full.
      if (!(error instanceof Refusal)) onFault('An invitation could not be accepted', error);
    }
  }
  await invitations
    .noteName(person)
    .catch((error: unknown) => onFault('A new name could not be told', error));
}

async function endKeysOfBefore({ host, invitations }: PeopleDeps, person: string): Promise<void> {
  if (!host.view(SYSTEM_PROJECT).record(KEYS_TO_END, person)) return;
  await invitations.revokeKeysOf(person, 'ADDRESS_VERIFIED');
  await host.submit({
    project: SYSTEM_PROJECT,
    by: humanOf(person),
    decide: (draft) => draft.putRecord({ kind: KEYS_TO_END, id: person, body: null }),
  });
}

function invitationOf(row: Instance<'invitation'>): InvitationContext {
  return row.context;
}

function humanOf(person: string): Actor {
  return { kind: 'human', name: `people/${person}` };
}
