/**
 * The sweep over rows: lost messages, attempts of dead processes, bodies of ended deliveries. A row
 * that cannot be processed delays no other.
 */
import { test } from 'tap';
import type { Host } from '../../actors/platform/host/host-port.ts';
import {
  accepted,
  bodyOf,
  delivering,
  failed,
  only,
  openDeliveryWorld,
  ScriptedNotifier,
} from '../support/scripted-delivery.ts';

test('HOOK-12: a due attempt with a lost message is published again', async (t) => {
  const world = await delivering(t);
  world.faults.append = ({ stream }) => (stream === 'DELIVERIES' ? 'refused' : undefined);
  await world.fire(['vm-1']);
  await world.settle();
  t.same(world.notifier.requests, []);
  t.match(world.reportedFaults(), [/publishing a due attempt: StreamUnavailable/]);
  world.faults.append = () => undefined;
  await world.pass(10_000, 5_000);
  await world.until('it is sent', () => only(world).value === 'sent');
});

test('HOOK-11: an attempt of a dead process is unknown and retried as the same delivery', async (t) => {
  const world = await openDeliveryWorld(t);
  await world.putInForce({ destinationNames: [await world.addDestination()] });
  const wire = new ScriptedNotifier();
  wire.answer = () => undefined;
  const dead = world.startDeliverer({ notifier: wire });
  await world.fire(['vm-1']);
  await world.until('it is in flight', () => wire.hanging === 1);
  // Its process no longer takes any work. Another one starts over the same rows.
  const stopping = dead.stop();
  world.startTimers();
  world.notifier.answer = () => undefined;
  world.startDeliverer();
  await world.pass(14_000, 1_000);
  t.equal(only(world).value, 'sending', 'a young attempt may be in progress elsewhere');
  await world.pass(1_000);
  await world.until('it is found', () => only(world).value === 'waiting');
  t.match(only(world).attempts, [{ outcome: 'unknown' }]);
  await world.pass(6_500, 500);
  await world.until('it is tried again', () => world.notifier.hanging === 1);
  wire.release(failed());
  await stopping;
  t.match(only(world), { value: 'sending' }, 'an outcome applies only to its own attempt');
  world.notifier.release(accepted);
  await world.until('it is sent', () => only(world).value === 'sent');
  t.match(only(world).attempts, [{ outcome: 'unknown' }, { outcome: 'accepted' }]);
  const [first, second] = [...wire.requests, ...world.notifier.requests];
  t.equal(first?.deliveryId, second?.deliveryId);
  t.not(first?.attemptId, second?.attemptId);
  t.same(first?.body, second?.body);
});

test('an attempt that began in the future counts as young: its member’s clock was ahead', async (t) => {
  const world = await openDeliveryWorld(t);
  await world.putInForce({ destinationNames: [await world.addDestination()] });
  const wire = new ScriptedNotifier();
  wire.answer = () => undefined;
  const other = world.startDeliverer({ notifier: wire });
  await world.fire(['vm-1']);
  await world.until('it is in flight', () => wire.hanging === 1);
  const stopping = other.stop();
  world.clock.jump(-20_000);
  world.startDeliverer();
  await world.pass(14_000, 1_000);
  t.equal(only(world).value, 'sending');
  await world.pass(2_000, 1_000);
  await world.until('it is lost at the end of its time', () => only(world).value === 'waiting');
  wire.release(accepted);
  await stopping;
});

test('a lost attempt that cannot be recorded delays no other', async (t) => {
  const world = await openDeliveryWorld(t);
  const hooks = [await world.addDestination(), await world.addDestination()];
  await world.putInForce({ destinationNames: hooks });
  const wire = new ScriptedNotifier();
  wire.answer = () => undefined;
  const dead = world.startDeliverer({ notifier: wire });
  await world.fire(['vm-1']);
  await world.until('both are in flight', () => wire.hanging === 2);
  const stopping = dead.stop();
  await world.pass(15_000, 1_000);
  world.startTimers();
  let submitted = 0;
  const submit: Host['submit'] = (submission) => {
    if (++submitted === 1) throw new Error('The row is damaged');
    return world.host.submit(submission);
  };
  world.startDeliverer({ host: { ...world.host, submit } });
  const values = () => world.deliveries().map(({ value }) => value);
  await world.until('one is recorded', () => values().includes('waiting'));
  t.same(values().sort(), ['sending', 'waiting']);
  t.match(world.reportedFaults(), [/handling dlv_.*The row is damaged/]);
  await world.pass(60_000, 1_000);
  await world.until('the other one is recorded', () => values().every((value) => value === 'sent'));
  wire.release(accepted);
  await stopping;
});

