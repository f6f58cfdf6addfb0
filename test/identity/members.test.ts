/**
 * Members and projects: the effects of leaving. A project keeps an owner, even if all members leave
 * at once. The last test runs random actions of several people at once and checks the invariants
 * after each of them.
 */

import fc from 'fast-check';
import { test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { PROJECTS_OF_PERSON_MAX } from '../../actors/identity/members.ts';
import { MEMBERS_MAX } from '../../actors/identity/membership-changes.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import type { Role } from '../../machines/identity/membership.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import {
  account,
  humanOf,
  keyOf,
  operator,
  outcomeOf,
  type PeopleWorld,
  shop,
  startPeopleWorld,
} from '../support/people-on-host.ts';
import { tries } from '../support/tries.ts';

test('a personal key ends when its owner leaves, and does not return with them', async (t) => {
  const world = await startPeopleWorld(t);
  const { owner, add, member, tokenTo } = await shop(world);
  const bob = await world.person('bob@example.org');
  const id = await add(bob, 'EDITOR');
  for (let n = 0; n < 450; n++) await keyOf(world, id, `k${n}`);
  await keyOf(world, memberIdOf('web', 'somebody else'), 'other');
  const value = (key: string) => world.host.findInstance('credential', key)?.value;
  const before = world.host.appliedSequence();
  const removal = { project: 'web', by: owner, member: id, reason: 'REMOVED' } as const;
  const request = { scope: owner.name, id: 'r-1', fingerprint: 'f' };
  await world.members.removeMember({ ...removal, request });
  t.equal(world.host.appliedSequence() - before, 3, 'in batches of 200');
  t.same(new Set(Array.from({ length: 450 }, (_, n) => value(`k${n}`))), new Set(['revoked']));
  t.match(world.host.findInstance('credential', 'k1')?.context, {
    revokedReason: 'MEMBER_REMOVED',
  });
  t.equal(value('other'), 'active');
  t.same(world.members.placesOf(bob), []);
  t.equal(await outcomeOf(() => world.members.removeMember(removal)), 'NOT_FOUND');

  const link = await tokenTo('bob@example.org', 'VIEWER');
  await world.people.acceptInvitation({ ...link, person: bob });
  t.match(member(bob), { value: 'active', context: { role: 'VIEWER', removedReason: null } });
  t.equal(member(bob)?.instance, id, 'the same membership');
  t.equal(value('k1'), 'revoked');
  await keyOf(world, id, 'new');
  await world.members.removeMember({ ...removal, request });
  t.equal(value('new'), 'active', 'a late resend of the removal ends nothing');
});

test('the last owner can neither leave, nor be removed, nor be demoted', async (t) => {
  const world = await startPeopleWorld(t);
  const { ann, owner, add } = await shop(world);
  const [bob, cy] = [await world.person('bob@example.org'), await world.person('cy@example.org')];
  const id = (person: string) => memberIdOf('web', person);
  const leave = (person: string) =>
    world.members.removeMember({
      project: 'web',
      by: humanOf(person),
      member: id(person),
      reason: 'LEFT',
    });
  const set = (person: string, role: Role) =>
    world.members.setRole({ project: 'web', by: owner, member: id(person), role });
  await add(bob, 'EDITOR');
  t.equal(await outcomeOf(() => leave(ann)), 'INVALID_STATE');
  t.equal(await outcomeOf(() => set(ann, 'VIEWER')), 'INVALID_STATE');
  t.equal(await outcomeOf(() => add(ann, 'EDITOR')), 'INVALID_STATE');
  t.equal(await outcomeOf(() => set(ann, 'OWNER')), 'accepted');
  await set(bob, 'OWNER');
  await add(cy, 'OWNER');
  const leaving = await Promise.all([ann, bob, cy].map((person) => outcomeOf(() => leave(person))));
  t.same(leaving.toSorted(), ['INVALID_STATE', 'accepted', 'accepted'], 'all three at once');
  t.equal(await outcomeOf(() => set('nobody', 'OWNER')), 'NOT_FOUND');
});

test('a project is created once, under an id that was never written to', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const by = humanOf(ann);
  const make = (project: string, displayName = 'Web') =>
    outcomeOf(() => world.members.createProject({ by, project, displayName, owner: ann }));
  const tries = await Promise.all(Array.from({ length: 4 }, () => make('web')));
  t.same(tries.toSorted(), ['INVALID_STATE', 'INVALID_STATE', 'INVALID_STATE', 'accepted']);
  for (const bad of ['', 'Web', '-web', '_system', 'a/b', 'x'.repeat(64)]) {
    t.equal(await make(bad), 'INVALID_FIELD', bad);
  }
  t.equal(await make('ok', ' \n '), 'INVALID_FIELD');
  await world.host.submit({
    project: 'fed',
    by: operator,
    decide(draft) {
      const body = { displayName: 'v', datacenter: '', expandedMonitoring: false, registeredMs: 0 };
      draft.putRecord({ kind: 'vm', id: 'v', body });
    },
  });
  t.equal(await make('fed'), 'INVALID_STATE', 'samples arrived for it: it is not free');
  const request = { scope: by.name, id: 'r-1', fingerprint: 'one' };
  const requested = { by, displayName: 'Two', owner: ann };
  await world.members.createProject({ ...requested, project: 'two', request });
  await world.members.createProject({ ...requested, project: 'two', request });
  const reused = { ...requested, project: 'three', request: { ...request, fingerprint: 'other' } };
  t.equal(
    await outcomeOf(() => world.members.createProject(reused)),
    'REQUEST_ID_REUSED',
    'for another project too',
  );
  t.equal(world.host.view('three').record('project', 'three'), undefined);
});

