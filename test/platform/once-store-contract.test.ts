/**
 * Both adapters of the once-store port pass one suite: the table on a virtual clock, the stream on
 * real nats-servers of the oldest and the newest supported version. Tests of the table alone
 * follow: it deletes expired keys, and writes many in one transaction.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test, test } from 'tap';
import { openOnceStore } from '../../sqlite/platform/once-store.ts';
import { type Clock, systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { openJetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import { onceSpec, openStreamOnceStore } from '../../streams/platform/jetstream/once-store.ts';
import { ONCE_MS_MAX, type OnceStore } from '../../streams/platform/once-store.ts';
import { componentPath, needs } from '../support/components.ts';
import { natsServerVersions, startNatsServer } from '../support/nats-server.ts';

const START_MS = Date.UTC(2026, 10, 1);
const MINUTE_MS = 60_000;

interface OnceStoreHarness {
  readonly clock: Clock;
  /** Nodes that share the store. */
  readonly nodes: readonly OnceStore[];
  /** A node after all processes, including servers, were killed and restarted. */
  restarted(): Promise<OnceStore>;
  /** A node whose storage fails. */
  broken(): Promise<OnceStore>;
}

async function onceStoreContract(
  t: Test,
  { clock, nodes, ...harness }: OnceStoreHarness,
): Promise<void> {
  const [onceStore] = nodes as readonly [OnceStore];
  const soon = () => clock.now() + 10 * MINUTE_MS;

  await t.test('a key can be taken once, by the first caller', async (t) => {
    t.equal(await onceStore.takeOnce('first', soon()), true);
    for (const node of nodes) t.equal(await node.takeOnce('first', soon()), false);
    t.equal(await onceStore.takeOnce('second', soon()), true);
  });

  await t.test('of many concurrent calls for one key exactly one succeeds', async (t) => {
    const tries = Array.from({ length: 100 }, (_, i) => nodes[i % nodes.length] ?? onceStore);
    const outcomes = await Promise.all(tries.map((node) => node.takeOnce('raced', soon())));
    t.equal(outcomes.filter(Boolean).length, 1);
  });

  await t.test('keys of any text are distinct', async (t) => {
    const long = 'x'.repeat(5_000);
    const keys = ['', ' ', 'a', 'A', 'a.b', 'a.*', 'a.>', 'a b', 'ä', 'a\u0308', '\0', long];
    const all = [...keys, `${long}x`, '["https://issuer","1"]', '["https://issuer",1]'];
    for (const key of all)
      t.equal(await onceStore.takeOnce(key, soon()), true, JSON.stringify(key.slice(0, 9)));
    for (const key of all)
      t.equal(await onceStore.takeOnce(key, soon()), false, JSON.stringify(key.slice(0, 9)));
  });

  await t.test('taking a key for longer than keys are kept throws', async (t) => {
    const tooLate = clock.now() + ONCE_MS_MAX + MINUTE_MS;
    await t.rejects(onceStore.takeOnce('long', tooLate), RangeError);
    t.equal(await onceStore.takeOnce('long', clock.now() + ONCE_MS_MAX - MINUTE_MS), true);
  });

  await t.test('CI-09: a taken key stays taken after a kill', async (t) => {
    const keys = Array.from({ length: 50 }, (_, i) => `kept ${i}`);
    await Promise.all(keys.map((key) => onceStore.takeOnce(key, soon())));
    const again = await harness.restarted();
    const outcomes = await Promise.all(keys.map((key) => again.takeOnce(key, soon())));
    t.same([...new Set(outcomes)], [false]);
    t.equal(await again.takeOnce('kept again', soon()), true);
  });

  await t.test('an unknown outcome is an error, never a yes or a no', async (t) => {
    const broken = await harness.broken();
    await t.rejects(broken.takeOnce('first', soon()));
    await t.rejects(broken.takeOnce('unseen', soon()));
  });
}

test('once-store on a table', async (t) => {
  const path = join(t.testdir({}), 'claims.db');
  const clock = new VirtualClock(START_MS);
  const open = () => openOnceStore({ path, clock });
  let store = open();
  t.teardown(() => store.close());
  await onceStoreContract(t, {
    clock,
    nodes: [{ takeOnce: (key, untilMs) => store.takeOnce(key, untilMs) }],
    restarted: async () => {
      store.close();
      store = open();
      return store;
    },
    broken: async () => {
      // Another connection holds the write lock for good.
      const other = new Database(path);
      t.teardown(() => other.close());
      other.exec('BEGIN IMMEDIATE');
      return store;
    },
  });
});

