/**
 * Streams of a real nats-server that are deleted under two processes, and a server whose disk is
 * full, for one adapter each. test/long/e2e/lost-streams.test.ts has whole members.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import t, { type Test, test } from 'tap';
import {
  deliveriesConsumer,
  deliveriesSpec,
  publishDue,
} from '../../../actors/delivery/due-attempts.ts';
import { samplesSpec } from '../../../actors/telemetry/sample-log.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { eventsStream } from '../../../streams/platform/commit/events.ts';
import { openJetStream } from '../../../streams/platform/jetstream/jetstream-stream.ts';
import { openStreamOnceStore } from '../../../streams/platform/jetstream/once-store.ts';
import { clusterSpec } from '../../../streams/platform/membership/roster.ts';
import { type Stream, StreamMissing } from '../../../streams/platform/stream.ts';
import { componentPath, needs } from '../../support/components.ts';
import { fill } from '../../support/member-scenario.ts';
import { mountDisk } from '../../support/members.ts';
import { type NatsServer, natsServerFor } from '../../support/nats-server.ts';
import { dataFolder, until } from '../../support/program.ts';

t.jobs = 2;

async function open(t: Test, server: NatsServer, made: string[] = []) {
  const onMadeAgain = (name: string) => void made.push(name);
  const stream = await openJetStream({
    url: server.url,
    clock: systemClock,
    answerMs: 1_000,
    onMadeAgain,
  });
  t.teardown(() => stream.close());
  return stream;
}

async function deleteStream(server: NatsServer, name: string): Promise<void> {
  const connection = await connect({ servers: server.url });
  await (await jetstreamManager(connection)).streams.delete(name);
  await connection.close();
}

const appendSample = (stream: Stream, text: string) =>
  stream.append({
    stream: samplesSpec.name,
    subject: 'svc.samples.1.batch',
    data: Buffer.from(text),
  });

for (const version of ['nats-server 2.10.27', 'nats-server 2.15.1'] as const) {
  test(version, { ...needs(version), buffered: true }, async (t) => {
    const server = await natsServerFor(t, { program: componentPath(version) });

    t.test('DUR-31: a log of positions continues for every reader and writer', async (t) => {
      const made: string[] = [];
      const [one, other] = [await open(t, server, made), await open(t, server, made)];
      const { identity } = await one.ensure(samplesSpec);
      await other.ensure(samplesSpec);
      const texts: string[] = [];
      const from = { sequence: 1 };
      const read = other.read({ stream: samplesSpec.name, from, untilEnd: false });
      const reading = (async () => {
        for await (const { data } of read) texts.push(Buffer.from(data).toString());
      })();
      for (let i = 1; i <= 5; i++) await appendSample(one, `m${i}`);
      await until('all are read', () => texts.length === 5 || undefined);
      await deleteStream(server, samplesSpec.name);
      const outcome = await appendSample(one, 'm6');
      t.ok(outcome.kind === 'appended' && outcome.sequence > 1_000_000, 'above all before');
      await until('the reader continues', () => texts.length === 6 || undefined);
      t.same(texts, ['m1', 'm2', 'm3', 'm4', 'm5', 'm6']);
      t.match(await other.state(samplesSpec.name), { identity, messages: 1 });
      // The same stream may be made twice at the same time: nats-server then answers both.
      t.same(new Set(made), new Set([samplesSpec.name]));
      await read.close();
      await reading;
    });

    t.test('DUR-31: a work queue is replaced for every receiver and sender', async (t) => {
      const [one, other] = [await open(t, server), await open(t, server)];
      for (const stream of [one, other]) await stream.ensure(deliveriesSpec);
      const consumer = await other.consume(deliveriesConsumer);
      const ended = (async () => {
        for await (const message of consumer) await message.ack();
      })();
      ended.catch(() => {});
      await deleteStream(server, deliveriesSpec.name);
      await publishDue(one, { project: 'p', delivery: 'd', attempt: 1 });
      await t.rejects(ended, { name: /StreamMis/ }, 'its receiver starts over');
      const again = await other.consume(deliveriesConsumer);
      for await (const message of again) {
        t.match(Buffer.from(message.data).toString(), /"delivery":"d"/);
        await message.ack();
        break;
      }
      await publishDue(other, { project: 'p', delivery: 'e', attempt: 1 });
      t.match(await one.state(deliveriesSpec.name), { messages: 1 });
    });

    t.test('DUR-31: each key can be taken once more after its stream was lost', async (t) => {
      const [one, other] = [await open(t, server), await open(t, server)];
      const stores = [];
      for (const stream of [one, other]) {
        stores.push(await openStreamOnceStore({ stream, clock: systemClock }));
      }
      const untilMs = Date.now() + 60_000;
      t.equal(await stores[0]?.takeOnce('a', untilMs), true);
      await deleteStream(server, 'CLAIMS');
      t.equal(await stores[1]?.takeOnce('b', untilMs), true);
      t.equal(await stores[0]?.takeOnce('b', untilMs), false, 'in the same new stream');
    });

    t.test('DUR-31: a table gets another identity, which only ensure accepts', async (t) => {
      const [one, other] = [await open(t, server), await open(t, server)];
      const { identity } = await one.ensure(clusterSpec);
      await other.ensure(clusterSpec);
      await deleteStream(server, clusterSpec.name);
      await t.rejects(one.state(clusterSpec.name), StreamMissing);
      t.not((await one.ensure(clusterSpec)).identity, identity);
      await t.rejects(other.state(clusterSpec.name), /was replaced/, 'readers must start over');
      t.not((await other.ensure(clusterSpec)).identity, identity);
    });

    t.test('DUR-32: EVENTS is never rebuilt automatically', async (t) => {
      const stream = await open(t, server);
      await stream.ensure(eventsStream());
      await deleteStream(server, 'EVENTS');
      const append = { stream: 'EVENTS', subject: 'svc.events.0.p', data: Buffer.from('c') };
      await t.rejects(stream.append(append), StreamMissing);
      t.equal(await stream.compare(eventsStream()), undefined);
    });
  });
}

test(
  'DUR-33: a single server whose disk is full is named until it is restarted',
  needs('nats-server 2.15.1', 'tmpfs mounts'),
  async (t) => {
    const folder = dataFolder(t);
    mountDisk(t, folder, 32);
    const server = await natsServerFor(t, { folder, settings: 'server_name: lone' });
    const stream = await open(t, server);
    await stream.ensure(samplesSpec);
    await appendSample(stream, 'before');
    const filler = join(folder, 'filler');
    fill(filler);
    await until('it is named', async () => {
      await appendSample(stream, 'x'.repeat(65_536)).catch(() => {});
      const health = stream.health();
      return (health.state === 'unavailable' && /probably full/.test(health.reason)) || undefined;
    });
    t.match(stream.health(), {
      reason:
        'NATS answers, but stores nothing on SAMPLES_0: the disk of lone is probably full. ' +
        'Free space there, then restart that nats-server; nothing acknowledged is lost',
    });
    rmSync(filler);
    await t.rejects(appendSample(stream, 'not yet'), 'free space alone does not help');
    await server.kill();
    await server.start();
    await until('it stores again', () => appendSample(stream, 'after').catch(() => undefined));
    t.match(stream.health(), { state: 'available' });
  },
);
