/**
 * Both adapters of the claims port pass one suite: the table on a virtual clock, the stream on real
 * nats-servers of the oldest and the newest supported version. What is the table's alone (it
 * forgets in time, it writes many in one go) follows.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { openClaimStore } from '../../sqlite/platform/once-store.ts';
import { type Clock, systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { openJetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import { claimsSpec, openStreamClaims } from '../../streams/platform/jetstream/once-store.ts';
import { CLAIM_MS_MAX, type Claims } from '../../streams/platform/once-store.ts';
import { componentPath, needs } from '../support/components.ts';
import { startNatsServer } from '../support/nats-server.ts';

const START_MS = Date.UTC(2026, 10, 1);
const MINUTE_MS = 60_000;

interface ClaimsHarness {
  readonly clock: Clock;
  /** Nodes that share what is claimed. */
  readonly nodes: readonly Claims[];
  /** A node after everything, servers too, was killed and started again. */
  restarted(): Promise<Claims>;
  /** A node that has lost what it keeps claims on. */
  broken(): Promise<Claims>;
}

async function claimsContract(t: Test, { clock, nodes, ...harness }: ClaimsHarness): Promise<void> {
  const [claims] = nodes as readonly [Claims];
  const soon = () => clock.now() + 10 * MINUTE_MS;

  await t.test('a key is claimed once, whoever comes first', async (t) => {
    t.equal(await claims.claimOnce('first', soon()), true);
    for (const node of nodes) t.equal(await node.claimOnce('first', soon()), false);
    t.equal(await claims.claimOnce('second', soon()), true);
  });

  await t.test('of many that claim one key at the same time, exactly one does', async (t) => {
    const tries = Array.from({ length: 100 }, (_, i) => nodes[i % nodes.length] ?? claims);
    const outcomes = await Promise.all(tries.map((node) => node.claimOnce('raced', soon())));
    t.equal(outcomes.filter(Boolean).length, 1);
  });

  await t.test('keys of any text are told apart', async (t) => {
    const long = 'x'.repeat(5_000);
    const keys = ['', ' ', 'a', 'A', 'a.b', 'a.*', 'a.>', 'a b', 'ä', 'a\u0308', '\0', long];
    const all = [...keys, `${long}x`, '["https://issuer","1"]', '["https://issuer",1]'];
    for (const key of all)
      t.equal(await claims.claimOnce(key, soon()), true, JSON.stringify(key.slice(0, 9)));
    for (const key of all)
      t.equal(await claims.claimOnce(key, soon()), false, JSON.stringify(key.slice(0, 9)));
  });

  await t.test('a claim for longer than claims are kept is a mistake, and told', async (t) => {
    const tooLate = clock.now() + CLAIM_MS_MAX + MINUTE_MS;
    await t.rejects(claims.claimOnce('long', tooLate), RangeError);
    t.equal(await claims.claimOnce('long', clock.now() + CLAIM_MS_MAX - MINUTE_MS), true);
  });

  await t.test('what was claimed is claimed after everything was killed', async (t) => {
    const keys = Array.from({ length: 50 }, (_, i) => `kept ${i}`);
    await Promise.all(keys.map((key) => claims.claimOnce(key, soon())));
    const again = await harness.restarted();
    const outcomes = await Promise.all(keys.map((key) => again.claimOnce(key, soon())));
    t.same([...new Set(outcomes)], [false]);
    t.equal(await again.claimOnce('kept anew', soon()), true);
  });

  await t.test('what cannot be told is an error, never a yes or a no', async (t) => {
    const broken = await harness.broken();
    await t.rejects(broken.claimOnce('first', soon()));
    await t.rejects(broken.claimOnce('unseen', soon()));
  });
}

t.test('claims on a table', async (t) => {
  const path = join(t.testdir({}), 'claims.db');
  const clock = new VirtualClock(START_MS);
  const open = () => openClaimStore({ path, clock });
  let store = open();
  t.teardown(() => store.close());
  await claimsContract(t, {
    clock,
    nodes: [{ claimOnce: (key, untilMs) => store.claimOnce(key, untilMs) }],
    restarted: async () => {
      store.close();
      store = open();
      return store;
    },
    broken: async () => {
      // Someone else holds the write lock for good.
      const other = new Database(path);
      t.teardown(() => other.close());
      other.exec('BEGIN IMMEDIATE');
      return store;
    },
  });
});

