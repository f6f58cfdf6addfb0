/**
 * Names of machines' instances, in both directions. Most are resources, some are below one or have
 * none.
 */

import { enrolmentIdOf, parseOwner } from '../../../actors/identity/grants.ts';
import type { ProjectView } from '../../../actors/platform/host/host-port.ts';
import { ID } from '../../../actors/platform/resource-id.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import {
  type Collection,
  nameOf,
  parseName,
  parseProjectName,
} from '../../platform/api/resource-name.ts';

/** The collection of each machine's instances among resource names. */
const MACHINE_OF: Readonly<Partial<Record<Collection, string>>> = {
  alertRules: 'alertRule',
  alertInstances: 'alertInstance',
  deliveries: 'delivery',
  destinations: 'destination',
  serviceAccounts: 'serviceAccount',
  ciVerifications: 'ciVerification',
  ciConnections: 'ciConnection',
  members: 'membership',
  invitations: 'invitation',
  vms: 'enrolment',
};
/**
 * A key is below its owner: `projects/p/serviceAccounts/s/keys/k`, `projects/p/members/m/keys/k`.
 */
const KEY_NAME = new RegExp(`^(projects/[^/]+)/(?:serviceAccounts|members)/${ID}/keys/(${ID})$`);

/** The resource name of a machine's instance; '' if it has none. */
export function instanceNameOf(view: ProjectView, machine: string, id: string): string {
  const { project } = view;
  if (project === SYSTEM_PROJECT) return '';
  if (machine === 'credential') {
    const owner = view.instance('credential', id)?.context.owner ?? '';
    return parseOwner(owner) ? `${owner}/keys/${id}` : '';
  }
  if (machine === 'enrolment') {
    const vm = view.instance('enrolment', id)?.context.vm;
    return vm === undefined ? '' : nameOf(project, 'vms', vm);
  }
  const collection = COLLECTION_OF.get(machine);
  return collection ? nameOf(project, collection, id) : '';
}

const COLLECTION_OF: ReadonlyMap<string, Collection> = new Map(
  (Object.keys(MACHINE_OF) as Collection[]).map((one) => [MACHINE_OF[one] ?? '', one]),
);

/** The machine's instance behind a resource name. Throws INVALID_FIELD. */
export function parseInstanceName(name: string): { project: string; id: string; machine: string } {
  const field = 'instanceName';
  const [, projectName, key] = KEY_NAME.exec(name) ?? [];
  if (projectName !== undefined && key !== undefined) {
    return { project: parseProjectName(field, projectName), id: key, machine: 'credential' };
  }
  const { collection, machine } = collectionIn(name);
  const { project, id } = parseName(field, name, collection);
  // Its enrolment has no resource name of its own. Its id is derived from the VM's.
  if (collection === 'vms') return { project, id: enrolmentIdOf(project, id), machine };
  return { project, id, machine };
}

function collectionIn(name: string): { collection: Collection; machine: string } {
  const collections = Object.keys(MACHINE_OF) as Collection[];
  const collection = collections.find((one) => name.split('/')[2] === one);
  const machine = collection && MACHINE_OF[collection];
  if (collection && machine) return { collection, machine };
  const message = `instanceName must name a resource with a path: one of ${collections.join(', ')}`;
  throw invalidField('instanceName', message);
}
