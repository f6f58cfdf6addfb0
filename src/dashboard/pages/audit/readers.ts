/**
 * Which role reads the steps of a machine's instances: the service refuses others, so nothing is
 * asked that would be refused.
 */
import type { Role } from '../../data/projects.ts';

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
