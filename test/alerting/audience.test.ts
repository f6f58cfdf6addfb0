/**
 * One firing is one commit with all its recipients. A rule's audience is bounded so that the commit
 * fits. An edge that still does not fit is reported and does not block other decisions.
 */
import { test } from 'tap';
import { recheck } from '../../actors/delivery/audience.ts';
import { createDestinations } from '../../actors/delivery/destinations.ts';
import {
  COMMIT_BYTES_MAX,
  COMMIT_EVENTS_MAX,
  type Commit,
} from '../../streams/platform/commit/commit.ts';
import { by, freshRequest, PROJECT, RULE } from '../support/alerting-on-host.ts';
import { openDeliveryWorld } from '../support/scripted-delivery.ts';
import { sealedIn } from '../support/sealed-in-memory.ts';
import { submit } from '../support/submit.ts';

type World = Awaited<ReturnType<typeof openDeliveryWorld>>;

const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `rcp_01m7zr27gm2s1xsxywbemtd${prefix}${100 + i}`);
const idOf = (name: string) => name.slice(name.lastIndexOf('/') + 1);

/** Two mail destinations with fifty members each, and a mail server that accepts everything. */
async function withMails(t: Parameters<typeof openDeliveryWorld>[0]) {
  const world = await openDeliveryWorld(t);
  const mails = [await world.addMail(ids('a', 50)), await world.addMail(ids('b', 50))];
  let minted = 0;
  const destinations = createDestinations({
    ...world,
    sealed: sealedIn(new Map()),
    refuseUrl: () => undefined,
    groupWaitMs: 0,
    makeSecret: () => '',
    mail: {
      tokens: {
        mint: () => ({ text: '', hash: `hash ${++minted}` }),
        parse: () => undefined,
        hash: (text) => text,
      },
      mails: { room: () => 50, take: () => 0, send: () => true },
    },
  });
  return { ...world, mails, destinations };
}

/** Adds unconfirmed recipients beyond the bound, which no decision allows. */
const addRecipients = ({ host }: World, destination: string, more: readonly string[]) =>
  submit(host, { project: PROJECT, by }, (draft) => {
    for (const id of more) {
      const about = { project: PROJECT, destination, membership: id, address: `${id}@x.example` };
      draft.start('recipient', id, { at: draft.at, ...about, tokenHash: id });
    }
  });

/** Events and bytes of each later commit. */
function sizes(world: World) {
  const found: { events: number; bytes: number }[] = [];
  world.host.onApplied(({ commit }: { commit: Commit }) => {
    const events = commit.decisions.map(({ steps, records }) => steps.length + records.length);
    found.push({
      events: events.reduce((sum, count) => sum + count, 0),
      bytes: JSON.stringify(commit).length,
    });
  });
  return () => found.reduce((a, b) => (a.events > b.events ? a : b), { events: 0, bytes: 0 });
}

test('no edit makes a rule notify more than 100 recipients', async (t) => {
  const world = await withMails(t);
  const [first = '', second = ''] = world.mails;
  const hook = await world.addDestination();
  const refused = { name: 'Refusal', reason: 'LIMIT_EXCEEDED', message: /"CPU is high"/ };
  const metadata = { of: 'audience', limit: '100', wanted: '101' };
  await t.rejects(world.saveRule({ destinationNames: [first, second, hook] }), {
    ...refused,
    metadata,
  });
  t.same(world.live('alertRule'), []);
  await world.saveRule({ destinationNames: [first, second] });

  const addresses = (prefix: string, count: number) =>
    ids(prefix, count).map((id) => `${id}@example.com`);
  const update = (...addresses: string[]) =>
    world.destinations.update({
      project: PROJECT,
      by,
      request: freshRequest(),
      id: idOf(first),
      target: { kind: 'email', addresses },
    });
  await update(...addresses('a', 49));
  await world.saveRule({ destinationNames: [first, second, hook] });
  await t.rejects(update(...addresses('a', 50)), { ...refused, metadata });
  await update(...addresses('a', 48), ...addresses('b', 1));
  t.equal(world.live('recipient').length, 99, 'one replaces another');

  await addRecipients(world, idOf(second), ids('c', 10));
  await world.saveRule({ threshold: 80, destinationNames: [first, second, hook] });
  await world.saveRule({ destinationNames: [first, second] });
  t.match(
    world.rule().context.spec,
    { destinationNames: [first, second] },
    'a reduction is always accepted',
  );
});

test('a firing that notifies a hundred recipients at maximum size fits one commit', async (t) => {
  const world = await withMails(t);
  await world.putInForce({ destinationNames: world.mails, repeatIntervalSeconds: 3_600 });
  for (const id of [...ids('a', 50), ...ids('b', 50)]) {
    await world.send('recipient', id, { type: 'unsubscribed' });
  }
  const largest = sizes(world);
  await world.fire(['vm-1']);
  t.equal(world.deliveries().length, 100);
  const { events, bytes } = largest();
  t.comment(`a firing: ${events} events, ${bytes} bytes`);
  t.ok(events > 300 && events <= COMMIT_EVENTS_MAX && bytes < COMMIT_BYTES_MAX);
});

