/**
 * The recheck before every attempt: a message that is no longer true is not sent, and exactly the
 * recipients notified of an incident are notified of its recovery.
 */
import { test } from 'tap';
import { by, PROJECT, RULE } from '../support/alerting-on-host.ts';
import {
  accepted,
  type DeliveryWorld,
  failed,
  openDeliveryWorld,
  refused,
} from '../support/scripted-delivery.ts';
import { submit } from '../support/submit.ts';

const HOUR_MS = 3_600_000;

/** A world with an active rule that notifies one destination, timers and a deliverer. */
async function delivering(t: Parameters<typeof openDeliveryWorld>[0]) {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook] });
  world.startTimers();
  return { ...world, ...world.startDeliverer(), hook };
}

/** The only delivery. */
function only(world: DeliveryWorld) {
  const [delivery, second] = world.deliveries();
  if (!delivery || second) throw new Error('There is not exactly one delivery');
  return delivery;
}

test('a queued message that is no longer true is suppressed with the reason', async (t) => {
  const cases: Readonly<
    Record<string, (world: DeliveryWorld & { hook: string }) => Promise<unknown>>
  > = {
    SNOOZED: ({ sendAlert, clock }) =>
      sendAlert('vm-1', { type: 'snoozed', untilMs: clock.now() + 9 * HOUR_MS, by: 'me' }),
    SUPERSEDED: ({ recover }) => recover(['vm-1']),
    PAUSED: ({ toDestination, hook }) =>
      toDestination(hook, { type: 'paused', reason: 'Enough', by: 'me' }),
    DESTINATION_DELETED: ({ toDestination, hook }) =>
      toDestination(hook, { type: 'deleted', by: 'me' }),
    RULE_CHANGED: ({ saveRule, hook }) => saveRule({ threshold: 80, destinationNames: [hook] }),
    RULE_PAUSED: ({ saveRule, hook }) => saveRule({ enabled: false, destinationNames: [hook] }),
    RULE_DELETED: ({ deleteRule }) => deleteRule(),
    VM_DELETED: ({ sendAlert }) => sendAlert('vm-1', { type: 'retired', reason: 'VM_DELETED' }),
  };
  for (const [reason, happen] of Object.entries(cases)) {
    const world = await delivering(t);
    world.notifier.answer = () => failed();
    await world.fire(['vm-1']);
    await world.until('it waits', () => only(world).value === 'waiting');
    await happen(world);
    await world.pass(7_000, 500);
    t.match(only(world), { value: 'suppressed', reason }, reason);
    t.equal(world.notifier.requests.length, 1, reason);
    t.equal(world.bodies.size, 0, reason);
  }
});

test('a message of a retired VM, or to a destination that its rule no longer names, is not sent', async (t) => {
  const cases: Readonly<Record<string, (world: DeliveryWorld) => Promise<unknown>>> = {
    VM_DELETED: ({ host, clock }) =>
      submit(host, { project: PROJECT, by }, (draft) => {
        const facts = { displayName: 'One', datacenter: '', expandedMonitoring: false };
        const body = { ...facts, registeredMs: 0, retiredMs: clock.now() };
        draft.putRecord({ kind: 'vm', id: 'vm-1', body });
      }),
    RULE_CHANGED: async ({ addDestination, putInForce }) =>
      putInForce({ destinationNames: [await addDestination()] }),
  };
  for (const [reason, happen] of Object.entries(cases)) {
    const world = await delivering(t);
    world.notifier.answer = () => failed();
    await world.fire(['vm-1']);
    await world.until('it waits', () => only(world).value === 'waiting');
    await happen(world);
    await world.pass(7_000, 500);
    t.match(only(world), { value: 'suppressed', reason });
    t.equal(world.notifier.requests.length, 1, reason);
  }
});

test('a rule sends nothing while its version is pending, and sends immediately once it is applied', async (t) => {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook] });
  await world.fire(['vm-1']);
  await world.saveRule({ displayName: 'Renamed', destinationNames: [hook] });
  world.startTimers();
  world.startDeliverer();
  await world.pass(120_000, 5_000);
  t.equal(only(world).value, 'queued');
  await submit(
    world.host,
    { project: PROJECT, by },
    (draft) => draft.send('alertRule', RULE, { type: 'applied', at: draft.at, version: 2 }).changed,
  );
  await world.pass(100, 100);
  t.equal(only(world).value, 'sent');
});

