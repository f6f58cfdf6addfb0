/**
 * An address of each page of routes.ts in a busy project, found through the API. Whoever looks at all
 * pages looks at these: a page that is added is looked at by itself, or its parameter is asked for.
 */
import { type PageName, type PageRole, routes } from '../../../src/dashboard/routes.ts';
import type { BusyProject } from './busy-project.ts';
import { bodyOf } from './people.ts';
import { vmId } from './readings.ts';

export interface Example {
  readonly page: PageName;
  /** The least role that may open it. */
  readonly role: PageRole;
  readonly path: string;
}

/** In the order of the table. Throws when a parameter has no example here. */
export async function exampleOfEachPage(busy: BusyProject): Promise<readonly Example[]> {
  const values = await parametersOf(busy);
  return routes.map(({ path, page, role }) => {
    const segments = path.split('/').map((segment) => {
      if (!segment.startsWith(':')) return segment;
      const value = values[segment.slice(1)];
      if (value === undefined) throw new Error(`${path} needs an example of ${segment} here`);
      return encodeURIComponent(value);
    });
    return { page, role, path: segments.join('/') };
  });
}

async function parametersOf(busy: BusyProject): Promise<Readonly<Record<string, string>>> {
  const incident = await first(busy, 'ListIncidents', {
    ...{ state: 'FIRING', severities: ['CRITICAL'], vmName: `${busy.name}/vms/${vmId(0)}` },
  });
  const instance = await first(busy, 'ListAlertInstances', { states: ['FIRING'] });
  const delivery = await first(busy, 'ListDeliveries', { states: ['WAITING'] });
  return {
    ...{ project: idOf(busy.name), vm: vmId(0), machine: 'alertInstance' },
    ...{ incident, instance, delivery },
  };
}

/** Id of the first of a list. */
async function first({ program, name }: BusyProject, method: string, filter: object) {
  const request = { projectName: name, pageSize: 1, ...filter };
  const answer = await program.call(`monitoring.v1.AlertService/${method}`, request);
  const [list] = Object.values(bodyOf(method, answer)).filter(Array.isArray);
  const found = (list as { name: string }[] | undefined)?.[0]?.name;
  if (!found) throw new Error(`${method} found none`);
  return idOf(found);
}

function idOf(name: string): string {
  return name.split('/').at(-1) ?? '';
}
