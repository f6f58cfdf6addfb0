/** Contracts of the stream port about reading and retention: order, tails, replay, limits. */
import type { AppendOutcome } from '../../../streams/platform/stream.ts';
import {
  type Contract,
  collect,
  deliveries,
  EVENT_MS,
  newStream,
  text,
  untilState,
  untilTexts,
} from './contract.ts';

export const readingContracts: readonly Contract[] = [
  {
    title: 'messages are read whole, in the order of their sequences, by subject and by pattern',
    async run(t, harness) {
      const { name, topic, append, all } = await newStream(harness);
      const outcomes: AppendOutcome[] = [];
      for (let i = 1; i <= 150; i++) {
        outcomes.push(await append(`${i % 3}.x`, `m${i}`, i % 2 ? {} : { messageId: `id-${i}` }));
      }
      t.same(
        outcomes,
        outcomes.map((_, i) => ({ kind: 'appended', sequence: i + 1 })),
      );
      const messages = await collect(harness.stream, { stream: name });
      t.same(
        messages.map((message) => ({ ...message, timeMs: 0, data: text(message) })),
        outcomes.map((_, i) => ({
          subject: topic(`${(i + 1) % 3}.x`),
          sequence: i + 1,
          timeMs: 0,
          data: `m${i + 1}`,
          ...(i % 2 ? { messageId: `id-${i + 1}` } : {}),
        })),
      );
      t.ok(messages.every(({ data }) => data instanceof Uint8Array));
      const nowMs = harness.clock.now();
      t.ok(messages.every(({ timeMs }) => timeMs > nowMs - 60_000 && timeMs <= nowMs));
      const third = ['m3', 'm6', 'm9'];
      t.same((await all({ subject: topic('0.x') })).slice(0, 3), third);
      t.same((await all({ subject: topic('0.*') })).slice(0, 3), third);
      t.same((await all({ subject: topic('0.>') })).slice(0, 3), third);
      t.same(await all({ subject: topic('9.x') }), []);
      t.same(await all({ from: { sequence: 149 } }), ['m149', 'm150']);
      t.same(await all({ from: { sequence: 151 } }), [], 'past the end');
      t.same(await all({ subject: topic('1.x'), from: { sequence: 146 } }), ['m148']);
    },
  },
  {
    title:
      'a read follows the live tail until it is closed, and untilEnd stops at the end as of its start',
    async run(t, harness) {
      const { name, topic, append } = await newStream(harness);
      await append('a', 'one');
      const tail = harness.stream.read({
        stream: name,
        from: { sequence: 1 },
        subject: topic('a'),
        untilEnd: false,
      });
      const iterator = tail[Symbol.asyncIterator]();
      const next = async () => (await harness.within(EVENT_MS, iterator.next()))?.value;
      t.match(await next(), { sequence: 1 });
      const waiting = iterator.next();
      await append('b', 'for others');
      await append('a', 'two');
      t.match((await harness.within(EVENT_MS, waiting))?.value, {
        sequence: 3,
        subject: topic('a'),
      });
      const burst = Array.from({ length: 100 }, (_, i) => append('a', `burst ${i}`));
      for (let i = 0; i < 100; i++) t.equal((await next())?.sequence, i + 4);
      // A copy may return a message before its leader has acknowledged it.
      await Promise.all(burst);
      const last = iterator.next();
      await tail.close();
      t.same(await harness.within(EVENT_MS, last), { value: undefined, done: true });
      const bounded = harness.stream.read({ stream: name, from: { sequence: 1 }, untilEnd: true });
      let read = 0;
      for await (const message of bounded) {
        if (read++ === 0) for (let i = 0; i < 5; i++) await append('a', `later ${i}`);
        t.ok(message.sequence <= 103, 'nothing stored after the read began');
      }
      t.equal(read, 103);
    },
  },
  {
    title: 'a read ends cleanly when its loop ends early',
    async run(t, harness) {
      const { name, append, all } = await newStream(harness);
      for (let i = 1; i <= 10; i++) await append('a', `m${i}`);
      for await (const message of harness.stream.read({
        stream: name,
        from: { sequence: 1 },
        untilEnd: false,
      })) {
        if (message.sequence === 3) break;
      }
      t.equal((await all()).length, 10);
    },
  },
  {
    title: 'a payload of 256 KiB is returned unchanged',
    async run(t, harness) {
      const { name, topic } = await newStream(harness);
      const data = Uint8Array.from({ length: 256 * 1024 }, (_, i) => (i * 31) % 251);
      await harness.stream.append({ stream: name, subject: topic('big'), data });
      const [message] = await collect(harness.stream, { stream: name });
      t.equal(Buffer.compare(message?.data ?? new Uint8Array(), data), 0);
    },
  },
  {
    title: 'replay from a time begins with the first message stored at or after it',
    async run(t, harness) {
      const { name, append, all } = await newStream(harness);
      for (const group of ['a', 'b', 'c']) {
        for (const i of [1, 2]) await append('x', `${group}${i}`);
        await harness.pass(60);
      }
      const messages = await collect(harness.stream, { stream: name });
      const b1 = messages[2]?.timeMs ?? 0;
      t.same(await all({ from: { timeMs: b1 } }), ['b1', 'b2', 'c1', 'c2']);
      t.same(await all({ from: { timeMs: b1 - 30 } }), ['b1', 'b2', 'c1', 'c2']);
      t.same((await all({ from: { timeMs: b1 - 3_600_000 } })).length, 6);
      t.same(await all({ from: { timeMs: harness.clock.now() + 60_000 } }), []);
    },
  },
  {
    title:
      'truncation removes all earlier messages, of all subjects or of one, and reads begin after it',
    async run(t, harness) {
      const { name, topic, append, all } = await newStream(harness);
      for (let i = 1; i <= 10; i++) await append(i % 2 ? 'odd' : 'even', `m${i}`);
      const { stream } = harness;
      await stream.truncate({ stream: name, belowSequence: 6, subject: topic('odd') });
      await untilTexts(all, ['m2', 'm4', 'm6', 'm7', 'm8', 'm9', 'm10']);
      await untilState(harness, name, { firstSequence: 2, lastSequence: 10, messages: 7 });
      await stream.truncate({ stream: name, belowSequence: 8 });
      await untilState(harness, name, { firstSequence: 8, lastSequence: 10, messages: 3 });
      // From the first message that is kept.
      await untilTexts(() => all({ from: { sequence: 3 } }), ['m8', 'm9', 'm10']);
      await stream.truncate({ stream: name, belowSequence: 11 });
      await untilState(harness, name, { firstSequence: 11, lastSequence: 10, messages: 0 });
      await untilTexts(all, []);
      t.match(await append('odd', 'm11'), { sequence: 11 }, 'sequences are never reused');
    },
  },
  {
    title:
      'truncation by a pattern removes matching messages, and no reader takes the gaps for a loss',
    async run(t, harness) {
      const { name, topic, append, all, consumer: spec } = await newStream(harness);
      const { stream } = harness;
      for (let i = 1; i <= 12; i++) await append(`${i % 3}.${i % 2 ? 'x' : 'y'}`, `m${i}`);
      const consumer = await stream.consume(spec());
      const { next } = deliveries(harness, consumer);
      t.match(await next(), { sequence: 1 });
      for (const [subject, belowSequence] of [
        [topic('1.>'), 10],
        [topic('2.*'), 6],
        [topic('9.>'), 13],
      ] as const) {
        await stream.truncate({ stream: name, subject, belowSequence });
      }
      const kept = ['m3', 'm6', 'm8', 'm9', 'm10', 'm11', 'm12'];
      await untilTexts(all, kept);
      await untilState(harness, name, { firstSequence: 3, lastSequence: 12, messages: 7 });
      t.same(await all({ subject: topic('1.*') }), ['m10']);
      t.same(await all({ from: { sequence: 4 } }), kept.slice(1));
      t.match(await append('1.x', 'm13'), { sequence: 13 });
      const tail = stream.read({ stream: name, from: { sequence: 1 }, untilEnd: false });
      const read: string[] = [];
      for await (const message of tail) {
        if (read.push(text(message)) > kept.length) break;
      }
      t.same(read, [...kept, 'm13'], 'a tail continues behind the gaps');
      // Messages that a receiver had requested before may still arrive.
      const delivered = new Set<string>();
      while (!delivered.has('m13')) delivered.add(text(await next()));
      t.ok(new Set([...kept, 'm13']).isSubsetOf(delivered), 'a consumer does too');
      await consumer.close();
    },
  },
  {
    title: 'a truncation beyond the end changes no sequence and no other stream',
    async run(t, harness) {
      const one = await newStream(harness);
      const other = await newStream(harness);
      for (const { append } of [one, other]) await append('a', 'm1');
      await harness.stream.truncate({ stream: one.name, belowSequence: Number.MAX_SAFE_INTEGER });
      await untilState(harness, one.name, { firstSequence: 2, lastSequence: 1, messages: 0 });
      t.match(await one.append('a', 'm2'), { sequence: 2 });
      t.same(await other.all(), ['m1']);
    },
  },
  {
    title: 'messages past the age limit expire by themselves',
    async run(t, harness) {
      const [maxAgeMs, duplicateWindowMs] = [1_000, 500];
      const { name, append } = await newStream(harness, { maxAgeMs, duplicateWindowMs });
      const fromMs = harness.clock.elapsed();
      await append('a', 'old');
      // A server of a busy cluster may answer before it knows the message.
      const isGone = async () => {
        const { lastSequence, messages } = await harness.stream.state(name);
        return lastSequence === 1 && messages === 0;
      };
      while (!(await isGone())) await harness.pass(100);
      t.ok(harness.clock.elapsed() - fromMs >= maxAgeMs, 'not earlier');
      await untilState(harness, name, { messages: 0, firstSequence: 2, lastSequence: 1 });
      t.match(await append('a', 'new'), { sequence: 2 });
    },
  },
];
