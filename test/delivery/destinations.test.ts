/**
 * Destinations: their secrets are sealed, returned once, absent from commits, and deleted with
 * them; and the users' actions on them. Mail is in test/delivery/recipients.test.ts, with a mail
 * server.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { raiseNotice } from '../../actors/alerting/notices.ts';
import {
  forgetOrphans,
  forgetOverlapped,
  sweepSealed,
} from '../../actors/delivery/sealed-values.ts';
import type { DestinationContext } from '../../machines/delivery/destination.ts';
import { ulid } from '../../streams/platform/random.ts';
import {
  type AlertingWorld,
  by,
  freshRequest,
  openAlertingWorld,
  PROJECT,
} from '../support/alerting-on-host.ts';
import { sealedIn } from '../support/sealed-in-memory.ts';
import { submit } from '../support/submit.ts';

function creationOf(request: ReturnType<typeof freshRequest>, url: string) {
  const target = { kind: 'webhook' as const, url };
  return { project: PROJECT, by, request, displayName: 'Hook', target };
}

test('EVENT-11, HOOK-02: a webhook’s URL and secret are sealed, shown once and in no commit', async (t) => {
  const world = await openAlertingWorld(t);
  const request = freshRequest();
  const url = 'https://hooks.example.com/T0K3N-in-the-path';
  const creation = creationOf(request, url);
  const first = await world.destinations.create(creation);
  const secret = first.webhookSecret ?? '';
  t.match(secret, /^whsec_/);
  t.same([...world.sealed.values()].sort(), [url, secret].sort());
  const again = await world.destinations.create(creation);
  t.match(again, { sequence: first.sequence, webhookSecret: undefined });
  t.equal(again.destination.instance, first.destination.instance);
  t.equal(world.sealed.size, 2);
  t.match(first.destination.context, { host: 'hooks.example.com', lastFour: 'path' });
  for (const file of readdirSync(world.folder)) {
    const bytes = readFileSync(join(world.folder, file));
    for (const hidden of [secret, secret.slice(6), url, 'T0K3N']) {
      t.notOk(bytes.includes(hidden), `${file} does not contain it`);
    }
  }
  await t.rejects(world.destinations.create(creationOf(freshRequest(), 'http://h/')), {
    name: 'Refusal',
    reason: 'INVALID_FIELD',
    metadata: { field: 'destination.webhook.url' },
  });
});

test('sealed values that were never committed are not used', async (t) => {
  const world = await openAlertingWorld(t);
  const request = freshRequest();
  const url = 'https://hooks.example.com/x';
  const creation = creationOf(request, url);
  world.faults.append = () => 'refused';
  const failing = t.rejects(world.destinations.create(creation), { name: 'StreamUnavailable' });
  await world.settle();
  t.equal(world.sealed.size, 2, 'sealed first');
  await world.pass(60_000, 1_000);
  await failing;
  t.same(world.instances('destination'), []);
  world.faults.append = () => undefined;
  const before = [...world.sealed.keys()];
  const { destination, webhookSecret } = await world.destinations.create(creation);
  t.match(webhookSecret, /^whsec_/, 'the same request, sent again, is the first to be answered');
  t.notOk(before.some((id) => JSON.stringify(destination).includes(id)));
});

test('sealed values of a webhook are deleted with it', async (t) => {
  const world = await openAlertingWorld(t);
  const hook = await world.addDestination();
  const other = await world.addDestination();
  t.equal(world.sealed.size, 4);
  const id = hook.slice(hook.lastIndexOf('/') + 1);
  const deletion = { project: PROJECT, by, request: freshRequest(), id };
  await world.destinations.delete(deletion);
  t.equal(world.sealed.size, 2);
  const otherId = other.slice(other.lastIndexOf('/') + 1);
  const kept = world.instances('destination').find(({ instance }) => instance === otherId);
  t.ok(world.sealed.has(String(kept?.context.urlId)));
  t.match(await world.destinations.delete(deletion), { answer: {}, replayed: true });
  await t.rejects(world.destinations.delete({ ...deletion, request: freshRequest() }), {
    name: 'Refusal',
    reason: 'NOT_FOUND',
  });
});

const caller = () => ({ project: PROJECT, by, request: freshRequest() });
const HOUR_MS = 3_600_000;

/** The reason of a rejection. */
const refusalOf = (requested: Promise<unknown>) =>
  requested.then(
    () => undefined,
    (error: unknown) => error,
  );

