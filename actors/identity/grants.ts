/**
 * Grants of identities: the upper bound of every key and token that acts for one, read for each
 * request and each decision. A service account has its own capabilities, a member has those of
 * their role. Permission templates list grants for new service accounts. The end of the file has
 * the names and ids by which identities are found.
 */

import { createHash } from 'node:crypto';
import type { Role } from '../../machines/identity/membership.ts';
import type { Instance } from '../platform/host/host-port.ts';

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

/** Current grants of the identity. */
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

/** Templates by id. A change of a template affects no account that was made from it. */
export const PERMISSION_TEMPLATES: readonly PermissionTemplate[] = [
  {
    id: 'metrics-scraper',
    displayName: 'Metrics scraper',
    description:
      'Reads metrics, alert rules and incidents. Cannot change VMs, open consoles or manage identities.',
    capabilities: ['monitoring.read'],
  },
  {
    id: 'alert-manager',
    displayName: 'Alert manager',
    description:
      'Reads like a metrics scraper, and saves alert rules and destinations. Cannot change VMs, open consoles or manage identities.',
    capabilities: ['monitoring.read', 'monitoring.write'],
  },
];

// Names and ids of identities. A member's id is derived from project and person, an enrolment's
// from project and VM, so that both are found without a search. A key's owner is stored by resource
// name.

/** Machine and id of the identity that a key acts for. */
export interface KeyOwner {
  readonly project: string;
  readonly machine: 'serviceAccount' | 'membership';
  readonly id: string;
}

const OWNER = /^projects\/([^/]+)\/(serviceAccounts|members)\/([^/]+)$/;

/** Reads `projects/p/serviceAccounts/s` or `projects/p/members/m`; undefined for other names. */
export function parseOwner(name: string): KeyOwner | undefined {
  const [, project, collection, id] = OWNER.exec(name) ?? [];
  if (project === undefined || id === undefined) return undefined;
  return { project, id, machine: collection === 'members' ? 'membership' : 'serviceAccount' };
}

/** Resource name of the identity that a key acts for. */
export function ownerName({ project, machine, id }: KeyOwner): string {
  const collection = machine === 'membership' ? 'members' : 'serviceAccounts';
  return `projects/${project}/${collection}/${id}`;
}

/** Id of a person's membership of a project: 26 characters, the same on every node. */
export function memberIdOf(project: string, person: string): string {
  return idFrom('member', project, person);
}

/** Id of a VM's enrolment: letters and digits only, which its tokens require, unlike ids of VMs. */
export function enrolmentIdOf(project: string, vm: string): string {
  return idFrom('enrolment', project, vm);
}

function idFrom(...parts: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts));
  return digest.digest('hex').slice(0, 26);
}
