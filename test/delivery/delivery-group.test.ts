/**
 * Groups: incidents of one rule that fire within the destination's wait share one message. Real
 * machines on a real host under virtual time; only the endpoint is scripted.
 */
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { allMembers, liveMembers } from '../../actors/delivery/delivery-group.ts';
import { PROJECT } from '../support/alerting-on-host.ts';
import {
  accepted,
  type DeliveryWorld,
  failed,
  openDeliveryWorld,
} from '../support/scripted-delivery.ts';

const WAIT_MS = 30_000;
const vmsOf = (count: number) => Array.from({ length: count }, (_, i) => `vm-${i + 1}`);

/** An active rule that notifies one destination with a wait, timers and a deliverer. */
async function grouping(t: Test, groupWaitMs = WAIT_MS) {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.toDestination(hook, { type: 'groupWaitChanged', groupWaitMs, by: 'me' });
  await world.putInForce({ destinationNames: [hook] });
  world.startTimers();
  world.startDeliverer();
  await world.settle();
  return { ...world, hook };
}

/** VMs in each group's message, and the reason for each dropped group. */
function groupsOf(world: DeliveryWorld) {
  const view = world.host.view(PROJECT);
  return world.instances('delivery').map(({ instance, value, context }) => ({
    id: instance,
    value,
    event: context.event,
    reason: context.reason,
    vms: liveMembers(view, instance, context).map(({ alertInstance }) =>
      vmOf(world, alertInstance),
    ),
    dropped: allMembers(view, instance, context).flatMap(({ dropped }) => dropped ?? []),
    attempts: context.attempts.length,
  }));
}

function vmOf(world: DeliveryWorld, alertInstance: string): string | undefined {
  return world.host.view(PROJECT).instance('alertInstance', alertInstance)?.context.vm;
}

test('HOOK-28: a rule firing on 200 VMs sends one message per destination, and so does its recovery', async (t) => {
  const world = await grouping(t);
  const vms = vmsOf(200);
  await world.fire(vms.slice(0, 120));
  await world.pass(10_000, 1_000);
  await world.fire(vms.slice(120));
  await world.pass(WAIT_MS - 11_000, 1_000);
  t.equal(world.notifier.requests.length, 0, 'nothing is sent during the wait');
  await world.pass(3_000, 500);
  t.equal(world.notifier.requests.length, 1);
  t.match(groupsOf(world), [{ value: 'sent', event: 'FIRING', vms: { length: 200 }, attempts: 1 }]);
  t.same(groupsOf(world)[0]?.vms, vms, 'in the order of firing');
  await world.recover(vms);
  await world.pass(WAIT_MS + 2_000, 1_000);
  t.equal(world.notifier.requests.length, 2, 'one for the firing, one for the recovery');
  t.match(groupsOf(world)[1], { value: 'sent', event: 'RECOVERED', vms: { length: 200 } });
  t.same(world.reportedFaults(), []);
});

test('HOOK-28: firings after the wait, or beyond 200, form another group', async (t) => {
  const world = await grouping(t);
  await world.fire(['vm-1']);
  await world.pass(WAIT_MS + 2_000, 1_000);
  await world.fire(vmsOf(202).slice(1));
  await world.pass(WAIT_MS + 2_000, 1_000);
  const sizes = groupsOf(world).map(({ value, vms }) => [value, vms.length]);
  t.same(sizes.sort(), [
    ['sent', 1],
    ['sent', 1],
    ['sent', 200],
  ]);
  t.equal(world.notifier.requests.length, 3);
});

test('HOOK-28: each incident of a group is rechecked before the message is sent', async (t) => {
  const world = await grouping(t);
  await world.fire(['vm-1', 'vm-2', 'vm-3', 'vm-4']);
  await world.recover(['vm-1']);
  const untilMs = world.clock.now() + 3_600_000;
  await world.sendAlert('vm-2', { type: 'snoozed', untilMs, by: 'me' });
  await world.sendAlert('vm-3', { type: 'retired', reason: 'VM_DELETED' });
  await world.pass(WAIT_MS + 2_000, 1_000);
  t.match(groupsOf(world), [
    { value: 'sent', vms: ['vm-4'], dropped: ['SUPERSEDED', 'SNOOZED', 'VM_DELETED'] },
  ]);
  t.equal(world.notifier.requests.length, 1, 'no recovery of an incident that was not notified');
  await world.recover(['vm-4']);
  await world.pass(WAIT_MS + 2_000, 1_000);
  t.match(groupsOf(world)[1], { event: 'RECOVERED', value: 'sent', vms: ['vm-4'] });
});

