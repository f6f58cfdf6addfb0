/**
 * Behaviour of a JetStream server alone: restarts, elections, streams created by others. Each trap
 * has a test on real nats-servers of the oldest and the newest supported version.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type JetStreamManager, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import t, { type Test, test } from 'tap';
import { systemClock } from '../../../streams/platform/clock.ts';
import { isOlder } from '../../../streams/platform/jetstream/connection.ts';
import { openJetStream } from '../../../streams/platform/jetstream/jetstream-stream.ts';
import {
  type Stream,
  type StreamMessage,
  StreamMisconfigured,
  StreamMissing,
  type StreamSpec,
  StreamUnavailable,
} from '../../../streams/platform/stream.ts';
import { componentPath, needs } from '../../support/components.ts';
import { type NatsServer, natsServerFor, startNatsServer } from '../../support/nats-server.ts';
import { reservePort } from '../../support/places.ts';
import { until } from '../../support/program.ts';

const SPEC: StreamSpec = {
  name: 'LOG',
  subjects: ['log.>'],
  retention: 'log',
  duplicateWindowMs: 60_000,
};
const FROM_BEGIN = { stream: 'LOG', from: { sequence: 1 } } as const;

function append(stream: Stream, text: string, rest: { expected?: number; id?: string } = {}) {
  return stream.append({
    stream: 'LOG',
    subject: 'log.a',
    data: Buffer.from(text),
    ...(rest.id === undefined ? {} : { messageId: rest.id }),
    ...(rest.expected === undefined ? {} : { expectedLastSubjectSequence: rest.expected }),
  });
}

async function texts(stream: Stream, sequence = 1): Promise<string[]> {
  const all: string[] = [];
  const read = stream.read({ stream: 'LOG', from: { sequence }, untilEnd: true });
  for await (const { data } of read) all.push(Buffer.from(data).toString());
  return all;
}

/** Collects the messages of a tail; `reached` resolves at a number of messages. */
function tail(stream: Stream) {
  const messages: StreamMessage[] = [];
  let ended = false;
  const read = stream.read({ ...FROM_BEGIN, untilEnd: false });
  const done = (async () => {
    for await (const message of read) {
      messages.push(message);
    }
  })();
  // A caller that awaits it sees the error; until then it is not an unhandled one.
  done
    .catch(() => {})
    .finally(() => {
      ended = true;
    });
  const reached = async (count: number): Promise<void> => {
    await until(
      `${count} messages were read`,
      () => messages.length >= count || ended || undefined,
    );
  };
  return { messages, reached, done, close: () => read.close() };
}

const untilAvailable = (stream: Stream): Promise<boolean> =>
  until('the stream is available', () => stream.health().state === 'available' || undefined);

/** A server with a stream, and a second connection for changes by others. */
async function setUp(t: Test, program: string) {
  const server = await natsServerFor(t, { program });
  const stream = await openJetStream({
    url: server.url,
    clock: systemClock,
    answerMs: 2_000,
    leaderMs: 1_500,
  });
  t.teardown(() => stream.close());
  await stream.ensure(SPEC);
  return { server, stream };
}

async function otherHands(
  server: NatsServer,
  act: (manager: JetStreamManager) => Promise<unknown>,
) {
  const connection = await connect({ servers: server.url });
  await act(await jetstreamManager(connection));
  await connection.close();
}

