/**
 * An example address of each page of routes.ts in a busy project, found through the API. Tests of
 * all pages visit these addresses. A new page is included automatically, unless its parameter needs
 * an example here.
 */
import { type PageName, type PageRole, routes } from '../../../src/dashboard/routes.ts';
import { accountOf, memberOf } from './access.ts';
import type { BusyProject } from './busy-project.ts';
import { bodyOf, type Person } from './people.ts';
import { vmId } from './readings.ts';

export interface Example {
  readonly page: PageName;
  /** Lowest role that may open it. */
  readonly role: PageRole;
  readonly path: string;
}

/**
 * Examples in the order of the table, as they are for a person, by default the owner. Throws if a
 * parameter has no example here.
 */
export async function exampleOfEachPage(
  busy: BusyProject,
  person: Person = busy.owner,
): Promise<readonly Example[]> {
  const values = await parametersOf(busy, person);
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

async function parametersOf(
  busy: BusyProject,
  person: Person,
): Promise<Readonly<Record<string, string>>> {
  const incident = await first(busy, 'ListIncidents', {
    state: 'FIRING',
    severities: ['CRITICAL'],
    vmName: `${busy.name}/vms/${vmId(0)}`,
  });
  const instance = await first(busy, 'ListAlertInstances', { states: ['FIRING'] });
  // States of a failing delivery: it waits for its next attempt, or makes it.
  const failing = ['WAITING', 'RECHECKING', 'SENDING'];
  const delivery = await first(busy, 'ListDeliveries', { states: failing });
  const destination = await first(busy, 'ListDestinations', {});
  const rule = await first(busy, 'ListAlertRules', {});
  const connection = await firstOfOwner(busy, 'ListCiConnections', { displayName: /Deploy/ });
  const verification = await firstOfOwner(busy, 'ListCiVerifications', { state: /OBSERVED/ });
  return {
    connection,
    verification,
    project: idOf(busy.name),
    vm: vmId(0),
    machine: 'alertInstance',
    incident,
    instance,
    delivery,
    destination,
    rule,
    account: idOf(await accountOf(busy.owner, busy.name)),
    // Members see their own keys; only owners see those of others.
    member: idOf(await memberOf(person, busy.name)),
  };
}

/** Id of the first item of a list. */
async function first({ program, name }: BusyProject, method: string, filter: object) {
  const request = { projectName: name, pageSize: 1, ...filter };
  const answer = await program.call(`monitoring.v1.AlertService/${method}`, request);
  const [list] = Object.values(bodyOf(method, answer)).filter(Array.isArray);
  const found = (list as { name: string }[] | undefined)?.[0]?.name;
  if (!found) throw new Error(`${method} found none`);
  return idOf(found);
}

/** Id of the first item with these fields in a list of the owner's. */
async function firstOfOwner(
  { owner, name }: BusyProject,
  method: string,
  wanted: Readonly<Record<string, RegExp>>,
) {
  const answer = await owner.call(`iam.v1.AutomationService/${method}`, { projectName: name });
  const [list = []] = Object.values(answer).filter(Array.isArray);
  const found = (list as Readonly<Record<string, unknown>>[]).find((one) =>
    Object.entries(wanted).every(([field, pattern]) => pattern.test(String(one[field]))),
  );
  if (!found) throw new Error(`${method} found none`);
  return idOf(String(found.name));
}

function idOf(name: string): string {
  return name.split('/').at(-1) ?? '';
}
