/**
 * A destination that the service paused: its project's owners get a notice in the project and a
 * mail each, once per pause, even if the mail server or the process fails in between.
 */
import { test } from 'tap';
import type { NoticeBody } from '../../actors/alerting/notices.ts';
import { notifyOwners, type OwnerMail } from '../../actors/delivery/owner-notices.ts';
import {
  type AccessNotice,
  recordAccessChange,
  sentencesOf,
} from '../../actors/identity/access-notices.ts';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { changeRole, join, leave } from '../../actors/identity/membership-changes.ts';
import type { Draft } from '../../actors/platform/host/host-port.ts';
import { ownerMails } from '../../src/delivery/owner-mail.ts';
import { createMailer } from '../../src/platform/mail/mailer.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { by, PROJECT } from '../support/alerting-on-host.ts';
import { startMailServer } from '../support/mail-server.ts';
import { type DeliveryWorld, delivering, refused } from '../support/scripted-delivery.ts';
import { submit } from '../support/submit.ts';

/** Two owners, one of them locked out, an owner without an address and a viewer. */
async function withPeople({ host }: DeliveryWorld) {
  const people = [
    { id: 'ann', role: 'OWNER', email: 'ann@example.com' },
    { id: 'ben', role: 'OWNER', email: 'ben@example.com' },
    { id: 'cleo', role: 'OWNER', email: '' },
    { id: 'dan', role: 'VIEWER', email: 'dan@example.com' },
  ] as const;
  for (const { id, role, email } of people) {
    await submit(host, { project: SYSTEM_PROJECT, by }, (draft) => {
      const { at } = draft;
      draft.start('person', id, { at, displayName: id, email, identity: null });
      if (id === 'ben') draft.send('person', id, { type: 'disabled', at, reason: 'x', by: 'me' });
    });
    await submit(host, { project: PROJECT, by }, (draft) => {
      const member = { at: draft.at, project: PROJECT, person: id, role, displayName: id };
      draft.start('membership', `mem_${id}`, { ...member, email, by: 'me' });
    });
  }
}

async function paused(t: Parameters<typeof delivering>[0]) {
  const world = await delivering(t);
  await withPeople(world);
  const taken: OwnerMail[] = [];
  const untaken: string[] = [];
  const answer: { send: (mail: OwnerMail) => boolean } = { send: () => true };
  const start = () =>
    world.run((signal) =>
      notifyOwners(
        {
          ...world,
          async send(mail) {
            const isTaken = answer.send(mail);
            taken.push(mail);
            return isTaken;
          },
          onFault: (what, error) => void untaken.push(`${what}: ${error}`),
        },
        signal,
      ),
    );
  const pauseIt = async () => {
    world.notifier.answer = () => refused;
    await world.fire([`vm-${world.clock.now()}`]);
    await world.until('paused', () => world.live('destination')[0]?.value === 'paused');
  };
  return { ...world, taken, untaken, answer, start, pauseIt };
}

const isPaused = ({ value }: { value: unknown }): boolean => value === 'paused';

const recordsOf = ({ host }: DeliveryWorld) =>
  host
    .view(PROJECT)
    .records('ownersTold', { limit: 9 })
    .items.map(({ body }) => body);

const noticeOf = ({ host }: DeliveryWorld) =>
  host.view(PROJECT).records('notice', { limit: 9 }).items[0]?.body as NoticeBody | undefined;

test('HOOK-15: reachable owners are notified of a pause once', async (t) => {
  const world = await paused(t);
  const stop = world.start();
  await world.pauseIt();
  t.match(noticeOf(world), {
    kind: 'DESTINATION_PAUSED',
    subject: { collection: 'destinations', id: /^dst_/ },
    text: 'Nothing is sent to "Hook" anymore. Gone. Fix the problem, then resume the destination.',
    endedMs: null,
  });
  await world.pass(120_000, 5_000);
  t.same(
    world.taken.map(({ to }) => to),
    ['ann@example.com'],
  );
  await stop();
  world.start();
  await world.pass(120_000, 5_000);
  t.equal(world.taken.length, 1, 'not again after a restart');
  t.same(world.untaken, []);
});