test('after a snooze one notification is sent if the incident still fires', async (t) => {
  const world = await delivering(t);
  await world.fire(['vm-1']);
  await world.until('it is reported', () => world.notifier.requests.length === 1);
  await world.sendAlert('vm-1', {
    type: 'snoozed',
    untilMs: world.clock.now() + HOUR_MS,
    by: 'me',
  });
  await world.pass(HOUR_MS - 1_000, 60_000);
  t.equal(world.notifier.requests.length, 1);
  await world.pass(2_000, 500);
  t.same(world.notifier.events(), ['incident.firing of vm-1', 'incident.repeated of vm-1']);
});

test('after an outage of the endpoint only the newest reminder is sent', async (t) => {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook], repeatIntervalSeconds: 600 });
  world.startTimers();
  world.startDeliverer();
  world.notifier.answer = () => failed();
  await world.fire(['vm-1']);
  await world.pass(5 * 600_000 + 1_000, 10_000);
  world.notifier.requests.length = 0;
  world.notifier.answer = () => accepted;
  await world.pass(590_000, 10_000);
  t.same(world.notifier.events(), ['incident.repeated of vm-1']);
  await world.sendAlert('vm-1', {
    type: 'snoozed',
    untilMs: world.clock.now() + 9 * HOUR_MS,
    by: 'me',
  });
  await world.pass(2 * HOUR_MS, 60_000);
  t.same(
    world.notifier.events(),
    ['incident.repeated of vm-1'],
    'the firing is not sent later either',
  );
  t.same(
    world.deliveries().map(({ event, occurrence, reason }) => [event, occurrence, reason]),
    [
      ['FIRING', 1, 'SUPERSEDED'],
      ...[1, 2, 3, 4].map((occurrence) => ['REPEATED', occurrence, 'SUPERSEDED']),
      ['REPEATED', 5, null],
    ],
  );
});

test('EVAL-21: an incident that recovers before the first attempt sends no message', async (t) => {
  const world = await openDeliveryWorld(t);
  await world.putInForce({ destinationNames: [await world.addDestination()] });
  await world.fire(['vm-1']);
  await world.recover(['vm-1']);
  world.startDeliverer();
  await world.settle();
  t.match(only(world), { value: 'suppressed', reason: 'SUPERSEDED' });
  t.same(world.notifier.requests, []);
});

test('EVAL-21: an attempt with an unknown outcome is followed by the recovery only', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed({ unknown: true });
  await world.fire(['vm-1']);
  await world.until('it waits', () => only(world).value === 'waiting');
  world.notifier.answer = () => accepted;
  await world.recover(['vm-1']);
  await world.pass(7_000, 500);
  t.same(world.notifier.events(), ['incident.firing of vm-1', 'incident.recovered of vm-1']);
  t.same(
    world
      .deliveries()
      .map(({ event, value }) => [event, value])
      .sort(),
    [
      ['FIRING', 'suppressed'],
      ['RECOVERED', 'sent'],
    ],
  );
});

test('a recovery never overtakes its firing, nor follows one that did not arrive', async (t) => {
  for (const [outcome, events] of [
    [accepted, ['incident.firing of vm-1', 'incident.recovered of vm-1']],
    [failed(), ['incident.firing of vm-1']],
  ] as const) {
    const world = await delivering(t);
    world.notifier.answer = () => undefined;
    await world.fire(['vm-1']);
    await world.until('it is in flight', () => world.notifier.hanging === 1);
    await world.recover(['vm-1']);
    await world.settle();
    t.equal(world.notifier.requests.length, 1, 'the recovery waits');
    world.notifier.answer = () => accepted;
    world.notifier.release(outcome);
    await world.pass(7_000, 500);
    t.same(world.notifier.events(), events);
    t.same(world.live('delivery'), []);
  }
});

test('EVAL-21: a recovery goes to the notified destinations, regardless of the rule’s current ones', async (t) => {
  const world = await delivering(t);
  const other = await world.addDestination();
  await world.fire(['vm-1']);
  await world.until('it is reported', () => world.notifier.requests.length === 1);
  await world.putInForce({ destinationNames: [other] });
  await world.recover(['vm-1']);
  await world.until('it is reported', () => world.live('delivery').length === 0);
  const [firing, recovered] = world.notifier.requests;
  t.equal(world.notifier.requests.length, 2);
  t.match(recovered, { event: 'incident.recovered', target: firing?.target });
});

