/**
 * A restored backup, on real hosts over a database file: a copy made before a key, a session and a
 * trust ended admits them again, until the operator declares the restoration.
 */

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { enrolmentIdOf } from '../../actors/identity/grants.ts';
import { type EndedCounts, restored } from '../../actors/identity/restoration.ts';
import type { EventOf, Host } from '../../actors/platform/host/host-port.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import { IdentityRows } from '../../src/identity/auth/identity-rows.ts';
import { resolveToken } from '../../src/identity/auth/principals.ts';
import { mintKey } from '../../src/platform/keys.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import {
  authenticator,
  DAY_MS,
  reasonOf,
  START_MS,
  startWorld,
  type World,
} from '../support/host-in-memory.ts';
import { operator, outcomeOf, peopleOf } from '../support/people-on-host.ts';
import { submit } from '../support/submit.ts';

const project = 'web';
const OWNER = `projects/${project}/serviceAccounts/robot`;
const READ = ['monitoring.read'];
const VM = 'vm-1';

let requests = 0;
const request = () => ({ scope: operator.name, id: `r${++requests}`, fingerprint: 'restored' });
const restore = (host: Pick<Host, 'submit' | 'view' | 'projects'>, requested = request()) =>
  restored(host, { by: operator, request: requested });

/** Steps before and after the backup. */
async function fill(world: World, sessions: number) {
  const { host, clock, random } = world;
  const { people, members } = peopleOf(world);
  const owner = await people.ensurePerson(operator, {
    displayName: 'Ann',
    email: 'ann@example.org',
  });
  await members.createProject({ by: operator, project, displayName: 'Web', owner });
  const { token } = await people.linkFor(operator, owner, 'operator');
  const session = await people.signInByLink({ token, agent: 'test' });
  const link = await people.linkFor(operator, owner, 'operator');
  const offer = { project, by: operator, email: 'bob@example.org', role: 'EDITOR' } as const;
  const invitation = await members.invitations.invite(offer);
  const minted = mintKey('sk', { nowMs: clock.now(), random });
  const agent = mintKey('vm', { nowMs: clock.now(), random });
  await submit(host, { project, by: operator }, (draft) => {
    const { at } = draft;
    const named = { at, project, displayName: 'Robot', capabilities: READ, createdBy: owner };
    draft.start('serviceAccount', 'robot', { ...named, template: null });
    const key = {
      ...named,
      datacenter: null,
      projects: null,
      vm: null,
      expiresMs: at + 90 * DAY_MS,
    };
    const { hash, lastFour } = minted;
    draft.start('credential', minted.id, { ...key, kind: 'sk', owner: OWNER, hash, lastFour });
    const ofAgent = { kind: 'vm', owner: `projects/${project}/vms/${VM}`, vm: VM } as const;
    const secret = { hash: agent.hash, lastFour: agent.lastFour };
    draft.start('credential', agent.id, { ...key, ...ofAgent, ...secret });
    const ci = {
      ...named,
      serviceAccount: 'robot',
      issuer: 'github',
      issuerUrl: '',
      audience: 'a',
    };
    draft.start('ciVerification', 'v', { ...ci, codeHash: 'c'.repeat(64) });
    const approved = { bound: { ref: 'main' }, verification: 'old', digest: 'd' };
    draft.start('ciConnection', 'trust', { ...ci, ...approved });
    for (const vm of [VM, 'vm-2']) {
      const facts = { at, datacenter: 'DC-1', tokenHash: 'e'.repeat(64), by: owner };
      draft.start('enrolment', enrolmentIdOf(project, vm), { ...facts, project, vm });
    }
    const id = enrolmentIdOf(project, VM);
    draft.send('enrolment', id, { type: 'enrolled', at, credential: agent.id, system: 'Debian' });
    const facts = { datacenter: 'DC-1', tokenHash: 'f'.repeat(64), by: owner };
    draft.send('enrolment', id, { type: 'offered', at, ...facts });
  });
  await addSessions(host, owner, { count: sessions, prefix: 'f' });
  return {
    owner,
    key: minted,
    agent,
    session,
    link,
    invitation: { id: invitation.invitation.instance, token: invitation.token ?? '' },
  };
}