async function withHook(world: AlertingWorld) {
  const url = 'https://hooks.example.com/first';
  const { destination, webhookSecret = '' } = await world.destinations.create(
    creationOf(freshRequest(), url),
  );
  return { id: destination.instance, url, secret: webhookSecret };
}

function contextIn(world: AlertingWorld, id: string): DestinationContext {
  const row = world.instances('destination').find(({ instance }) => instance === id);
  return row?.context as unknown as DestinationContext;
}

const valuesIn = (world: AlertingWorld) => [...world.sealed.values()].sort();

test('a new URL is sealed before it is used, and the previous one is deleted', async (t) => {
  const world = await openAlertingWorld(t);
  const { id, url, secret } = await withHook(world);
  const next = 'https://hooks.example.com/another';
  const update = (to: string, kind: 'webhook' | 'slack' = 'webhook') => ({
    ...caller(),
    id,
    target: { kind, url: to },
  });
  const first = update(next);
  const changed = await world.destinations.update(first);
  t.match(changed.destination.context, { lastFour: 'ther', displayName: 'Hook' });
  t.same(valuesIn(world), [next, secret].sort());
  t.equal(world.sealed.get(String(contextIn(world, id).urlId)), next);

  await world.destinations.update(first);
  await world.destinations.update(update(next));
  t.same(valuesIn(world), [next, secret].sort(), 'again with the same URL: nothing is left over');
  t.match(await refusalOf(world.destinations.update(update(next, 'slack'))), {
    reason: 'INVALID_FIELD',
    metadata: { field: 'slack' },
  });
  t.match(await refusalOf(world.destinations.update(update('http://h/'))), {
    reason: 'INVALID_FIELD',
    metadata: { field: 'webhook.url' },
  });
  t.same(valuesIn(world), [next, secret].sort(), 'a rejected change deletes nothing');

  world.faults.append = () => 'refused';
  const failing = refusalOf(world.destinations.update(update(url)));
  await world.pass(60_000, 1_000);
  t.match(await failing, { name: 'StreamUnavailable' });
  world.faults.append = () => undefined;
  t.equal(
    world.sealed.get(String(contextIn(world, id).urlId)),
    next,
    'the current URL still applies',
  );
  t.ok(valuesIn(world).includes(url), 'a value that may have been committed is kept');
  await world.destinations.update({ ...caller(), id, displayName: 'Night' });
  t.match(contextIn(world, id), { displayName: 'Night', lastFour: 'ther' });
});

test('EVENT-11, HOOK-07: at most two secrets live after a rotation, each shown once, old ones deleted', async (t) => {
  const world = await openAlertingWorld(t);
  const sealed = sealedIn(world.sealed);
  t.teardown(
    forgetOverlapped({ host: world.host, sealed, owns: () => true }, (error) => t.error(error)),
  );
  world.startTimers();
  const { id, url, secret } = await withHook(world);
  const rotation = { ...caller(), id, overlapMs: HOUR_MS };
  const { webhookSecret: second = '' } = await world.destinations.rotateSecret(rotation);
  t.match(second, /^whsec_/);
  t.same(valuesIn(world), [url, secret, second].sort());
  const again = await world.destinations.rotateSecret(rotation);
  t.equal(again.webhookSecret, undefined, 'a resent request has no secret');
  t.same(valuesIn(world), [url, secret, second].sort());

  const { webhookSecret: third = '' } = await world.destinations.rotateSecret({
    ...caller(),
    id,
    overlapMs: HOUR_MS,
  });
  t.same(valuesIn(world), [url, second, third].sort(), 'the oldest is deleted at once');
  t.equal(contextIn(world, id).overlapEndsMs, world.clock.now() + HOUR_MS);
  await world.pass(HOUR_MS + 60_000, 60_000);
  t.same(valuesIn(world), [url, third].sort(), 'the previous one at the end of its overlap');
  t.match(contextIn(world, id), { overlapEndsMs: null, secrets: { length: 1 } });

  const { webhookSecret: fourth = '' } = await world.destinations.rotateSecret({
    ...caller(),
    id,
    overlapMs: 0,
  });
  t.same(valuesIn(world), [url, fourth].sort(), 'immediately: older ones are discarded');
  t.match(
    await refusalOf(world.destinations.rotateSecret({ ...caller(), id: 'x', overlapMs: 0 })),
    {
      reason: 'NOT_FOUND',
    },
  );
  t.same(valuesIn(world), [url, fourth].sort());
});

