/** Contracts of the stream port about durable consumers, work queues, crashes and closing. */
import { StreamMisconfigured, StreamUnavailable } from '../../../streams/platform/stream.ts';
import { until } from '../program.ts';
import { type Contract, deliveries, EVENT_MS, newStream, text } from './contract.ts';
import type { StreamContractHarness } from './harness.ts';

/**
 * Waits for the state of a work queue. A cluster removes settled messages once the copies know of
 * it.
 */
function left(harness: StreamContractHarness, stream: string, messages: number) {
  return until(`${messages} messages are left in ${stream}`, async () => {
    const state = await harness.stream.state(stream);
    return state.messages === messages ? state : undefined;
  });
}

export const consumingContracts: readonly Contract[] = [
  {
    title:
      'a durable consumer gets each message once, in order, and continues after its settled ones',
    async run(t, harness) {
      const { append, consumer, topic } = await newStream(harness);
      for (let i = 1; i <= 5; i++) await append('job', `m${i}`, { messageId: `id-${i}` });
      await append('other', 'not for us');
      const spec = consumer({ subject: topic('job') });
      const first = await harness.stream.consume(spec);
      const received = deliveries(harness, first);
      for (let i = 1; i <= 3; i++) {
        const delivery = await received.next();
        t.match(delivery, { sequence: i, deliveryCount: 1, messageId: `id-${i}` });
        t.equal(text(delivery), `m${i}`);
        await delivery.ack();
        await t.rejects(delivery.ack(), /settled/, 'settling twice');
        await t.rejects(delivery.nak(0), /settled/);
      }
      await first.close();
      const second = deliveries(harness, await harness.stream.consume(spec));
      t.equal((await second.next()).sequence, 4);
      t.equal((await second.next()).sequence, 5);
      t.equal(await second.within(200), undefined, 'nothing else');
      await append('job', 'm6');
      t.equal((await second.next()).sequence, 7, 'new messages arrive');
    },
  },
  {
    title: 'nak redelivers after its delay, term and ack never do, and the count grows',
    async run(t, harness) {
      const { append, consumer } = await newStream(harness);
      for (const name of ['acked', 'termed', 'postponed', 'at once']) await append('job', name);
      const receiver = await harness.stream.consume(consumer());
      const received = deliveries(harness, receiver);
      await (await received.next()).ack();
      await (await received.next()).term();
      const third = await received.next();
      const fromMs = harness.clock.elapsed();
      await third.nak(500);
      await (await received.next()).nak(0);
      const again = await received.next();
      t.match({ sequence: again.sequence, count: again.deliveryCount }, { sequence: 4, count: 2 });
      await again.ack();
      const late = await received.next();
      t.ok(harness.clock.elapsed() - fromMs >= 500, 'not before the delay');
      t.match({ sequence: late.sequence, count: late.deliveryCount }, { sequence: 3, count: 2 });
      await late.nak(0);
      t.equal((await received.next()).deliveryCount, 3);
      t.equal(await received.within(300), undefined);
      await receiver.close();
    },
  },
  {
    title: 'an unsettled delivery is redelivered after the ack-wait',
    async run(t, harness) {
      const { name, append, consumer } = await newStream(harness, { retention: 'workQueue' });
      await append('job', 'slow');
      const fromMs = harness.clock.elapsed();
      const receiver = await harness.stream.consume(consumer({ ackWaitMs: 600 }));
      const received = deliveries(harness, receiver);
      const first = await received.next();
      const second = await received.next();
      t.ok(harness.clock.elapsed() - fromMs >= 600, 'not before the ack-wait');
      t.match(
        { sequence: second.sequence, count: second.deliveryCount },
        { sequence: 1, count: 2 },
      );
      await first.ack();
      t.match(await left(harness, name, 0), {}, 'a late ack of the first delivery counts');
      await receiver.close();
    },
  },
  {
    title: 'a slow consumer holds at most maxAckPending and loses nothing; nak keeps its slot',
    async run(t, harness) {
      const { append, consumer } = await newStream(harness);
      await Promise.all(Array.from({ length: 60 }, (_, i) => append('job', `m${i + 1}`)));
      const receiver = await harness.stream.consume(consumer({ maxAckPending: 3 }));
      const received = deliveries(harness, receiver);
      const out = [await received.next(), await received.next(), await received.next()];
      t.equal(await received.within(200), undefined, 'a fourth waits for a settlement');
      await out[0]?.nak(600);
      const back = await received.next();
      const placed = { sequence: back.sequence, count: back.deliveryCount };
      t.match(placed, { sequence: 1, count: 2 }, 'a postponed message keeps its slot');
      const seen: number[] = [];
      for (const delivery of [back, ...out.slice(1)]) {
        seen.push(delivery.sequence);
        await delivery.ack();
      }
      while (seen.length < 60) {
        const delivery = await received.next();
        seen.push(delivery.sequence);
        await delivery.ack();
      }
      const numbers = Array.from({ length: 60 }, (_, i) => i + 1);
      t.same(new Set(seen), new Set(numbers), 'each is settled exactly once');
      t.equal(seen.length, new Set(seen).size);
      await receiver.close();
    },
  },
  {
    title: 'deliveries have no maximum: a message is redelivered after twelve naks, until term',
    async run(t, harness) {
      const { append, consumer } = await newStream(harness, { retention: 'workQueue' });
      await append('job', 'poison');
      const receiver = await harness.stream.consume(consumer());
      const received = deliveries(harness, receiver);
      for (let count = 1; count <= 12; count++) {
        const delivery = await received.next();
        t.equal(delivery.deliveryCount, count);
        await delivery.nak(0);
      }
      await (await received.next()).term();
      t.equal(await received.within(200), undefined);
      await receiver.close();
    },
  },
  {
    title:
      'a receiver whose loop throws ends alone; its messages are redelivered after the ack-wait',
    async run(t, harness) {
      const { append, consumer } = await newStream(harness);
      for (const message of ['a', 'b']) await append('job', message);
      const failing = await harness.stream.consume(consumer({ ackWaitMs: 500 }));
      const loop = async () => {
        for await (const delivery of failing) throw new Error(`cannot do ${text(delivery)}`);
      };
      await t.rejects(loop(), /cannot do a/);
      const receiver = await harness.stream.consume(consumer({ ackWaitMs: 500 }));
      const received = deliveries(harness, receiver);
      const seen: string[] = [];
      for (let i = 0; i < 2; i++) {
        const delivery = await received.next();
        seen.push(text(delivery));
        await delivery.ack();
      }
      t.same(seen.sort(), ['a', 'b']);
      await receiver.close();
    },
  },
  {
    title: 'two receivers of one durable consumer share its messages',
    async run(t, harness) {
      const { append, consumer } = await newStream(harness);
      const receivers = [
        await harness.stream.consume(consumer({ maxAckPending: 4 })),
        await harness.stream.consume(consumer({ maxAckPending: 4 })),
      ];
      const seen: number[] = [];
      const done = receivers.map(async (receiver) => {
        for await (const delivery of receiver) {
          await delivery.ack();
          seen.push(delivery.sequence);
          if (seen.length === 30) for (const other of receivers) void other.close();
        }
      });
      for (let i = 0; i < 30; i++) await append('job', `m${i}`);
      await harness.within(EVENT_MS, Promise.all(done));
      t.same(
        seen.sort((a, b) => a - b),
        Array.from({ length: 30 }, (_, i) => i + 1),
      );
    },
  },
  {
    title: 'a work queue drops a message once acknowledged or terminated, and only then',
    async run(t, harness) {
      const { name, append, all, consumer } = await newStream(harness, { retention: 'workQueue' });
      await t.rejects(all(), StreamMisconfigured, 'a work queue is consumed, not read');
      for (const message of ['a', 'b', 'c']) await append('job', message, { messageId: message });
      const receiver = await harness.stream.consume(consumer());
      const received = deliveries(harness, receiver);
      await (await received.next()).ack();
      await (await received.next()).term();
      await (await received.next()).nak(100);
      t.match(await left(harness, name, 1), { messages: 1, lastSequence: 3 });
      t.same(await append('job', 'a', { messageId: 'a' }), { kind: 'duplicate', sequence: 1 });
      await (await received.next()).ack();
      t.match(await left(harness, name, 0), { messages: 0, firstSequence: 4 });
      await receiver.close();
    },
  },
  {
    title: 'after a crash everything acknowledged is stored once, and positions are kept',
    async run(t, harness) {
      const { name, append, consumer, all } = await newStream(harness);
      const before = await harness.stream.state(name);
      const written = Array.from({ length: 50 }, (_, i) => `m${i + 1}`);
      await Promise.all(written.map((message) => append('a', message, { messageId: message })));
      const spec = consumer({ ackWaitMs: 1_000 });
      const receiver = await harness.stream.consume(spec);
      const received = deliveries(harness, receiver);
      for (let i = 0; i < 10; i++) await (await received.next()).ack();
      await (await received.next()).nak(600);
      await (await received.next()).term();
      await received.next();
      // JetStream writes a consumer's position to disk up to 0.1 s later.
      await harness.pass(500);
      await harness.crash();
      await receiver.close();
      t.same(await harness.stream.state(name), { ...before, lastSequence: 50, messages: 50 });
      t.same(await append('a', 'm1', { messageId: 'm1' }), { kind: 'duplicate', sequence: 1 });
      t.same([...(await all())].sort(), [...written].sort());
      const after = deliveries(harness, await harness.stream.consume(spec));
      const rest = new Map<number, number>();
      while (rest.size < 39) {
        const delivery = await after.next();
        await delivery.ack();
        rest.set(delivery.sequence, delivery.deliveryCount);
      }
      t.same(
        [...rest.keys()].sort((a, b) => a - b),
        [11, ...Array.from({ length: 38 }, (_, i) => i + 13)],
      );
      t.ok((rest.get(11) ?? 0) >= 2, 'the postponed message kept its count');
      t.equal(await after.within(200), undefined);
    },
  },
  {
    title: 'a closed adapter ends its reads and consumers and rejects appends',
    async run(t, harness) {
      const { name, append, consumer, topic } = await newStream(harness);
      await append('a', 'one');
      const other = await harness.another();
      const read = other.read({ stream: name, from: { sequence: 2 }, untilEnd: false });
      const waiting = [
        read[Symbol.asyncIterator]().next(),
        (await other.consume(consumer({ subject: topic('none') })))[Symbol.asyncIterator]().next(),
      ];
      await harness.within(100, Promise.all(waiting));
      await other.close();
      await other.close();
      const ends = await harness.within(EVENT_MS, Promise.all(waiting));
      t.same(
        ends?.map(({ done }) => done),
        [true, true],
      );
      t.equal(other.health().state, 'unavailable');
      await t.rejects(
        other.append({ stream: name, subject: topic('a'), data: new Uint8Array() }),
        StreamUnavailable,
      );
    },
  },
];