async function addSessions(
  host: Host,
  person: string,
  { count, prefix }: { readonly count: number; readonly prefix: string },
): Promise<void> {
  for (let first = 0; first < count; first += 150) {
    await submit(host, { project: SYSTEM_PROJECT, by: operator }, (draft) => {
      for (let i = first; i < Math.min(count, first + 150); i++) {
        const facts = { at: draft.at, person, method: 'link', agent: 'test' } as const;
        const hash = String(i).padStart(64, '0');
        draft.start('session', `${prefix}s${i}`, {
          ...facts,
          hash,
          expiresMs: draft.at + DAY_MS,
        });
      }
    });
  }
}

const stateOf = ({ host }: Pick<World, 'host'>, machine: MachineName, id: string, of = project) =>
  host.view(of).instance(machine, id)?.value;
const connectionOf = ({ host }: Pick<World, 'host'>) =>
  host.view(project).instance('ciConnection', 'trust');
const epochOf = (world: Pick<World, 'host'>) => Number(connectionOf(world)?.context.tokenEpoch);

/** Outcome of an access token of that epoch. */
function accessOf({ host, clock }: World, tokenEpoch: number): string {
  const rows = new IdentityRows(host);
  const claims = { token: 't', project, connection: 'trust', tokenEpoch };
  const expiresMs = clock.now() + 60_000;
  return reasonOf(() => resolveToken(rows, { ...claims, expiresMs }, clock.now()));
}

const send = <M extends MachineName>(
  { host }: World,
  machine: M,
  id: string,
  event: { readonly type: string } & Readonly<Record<string, unknown>>,
) =>
  submit(
    host,
    { project, by: operator },
    (draft) => void draft.send(machine, id, { ...event, at: draft.at } as EventOf<M>),
  );