test('members per project, and projects per person, are bounded', async (t) => {
  const world = await startPeopleWorld(t);
  const { owner, ann } = await shop(world);
  t.same([MEMBERS_MAX, PROJECTS_OF_PERSON_MAX], [1_000, 100]);
  const start = (from: number, to: number) =>
    world.host.submit({
      project: 'web',
      by: operator,
      decide(draft) {
        for (let n = from; n < to; n++) {
          const about = {
            project: 'web',
            person: `p${n}`,
            displayName: 'p',
            email: '',
            by: 'test',
          };
          draft.start('membership', `m${n}`, { at: draft.at, ...about, role: 'VIEWER' });
        }
      },
    });
  for (let from = 1; from < MEMBERS_MAX; from += 333) await start(from, from + 333);
  const add = async (email: string) => {
    const change = { by: owner, project: 'web', role: 'VIEWER' } as const;
    return await world.members.addMember({ ...change, person: await world.person(email) });
  };
  t.equal(await outcomeOf(() => add('more@example.org')), 'LIMIT_EXCEEDED');
  t.equal(
    await outcomeOf(() => add('ann@example.org')),
    'INVALID_STATE',
    'no new member, but a known one gets past the limit',
  );
  const make = (n: number, by = owner) =>
    world.members.createProject({ by, project: `p-${n}`, displayName: 'P', owner: ann });
  for (let n = 1; n < PROJECTS_OF_PERSON_MAX; n++) await make(n);
  t.equal(await outcomeOf(() => make(100)), 'LIMIT_EXCEEDED');
  const sequence = () => world.host.appliedSequence();
  const before = sequence();
  for (const [n, outcome] of [
    [7, 'INVALID_STATE'],
    [100, 'LIMIT_EXCEEDED'],
  ] as const) {
    const request = { scope: owner.name, id: `r-${n}`, fingerprint: `${n}` };
    const requested = { by: owner, project: `p-${n}`, displayName: 'P', owner: ann, request };
    t.equal(await outcomeOf(() => world.members.createProject(requested)), outcome);
  }
  t.equal(sequence(), before, 'a rejected change leaves no commit');
  t.equal(await outcomeOf(() => make(101, operator)), 'accepted', 'the operator may');
});

test('projects created concurrently are counted like those created one by one', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const make = (n: number) =>
    world.members.createProject({
      by: humanOf(ann),
      project: `p-${n}`,
      displayName: 'P',
      owner: ann,
      request: { scope: 'ann', id: `r-${n}`, fingerprint: `${n}` },
    });
  const numbers = Array.from({ length: PROJECTS_OF_PERSON_MAX + 20 }, (_, n) => n);
  const outcomes = await Promise.all(numbers.map((n) => outcomeOf(() => make(n))));
  const count = (outcome: string) => outcomes.filter((each) => each === outcome).length;
  t.same([count('accepted'), count('LIMIT_EXCEEDED')], [PROJECTS_OF_PERSON_MAX, 20]);
  t.equal(world.members.placesOf(ann).length, PROJECTS_OF_PERSON_MAX);
  t.equal(await outcomeOf(() => make(0)), 'accepted', 'a resend does not count again');
});

