/** People on a real host, without the API, under a virtual clock. */
import type { Test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import type { IssuedLink } from '../../actors/identity/people-links.ts';
import type { VouchedIdentity } from '../../actors/identity/people-sign-in.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { Role } from '../../machines/identity/membership.ts';
import { createIdentities } from '../../src/identity/open-identity.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { startWorld, type World } from './host-in-memory.ts';

export const operator: Actor = { kind: 'operator', name: 'operator/root' };

/** People and members over a world's host, wired as in the service. */
export function peopleOf(ports: Omit<World, 'host'> & { host: Host; recentMs?: number }) {
  const { clock } = ports;
  const seen = new Map<string, number>();
  const faults: string[] = [];
  const identities = createIdentities({
    ...ports,
    lastSeen: {
      record: (session) => void seen.set(session, clock.now()),
      of: (session) => seen.get(session),
    },
    onFault: (what, error) => void faults.push(`${what}: ${String(error)}`),
  });
  return { ...identities, seen, faults };
}

export type PeopleWorld = Awaited<ReturnType<typeof startPeopleWorld>>;

/**
 * Starts a world that ends with the test. `around` wraps the host of the people; `recentMs` is the
 * age of a recent sign-in, if not the default.
 */
export async function startPeopleWorld(
  t: Test,
  around: (host: Host) => Host = (host) => host,
  recentMs?: number,
) {
  const { host, clock, random } = await startWorld(t);
  const ports = { host: around(host), clock, random, ...(recentMs !== undefined && { recentMs }) };
  const { people, members, seen, faults } = peopleOf(ports);
  /** Creates a person with the operator's confirmation of the address. */
  const person = (email: string) =>
    people.ensurePerson(operator, { displayName: email.split('@')[0] ?? '', email });
  /** Creates a project with its owner. */
  async function project(id: string, owner: string) {
    await members.createProject({ by: operator, project: id, displayName: id, owner });
  }
  const use = ({ token }: Pick<IssuedLink, 'token'>, more: object = {}) =>
    people.signInByLink({ token, agent: 'test', ...more });
  async function signedIn(id: string) {
    return use(await people.linkFor(operator, id, 'operator'));
  }
  return { host, clock, random, seen, faults, people, members, person, project, use, signedIn };
}

export function humanOf(person: string): Actor {
  return { kind: 'human', name: `people/${person}` };
}

/** An account at the identity provider, with a verified address. */
export function account(subject: string, email: string): VouchedIdentity {
  const issuer = 'https://id.example.org';
  return { issuer, subject, email, isEmailVerified: email !== '', displayName: subject };
}

/** The refusal's reason, or `accepted`. */
export async function outcomeOf(attempt: () => unknown): Promise<string> {
  try {
    await attempt();
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
  return 'accepted';
}

/** Creates a project `web` owned by ann, with actions of its owner and of the operator. */
export async function shop(world: PeopleWorld) {
  const ann = await world.person('ann@example.org');
  await world.project('web', ann);
  const owner = humanOf(ann);
  const invite = async (email: string, role: Role = 'EDITOR', by = owner) =>
    world.members.invitations.invite({ project: 'web', by, email, role });
  const tokenTo = async (email: string, role: Role = 'EDITOR', by = owner) => ({
    token: (await invite(email, role, by)).token ?? '',
  });
  const add = (person: string, role: Role) =>
    world.members.addMember({ by: operator, project: 'web', person, role });
  const member = (person: string) =>
    world.host.view('web').instance('membership', memberIdOf('web', person));
  return { ann, owner, invite, tokenTo, add, member };
}

/** Commits a personal key, as `CreateKey` does. */
export async function keyOf({ host }: PeopleWorld, member: string, id: string): Promise<void> {
  await host.submit({
    project: 'web',
    by: operator,
    decide(draft) {
      const input = {
        project: 'web',
        kind: 'pk' as const,
        hash: id.padEnd(64, '0'),
        lastFour: 'abcd',
        capabilities: ['monitoring.read'],
        owner: `projects/web/members/${member}`,
        displayName: id,
        createdBy: 'test',
        datacenter: null,
        projects: null,
        vm: null,
        at: draft.at,
        expiresMs: draft.at + 90 * 86_400_000,
      };
      draft.start('credential', id, input);
    },
  });
}

/** Waits until commits that nothing awaits are decided and applied. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise<void>((done) => setImmediate(done));
}