// Mostly waits for servers, so both versions run at once.
t.jobs = 2;
const VERSIONS = ['nats-server 2.10.27', 'nats-server 2.15.1'] as const;
for (const version of VERSIONS) {
  test(version, { ...needs(version), buffered: true }, async (t) => {
    const program = componentPath(version);

    t.test('DUR-08: a tail resumes within seconds of a SIGKILL', async (t) => {
      const { server, stream } = await setUp(t, program);
      const live = tail(stream);
      for (let i = 1; i <= 5; i++) await append(stream, `m${i}`);
      await live.reached(5);
      await server.kill();
      await until('the loss is noticed', () => stream.health().state !== 'available' || undefined);
      t.match(stream.health(), { reason: /reconnecting/ });
      await t.rejects(append(stream, 'lost'), { name: 'StreamUnavailable', outcome: 'refused' });
      // Longer than the ten attempts after which the client gives up by default.
      await sleep(4_500);
      await server.start();
      // Attempts are unlimited.
      await untilAvailable(stream);
      await append(stream, 'm6');
      const backMs = performance.now();
      await live.reached(6);
      const tookMs = performance.now() - backMs;
      t.ok(tookMs < 60_000, `${Math.round(tookMs)} ms instead of 70 s`);
      await live.close();
      await live.done;
      t.same(
        live.messages.map(({ sequence }) => sequence),
        [1, 2, 3, 4, 5, 6],
      );
    });

    t.test('DUR-03: a forward scan resolves each time-out after a kill', async (t) => {
      const { server, stream } = await setUp(t, program);
      const outcomes = new Map<string, string>();
      const writing = Array.from({ length: 40 }, async (_, writer) => {
        for (let i = 0; i < 30; i++) {
          const id = `w${writer}-${i}`;
          try {
            outcomes.set(id, (await append(stream, id, { id })).kind);
          } catch (error) {
            if (!(error instanceof StreamUnavailable)) throw error;
            outcomes.set(id, error.outcome);
            await sleep(20);
          }
        }
      });
      await until('a hundred outcomes', () => outcomes.size > 100 || undefined);
      await server.kill();
      await server.start();
      await Promise.all(writing);
      const stored = await texts(stream);
      t.equal(stored.length, new Set(stored).size, 'nothing twice');
      const kept = new Set(stored);
      for (const [id, outcome] of outcomes) {
        if (outcome === 'appended' && !kept.has(id)) t.fail(`${id} was acknowledged but lost`);
        if (outcome === 'refused' && kept.has(id)) t.fail(`${id} was rejected but stored`);
      }
      t.ok(
        [...outcomes.values()].some((outcome) => outcome !== 'appended'),
        'the kill had an effect',
      );
      t.ok([...outcomes.values()].filter((outcome) => outcome === 'appended').length > 100);
    });

    t.test(
      'DUR-03: a duplicate with an expectation is harmless in each server version',
      async (t) => {
        const { stream } = await setUp(t, program);
        t.match(await append(stream, 'ours', { id: 'c1', expected: 0 }), { sequence: 1 });
        t.match(await append(stream, 'theirs', { id: 'c2', expected: 1 }), { sequence: 2 });
        const again = await append(stream, 'ours', { id: 'c1', expected: 0 });
        const by = {
          'nats-server 2.10.27': 'duplicate',
          'nats-server 2.15.1': 'wrongLastSequence',
        };
        t.equal(again.kind, by[version]);
        t.same(
          await texts(stream, 0 + 1),
          ['ours', 'theirs'],
          'forward from the expected sequence',
        );
      },
    );

    t.test(
      'DUR-06: a missing responder is retried with a bound, then the missing stream is named',
      async (t) => {
        const { server, stream } = await setUp(t, program);
        await append(stream, 'one');
        await otherHands(server, (manager) => manager.streams.delete('LOG'));
        const startedMs = performance.now();
        await t.rejects(append(stream, 'two'), StreamMissing);
        const tookMs = performance.now() - startedMs;
        t.ok(tookMs > 1_000, `${Math.round(tookMs)} ms`);
      },
    );

    t.test('a replaced stream is detected by state, append and tail', async (t) => {
      const { server, stream } = await setUp(t, program);
      const { identity } = await stream.state('LOG');
      const live = tail(stream);
      for (let i = 1; i <= 3; i++) await append(stream, `m${i}`);
      await live.reached(3);
      await otherHands(server, async (manager) => {
        const { config } = await manager.streams.info('LOG');
        await manager.streams.delete('LOG');
        const metadata = { ...config.metadata, 'vm-monitoring-identity': 'ANOTHER' };
        await manager.streams.add({ ...config, metadata });
      });
      await t.rejects(append(stream, 'm4'), /replaced: it is ANOTHER, it was/);
      await t.rejects(stream.state('LOG'), new RegExp(identity));
      // A reader between the deletion and the new stream finds none.
      await t.rejects(live.done, /replaced|NATS does not have the stream/);
      t.equal(live.messages.length, 3);
    });

    t.test('DUR-05: a stream that lost its end is detected by appends and tails', async (t) => {
      const { server, stream } = await setUp(t, program);
      const live = tail(stream);
      for (let i = 1; i <= 3; i++) await append(stream, `m${i}`);
      await live.reached(3);
      await otherHands(server, async (manager) => {
        // The same stream, shorter, as after a power loss.
        const { config } = await manager.streams.info('LOG');
        await manager.streams.delete('LOG');
        await manager.streams.add(config);
      });
      await t.rejects(append(stream, 'm4'), /lost messages: it ends at 1, acknowledged was 3/);
      await t.rejects(live.done, /shortened/);
    });

    t.test('DUR-07: an existing stream is compared with each required option', async (t) => {
      const { server, stream } = await setUp(t, program);
      const base = { subjects: ['x'], metadata: { 'vm-monitoring-identity': 'X' } };
      const cases = {
        'max_msgs is 10': { ...base, max_msgs: 10 },
        'max_bytes is 5000': { ...base, max_bytes: 5_000 },
        'of a subject it keeps the newest message': { ...base, max_msgs_per_subject: 1 },
        'storage is memory': { ...base, storage: 'memory' as const },
        'age limit is 60000 ms': { ...base, max_age: 60e9, duplicate_window: 60e9 },
        'duplicate window is 1000 ms': { ...base, duplicate_window: 1e9 },
        'deny_purge is set': { ...base, deny_purge: true },
        'retention is interest': { ...base, retention: RetentionPolicy.Interest },
        'no vm-monitoring-identity': { subjects: ['x'], duplicate_window: 60e9 },
      };
      for (const [loss, config] of Object.entries(cases)) {
        await otherHands(server, async (manager) => {
          await manager.streams.add({ name: 'OTHER', ...config });
        });
        const spec = { ...SPEC, name: 'OTHER', subjects: ['x'] };
        await t.rejects(stream.ensure(spec), { name: 'StreamMisconfigured' }, loss);
        await t.rejects(stream.ensure(spec), new RegExp(loss), loss);
        await otherHands(server, (manager) => manager.streams.delete('OTHER'));
      }
      const overlapping = { ...SPEC, name: 'SECOND' };
      await t.rejects(stream.ensure(overlapping), StreamMisconfigured, 'subjects of LOG');
    });

    t.test(
      'DUR-08: a tail survives a deleted consumer, and a durable reader reports it',
      async (t) => {
        const { server, stream } = await setUp(t, program);
        const live = tail(stream);
        await append(stream, 'm1');
        await live.reached(1);
        const spec = { stream: 'LOG', durable: 'worker', ackWaitMs: 5_000, maxAckPending: 10 };
        const consumer = (await stream.consume(spec))[Symbol.asyncIterator]();
        await (await consumer.next()).value?.ack();
        const removed = t.rejects(consumer.next(), /worker of LOG was removed/);
        await otherHands(server, async (manager) => {
          const names: string[] = [];
          for await (const { name } of manager.consumers.list('LOG')) names.push(name);
          for (const name of names) await manager.consumers.delete('LOG', name);
          t.equal(names.length, 2);
        });
        await removed;
        await append(stream, 'm2');
        await live.reached(2);
        t.equal(live.messages.length, 2);
        await live.close();
      },
    );

    t.test('issue 8505: a killed server restores erased rows, by version', async (t) => {
      const { server, stream } = await setUp(t, program);
      await stream.ensure({ ...SPEC, name: 'ROWS', subjects: ['rows.>'], lastOfSubject: true });
      const write = (row: string, text: string, expected?: number) =>
        stream.append({
          stream: 'ROWS',
          subject: `rows.${row}`,
          data: Buffer.from(text),
          ...(expected !== undefined && { expectedLastSubjectSequence: expected }),
        });
      await write('replaced', 'first');
      await write('once', 'only');
      await write('replaced', 'second');
      await write('kept', 'kept');
      for (const row of ['replaced', 'once']) {
        await stream.truncate({ stream: 'ROWS', subject: `rows.${row}`, belowSequence: 4 });
      }
      const rows = async () => {
        const read = stream.read({ stream: 'ROWS', from: { sequence: 1 }, untilEnd: true });
        const all: string[] = [];
        for await (const { data } of read) all.push(Buffer.from(data).toString());
        return all;
      };
      t.same(await rows(), ['kept']);
      await server.kill();
      await server.start();
      await untilAvailable(stream);
      const by = {
        'nats-server 2.10.27': ['first', 'only', 'kept'],
        'nats-server 2.15.1': ['first', 'kept'],
      };
      t.same(await rows(), by[version], 'see docs/operations/cluster.md');
      // As a member declares another dead.
      for (const [row, sequence] of [
        ['replaced', 1],
        ['once', 2],
      ] as const) {
        const { kind } = await write(row, 'ended', sequence);
        const last = kind === 'appended' ? kind : (await write(row, 'ended', 0)).kind;
        t.equal(last, 'appended', `${row} can be ended`);
      }
      t.same(await rows(), ['kept', 'ended', 'ended']);
    });

    t.test('a reader that pauses longer than heartbeats and pulls loses nothing', async (t) => {
      const { stream } = await setUp(t, program);
      await Promise.all(Array.from({ length: 400 }, (_, i) => append(stream, `m${i}`)));
      const sequences: number[] = [];
      for await (const { sequence } of stream.read({ ...FROM_BEGIN, untilEnd: true })) {
        sequences.push(sequence);
        if (sequence === 100) await sleep(4_000);
      }
      t.same(
        sequences,
        Array.from({ length: 400 }, (_, i) => i + 1),
      );
    });

    t.test('DUR-02: the sample settings are valid and sync each write', async (t) => {
      const inCluster = ['server', 'local-1', 'local-2', 'local-3'];
      for (const name of ['nats', ...inCluster.map((one) => `nats-cluster/${one}`)]) {
        const path = new URL(`../../../docs/operations/${name}.conf`, import.meta.url);
        const sample = fileURLToPath(path);
        const check = spawnSync(program, ['-t', '--config', sample], { encoding: 'utf8' });
        t.equal(check.status, 0, check.stderr);
        t.match(readFileSync(sample, 'utf8'), /^ {2}sync_interval: always$/m);
      }
    });

    t.test('a server without JetStream, or with a small max_payload, is rejected', async (t) => {
      const folder = t.testdir({ a: {}, b: {} });
      const plain = { program, folder: `${folder}/a`, jetStream: false };
      const small = { program, folder: `${folder}/b`, settings: 'max_payload: 64KB' };
      for (const [options, sentence] of [
        [plain, /has no JetStream: add jetstream/],
        [small, /accepts 65536 bytes per message: set max_payload/],
      ] as const) {
        const server = await startNatsServer(options);
        t.teardown(() => server.kill());
        await t.rejects(openJetStream({ url: server.url, clock: systemClock }), sentence);
      }
    });
  });
}

