/**
 * Mail recipients: eligibility, the verification mail, and the pages to confirm and to unsubscribe.
 * The mail server is a real one on 127.0.0.1, and so are the pages.
 */
import { test } from 'tap';
import { raiseNotice } from '../../actors/alerting/notices.ts';
import { createUnsubscribeCodes } from '../../src/delivery/recipients/unsubscribe-codes.ts';
import { DAY_MS, HOUR_MS, tester } from '../support/host-in-memory.ts';
import { bodyOf, headerOf } from '../support/mail-server.ts';
import {
  caller,
  linkIn,
  type RecipientsWorld,
  startRecipientsWorld,
} from '../support/recipients-with-mail-server.ts';
import { Browser } from '../support/sign-in-server.ts';
import { submit } from '../support/submit.ts';

const ADA = 'ada@example.com';
const BOB = 'bob@example.com';
const VERIFY = '/v1/recipients/verify';

const refusalOf = (requested: Promise<unknown>) =>
  requested.then(
    () => undefined,
    (error: unknown) => error,
  );

const press = (world: RecipientsWorld, token: string) => new Browser(world).post(VERIFY, { token });

test('HOOK-24: a mail asks for confirmation, and only pressing the button verifies', async (t) => {
  const world = await startRecipientsWorld(t);
  await world.member(ADA);
  const id = await world.mailTo([' Ada@Example.COM ', ADA]);
  t.same(world.states(id), { [ADA]: 'invited' }, 'lower case, and once');
  t.equal(world.server.mails.length, 1);
  const [mail] = world.server.mails;
  if (!mail) throw new Error('No mail was accepted');
  t.same(mail.to, [ADA]);
  t.match(headerOf(mail, 'subject'), /alerts of The demo/);
  t.match(bodyOf(mail), /destination "On call"/);
  t.match(bodyOf(mail), /within 24 hours/);
  const { origin, pathname, search, hash } = new URL(linkIn(mail));
  t.same([origin, pathname, search], [world.origin, VERIFY, '']);
  t.match(hash, /^#svc_verify_[0-9A-Z]{26}_[0-9A-Za-z]{49}$/);

  const browser = new Browser(world);
  for (let scan = 0; scan < 3; scan++) {
    const page = await browser.get(VERIFY + hash);
    t.match(page, { status: 200, text: /Confirm my address/ });
    t.match(page.headers.get('content-security-policy'), /default-src 'none'.*form-action 'self'/);
    t.equal(page.headers.get('cache-control'), 'no-store');
  }
  await browser.send(VERIFY, { method: 'HEAD' });
  t.same(world.states(id), { [ADA]: 'invited' }, 'opening the link repeatedly verifies nothing');

  t.match(await browser.post(VERIFY, { token: hash.slice(1) }), { status: 200, text: /confirmed/ });
  t.same(world.states(id), { [ADA]: 'verified' });
  t.match(await press(world, hash.slice(1)), { status: 400, text: /The link is not valid/ });
  t.same(world.states(id), { [ADA]: 'verified' }, 'a link works once');
  const secret = hash.slice(-49);
  t.notOk(world.logged.some((line) => line.includes(secret) || line.includes('ada@')));
  t.match(await world.metrics(), /svc_mails_total\{kind="verification",outcome="sent"\} 1/);
});

test('a request from another site, with another header or another token, verifies nothing', async (t) => {
  const world = await startRecipientsWorld(t);
  await world.member(ADA);
  const id = await world.mailTo([ADA]);
  const token = world.tokenFor(ADA);
  const browser = new Browser(world);
  const form = { token };
  const sendings: readonly (readonly [string, Parameters<Browser['send']>[1], number])[] = [
    ['of another site', { form, headers: { origin: 'https://evil.example' } }, 403],
    [
      'with a cross-site header',
      { form, headers: { origin: world.origin, 'sec-fetch-site': 'cross-site' } },
      403,
    ],
    ['without an origin', { form }, 403],
    ['with an extra field', { form: { token, all: '1' }, headers: { origin: world.origin } }, 400],
    ['without a token', { form: { token: '' }, headers: { origin: world.origin } }, 400],
    [
      'with a truncated token',
      { form: { token: token.slice(0, -1) }, headers: { origin: world.origin } },
      400,
    ],
    [
      'as plain text',
      { body: token, headers: { origin: world.origin, 'content-type': 'text/plain' } },
      415,
    ],
  ];
  for (const [name, sending, status] of sendings) {
    t.equal((await browser.send(VERIFY, sending)).status, status, name);
  }
  t.same(world.states(id), { [ADA]: 'invited' });
  const program = { json: { token } };
  t.match(await browser.send(VERIFY, program), { status: 200 }, 'a program may');
  t.same(world.states(id), { [ADA]: 'verified' });
});

test('HOOK-24: a link is valid for one address in one destination of one project', async (t) => {
  const world = await startRecipientsWorld(t);
  for (const email of [ADA, BOB]) await world.member(email);
  await world.member(ADA, { project: 'other' });
  const here = await world.mailTo([ADA, BOB]);
  const [adaHere, bobHere] = [world.tokenFor(ADA), world.tokenFor(BOB)];
  const there = await world.mailTo([ADA], 'other');
  t.equal((await press(world, adaHere)).status, 200);
  t.same(world.states(here), { [ADA]: 'verified', [BOB]: 'invited' });
  t.same(world.states(there, 'other'), { [ADA]: 'invited' });
  // The secret of one link under the id of another, whose checksum matches neither.
  const mixed = adaHere.replace(/_[0-9A-Z]{26}_/, /_[0-9A-Z]{26}_/.exec(bobHere)?.[0] ?? '');
  t.equal((await press(world, mixed)).status, 400);
  t.same(world.states(here), { [ADA]: 'verified', [BOB]: 'invited' });
});

test('HOOK-24: a link ends after 24 hours, with a newer mail, and with the recipient', async (t) => {
  const world = await startRecipientsWorld(t);
  await world.member(ADA);
  const id = await world.mailTo([ADA]);
  const first = world.tokenFor(ADA);
  world.clock.jump(DAY_MS);
  t.equal((await press(world, first)).status, 400, 'late');
  const again = await world.destinations.verify({ ...caller(), id });
  t.equal(again.mails, 1);
  await world.signIn.mail?.settled();
  const second = world.tokenFor(ADA);
  t.not(second, first);
  t.equal((await press(world, first)).status, 400, 'replaced');
  world.clock.jump(DAY_MS - 1_000);
  t.equal((await press(world, second)).status, 200, 'a second before its end');
  t.equal(
    (await world.destinations.verify({ ...caller(), id })).mails,
    0,
    'none is left to verify',
  );

  const gone = await world.mailTo([ADA]);
  const late = world.tokenFor(ADA);
  await world.destinations.delete({ ...caller(), id: gone });
  t.equal((await press(world, late)).status, 400, 'removed');
  t.same(world.states(gone), {});
});

test('verification mails are limited per address; a resent request sends none', async (t) => {
  const world = await startRecipientsWorld(t);
  await world.member(ADA);
  const id = await world.mailTo([ADA]);
  const asking = { ...caller(), id };
  t.equal((await world.destinations.verify(asking)).mails, 1);
  t.equal((await world.destinations.verify(asking)).mails, 1, 'the recorded answer');
  await world.signIn.mail?.settled();
  t.equal(world.server.mails.length, 2, 'no mail');
  const token = world.tokenFor(ADA);
  t.match(await refusalOf(world.destinations.verify({ ...caller(), id })), {
    reason: 'TOO_MANY_REQUESTS',
    metadata: { retryAfterSeconds: /^\d+$/ },
  });
  t.equal((await press(world, token)).status, 200, 'the link already sent still works');
  t.match(await world.metrics(), /svc_mails_total\{kind="verification",outcome="limited"\}/);
});

test('only verified addresses of members can be recipients', async (t) => {
  const world = await startRecipientsWorld(t);
  await world.member(ADA);
  const left = await world.member('left@example.com');
  await world.members.removeMember({ ...caller(), member: left, reason: 'REMOVED' });
  const create = (...addresses: string[]) => world.mailTo(addresses);
  t.match(await refusalOf(create(ADA, 'eve@example.com', 'left@example.com')), {
    reason: 'RECIPIENT_NOT_MEMBER',
    message: /eve@example.com, left@example.com/,
    metadata: { addresses: 'eve@example.com,left@example.com' },
  });
  const field = 'destination.email.recipients';
  for (const wrong of [
    [],
    ['no address'],
    Array.from({ length: 51 }, (_, i) => `a${i}@x.example`),
  ]) {
    t.match(await refusalOf(create(...wrong)), { reason: 'INVALID_FIELD', metadata: { field } });
  }
  t.equal(world.server.mails.length, 0);
  t.same(world.host.view('demo').instances('destination', { limit: 10 }).items, []);
});

test('a change of recipients keeps existing ones, verifies new ones and removes missing ones', async (t) => {
  const world = await startRecipientsWorld(t);
  for (const email of [ADA, BOB, 'cy@example.com']) await world.member(email);
  const id = await world.mailTo([ADA, BOB]);
  const bobs = world.tokenFor(BOB);
  await press(world, world.tokenFor(ADA));
  const target = { kind: 'email', addresses: [ADA, 'cy@example.com'] } as const;
  await world.destinations.update({ ...caller(), id, target });
  await world.signIn.mail?.settled();
  t.same(world.states(id), { [ADA]: 'verified', 'cy@example.com': 'invited' });
  t.same(
    world.server.mails.map(({ to }) => to[0]),
    [ADA, BOB, 'cy@example.com'],
  );
  t.equal((await press(world, bobs)).status, 400, 'the link of a removed recipient');
  const stranger = { kind: 'email', addresses: [ADA, 'eve@example.com'] } as const;
  t.match(await refusalOf(world.destinations.update({ ...caller(), id, target: stranger })), {
    reason: 'RECIPIENT_NOT_MEMBER',
  });
  t.same(
    world.states(id),
    { [ADA]: 'verified', 'cy@example.com': 'invited' },
    'the rejected change has no effect',
  );
});

test('HOOK-24: one click in the mail or on the page unsubscribes for good', async (t) => {
  const world = await startRecipientsWorld(t);
  for (const email of [ADA, BOB]) await world.member(email);
  const id = await world.mailTo([ADA, BOB]);
  for (const email of [ADA, BOB]) await press(world, world.tokenFor(email));
  const linkOf = (email: string) => {
    const { pathname, search } = new URL(world.unsubscribeUrl('demo', world.recipient(id, email)));
    return pathname + search;
  };
  const browser = new Browser(world);
  const page = await browser.get(linkOf(ADA));
  t.match(page, { status: 200, text: /Unsubscribe/ });
  t.notMatch(page.text, /ada@/);
  t.same(world.states(id), { [ADA]: 'verified', [BOB]: 'verified' }, 'opening it changes nothing');
  t.equal((await browser.send(linkOf(ADA), { form: { x: '1' } })).status, 400, 'no one-click');
  // A mail program has neither cookies nor an origin (RFC 8058, section 3.1).
  const oneClick = { form: { 'List-Unsubscribe': 'One-Click' } };
  t.match(await browser.send(linkOf(ADA), oneClick), { status: 200, location: '' });
  t.same(world.states(id), { [ADA]: 'unsubscribed', [BOB]: 'verified' });
  t.equal((await browser.send(linkOf(ADA), oneClick)).status, 200, 'repeating it does no harm');
  const body =
    '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n';
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  t.equal((await browser.send(linkOf(BOB), { body, headers })).status, 200, 'the other encoding');
  t.same(world.states(id), { [ADA]: 'unsubscribed', [BOB]: 'unsubscribed' });

  world.clock.jump(HOUR_MS);
  const taken = world.server.mails.length;
  const asking = await world.destinations.verify({ ...caller(), id });
  t.match(
    asking,
    { mails: 0, notMailed: 0 },
    'an unsubscribed recipient gets no verification mail',
  );
  for (const addresses of [[BOB], [BOB, ADA]]) {
    const target = { kind: 'email', addresses } as const;
    await world.destinations.update({ ...caller(), id, target });
  }
  await world.signIn.mail?.settled();
  t.equal(world.server.mails.length, taken + 1, 'except when added again');
  t.same(world.states(id), { [ADA]: 'invited', [BOB]: 'unsubscribed' });
  const token = world.tokenFor(ADA);
  await browser.send(linkOf(ADA), oneClick);
  t.equal((await press(world, token)).status, 400, 'an unsubscribe ends the link already sent');
  t.same(world.states(id), { [ADA]: 'unsubscribed', [BOB]: 'unsubscribed' });
  const link = linkOf(ADA);
  await world.destinations.delete({ ...caller(), id });
  t.equal((await browser.send(link, oneClick)).status, 200, 'nor for a former recipient');
  const { pathname, search } = new URL(world.unsubscribeUrl('demo', 'rcp_none'));
  t.equal(
    (await browser.send(pathname + search, oneClick)).status,
    200,
    'nor for one who never was',
  );
});

test('an unsubscribe link cannot be forged', async (t) => {
  const codes = createUnsubscribeCodes(Buffer.alloc(32, 1));
  const code = codes.make({ project: 'demo', recipient: 'rcp_1' });
  t.same(codes.read(code), { project: 'demo', recipient: 'rcp_1' });
  const others = [
    '',
    'demo',
    'demo.rcp_1',
    'demo.rcp_1.',
    code.slice(0, -1),
    `${code}A`,
    ` ${code}`,
    code.replace('rcp_1', 'rcp_2'),
    code.replace('demo', 'other'),
    createUnsubscribeCodes(Buffer.alloc(32, 2)).make({ project: 'demo', recipient: 'rcp_1' }),
  ];
  for (const other of others) t.equal(codes.read(other), undefined, other);
  const world = await startRecipientsWorld(t);
  for (const other of ['', '?code=', `?code=${code}`, '?code=a&code=b']) {
    const path = `/v1/recipients/unsubscribe${other}`;
    const browser = new Browser(world);
    t.equal((await browser.get(path)).status, 400, `GET ${other}`);
    const oneClick = { form: { 'List-Unsubscribe': 'One-Click' } };
    t.equal((await browser.send(path, oneClick)).status, 400, `POST ${other}`);
  }
});

test('a recipient who is no longer a member is marked, and stays on the list', async (t) => {
  const world = await startRecipientsWorld(t);
  const member = await world.member(ADA);
  const id = await world.mailTo([ADA]);
  await press(world, world.tokenFor(ADA));
  await world.members.removeMember({ ...caller(), member, reason: 'REMOVED' });
  t.same(world.states(id), { [ADA]: 'verified' });
  t.match(await refusalOf(world.destinations.sendTest({ ...caller(), id })), {
    reason: 'INVALID_STATE',
  });
  const person = world.people.personByEmail(ADA) ?? '';
  await world.members.addMember({ by: tester, project: 'demo', person, role: 'VIEWER' });
  t.equal((await world.destinations.sendTest({ ...caller(), id })).answer.deliveries.length, 1);
});

test('a locked-out recipient gets no mail, and may get some again afterwards', async (t) => {
  const world = await startRecipientsWorld(t);
  await world.member(ADA);
  await world.member(BOB);
  const id = await world.mailTo([ADA, BOB]);
  await press(world, world.tokenFor(ADA));
  const link = world.tokenFor(BOB);
  const lockOut = async (address: string, reason: string | null) => {
    const person = world.people.personByEmail(address) ?? '';
    await world.people.setPersonDisabled(tester, person, reason);
  };
  await lockOut(ADA, 'Gone');
  await lockOut(BOB, 'Gone');
  const sent = world.server.mails.length;
  t.match(await refusalOf(world.destinations.sendTest({ ...caller(), id })), {
    reason: 'INVALID_STATE',
  });
  t.match(await world.destinations.verify({ ...caller(), id }), { mails: 0 });
  await press(world, link);
  t.same(world.states(id), { [ADA]: 'verified', [BOB]: 'invited' }, 'no link works either');
  const target = { kind: 'email', addresses: [BOB] } as const;
  const creation = { ...caller(), displayName: 'Another', target };
  t.match(await refusalOf(world.destinations.create(creation)), {
    reason: 'RECIPIENT_NOT_MEMBER',
    metadata: { addresses: BOB },
  });
  await world.signIn.mail?.settled();
  t.equal(world.server.mails.length, sent);

  await lockOut(ADA, null);
  await lockOut(BOB, null);
  t.equal((await world.destinations.sendTest({ ...caller(), id })).answer.deliveries.length, 1);
  t.match(await world.destinations.verify({ ...caller(), id }), { mails: 1 });
});

test('a bounced address is verified again or removed, and the notice ends', async (t) => {
  const world = await startRecipientsWorld(t);
  for (const email of [ADA, BOB]) await world.member(email);
  const id = await world.mailTo([ADA, BOB]);
  const bounce = (email: string) =>
    submit(world.host, { project: 'demo' }, (draft) => {
      const recipient = world.recipient(id, email);
      draft.send('recipient', recipient, { type: 'bounced', at: draft.at, reason: '550' });
      const subject = { collection: 'destinations', id } as const;
      raiseNotice(draft, { kind: 'RECIPIENT_BOUNCED', subject, text: 'A recipient bounced' });
    });
  const isNoticeLasting = () =>
    world.host.view('demo').record('notice', `recipient-bounced-${id}`)?.body.endedMs === null;
  await bounce(ADA);
  await bounce(BOB);
  t.same(world.states(id), { [ADA]: 'bounced', [BOB]: 'bounced' });
  t.ok(isNoticeLasting());
  const target = { kind: 'email', addresses: [ADA] } as const;
  await world.destinations.update({ ...caller(), id, target });
  t.ok(isNoticeLasting(), 'one remains that bounces');
  t.equal((await press(world, world.tokenFor(ADA))).status, 400, 'the earlier link has ended');
  await world.destinations.verify({ ...caller(), id });
  t.same(world.states(id), { [ADA]: 'invited' });
  t.notOk(isNoticeLasting());
});
