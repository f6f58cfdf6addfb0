/**
 * Names and ids of identities. A member's id is derived from project and person, an enrolment's from
 * project and VM, so that both are found without a search. A key's owner is stored by resource name.
 */
import { createHash } from 'node:crypto';

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

export function ownerName({ project, machine, id }: KeyOwner): string {
  const collection = machine === 'membership' ? 'members' : 'serviceAccounts';
  return `projects/${project}/${collection}/${id}`;
}

/** Id of a person's membership of a project: 26 characters, the same on every node. */
export function memberIdOf(project: string, person: string): string {
  return idFrom('member', project, person);
}

/** Id of a VM's enrolment: letters and digits only, as its tokens need it, unlike ids of VMs. */
export function enrolmentIdOf(project: string, vm: string): string {
  return idFrom('enrolment', project, vm);
}

function idFrom(...parts: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts));
  return digest.digest('hex').slice(0, 26);
}
