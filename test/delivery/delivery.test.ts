/**
 * The deliverer on a real host, against a scripted endpoint: the effect of an attempt's outcome,
 * the recheck before it, and the state after a crash.
 */
import { once } from 'node:events';
import { test } from 'tap';
import { startTestDelivery } from '../../actors/delivery/audience.ts';
import type { AttemptOutcome } from '../../actors/delivery/notifier-port.ts';
import { publishDue } from '../../actors/delivery/queues.ts';
import { supervise } from '../../actors/platform/supervision.ts';
import type { Delivery, Stream } from '../../streams/platform/stream.ts';
import { by, PROJECT } from '../support/alerting-on-host.ts';
import {
  accepted,
  bodyOf,
  type DeliveryWorld,
  delivering,
  failed,
  only,
  openDeliveryWorld,
} from '../support/scripted-delivery.ts';
import { submit } from '../support/submit.ts';

const HOUR_MS = 3_600_000;

test('an accepted attempt ends the delivery, and its body is deleted', async (t) => {
  const world = await delivering(t);
  await world.fire(['vm-1']);
  await world.until('it is sent', () => only(world).value === 'sent');
  const [request] = world.notifier.requests;
  t.match(request, {
    deliveryId: only(world).id,
    event: 'incident.firing',
    target: { kind: 'webhook', url: /^https:/, secrets: [/^whsec_/] },
    incident: only(world).incident,
    timestampUnix: world.clock.now() / 1000,
    deadlineElapsedMs: world.clock.elapsed() + 10_000,
  });
  t.match(only(world).attempts, [
    { attemptId: request?.attemptId, outcome: 'accepted', httpStatus: 200 },
  ]);
  await world.pass(1_000);
  t.equal(world.bodies.size, 0);
  t.same([world.outcomes, world.reportedFaults()], [['accepted'], []]);
  await world.pass(2 * HOUR_MS, 60_000);
  t.equal(world.notifier.requests.length, 1);
});

test('HOOK-10: a failed attempt is retried on schedule, with one body and new attempt ids', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed();
  await world.fire(['vm-1']);
  const times: number[] = [];
  const bounds = [5, 30, 120, 300, 900];
  for (const [i, seconds] of bounds.entries()) {
    await world.until('it waits', () => only(world).value === 'waiting');
    t.equal(world.notifier.requests.length, i + 1);
    const waitMs = (only(world).nextAttemptMs ?? 0) - world.clock.now();
    times.push(waitMs / 1000 / seconds);
    await world.pass(waitMs - 1);
    t.equal(world.notifier.requests.length, i + 1, 'not earlier');
    await world.pass(1);
    await world.until('it is tried', () => world.notifier.requests.length === i + 2);
  }
  t.ok(
    times.every((ratio) => ratio >= 0.8 && ratio <= 1.2),
    String(times),
  );
  t.equal(
    new Set(times.map((ratio) => ratio.toFixed(6))).size,
    bounds.length,
    'each attempt has its own id',
  );
  const { requests } = world.notifier;
  t.equal(new Set(requests.map(({ deliveryId }) => deliveryId)).size, 1);
  t.equal(new Set(requests.map(({ attemptId }) => attemptId)).size, requests.length);
  t.same(new Set(requests.map(({ body }) => bodyOf(body).rendering)), new Set([1]));
  t.match(only(world).bodyDigest, /^[0-9a-f]{64}$/);
});

test('HOOK-13: Retry-After lengthens the wait and never shortens it', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed({ httpStatus: 429, retryAfterMs: 600_000 });
  await world.fire(['vm-1']);
  await world.until('it waits', () => only(world).value === 'waiting');
  t.equal(only(world).nextAttemptMs, world.clock.now() + 600_000);
  world.notifier.answer = () => failed({ retryAfterMs: 1 });
  await world.pass(600_000, 60_000);
  await world.until('it waits again', () => only(world).attempts.length === 2);
  await world.until('it waits again', () => only(world).value === 'waiting');
  t.ok((only(world).nextAttemptMs ?? 0) - world.clock.now() >= 24_000);
});

test('HOOK-13: Retry-After beyond 24 hours leaves one last attempt before the limit', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () =>
    failed({ httpStatus: 503, slows: true, retryAfterMs: 99 * HOUR_MS, isGlobalLimit: true });
  await world.fire(['vm-1']);
  await world.until('it waits', () => only(world).value === 'waiting');
  const { createdMs, nextAttemptMs } = only(world);
  t.equal(nextAttemptMs, createdMs + 24 * HOUR_MS - 60_000);
  await world.pass(24 * HOUR_MS - 61_000, 2 * HOUR_MS);
  t.equal(world.notifier.requests.length, 1);
  await world.pass(60_000, 1_000);
  t.match(only(world), { value: 'expired', reason: 'EXPIRED' });
  t.equal(only(world).attempts[1]?.startedMs, nextAttemptMs, 'the last one');
  await world.pass(2 * HOUR_MS, HOUR_MS);
  t.equal(world.notifier.requests.length, 2, 'no attempt follows it');
});