test('HOOK-28: a group without valid incidents is not sent', async (t) => {
  const world = await grouping(t);
  await world.fire(['vm-1', 'vm-2']);
  await world.recover(['vm-1', 'vm-2']);
  await world.pass(WAIT_MS + 2_000, 1_000);
  t.match(groupsOf(world), [{ value: 'suppressed', reason: 'SUPERSEDED', vms: [], attempts: 0 }]);
  t.equal(world.notifier.requests.length, 0);
});

test('HOOK-28: attempts of a group have one body, and removing an incident makes another delivery', async (t) => {
  const world = await grouping(t);
  world.notifier.answer = () => failed();
  await world.fire(['vm-1', 'vm-2', 'vm-3']);
  await world.pass(WAIT_MS + 10_000, 1_000);
  const [first, second] = world.notifier.requests;
  t.equal(world.notifier.requests.length, 2, 'the second attempt after about five seconds');
  t.equal(first?.deliveryId, second?.deliveryId);
  t.same(first?.body, second?.body);
  await world.recover(['vm-2']);
  world.notifier.answer = () => accepted;
  await world.pass(40_000, 1_000);
  const third = world.notifier.requests[2];
  t.not(third?.deliveryId, first?.deliveryId, 'changed content has a new id');
  t.match(groupsOf(world), [
    { value: 'suppressed', reason: 'SUPERSEDED', vms: ['vm-1', 'vm-2', 'vm-3'], attempts: 2 },
    { id: third?.deliveryId, value: 'sent', vms: ['vm-1', 'vm-3'], attempts: 1 },
  ]);
  const [begun, continued] = world.instances('delivery');
  t.match(continued?.context, { earlierAttempts: 2, createdMs: begun?.context.createdMs });
  await world.pass(WAIT_MS, 1_000);
  t.equal(world.notifier.requests.length, 3, 'vm-2 was not notified, so its recovery is not sent');
});

test('HOOK-22: a group whose content is rejected is sent again in the plainest form', async (t) => {
  const world = await grouping(t);
  world.notifier.answer = () =>
    world.notifier.requests.length === 1
      ? { kind: 'refused', error: 'HTTP 400', pauseDestination: false, content: true }
      : accepted;
  await world.fire(['vm-1', 'vm-2']);
  await world.pass(WAIT_MS + 2_000, 1_000);
  t.match(groupsOf(world), [
    { value: 'failed', reason: 'REFUSED', vms: ['vm-1', 'vm-2'] },
    { value: 'sent', vms: ['vm-1', 'vm-2'] },
  ]);
  await world.recover(['vm-1', 'vm-2']);
  await world.pass(WAIT_MS + 2_000, 1_000);
  t.match(groupsOf(world)[2], { event: 'RECOVERED', value: 'sent', vms: ['vm-1', 'vm-2'] });
  t.same(world.reportedFaults(), []);
});

test('HOOK-28: a member whose attempt has an unknown outcome gets its recovery', async (t) => {
  const world = await grouping(t);
  world.notifier.answer = () => failed({ unknown: true });
  await world.fire(['vm-1', 'vm-2']);
  await world.pass(WAIT_MS + 2_000, 1_000);
  world.notifier.answer = () => accepted;
  await world.recover(['vm-2']);
  await world.pass(WAIT_MS + 8_000, 1_000);
  const sent = groupsOf(world).filter(({ value }) => value === 'sent');
  const told = sent.map(({ event, vms }) => `${event} ${vms.join()}`).toSorted();
  t.same(told, ['FIRING vm-1', 'RECOVERED vm-2']);
});

test('HOOK-28: each incident names its group and finds it', async (t) => {
  const world = await grouping(t);
  await world.fire(['vm-1', 'vm-2']);
  await world.pass(WAIT_MS + 2_000, 1_000);
  const view = world.host.view(PROJECT);
  const [group] = world.deliveries();
  for (const { id: incident } of world.incidents()) {
    const ids = view.instances('delivery', { limit: 9, incident }).items.map((row) => row.instance);
    t.same(ids, [group?.id]);
    const filter = { states: ['sent'], events: ['FIRING'], incident };
    t.same(
      view.deliveries(filter, { limit: 9 }).items.map((row) => row.instance),
      [group?.id],
    );
  }
});

test('HOOK-28: each incident has its own message without a wait', async (t) => {
  const world = await grouping(t, 0);
  await world.fire(['vm-1', 'vm-2']);
  await world.pass(1_000, 500);
  t.equal(world.notifier.requests.length, 2);
  t.ok(world.deliveries().every(({ members, incident }) => members === 0 && incident !== ''));
});

