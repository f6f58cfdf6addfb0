/**
 * Streams on three nats-servers, with three copies: the contract of every adapter, the number of
 * copies as an operator sees and changes it, and how work continues when a stream's leader is
 * killed.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test, test } from 'tap';
import { systemClock } from '../../../streams/platform/clock.ts';
import { openJetStream } from '../../../streams/platform/jetstream/jetstream-stream.ts';
import type { StreamDescription } from '../../../streams/platform/jetstream/stream-copies.ts';
import {
  type Stream,
  type StreamSpec,
  StreamUnavailable,
} from '../../../streams/platform/stream.ts';
import { componentPath, needs } from '../../support/components.ts';
import { type NatsCluster, startNatsCluster } from '../../support/nats-cluster.ts';
import { natsServerFor } from '../../support/nats-server.ts';
import { dataFolder, until } from '../../support/program.ts';
import { clusterHarness } from '../../support/stream-contract/harness.ts';
import { streamContract } from '../../support/stream-contract.ts';

const spec: StreamSpec = {
  name: 'LOG',
  subjects: ['log.>'],
  retention: 'log',
  duplicateWindowMs: 60_000,
};
const queue: StreamSpec = { ...spec, name: 'QUEUE', subjects: ['queue.>'], retention: 'workQueue' };

async function openCluster(t: Test, version: Parameters<typeof needs>[0]): Promise<NatsCluster> {
  const cluster = await startNatsCluster({
    program: componentPath(version),
    folder: dataFolder(t),
  });
  t.teardown(() => cluster.kill());
  return cluster;
}

async function open(t: Test, url: readonly string[], more: { replicas?: 1 | 3 | 5 } = {}) {
  const stream = await openJetStream({ url, clock: systemClock, ...more });
  t.teardown(() => stream.close());
  return stream;
}

function copiesOf(all: readonly StreamDescription[], stream: string) {
  return all.find(({ name }) => name === stream)?.copies;
}

function append(stream: Stream, number: number, to = 'LOG') {
  const subject = `${to.toLowerCase()}.a`;
  const data = Buffer.from(String(number));
  return stream.append({ stream: to, subject, data, messageId: `m${number}` });
}

/** Retries until it succeeds: after an unknown outcome, the message id prevents a duplicate. */
async function appendPatiently(stream: Stream, number: number, to = 'LOG'): Promise<void> {
  await until(`message ${number} is in ${to}`, () =>
    append(stream, number, to).catch((error: unknown) => {
      if (!(error instanceof StreamUnavailable)) throw error;
      return undefined;
    }),
  );
}

// Mostly waits for servers, so two clusters run at once.
t.jobs = 2;
// Spread into each test, because the runner writes into its options.
const atOnce = { buffered: true };
for (const version of ['nats-server 2.10.27', 'nats-server 2.15.1'] as const) {
  test(`DUR-23: the contract holds on three servers of ${version}`, {
    ...needs(version),
    ...atOnce,
  }, async (t) => {
    const cluster = await openCluster(t, version);
    const harness = await clusterHarness(cluster);
    t.teardown(() => harness.close());
    await streamContract(t, harness);
  });

  test(`DUR-23: work continues after a leader is killed on ${version}`, {
    ...needs(version),
    ...atOnce,
  }, async (t) => {
    const cluster = await openCluster(t, version);
    const stream = await open(t, cluster.urls);
    await stream.ensure(spec);
    await stream.ensure(queue);
    const read: string[] = [];
    const tail = stream.read({ stream: 'LOG', from: { sequence: 1 }, untilEnd: false });
    const reading = (async () => {
      for await (const { data } of tail) read.push(Buffer.from(data).toString());
    })();
    const consumer = await stream.consume({
      stream: 'QUEUE',
      durable: 'worker',
      ackWaitMs: 5_000,
      maxAckPending: 10,
    });
    const consumed = new Set<string>();
    const consuming = (async () => {
      for await (const delivery of consumer) {
        consumed.add(Buffer.from(delivery.data).toString());
        // An unacknowledged message is redelivered.
        await delivery.ack().catch(() => {});
      }
    })();
    let number = 0;
    for (const killed of ['LOG', 'QUEUE']) {
      for (let i = 0; i < 20; i++) {
        number++;
        await appendPatiently(stream, number);
        await appendPatiently(stream, number, 'QUEUE');
      }
      const server = await cluster.leaderOf(killed);
      await server.kill();
      number++;
      await appendPatiently(stream, number);
      await appendPatiently(stream, number, 'QUEUE');
      const state = () => `read ${read.length}, consumed ${consumed.size} of ${number}`;
      await until('read and consumed', () =>
        read.length === number && consumed.size === number ? true : undefined,
      ).catch((error) => {
        throw new Error(`${error.message}: ${state()}`);
      });
      await server.start();
      await cluster.untilWhole();
    }
    t.same(
      read,
      Array.from({ length: number }, (_, i) => String(i + 1)),
      'each once, in order',
    );
    await tail.close();
    await consumer.close();
    await Promise.all([reading, consuming]);
  });
}

