/**
 * Addresses in every spelling: a person who was invited under one is found under every other
 * spelling, by an account of the provider and by a mailed link. Also with rows of older versions,
 * which stored other spellings.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { setRecipients } from '../../actors/delivery/recipients.ts';
import { emailKey } from '../../actors/identity/people-index.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import {
  account,
  humanOf,
  operator,
  outcomeOf,
  type PeopleWorld,
  shop,
  startPeopleWorld,
} from '../support/people-on-host.ts';
import { tries } from '../support/tries.ts';

/** Spellings of one mailbox, by people, browsers and providers. */
const SPELLINGS: readonly (readonly string[])[] = [
  [
    'user@bücher.example',
    'User@BÜCHER.example',
    'user@xn--bcher-kva.example',
    'user@bu\u0308cher.example',
  ],
  ['zoë@example.org', 'ZOË@Example.org', 'zoe\u0308@example.org'],
  ['a..b@example.org', 'A..B@example.org'],
  ['ops@b_c.example', 'OPS@b_c.example'],
  ['用户@例え。jp', '用户@xn--r8jz45g.jp'],
];

const PROJECTS = ['p-0', 'p-1'] as const;

async function startProjects(world: PeopleWorld): Promise<string> {
  const ann = await world.person('ann@example.org');
  for (const project of PROJECTS) await world.project(project, ann);
  return ann;
}

test('an invited address is found by each spelling that a provider sends', async (t) => {
  for (const spellings of SPELLINGS) {
    const world = await startPeopleWorld(t);
    const { invite } = await shop(world);
    await invite(spellings[0] ?? '');
    const found = new Set<string>();
    for (const spelling of spellings) {
      found.add((await world.people.signInByIdentity(account('sub', spelling), 'test')).person);
      t.ok(await world.people.linkByEmail(spelling), `a link is mailed to ${spelling}`);
      found.add(world.people.personByEmail(spelling) ?? '');
      t.equal(await outcomeOf(() => invite(spelling)), 'INVALID_STATE', 'is a member');
    }
    t.equal(found.size, 1, spellings.join(' '));
  }
});

test('an address that an invitation accepts is found by a sign-in', async (t) => {
  const world = await startPeopleWorld(t);
  await startProjects(world);
  const letter = fc.constantFrom(...'abZ0.-_+üËß\u0308例ｅ@ "<\u200d');
  const address = fc
    .tuple(
      fc.string({ unit: letter, maxLength: 6 }),
      fc.constantFrom('a', 'é', '..', 'İ'),
      fc.string({ unit: letter, maxLength: 6 }),
    )
    .map(([local, middle, domain]) => `${local}${middle}@${domain}.example`);
  let subject = 0;
  await fc.assert(
    fc.asyncProperty(address, async (email) => {
      const invited = { project: 'p-0', by: operator, email, role: 'VIEWER' as const };
      if ((await outcomeOf(() => world.members.invitations.invite(invited))) !== 'accepted') return;
      const id = `sub-${subject++}`;
      const { person } = await world.people.signInByIdentity(account(id, email), 'test');
      t.ok(await world.people.linkByEmail(email));
      const memberships = world.host.findInstancesOf('membership', person);
      if (memberships.length !== 1) throw new Error(`${email} did not join`);
    }),
    { numRuns: tries(200) },
  );
});