test('an unannounced pause is announced after a restart, an ended one is not', async (t) => {
  const world = await paused(t);
  await world.pauseIt();
  world.start();
  await world.pass(10_000, 5_000);
  t.equal(world.taken.length, 1);
  const again = await paused(t);
  await again.pauseIt();
  await submit(again.host, { project: PROJECT, by }, (draft) => {
    const [notice] = draft.records('notice', { limit: 1 }).items;
    if (notice) draft.putRecord({ ...notice, body: { ...notice.body, endedMs: draft.at } });
  });
  again.start();
  await again.pass(10_000, 5_000);
  t.same(again.taken, []);
});

test('a mail that was not accepted is retried under the same key for a day', async (t) => {
  const world = await paused(t);
  const stop = world.start();
  world.answer.send = () => {
    throw new Error('The mail server is away');
  };
  await world.pauseIt();
  await world.pass(180_000, 5_000);
  t.same(world.taken, []);
  t.match(world.untaken, [/mailing mem_ann: Error: The mail server is away/, /./, /./]);
  world.answer.send = () => true;
  await world.pass(65_000, 5_000);
  t.match(world.taken, [
    { to: 'ann@example.com', key: /^destination-paused-dst_\w+\.\d+\.mem_ann$/ },
  ]);
  await stop();
  const late = await paused(t);
  await late.pauseIt();
  late.clock.jump(24 * 3_600_000);
  late.start();
  await late.pass(10_000, 5_000);
  t.same(late.taken, [], 'a notice that is a day old is not sent');
  t.match(late.untaken, [
    /^mailing mem_ann: Error: The mail server accepted no mail within a day$/,
  ]);
  t.match(recordsOf(late), [{ isOver: true, told: [], untold: ['mem_ann'] }]);
});

test('a failed mail to one owner delays neither other owners nor later notices', async (t) => {
  const world = await paused(t);
  await world.send('person', 'ben', { type: 'enabled', by: 'me' }, SYSTEM_PROJECT);
  world.answer.send = ({ to }) => {
    if (to.startsWith('ann')) throw new Error('Greylisted');
    return true;
  };
  const stop = world.start();
  await world.pauseIt();
  await world.pass(70_000, 5_000);
  const sent = () => world.taken.map(({ to }) => to);
  t.same(sent(), ['ben@example.com'], 'once');
  t.match(world.untaken, [/^mailing mem_ann: Error: Greylisted$/, /Greylisted/]);
  t.match(recordsOf(world), [{ isOver: false, told: ['mem_ben'], untold: [] }]);
  await stop();
  const more = await world.addDestination();
  await world.putInForce({ destinationNames: [more] });
  world.start();
  await world.fire(['vm-more']);
  await world.until('paused', () => world.live('destination').every(isPaused));
  await world.pass(70_000, 5_000);
  t.same(sent(), ['ben@example.com', 'ben@example.com'], 'of the other pause, after a restart');
  world.answer.send = () => true;
  await world.pass(70_000, 5_000);
  t.same(sent().slice(2), ['ann@example.com', 'ann@example.com']);
  const whole = { isOver: true, told: ['mem_ben', 'mem_ann'], untold: [] };
  t.match(recordsOf(world), [whole, whole]);
});

test('after a day the notified and the unnotified owners are recorded', async (t) => {
  const world = await paused(t);
  await world.send('person', 'ben', { type: 'enabled', by: 'me' }, SYSTEM_PROJECT);
  world.answer.send = ({ to }) => {
    if (to.startsWith('ann')) throw new Error('Greylisted');
    return true;
  };
  world.start();
  await world.pauseIt();
  await world.pass(10_000, 5_000);
  world.clock.jump(24 * 3_600_000);
  await world.pass(70_000, 5_000);
  t.match(recordsOf(world), [{ isOver: true, told: ['mem_ben'], untold: ['mem_ann'] }]);
  t.match(
    world.untaken.at(-1),
    /^mailing mem_ann: Error: The mail server accepted no mail within a day$/,
  );
  const faults = world.untaken.length;
  await world.pass(120_000, 5_000);
  t.equal(world.untaken.length, faults, 'nothing follows');
});

