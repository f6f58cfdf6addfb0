/**
 * What an identity is granted at this moment: the upper bound of every key and token that acts for
 * it, looked up anew for each request and each decision. A service account has what it was given, a
 * member what their role says.
 */
import type { MembershipContext, Role } from '../../machines/identity/membership.ts';
import type { ServiceAccountContext } from '../../machines/identity/service-account.ts';
import type { Instance, ProjectView } from '../platform/host/host-port.ts';
import type { KeyOwner } from './names.ts';

/** What may be granted (IDN-05). */
export const CAPABILITIES = ['monitoring.read', 'monitoring.write'] as const;

const ROLE_GRANTS: Readonly<Record<Role, readonly string[]>> = {
  VIEWER: ['monitoring.read'],
  EDITOR: CAPABILITIES,
  OWNER: CAPABILITIES,
};

/** How an identity stands. Of one that is disabled or gone, no capability is left. */
export interface Grants {
  /** `gone`: it was removed, or never was. */
  readonly state: 'active' | 'disabled' | 'gone';
  readonly capabilities: readonly string[];
}

const GONE: Grants = { state: 'gone', capabilities: [] };

/** What the identity may do now. */
export function grantsOf(view: Pick<ProjectView, 'instance'>, owner: KeyOwner): Grants {
  const found = view.instance(owner.machine, owner.id);
  if (!found || found.final) return GONE;
  return owner.machine === 'membership' ? ofMember(found) : ofAccount(found);
}

function ofMember({ value, context }: Instance): Grants {
  const { role } = context as unknown as MembershipContext;
  return value === 'active' ? { state: 'active', capabilities: ROLE_GRANTS[role] } : GONE;
}

function ofAccount({ value, context }: Instance): Grants {
  const { capabilities } = context as unknown as ServiceAccountContext;
  return value === 'active'
    ? { state: 'active', capabilities }
    : { state: 'disabled', capabilities: [] };
}

/** Capabilities that are in both lists, in the order of the first. */
export function within(capabilities: readonly string[], bound: readonly string[]): string[] {
  return capabilities.filter((capability) => bound.includes(capability));
}
