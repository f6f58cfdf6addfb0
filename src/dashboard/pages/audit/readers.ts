/**
 * Which role reads the steps of a machine's instances: the service refuses others, so nothing is
 * asked that would be refused.
 */
import { mayDo, type Role } from '../../data/projects.ts';
import { pathOf } from '../../router/match.ts';

const readers: Readonly<Record<string, Role>> = {
  destination: 'EDITOR',
  recipient: 'EDITOR',
  serviceAccount: 'OWNER',
  credential: 'OWNER',
  ciVerification: 'OWNER',
  ciConnection: 'OWNER',
  membership: 'OWNER',
  invitation: 'OWNER',
  enrolment: 'OWNER',
  person: 'OWNER',
  session: 'OWNER',
  signInLink: 'OWNER',
};

export function readerOf(machine: string): Role {
  return readers[machine] ?? 'VIEWER';
}

/**
 * Where the path of an instance is followed on the drawing of its machine. undefined: the instance
 * has no resource name, or its path is not for this role.
 */
export function pathOnChart(machine: string, instanceName: string): string | undefined {
  if (instanceName === '' || !mayDo(readerOf(machine))) return undefined;
  const [, project = ''] = instanceName.split('/');
  const query = new URLSearchParams({ instance: instanceName });
  return `${pathOf('machine', { project, machine })}?${query}`;
}
