/** Requests over a connection to NATS that loses some of them, as during an election. */
import { test } from 'tap';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { JetStreamConnection } from '../../streams/platform/jetstream/connection.ts';
import { openDurableConsumer } from '../../streams/platform/jetstream/durable-consumer.ts';
import { needs } from '../support/components.ts';
import { natsServerFor } from '../support/nats-server.ts';

const nats = 'nats-server 2.15.1';

test('DUR-23: a repeatable request is resent before its time-out', needs(nats), async (t) => {
  const server = await natsServerFor(t);
  const clock = new VirtualClock(0);
  const connection = await JetStreamConnection.open({ url: server.url, clock });
  t.teardown(() => connection.close());
  const ways = {
    ask: <R>(send: () => Promise<R>) => connection.ask(send),
    requestPatiently: <R>(send: () => Promise<R>) => connection.requestPatiently(send, () => false),
  };
  for (const [name, request] of Object.entries(ways)) {
    let sent = 0;
    const lostTwice = () => (++sent < 3 ? new Promise<never>(() => {}) : Promise.resolve('answer'));
    const answering = request(lostTwice);
    const passed: number[] = [];
    for (let seconds = 0; seconds < 6; seconds += 0.5) {
      passed.push(sent);
      await clock.advance(500);
      for (let turns = 0; turns < 5; turns++) await new Promise((done) => setImmediate(done));
    }
    t.equal(await answering, 'answer', name);
    const at = (second: number) => passed[second * 2];
    t.same([at(1), at(2)], [1, 2], 'resent after 1.5 s');
    t.same([at(4), at(5.5)], [2, 3], 'after 3 s more');
    t.same(connection.health(), { state: 'available' }, 'a busy server is not a fault');
  }
});

test(
  'a durable consumer opens although its first request got no response',
  needs(nats),
  async (t) => {
    const server = await natsServerFor(t);
    const clock = new VirtualClock(0);
    const connection = await JetStreamConnection.open({ url: server.url, clock });
    t.teardown(() => connection.close());
    await connection.manager.streams.add({ name: 'QUEUE', subjects: ['queue'] });
    const { consumers } = connection.manager;
    const answered = consumers.info.bind(consumers);
    let questions = 0;
    consumers.info = (stream, durable) =>
      ++questions === 1 ? new Promise<never>(() => {}) : answered(stream, durable);
    const spec = { stream: 'QUEUE', durable: 'd', ackWaitMs: 1_000, maxAckPending: 1 };
    const opening = openDurableConsumer(connection, spec);
    await clock.advance(1_500);
    const receiver = await opening;
    t.equal(questions, 2);
    t.match(await answered('QUEUE', 'd'), { config: { durable_name: 'd' } });
    await receiver.close();
  },
);
