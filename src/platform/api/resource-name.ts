/**
 * Resource names: `projects/<project>` and `projects/<project>/<collection>/<id>`. A name of
 * another project is refused as a boundary before anything is looked up, so that an answer never
 * reveals whether a resource exists there.
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

/** Id of a project name. Throws INVALID_FIELD for what is none. */
export function parseProjectName(field: string, name: string): string {
  const match = PROJECT.exec(name);
  if (match?.[1] !== undefined) return match[1];
  throw new Refusal(
    'INVALID_FIELD',
    `${field} is "${clip(name)}": a name like projects/demo is needed`,
    {
      field,
    },
  );
}

/** Project and id of a resource name. Throws INVALID_FIELD for what is none. */
export function parseName(
  field: string,
  name: string,
  collection: Collection,
): { project: string; id: string } {
  const match = new RegExp(`^(projects/[^/]+)/${collection}/(${ID})$`).exec(name);
  const [, projectName, id] = match ?? [];
  if (projectName === undefined || id === undefined) {
    const wanted = `projects/demo/${collection}/...`;
    throw new Refusal(
      'INVALID_FIELD',
      `${field} is "${clip(name)}": a name like ${wanted} is needed`,
      {
        field,
      },
    );
  }
  return { project: parseProjectName(field, projectName), id };
}

/** What a caller sent, short enough to show. */
function clip(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
