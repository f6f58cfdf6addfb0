/**
 * What an identity is granted at this moment: the upper bound of every key and token that acts for
 * it, looked up anew for each request and each decision. A service account has what it was given, a
 * member what their role says.
 */
import type { Role } from '../../machines/identity/membership.ts';
import type { Instance } from '../platform/host/host-port.ts';
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

/** Rows of the identities of one project. */
export interface GrantedRows {
  instance<M extends KeyOwner['machine']>(machine: M, id: string): Instance<M> | undefined;
}

const GONE: Grants = { state: 'gone', capabilities: [] };

/** What the identity may do now. */
export function grantsOf(view: GrantedRows, owner: KeyOwner): Grants {
  const found = view.instance(owner.machine, owner.id);
  if (!found || found.final) return GONE;
  return found.machine === 'membership' ? ofMember(found) : ofAccount(found);
}

function ofMember({ value, context }: Instance<'membership'>): Grants {
  const { role } = context;
  return value === 'active' ? { state: 'active', capabilities: ROLE_GRANTS[role] } : GONE;
}

function ofAccount({ value, context }: Instance<'serviceAccount'>): Grants {
  const { capabilities } = context;
  return value === 'active'
    ? { state: 'active', capabilities }
    : { state: 'disabled', capabilities: [] };
}

/** Capabilities that are in both lists, in the order of the first. */
export function within(capabilities: readonly string[], bound: readonly string[]): string[] {
  return capabilities.filter((capability) => bound.includes(capability));
}
