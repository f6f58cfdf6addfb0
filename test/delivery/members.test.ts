/**
 * Deliverers of several members on one stream, each with a host of its own: they share the work,
 * and the commits that open attempts enforce the bounds.
 */
import { type Test, test } from 'tap';
import { type DueAttempt, publishDue } from '../../actors/delivery/due-attempts.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { PROJECT } from '../support/alerting-on-host.ts';
import {
  accepted,
  type DeliveryWorld,
  failed,
  only,
  openDeliveryWorld,
  ScriptedNotifier,
} from '../support/scripted-delivery.ts';

const nobody: Ownership = {
  owns: () => false,
  epochOf: () => undefined,
  decidedBy: () => undefined,
  onChange: () => () => {},
};

/** Two members with a rule that notifies one destination; the first acts for all projects. */
async function openMembers(t: Test) {
  const owner = await openDeliveryWorld(t);
  const member = await openDeliveryWorld(t, { beside: owner });
  const hook = await owner.addDestination();
  await owner.putInForce({ destinationNames: [hook] });
  return { owner, member };
}

/** Publishes all due attempts, as an owner that forgot its caps would. */
async function publishAll(world: DeliveryWorld): Promise<DueAttempt[]> {
  const due = world.deliveries().map(({ id }) => ({ project: PROJECT, delivery: id, attempt: 1 }));
  for (const each of due) await publishDue(world.stream, each, 'all');
  return due;
}

const countOf = (world: DeliveryWorld, state: string) =>
  world.deliveries().filter(({ value }) => value === state).length;

test('HOOK-15: open attempts of a destination stay within its cap over all members', async (t) => {
  const { owner, member } = await openMembers(t);
  const wire = new ScriptedNotifier();
  let seed = 0;
  for (const [world, ownership] of [
    [owner, nobody],
    [member, nobody],
  ] as const) {
    wire.answer = () => undefined;
    world.startDeliverer({ notifier: wire, ownership, random: seededRandom(++seed) });
  }
  await owner.setCap(3);
  await owner.fire(Array.from({ length: 12 }, (_, i) => `vm-${i}`));
  await publishAll(owner);
  await owner.until('both have processed all', () => wire.hanging > 0);
  await owner.settle(300);
  t.equal(wire.hanging, 3);
  t.equal(countOf(owner, 'sending'), 3);
  wire.answer = () => accepted;
  wire.release(accepted);
  owner.startTimers();
  const { stop } = owner.startDeliverer({ notifier: wire, random: seededRandom(3) });
  await owner.pass(20_000, 1_000);
  await owner.until('all are sent', () => countOf(owner, 'sent') === 12);
  t.equal(wire.requests.length, 12, 'each once');
  await stop();
});

test('HOOK-15: messages of one incident are sent one after another by all members', async (t) => {
  const { owner, member } = await openMembers(t);
  await owner.setCap(9);
  const [first, second] = [new ScriptedNotifier(), new ScriptedNotifier()];
  first.answer = () => undefined;
  owner.startDeliverer({ notifier: first, ownership: nobody });
  await owner.fire(['vm-1']);
  await publishAll(owner);
  await owner.until('the firing is in flight', () => first.hanging === 1);
  await owner.recover(['vm-1']);
  member.startDeliverer({ notifier: second, ownership: nobody, random: seededRandom(2) });
  const recovery = owner.deliveries().find(({ value }) => value === 'queued');
  const due = { project: PROJECT, delivery: recovery?.id ?? '', attempt: 1 };
  for (let i = 0; i < 4; i++) await publishDue(owner.stream, due, `early ${i}`);
  await owner.settle(200);
  t.same([...first.events(), ...second.events()], ['incident.firing of vm-1']);
  first.answer = () => accepted;
  first.release(accepted);
  await owner.until('it is sent', () => countOf(owner, 'sent') === 1);
  await publishDue(owner.stream, due, 'in time');
  await owner.until('both are sent', () => countOf(owner, 'sent') === 2);
});

test('HOOK-12: a message that a member received but did not open is opened by another', async (t) => {
  const { owner, member } = await openMembers(t);
  // It receives the message, and dies before its opening is committed.
  member.faults.append = ({ stream }) => (stream === 'EVENTS' ? 'refused' : undefined);
  const dead = member.startDeliverer({ ownership: nobody });
  const dispatcher = owner.startDeliverer({ delivers: false });
  await owner.fire(['vm-1']);
  await owner.settle(100);
  t.equal(only(owner).value, 'queued');
  const ending = dead.stop();
  const wire = new ScriptedNotifier();
  await dispatcher.stop();
  owner.startDeliverer({ notifier: wire });
  await owner.pass(15_000, 1_000);
  await owner.until('it is sent', () => only(owner).value === 'sent');
  t.equal(wire.requests.length, 1);
  member.faults.append = () => undefined;
  await owner.pass(15_000, 1_000);
  await ending;
});

test('a delivery that ended elsewhere is no fault of a member that lags behind', async (t) => {
  const { owner, member } = await openMembers(t);
  owner.startTimers();
  const wire = new ScriptedNotifier();
  wire.answer = () => failed();
  const { stop } = owner.startDeliverer({ notifier: wire });
  await owner.fire(['vm-1']);
  await owner.until('an attempt has failed', () => only(owner).value === 'waiting');
  await stop();
  await owner.pass(60_000, 5_000);
  await owner.until('the next one is due', () => only(owner).value === 'rechecking');
  // The state that another member leaves after sending; this one has not read it yet.
  owner.bodies.clear();
  await publishDue(owner.stream, { project: PROJECT, delivery: only(owner).id, attempt: 2 }, 'x');
  member.bodies.clear();
  // A body rendered now would differ.
  await member.contents.body(member.host.view(PROJECT), only(owner), 'another');
  const behind = new ScriptedNotifier();
  member.startDeliverer({ notifier: behind, ownership: nobody });
  await owner.pass(5_000, 1_000);
  t.same([behind.requests.length, member.reportedFaults()], [0, []]);
});

