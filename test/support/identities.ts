/**
 * Identities for tests, made with the machines' own events and not with the parts under test:
 * service accounts, people, members, sessions, CI connections, and credentials that act for them.
 */

import { createHash } from 'node:crypto';
import { enrolmentIdOf, memberIdOf } from '../../actors/identity/grants.ts';
import type { People } from '../../actors/identity/people.ts';
import type { EventOf, Host, InputOf, Instance } from '../../actors/platform/host/host-port.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import type { Role } from '../../machines/identity/membership.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { issueCredential } from './credentials.ts';
import { tester } from './host-in-memory.ts';
import { submit } from './submit.ts';

type NewCredential = Parameters<typeof issueCredential>[2];
export type TestCapability = NewCredential['capabilities'][number];

/** A signed-in person. `secret` is the value of the session's cookie. */
export interface SignedIn {
  readonly person: string;
  readonly session: string;
  readonly secret: string;
}

export interface IssuedTestKey {
  readonly id: string;
  readonly key: string;
}

export type Identities = ReturnType<typeof identitiesOf>;

export function identitiesOf(ports: {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  /** Part that begins sessions; absent: sign-in is impossible. */
  readonly people?: Pick<People, 'linkFor' | 'signInByLink' | 'endSession'>;
}) {
  const { host, clock, random, people } = ports;
  const newId = (): string => ulid(clock.now(), random);

  const start = async <M extends MachineName>(
    project: string,
    machine: M,
    id: string,
    input: object,
  ) => {
    await submit(
      host,
      { project },
      (draft) => void draft.start(machine, id, { at: draft.at, ...input } as InputOf<M>),
    );
    return id;
  };
  /** Sends an event to an instance as one decision. Resolves with whether it changed anything. */
  const send = async <M extends MachineName>(
    project: string,
    machine: M,
    id: string,
    event: { readonly type: string } & Readonly<Record<string, unknown>>,
  ): Promise<boolean> => {
    const { answer } = await submit(
      host,
      { project },
      (draft) =>
        draft.send(machine, id, { by: tester.name, ...event, at: draft.at } as EventOf<M>).changed,
    );
    return answer;
  };
  const issue = async (credential: Omit<NewCredential, 'displayName'>): Promise<IssuedTestKey> => {
    const { id, key } = await issueCredential(ports, tester, { ...credential, displayName: 'k' });
    return { id, key };
  };

  /** Creates a service account. Resolves with its id. */
  const account = (project: string, capabilities: readonly string[]): Promise<string> =>
    start(project, 'serviceAccount', newId(), {
      project,
      displayName: 'Robot',
      template: null,
      createdBy: tester.name,
      capabilities,
    });
  /**
   * Issues a key of a service account. Without one, it creates an account with the same
   * capabilities.
   */
  const accountKey = async (
    project: string,
    capabilities: readonly TestCapability[],
    options: { readonly account?: string; readonly lifetimeMs?: number } = {},
  ): Promise<IssuedTestKey & { readonly account: string }> => {
    const { account: of = await account(project, capabilities), ...rest } = options;
    const owner = `projects/${project}/serviceAccounts/${of}`;
    return { ...(await issue({ project, kind: 'sk', capabilities, owner, ...rest })), account: of };
  };
  /** Creates a person. Resolves with the id. */
  const person = (displayName = 'Ada'): Promise<string> =>
    start(SYSTEM_PROJECT, 'person', newId(), { displayName, email: '', identity: null });
  /** Creates a membership. Resolves with its id. */
  const member = (project: string, of: string, role: Role): Promise<string> =>
    start(project, 'membership', memberIdOf(project, of), {
      project,
      person: of,
      role,
      displayName: 'Ada',
      email: '',
      by: tester.name,
    });
  /** Begins a command-line session of the person, which survives a week without use. */
  const signIn = async (of: string): Promise<SignedIn> => {
    if (!people) throw new Error('This world has no sign-in');
    const verifier = Buffer.from(random.bytes(32)).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const operators = await people.linkFor(tester, of, 'operator');
    const browser = await people.signInByLink({ token: operators.token, agent: 'browser' });
    const cli = { challenge, session: browser.session };
    const { token } = await people.linkFor(tester, of, 'cli', cli);
    const session = await people.signInByLink({ token, agent: 'test', verifier });
    await people.endSession(browser.session, 'SIGNED_OUT');
    return session;
  };
  return {
    start,
    send,
    issue,
    account,
    accountKey,
    person,
    member,
    signIn,
    /** Signs in a person with this role in the project; null = none. */
    async signedInAs(project: string, role: Role | null): Promise<SignedIn> {
      const of = await person(role ?? 'Stranger');
      if (role) await member(project, of, role);
      return signIn(of);
    },
    /** Issues a key of a member of the project. */
    personalKey: (
      project: string,
      of: string,
      capabilities: readonly TestCapability[],
      options: { readonly lifetimeMs?: number } = {},
    ) =>
      issue({
        project,
        kind: 'pk',
        capabilities,
        ...options,
        owner: `projects/${project}/members/${memberIdOf(project, of)}`,
      }),
    /** Issues a collector's key: of the project, or of every project if it is `_system`. */
    collector: (
      project: string,
      datacenter?: string,
      options: { readonly lifetimeMs?: number } = {},
    ) =>
      issue({
        project,
        kind: 'col',
        capabilities: ['collector'],
        owner: 'service/test',
        ...options,
        ...(datacenter !== undefined && { datacenter }),
      }),
    /** Enrols the agent of a VM: its key, and the enrolment that it needs. */
    async agent(
      project: string,
      vm: string,
      options: { readonly lifetimeMs?: number } = {},
    ): Promise<IssuedTestKey> {
      const owner = `projects/${project}/vms/${vm}`;
      const about = { project, kind: 'vm', capabilities: ['collector'], owner, vm } as const;
      const issued = await issue({ ...about, ...options });
      const offered = { project, vm, datacenter: 'DC-1', tokenHash: '', by: tester.name };
      await start(project, 'enrolment', enrolmentIdOf(project, vm), offered);
      await send(project, 'enrolment', enrolmentIdOf(project, vm), {
        type: 'enrolled',
        credential: issued.id,
        system: 'test',
      });
      return issued;
    },
    /** Approves a CI connection of a service account. Resolves with its id. */
    connection: (project: string, serviceAccount: string, capabilities: readonly string[]) =>
      start(project, 'ciConnection', newId(), {
        project,
        serviceAccount,
        capabilities,
        displayName: 'CI',
        issuer: 'github',
        audience: 'test',
        bound: {},
        verification: 'v',
        digest: 'd',
        createdBy: tester.name,
      }),
    /** Current row of an identity. */
    row: <M extends MachineName>(machine: M, id: string): Instance<M> | undefined =>
      host.findInstance(machine, id),
  };
}
