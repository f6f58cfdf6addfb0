/**
 * Outcomes and their effect on a destination and its queue: faults of the service have none, days
 * of failures pause it, and a repaired destination is tried at once.
 */
import { test } from 'tap';
import { startTestDelivery } from '../../actors/delivery/audience.ts';
import { NEWER } from '../simulation/programs.ts';
import { by, openAlertingWorld, PROJECT } from '../support/alerting-on-host.ts';
import { accepted, delivering, failed } from '../support/scripted-delivery.ts';
import { submit } from '../support/submit.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ours = failed({ ours: true, error: 'The mail server of this service rejected it' });

test('a fault of the service is retried, is not counted and pauses nothing', async (t) => {
  const world = await delivering(t);
  const hook = () => world.instances('destination')[0];
  world.notifier.answer = () => ours;
  const vms = Array.from({ length: 12 }, (_, i) => `vm-${i}`);
  await world.fire(vms);
  await world.until('all were tried', () => world.notifier.requests.length >= 12);
  t.equal(world.notifier.requests.length, 12, 'no breaker blocks the other seven');
  t.match(hook()?.context, { failingSinceMs: null, lastFailedMs: null });
  await world.pass(7_000, 1_000);
  t.equal(world.notifier.requests.length, 24, 'each is tried again on schedule');
  for (let day = 0; day < 5; day++) {
    await world.fire([`later-${day}`]);
    await world.pass(HOUR_MS / 4, 60_000);
    world.clock.jump(DAY_MS / 2);
    await world.pass(60_000, 60_000);
    world.clock.jump(DAY_MS / 2 - HOUR_MS / 4);
  }
  t.equal(hook()?.value, 'active');
  t.same(world.host.view('demo').records('notice', { limit: 9 }).items, []);
});

test('DUR-21: an outcome is recorded although a newer program has moved the destination', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => undefined;
  await world.fire(['vm-1']);
  await world.until('it is sent', () => world.notifier.hanging === 1);
  const newer = await openAlertingWorld(t, { beside: world, machines: NEWER.machines });
  const destination = world.hook.slice(world.hook.lastIndexOf('/') + 1);
  await submit(newer.host, { project: PROJECT, by }, (draft) => {
    const event = { type: 'attemptCapChanged', at: draft.at, attemptCap: 3 } as const;
    draft.send('destination', destination, event);
  });
  const cap = () => world.instances('destination')[0]?.context.attemptCap;
  await world.until('the older program has applied it', () => cap() === 3);
  const [before] = world.instances('destination');
  world.notifier.release(failed({ slows: true }));
  await world.until('it failed', () => world.deliveries()[0]?.value === 'waiting');
  t.match(world.deliveries()[0]?.attempts, [{ outcome: 'failed' }]);
  t.same(world.instances('destination')[0]?.context, before?.context, 'left to newer members');
});

test('two failures three days apart do not pause a destination', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed();
  await world.fire(['vm-1']);
  await world.until('it failed', () => world.deliveries()[0]?.value === 'waiting');
  world.notifier.missing.add('webhook');
  world.clock.jump(3 * DAY_MS);
  await world.pass(30_000, 5_000);
  world.notifier.missing.clear();
  await world.fire(['vm-2']);
  await world.until('it failed', () => world.notifier.requests.length === 2);
  await world.settle();
  const [hook] = world.instances('destination');
  t.equal(hook?.value, 'active');
  t.equal(hook?.context.failingSinceMs, hook?.context.lastFailedMs, 'it restarts');
});

test('a test message to a repaired destination is sent at once', async (t) => {
  const kept = { urlId: 'url_2', urlDigest: 'd', host: 'h', lastFour: 'abcd' };
  for (const mend of ['retargeted', 'resumed']) {
    const world = await delivering(t);
    world.notifier.answer = () => failed({ slows: true, retryAfterMs: HOUR_MS });
    await world.fire(Array.from({ length: 5 }, (_, i) => `vm-${i}`));
    await world.until('it rests', () => world.notifier.requests.length === 1);
    await world.settle();
    if (mend === 'resumed') await world.toDestination(world.hook, { ...paused, by: 'me' });
    world.notifier.answer = () => accepted;
    await world.toDestination(world.hook, { type: mend, ...kept, by: 'me' });
    const destination = world.hook.slice(world.hook.lastIndexOf('/') + 1);
    await submit(world.host, { project: 'demo', by }, (draft) =>
      startTestDelivery(draft, { destination, recipient: null, test: '1' }),
    );
    await world.settle();
    t.ok(
      world.notifier.requests.some(({ event }) => event === 'test'),
      mend,
    );
  }
});

const paused = { type: 'paused', reason: 'Mending it' };