test('an interrupted attempt counts for ten minutes, and may be resent', async (t) => {
  let isCut = true;
  const world = await startPeopleWorld(t, (host) => ({
    ...host,
    submit(submission) {
      if (!isCut || !submission.project.startsWith('p-')) return host.submit(submission);
      return Promise.reject(new Error('the stream gives no answer'));
    },
  }));
  const ann = await world.person('ann@example.org');
  const make = (n: number) =>
    world.members.createProject({
      by: humanOf(ann),
      project: `p-${n}`,
      displayName: 'P',
      owner: ann,
      request: { scope: 'ann', id: `r-${n}`, fingerprint: `${n}` },
    });
  for (let n = 0; n < PROJECTS_OF_PERSON_MAX; n++) await t.rejects(make(n), /no answer/);
  isCut = false;
  t.equal(await outcomeOf(() => make(100)), 'LIMIT_EXCEEDED');
  t.equal(await outcomeOf(() => make(3)), 'accepted', 'finished by a resend');
  world.clock.jump(600_000);
  t.equal(await outcomeOf(() => make(100)), 'accepted');
  t.equal(world.members.placesOf(ann).length, 2);
});

/** One action of the model: kind, actor and target, the latter by their positions in lists. */
const act = fc.record({
  what: fc.constantFrom('use', 'invite', 'accept', 'identity', 'leave', 'demote', 'disable'),
  a: fc.nat(3),
  b: fc.nat(3),
});

test('the invariants hold after any concurrent actions of several people', async (t) => {
  const emails = ['a@x.org', 'b@x.org', 'c@x.org', 'd@x.org'];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(act, { maxLength: 8 }), { maxLength: 5 }),
      async (rounds) => {
        const world = await startPeopleWorld(t);
        const first = await world.person(emails[0] ?? '');
        await world.project('web', first);
        const links = await Promise.all(
          emails.map(() => world.people.linkFor(operator, first, 'operator')),
        );
        const invited: string[] = [];
        const perform = async ({ what, a, b }: { what: string; a: number; b: number }) => {
          const email = emails[a] ?? '';
          const rows = world.host.view('web').instances('membership', { limit: 50 }).items;
          const row = rows[a % rows.length];
          const change = { project: 'web', by: operator, member: row?.instance ?? '' };
          if (what === 'use') await world.use({ token: links[b]?.token ?? '' });
          if (what === 'invite') {
            const role: Role = b > 1 ? 'OWNER' : 'VIEWER';
            const by = humanOf(first);
            const requested = { project: 'web', by, email, role };
            invited.push((await world.members.invitations.invite(requested)).token ?? '');
          }
          if (what === 'accept') await world.use({ token: invited[b] ?? '' });
          if (what === 'identity')
            await world.people.signInByIdentity(account(`s${b}`, email), 't');
          if (what === 'leave') await world.members.removeMember({ ...change, reason: 'LEFT' });
          if (what === 'demote') await world.members.setRole({ ...change, role: 'VIEWER' });
          if (what === 'disable' && row) {
            const { person } = row.context;
            await world.people.setPersonDisabled(operator, person, b > 1 ? 'test' : null);
          }
        };
        for (const round of rounds) {
          await Promise.all(round.map((each) => outcomeOf(() => perform(each))));
          assertHolds(world);
        }
      },
    ),
    { numRuns: tries(40), seed: 20_261_121 },
  );
  t.pass('40 runs');
});

/** Throws if an invariant is violated. */
function assertHolds({ host, faults }: PeopleWorld): void {
  const system = host.view(SYSTEM_PROJECT);
  const all = <M extends MachineName>(machine: M) =>
    system.instances(machine, { limit: 1_000 }).items;
  const members = host.view('web').instances('membership', { limit: 1_000 }).items;
  const owners = members.filter((row) => row.value === 'active' && row.context.role === 'OWNER');
  if (owners.length === 0) throw new Error('The project has no owner');
  const keys = all('person').flatMap(({ context }) =>
    context.identities.map(({ subject }) => subject),
  );
  if (new Set(keys).size !== keys.length) throw new Error('An account has two people');
  const addresses = all('person').map(({ context }) => String(context.email));
  const verified = addresses.filter((email) => email !== '');
  if (new Set(verified).size !== verified.length) throw new Error('An address has two people');
  const begun = all('signInLink').filter(({ value }) => value === 'used');
  const sessions = new Set(begun.map(({ context }) => context.session));
  if (sessions.size !== begun.length) throw new Error('A link began two sessions, or none');
  for (const { context, value } of all('session')) {
    const person = system.instance('person', String(context.person));
    if (value === 'active' && person?.value !== 'active') {
      throw new Error('A locked-out person has a session');
    }
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
}
