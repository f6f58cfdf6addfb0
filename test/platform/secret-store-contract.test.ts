/**
 * Both adapters of the secret-store port pass one suite: the file of a single process, and the
 * files of members that follow a stream, on the embedded stream and on real nats-servers of the
 * oldest and the newest supported version. Tests of the members alone follow.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { openSecretStore } from '../../sqlite/platform/secrets/local-secrets.ts';
import { keyIdOf, WrongMasterKey } from '../../sqlite/platform/secrets/seal.ts';
import { sealedSpec } from '../../sqlite/platform/secrets/sealed-stream.ts';
import type { SecretStore } from '../../sqlite/platform/secrets/secret-store.ts';
import { openSharedSecrets } from '../../sqlite/platform/secrets/shared-secrets.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { openJetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { componentPath, needs } from '../support/components.ts';
import { natsServerVersions, startNatsServer } from '../support/nats-server.ts';
import { tries } from '../support/tries.ts';

const key = new Uint8Array(32).fill(1);
const otherKey = new Uint8Array(32).fill(2);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value && new TextDecoder().decode(value);

/** Folder of the stores; they are closed and removed with the test. */
function folder(t: Test): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-sealed-'));
  t.teardown(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

interface Harness {
  /** Opens the store of that name; one is open at a time. */
  open(name: string): Promise<SecretStore>;
  /** Names of stores that see each other's writes; one name if there is only one store. */
  readonly members: readonly string[];
}

/** Open stores of one harness: the first, the last (the same if there is one), and all of them. */
interface Opened {
  readonly store: SecretStore;
  readonly last: SecretStore;
  /** Resolves once every store has every write. */
  everywhere(): Promise<void>;
}

async function sealedValues(t: Test, { store, last, everywhere }: Opened): Promise<void> {
  await t.test('a value is readable once its write resolves, and can be replaced', async (t) => {
    await store.put('url_1', 'destination', bytes('https://hooks/one'));
    t.equal(text(store.get('url_1', 'destination')), 'https://hooks/one');
    await store.put('url_1', 'destination', bytes('https://hooks/two'));
    t.equal(text(store.get('url_1', 'destination')), 'https://hooks/two');
    await everywhere();
    t.equal(text(last.get('url_1', 'destination')), 'https://hooks/two');
    await last.put('url_1', 'other', bytes(''));
    t.equal(text(last.get('url_1', 'other')), '', 'an empty value is a value, under its purpose');
    await last.put('dst_1/url with * and > é.', 'destination', bytes('odd'));
    t.equal(text(last.get('dst_1/url with * and > é.', 'destination')), 'odd');
    await everywhere();
    t.same(store.ids('destination').sort(), ['dst_1/url with * and > é.', 'url_1']);
  });

  await t.test(
    'a deleted value is gone from every store, and deleting an absent one is harmless',
    async (t) => {
      await last.delete('dst_1/url with * and > é.', 'destination');
      await last.delete('never', 'destination');
      await everywhere();
      t.equal(store.get('dst_1/url with * and > é.', 'destination'), undefined);
      t.same(store.ids('destination'), ['url_1']);
      await store.put('url_1', 'destination', bytes('back'));
      await store.delete('url_1', 'destination');
      await store.put('url_1', 'destination', bytes('again'));
      await everywhere();
      t.equal(text(last.get('url_1', 'destination')), 'again');
    },
  );
}

async function bodiesAndExcerpts(t: Test, { store, last, everywhere }: Opened): Promise<void> {
  await t.test('a delivery keeps its first body, on any member', async (t) => {
    const many = Array.from({ length: 150 }, (_, i) => ({
      deliveryId: `dlv_${i}`,
      body: bytes(`body ${i} ${'x'.repeat(i * 200)}`),
    }));
    t.same(await store.bodies.putMissing(many), []);
    await everywhere();
    const second = [
      { deliveryId: 'dlv_3', body: bytes('rendered later') },
      {
        deliveryId: 'dlv_new',
        body: bytes('new'),
      },
    ];
    t.same(await last.bodies.putMissing(second), ['dlv_3']);
    t.match(text(last.bodies.get('dlv_3')), /^body 3 /);
    await everywhere();
    t.equal(text(store.bodies.get('dlv_new')), 'new');
    await last.bodies.delete(['dlv_new', 'dlv_unknown', ...many.map((one) => one.deliveryId)]);
    await everywhere();
    t.same(store.bodies.ids(), []);
  });

  await t.test('two members that render one body at once get the same one', async (t) => {
    const render = (by: SecretStore, body: string) =>
      by.bodies.putMissing([{ deliveryId: 'dlv_race', body: bytes(body) }]);
    const others = await Promise.all([render(store, 'a'), render(last, 'b')]);
    t.same(others.flat(), ['dlv_race']);
    t.equal(text(store.bodies.get('dlv_race')), text(last.bodies.get('dlv_race')));
    await store.bodies.delete(['dlv_race']);
  });

  await t.test(
    'excerpts are kept by attempt, the first of each, and are deleted with their delivery',
    async (t) => {
      const kept = (deliveryId: string, attemptId: string, excerpt: string) => ({
        deliveryId,
        attemptId,
        excerpt,
      });
      await store.excerpts.put([kept('dlv_1', 'att_1', 'first'), kept('dlv_2', 'att_2', 'other')]);
      await last.excerpts.put([kept('dlv_1', 'att_1', 'twice'), kept('dlv_1', 'att_3', 'second')]);
      await everywhere();
      t.same([...store.excerpts.of('dlv_1')].sort(), [
        ['att_1', 'first'],
        ['att_3', 'second'],
      ]);
      await last.excerpts.delete(['dlv_1', 'dlv_unknown']);
      await everywhere();
      t.same([store.excerpts.of('dlv_1').size, store.excerpts.of('dlv_2').size], [0, 1]);
    },
  );
}

async function changesAtOnce(t: Test, { store, last, everywhere }: Opened): Promise<void> {
  await t.test('concurrent updates are applied one after another', async (t) => {
    const add = (by: SecretStore, name: string) =>
      by.update('set', 'counted', (current) => bytes(`${text(current) ?? ''}${name}`));
    await Promise.all([add(store, 'a'), add(last, 'b'), add(store, 'c')]);
    await everywhere();
    t.equal([...(text(store.get('set', 'counted')) ?? '')].sort().join(''), 'abc');
    const first = (by: SecretStore, name: string) =>
      by.update('first', 'counted', (current) => (current ? undefined : bytes(name)));
    const made = await Promise.all([first(store, 'a'), first(last, 'b')]);
    t.equal(text(made[0]), text(made[1]), 'both have the one in force');
    t.equal(text(last.get('first', 'counted')), text(made[0]));
  });
}

async function contract(t: Test, { open, members }: Harness): Promise<void> {
  const [first = ''] = members;
  const stores = await Promise.all(members.map((name) => open(name)));
  const [store = await open(first)] = stores;
  const last = stores.at(-1) ?? store;
  const everywhere = async () => {
    for (const one of stores) await one.caughtUp();
  };

  const opened = { store, last, everywhere };
  await sealedValues(t, opened);
  await bodiesAndExcerpts(t, opened);
  await changesAtOnce(t, opened);
  await t.test('everything survives a restart', async (t) => {
    await everywhere();
    for (const one of stores) await one.close();
    for (const [i, name] of members.entries()) stores[i] = await open(name);
    for (const one of stores) {
      t.equal(text(one.get('url_1', 'destination')), 'again');
      t.equal(one.excerpts.of('dlv_2').size, 1);
      t.equal(one.fault(), undefined);
    }
  });
  for (const one of stores) await one.close();
}

test('a single file', async (t) => {
  const where = folder(t);
  await contract(t, {
    members: ['alone'],
    open: async (name) => {
      const path = join(where, `${name}.db`);
      return openSecretStore({ path, masterKey: key, random: systemRandom });
    },
  });
});

function memberOf(stream: Stream, where: string, faults: unknown[] = []) {
  return (name: string, masterKey = key): Promise<SecretStore> =>
    openSharedSecrets({
      stream,
      masterKey,
      random: systemRandom,
      clock: systemClock,
      where: 'the test',
      path: join(where, `${name}.db`),
      onFault: (error) => void faults.push(error),
    });
}

/** Members on an embedded stream. */
function onEmbedded(t: Test) {
  const where = folder(t);
  const stream = openEmbeddedStream({ storage: join(where, 'stream.db'), clock: systemClock });
  t.teardown(() => stream.close());
  const faults: unknown[] = [];
  return { where, stream, faults, open: memberOf(stream, where, faults) };
}

test('members on an embedded stream', async (t) => {
  const { open, faults } = onEmbedded(t);
  await contract(t, { open, members: ['a', 'b'] });
  t.same(faults, []);
});

for (const version of natsServerVersions) {
  test(`members on ${version}`, { ...needs(version) }, async (t) => {
    const where = folder(t);
    const server = await startNatsServer({ program: componentPath(version), folder: where });
    const connect = () => openJetStream({ url: server.url, clock: systemClock });
    const [a, b] = [await connect(), await connect()];
    t.teardown(async () => {
      await Promise.all([a.close(), b.close()]);
      await server.kill();
    });
    const streams = new Map([['a', a]]);
    const faults: unknown[] = [];
    const open = (name: string) => memberOf(streams.get(name) ?? b, where, faults)(name);
    await contract(t, { open, members: ['a', 'b'] });
    t.same(faults, []);

    await t.test('a member with another key is rejected, with both keys named', async (t) => {
      await t.rejects(memberOf(b, where)('c', otherKey), {
        name: 'WrongMasterKey',
        message: new RegExp(`key ${keyIdOf(key)}, and this one has the key ${keyIdOf(otherKey)}`),
      });
      const again = await open('a');
      t.equal(text(again.get('url_1', 'destination')), 'again', 'no stored value is damaged');
      await again.close();
    });
    await t.test('no plaintext is in the store of the server', async (t) => {
      const member = await open('a');
      await member.put('url_9', 'destination', bytes('https://readable.example/secret'));
      await member.close();
      const files = readdirSync(join(where, 'store'), { recursive: true, withFileTypes: true });
      const found = files
        .filter((file) => file.isFile())
        .filter((file) => readFileSync(join(file.parentPath, file.name)).includes('readable'));
      t.same(found, []);
    });
  });
}

test('DUR-22: a member with another key is rejected before it changes anything', async (t) => {
  const { where, stream, open } = onEmbedded(t);
  const first = await open('a');
  await first.put('url_1', 'destination', bytes('kept'));
  const { lastSequence } = await stream.state(sealedSpec.name);
  await t.rejects(open('b', otherKey), WrongMasterKey);
  t.equal((await stream.state(sealedSpec.name)).lastSequence, lastSequence);
  t.notOk(readdirSync(where).includes('b.db'));
  await first.close();
});

test('one of two first members with different keys is rejected', async (t) => {
  const { open } = onEmbedded(t);
  const both = await Promise.allSettled([open('a'), open('b', otherKey)]);
  t.same(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  for (const one of both) if (one.status === 'fulfilled') await one.value.close();
});

test('secrets of a single process are shared when it joins, and none is lost', async (t) => {
  const { where, open } = onEmbedded(t);
  for (const name of ['a', 'b']) {
    const path = join(where, `${name}.db`);
    const alone = openSecretStore({ path, masterKey: key, random: systemRandom });
    await alone.put(`url_${name}`, 'destination', bytes(`of ${name}`));
    await alone.put('both', 'destination', bytes(`of ${name}`));
    await alone.bodies.putMissing([{ deliveryId: `dlv_${name}`, body: bytes(name) }]);
    alone.close();
  }
  const a = await open('a');
  const b = await open('b');
  await a.caughtUp();
  for (const one of [a, b]) {
    t.same(one.ids('destination').sort(), ['both', 'url_a', 'url_b']);
    t.equal(text(one.get('both', 'destination')), 'of a', 'the first to join takes precedence');
    t.same(one.bodies.ids().sort(), ['dlv_a', 'dlv_b']);
  }
  await a.close();
  await b.close();
});

test('DUR-22: a member away for several sweeps loses the secrets erased in that time', async (t) => {
  const { stream, open } = onEmbedded(t);
  const a = await open('a');
  const b = await open('b');
  await a.put('url_1', 'destination', bytes('gone'));
  await a.put('url_2', 'destination', bytes('stays'));
  await b.caughtUp();
  await b.close();
  await a.delete('url_1', 'destination');
  t.equal((await stream.state(sealedSpec.name)).messages, 3, 'canary, a value, an erasure');
  for (let i = 0; i < 3; i++) await a.sweep();
  t.equal((await stream.state(sealedSpec.name)).messages, 3, 'canary, a value, a sweep');
  const again = await open('b');
  await again.caughtUp();
  t.same(again.ids('destination'), ['url_2']);
  await again.sweep();
  await a.caughtUp();
  t.same(a.ids('destination'), ['url_2']);
  await a.close();
  await again.close();
});

test('only a member can erase the members’ secrets', async (t) => {
  const { stream, open, faults } = onEmbedded(t);
  const a = await open('a');
  await a.put('url_1', 'destination', bytes('kept'));
  for (const subject of ['svc.sealed.erased.forged', 'svc.sealed.%', 'svc.sealed.swept.last']) {
    const data = bytes(JSON.stringify(['svc.sealed.destination.url_1']));
    await stream.append({ stream: sealedSpec.name, subject, data });
  }
  await a.caughtUp();
  t.equal(text(a.get('url_1', 'destination')), 'kept');
  t.ok(faults.length > 0);
  await a.close();
});

test('DUR-22: any interleaving of writes and deletions ends in equal stores', async (t) => {
  const id = fc.integer({ min: 0, max: 3 }).map((n) => `id_${n}`);
  const act = fc.record({
    member: fc.integer({ min: 0, max: 1 }),
    what: fc.constantFrom('put', 'delete', 'body', 'drop', 'excerpt', 'forget', 'sweep', 'restart'),
    id,
    isAwaited: fc.boolean(),
  });
  let run = 0;
  const property = fc.asyncProperty(fc.array(act, { maxLength: 30 }), async (actions) => {
    const where = folder(t);
    const stream = openEmbeddedStream({ storage: ':memory:', clock: systemClock });
    const open = memberOf(stream, where);
    const members = [await open('a'), await open('b')];
    const pending: Promise<unknown>[] = [];
    for (const [i, { member, what, id, isAwaited }] of actions.entries()) {
      if (what === 'restart') {
        await Promise.all(pending.splice(0));
        await members[member]?.close();
        members[member] = await open(member === 0 ? 'a' : 'b');
        continue;
      }
      const store = members[member];
      if (store) pending.push(perform(store, what, id, `${i}`));
      if (isAwaited) await Promise.all(pending.splice(0));
    }
    await Promise.all(pending);
    const joined = await open(`c${run++}`);
    const all = [...members, joined];
    for (const one of all) await one.caughtUp();
    const states = all.map((one) => JSON.stringify(contentsOf(one)));
    for (const one of all) await one.close();
    await stream.close();
    return new Set(states).size === 1;
  });
  await t.resolves(fc.assert(property, { numRuns: tries(40) }));
});

function perform(
  store: SecretStore,
  what: 'put' | 'delete' | 'body' | 'drop' | 'excerpt' | 'forget' | 'sweep',
  id: string,
  value: string,
): Promise<unknown> {
  switch (what) {
    case 'put':
      return store.put(id, 'destination', bytes(value));
    case 'delete':
      return store.delete(id, 'destination');
    case 'body':
      return store.bodies.putMissing([{ deliveryId: id, body: bytes(value) }]);
    case 'drop':
      return store.bodies.delete([id]);
    case 'excerpt':
      return store.excerpts.put([{ deliveryId: id, attemptId: `att_${id}`, excerpt: value }]);
    case 'forget':
      return store.excerpts.delete([id]);
    case 'sweep':
      return store.sweep();
  }
}

function contentsOf(store: SecretStore) {
  const ids = [0, 1, 2, 3].map((n) => `id_${n}`);
  return {
    values: ids.map((id) => text(store.get(id, 'destination')) ?? null),
    bodies: ids.map((id) => text(store.bodies.get(id)) ?? null),
    excerpts: ids.map((id) => [...store.excerpts.of(id)]),
  };
}