test('the mail names what was paused and how to resume it', async (t) => {
  const server = await startMailServer(t);
  const mailer = createMailer({ url: server.url, from: 'svc@example.com' });
  t.teardown(() => mailer.close());
  const send = ownerMails({ mailer, origin: () => 'https://svc.example.com' });
  const notice: NoticeBody = {
    kind: 'DESTINATION_PAUSED',
    text: 'Nothing is sent to "Hook" any more. Gone.',
    subject: { collection: 'destinations', id: 'dst_1' },
    raisedMs: 1,
    endedMs: null,
  };
  const about = { to: 'ann@example.com', project: 'demo', isOwner: true, wasOwner: false };
  const mail = { ...about, notice, key: 'k.1.mem_1' };
  t.equal(await send(mail), true);
  const [taken] = server.mails;
  t.same(taken?.to, ['ann@example.com']);
  t.match(taken?.source, /^Message-ID: <k\.1\.mem_1@svc\.example\.com>$/m);
  t.match(taken?.source, /Subject: Notifications of demo are paused/);
  t.match(
    taken?.source.replaceAll('=\n', ''),
    /svc destinations resume projects\/demo\/destinations\/dst_1/,
  );
  await send({ ...mail, notice: { ...notice, kind: 'MESSAGES_REFUSED' } });
  const rejected = server.mails.pop()?.source.replaceAll('=\n', '');
  t.match(rejected, /Subject: Notifications of demo are rejected/);
  t.match(rejected, /svc destinations test projects\/demo\/destinations\/dst_1/);
  const forged = 'tls: names are\r\n\r\nDear owner,\u2028sign in at https://evil.example';
  await send({ ...mail, notice: { ...notice, text: forged } });
  t.match(
    server.mails[1]?.source.replaceAll('=\n', ''),
    /tls: names are Dear owner, sign in at/,
    'a text chosen by the endpoint does not begin a paragraph',
  );
  server.refuseWith = 550;
  t.equal(await send(mail), false, 'never accepted');
  server.refuseWith = 450;
  await t.rejects(send(mail), { name: 'MailFault' });
});

test('changes of access are mailed to owners once, and to the member whose key was affected', async (t) => {
  const world = await delivering(t);
  await withPeople(world);
  const { host } = world;
  const taken: OwnerMail[] = [];
  const start = (isTaken: () => boolean) =>
    world.run((signal) =>
      notifyOwners(
        {
          ...world,
          async send(mail) {
            if (!isTaken()) throw new Error('The mail server is away');
            taken.push(mail);
            return true;
          },
          onFault: () => {},
        },
        signal,
      ),
    );
  const record = (change: Parameters<typeof recordAccessChange>[1]) =>
    submit(host, { project: PROJECT, by }, (draft) => recordAccessChange(draft, change));
  const stop = start(() => false);
  await record({ about: 'KEY', text: 'A key was made', isForOwners: true, member: null });
  await record({
    about: 'KEY',
    text: 'Your key was revoked',
    isForOwners: false,
    member: 'mem_dan',
  });
  await world.pass(30_000, 5_000);
  t.same(taken, [], 'it waits for further changes');
  await world.pass(60_000, 5_000);
  await stop();
  start(() => true);
  await world.pass(120_000, 5_000);
  t.same(
    taken.map(({ to, notice }) => [to, 'changes' in notice && sentencesOf(notice)]),
    [
      ['ann@example.com', ['A key was made']],
      ['dan@example.com', ['Your key was revoked']],
    ],
    'after a restart, each gets their own, and locked-out owners get none',
  );
  await world.pass(3_600_000, 60_000);
  t.equal(taken.length, 2, 'once');
  await record({ about: 'LEAK', text: 'A key leaked', isForOwners: true, member: null });
  await world.pass(10_000, 5_000);
  t.equal(taken.length, 3, 'a leak is mailed without a wait');
});

const facts = (person: string) => ({
  person,
  displayName: person,
  email: `${person}@example.com`,
});