test('HOOK-13: Retry-After delays a firing message by at most an hour', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed({ httpStatus: 429, slows: true, retryAfterMs: 9 * HOUR_MS });
  await world.fire(['vm-1']);
  await world.until('it waits', () => only(world).value === 'waiting');
  t.equal(only(world).nextAttemptMs, only(world).createdMs + HOUR_MS);
  world.notifier.answer = () => accepted;
  await world.pass(HOUR_MS + 1_000, 60_000);
  t.equal(only(world).value, 'sent');
  world.notifier.answer = () => failed({ httpStatus: 429, slows: true, retryAfterMs: 9 * HOUR_MS });
  await world.recover(['vm-1']);
  const recovery = () => world.deliveries().find(({ event }) => event === 'RECOVERED');
  await world.until('the recovery waits', () => recovery()?.value === 'waiting');
  t.equal(recovery()?.nextAttemptMs, (recovery()?.createdMs ?? 0) + 9 * HOUR_MS, 'as requested');
});

const contentRefused: AttemptOutcome = {
  kind: 'refused',
  httpStatus: 400,
  error: 'Discord answered 400: it rejected the message',
  pauseDestination: false,
  content: true,
};

test('HOOK-22: a message whose content is rejected is sent again in the plainest form', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => (world.notifier.requests.length === 1 ? contentRefused : accepted);
  await world.fire(['vm-1']);
  await world.until('both ended', () =>
    world.deliveries().every(({ reason, value }) => reason || value === 'sent'),
  );
  const rows = world
    .instances('delivery')
    .map(({ value, context }) => ({ value, ...context }))
    .toSorted((a, b) => Number(a.isPlain ?? false) - Number(b.isPlain ?? false));
  t.match(rows, [
    { value: 'failed', reason: 'REFUSED', isPlain: undefined, attempts: { length: 1 } },
    { value: 'sent', isPlain: true, attempts: { length: 1 }, incident: rows[0]?.incident },
  ]);
  t.match(rows[0]?.attempts[0]?.error, /it rejected the message. A new delivery repeats it/);
  const [first, second] = world.notifier.requests;
  t.not(first?.deliveryId, second?.deliveryId, 'changed content has a new id');
  t.same(noticesOf(world), [], 'the page arrived');
  await world.recover(['vm-1']);
  await world.until('the recovery is sent', () => world.notifier.requests.length === 3);
  t.same(
    world.notifier.events(),
    Array.from(['firing', 'firing', 'recovered'], (e) => `incident.${e} of vm-1`),
  );
  t.same(world.reportedFaults(), []);
});

test('HOOK-22: the plainest form is sent once, and its rejection is a notice', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => contentRefused;
  await world.fire(['vm-1']);
  await world.pass(2 * HOUR_MS, 60_000);
  t.equal(world.notifier.requests.length, 2);
  t.match(noticesOf(world), [
    { kind: 'MESSAGES_REFUSED', text: /rejects all messages.*Discord answered 400/, endedMs: null },
  ]);
  world.notifier.answer = () => accepted;
  await world.fire(['vm-2']);
  await world.until('it is sent', () => world.notifier.requests.length === 3);
  await world.settle();
  t.match(noticesOf(world), [{ endedMs: Number }], 'it ends with the next accepted message');
});

test('HOOK-22: rejected messages do not delay the others', async (t) => {
  const world = await delivering(t);
  const isPlain = (id: string) =>
    world.host.view(PROJECT).instance('delivery', id)?.context.isPlain === true;
  world.notifier.answer = ({ deliveryId }) => (isPlain(deliveryId) ? accepted : contentRefused);
  await world.fire(Array.from({ length: 20 }, (_, i) => `vm-${i}`));
  await world.until('all arrived', () => world.deliveries().filter(sent).length === 20);
  t.equal(world.deliveries().length, 40);
  t.ok(world.clock.elapsed() < 5_000, 'no breaker opened');
  t.same(noticesOf(world), []);
});

