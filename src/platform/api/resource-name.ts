/**
 * Resource names: `projects/<project>` and `projects/<project>/<collection>/<id>`. A name of
 * another project is refused as a boundary before any lookup, so that a response never reveals
 * whether a resource exists there.
 */
import { ID } from '../../../actors/platform/resource-id.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';

export type Collection =
  | 'vms'
  | 'alertRules'
  | 'incidents'
  | 'destinations'
  | 'deliveries'
  | 'alertInstances'
  | 'serviceAccounts'
  | 'ciVerifications'
  | 'ciConnections'
  | 'members'
  | 'invitations'
  | 'notices'
  | 'maintenanceWindows';

const PROJECT = /^projects\/([a-z0-9][a-z0-9-]{0,62})$/;

export function nameOf(project: string, collection: Collection, id: string): string {
  return `projects/${project}/${collection}/${id}`;
}

/** Id in a project name. Throws INVALID_FIELD if it is not one. */
export function parseProjectName(field: string, name: string): string {
  const match = PROJECT.exec(name);
  if (match?.[1] !== undefined) return match[1];
  throw new Refusal(
    'INVALID_FIELD',
    `${field} is "${clip(name)}": send a name like projects/demo`,
    {
      field,
    },
  );
}

/** Project and id in a resource name. Throws INVALID_FIELD if it is not one. */
export function parseName(
  field: string,
  name: string,
  collection: Collection,
): { project: string; id: string } {
  const match = new RegExp(`^(projects/[^/]+)/${collection}/(${ID})$`).exec(name);
  const [, projectName, id] = match ?? [];
  if (projectName === undefined || id === undefined) {
    const wanted = `projects/demo/${collection}/...`;
    throw new Refusal('INVALID_FIELD', `${field} is "${clip(name)}": send a name like ${wanted}`, {
      field,
    });
  }
  return { project: parseProjectName(field, projectName), id };
}

/** The caller's text, short enough to show. */
function clip(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
