/**
 * Grants of identities: the upper bound of every key and token that acts for one, read for each
 * request and each decision. A service account has its own capabilities, a member those of their
 * role. The permission templates list grants for new service accounts.
 */
import type { Role } from '../../machines/identity/membership.ts';
import type { Instance } from '../platform/host/host-port.ts';
import type { KeyOwner } from './names.ts';

/** Capabilities that can be granted (IDN-05). */
export const CAPABILITIES = ['monitoring.read', 'monitoring.write'] as const;

const ROLE_GRANTS: Readonly<Record<Role, readonly string[]>> = {
  VIEWER: ['monitoring.read'],
  EDITOR: CAPABILITIES,
  OWNER: CAPABILITIES,
};

/** State and capabilities of an identity; a disabled or missing one has none. */
export interface Grants {
  /** `gone`: removed, or never existed. */
  readonly state: 'active' | 'disabled' | 'gone';
  readonly capabilities: readonly string[];
}

/** Rows of the identities of one project. */
export interface GrantedRows {
  instance<M extends KeyOwner['machine']>(machine: M, id: string): Instance<M> | undefined;
}

const GONE: Grants = { state: 'gone', capabilities: [] };

/** Present grants of the identity. */
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

/** Intersection of both lists, in the order of the first. */
export function within(capabilities: readonly string[], bound: readonly string[]): string[] {
  return capabilities.filter((capability) => bound.includes(capability));
}

/** Template for service accounts. */
export interface PermissionTemplate {
  readonly id: string;
  readonly displayName: string;
  readonly description: string;
  readonly capabilities: readonly string[];
}

export const PERMISSION_TEMPLATES: readonly PermissionTemplate[] = [
  {
    id: 'metrics-scraper',
    displayName: 'Metrics scraper',
    description:
      'Reads metrics, alert rules and incidents. No change of a VM, no console, no identities.',
    capabilities: ['monitoring.read'],
  },
  {
    id: 'alert-manager',
    displayName: 'Alert manager',
    description:
      'Reads what a metrics scraper reads, and saves alert rules and destinations. No change of a VM, no console, no identities.',
    capabilities: ['monitoring.read', 'monitoring.write'],
  },
];