/** Rows as an older version wrote them: the letters of the domain as entered, in lower case. */
async function withOlderRows(world: PeopleWorld, email: string) {
  const ann = await startProjects(world);
  const submit = (project: string, decide: Parameters<typeof world.host.submit>[0]['decide']) =>
    world.host.submit({ project, by: humanOf(ann), decide });
  await submit('p-0', (draft) => {
    const offer = {
      project: 'p-0',
      email,
      role: 'EDITOR' as const,
      tokenHash: '0',
      invitedBy: 'x',
    };
    draft.start('invitation', 'inv-old', { at: draft.at, ...offer });
    draft.putRecord({ kind: 'invitationTo', id: emailKey(email), body: { invitation: 'inv-old' } });
  });
  const addPerson = (person: string) =>
    submit(SYSTEM_PROJECT, (draft) => {
      draft.start('person', person, { at: draft.at, displayName: person, email, identity: null });
      draft.putRecord({ kind: 'personOfEmail', id: emailKey(email), body: { person } });
    });
  const addClaim = (person: string) =>
    submit(SYSTEM_PROJECT, (draft) => {
      draft.start('person', person, {
        at: draft.at,
        displayName: person,
        email: '',
        identity: null,
      });
      draft.putRecord({ kind: 'personOfClaim', id: emailKey(email), body: { person } });
      draft.putRecord({ kind: 'claimOfPerson', id: person, body: { email } });
    });
  return { ann, submit, addPerson, addClaim };
}

test('addresses that an older version stored keep working', async (t) => {
  const old = 'user@bücher.example';
  const now = 'user@xn--bcher-kva.example';
  await t.test('an open invitation is accepted, and replaced by a new one', async (t) => {
    for (const spelling of [old, now]) {
      const world = await startPeopleWorld(t);
      await withOlderRows(world, old);
      const { person } = await world.people.signInByIdentity(account('sub', spelling), 'test');
      t.equal(world.host.findInstancesOf('membership', person).length, 1);
    }
    const world = await startPeopleWorld(t);
    const { ann } = await withOlderRows(world, old);
    const by = humanOf(ann);
    await world.members.invitations.invite({ project: 'p-0', by, email: now, role: 'VIEWER' });
    t.equal(world.host.view('p-0').instance('invitation', 'inv-old')?.value, 'revoked');
  });
  await t.test('a person is found, and gets the canonical spelling at the sign-in', async (t) => {
    const world = await startPeopleWorld(t);
    const { addPerson } = await withOlderRows(world, old);
    await addPerson('bob');
    t.equal(world.people.personByEmail(now), 'bob');
    t.ok(await world.people.linkByEmail(now));
    t.equal((await world.people.signInByIdentity(account('sub', now), 'test')).person, 'bob');
    t.equal((await world.people.signInByIdentity(account('sub', now), 'test')).person, 'bob');
    const system = world.host.view(SYSTEM_PROJECT);
    t.equal(system.instance('person', 'bob')?.context.email, now);
    t.equal(system.record('personOfEmail', emailKey(old)), undefined);
  });
  await t.test('a claim is taken over by the owner of the address', async (t) => {
    const world = await startPeopleWorld(t);
    const { addClaim } = await withOlderRows(world, old);
    await addClaim('bob');
    t.equal((await world.people.signInByIdentity(account('sub', now), 'test')).person, 'bob');
    t.equal(world.host.view(SYSTEM_PROJECT).record('personOfClaim', emailKey(old)), undefined);
  });
  await t.test('a recipient is kept', async (t) => {
    const world = await startPeopleWorld(t);
    const { ann, submit, addPerson } = await withOlderRows(world, old);
    await addPerson('bob');
    await world.people.signInByIdentity(account('sub', now), 'test');
    t.ok(ann);
    await submit('p-0', (draft) => {
      const membership = draft.instances('membership', { limit: 9 }).items;
      const [bob] = membership.filter(({ context }) => context.person === 'bob');
      const about = { destination: 'd-1', membership: bob?.instance ?? '', tokenHash: '0' };
      draft.start('recipient', 'rcp-1', { at: draft.at, project: 'p-0', address: old, ...about });
    });
    await submit('p-0', (draft) => {
      const asked = { id: 'rcp-2', token: 't', tokenHash: 'h' };
      setRecipients(draft, 'd-1', new Map([[now, asked]]), () => true);
    });
    const rows = world.host.view('p-0').instances('recipient', { limit: 9 }).items;
    t.same(
      rows.map(({ instance, value }) => [instance, value]),
      [['rcp-1', 'invited']],
    );
  });
});