test('bodies of deliveries that end together are deleted in one write', async (t) => {
  const world = await delivering(t);
  await world.fire(Array.from({ length: 100 }, (_, i) => `vm-${i}`));
  const isSent = ({ value }: { value: unknown }) => value === 'sent';
  await world.until('all are sent', () => world.deliveries().every(isSent));
  t.same(
    world.discarded.map(({ length }) => length),
    [64],
    'the rest waits for more',
  );
  await world.pass(1_000);
  t.equal(world.bodies.size, 0);
  await world.fire(['vm-last']);
  await world.until('it is sent', () => world.deliveries().every(isSent));
  await world.stop();
  t.equal(world.bodies.size, 0, 'at a stop without waiting');
});

test('a body is deleted even if the commit that would open its attempt suppresses it', async (t) => {
  const world = await delivering(t);
  const { body } = world.contents;
  // Snoozed after the check before the body, and before the commit that decides.
  world.contents.body = (...args) => {
    void world.sendAlert('vm-1', {
      type: 'snoozed',
      untilMs: world.clock.now() + 60_000,
      by: 'me',
    });
    return body(...args);
  };
  await world.fire(['vm-1']);
  await world.until('it is suppressed', () => only(world).value === 'suppressed');
  t.same([only(world).bodyDigest, world.bodies.size], [null, 1]);
  await world.pass(1_000);
  t.equal(world.bodies.size, 0);
});

test('unused bodies from before a crash are deleted at the start, those in use are not', async (t) => {
  const world = await openDeliveryWorld(t);
  await world.putInForce({ destinationNames: [await world.addDestination()] });
  world.notifier.answer = ({ body }) => (bodyOf(body).vm === 'vm-1' ? accepted : failed());
  const first = world.startDeliverer();
  await world.fire(['vm-1', 'vm-2']);
  await world.until('one is sent, one waits', () =>
    ['sent', 'waiting'].every((state) => world.deliveries().some(({ value }) => value === state)),
  );
  const left = new Map(world.bodies);
  await first.stop();
  for (const [id, bytes] of left) world.bodies.set(id, bytes);
  t.equal(world.bodies.size, 2);
  world.startDeliverer();
  await world.pass(1_000);
  const kept = world.deliveries().filter(({ value }) => value === 'waiting');
  t.same(
    [...world.bodies.keys()],
    kept.map(({ id }) => id),
  );
  t.equal(kept.length, 1);
  t.same(world.reportedFaults(), []);
});

test('a deleted failing destination leaves nothing behind', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed();
  await world.fire(Array.from({ length: 7 }, (_, i) => `vm-${i}`));
  await world.until('its breaker is open', () => world.notifier.requests.length === 5);
  t.equal(world.deliverer.queues(), 1);
  await world.toDestination(world.hook, { type: 'deleted', by: 'me' });
  await world.pass(20_000, 1_000);
  t.ok(world.deliveries().every(({ value }) => value === 'suppressed'));
  t.equal(world.deliverer.queues(), 0);
});

test('DUR-29: a damaged delivery of one project delays no delivery of another', async (t) => {
  const world = await openDeliveryWorld(t);
  for (const project of ['damaged', 'whole']) {
    const destinationNames = [await world.addDestination(project)];
    await world.putInForce({ destinationNames }, { project });
    await world.fire(['vm-1'], { project });
  }
  world.database.exec(
    `UPDATE instances SET checksum = checksum + 1
      WHERE machine = 'delivery' AND project = 'damaged'`,
  );
  world.startTimers();
  world.startDeliverer();
  await world.until('the other project is notified', () => world.notifier.requests.length === 1);
  t.match(world.reportedFaults(), [/sweep of a project: DamagedRow: .*damaged delivery/]);
});
