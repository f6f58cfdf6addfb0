/** The time at which a failing destination is tried again, which every member can compute. */
import { test } from 'tap';
import { DestinationRests } from '../../actors/delivery/destination-rests.ts';
import type { InstanceStep } from '../../streams/platform/commit/commit.ts';
import { accepted, delivering, failed, only } from '../support/scripted-delivery.ts';

/** Applies one step of a delivery or a destination. */
function rests() {
  const rests = new DestinationRests();
  const apply = (step: object) =>
    rests.apply({ decisions: [{ steps: [step as InstanceStep] }] } as never);
  const attempt = (at: number, event: object) =>
    apply({
      machine: 'delivery',
      instance: 'dlv_1',
      from: 'sending',
      to: 'waiting',
      final: false,
      context: { destination: 'dst_1' },
      event: { at, ...event },
    });
  return {
    rests,
    fail: (at: number, more: object = {}) =>
      attempt(at, { type: 'attemptFailed', failing: true, ...more }),
    accept: (at: number) => attempt(at, { type: 'accepted' }),
    refuse: (at: number) => attempt(at, { type: 'refused' }),
    fix: (type: string) =>
      apply({
        machine: 'destination',
        instance: 'dst_1',
        final: false,
        event: { type },
        context: {},
      }),
  };
}

test('HOOK-15: after five failures the next attempt has a time', async (t) => {
  const { rests: of, fail, accept } = rests();
  for (let i = 1; i <= 4; i++) fail(i * 1_000);
  t.equal(of.untilMs('dst_1', 4_000), null);
  fail(5_000);
  t.equal(of.untilMs('dst_1', 5_000), 35_000);
  t.equal(of.untilMs('dst_1', 35_000), null, 'it is tried now');
  fail(36_000);
  t.equal(of.untilMs('dst_1', 36_000), 96_000, 'twice as long');
  accept(97_000);
  t.equal(of.untilMs('dst_1', 97_000), null);
  t.equal(of.untilMs('dst_2', 0), null);
});

test('HOOK-16: a requested rest sets that time, at most 15 minutes ahead', async (t) => {
  const { rests: of, fail, fix } = rests();
  fail(0, { restMs: 60_000 });
  t.equal(of.untilMs('dst_1', 1_000), 60_000);
  fail(1_000, { restMs: 9_000_000 });
  t.equal(of.untilMs('dst_1', 1_000), 901_000);
  fix('retargeted');
  t.equal(of.untilMs('dst_1', 1_000), null);
});

test('HOOK-22: rejections of content open no breaker', async (t) => {
  const { rests: of, refuse } = rests();
  for (let i = 0; i < 20; i++) refuse(i);
  t.equal(of.untilMs('dst_1', 20), null);
});

test('HOOK-15: a due delivery of a failing destination shows its next attempt', async (t) => {
  const world = await delivering(t);
  const rests = new DestinationRests();
  t.teardown(rests.follow(world.host));
  world.notifier.answer = () => failed();
  await world.fire(['vm-1', 'vm-2', 'vm-3', 'vm-4', 'vm-5', 'vm-6']);
  await world.pass(8_000, 500);
  const destination = world.deliveries()[0]?.destination ?? '';
  const due = world
    .deliveries()
    .filter(({ value }) => value === 'rechecking' || value === 'queued');
  t.ok(due.length > 0, 'some wait for the destination');
  const untilMs = rests.untilMs(destination, world.clock.now());
  t.ok(untilMs !== null && untilMs <= world.clock.now() + 30_000);
  const before = world.notifier.requests.length;
  world.notifier.answer = () => accepted;
  await world.pass((untilMs ?? 0) - world.clock.now() - 1, 500);
  t.equal(world.notifier.requests.length, before, 'not earlier');
  await world.pass(2_000, 500);
  t.ok(world.notifier.requests.length > before);
  t.throws(() => only(world));
});
