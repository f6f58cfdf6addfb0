/** Access to the busy project: an invitation, service accounts, and keys of each kind. */
import { randomUUID } from 'node:crypto';
import type { Person } from './people.ts';

const IAM = 'iam.v1.AutomationService';
const DAY_SECONDS = 86_400;

interface Access {
  readonly owner: Person;
  readonly viewer: Person;
  /** Resource name of the project, `projects/demo`. */
  readonly projectName: string;
  readonly markup: (text: string) => string;
}

/**
 * Creates two service accounts, one of them disabled, keys that end soon and late, and an
 * invitation.
 */
export async function giveAccess({ owner, viewer, projectName, markup }: Access): Promise<void> {
  const make = (who: Person, method: string, request: object) =>
    who.call(method, { requestId: randomUUID(), ...request });
  const key = async (who: Person, parent: string, displayName: string, days: number) => {
    const { key } = await make(who, `${IAM}/CreateKey`, {
      parent,
      displayName: markup(displayName),
      capabilities: ['monitoring.read'],
      lifetimeSeconds: days * DAY_SECONDS,
    });
    return (key as { name: string }).name;
  };
  const account = async (displayName: string, template: string): Promise<string> => {
    const request = { projectName, displayName: markup(displayName), template };
    const { name } = await make(owner, `${IAM}/CreateServiceAccount`, request);
    return String(name);
  };
  const scraper = await account('Prometheus', 'metrics-scraper');
  await key(owner, scraper, 'rack-1', 90);
  const old = await key(owner, scraper, 'rack-2', 5);
  await make(owner, `${IAM}/RotateKey`, { name: old, overlapSeconds: DAY_SECONDS });
  await key(owner, scraper, 'rack-3', 12);
  const ended = await key(owner, scraper, 'rack-4', 30);
  await make(owner, `${IAM}/RevokeKey`, { name: ended, reason: markup('lost') });
  const deploy = await account('Deployment', 'alert-manager');
  await key(owner, deploy, 'pipeline', 365);
  const reason = markup('Moved elsewhere');
  await make(owner, `${IAM}/DisableServiceAccount`, { name: deploy, reason });
  await key(owner, await memberOf(owner, projectName), 'laptop', 6);
  await key(viewer, await memberOf(viewer, projectName), 'tablet', 60);
  await make(owner, 'project.v1.ProjectService/InviteMember', {
    projectName,
    email: 'margaret@example.com',
    role: 'EDITOR',
  });
}

/** Resource name of a person's membership. */
export async function memberOf(person: Person, projectName: string): Promise<string> {
  const request = { name: projectName };
  return String((await person.call('project.v1.ProjectService/GetProject', request)).memberName);
}

/** Resource name of the service account that has keys in each state. */
export async function accountOf(owner: Person, projectName: string): Promise<string> {
  const answer = await owner.call(`${IAM}/ListServiceAccounts`, { projectName });
  const accounts = answer.serviceAccounts as { name: string; displayName: string }[];
  const found = accounts.find(({ displayName }) => displayName.includes('Prometheus'));
  if (!found) throw new Error('There is no account with keys');
  return found.name;
}
