/**
 * Sender of a request. A credential belongs to one project and has capabilities; a person has a
 * role in each project they are a member of, looked up on each request. Both describe present
 * access, not the access at the time the secret was made.
 */
import type { Role } from '../../../machines/identity/membership.ts';
import type { SignInMethod } from '../../../machines/identity/session.ts';

/** A key, an access token of a CI workflow, a collector, or the agent of an enrolled VM. */
export interface CredentialPrincipal {
  readonly kind: 'pk' | 'sk' | 'ci' | 'col' | 'vm';
  /** Id of the credential; for an access token, its `jti`. */
  readonly credential: string;
  /** Resource name, for audit: `projects/p/serviceAccounts/s/keys/k`, `projects/p/ciConnections/c`. */
  readonly name: string;
  /** The one project it may access; `_system`: a collector, which writes to those in `projects`. */
  readonly project: string;
  /** Current capabilities: its own, limited to what its identity is granted now. */
  readonly capabilities: readonly string[];
  /** Capabilities it was made with but has lost, because its identity is no longer granted them. */
  readonly withdrawn: readonly string[];
  /** For a collector: data center of the machines it may report; null = not bound to one. */
  readonly datacenter: string | null;
  /** For a collector of `_system`: ids of the projects it may write to; null = any. */
  readonly projects: readonly string[] | null;
  /** For an agent: id of the one VM it may report; null otherwise. */
  readonly vm: string | null;
  /** Latest end, Unix ms: the end of its lifetime, or of its overlap with a successor. */
  readonly expiresMs: number;
  /** For an access token: epoch of its connection when it was issued; null otherwise. */
  readonly tokenEpoch: number | null;
}

/** A signed-in person. */
export interface HumanPrincipal {
  readonly kind: 'human';
  readonly person: string;
  /** Id of the session. */
  readonly session: string;
  /** `people/<id>`, for audit. */
  readonly name: string;
  /** How the session began. */
  readonly method: SignInMethod;
  /** Absolute end of the session, Unix ms. */
  readonly expiresMs: number;
  /** true: the session's secret is old enough to be replaced with this request. */
  readonly isRotationDue: boolean;
  /** true: the person signed in recently enough for actions that need it. */
  readonly isRecent: boolean;
  /** The person's current membership in a project; undefined = none. */
  readonly memberOf: (
    project: string,
  ) => { readonly member: string; readonly role: Role } | undefined;
}

export type Principal = CredentialPrincipal | HumanPrincipal;
