/**
 * Sign-in by a one-time link, by the link of an invitation, or by an account at an identity
 * provider. The session starts in the decision that uses the link, or that makes or finds the
 * person. Joining a project is a commit in that project's chain, before the session (link of an
 * invitation) or after it (verified address), and is safe to repeat.
 *
 *     invitation link:   person (_system) -> accepted, member (project) -> session (_system)
 *     verified address:  person and session (_system) -> accepted, member (project)
 */
import type { LinkedIdentity, PersonContext } from '../../machines/identity/person.ts';
import type { SignInMethod } from '../../machines/identity/session.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, Instance } from '../platform/host/host-port.ts';
import type { Invitations } from './invitations.ts';
import {
  assertActive,
  claimEmail,
  displayedName,
  emailOrNone,
  invitedPersonId,
  linkIdentity,
  personByClaim,
  personByEmail,
  personByIdentity,
  rename,
  startPerson,
} from './people-index.ts';
import { adopt, KEYS_TO_END, signInByOwnLink, unknownLink } from './people-links.ts';
import { type SessionsDeps, type StartedSession, startSession } from './sessions.ts';
import { sameDigest } from './sign-in-secrets.ts';
import { hasSignIns } from './sign-ins.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    invitationUsed: { readonly session: string };
  }
}

/** An invitation whose link has started a session. */
const INVITATION_USED = 'invitationUsed';

/** Identity that an identity provider vouches for. */
export interface VouchedIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** '' = none. */
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly displayName: string;
  /** Time when the person last proved to be themselves there, Unix ms; absent = unknown. */
  readonly authenticatedMs?: number;
}

interface LinkRequest {
  readonly token: string;
  readonly agent: string;
  /** For links of purpose `cli` (RFC 7636). */
  readonly verifier?: string;
}

/** All ways to start a person's session. */
export interface SignIns {
  /**
   * Signs in the holder of a one-time link or of an invitation (and makes them a person and a
   * member). Throws a `Refusal`: MALFORMED_CREDENTIAL, CREDENTIAL_EXPIRED, CREDENTIAL_REVOKED (used
   * or withdrawn), IDENTITY_DISABLED; INVALID_STATE: a person with the invited address exists, and
   * must sign in before opening the invitation.
   */
  signInByLink(request: LinkRequest): Promise<StartedSession>;
  /**
   * Makes a signed-in person a member by the link of an invitation. Their session stays as it is,
   * because the link proves nothing. Returns false for the token of another link. Throws a
   * `Refusal`, as `signInByLink`; INVALID_STATE for the person who made the invitation.
   */
  acceptInvitation(request: { readonly token: string; readonly person: string }): Promise<boolean>;
  /**
   * Signs in an account of the identity provider: a linked one; otherwise the person with that
   * verified address; otherwise a new person, if an open invitation names that verified address.
   * Throws `UnknownAccount` (GRANT_REMOVED) or a `Refusal` IDENTITY_DISABLED.
   */
  signInByIdentity(identity: VouchedIdentity, agent: string): Promise<StartedSession>;
}

/** Dependencies of sign-in on sessions and invitations. */
export interface SignInsDeps extends SessionsDeps {
  readonly random: Random;
  readonly invitations: Pick<Invitations, 'openFor' | 'accept' | 'revokeKeysOf' | 'recordName'>;
}

/**
 * Wraps the host. Joining projects follows the start of the session. If a crash separates the two,
 * the next sign-in completes it.
 */
export function createSignIns(deps: SignInsDeps): SignIns {
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
    async acceptInvitation({ token, person }) {
      const invitation = deps.secrets.parse('inv', token);
      if (invitation === undefined) return false;
      const row = openInvitation(deps, invitation, token);
      if (row.context.invitedBy === humanOf(person).name) throw ownInvitation();
      await deps.invitations.accept({ project: row.project, invitation, person });
      return true;
    },
    signInByIdentity: (identity, agent) => signInByIdentity(deps, identity, agent),
  };
}

async function signInByInvitation(
  deps: SignInsDeps,
  id: string,
  { token, agent }: LinkRequest,
): Promise<StartedSession> {
  const { host, secrets, invitations } = deps;
  const row = openInvitation(deps, id, token);
  const person = await personOfInvitation(deps, row);
  await invitations.accept({ project: row.project, invitation: id, person });
  const session = secrets.mint('session');
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by: humanOf(person),
    decide(draft) {
      assertActive(draft, person);
      assertOpen(draft, row, draft.at);
      // Joining was another commit, so the owner of the address may have signed in since.
      if (isSomebody(draft, person, row)) throw usedInvitation('USED');
      draft.putRecord({ kind: INVITATION_USED, id, body: { session: session.id } });
      const about = { person, method: 'link' as const, agent };
      return startSession(draft, { id: session.id, hash: session.hash, ...about });
    },
  });
  return { session: session.id, person, secret: session.text, expiresMs: answer };
}