test('HOOK-22: a rejected test is also sent again in the plainest form', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => contentRefused;
  const destination = world.hook.slice(world.hook.lastIndexOf('/') + 1);
  for (const test of ['one', 'two']) {
    await submit(world.host, { project: PROJECT, by }, (draft) =>
      startTestDelivery(draft, { destination, recipient: null, test }),
    );
  }
  const ended = () => world.deliveries().filter(({ value }) => value === 'failed');
  await world.until('all ended', () => ended().length === 4);
  t.equal(world.notifier.requests.length, 4);
});

const noticesOf = (world: DeliveryWorld) =>
  world.host
    .view(PROJECT)
    .records('notice', { limit: 9 })
    .items.map(({ body }) => body);

test('HOOK-16: a throttling endpoint gets one attempt at a time after its rest', async (t) => {
  const world = await delivering(t);
  await world.fire(Array.from({ length: 20 }, (_, i) => `vm-${i}`));
  await world.until('all are sent', () => world.deliveries().every(sent));
  world.notifier.answer = () => failed({ httpStatus: 429, slows: true, retryAfterMs: 60_000 });
  world.notifier.requests.length = 0;
  await world.fire(Array.from({ length: 40 }, (_, i) => `late-${i}`));
  await world.until('it failed', () => world.notifier.requests.length >= 1);
  await world.settle();
  const requested = world.notifier.requests.length;
  t.ok(requested <= 21, 'attempts that were in flight together');
  await world.pass(59_000, 1_000);
  t.equal(world.notifier.requests.length, requested, 'it rests');
  world.notifier.answer = () => undefined;
  await world.pass(2_000, 1_000);
  t.equal(world.notifier.hanging, 1, 'then one at a time');
  world.notifier.answer = () => accepted;
  world.notifier.release(accepted);
});

test('bodies of attempts that begin together are stored in one write, before any commit', async (t) => {
  const world = await openDeliveryWorld(t);
  const hooks = [];
  for (let i = 0; i < 5; i++) hooks.push(await world.addDestination());
  await world.putInForce({ destinationNames: hooks });
  await world.fire(['vm-1']);
  world.startDeliverer();
  await world.until('all are sent', () => world.deliveries().every(sent));
  t.same(world.kept, [5]);
});

test('answers are stored together beside the rows, and are in no commit', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed({ excerpt: 'Out of order' });
  await world.fire(['vm-1']);
  await world.until('it waits', () => only(world).value === 'waiting');
  world.notifier.answer = () => accepted;
  await world.pass(7_000, 500);
  t.equal(only(world).value, 'sent');
  const [first] = only(world).attempts;
  t.same(world.excerpts, [
    { deliveryId: only(world).id, attemptId: first?.attemptId, excerpt: 'Out of order' },
  ]);
  const { items } = world.host.view(PROJECT).transitions({ limit: 1_000, machine: 'delivery' });
  t.ok(items.length > 3);
  t.notMatch(JSON.stringify([items, only(world)]), /Out of order/);
});

test('a delivery that never succeeds expires after 24 hours, and its body is deleted', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => failed();
  await world.fire(['vm-1']);
  while (only(world).value !== 'expired') {
    // A breaker stays open for at most a quarter of an hour of the time that really passes.
    const { value, nextAttemptMs } = only(world);
    if (value === 'waiting') world.clock.jump((nextAttemptMs ?? 0) - world.clock.now());
    await world.pass(HOUR_MS / 4, 60_000);
  }
  t.match(only(world), { value: 'expired', reason: 'EXPIRED' });
  const { attempts, createdMs } = only(world);
  t.ok(attempts.length >= 11, `${attempts.length} attempts`);
  t.ok(attempts.every(({ startedMs }) => startedMs < createdMs + 24 * HOUR_MS));
  t.equal(world.bodies.size, 0);
});

test('HOOK-13: nothing is sent after 24 hours, even if no timer ended the delivery', async (t) => {
  const world = await openDeliveryWorld(t);
  await world.putInForce({ destinationNames: [await world.addDestination()] });
  await world.fire(['vm-1']);
  world.clock.jump(24 * HOUR_MS);
  world.startDeliverer();
  await world.until('it has expired', () => only(world).value === 'expired');
  t.same(world.notifier.requests, []);
});

test('a hanging destination delays no other', async (t) => {
  const world = await openDeliveryWorld(t);
  const [slow, fast] = [await world.addDestination(), await world.addDestination()];
  await world.putInForce({ destinationNames: [slow, fast] });
  const slowId = slow.slice(slow.lastIndexOf('/') + 1);
  const slowRow = world.instances('destination').find(({ instance }) => instance === slowId);
  const slowUrl = world.sealed.get(String(slowRow?.context.urlId));
  world.notifier.answer = ({ target }) =>
    'url' in target && target.url === slowUrl ? undefined : accepted;
  world.startDeliverer();
  await world.fire(Array.from({ length: 30 }, (_, i) => `vm-${i}`));
  await world.until(
    'the other has received all',
    () => world.deliveries().filter(sent).length === 30,
  );
  t.equal(world.notifier.hanging, 1);
  world.notifier.answer = () => accepted;
  world.notifier.release(accepted);
});

