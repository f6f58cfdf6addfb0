/**
 * Mail: each recipient has a separate delivery, is rechecked before each attempt, and is notified
 * of a recovery if they may have been notified of the firing.
 */
import { test } from 'tap';
import { startTestDelivery } from '../../actors/delivery/audience.ts';
import { BOUNCE_PATH, bounceRoutes } from '../../src/admin/bounce-routes.ts';
import type { Log } from '../../src/platform/log.ts';
import type { Bounce } from '../../src/platform/mail/bounce.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { by, PROJECT } from '../support/alerting-on-host.ts';
import {
  accepted,
  type DeliveryWorld,
  failed,
  openDeliveryWorld,
} from '../support/scripted-delivery.ts';
import { submit } from '../support/submit.ts';

const bounce = {
  kind: 'refused' as const,
  error: 'The server answered 550',
  pauseDestination: false,
  bounced: true,
};

async function mailing(t: Parameters<typeof openDeliveryWorld>[0], ids: readonly string[]) {
  const world = await openDeliveryWorld(t);
  const mail = await world.addMail(ids);
  await world.putInForce({ destinationNames: [mail] });
  world.startTimers();
  return { ...world, ...world.startDeliverer(), mail };
}

/** Deliveries as `event of recipient: state reason`, in a fixed order. */
const outcomesOf = (world: DeliveryWorld) =>
  world
    .deliveries()
    .map(({ event, recipient, value, reason }) =>
      `${event} of ${recipient}: ${value} ${reason ?? ''}`.trim(),
    )
    .sort();

const addressesOf = ({ notifier }: DeliveryWorld) =>
  notifier.requests.map(({ event, target }) =>
    'address' in target ? `${event} to ${target.address}` : target.kind,
  );

test('HOOK-25: each eligible recipient gets a mail, and for the others the reason is recorded', async (t) => {
  const world = await mailing(t, ['ann', 'ben', 'cleo', 'dan', 'eve', 'flo']);
  const { send } = world;
  await send('recipient', 'ben', { type: 'unsubscribed' });
  await send('recipient', 'cleo', { type: 'bounced', reason: 'x' });
  await send('recipient', 'cleo', { type: 'invitedAgain', tokenHash: 't' });
  await send('recipient', 'dan', { type: 'bounced', reason: 'x' });
  await send('recipient', 'eve', { type: 'removed', reason: 'TAKEN_OFF' });
  await send('membership', 'flo', { type: 'removed', reason: 'LEFT', by: 'me' });
  await world.fire(['vm-1']);
  await world.until('all have ended', () => world.live('delivery').length === 0);
  t.same(outcomesOf(world), [
    'FIRING of ann: sent',
    'FIRING of ben: suppressed RECIPIENT_UNSUBSCRIBED',
    'FIRING of cleo: suppressed RECIPIENT_NOT_VERIFIED',
    'FIRING of dan: suppressed RECIPIENT_BOUNCED',
    'FIRING of flo: suppressed RECIPIENT_REMOVED',
  ]);
  t.same(addressesOf(world), ['incident.firing to ann']);
});

test('a mail destination without recipients records the missed notification', async (t) => {
  const world = await mailing(t, []);
  await world.fire(['vm-1']);
  t.same(outcomesOf(world), ['FIRING of null: suppressed RECIPIENT_REMOVED']);
});

test('a recovery goes to exactly the recipients who may have been notified', async (t) => {
  const world = await mailing(t, ['ann', 'ben', 'cleo']);
  const outcomes = { ann: accepted, ben: failed(), cleo: failed({ unknown: true }) };
  world.notifier.answer = ({ target }) =>
    outcomes[('address' in target ? target.address : '') as keyof typeof outcomes];
  await world.fire(['vm-1']);
  await world.until('each was tried', () => world.notifier.requests.length === 3);
  await world.settle();
  // The rule no longer names them.
  await world.putInForce({ destinationNames: [] });
  world.notifier.answer = () => accepted;
  await world.recover(['vm-1']);
  await world.pass(20_000, 1_000);
  t.same(outcomesOf(world), [
    'FIRING of ann: sent',
    'FIRING of ben: suppressed SUPERSEDED',
    'FIRING of cleo: suppressed SUPERSEDED',
    'RECOVERED of ann: sent',
    'RECOVERED of cleo: sent',
  ]);
});