/** The row of an open invitation with that token. Throws like `signInByLink`. */
function openInvitation(
  { host, secrets, clock }: SignInsDeps,
  id: string,
  token: string,
): Instance<'invitation'> {
  const row = host.findInstance('invitation', id);
  const isToken = sameDigest(row?.context.tokenHash, secrets.hash(token));
  if (!row || !isToken) throw unknownLink();
  assertOpen(host.view(SYSTEM_PROJECT), row, clock.now());
  return row;
}

function ownInvitation(): Refusal {
  return new Refusal(
    'INVALID_STATE',
    'You made this invitation yourself. Send its link to the person whom you invited',
  );
}

/** A link starts one session, even if an earlier attempt ended between two commits. */
function assertOpen(
  system: Pick<Draft, 'record'>,
  row: Instance<'invitation'>,
  atMs: number,
): void {
  const isUsed = system.record(INVITATION_USED, row.instance) !== undefined;
  if (isUsed || row.value === 'revoked') throw usedInvitation(isUsed ? 'USED' : 'REVOKED');
  if (row.value !== 'expired' && atMs < row.context.expiresMs) return;
  throw new Refusal('CREDENTIAL_EXPIRED', 'The invitation has expired. Request a new one');
}

/**
 * The new person who accepts the invitation. The inviter knows the link, so it proves no address
 * and signs in no existing person; otherwise any reader of the invitation could become that person
 * for a week. The operator's word counts as proof of the address. An acceptance that was
 * interrupted before its session continues for the person that this link has made (`id`). After any
 * other acceptance the link is useless, because it would sign in someone else.
 */
async function personOfInvitation(
  { host }: SignInsDeps,
  row: Instance<'invitation'>,
): Promise<string> {
  const { email, invitedBy, person: acceptedBy } = row.context;
  const isVouched = isByOperator(invitedBy);
  const id = invitedPersonId(row.instance);
  if (acceptedBy !== null) {
    if (acceptedBy === id && !isSomebody(host.view(SYSTEM_PROJECT), id, row)) return acceptedBy;
    throw usedInvitation('USED');
  }
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by: humanOf(id),
    decide(draft) {
      const known = personByEmail(draft, email);
      if (known !== undefined && known !== id) throw knownAlready();
      if (draft.instance('person', id)) return id;
      const displayName = displayedName(email.split('@')[0] ?? '', 'Invited');
      startPerson(draft, { id, displayName, email: isVouched ? email : '' });
      if (!isVouched && email !== '') claimEmail(draft, id, email);
      return id;
    },
  });
  return answer;
}

/**
 * True if someone has proven to be the person that the invitation's link made, or has received a
 * session or a sign-in link as that person. From then on, the invitation's link signs in no one.
 */
function isSomebody(
  system: Pick<Draft, 'instance' | 'record'>,
  person: string,
  invitation: Instance<'invitation'>,
): boolean {
  if (hasSignIns(system, person)) return true;
  const { email } = assertActive(system, person);
  return email !== '' && !isByOperator(invitation.context.invitedBy);
}

/** True for an operator's invitation, whose address counts as proven. */
export function isByOperator(invitedBy: string): boolean {
  return invitedBy.startsWith('operator/');
}

function usedInvitation(cause: 'USED' | 'REVOKED'): Refusal {
  const message = 'The invitation was accepted or withdrawn. Sign in, or request a new one';
  return new Refusal('CREDENTIAL_REVOKED', message, { cause });
}

function knownAlready(): Refusal {
  return new Refusal(
    'INVALID_STATE',
    'A person with the invited address exists. Sign in with that address or by another link, then open the invitation again',
  );
}

async function signInByIdentity(
  deps: SignInsDeps,
  identity: VouchedIdentity,
  agent: string,
): Promise<StartedSession> {
  const { host, clock, random, secrets, invitations } = deps;
  const email = identity.isEmailVerified ? emailOrNone(identity.email) : '';
  const isInvited = email !== '' && invitations.openFor(email).length > 0;
  const fresh = ulid(clock.now(), random);
  const session = secrets.mint('session');
  const displayName = displayedName(identity.displayName, '');
  const account = { ...identity, email, displayName, hasAddress: identity.email !== '' };
  const system = host.view(SYSTEM_PROJECT);
  const guess = personByIdentity(system, account) ?? knownByAddress(system, email)?.person;
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by: humanOf(guess ?? fresh),
    decide(draft) {
      const person = recognise(draft, account, isInvited ? fresh : undefined);
      assertActive(draft, person);
      const about = { person, method: 'oidc' as SignInMethod, agent };
      const { authenticatedMs = null } = identity;
      const begun = { id: session.id, hash: session.hash, ...about, authenticatedMs };
      return { person, expiresMs: startSession(draft, begun) };
    },
  });
  await afterSignIn(deps, answer.person, email);
  return { session: session.id, secret: session.text, ...answer };
}

/** An account that an identity provider vouches for. */
interface Account extends LinkedIdentity {
  readonly displayName: string;
  /** Verified; '' = none. */
  readonly email: string;
  /** true if the provider has named an address, verified or not. */
  readonly hasAddress: boolean;
}