const sent = ({ value }: { value: unknown }): boolean => value === 'sent';

test('beyond one per destination, attempts are bounded to 160 per project and 384 in total; projects take turns', async (t) => {
  const world = await openDeliveryWorld(t);
  const { deliverer } = world.startDeliverer();
  const projects = ['p-1', 'p-2', 'p-3'];
  for (const project of projects) {
    const hooks = [];
    for (let i = 0; i < 5; i++) hooks.push(await world.addDestination(project));
    await world.putInForce({ destinationNames: hooks }, { project });
  }
  const flood = (project: string, name: string, count: number) =>
    world.fire(
      Array.from({ length: count }, (_, i) => `${name}-${i}`),
      { project },
    );
  world.notifier.answer = () => accepted;
  // Each success allows its destination one more.
  let most = 0;
  world.notifier.answer = () => {
    most = Math.max(most, deliverer.inFlight());
    return undefined;
  };
  const releaseAll = async () => {
    for (let i = 0; i < 400; i++) {
      world.notifier.release(accepted, 20);
      await world.settle(2);
    }
  };
  await flood('p-1', 'a', 60);
  await releaseAll();
  t.ok(most > 5 + 64 && most <= 5 + 160, `one project: ${most}`);
  for (const project of projects.slice(1)) await flood(project, 'a', 40);
  await releaseAll();
  for (const project of projects) await flood(project, 'b', 60);
  await world.settle(200);
  for (let i = 0; i < 60; i++) {
    world.notifier.release(accepted, 5);
    await world.settle(2);
  }
  t.ok(most > 15 + 192 && most <= 15 + 384, `all of them: ${most}`);
  const ofProject = (project: string) =>
    world.deliveries(project).filter(({ value }) => value === 'sending').length;
  t.ok(
    projects.every((project) => ofProject(project) >= 48),
    projects.map(ofProject).join(),
  );
  world.notifier.answer = () => accepted;
  world.notifier.release(accepted);
  await world.until('all are sent', () =>
    projects.every((project) => world.live('delivery', project).length === 0),
  );
});

test('an endpoint that fails five times is left alone, then probed, then used again', async (t) => {
  const world = await delivering(t);
  await world.pass(10_000);
  world.notifier.answer = () => failed();
  await world.fire(Array.from({ length: 12 }, (_, i) => `vm-${i}`));
  await world.until('it failed', () => world.notifier.requests.length === 5);
  await world.pass(29_000, 1_000);
  t.equal(world.notifier.requests.length, 5);
  await world.pass(1_000);
  await world.settle();
  t.equal(world.notifier.requests.length, 6, 'one probe');
  world.notifier.answer = () => accepted;
  await world.pass(59_000, 1_000);
  t.equal(world.notifier.requests.length, 6);
  await world.pass(2_000, 500);
  t.ok(world.deliveries().every(sent));
});

test('HOOK-12: repeated, late and unfounded messages lead to one attempt', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => undefined;
  await world.fire(['vm-1']);
  const due = { project: PROJECT, delivery: only(world).id, attempt: 1 };
  const garbage = { stream: 'DELIVERIES', subject: 'svc.deliveries.1', data: Buffer.from('x') };
  await world.stream.append(garbage);
  await publishDue(world.stream, due, 'again');
  await publishDue(world.stream, { ...due, attempt: 2 });
  await publishDue(world.stream, { ...due, delivery: 'dlv_unknown' });
  await world.settle();
  world.notifier.release(accepted);
  await world.until('it is sent', () => only(world).value === 'sent');
  await publishDue(world.stream, due, 'and again');
  await world.settle();
  t.equal(world.notifier.requests.length, 1);
  t.match(world.reportedFaults(), [/cannot be read/]);
  t.equal((await world.stream.state('DELIVERIES')).messages, 0, 'each was acknowledged');
});

test('an outcome is recorded although the stream is unavailable for a while', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => undefined;
  await world.fire(['vm-1']);
  await world.until('it is in flight', () => world.notifier.hanging === 1);
  world.faults.append = ({ stream }) => (stream === 'EVENTS' ? 'refused' : undefined);
  world.notifier.release(accepted);
  await world.pass(20_000, 1_000);
  t.equal(only(world).value, 'sending');
  world.faults.append = () => undefined;
  await world.pass(20_000, 1_000);
  t.match(only(world), { value: 'sent', attempts: [{ outcome: 'accepted' }] });
  t.equal(world.notifier.requests.length, 1);
});

