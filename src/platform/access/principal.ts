/**
 * Who sends a request. A credential belongs to one project and has capabilities; a person has a
 * role in each project they are a member of, looked up on each request. Both say what holds now,
 * not what held when the secret was made.
 */
import type { Role } from '../../../machines/identity/membership.ts';
import type { SignInMethod } from '../../../machines/identity/session.ts';

/** A key, an access token of a CI workflow, a collector, or the agent of an enrolled VM. */
export interface CredentialPrincipal {
  readonly kind: 'pk' | 'sk' | 'ci' | 'col' | 'vm';
  /** Id of the credential; of an access token, its `jti`. */
  readonly credential: string;
  /** Resource name, for audit: `projects/p/serviceAccounts/s/keys/k`, `projects/p/ciConnections/c`. */
  readonly name: string;
  /** The one project it may touch; `_system`: a collector, which writes into those of `projects`. */
  readonly project: string;
  /** What it may do now: its own, within what its identity is granted at this moment. */
  readonly capabilities: readonly string[];
  /** What it was made for and may not do now, because its identity is not granted it any more. */
  readonly withdrawn: readonly string[];
  /** Of a collector: the data center of the machines it may report; null = not bound to one. */
  readonly datacenter: string | null;
  /** Of a collector of `_system`: ids of the projects it may write into; null = any. */
  readonly projects: readonly string[] | null;
  /** Of an agent: id of the one VM it may report; null otherwise. */
  readonly vm: string | null;
  /** When it ends if nothing ends it before: its lifetime, or its overlap with a successor; Unix ms. */
  readonly expiresMs: number;
  /** Of an access token: its connection's epoch when it was made; null otherwise. */
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
  /** true: the session's secret is old enough to be changed with this request. */
  readonly isRotationDue: boolean;
  /** The person's place in a project, now; undefined = none. */
  readonly memberOf: (
    project: string,
  ) => { readonly member: string; readonly role: Role } | undefined;
}

export type Principal = CredentialPrincipal | HumanPrincipal;
