/** Requirements of notifications: STATE-11 to STATE-13, EVENT-03, EVENT-05, LIMIT-18. */
import { test } from 'tap';
import {
  accepted,
  type DeliveryWorld,
  delivering,
  failed,
  only,
} from '../support/scripted-delivery.ts';

const HOUR_MS = 3_600_000;
type Delivering = Awaited<ReturnType<typeof delivering>>;

/** A firing whose first attempt failed. */
async function waiting(t: Parameters<typeof delivering>[0]): Promise<Delivering> {
  const world = await delivering(t);
  world.notifier.answer = () => failed();
  await world.fire(['vm-1']);
  await world.until('it waits', () => only(world).value === 'waiting');
  world.notifier.answer = () => accepted;
  return world;
}

test('STATE-11: a notification is sent once the endpoint accepts an attempt', async (t) => {
  const world = await waiting(t);
  t.equal(only(world).value, 'waiting', 'not before acceptance');
  await world.pass(7_000, 500);
  t.match(only(world), { value: 'sent', reason: null });
  t.match(only(world).attempts, [{ outcome: 'failed' }, { outcome: 'accepted', httpStatus: 200 }]);
  const fields = Object.keys(only(world));
  t.notOk(
    fields.some((name) => /read|seen|opened/i.test(name)),
    'Sent does not mean read',
  );
});

test('STATE-12: removed recipients, pauses, recoveries and snoozes are rechecked before sending', async (t) => {
  const cases: Readonly<Record<string, (world: Delivering) => Promise<unknown>>> = {
    PAUSED: ({ toDestination, hook }) =>
      toDestination(hook, { type: 'paused', reason: 'x', by: 'me' }),
    DESTINATION_DELETED: ({ toDestination, hook }) =>
      toDestination(hook, { type: 'deleted', by: 'me' }),
    SUPERSEDED: ({ recover }) => recover(['vm-1']),
    SNOOZED: ({ sendAlert, clock }) =>
      sendAlert('vm-1', { type: 'snoozed', untilMs: clock.now() + HOUR_MS, by: 'me' }),
  };
  for (const [reason, happen] of Object.entries(cases)) {
    const world = await waiting(t);
    await happen(world);
    await world.pass(60_000, 5_000);
    t.match(only(world), { value: 'suppressed', reason });
    t.equal(world.notifier.requests.length, 1, reason);
  }
});

test('STATE-13: expired and obsolete firing messages are never sent later', async (t) => {
  const expired = await waiting(t);
  expired.clock.jump(24 * HOUR_MS);
  await expired.pass(60_000, 5_000);
  t.match(only(expired), { value: 'expired', reason: 'EXPIRED' });
  t.equal(expired.notifier.requests.length, 1);
  const recovered = await waiting(t);
  await recovered.recover(['vm-1']);
  await recovered.pass(24 * HOUR_MS, HOUR_MS);
  t.equal(recovered.notifier.requests.length, 1);
});

test('EVENT-03: a notification is delivered at least once, with bounded retries for up to 24 hours', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed();
  await world.fire(['vm-1']);
  await world.pass(2 * HOUR_MS, 60_000);
  const { attempts } = only(world);
  t.ok(attempts.length >= 6 && attempts.length <= 12, `${attempts.length} in two hours`);
  world.notifier.answer = () => accepted;
  await world.pass(3 * HOUR_MS, 600_000);
  t.equal(only(world).value, 'sent', 'once the endpoint is available again');
});

test('EVENT-05: a timed-out attempt may have been accepted, and its retry keeps the delivery id', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed({ unknown: true, error: 'No answer within 10 s' });
  await world.fire(['vm-1']);
  await world.until('it waits', () => only(world).value === 'waiting');
  t.match(only(world).attempts, [{ outcome: 'unknown', error: 'No answer within 10 s' }]);
  world.notifier.answer = () => accepted;
  await world.pass(7_000, 500);
  const [first, second] = world.notifier.requests;
  t.equal(second?.deliveryId, first?.deliveryId, 'by which a receiver recognises it');
  t.not(second?.attemptId, first?.attemptId);
  t.same(second?.body, first?.body);
});

test('LIMIT-18: webhook retries end after 24 hours', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed();
  await world.fire(['vm-1']);
  const { createdMs } = only(world);
  await liveThrough(world, 26 * HOUR_MS);
  t.equal(only(world).value, 'expired');
  const last = only(world).attempts.at(-1)?.startedMs ?? 0;
  t.ok(last - createdMs > 23 * HOUR_MS, 'tried until the end');
  t.ok(last - createdMs < 24 * HOUR_MS, 'not after it');
});

/** In steps short enough for every wait of an hour. */
function liveThrough(world: DeliveryWorld, ms: number): Promise<void> {
  return world.pass(ms, 900_000);
}