test('HOOK-15: a 410 answer ends the delivery and pauses the destination', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => refused;
  await world.fire(['vm-1']);
  await world.until('it failed', () => only(world).value === 'failed');
  t.match(only(world), { reason: 'REFUSED', attempts: [{ outcome: 'refused', httpStatus: 410 }] });
  const destination = world.instances('destination')[0];
  t.match(destination, { value: 'paused', context: { pausedReason: 'Gone' } });
  await world.fire(['vm-2']);
  await world.settle();
  const states = world.deliveries().map(({ value, reason }) => `${value} ${reason}`);
  t.same(states.sort(), ['failed REFUSED', 'suppressed PAUSED']);
  t.equal(world.notifier.requests.length, 1);
});

test('HOOK-15: an endpoint that fails for three days is paused, a success restarts the count', async (t) => {
  const world = await delivering(t);
  const state = () => world.instances('destination')[0];
  const failForHours = async (hours: number) => {
    world.notifier.answer = () => failed();
    for (let hour = 0; hour < hours; hour += 12) {
      await world.fire([`vm-${hour}-${world.clock.now()}`]);
      // As long as a breaker stays open; the rest of the time can be skipped.
      await world.pass(HOUR_MS / 4, 60_000);
      world.clock.jump(11.75 * HOUR_MS);
    }
  };
  await failForHours(60);
  world.notifier.answer = () => accepted;
  await world.fire(['vm-up']);
  await world.pass(HOUR_MS, 60_000);
  t.match(state(), { value: 'active', context: { failingSinceMs: null } });
  await failForHours(60);
  t.equal(state()?.value, 'active', 'less than three days since the success');
  await failForHours(24);
  const pausedReason = 'Every attempt of the last 3 days failed: HTTP 500';
  t.match(state(), { value: 'paused', context: { pausedReason } });
  await world.toDestination(world.hook, { type: 'resumed', by: 'me' });
  t.match(state(), { value: 'active', context: { failingSinceMs: null } });
});

test('EVAL-21: no recovery is sent without a firing message, even if the alert fires again', async (t) => {
  const world = await delivering(t);
  const { notifier } = world;
  notifier.answer = () => undefined;
  await world.fire(['vm-1']);
  await world.until('the firing is in flight', () => notifier.hanging === 1);
  await world.recover(['vm-1']);
  await world.fire(['vm-1']);
  notifier.answer = () => accepted;
  notifier.release(failed());
  await world.pass(10_000, 1_000);
  t.same(notifier.events(), ['incident.firing of vm-1', 'incident.firing of vm-1']);
  t.same(
    world
      .deliveries()
      .map(({ event, value }) => `${event} ${value}`)
      .sort(),
    ['FIRING sent', 'FIRING suppressed', 'RECOVERED suppressed'],
  );
});

test('API-36: each recheck records its checks, up to the first that fails', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed();
  await world.fire(['vm-1']);
  await world.until('it waits', () => only(world).value === 'waiting');
  const untilMs = world.clock.now() + 9 * HOUR_MS;
  await world.sendAlert('vm-1', { type: 'snoozed', untilMs, by: 'me' });
  await world.pass(7_000, 500);
  const about = { machine: 'delivery', limit: 100 };
  const checks = world.host
    .view(PROJECT)
    .transitions(about)
    .items.flatMap(({ event }) => ('checks' in event ? [[event.type, event.checks]] : []));
  const all = [
    'DESTINATION_EXISTS',
    'DESTINATION_NOT_PAUSED',
    'INCIDENT_FIRES',
    'NOT_SUPERSEDED',
    'INCIDENT_NOT_RETIRED',
    'VM_EXISTS',
    'RULE_EXISTS',
    'RULE_UNCHANGED',
    'DESTINATION_NAMED',
    'NOT_SNOOZED',
  ];
  t.same(checks, [
    ['cleared', all],
    ['suppressed', all],
  ]);
  t.equal(only(world).reason, 'SNOOZED', 'the last check does not hold for it');
});
