/**
 * The role that may read the steps of a machine's instances. The service rejects other roles, so
 * such requests are not sent.
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
 * Link to the path of an instance on the diagram of its machine. Undefined if the instance has no
 * resource name or the role may not read its path.
 */
export function pathOnChart(machine: string, instanceName: string): string | undefined {
  if (instanceName === '' || !mayDo(readerOf(machine))) return undefined;
  const [, project = ''] = instanceName.split('/');
  const query = new URLSearchParams({ instance: instanceName });
  return `${pathOf('machine', { project, machine })}?${query}`;
}