// Mostly waiting for processes: both versions at once.
t.jobs = 2;
for (const version of ['nats-server 2.10.27', 'nats-server 2.15.1'] as const) {
  t.test(`claims on ${version}`, { ...needs(version), buffered: true }, async (t) => {
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
      return openStreamClaims({ stream, clock });
    };
    await claimsContract(t, {
      clock,
      nodes: [await open(), await open()],
      restarted: async () => {
        await server.kill();
        await server.start();
        return open();
      },
      broken: async () => {
        const claims = await open();
        await server.kill();
        return claims;
      },
    });
    t.ok((claimsSpec.maxAgeMs ?? 0) > CLAIM_MS_MAX, 'the server forgets no claim in force');
  });
}

function table(t: Test) {
  const folder = t.testdir({});
  const path = join(folder, 'claims.db');
  const clock = new VirtualClock(START_MS);
  const store = openClaimStore({ path, clock });
  t.teardown(() => store.close());
  return { folder, path, clock, store };
}

t.test('the table forgets a claim after its time, and not before', async (t) => {
  const { clock, store } = table(t);
  const untilMs = clock.now() + MINUTE_MS;
  t.equal(await store.claimOnce('key', untilMs), true);
  await clock.advance(MINUTE_MS - 1);
  t.equal(await store.claimOnce('key', untilMs), false);
  await clock.advance(1);
  t.equal(await store.claimOnce('key', clock.now() + MINUTE_MS), true, 'it can be claimed anew');
  t.equal(await store.claimOnce('key', clock.now() + MINUTE_MS), false);
});

t.test('the table stays as small as what is in force', async (t) => {
  const { clock, store } = table(t);
  const claimMany = (count: number, name: string) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        store.claimOnce(`${name} ${i}`, clock.now() + MINUTE_MS),
      ),
    );
  await claimMany(3_000, 'first');
  t.equal(store.count(), 3_000);
  await clock.advance(MINUTE_MS);
  await claimMany(2_000, 'second');
  t.equal(store.count(), 2_000, 'each transaction forgets more than it adds');
});

t.test('claims of one turn are one transaction', async (t) => {
  const { path, clock, store } = table(t);
  const reader = new Database(path, { readonly: true });
  t.teardown(() => reader.close());
  const seen = () => reader.prepare('SELECT count(*) FROM claims').pluck().get();
  const tries = Array.from({ length: 300 }, (_, i) =>
    store.claimOnce(`k${i}`, clock.now() + MINUTE_MS),
  );
  t.equal(seen(), 0);
  await tries[0];
  t.equal(seen(), 300, 'all are on disk when the first is told');
  await Promise.all(tries);
});

t.test('more claims than can wait are refused at once, the others are kept', async (t) => {
  const { clock, store } = table(t);
  const untilMs = clock.now() + MINUTE_MS;
  const tries = Array.from({ length: 10_050 }, (_, i) => store.claimOnce(`k${i}`, untilMs));
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

t.test('closing writes what waits, and takes nothing more', async (t) => {
  const { path, clock, store } = table(t);
  const untilMs = clock.now() + MINUTE_MS;
  const waiting = store.claimOnce('waiting', untilMs);
  store.close();
  store.close();
  t.equal(await waiting, true);
  await t.rejects(store.claimOnce('late', untilMs), /closed/);
  const again = openClaimStore({ path, clock });
  t.teardown(() => again.close());
  t.equal(await again.claimOnce('waiting', untilMs), false);
});

t.test('no key is readable in the files of the table', async (t) => {
  const { folder, clock, store } = table(t);
  await store.claimOnce('["https://issuer.example","planted-id"]', clock.now() + MINUTE_MS);
  store.close();
  for (const name of readdirSync(folder)) {
    t.notOk(readFileSync(join(folder, name)).includes('planted-id'), name);
  }
});