for (const [how, end] of [
  ['removed', (draft, id, by) => leave(draft, id, 'x', by)],
  ['demoted', (draft, id, by) => changeRole(draft, id, 'VIEWER', by)],
] satisfies [string, (draft: Draft, id: string, by: Actor) => void][]) {
  test(`an owner who is ${how} is notified of that and of earlier changes`, async (t) => {
    const world = await delivering(t);
    const taken: OwnerMail[] = [];
    const thief: Actor = { kind: 'operator', name: 'people/ann' };
    const commit = (decide: (draft: Draft) => void) =>
      world.host.submit({ project: PROJECT, by: thief, decide });
    for (const person of ['ann', 'bea', 'mallory'])
      await submit(world.host, { project: SYSTEM_PROJECT, by }, (draft) => {
        const { displayName, email } = facts(person);
        draft.start('person', person, { at: draft.at, displayName, email, identity: null });
      });
    await commit((draft) => void join(draft, facts('ann'), 'OWNER', by));
    await commit((draft) => void join(draft, facts('bea'), 'OWNER', by));
    await world.pass(120_000, 5_000);
    const isAway = { now: true };
    world.run((signal) =>
      notifyOwners(
        {
          ...world,
          async send(mail) {
            if (isAway.now) throw new Error('The mail server is away');
            taken.push(mail);
            return true;
          },
          onFault: () => {},
        },
        signal,
      ),
    );
    await commit((draft) => void join(draft, facts('mallory'), 'OWNER', thief));
    await world.pass(660_000, 5_000);
    await commit((draft) => end(draft, memberIdOf(PROJECT, 'bea'), thief));
    await commit((draft) =>
      recordAccessChange(draft, {
        about: 'KEY',
        text: 'A later key',
        isForOwners: true,
        member: null,
      }),
    );
    isAway.now = false;
    await world.pass(900_000, 5_000);
    const beas = taken.filter(({ to }) => to === 'bea@example.com');
    const read = beas.flatMap(({ notice }) => ('changes' in notice ? sentencesOf(notice) : []));
    t.match(read.join('\n'), /mallory .* was made an OWNER by ann/);
    t.match(read.join('\n'), /bea .*, an OWNER, (was removed|was made VIEWER) by ann/);
    t.ok(beas.every(({ isOwner, wasOwner }) => !isOwner && wasOwner));
    const anns = taken.filter(({ to }) => to === 'ann@example.com');
    t.ok(anns.some(({ isOwner }) => isOwner));
  });
}

test('the mail about access says how to view and end it, and has no link', async (t) => {
  const server = await startMailServer(t);
  const mailer = createMailer({ url: server.url, from: 'svc@example.com' });
  t.teardown(() => mailer.close());
  const send = ownerMails({ mailer, origin: () => 'https://svc.example.com' });
  const change = { atMs: 1, isForOwners: true, member: null };
  const notice: AccessNotice = {
    kind: 'ACCESS_CHANGED',
    more: 3,
    moreFor: [],
    raisedMs: 1,
    endedMs: 1,
    changes: [{ ...change, text: 'A key\r\n\r\nhas come' }],
    closesMs: 2,
    beforeMs: 0,
  };
  const mail = { to: 'ann@example.com', project: 'demo', notice, key: 'k', wasOwner: false };
  await send({ ...mail, isOwner: true });
  await send({ ...mail, isOwner: false });
  const [owner = '', member = ''] = server.mails.map(({ source }) => source.replaceAll('=\n', ''));
  t.match(owner, /Subject: Access to demo on svc\.example\.com has changed/);
  t.match(owner, /- A key has come/);
  t.match(owner, /- 3 further changes/);
  t.match(owner, /svc credentials --project demo/);
  t.match(owner, /revoked by the operator of the service: svc admin revoke-key NAME/);
  t.match(member, /because the key was yours/);
  await send({ ...mail, isOwner: false, wasOwner: true });
  t.match(server.mails[2]?.source.replaceAll('=\n', ''), /You no longer own the project/);
  t.notMatch(owner + member, /https?:/);
});