test('DUR-01: a server older than 2.10.27 is rejected at the start with the reason', async (t) => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const info = { server_id: 'X', version: '2.9.10', jetstream: true, max_payload: 1_048_576 };
    socket.write(`INFO ${JSON.stringify({ ...info, headers: true, proto: 1, port: 1 })}\r\n`);
    socket.on('data', (data) => data.includes('PING') && socket.write('PONG\r\n'));
    socket.on('error', () => {});
  });
  const port = await reservePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const url = `nats://127.0.0.1:${port}`;
  await t.rejects(
    openJetStream({ url, clock: systemClock }),
    /nats-server 2.9.10 at .* is too old: use 2.10.27 or newer/,
  );
  for (const socket of sockets) socket.destroy();
  server.close();
  const older = ['2.9.10', '2.10.26', '1.99.99', '2.10.3'];
  const newer = ['2.10.27', '2.10.28', '2.11.0', '2.15.1', '3.0.0', '2.12.0-beta.1', '2.100.0'];
  t.same(
    older.map((version) => isOlder(version, '2.10.27')),
    older.map(() => true),
  );
  t.same(
    newer.map((version) => isOlder(version, '2.10.27')),
    newer.map(() => false),
  );
});

test('a missing server is reported as unavailable, with its address', async (t) => {
  const url = `nats://127.0.0.1:${await reservePort()}`;
  await t.rejects(openJetStream({ url, clock: systemClock }), {
    name: 'StreamUnavailable',
    outcome: 'refused',
    message: /Cannot connect to nats:\/\/127.0.0.1/,
  });
});