const newest = 'nats-server 2.15.1';
test('DUR-23: the number of copies can be set, shown and changed, and is reported when too low', {
  ...needs(newest),
  ...atOnce,
}, async (t) => {
  const cluster = await openCluster(t, newest);
  const one = await open(t, cluster.urls, { replicas: 1 });
  await one.ensure(spec);
  t.match(copiesOf(await one.copies.describe(), 'LOG'), { wanted: 1, set: 1, current: 1 });

  const stream = await open(t, cluster.urls);
  await stream.ensure(spec);
  t.match(
    copiesOf(await stream.copies.describe(), 'LOG'),
    { wanted: 3, set: 1, current: 1 },
    'an existing stream is used unchanged',
  );
  await stream.ensure(queue);
  t.match(copiesOf(await stream.copies.describe(), 'QUEUE'), { wanted: 3, set: 3 });

  for (let i = 1; i <= 50; i++) await append(stream, i);
  const changed = await stream.copies.set(3);
  t.equal(copiesOf(changed, 'LOG')?.set, 3);
  const whole = await until('three current copies', async () => {
    const all = await stream.copies.describe();
    return copiesOf(all, 'LOG')?.current === 3 ? all : undefined;
  });
  const log = whole.find(({ name }) => name === 'LOG');
  t.match(log, { messages: 50, consumers: 0, subjects: ['log.>'], leader: /^nats-\d$/ });
  t.equal(log?.followers.length, 2);
  t.ok((log?.bytes ?? 0) > 0);

  const leader = log?.leader ?? '';
  const place = cluster.urls.findIndex((_, i) => `nats-${i + 1}` !== leader);
  await cluster.servers[place]?.kill();
  const missing = await until('a follower that is missed', async () => {
    const all = await stream.copies.describe().catch(() => []);
    const found = all.find(({ name }) => name === 'LOG');
    return found?.copies.current === 2 ? found : undefined;
  });
  t.match(
    missing.followers.filter(({ isCurrent }) => !isCurrent),
    [{ server: `nats-${place + 1}` }],
  );
  const greedy = await open(t, cluster.urls, { replicas: 5 });
  await t.rejects(greedy.ensure({ ...spec, name: 'LATE', subjects: ['late'] }), {
    name: 'StreamUnavailable',
    message: /too few servers .* 5 copies of stream LATE .*: start the others/,
  });
});

test('a single server has one copy, and cannot have three', needs(newest), async (t) => {
  const folder = join(dataFolder(t), 'nats');
  mkdirSync(folder);
  const server = await natsServerFor(t, { folder });
  const stream = await open(t, [server.url]);
  await stream.ensure(spec);
  t.match(copiesOf(await stream.copies.describe(), 'LOG'), { wanted: 1, set: 1, current: 1 });
  const sentence = /cannot have 3 copies: the nats-server is in no cluster. Set SVC_STREAM_REPL/;
  await t.rejects(stream.copies.set(3), { name: 'StreamMisconfigured', message: sentence });
  const greedy = await open(t, [server.url], { replicas: 3 });
  await t.rejects(greedy.ensure(queue), { name: 'StreamMisconfigured', message: sentence });
  t.match(await greedy.ensure(spec), { messages: 0 }, 'an existing stream is used unchanged');
});