test('STATE-12: a recipient removed while a mail waits gets no other mail', async (t) => {
  const cases: Readonly<Record<string, (world: DeliveryWorld) => Promise<unknown>>> = {
    'RECIPIENT_REMOVED by the project': ({ send }) =>
      send('recipient', 'ann', { type: 'removed', reason: 'TAKEN_OFF' }),
    'RECIPIENT_REMOVED as member': ({ send }) =>
      send('membership', 'ann', { type: 'removed', reason: 'LEFT', by: 'me' }),
    'RECIPIENT_REMOVED with another address': ({ send }) =>
      send('membership', 'ann', { type: 'renamed', displayName: 'Ann', email: 'a@example.com' }),
    'RECIPIENT_REMOVED as person': ({ send }) =>
      send('person', 'ann', { type: 'disabled', reason: 'x', by: 'me' }, SYSTEM_PROJECT),
    'RECIPIENT_UNSUBSCRIBED by a link': ({ send }) =>
      send('recipient', 'ann', { type: 'unsubscribed' }),
  };
  for (const [name, happen] of Object.entries(cases)) {
    const world = await mailing(t, ['ann']);
    world.notifier.answer = () => failed();
    await world.fire(['vm-1']);
    await world.until('it waits', () => world.deliveries()[0]?.value === 'waiting');
    await happen(world);
    await world.pass(10_000, 1_000);
    t.same(outcomesOf(world), [`FIRING of ann: suppressed ${name.split(' ')[0]}`], name);
    t.equal(world.notifier.requests.length, 1, name);
  }
});

test('HOOK-26: a bouncing address ends its recipient and no other', async (t) => {
  const world = await mailing(t, ['ann', 'ben']);
  world.notifier.answer = ({ target }) =>
    'address' in target && target.address === 'ann' ? bounce : accepted;
  await world.fire(['vm-1', 'vm-2', 'vm-3', 'vm-4', 'vm-5', 'vm-6']);
  await world.until('all have ended', () => world.live('delivery').length === 0);
  const view = world.host.view(PROJECT);
  t.match(view.instance('recipient', 'ann'), {
    value: 'bounced',
    context: { reason: 'The server answered 550' },
  });
  t.match(view.instance('recipient', 'ben'), { value: 'verified' });
  t.match(world.live('destination'), [{ value: 'active', context: { failingSinceMs: null } }]);
  t.match(view.records('notice', { limit: 9 }).items, [
    { body: { kind: 'RECIPIENT_BOUNCED', text: /^A recipient of "Mail" gets no more mail/ } },
  ]);
  t.equal(world.notifier.requests.length, 7, 'one to the first, six to the second');
  t.equal(outcomesOf(world).filter((line) => line.endsWith('RECIPIENT_BOUNCED')).length, 5);
});

