/** People, sessions and members, put together: for the composition and for worlds of tests. */
import { createMembers } from '../../../actors/identity/members.ts';
import { createPeople } from '../../../actors/identity/people.ts';
import type { PeopleDeps } from '../../../actors/identity/people-deps.ts';
import type { Members, People } from '../../../actors/identity/people-port.ts';
import { createSignInSecrets } from './sign-in-secrets.ts';

export function createIdentities(ports: Omit<PeopleDeps, 'secrets' | 'invitations'>): {
  readonly people: People;
  readonly members: Members;
} {
  const secrets = createSignInSecrets(ports);
  const members = createMembers({ ...ports, secrets });
  const people = createPeople({ ...ports, secrets, invitations: members.invitations });
  return { people, members };
}