test('DUR-22: one member sweeps unneeded secrets, and others leave them alone', async (t) => {
  const world = await openAlertingWorld(t);
  await withHook(world);
  const orphan = `url_${ulid(world.clock.now() - 2 * HOUR_MS, world.random)}`;
  world.sealed.set(orphan, 'left');
  const owner = { isUs: false };
  const counts: number[] = [];
  let sweeps = 0;
  const ending = new AbortController();
  const sweeping = sweepSealed(
    {
      host: world.host,
      clock: world.clock,
      sealed: sealedIn(world.sealed),
      bodies: { ids: () => [], delete: async () => {} },
      sweep: async () => void sweeps++,
      owns: () => owner.isUs,
      onOrphans: (count) => void counts.push(count),
      onFault: (error) => t.error(error),
    },
    ending.signal,
  );
  await world.pass(HOUR_MS, HOUR_MS);
  t.ok(world.sealed.has(orphan));
  owner.isUs = true;
  await world.pass(HOUR_MS, HOUR_MS);
  t.notOk(world.sealed.has(orphan));
  t.same([counts, sweeps, world.sealed.size], [[1], 1, 2]);
  ending.abort();
  await sweeping;
});

test('only values that a crash left sealed are deleted at the next start', async (t) => {
  const world = await openAlertingWorld(t);
  const sealed = sealedIn(world.sealed);
  const sweep = () => forgetOrphans({ host: world.host, clock: world.clock, sealed });
  const idOf = (kind: string) => `${kind}_${ulid(world.clock.now(), world.random)}`;
  const orphans = [idOf('url'), idOf('whs'), `${idOf('dst')}/url`];
  for (const id of orphans) world.sealed.set(id, 'left');
  world.sealed.set('of another form', 'kept');
  world.clock.jump(2 * HOUR_MS);
  t.equal(await sweep(), 0, 'without any destination the log may be lost');
  t.equal(world.sealed.size, 4);
  const { id, url, secret } = await withHook(world);
  await world.destinations.rotateSecret({ ...caller(), id, overlapMs: HOUR_MS });
  await world.destinations.pause({ ...caller(), id, reason: 'Moving' });
  world.clock.jump(HOUR_MS - 60_000);
  const young = idOf('url');
  world.sealed.set(young, 'under way');
  world.clock.jump(HOUR_MS - 60_000);
  t.equal(await sweep(), 3);
  for (const orphan of orphans) t.notOk(world.sealed.has(orphan));
  t.ok(world.sealed.has(young) && world.sealed.has('of another form'));
  t.ok(valuesIn(world).includes(url) && valuesIn(world).includes(secret), 'both secrets sign');
  t.equal(world.sealed.size, 5);
});

test('a chat has no secret of its own, is usable at once, and signs nothing', async (t) => {
  const world = await openAlertingWorld(t);
  for (const kind of ['slack', 'teams', 'discord'] as const) {
    const url = `https://chat.example/${kind}/T0K3N`;
    const creation = { ...caller(), displayName: kind, target: { kind, url } };
    const { destination, webhookSecret } = await world.destinations.create(creation);
    t.match(destination, { value: 'active', context: { kind, secrets: [], lastFour: '0K3N' } });
    t.equal(webhookSecret, undefined);
    const { instance: id } = destination;
    const act = { ...caller(), id };
    t.match(await refusalOf(world.destinations.rotateSecret({ ...act, overlapMs: 0 })), {
      reason: 'INVALID_STATE',
      message: /has no signing secret/,
    });
    t.same(valuesIn(world), [url], 'nothing remains of the created secret');
    const { answer } = await world.destinations.sendTest({ ...caller(), id });
    t.equal(answer.deliveries.length, 1);
    await world.destinations.delete({ ...caller(), id });
    t.same(valuesIn(world), []);
  }
});