test('Access ended after a backup works again until restoration is declared', async (t) => {
  const folder = t.testdir();
  const [path, backup] = [join(folder, 'main.db'), join(folder, 'backup.db')];
  let made: Awaited<ReturnType<typeof fill>> | undefined;
  await t.test('the folder is filled, and copied once its service has stopped', async (t) => {
    made = await fill(await startWorld(t, undefined, { path, seed: 1 }), 0);
  });
  if (!made) return;
  const { key, session, owner } = made;
  copyFileSync(path, backup);

  let lostEpoch = 0;
  await t.test('then the key is revoked, the session ended, the trust narrowed', async (t) => {
    const world = await startWorld(t, undefined, { path, seed: 2 });
    const { people } = peopleOf(world);
    const { authenticate } = authenticator(t, world);
    await send(world, 'credential', key.id, { type: 'revoked', reason: 'LEAKED', by: owner });
    await people.endAllSessions(owner, 'SIGNED_OUT_EVERYWHERE', { by: operator });
    const change = {
      displayName: 'CI',
      capabilities: READ,
      permissionsChanged: true,
      by: owner,
    };
    await send(world, 'ciConnection', 'trust', { type: 'edited', ...change });
    t.equal(
      reasonOf(() => authenticate(key.text)),
      'CREDENTIAL_REVOKED',
    );
    lostEpoch = epochOf(world);
    t.equal(lostEpoch, 2);
  });

  const world = await startWorld(t, undefined, { path: backup, seed: 3 });
  const { host } = world;
  const { people, members } = peopleOf(world);
  const { authenticate } = authenticator(t, world);
  const sessionState = () => stateOf(world, 'session', session.session, SYSTEM_PROJECT);
  t.equal(
    reasonOf(() => authenticate(key.text)),
    'accepted',
    'the key is valid again',
  );
  t.equal(sessionState(), 'active', 'and so is the session');
  t.equal(accessOf(world, 1), 'accepted');

  const act = request();
  const before = host.appliedSequence();
  const answer = await restore(host, act);

  await t.test('sessions, links, invitations, pairings and tokens end', async (t) => {
    const ended: EndedCounts = {
      session: 1,
      signInLink: 1,
      invitation: 1,
      ciVerification: 1,
      enrolment: 2,
      ciConnection: 1,
    };
    t.same(answer.ended, ended);
    t.equal(sessionState(), 'ended');
    t.equal(stateOf(world, 'invitation', made?.invitation.id ?? ''), 'revoked');
    t.match(host.view(project).instance('ciVerification', 'v'), {
      value: 'rejected',
      context: { reason: 'RESTORED' },
    });
    const token = made?.link.token ?? '';
    const outcome = await outcomeOf(() => people.signInByLink({ token, agent: 'test' }));
    t.equal(outcome, 'CREDENTIAL_REVOKED');
    t.match(
      await members.invitations.invite({
        project,
        by: operator,
        email: 'bob@example.org',
        role: 'EDITOR',
      }),
      { token: /^svc_inv_/ },
      'the address can be invited again',
    );
  });

  await t.test('access tokens end, including those of the lost period', async (t) => {
    t.equal(connectionOf(world)?.value, 'enabled', 'the trust itself stays');
    for (const epoch of [1, lostEpoch, lostEpoch + 1]) {
      t.equal(accessOf(world, epoch), 'TOKEN_EPOCH', `epoch ${epoch}`);
    }
    t.equal(accessOf(world, epochOf(world)), 'accepted', 'the next exchange works');
  });

  await t.test('an agent continues, and an open enrolment token is invalid', async (t) => {
    const of = (vm: string) => host.view(project).instance('enrolment', enrolmentIdOf(project, vm));
    t.match(of(VM), {
      value: 'enrolled',
      context: { tokenHash: '', credential: made?.agent.id },
    });
    t.match(of('vm-2'), { value: 'off', context: { tokenHash: '', credential: null } });
  });

  await t.test('keys that may be valid again are listed with their owners', async (t) => {
    t.equal(
      reasonOf(() => authenticate(key.text)),
      'accepted',
      'the operator decides on keys',
    );
    t.match(answer.credentials, [
      {
        kind: 'sk',
        name: `${OWNER}/keys/${key.id}`,
        owner: OWNER,
        ownerDisplayName: 'Robot',
        lastFour: key.lastFour,
        createdMs: START_MS,
        expiresMs: START_MS + 90 * DAY_MS,
      },
      { kind: 'vm', owner: `projects/${project}/vms/${VM}`, ownerDisplayName: '' },
      { kind: 'ci', name: `projects/${project}/ciConnections/trust`, expiresMs: null },
    ]);
    t.equal(answer.credentials.length, 3);
  });

  await t.test(
    'the audit records the restoration as the operator’s, with its request',
    async (t) => {
      const { items } = host.view(project).transitions({ limit: 100 });
      const rows = items.filter(({ sequence }) => sequence > before).slice(0, 5);
      t.ok(
        rows.length > 0 && rows.every(({ by }) => by.name === operator.name),
        JSON.stringify(rows[0]),
      );
    },
  );

  await t.test('a resend changes nothing; a second restoration is generation 3', async (t) => {
    t.equal(answer.generation, 2);
    const epoch = epochOf(world);
    t.match(await restore(host, act), { generation: 2, ended: answer.ended });
    t.equal(epochOf(world), epoch);
    const { generation, ended } = await restore(host);
    t.equal(generation, 3);
    t.match(ended, { session: 0, ciConnection: 1 });
    t.ok(epochOf(world) > epoch);
    t.match(await restore(host, act), { generation: 3 }, 'nor does a resend of long ago');
    t.equal(host.view(SYSTEM_PROJECT).record('restoration', 'current')?.body.generation, 3);
  });
});

test('A restoration interrupted anywhere is finished by running it again', async (t) => {
  const world = await startWorld(t);
  const { host } = world;
  const { owner } = await fill(world, 250);
  const commits = await countOf(host);
  t.ok(commits > 4, `${commits} commits: more than one for the sessions alone`);
  for (let allowed = 0; allowed < commits; allowed++) {
    await addSessions(host, owner, { count: 250, prefix: `r${allowed}` });
    const epoch = epochOf(world);
    let left = allowed;
    const submit: Host['submit'] = (submission) =>
      left-- > 0 ? host.submit(submission) : Promise.reject(new Error('cut short'));
    const cut = { submit, view: host.view.bind(host), projects: host.projects.bind(host) };
    await t.rejects(restore(cut), { message: 'cut short' });
    const { ended } = await restore(host);
    const open = host.view(SYSTEM_PROJECT).countInstances('session', { final: false });
    t.same([open, ended.session], [0, 250], `after ${allowed} commits`);
    t.equal(ended.ciConnection, 1, 'once over both runs');
    t.ok(epochOf(world) > epoch);
  }

  /** Number of commits of a complete restoration. */
  async function countOf(whole: Host): Promise<number> {
    let count = 0;
    const submit: Host['submit'] = (submission) => {
      count++;
      return whole.submit(submission);
    };
    await restore({ submit, view: whole.view.bind(whole), projects: whole.projects.bind(whole) });
    return count;
  }
});
