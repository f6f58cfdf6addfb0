/**
 * Authorization in one place: checks a declared policy against the caller, before the project of
 * the call is known (`admitTo`) and after (`enterProject`). RPCs declare their policy on the
 * method; plain HTTP routes name one of those below. Undeclared methods are refused.
 */
import { create } from '@bufbuild/protobuf';
import type { Role } from '../../../machines/identity/membership.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import {
  type Policy,
  Policy_Access,
  Policy_Role,
  PolicySchema,
} from '../../gen/svc/options/v1/policy_pb.ts';
import type { CredentialPrincipal, Principal } from './principal.ts';

/** Policy of plain HTTP routes that show data. */
export const READ_POLICY: Policy = create(PolicySchema, { access: Policy_Access.READ });
/** Policy for the parts of a response that only writers may see. */
export const WRITE_POLICY: Policy = create(PolicySchema, { access: Policy_Access.WRITE });
/** Policy for the recorded paths of identities. */
export const OWNER_POLICY: Policy = create(PolicySchema, {
  access: Policy_Access.HUMAN,
  role: Policy_Role.OWNER,
});

/** Target of a call. */
export interface CallTarget {
  /** Name of the method. */
  readonly name: string;
  /** Project id. */
  readonly project: string;
  /** Member who owns the resource; undefined if it belongs to the project. */
  readonly member?: string | undefined;
}

/** Rank of each role. A role may do everything that a lower one may. */
const RANK: Readonly<Record<Role, number>> = { VIEWER: 1, EDITOR: 2, OWNER: 3 };

/** Capability that a credential needs for each access; null = none in particular. */
const CAPABILITY: Readonly<Partial<Record<Policy_Access, string | null>>> = {
  [Policy_Access.READ]: 'monitoring.read',
  [Policy_Access.WRITE]: 'monitoring.write',
  [Policy_Access.COLLECTOR]: 'collector',
  [Policy_Access.ANY]: null,
};

/**
 * Admits the caller to the method, whatever project the call is about. Throws a `Refusal`:
 * HUMAN_OPERATION for a credential if the method is for people; MISSING_CAPABILITY for a credential
 * that was not made for the method, for any caller if no policy is declared, and for a person if
 * the method is for programs that report; GRANT_REMOVED for a credential whose identity has lost
 * the capability.
 */
export function admitTo(method: string, declared: Policy, caller: Principal): void {
  const { access } = declared;
  const isHuman = access === Policy_Access.HUMAN;
  if (!isHuman && CAPABILITY[access] === undefined) {
    const message = `${method} declares no policy, so no caller may use it`;
    throw new Refusal('MISSING_CAPABILITY', message);
  }
  if (caller.kind !== 'human') admitCredential(method, access, caller);
  else if (access === Policy_Access.COLLECTOR) {
    const message = `${method} is for collectors and agents, with keys of their own`;
    throw new Refusal('MISSING_CAPABILITY', message, { capability: 'collector' });
  }
}

function admitCredential(
  method: string,
  access: Policy_Access,
  { capabilities, withdrawn }: CredentialPrincipal,
): void {
  if (access === Policy_Access.HUMAN) {
    const message = `${method} is for people who have signed in; no credential can call it`;
    throw new Refusal('HUMAN_OPERATION', message);
  }
  const capability = CAPABILITY[access];
  if (typeof capability !== 'string' || capabilities.includes(capability)) return;
  if (withdrawn.includes(capability)) {
    const message =
      `${method} needs ${capability}: the credential was made with it, but its owner ` +
      'no longer has it';
    throw new Refusal('GRANT_REMOVED', message, { capability });
  }
  const message = `${method} needs ${capability}, which the credential lacks`;
  throw new Refusal('MISSING_CAPABILITY', message, { capability });
}

/**
 * Admits the caller to a project, for one method it has been admitted to. Throws a `Refusal`:
 * PROJECT_BOUNDARY whether or not the project exists, MISSING_CAPABILITY if the role is too low.
 */
export function enterProject(caller: Principal, declared: Policy, target: CallTarget): void {
  if (caller.kind !== 'human') {
    if (caller.project === target.project) return;
    if (declared.access === Policy_Access.COLLECTOR && reachesProject(caller, target.project))
      return;
    throw new Refusal('PROJECT_BOUNDARY', 'The credential belongs to another project');
  }
  const place = caller.memberOf(target.project);
  if (!place) throw new Refusal('PROJECT_BOUNDARY', 'You are not a member of this project');
  const isMembers = target.member !== undefined;
  const isOwn = isMembers && place.member === target.member;
  if (isAllowed(declared, place.role, { isOwn, isMembers })) return;
  const message = isForMemberAlone(declared, isMembers)
    ? `${target.name} is only for the member it belongs to: no role can do it for them`
    : `${target.name} is not for the role ${place.role}: ${whoMay(declared)}`;
  throw new Refusal('MISSING_CAPABILITY', message, { role: place.role });
}

/**
 * True for a collector of the service whose key covers the project or all projects. Does not reveal
 * whether the project exists.
 */
export function reachesProject(
  { kind, project, projects }: Pick<CredentialPrincipal, 'kind' | 'project' | 'projects'>,
  target: string,
): boolean {
  if (kind !== 'col' || project !== SYSTEM_PROJECT) return false;
  return projects === null || projects.includes(target);
}

/** True if no other role would help the caller. */
function isForMemberAlone({ role }: Policy, isMembers: boolean): boolean {
  return role === Policy_Role.SELF || (role === Policy_Role.OWNER_OR_SELF && isMembers);
}

function isAllowed(
  { access, role }: Policy,
  has: Role,
  { isOwn, isMembers }: { isOwn: boolean; isMembers: boolean },
): boolean {
  switch (access) {
    case Policy_Access.READ:
    case Policy_Access.ANY:
      return true;
    case Policy_Access.WRITE:
      return RANK[has] >= RANK.EDITOR;
    case Policy_Access.HUMAN:
      if (role === Policy_Role.VIEWER) return true;
      if (role === Policy_Role.EDITOR) return RANK[has] >= RANK.EDITOR;
      if (role === Policy_Role.OWNER) return has === 'OWNER';
      if (role === Policy_Role.SELF) return isOwn;
      if (role === Policy_Role.OWNER_OR_SELF) return isMembers ? isOwn : has === 'OWNER';
      if (role === Policy_Role.OWNER_AND_SELF) return isOwn || has === 'OWNER';
      return false;
    default:
      return false;
  }
}

function whoMay({ access, role }: Policy): string {
  if (access === Policy_Access.WRITE) return 'ask an EDITOR or an OWNER';
  if (role === Policy_Role.EDITOR) return 'ask an EDITOR or an OWNER';
  if (role === Policy_Role.OWNER_AND_SELF) return 'ask an OWNER, or the member it belongs to';
  return 'ask an OWNER';
}