test('a member without the role dispatches, and leaves sending to others', async (t) => {
  const { owner, member } = await openMembers(t);
  const inside = new ScriptedNotifier();
  const { deliverer } = owner.startDeliverer({ notifier: inside, delivers: false });
  await owner.fire(['vm-1', 'vm-2']);
  await owner.settle(100);
  t.same([inside.requests.length, deliverer.queues()], [0, 1]);
  member.startDeliverer({ ownership: nobody });
  await owner.until('all are sent', () => countOf(owner, 'sent') === 2);
  t.same(inside.requests, []);
});

test('the queue of a project is dropped when another member acts for it', async (t) => {
  const { owner } = await openMembers(t);
  let isOwner = true;
  const listeners = new Set<() => void>();
  const ownership: Ownership = {
    owns: () => isOwner,
    epochOf: () => (isOwner ? 1 : undefined),
    decidedBy: () => undefined,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const setOwner = (is: boolean) => {
    isOwner = is;
    for (const listener of listeners) listener();
  };
  owner.notifier.answer = () => failed();
  const { deliverer } = owner.startDeliverer({ ownership });
  await owner.fire(Array.from({ length: 9 }, (_, i) => `vm-${i}`));
  await owner.until('some failed', () => owner.notifier.requests.length === 5);
  t.equal(deliverer.queues(), 1);
  setOwner(false);
  await owner.pass(1_000);
  t.equal(deliverer.queues(), 0);
  owner.notifier.answer = () => accepted;
  setOwner(true);
  await owner.pass(2_000, 1_000);
  await owner.until('due deliveries are sent', () => countOf(owner, 'queued') === 0);
});

test('changes during a brief lapse of a lease block nothing', async (t) => {
  const { owner } = await openMembers(t);
  let isOwner = true;
  // No listener is called: the lapse ends before the member checks its leases again.
  const ownership: Ownership = { ...soleOwner, owns: () => isOwner };
  owner.notifier.answer = () => undefined;
  owner.startTimers();
  owner.startDeliverer({ ownership });
  await owner.fire(['vm-1', 'vm-2']);
  await owner.until('one is in flight', () => owner.notifier.hanging === 1);
  isOwner = false;
  owner.notifier.release(failed());
  await owner.until('it failed', () => countOf(owner, 'waiting') === 1);
  isOwner = true;
  owner.notifier.answer = () => accepted;
  await owner.pass(60_000, 1_000);
  t.equal(countOf(owner, 'sent'), 2);
});

test('HOOK-15: up to 64 attempts are opened by one commit and closed by one', async (t) => {
  const { owner } = await openMembers(t);
  await owner.setCap(64);
  owner.notifier.answer = () => undefined;
  await owner.fire(Array.from({ length: 100 }, (_, i) => `vm-${i}`));
  const sizes: number[] = [];
  const undo = owner.host.onApplied(({ commit: { decisions } }) => {
    const steps = decisions.flatMap((decision) => decision.steps);
    const attempts = steps.filter(({ event }) => ['cleared', 'accepted'].includes(event.type));
    if (attempts.length > 0) sizes.push(attempts.length);
  });
  owner.startDeliverer();
  await owner.until('the cap is reached', () => owner.notifier.hanging === 64);
  t.same([sizes.reduce((sum, size) => sum + size), sizes.length <= 4], [64, true], sizes.join());
  sizes.length = 0;
  undo();
  const closed: number[] = [];
  owner.host.onApplied(({ commit: { decisions } }) => {
    const steps = decisions.flatMap((decision) => decision.steps);
    const accepted = steps.filter(({ event }) => event.type === 'accepted').length;
    if (accepted > 0) closed.push(accepted);
  });
  owner.notifier.answer = () => accepted;
  owner.notifier.release(accepted);
  await owner.until('all are sent', () => countOf(owner, 'sent') === 100);
  t.equal(closed[0], 64, closed.join());
});

test('ends of attempts in quick succession share a commit', async (t) => {
  const { owner } = await openMembers(t);
  await owner.setCap(64);
  owner.notifier.answer = () => undefined;
  await owner.fire(Array.from({ length: 41 }, (_, i) => `vm-${i}`));
  owner.startDeliverer();
  await owner.until('all are in flight', () => owner.notifier.hanging === 41);
  const closed: number[] = [];
  owner.host.onApplied(({ commit: { decisions } }) => {
    const steps = decisions.flatMap((decision) => decision.steps);
    const accepted = steps.filter(({ event }) => event.type === 'accepted').length;
    if (accepted > 0) closed.push(accepted);
  });
  for (let turn = 0; turn < 40; turn++) {
    owner.notifier.release(accepted, 1);
    await nextTurn();
  }
  await owner.until('all but one are recorded', () => countOf(owner, 'sent') === 40);
  t.same(closed, [40], 'without waiting for the slow one');
  owner.notifier.release(accepted);
  await owner.until('the last one is recorded', () => countOf(owner, 'sent') === 41);
});
