/** Verification mails that fail for now or permanently. */
import { test } from 'tap';
import { until } from '../support/program.ts';
import {
  caller,
  type RecipientsWorld,
  startRecipientsWorld,
} from '../support/recipients-with-mail-server.ts';
import { Browser } from '../support/sign-in-server.ts';

const ADA = 'ada@example.com';
const BOB = 'bob@example.com';
const VERIFY = '/v1/recipients/verify';

const refusalOf = (requested: Promise<unknown>) =>
  requested.then(
    () => undefined,
    (error: unknown) => error,
  );

const press = (world: RecipientsWorld, token: string) => new Browser(world).post(VERIFY, { token });
test('a failed mail is not sent later with an expired link', async (t) => {
  const world = await startRecipientsWorld(t);
  await world.member(ADA);
  world.server.refuseWith = 451;
  const target = { kind: 'email', addresses: [ADA] } as const;
  const creation = { ...caller(), displayName: 'On call', target };
  const { destination } = await world.destinations.create(creation);
  await until('it was offered', () => world.server.offered[0]);
  await until('it waits', async () => ((await tries(world)) > 0 ? true : undefined));
  world.server.refuseWith = undefined;
  await world.destinations.verify({ ...caller(), id: destination.instance });
  await until('the second came', () => world.server.mails[0]);
  await world.clock.advance(10_000);
  await world.signIn.mail?.settled();
  t.equal(world.server.mails.length, 1);
  t.equal(
    (await press(world, world.tokenFor(ADA))).status,
    200,
    'the link in the mail that arrived works',
  );
});

test('an address that the server rejects for the verification mail is bounced', async (t) => {
  const world = await startRecipientsWorld(t);
  await world.member(ADA);
  world.server.refuseWith = 550;
  const id = await world.mailTo([ADA]);
  t.same(world.states(id), { [ADA]: 'bounced' });
  const notice = () => world.host.view('demo').record('notice', `recipient-bounced-${id}`)?.body;
  t.match(notice(), { text: /^A recipient of "On call" gets no more mail/, endedMs: null });
  world.server.refuseWith = undefined;
  t.equal((await world.destinations.verify({ ...caller(), id })).mails, 1);
  await world.signIn.mail?.settled();
  t.match(notice()?.endedMs, Number);
  t.equal((await press(world, world.tokenFor(ADA))).status, 200);
});

test('mails of one project leave room for others, and a request reports how many wait', async (t) => {
  const world = await startRecipientsWorld(t);
  const queue = world.signIn.mail;
  if (!queue) throw new Error('There is no mail server');
  for (const email of [ADA, BOB]) await world.member(email);
  await world.member('cy@example.com', { project: 'other' });
  const id = await world.mailTo([ADA, BOB]);
  const there = await world.mailTo(['cy@example.com'], 'other');
  // The connections and half of the slots of the kind are in use.
  const held: (() => void)[] = [];
  const make = () => new Promise<undefined>((resolve) => held.push(() => resolve(undefined)));
  const mail = { kind: 'verification', project: 'demo', make } as const;
  const fill = (places: number) => {
    for (let n = 0; n < places; n++) t.equal(queue.add(mail), true);
  };
  fill(51);
  t.match(await world.destinations.verify({ ...caller(), id }), { mails: 1, notMailed: 1 });
  t.match(await refusalOf(world.destinations.verify({ ...caller(), id })), {
    reason: 'TOO_MANY_REQUESTS',
    metadata: { retryAfterSeconds: '60' },
  });
  t.equal(queue.add(mail), false);
  t.match(await world.destinations.verify({ ...caller('other'), id: there }), { mails: 1 });
  const before = world.server.mails.length;
  while (queue.room(mail) < 50 || held.length > 0) {
    held.shift()?.();
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await queue.settled();
  t.equal(world.server.mails.length, before + 2);
});

/** Mails that wait for their next attempt. */
async function tries(world: RecipientsWorld): Promise<number> {
  return Number(/^svc_mails_waiting (\d+)$/m.exec(await world.metrics())?.[1] ?? 0);
}