test('HOOK-28: a group survives the process that gathered it', async (t) => {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.toDestination(hook, { type: 'groupWaitChanged', groupWaitMs: WAIT_MS, by: 'me' });
  await world.putInForce({ destinationNames: [hook] });
  await world.fire(['vm-1', 'vm-2']);
  await world.clock.advance(10 * WAIT_MS);
  world.startTimers();
  world.startDeliverer();
  await world.until('it is sent', () => groupsOf(world)[0]?.value === 'sent');
  t.match(groupsOf(world), [{ vms: ['vm-1', 'vm-2'] }]);
  t.equal(world.notifier.requests.length, 1);
});

type Action =
  | { readonly kind: 'fire' | 'recover' | 'snooze'; readonly vm: number }
  | { readonly kind: 'pass'; readonly seconds: number }
  | { readonly kind: 'endpoint'; readonly answers: 'accepted' | 'failed' | 'unknown' };

const someVm = fc.integer({ min: 0, max: 4 });
const actions: fc.Arbitrary<readonly Action[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('fire' as const), vm: someVm }),
    fc.record({ kind: fc.constantFrom('recover' as const, 'snooze' as const), vm: someVm }),
    fc.record({ kind: fc.constant('pass' as const), seconds: fc.constantFrom(1, 20, 45) }),
    fc.record({
      kind: fc.constant('endpoint' as const),
      answers: fc.constantFrom('accepted' as const, 'failed' as const, 'unknown' as const),
    }),
  ),
  { minLength: 4, maxLength: 25 },
);

/** Compares the incidents that an attempt named when it was opened with the facts of that time. */
function checkAttempt(world: DeliveryWorld, id: string, named: Map<string, string>): void {
  const view = world.host.view(PROJECT);
  const row = view.instance('delivery', id);
  if (!row) throw new Error(`${id} has no row`);
  const members = liveMembers(view, id, row.context);
  if (members.length === 0) throw new Error('The message names no incident');
  const text = members.map(({ incident }) => incident).join(' ');
  const before = named.get(id) ?? text;
  if (before !== text) throw new Error(`${id} named ${before}, and now ${text}`);
  named.set(id, text);
  if (row.context.event !== 'FIRING') return;
  for (const { incident: of, alertInstance } of members) {
    const incident = view.instance('alertInstance', alertInstance)?.context.incident;
    const isFiring = incident?.id === of && incident.recoveredMs === null;
    if (!isFiring || incident.snoozedUntilMs !== null) throw new Error(`${of} no longer holds`);
  }
}

async function act(world: DeliveryWorld, one: Action): Promise<void> {
  switch (one.kind) {
    case 'fire':
      return await world.fire([`vm-${one.vm}`]);
    case 'recover':
      return await world.recover([`vm-${one.vm}`]);
    case 'snooze': {
      const id = world.instances('alertInstance').find(({ context }) => {
        return context.vm === `vm-${one.vm}`;
      });
      const untilMs = world.clock.now() + 3_600_000;
      if (id)
        await world.send('alertInstance', id.instance, { type: 'snoozed', untilMs, by: 'me' });
      return;
    }
    case 'pass':
      return await world.pass(one.seconds * 1000, 1_000);
    case 'endpoint':
      world.notifier.answer = () =>
        one.answers === 'accepted' ? accepted : failed({ unknown: one.answers === 'unknown' });
  }
}

test('HOOK-28: no message names an obsolete incident or repeats one, in any order of events', async (t) => {
  let sent = 0;
  const property = fc.asyncProperty(actions, async (path) => {
    const world = await grouping(t);
    const named = new Map<string, string>();
    const { attempt } = world.notifier;
    world.notifier.attempt = (request) => {
      checkAttempt(world, request.deliveryId, named);
      return attempt.call(world.notifier, request);
    };
    for (const one of path) await act(world, one);
    world.notifier.answer = () => accepted;
    // Longer than a snooze, plus the wait of messages at its end.
    await world.pass(3_720_000, 20_000);
    const faults = world.reportedFaults();
    if (faults.length > 0) throw new Error(faults.join('\n'));
    const messages = groupsOf(world).filter(({ value }) => value === 'sent');
    sent += messages.length;
    const view = world.host.view(PROJECT);
    const notified = messages.flatMap(({ id, event }) => {
      const row = view.instance('delivery', id);
      const members = row ? liveMembers(view, id, row.context) : [];
      return members.map(({ incident, occurrence }) => `${event} ${occurrence} ${incident}`);
    });
    if (new Set(notified).size !== notified.length) throw new Error(`Twice: ${notified}`);
    const left = world.deliveries().filter(({ value }) => value === 'gathering');
    if (left.length > 0) throw new Error('A group never stops gathering');
  });
  await t.resolves(fc.assert(property, { numRuns: 12, seed: 6 }));
  t.ok(sent > 10, `${sent} messages`);
});