test('HOOK-28: a firing in groups of a hundred mails fits one commit, and so does its recovery', async (t) => {
  const world = await withMails(t);
  for (const mail of world.mails) {
    await world.toDestination(mail, { type: 'groupWaitChanged', groupWaitMs: 30_000, by: 'me' });
  }
  await world.putInForce({ destinationNames: world.mails, repeatIntervalSeconds: 3_600 });
  const largest = sizes(world);
  await world.fire(['vm-1']);
  t.equal(world.deliveries().length, 100, 'one group per recipient');
  await world.fire(['vm-2']);
  t.equal(world.deliveries().length, 100);
  t.ok(world.deliveries().every(({ value, members }) => value === 'gathering' && members === 2));
  world.startTimers();
  world.startDeliverer();
  await world.pass(60_000, 1_000);
  t.ok(world.deliveries().every(({ value }) => value === 'sent'));
  await world.recover(['vm-1']);
  t.equal(world.deliveries().length, 200);
  const { events, bytes } = largest();
  t.comment(`a firing in groups: ${events} events, ${bytes} bytes`);
  t.ok(events > 300 && events <= COMMIT_EVENTS_MAX && bytes < COMMIT_BYTES_MAX, `${bytes}`);
});

test('a recovery that ends queued deliveries and notifies every recipient fits one commit', async (t) => {
  const world = await withMails(t);
  const hook = await world.addDestination();
  const [first = '', second = ''] = world.mails;
  await world.putInForce({ destinationNames: [first, hook], repeatIntervalSeconds: 3_600 });
  await world.fire(['vm-1']);
  const attempts = async (id: string, end: Readonly<Record<string, unknown>>) => {
    await world.send('delivery', id, { type: 'attemptDue' });
    await world.send('delivery', id, { type: 'cleared', attemptId: 'att_1', bodyDigest: 'd' });
    await world.send('delivery', id, { attemptId: 'att_1', ...end, type: String(end.type) });
  };
  const deliveriesOf = (event: string) => world.deliveries().filter((one) => one.event === event);
  const accepted = { type: 'accepted', httpStatus: 200 };
  const failed = { type: 'attemptFailed', httpStatus: null, error: 'x'.repeat(300), delayMs: 1 };
  for (const { id, recipient } of deliveriesOf('FIRING')) {
    await attempts(id, recipient === null ? failed : accepted);
  }
  await world.saveRule({ destinationNames: [second], repeatIntervalSeconds: 3_600 });
  await world.putInForce({ destinationNames: [second], repeatIntervalSeconds: 3_600 });
  await world.sendAlert('vm-1', { type: 'repeatDue' });
  for (const { id } of deliveriesOf('REPEATED')) await attempts(id, accepted);
  for (let repeats = 0; repeats < 5; repeats++)
    await world.sendAlert('vm-1', { type: 'repeatDue' });
  t.equal(deliveriesOf('REPEATED').length, 300);
  for (const id of [...ids('a', 50), ...ids('b', 50)]) {
    await world.send('recipient', id, { type: 'unsubscribed' });
  }
  const largest = sizes(world);
  await world.recover(['vm-1']);
  const { events, bytes } = largest();
  t.comment(`a recovery: ${events} events, ${bytes} bytes`);
  t.ok(events > 300 && events <= COMMIT_EVENTS_MAX && bytes < COMMIT_BYTES_MAX);
  t.equal(
    deliveriesOf('RECOVERED').length,
    100,
    'recipients notified before the rule was changed are among them',
  );
  const [hooked] = deliveriesOf('FIRING').filter(({ recipient }) => recipient === null);
  t.match(hooked, { value: 'suppressed', reason: 'SUPERSEDED' });
});

test('deliveries that do not fit into a recovery’s commit end at their recheck', async (t) => {
  const world = await withMails(t);
  await world.putInForce({ destinationNames: world.mails });
  await world.fire(['vm-1']);
  await world.recover(['vm-1']);
  const left = world.deliveries().filter(({ value }) => value === 'queued');
  t.equal(left.length, 40);
  const reasons = left.map((one) => recheck(world.host.view(PROJECT), one, () => true).reason);
  t.same([...new Set(reasons)], ['SUPERSEDED']);
});

test('an edge that fits no commit counts as a fault, and others continue', async (t) => {
  const world = await withMails(t);
  const faults: string[] = [];
  world.startRules();
  const { evaluator } = await world.startEvaluator((what, error) => {
    faults.push(`${what}: ${(error as { reason?: string }).reason}`);
  });
  const other = '7b0c5a0e-6d2a-4a55-9a53-5a2d6d2f0002';
  await world.saveRule({ sustainedSeconds: 0, destinationNames: world.mails });
  await world.saveRule({ sustainedSeconds: 0 }, { id: other });
  await world.until('both are applied', () =>
    world.live('alertRule').every(({ value }) => value === 'active'),
  );
  await addRecipients(world, idOf(world.mails[0] ?? ''), ids('c', 200));
  await world.cpu(95, ['vm-1']);
  await world.until('the other fires', () => world.incidents().length === 1);
  await world.until('the log is evaluated', () => faults.length > 0);
  await world.settle(400);
  t.same(faults, [`an edge of ${RULE} in ${PROJECT}: REQUEST_TOO_LARGE`], 'once');
  t.match(world.incidents(), [{ rule: other }]);
  await world.pass(30_000);
  await world.cpu(10, ['vm-1']);
  await world.until('the other recovers', () => world.incidents()[0]?.state === 'RECOVERED');
  t.ok(evaluator.throughSequence() > 0);
});
