/**
 * People, their sessions and their memberships, as the API, the sign-in pages and the operator's
 * commands see them. Secrets (links, session secrets) are in answers alone; commits hold hashes.
 */
import type { Role } from '../../machines/identity/membership.ts';
import type { SignInMethod } from '../../machines/identity/session.ts';
import type { SignInLinkInput } from '../../machines/identity/sign-in-link.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { RequestKey } from '../platform/host/host-port.ts';
import type { Invitations } from './invitations.ts';

/** A session that has just begun, or has a new secret. */
export interface StartedSession {
  readonly session: string;
  readonly person: string;
  /** What the cookie holds: `svc_session_<id>_<random><checksum>`. */
  readonly secret: string;
  /** Absolute end, Unix ms. */
  readonly expiresMs: number;
}

/** A session whose secret was shown and which is neither over nor idle for too long. */
export interface LiveSession {
  readonly session: string;
  readonly person: string;
  readonly method: SignInMethod;
  readonly expiresMs: number;
  /** true: its secret is old enough to be changed with this request (`rotate`). */
  readonly isRotationDue: boolean;
}

/** A session as its person sees it. Times are Unix ms. */
export interface ListedSession {
  readonly session: string;
  readonly method: SignInMethod;
  /** What signed in, in its own words; '' = it did not say. */
  readonly agent: string;
  readonly createdMs: number;
  /** Coarse: lossy by a few minutes. */
  readonly lastUsedMs: number;
  readonly expiresMs: number;
}

export interface IssuedLink {
  /** Id of the link. */
  readonly link: string;
  /** `svc_link_<id>_<random><checksum>`; of an invitation `svc_inv_...`. */
  readonly token: string;
  readonly expiresMs: number;
}

/** What a code for the command line comes from, and without which it opens nothing. */
export interface CliConfirmation {
  /** S256 code challenge of RFC 7636: 43 characters. */
  readonly challenge: string;
  /** Id of the person's session that confirms it: the code ends with it. */
  readonly session: string;
}

/** A link whose token may have been told before. */
export type RequestedLink = Omit<IssuedLink, 'token'> & { readonly token: string | null };

/** What an identity provider has vouched for. */
export interface VouchedIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Empty = none told. */
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly displayName: string;
}

export interface People {
  /**
   * Signs in whoever holds the token of a one-time link or of an invitation (who becomes a person
   * and a member by it). `verifier`: for links of purpose `cli` (RFC 7636). Throws a `Refusal`:
   * MALFORMED_CREDENTIAL, CREDENTIAL_EXPIRED, CREDENTIAL_REVOKED (used or taken back),
   * IDENTITY_DISABLED; INVALID_STATE: the invited address is that of somebody known here, who has
   * to sign in first and open the invitation then.
   */
  signInByLink(request: {
    readonly token: string;
    readonly agent: string;
    readonly verifier?: string;
    /** Who is signed in already: an invitation is then accepted by that person. */
    readonly person?: string;
  }): Promise<StartedSession>;
  /**
   * Signs in an account of the identity provider: one linked before; else the person of that
   * verified address; else whoever an open invitation to that verified address waits for. Throws a
   * `Refusal`: GRANT_REMOVED (nobody here is known by it), IDENTITY_DISABLED.
   */
  signInByIdentity(identity: VouchedIdentity, agent: string): Promise<StartedSession>;
  /**
   * A one-time link. `undefined` when nobody active is known by the address (`email`), which the
   * asker must not be told.
   */
  linkByEmail(email: string): Promise<(IssuedLink & { displayName: string }) | undefined>;
  /**
   * A link for a person, by purpose; `cli`: what is needed for that purpose alone. Throws a
   * `Refusal`: NOT_FOUND, IDENTITY_DISABLED, CREDENTIAL_REVOKED and CREDENTIAL_EXPIRED (the session
   * that confirms it is over).
   */
  linkFor(
    by: Actor,
    person: string,
    purpose: SignInLinkInput['purpose'],
    cli?: CliConfirmation,
  ): Promise<IssuedLink>;
  /** A link that an operator asks for; `token` is null where a resend is answered. Throws like `linkFor`. */
  linkOnRequest(by: Actor, person: string, request: RequestKey): Promise<RequestedLink>;
  /** The session of a cookie's secret, noting that it was seen. Throws a `Refusal` like a key. */
  sessionOf(secret: string): LiveSession;
  /**
   * A new secret; the one before works for another minute once the new one is shown. Requests at
   * one time get the same one.
   * Throws a `Refusal`: IN_PROGRESS when it has just been changed, which is no fault: the cookie
   * that another answer set is the right one.
   */
  rotate(session: string): Promise<StartedSession>;
  /** With the unused codes for the command line that it confirmed. */
  endSession(session: string, reason: string): Promise<void>;
  /** Those of a person that go on, the oldest first; 50 at most. */
  sessionsOf(person: string): readonly ListedSession[];
  /**
   * Ends one session of the person who asks, with the codes that it confirmed; harmless when it is
   * over. Throws a `Refusal`: NOT_FOUND.
   */
  endOwnSession(request: {
    readonly person: string;
    readonly session: string;
    readonly request: RequestKey;
  }): Promise<void>;
  /** Every session of a person, and every unused link; how many sessions there were. */
  endAllSessions(
    person: string,
    reason: string,
    options?: { readonly by?: Actor; readonly request?: RequestKey },
  ): Promise<number>;
  /** Id of the person known by a verified address. */
  personByEmail(email: string): string | undefined;
  /** Makes a person, or answers the one of that address. Empty `email` = none. */
  ensurePerson(
    by: Actor,
    about: { displayName: string; email: string },
    request?: RequestKey,
  ): Promise<string>;
  /**
   * Locks a person out, with sessions and links; or lets them in again. How many sessions ended.
   * Throws NOT_FOUND.
   */
  setPersonDisabled(
    by: Actor,
    person: string,
    reason: string | null,
    request?: RequestKey,
  ): Promise<number>;
}

/** A person's place in one project. */
export interface Place {
  readonly project: string;
  /** Id of the membership. */
  readonly member: string;
  readonly role: Role;
}

interface MemberChange {
  readonly project: string;
  readonly by: Actor;
  readonly member: string;
  readonly request?: RequestKey;
}

/** Projects and who belongs to them. */
export interface Members {
  readonly invitations: Invitations;
  /**
   * Makes a project; `owner` (id of a person) becomes its OWNER. Throws a `Refusal`: INVALID_STATE
   * (it exists), INVALID_FIELD, LIMIT_EXCEEDED.
   */
  createProject(request: {
    readonly by: Actor;
    readonly project: string;
    readonly displayName: string;
    readonly owner: string | null;
    readonly request?: RequestKey;
  }): Promise<void>;
  /**
   * Makes somebody a member, or changes their role; the member's id. Throws a `Refusal`: NOT_FOUND,
   * IDENTITY_DISABLED, LIMIT_EXCEEDED, INVALID_STATE (the last owner).
   */
  addMember(request: {
    readonly by: Actor;
    readonly project: string;
    readonly person: string;
    readonly role: Role;
  }): Promise<string>;
  /** Every project that the person is a member of now, in the order of their ids. */
  placesOf(person: string): readonly Place[];
  /** Throws a `Refusal`: NOT_FOUND, INVALID_STATE (the last owner). */
  setRole(request: MemberChange & { readonly role: Role }): Promise<void>;
  /** With the member's personal keys. Throws a `Refusal`: NOT_FOUND, INVALID_STATE (the last owner). */
  removeMember(request: MemberChange & { readonly reason: string }): Promise<void>;
}