test('DUR-15: an attempt is not sent until its opening is durable', async (t) => {
  const world = await delivering(t);
  const stop = world.stop;
  await stop();
  await world.fire(['vm-1']);
  world.faults.append = ({ stream }) => (stream === 'EVENTS' ? 'refused' : undefined);
  world.startDeliverer();
  await world.pass(25_000, 1_000);
  t.same(world.notifier.requests, []);
  world.faults.append = () => undefined;
  await world.pass(60_000, 1_000);
  t.match(only(world), { value: 'sent', attempts: [{ outcome: 'accepted' }] });
});

test('a graceful stop waits for attempts in flight, records them, and starts no more', async (t) => {
  const world = await delivering(t);
  world.notifier.answer = () => undefined;
  await world.fire(['vm-1', 'vm-2']);
  await world.until('one is in flight', () => world.notifier.hanging === 1);
  let ended = false;
  const stopping = world.stop().then(() => {
    ended = true;
  });
  await world.settle();
  t.notOk(ended);
  world.notifier.release(accepted);
  await stopping;
  t.same(
    world
      .deliveries()
      .map(({ value }) => value)
      .sort(),
    ['queued', 'sent'],
  );
  world.notifier.answer = () => accepted;
  world.startDeliverer();
  await world.until('the other is sent', () => world.deliveries().every(sent));
});

test('faults of the service are reported, and retried on schedule', async (t) => {
  const world = await delivering(t);
  const target = world.contents.target;
  world.contents.target = () => {
    throw new Error('The seal is broken');
  };
  await world.fire(['vm-1']);
  await world.until('it waits', () => only(world).value === 'waiting');
  t.match(only(world).attempts, [{ outcome: 'failed', error: /could not be read/ }]);
  t.same(world.notifier.requests, []);
  world.contents.target = target;
  world.notifier.answer = () => {
    throw new Error('A mistake');
  };
  await world.pass(7_000, 500);
  t.match(only(world).attempts[1], { outcome: 'unknown', error: /fault of this service/ });
  t.match(world.reportedFaults(), [/seal is broken/, /A mistake/]);
});

test('a failed deliverer restarts, and attempts in flight are recorded', async (t) => {
  const world = await openDeliveryWorld(t);
  await world.putInForce({ destinationNames: [await world.addDestination()] });
  const { stream, fail } = failingOnce(world.stream);
  const { clock, random, notifier } = world;
  const failures: string[] = [];
  world.run(async (signal) => {
    const running = supervise({
      parts: [world.delivererOf({ stream })],
      clock,
      random,
      onFailure: ({ lastError }) => void failures.push(String(lastError)),
    });
    if (!signal.aborted) await once(signal, 'abort');
    await running.stop();
  });
  notifier.answer = () => undefined;
  await world.fire(['vm-1']);
  await world.until('it is in flight', () => notifier.hanging === 1);
  world.faults.append = (append) => (append.stream === 'EVENTS' ? 'refused' : undefined);
  fail(new Error('The consumer was deleted'));
  await world.pass(1_000);
  notifier.release(accepted);
  await world.pass(60_000, 1_000);
  t.equal(only(world).value, 'sending', 'nothing consumes the outcome');
  world.faults.append = () => undefined;
  await world.pass(2_000, 500);
  t.equal(only(world).value, 'sent');
  t.same(failures, ['The consumer was deleted']);
  notifier.answer = () => accepted;
  await world.fire(['vm-2']);
  await world.until('another is sent', () => world.deliveries().every(sent));
  t.equal(notifier.requests.length, 2, 'each once');
});

/** A stream whose first consumer can be made to fail. */
function failingOnce(stream: Stream) {
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  let isFirst = true;
  async function* broken(messages: AsyncIterator<Delivery>) {
    for (;;) {
      const next = await Promise.race([messages.next(), failure.promise]);
      if (next.done) return;
      yield next.value;
    }
  }
  const consume: Stream['consume'] = async (spec) => {
    const consumer = await stream.consume(spec);
    if (!isFirst) return consumer;
    isFirst = false;
    return {
      close: () => consumer.close(),
      [Symbol.asyncIterator]: () => broken(consumer[Symbol.asyncIterator]()),
    };
  };
  const failing = new Proxy(stream, {
    get: (target, name) => (name === 'consume' ? consume : Reflect.get(target, name)),
  });
  return { stream: failing, fail: failure.reject };
}
