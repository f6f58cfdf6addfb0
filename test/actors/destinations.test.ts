/** Webhook destinations: their secrets are sealed, shown once, in no commit, and go with them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { by, freshRequest, openAlertingWorld, PROJECT } from '../support/alerting-world.ts';

function creationOf(request: ReturnType<typeof freshRequest>, url: string) {
  const target = { kind: 'webhook' as const, url };
  return { project: PROJECT, by, request, displayName: 'Hook', target };
}

t.test('a webhook: sealed before it is committed, shown once, in no commit', async (t) => {
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
      t.notOk(bytes.includes(hidden), `${file} does not hold it`);
    }
  }
  await t.rejects(world.destinations.create(creationOf(freshRequest(), 'http://h/')), {
    name: 'Refusal',
    reason: 'INVALID_FIELD',
    metadata: { field: 'destination.webhook.url' },
  });
});

t.test('what was sealed and never committed is used by nobody', async (t) => {
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

t.test('what is sealed for a webhook goes with it', async (t) => {
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
