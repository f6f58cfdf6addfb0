/**
 * Who may do what, in one place: a method's declared policy against who calls, before and after it
 * is known which project the call is about. Undeclared is refused.
 */
import type { Role } from '../../machines/membership.ts';
import { SYSTEM_PROJECT } from '../../streams/commit/commit.ts';
import { Refusal } from '../../streams/refusal.ts';
import { type Policy, Policy_Access, Policy_Role } from '../gen/svc/options/v1/policy_pb.ts';
import type { Principal } from './principal.ts';

/** What a call is about. */
export interface CallTarget {
  /** Of the method. */
  readonly name: string;
  /** Project id. */
  readonly project: string;
  /** The member whose the resource is; undefined = it is the project's. */
  readonly member?: string | undefined;
}

/** How much each role may: a role may do what any lower one may. */
const RANK: Readonly<Record<Role, number>> = { VIEWER: 1, EDITOR: 2, OWNER: 3 };

/**
 * Lets the caller into a project, for one method. Throws a `Refusal`: PROJECT_BOUNDARY whether or
 * not the project exists, MISSING_CAPABILITY for a role that is not enough.
 */
export function enterProject(caller: Principal, declared: Policy, target: CallTarget): void {
  if (caller.kind !== 'human') {
    const reachesAll = caller.kind === 'col' && caller.project === SYSTEM_PROJECT;
    if (reachesAll || caller.project === target.project) return;
    throw new Refusal('PROJECT_BOUNDARY', 'The credential belongs to another project');
  }
  const place = caller.memberOf(target.project);
  if (!place) throw new Refusal('PROJECT_BOUNDARY', 'You are not a member of this project');
  const isOwn = target.member !== undefined && place.member === target.member;
  if (isAllowed(declared, place.role, { isOwn, isMembers: target.member !== undefined })) return;
  throw new Refusal(
    'MISSING_CAPABILITY',
    `${target.name} is not for the role ${place.role}: ${whoMay(declared)}`,
    { role: place.role },
  );
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
      return false;
    default:
      return false;
  }
}

function whoMay({ access, role }: Policy): string {
  if (access === Policy_Access.WRITE) return 'an EDITOR or an OWNER may';
  if (role === Policy_Role.EDITOR) return 'an EDITOR or an OWNER may';
  if (role === Policy_Role.SELF) return 'the member whose it is may';
  if (role === Policy_Role.OWNER_OR_SELF) return 'an OWNER, or the member whose it is, may';
  return 'an OWNER may';
}