test('a pause stores the user’s reason, and a resume ends the notice', async (t) => {
  const world = await openAlertingWorld(t);
  const { id } = await withHook(world);
  const notice = {
    kind: 'DESTINATION_PAUSED',
    subject: { collection: 'destinations', id },
  } as const;
  const ended = () =>
    world.host.view(PROJECT).record('notice', `destination-paused-${id}`)?.body.endedMs;
  const pausing = { ...caller(), id, reason: 'Moving' };
  const paused = await world.destinations.pause(pausing);
  t.match(paused.destination, { value: 'paused', context: { pausedReason: 'Moving' } });
  t.equal((await world.destinations.pause(pausing)).sequence, paused.sequence, 'resent');
  t.match(await refusalOf(world.destinations.pause({ ...caller(), id, reason: 'x' })), {
    reason: 'INVALID_STATE',
    message: 'The destination is already paused: Moving',
  });
  t.match(await refusalOf(world.destinations.sendTest({ ...caller(), id })), {
    reason: 'INVALID_STATE',
    message: /The destination is paused: Moving/,
  });
  await submit(world.host, { project: PROJECT, by }, (draft) =>
    raiseNotice(draft, { ...notice, text: 'HTTP 410' }),
  );
  t.equal(ended(), null);
  await world.destinations.resume({ ...caller(), id });
  t.equal(ended(), world.clock.now());
  t.match(await refusalOf(world.destinations.resume({ ...caller(), id })), {
    reason: 'INVALID_STATE',
  });
  t.match(contextIn(world, id), { pausedReason: null });
});

test('tests are limited per destination and project, and a resend does not count', async (t) => {
  const world = await openAlertingWorld(t);
  const ids = await Promise.all(
    Array.from({ length: 5 }, async (_, n) => {
      const url = `https://hooks.example.com/${n}`;
      return (await world.destinations.create(creationOf(freshRequest(), url))).destination
        .instance;
    }),
  );
  const [id = ''] = ids;
  const test = (to: string) => refusalOf(world.destinations.sendTest({ ...caller(), id: to }));
  const first = { ...caller(), id };
  for (let n = 0; n < 20; n++) await world.destinations.sendTest(first);
  for (let n = 1; n < 10; n++) t.equal(await test(id), undefined);
  t.match(await test(id), {
    reason: 'TOO_MANY_REQUESTS',
    metadata: { retryAfterSeconds: '60' },
    message: 'Tests were sent a moment ago. Try again in 60 s',
  });
  t.equal(world.instances('delivery').length, 10, 'nothing is sent');
  t.match(await world.destinations.sendTest(first), { replayed: true });
  const others = await Promise.all(ids.slice(1).flatMap((to) => Array(9).fill(to).map(test)));
  t.equal(others.filter((refusal) => refusal === undefined).length, 20, '30 for the project');
  await world.pass(60_000, 60_000);
  t.equal(await test(id), undefined, 'later again');
});

test('a project has at most five destinations, even with concurrent requests', async (t) => {
  const world = await openAlertingWorld(t);
  const made = await Promise.all(
    Array.from({ length: 12 }, (_, i) => {
      const url = `https://hooks.example.com/${i}`;
      return refusalOf(world.destinations.create(creationOf(freshRequest(), url)));
    }),
  );
  t.equal(made.filter((error) => error === undefined).length, 5);
  t.ok(
    made.every(
      (error) => error === undefined || (error as { reason?: string }).reason === 'LIMIT_EXCEEDED',
    ),
  );
  t.equal(world.sealed.size, 10, 'values sealed for the others are deleted');
});