test('HOOK-26: a mail that is returned later ends its recipient and no other', async (t) => {
  const world = await mailing(t, ['ann', 'ben']);
  await world.fire(['vm-1']);
  await world.until('all have ended', () => world.live('delivery').length === 0);
  const toAnn = world.deliveries().find(({ recipient }) => recipient === 'ann')?.id ?? '';
  const logged: object[] = [];
  const log = { info: (facts: object) => void logged.push(facts) } as unknown as Log;
  const routes = bounceRoutes({
    host: world.host,
    log,
    metrics: createMetrics({ clock: world.clock, version: '' }),
  });
  const pipe = async (bounce: Partial<Bounce>) => {
    const whole = {
      messageId: `${toAnn}@svc.example.com`,
      action: 'failed',
      status: '5.1.1',
      ...bounce,
    };
    const body = { bounces: JSON.stringify([whole]) };
    const none = Object.assign(() => {}, { drained: () => Promise.resolve() });
    return routes[BOUNCE_PATH]?.(new AbortController().signal, none, body);
  };
  t.same(await pipe({ action: 'delayed', status: '4.4.1' }), { outcomes: ['other'] });
  t.same(await pipe({ status: '5.7.1' }), { outcomes: ['other'] });
  t.same(await pipe({ messageId: `dlv_${'0'.repeat(32)}@x` }), { outcomes: ['unknown'] });
  t.same(await pipe({ messageId: '<script>@x' }), { outcomes: ['unknown'] });
  const view = world.host.view(PROJECT);
  t.match(view.instance('recipient', 'ann'), { value: 'verified' });
  t.same(await pipe({}), { outcomes: ['recorded'] });
  t.same(await pipe({}), { outcomes: ['already'] });
  t.match(view.instance('recipient', 'ann'), {
    value: 'bounced',
    context: { reason: 'A returned mail reports that the address accepts no mail (5.1.1)' },
  });
  t.match(view.instance('recipient', 'ben'), { value: 'verified' });
  t.match(view.records('notice', { limit: 9 }).items, [{ body: { kind: 'RECIPIENT_BOUNCED' } }]);
  t.notMatch(JSON.stringify(logged), /dlv_|@/, 'the log names no mail and no address');
});

test('a mail may take 30 s, and counts as lost only after that', async (t) => {
  const world = await mailing(t, ['ann']);
  world.notifier.answer = () => undefined;
  await world.fire(['vm-1']);
  await world.until('it is in flight', () => world.notifier.hanging === 1);
  const [request] = world.notifier.requests;
  t.equal(request?.deadlineElapsedMs, world.clock.elapsed() + 30_000);
  // Its process dies; another one sweeps.
  const stopping = world.stop();
  world.startDeliverer();
  await world.pass(34_000, 1_000);
  t.equal(world.deliveries()[0]?.value, 'sending');
  await world.pass(2_000, 1_000);
  t.match(world.deliveries()[0]?.attempts, [{ outcome: 'unknown' }]);
  world.notifier.answer = () => accepted;
  world.notifier.release(accepted);
  await stopping;
});

test('deliveries of an unconfigured channel wait until it is configured, and are reported', async (t) => {
  const world = await mailing(t, ['ann']);
  world.notifier.missing.add('email');
  await world.fire(['vm-1', 'vm-2']);
  await world.pass(3_600_000, 30_000);
  t.same([world.notifier.requests, world.deliveries()[0]?.attempts], [[], []]);
  t.match(world.reportedFaults(), [/sending to email, for which this service is not configured/]);
  t.equal(world.reportedFaults().length, 1);
  world.notifier.missing.clear();
  await world.pass(30_000, 5_000);
  t.same(outcomesOf(world), ['FIRING of ann: sent', 'FIRING of ann: sent']);
});

test('EVENT-12: test messages are separate deliveries to eligible recipients', async (t) => {
  const world = await mailing(t, ['ann', 'ben']);
  await world.send('recipient', 'ben', { type: 'unsubscribed' });
  const start = (recipient: string | null, test: string) =>
    submit(world.host, { project: PROJECT, by }, (draft) =>
      startTestDelivery(draft, { destination: 'dst_mail_ann_ben', recipient, test }),
    );
  const ids = [];
  for (const [recipient, test] of [
    ['ann', '1'],
    ['ben', '1'],
    ['ann', '2'],
  ] as const) {
    ids.push((await start(recipient, test)).answer);
  }
  await world.until('all have ended', () => world.live('delivery').length === 0);
  t.equal(new Set(ids).size, 3);
  t.same(outcomesOf(world), [
    'TEST of ann: sent',
    'TEST of ann: sent',
    'TEST of ben: suppressed RECIPIENT_UNSUBSCRIBED',
  ]);
  t.same(addressesOf(world), ['test to ann', 'test to ann']);
});