/** The person of an account. `fresh` is the id for a new person, if one may be made. */
function recognise(draft: Draft, account: Account, fresh: string | undefined): string {
  const linked = personByIdentity(draft, account);
  if (linked !== undefined) {
    assertActive(draft, linked);
    rename(draft, linked, account);
    return linked;
  }
  const known = knownByAddress(draft, account.email);
  if (known !== undefined) {
    const { person, isClaimed } = known;
    if (hasOtherAccount(assertActive(draft, person), account)) {
      throw new UnknownAccount('OTHER_ACCOUNT');
    }
    if (isClaimed) adopt(draft, person, account);
    linkIdentity(draft, person, account);
    return person;
  }
  if (fresh === undefined) throw new UnknownAccount(causeOf(account));
  const { issuer, subject, email } = account;
  const displayName = account.displayName === '' ? email : account.displayName;
  startPerson(draft, { id: fresh, displayName, email, identity: { issuer, subject } });
  return fresh;
}

/** The person with a verified address. `isClaimed`: until now, the address was only claimed. */
function knownByAddress(
  view: Pick<Draft, 'record'>,
  email: string,
): { readonly person: string; readonly isClaimed: boolean } | undefined {
  const owner = personByEmail(view, email);
  if (owner !== undefined) return { person: owner, isClaimed: false };
  const claimant = personByClaim(view, email);
  return claimant === undefined ? undefined : { person: claimant, isClaimed: true };
}

/**
 * True if an account of that issuer is linked, because the address may have been given to someone
 * else since.
 */
function hasOtherAccount({ identities }: PersonContext, { issuer }: LinkedIdentity): boolean {
  return identities.some((identity) => identity.issuer === issuer);
}

function causeOf({ email, hasAddress }: Account): UnknownCause {
  if (email !== '') return 'NOT_INVITED';
  return hasAddress ? 'NOT_VERIFIED' : 'NO_ADDRESS';
}

/** Reason why an account of the identity provider fits no person. */
export type UnknownCause =
  /** The provider has named no readable address. */
  | 'NO_ADDRESS'
  /** The provider does not say that the address is verified. */
  | 'NOT_VERIFIED'
  /** No person has the verified address, and no open invitation names it. */
  | 'NOT_INVITED'
  /** The person with the address signs in with another account of the provider. */
  | 'OTHER_ACCOUNT';

const LINK_FIRST =
  'Sign in with a link first, for example with the one of your invitation; then sign in with this account in the same browser';

const UNKNOWN: Readonly<Record<UnknownCause, string>> = {
  NO_ADDRESS: `The identity provider sent no email address for this account. ${LINK_FIRST}`,
  NOT_VERIFIED: `The identity provider does not say that the email address of this account is verified. ${LINK_FIRST}`,
  NOT_INVITED: 'This account is not known here. Ask an owner of your project for an invitation',
  OTHER_ACCOUNT:
    'The person with this email address signs in with another account. Sign in with a link first, then with this account in the same browser; or ask an operator to unlink the other one ("svc admin people unlink")',
};

/** A sign-in by an account that fits no person: GRANT_REMOVED, with the cause in its metadata. */
export class UnknownAccount extends Refusal {
  readonly cause: UnknownCause;
  constructor(cause: UnknownCause) {
    super('GRANT_REMOVED', UNKNOWN[cause], { cause });
    this.cause = cause;
  }
}

/**
 * Effects of a sign-in on projects: keys of an earlier holder end, open invitations to the verified
 * address are accepted, and a new name is propagated. A failure is retried at the next sign-in. It
 * fails this sign-in only if keys could not be ended, so that no one else keeps access.
 */
async function afterSignIn(deps: SignInsDeps, person: string, email: string): Promise<void> {
  const { invitations, onFault } = deps;
  await endKeysOfBefore(deps, person);
  if (email === '') return;
  for (const { project, instance } of invitations.openFor(email)) {
    try {
      await invitations.accept({ project, invitation: instance, person });
    } catch (error) {
      // A refusal concerns the invitation: it was withdrawn, or the project is full.
      if (!(error instanceof Refusal)) onFault('An invitation could not be accepted', error);
    }
  }
  await invitations
    .recordName(person)
    .catch((error: unknown) => onFault('A new name could not be propagated', error));
}

async function endKeysOfBefore({ host, invitations }: SignInsDeps, person: string): Promise<void> {
  if (!host.view(SYSTEM_PROJECT).record(KEYS_TO_END, person)) return;
  await invitations.revokeKeysOf(person, 'ADDRESS_VERIFIED');
  await host.submit({
    project: SYSTEM_PROJECT,
    by: humanOf(person),
    decide: (draft) => draft.putRecord({ kind: KEYS_TO_END, id: person, body: null }),
  });
}

function humanOf(person: string): Actor {
  return { kind: 'human', name: `people/${person}` };
}
