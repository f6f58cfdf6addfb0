/**
 * Invitations: who can join by which means, how many times and until when. An invitation link,
 * which the inviter knows too, never signs in as another person.
 */
import { type Test, test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { INVITATIONS_MAX } from '../../actors/identity/open-invitations.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import { INVITATION_MS } from '../../machines/identity/invitation.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { reasonOf } from '../support/host-in-memory.ts';
import {
  account,
  humanOf,
  keyOf,
  operator,
  outcomeOf,
  shop,
  startPeopleWorld,
} from '../support/people-on-host.ts';

const BOBS = 'bob@example.org';

test('an invitation link creates a person and a member, once', async (t) => {
  const world = await startPeopleWorld(t);
  const { tokenTo, member } = await shop(world);
  const link = await tokenTo('bob@example.org');
  const uses = await Promise.allSettled(Array.from({ length: 6 }, () => world.use(link)));
  const begun = uses.flatMap((use) => (use.status === 'fulfilled' ? [use.value] : []));
  t.equal(begun.length, 1, 'of six concurrent uses');
  const { person = '', secret = '' } = begun[0] ?? {};
  t.match(world.people.sessionOf(secret), { person, method: 'link' });
  t.match(member(person), { value: 'active', context: { role: 'EDITOR', email: '' } });
  const displayed = 'bob (invited as bob@example.org, not proven)';
  t.equal(
    member(person)?.context.displayName,
    displayed,
    'an owner sees who accepted which invitation',
  );
  t.match(world.host.findInstance('person', person)?.context, { displayName: 'bob' });
  t.equal(world.host.view('web').countInstances('membership', { final: false }), 2);
  t.equal(world.host.view(SYSTEM_PROJECT).countInstances('person', { final: false }), 2);
  t.equal(await outcomeOf(() => world.use(link)), 'CREDENTIAL_REVOKED');
});

/** A world in which bob's acceptance made him a member, but could not begin his session. */
async function startCutOff(t: Test, by?: Actor) {
  let sessionsFail = false;
  const world = await startPeopleWorld(t, (host: Host) => ({
    ...host,
    submit: async (submission) => {
      const isSession = submission.project === SYSTEM_PROJECT && submission.by.kind === 'human';
      const isJoined = host.view('web').countInstances('invitation', { final: true }) > 0;
      if (sessionsFail && isSession && isJoined) {
        throw new StreamUnavailable('EVENTS does not answer', 'refused');
      }
      return host.submit(submission);
    },
  }));
  const { tokenTo, member } = await shop(world);
  const link = await tokenTo('bob@example.org', 'EDITOR', by);
  sessionsFail = true;
  await t.rejects(world.use(link), StreamUnavailable);
  sessionsFail = false;
  return { world, link, member };
}

test('an invitation whose acceptance was interrupted works again', async (t) => {
  const { world, link, member } = await startCutOff(t);
  const { person } = await world.use(link);
  t.match(member(person), { value: 'active' });
  t.equal(await outcomeOf(() => world.use(link)), 'CREDENTIAL_REVOKED');
});

test('an interrupted invitation does not work again once the person has signed in', async (t) => {
  for (const by of [undefined, operator]) {
    const { world, link } = await startCutOff(t, by);
    await world.people.signInByIdentity(account('b', 'bob@example.org'), 'test');
    t.equal(await outcomeOf(() => world.use(link)), 'CREDENTIAL_REVOKED');
  }
  const { world, link } = await startCutOff(t, operator);
  t.equal(await outcomeOf(() => world.use(link)), 'accepted', 'until then it does');
});

/** A world in which bob signs in by his account while his invitation link is being used. */
async function startRace(t: Test, between: 'person and member' | 'member and session', by?: Actor) {
  let bob: string | undefined;
  let isOn = false;
  const world = await startPeopleWorld(t, (host: Host) => ({
    ...host,
    submit: async (submission) => {
      const isJoined = host.view('web').countInstances('invitation', { final: true }) > 0;
      const isHere =
        between === 'person and member'
          ? submission.project === 'web'
          : submission.project === SYSTEM_PROJECT && isJoined;
      if (isOn && isHere) {
        isOn = false;
        const { person } = await world.people.signInByIdentity(account('b', BOBS), 'test');
        bob = person;
      }
      return host.submit(submission);
    },
  }));
  const { tokenTo, member } = await shop(world);
  const link = await tokenTo(BOBS, 'EDITOR', by);
  isOn = true;
  const outcome = await outcomeOf(() => world.use(link));
  return { world, link, member, outcome, bob };
}

test('a link begins no session for a person who signed in while it was used', async (t) => {
  for (const between of ['person and member', 'member and session'] as const) {
    for (const by of [undefined, operator]) {
      const { world, link, member, outcome, bob } = await startRace(t, between, by);
      const about = `between ${between}, invited by ${by?.name ?? 'an owner'}`;
      t.type(bob, 'string', about);
      t.equal(outcome, 'CREDENTIAL_REVOKED', about);
      t.equal(await outcomeOf(() => world.use(link)), 'CREDENTIAL_REVOKED', about);
      t.match(member(bob ?? ''), { value: 'active', context: { role: 'EDITOR', email: BOBS } });
      t.equal(await world.people.endAllSessions(bob ?? '', 'TEST'), 1, 'only his own');
    }
  }
});

test('a link begins no session for a person who signed in while the project accepted no members', async (t) => {
  for (const by of [undefined, operator]) {
    let isFull = false;
    const world = await startPeopleWorld(t, (host: Host) => ({
      ...host,
      submit: async (submission) => {
        if (!isFull || submission.project !== 'web') return host.submit(submission);
        throw new Refusal('LIMIT_EXCEEDED', 'full');
      },
    }));
    const link = await (await shop(world)).tokenTo(BOBS, 'EDITOR', by);
    isFull = true;
    t.equal(await outcomeOf(() => world.use(link)), 'LIMIT_EXCEEDED');
    const { person } = await world.people.signInByIdentity(account('b', BOBS), 'test');
    isFull = false;
    t.equal(await outcomeOf(() => world.use(link)), 'CREDENTIAL_REVOKED');
    t.equal(await world.people.endAllSessions(person, 'TEST'), 1, 'only his own');
  }
});

test('invitations end by time, by withdrawal, by a newer one, or by acceptance', async (t) => {
  const world = await startPeopleWorld(t);
  const { ann, owner, invite, tokenTo } = await shop(world);
  const { invitations } = world.members;
  const first = await tokenTo('bob@example.org');
  const second = await tokenTo('Bob@Example.org ', 'VIEWER');
  t.equal(await outcomeOf(() => world.use(first)), 'CREDENTIAL_REVOKED', 'a newer one replaced it');
  t.equal(invitations.openFor('bob@example.org').length, 1);
  world.clock.jump(INVITATION_MS);
  t.equal(await outcomeOf(() => world.use(second)), 'CREDENTIAL_EXPIRED');
  t.same(invitations.openFor('bob@example.org'), []);
  const accept = (invitation: string) =>
    outcomeOf(() => invitations.accept({ project: 'web', invitation, person: ann }));
  t.equal(await accept(second.token.split('_')[2] ?? ''), 'CREDENTIAL_EXPIRED');
  t.equal(await accept(first.token.split('_')[2] ?? ''), 'CREDENTIAL_REVOKED');
  const third = await invite('bob@example.org');
  const revoke = (invitation: string) =>
    invitations.revoke({ project: 'web', by: owner, invitation });
  await revoke(third.invitation.instance);
  t.equal(await outcomeOf(() => world.use({ token: third.token ?? '' })), 'CREDENTIAL_REVOKED');
  t.equal(await outcomeOf(() => revoke('nothing')), 'NOT_FOUND');
  const fourth = await invite('bob@example.org');
  await world.use({ token: fourth.token ?? '' });
  t.equal(await outcomeOf(() => revoke(fourth.invitation.instance)), 'INVALID_STATE');
  t.equal(await outcomeOf(() => invite('ann@example.org')), 'INVALID_STATE', 'a member already');
  t.equal(await outcomeOf(() => invite('no address')), 'INVALID_FIELD');
});

test('a project has at most 100 open invitations', async (t) => {
  const world = await startPeopleWorld(t);
  const { invite } = await shop(world);
  t.equal(INVITATIONS_MAX, 100);
  for (let n = 0; n < INVITATIONS_MAX; n++) await invite(`n${n}@example.org`);
  t.equal(await outcomeOf(() => invite('more@example.org')), 'LIMIT_EXCEEDED');
  t.equal(
    await outcomeOf(() => invite('n7@example.org')),
    'accepted',
    'a replacement does not count',
  );
});

test('an owner cannot impersonate a person by inviting them', async (t) => {
  const world = await startPeopleWorld(t);
  const { tokenTo, member } = await shop(world);
  const bob = await world.person('bob@example.org');
  const link = await tokenTo('bob@example.org');
  t.equal(await outcomeOf(() => world.use(link)), 'INVALID_STATE', 'the owner has the link too');
  t.equal(member(bob), undefined);
  t.ok(await world.people.acceptInvitation({ ...link, person: bob }));
  t.match(member(bob), { value: 'active' });
  const byOperator = await tokenTo('cy@example.org', 'VIEWER', operator);
  const cy = await world.use(byOperator);
  t.equal(world.people.personByEmail('cy@example.org'), cy.person, "the operator's word counts");
});

test('an invitation never signs in a known person, whoever invited', async (t) => {
  const world = await startPeopleWorld(t);
  const { tokenTo, member } = await shop(world);
  const bob = await world.person('bob@example.org');
  await world.project('bobs', bob);
  const link = await tokenTo('bob@example.org', 'VIEWER', operator);
  world.clock.jump(6 * 86_400_000);
  t.equal(await outcomeOf(() => world.use(link)), 'INVALID_STATE', 'a link of the operator too');
  t.equal(member(bob), undefined);
  const mailed = await world.people.linkByEmail('bob@example.org');
  await world.use({ token: mailed?.token ?? '' });
  t.match(member(bob), { value: 'active' }, 'a person who signs in by the address joins');
  const cys = await tokenTo('cy@example.org', 'VIEWER', operator);
  const cy = await world.use(cys);
  t.match(member(cy.person), { context: { displayName: 'cy', email: 'cy@example.org' } });
});

test('the link of an invitation that was accepted by other means begins no session', async (t) => {
  const world = await startPeopleWorld(t);
  const { tokenTo, member } = await shop(world);
  const bobs = await tokenTo('bob@example.org');
  const bob = await world.people.signInByIdentity(account('b', 'bob@example.org'), 'test');
  t.match(member(bob.person), { value: 'active' });
  t.equal(await outcomeOf(() => world.use(bobs)), 'CREDENTIAL_REVOKED', 'its owner has it too');
  const dan = await world.person('dan@example.org');
  const accept = () => world.people.acceptInvitation({ ...bobs, person: dan });
  t.equal(await outcomeOf(accept), 'CREDENTIAL_REVOKED');
  const cys = await tokenTo('cy@example.org', 'VIEWER', operator);
  const cy = await world.people.signInByIdentity(account('c', 'cy@example.org'), 'test');
  t.match(member(cy.person), { value: 'active' });
  t.equal(await outcomeOf(() => world.use(cys)), 'CREDENTIAL_REVOKED', 'the operator has it too');
});

test('an address named only by an invitation finally belongs to its real owner', async (t) => {
  const world = await startPeopleWorld(t);
  const { tokenTo, member } = await shop(world);
  const stolen = await world.use(await tokenTo('bob@example.org', 'OWNER'));
  const { person } = stolen;
  t.equal(world.people.personByEmail('bob@example.org'), undefined, 'the link proved nothing');
  await keyOf(world, memberIdOf('web', person), 'k1');
  const mine = await world.people.linkFor(operator, person, 'operator');
  const signIns = await Promise.all([
    world.people.signInByIdentity(account('b-1', 'bob@example.org'), 'test'),
    world.people.signInByIdentity(account('b-1', 'bob@example.org'), 'test'),
  ]);
  t.same(
    signIns.map((each) => each.person),
    [person, person],
  );
  t.equal(world.people.personByEmail('bob@example.org'), person);
  t.equal(
    reasonOf(() => world.people.sessionOf(stolen.secret)),
    'CREDENTIAL_REVOKED',
    'the earlier user of the link is signed out',
  );
  t.equal(await outcomeOf(() => world.use(mine)), 'CREDENTIAL_REVOKED');
  t.equal(world.host.findInstance('credential', 'k1')?.value, 'revoked');
  t.match(member(person), { context: { displayName: 'b-1', email: 'bob@example.org' } });
  for (const { secret } of signIns) {
    t.equal(
      reasonOf(() => world.people.sessionOf(secret)),
      'accepted',
    );
  }
});

test('a sign-in fails while earlier keys cannot be revoked', async (t) => {
  let keysFail = false;
  const world = await startPeopleWorld(t, (host: Host) => ({
    ...host,
    submit: async (submission) => {
      if (keysFail && submission.project === 'web') {
        throw new StreamUnavailable('EVENTS does not answer', 'refused');
      }
      return host.submit(submission);
    },
  }));
  const { tokenTo } = await shop(world);
  const { person } = await world.use(await tokenTo('bob@example.org'));
  await keyOf(world, memberIdOf('web', person), 'k1');
  const signIn = () => world.people.signInByIdentity(account('b', 'bob@example.org'), 'test');
  keysFail = true;
  await t.rejects(signIn(), StreamUnavailable);
  t.equal(world.host.findInstance('credential', 'k1')?.value, 'active');
  keysFail = false;
  t.equal((await signIn()).person, person);
  t.equal(
    world.host.findInstance('credential', 'k1')?.value,
    'revoked',
    'the next sign-in revokes it',
  );
  await keyOf(world, memberIdOf('web', person), 'k2');
  await signIn();
  t.equal(world.host.findInstance('credential', 'k2')?.value, 'active', 'later sign-ins do not');
});

test('an emailed link proves an address as an account does', async (t) => {
  const world = await startPeopleWorld(t);
  const { tokenTo } = await shop(world);
  const stolen = await world.use(await tokenTo('bob@example.org'));
  await world.project('other', await world.person('zoe@example.org'));
  const waiting = { project: 'other', by: operator, email: 'bob@example.org' } as const;
  await world.members.invitations.invite({ ...waiting, role: 'VIEWER' });
  const link = await world.people.linkByEmail('bob@example.org');
  const { person, secret } = await world.use({ token: link?.token ?? '' });
  t.equal(person, stolen.person);
  t.equal(world.people.personByEmail('bob@example.org'), person);
  t.equal(
    reasonOf(() => world.people.sessionOf(stolen.secret)),
    'CREDENTIAL_REVOKED',
  );
  t.equal(
    reasonOf(() => world.people.sessionOf(secret)),
    'accepted',
  );
  t.match(world.members.placesOf(person), [
    { project: 'other', role: 'VIEWER' },
    { project: 'web', role: 'EDITOR' },
  ]);
});

test('an invitation never lowers a role, and one sign-in joins several projects', async (t) => {
  const world = await startPeopleWorld(t);
  const { invite, member } = await shop(world);
  const zoe = await world.person('zoe@example.org');
  await world.project('zoo', zoe);
  await invite('new@example.org', 'VIEWER');
  const other = { project: 'zoo', by: humanOf(zoe), email: 'new@example.org' } as const;
  await world.members.invitations.invite({ ...other, role: 'OWNER' });
  const { person } = await world.people.signInByIdentity(account('n', 'new@example.org'), 'test');
  t.match(world.members.placesOf(person), [
    { project: 'web', role: 'VIEWER' },
    { project: 'zoo', role: 'OWNER' },
  ]);
  t.same(world.members.invitations.openFor('new@example.org'), []);
  const late = await invite('else@example.org', 'VIEWER');
  await world.members.addMember({ by: operator, project: 'web', person, role: 'OWNER' });
  await world.people.acceptInvitation({ token: late.token ?? '', person });
  t.match(member(person), { context: { role: 'OWNER' } });
});

test('a signed-in person joins by an invitation without a new session', async (t) => {
  const world = await startPeopleWorld(t);
  const { tokenTo, member } = await shop(world);
  const bob = await world.person('bob@example.org');
  const link = await tokenTo('someone@example.org');
  t.ok(await world.people.acceptInvitation({ ...link, person: bob }));
  t.match(member(bob), { value: 'active', context: { role: 'EDITOR' } });
  t.same(world.people.sessionsOf(bob), []);
  t.ok(await world.people.acceptInvitation({ ...link, person: bob }), 'a resend changes nothing');
  t.equal(await outcomeOf(() => world.use(link)), 'CREDENTIAL_REVOKED');
  const mailed = await world.people.linkByEmail('bob@example.org');
  const token = mailed?.token ?? '';
  t.notOk(await world.people.acceptInvitation({ token, person: bob }), 'no invitation');
});

test('an owner cannot accept an invitation that they made', async (t) => {
  const world = await startPeopleWorld(t);
  const { ann, tokenTo, member } = await shop(world);
  const link = await tokenTo('second@example.org', 'VIEWER');
  const accept = () => world.people.acceptInvitation({ ...link, person: ann });
  t.equal(await outcomeOf(accept), 'INVALID_STATE');
  t.match(member(ann), { context: { role: 'OWNER' } });
  t.equal(world.members.invitations.openFor('second@example.org').length, 1, 'it stays open');
});

test('an owner who loses the role loses their open invitations; other owners keep theirs', async (t) => {
  for (const end of ['setRole', 'removeMember'] as const) {
    const world = await startPeopleWorld(t);
    const { ann, owner, tokenTo, add, member } = await shop(world);
    const cy = await world.person('cy@example.org');
    await add(cy, 'OWNER');
    const way = await tokenTo('way.back@example.org', 'OWNER');
    const other = await tokenTo('dan@example.org', 'VIEWER', humanOf(cy));
    const change = { project: 'web', by: humanOf(cy), member: memberIdOf('web', ann) } as const;
    if (end === 'setRole') await world.members.setRole({ ...change, role: 'VIEWER' });
    else await world.members.removeMember({ ...change, reason: 'REMOVED' });
    const accept = () => world.people.acceptInvitation({ ...way, person: ann });
    t.equal(await outcomeOf(accept), 'CREDENTIAL_REVOKED', owner.name);
    t.equal(await outcomeOf(() => world.use(way)), 'CREDENTIAL_REVOKED', 'nor as a new person');
    t.not(member(ann)?.context.role === 'OWNER' && member(ann)?.value === 'active', true);
    t.equal(await outcomeOf(() => world.use(other)), 'accepted');
  }
});