// Mostly waiting for processes: both versions run in parallel.
t.jobs = 2;
for (const version of natsServerVersions) {
  test(`once-store on ${version}`, { ...needs(version), buffered: true }, async (t) => {
    const server = await startNatsServer({
      program: componentPath(version),
      folder: t.testdir({}),
    });
    const clock = systemClock;
    const opened: { close(): Promise<void> }[] = [];
    t.teardown(async () => {
      for (const stream of opened) await stream.close();
      await server.kill();
    });
    const open = async () => {
      const stream = await openJetStream({
        url: server.url,
        clock,
        answerMs: 1_000,
        leaderMs: 500,
      });
      opened.push(stream);
      return openStreamOnceStore({ stream, clock });
    };
    await onceStoreContract(t, {
      clock,
      nodes: [await open(), await open()],
      restarted: async () => {
        await server.kill();
        await server.start();
        return open();
      },
      broken: async () => {
        const onceStore = await open();
        await server.kill();
        return onceStore;
      },
    });
    t.ok((onceSpec.maxAgeMs ?? 0) > ONCE_MS_MAX, 'the server keeps every key that is in force');
  });
}

function table(t: Test) {
  const folder = t.testdir({});
  const path = join(folder, 'claims.db');
  const clock = new VirtualClock(START_MS);
  const store = openOnceStore({ path, clock });
  t.teardown(() => store.close());
  return { folder, path, clock, store };
}

test('the table deletes a key after its time, and not before', async (t) => {
  const { clock, store } = table(t);
  const untilMs = clock.now() + MINUTE_MS;
  t.equal(await store.takeOnce('key', untilMs), true);
  await clock.advance(MINUTE_MS - 1);
  t.equal(await store.takeOnce('key', untilMs), false);
  await clock.advance(1);
  t.equal(await store.takeOnce('key', clock.now() + MINUTE_MS), true, 'it can be taken again');
  t.equal(await store.takeOnce('key', clock.now() + MINUTE_MS), false);
});

test('the size of the table is bounded by the keys in force', async (t) => {
  const { clock, store } = table(t);
  const takeMany = (count: number, name: string) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        store.takeOnce(`${name} ${i}`, clock.now() + MINUTE_MS),
      ),
    );
  await takeMany(3_000, 'first');
  t.equal(store.count(), 3_000);
  await clock.advance(MINUTE_MS);
  await takeMany(2_000, 'second');
  t.equal(store.count(), 2_000, 'each transaction deletes more than it adds');
});

test('the keys of one turn share one transaction', async (t) => {
  const { path, clock, store } = table(t);
  const reader = new Database(path, { readonly: true });
  t.teardown(() => reader.close());
  const seen = () => reader.prepare('SELECT count(*) FROM claims').pluck().get();
  const tries = Array.from({ length: 300 }, (_, i) =>
    store.takeOnce(`k${i}`, clock.now() + MINUTE_MS),
  );
  t.equal(seen(), 0);
  await tries[0];
  t.equal(seen(), 300, 'all are on disk when the first is acknowledged');
  await Promise.all(tries);
});

test('keys beyond the queue’s bound are rejected at once; the others are kept', async (t) => {
  const { clock, store } = table(t);
  const untilMs = clock.now() + MINUTE_MS;
  const tries = Array.from({ length: 10_050 }, (_, i) => store.takeOnce(`k${i}`, untilMs));
  const outcomes = await Promise.allSettled(tries);
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  t.equal(refused.length, 50);
  t.match(refused[0]?.reason, {
    name: 'Refusal',
    reason: 'TOO_MANY_REQUESTS',
    message: /try again/,
  });
  t.equal(store.count(), 10_000);
});

test('closing writes queued keys, and accepts no more', async (t) => {
  const { path, clock, store } = table(t);
  const untilMs = clock.now() + MINUTE_MS;
  const waiting = store.takeOnce('waiting', untilMs);
  store.close();
  store.close();
  t.equal(await waiting, true);
  await t.rejects(store.takeOnce('late', untilMs), /closed/);
  const again = openOnceStore({ path, clock });
  t.teardown(() => again.close());
  t.equal(await again.takeOnce('waiting', untilMs), false);
});

test('no key is readable in the files of the table', async (t) => {
  const { folder, clock, store } = table(t);
  await store.takeOnce('["https://issuer.example","planted-id"]', clock.now() + MINUTE_MS);
  store.close();
  for (const name of readdirSync(folder)) {
    t.notOk(readFileSync(join(folder, name)).includes('planted-id'), name);
  }
});
