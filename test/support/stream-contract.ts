/**
 * What every adapter of the stream port does: one suite, run for the embedded adapter and for both
 * nats-servers. A harness hides what differs: how time passes (a virtual clock, or the wall clock
 * of a real server, in which case waits are short) and what a crash is.
 */
import type { Test } from 'tap';
import {
  type Append,
  type AppendOutcome,
  type Consumer,
  type ConsumerSpec,
  type Delivery,
  type ReadFrom,
  type Stream,
  type StreamMessage,
  StreamMisconfigured,
  type StreamSpec,
  StreamUnavailable,
} from '../../streams/stream.ts';
import type { StreamContractHarness } from './stream-contract-harness.ts';

interface Contract {
  readonly title: string;
  readonly run: (t: Test, harness: StreamContractHarness) => Promise<void>;
}

/** Registers the suite under the current test, each contract on a stream of its own. */
export async function streamContract(t: Test, harness: StreamContractHarness): Promise<void> {
  for (const { title, run } of contracts) {
    await t.test(title, (t: Test) => run(t, harness));
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
let streams = 0;

/** A new stream with a name of its own; `topic` makes subjects in it. */
async function newStream(harness: StreamContractHarness, changes: Partial<StreamSpec> = {}) {
  const name = `CONTRACT_${process.pid}_${++streams}`;
  const spec: StreamSpec = {
    name,
    subjects: [`contract.${name}.>`],
    retention: 'log',
    duplicateWindowMs: 60_000,
    replicas: 1,
    ...changes,
  };
  await harness.stream.ensure(spec);
  const topic = (subject: string) => `contract.${name}.${subject}`;
  const append = (subject: string, text: string, rest: Partial<Append> = {}) =>
    harness.stream.append({
      stream: name,
      subject: topic(subject),
      data: encoder.encode(text),
      ...rest,
    });
  const all = (rest: { subject?: string; from?: ReadFrom } = {}) =>
    texts(harness.stream, { stream: name, ...rest });
  const consumer = (rest: Partial<ConsumerSpec> = {}): ConsumerSpec => ({
    stream: name,
    durable: 'reader',
    ackWaitMs: 30_000,
    maxAckPending: 100,
    ...rest,
  });
  return { name, spec, topic, append, all, consumer };
}

async function collect(stream: Stream, options: { stream: string; from?: ReadFrom }) {
  const messages: StreamMessage[] = [];
  const read = stream.read({ from: { sequence: 1 }, untilEnd: true, ...options });
  for await (const message of read) messages.push(message);
  return messages;
}

async function texts(stream: Stream, options: { stream: string; from?: ReadFrom }) {
  return (await collect(stream, options)).map(text);
}

function text(message: StreamMessage): string {
  return decoder.decode(message.data);
}

/** Deliveries one at a time. `next` may be awaited in parts: it is the same one until it comes. */
function deliveries(harness: StreamContractHarness, consumer: Consumer) {
  const iterator = consumer[Symbol.asyncIterator]();
  let waiting: Promise<IteratorResult<Delivery>> | undefined;
  const within = async (ms: number): Promise<Delivery | undefined> => {
    waiting ??= iterator.next();
    const result = await harness.within(ms, waiting);
    if (result === undefined) return undefined;
    waiting = undefined;
    return result.done ? undefined : result.value;
  };
  const next = async (): Promise<Delivery> => {
    const delivery = await within(10_000);
    if (delivery === undefined) throw new Error('No delivery within 10 s');
    return delivery;
  };
  return { within, next };
}

const contracts: Contract[] = [
  {
    title: 'ensure makes a stream once, and refuses an existing one that would keep less',
    async run(t, harness) {
      const { spec, append } = await newStream(harness);
      const { identity, ...empty } = await harness.stream.state(spec.name);
      t.match(identity, /^\w{20,}$/);
      t.same(empty, { firstSequence: 1, lastSequence: 0, messages: 0 });
      await append('a', 'one');
      const again = await harness.stream.ensure(spec);
      t.same(again, { identity, firstSequence: 1, lastSequence: 1, messages: 1 });
      const asked: Partial<StreamSpec>[] = [
        { retention: 'workQueue' },
        { subjects: [...spec.subjects, `other.${spec.name}`] },
        { duplicateWindowMs: 120_000 },
      ];
      for (const changes of asked) {
        await t.rejects(harness.stream.ensure({ ...spec, ...changes }), StreamMisconfigured);
      }
      const lessAsked = await harness.stream.ensure({ ...spec, duplicateWindowMs: 30_000 });
      t.equal(lessAsked.identity, identity, 'a stream that keeps more is fine');
      const aged = await newStream(harness, { maxAgeMs: 3_600_000 });
      await t.rejects(
        harness.stream.ensure({ ...aged.spec, maxAgeMs: 7_200_000 }),
        StreamMisconfigured,
      );
      await t.rejects(
        harness.stream.append({ stream: spec.name, subject: 'elsewhere', data: new Uint8Array() }),
        StreamMisconfigured,
        'a subject the stream does not take',
      );
      const absent = { stream: 'ABSENT', subject: 'absent.a', data: new Uint8Array(1) };
      await t.rejects(harness.stream.append(absent), StreamMisconfigured, 'no such stream');
      await t.rejects(harness.stream.state('ABSENT'), StreamMisconfigured);
      await t.rejects(collect(harness.stream, { stream: 'ABSENT' }), StreamMisconfigured);
    },
  },
  {
    title: 'messages are read in the order of their sequences, whole, by subject and by pattern',
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
    title: 'a read follows the live tail until it is closed, and untilEnd stops where it began',
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
      const next = async () => (await harness.within(10_000, iterator.next()))?.value;
      t.match(await next(), { sequence: 1 });
      const waiting = iterator.next();
      await append('b', 'for others');
      await append('a', 'two');
      t.match((await harness.within(10_000, waiting))?.value, { sequence: 3, subject: topic('a') });
      for (let i = 0; i < 100; i++) void append('a', `burst ${i}`);
      for (let i = 0; i < 100; i++) t.equal((await next())?.sequence, i + 4);
      const last = iterator.next();
      await tail.close();
      t.same(await harness.within(10_000, last), { value: undefined, done: true });
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
    title: 'a read breaks off cleanly when its loop ends early',
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
    title: 'a message id stores once inside its window, also after the message is gone',
    async run(t, harness) {
      const { name, append, all } = await newStream(harness, { duplicateWindowMs: 800 });
      t.same(await append('a', 'one', { messageId: 'm' }), { kind: 'appended', sequence: 1 });
      t.same(await append('a', 'one', { messageId: 'm' }), { kind: 'duplicate', sequence: 1 });
      t.same(await append('b', 'one', { messageId: 'm' }), { kind: 'duplicate', sequence: 1 });
      const both = [1, 2].map(() => append('a', 'two', { messageId: 'n' }));
      t.same((await Promise.all(both)).map(({ kind }) => kind).sort(), ['appended', 'duplicate']);
      await harness.stream.truncate({ stream: name, belowSequence: 3 });
      t.same(await append('a', 'two', { messageId: 'n' }), { kind: 'duplicate', sequence: 2 });
      await harness.pass(1_700);
      t.same(await append('a', 'new', { messageId: 'n' }), { kind: 'appended', sequence: 3 });
      t.same(await all(), ['new']);
    },
  },
  {
    title: 'an expected last sequence of the subject is required exactly',
    async run(t, harness) {
      const { append, all } = await newStream(harness);
      const expecting = (subject: string, expectedLastSubjectSequence: number) =>
        append(subject, `after ${expectedLastSubjectSequence}`, { expectedLastSubjectSequence });
      const wrong = { kind: 'wrongLastSequence' };
      t.same(await expecting('a', 1), wrong, 'an empty subject takes 0 only');
      t.same(await expecting('a', 0), { kind: 'appended', sequence: 1 });
      t.same(await expecting('a', 0), wrong);
      t.same(await expecting('b', 0), { kind: 'appended', sequence: 2 }, 'subjects are apart');
      t.same(await expecting('a', 2), wrong, "another subject's sequence");
      t.same(await expecting('a', 1), { kind: 'appended', sequence: 3 });
      t.same(await append('a', 'unconditional'), { kind: 'appended', sequence: 4 });
      t.same(await expecting('a', 3), wrong);
      t.same(await all(), ['after 0', 'after 0', 'after 1', 'unconditional']);
    },
  },
  {
    title:
      'a retry with the same id and expectation is duplicate or wrongLastSequence, stored once',
    async run(t, harness) {
      const { append, all } = await newStream(harness);
      const retried = { messageId: 'commit-1', expectedLastSubjectSequence: 0 };
      t.same(await append('a', 'one', retried), { kind: 'appended', sequence: 1 });
      await append('a', 'someone else', { expectedLastSubjectSequence: 1 });
      for (let i = 0; i < 3; i++) {
        const outcome = await append('a', 'one', retried);
        t.ok(['duplicate', 'wrongLastSequence'].includes(outcome.kind), outcome.kind);
        if (outcome.kind === 'duplicate') t.equal(outcome.sequence, 1);
      }
      // What a caller does after either: look forward from the sequence it expected.
      const found = await all({ from: { sequence: 0 + 1 } });
      t.same(found, ['one', 'someone else']);
    },
  },
  {
    title: 'once truncation has emptied a subject only an expected sequence of 0 is accepted',
    async run(t, harness) {
      const { name, append } = await newStream(harness);
      await append('quiet', 'one');
      await append('busy', 'two');
      await harness.stream.truncate({ stream: name, belowSequence: 2 });
      const real = await append('quiet', 'x', { expectedLastSubjectSequence: 1 });
      t.same(real, { kind: 'wrongLastSequence' }, 'its real last sequence is refused');
      const zero = await append('quiet', 'x', { expectedLastSubjectSequence: 0 });
      t.same(zero, { kind: 'appended', sequence: 3 });
    },
  },
  {
    title:
      'concurrent appends keep the expectation of each subject: one wins, and chains stay whole',
    async run(t, harness) {
      const { topic, append, all } = await newStream(harness);
      const race = Array.from({ length: 64 }, (_, i) =>
        append('race', `r${i}`, { expectedLastSubjectSequence: 0 }),
      );
      const kinds = (await Promise.all(race)).map(({ kind }) => kind);
      t.equal(kinds.filter((kind) => kind === 'appended').length, 1);
      t.equal(kinds.filter((kind) => kind === 'wrongLastSequence').length, 63);
      const chain = async (subject: string) => {
        let last = 0;
        for (let i = 0; i < 20; i++) {
          const rest = { expectedLastSubjectSequence: last };
          const outcome = await append(subject, `${i} after ${last}`, rest);
          if (outcome.kind !== 'appended') throw new Error(`${subject} ${i}: ${outcome.kind}`);
          last = outcome.sequence;
        }
      };
      const subjects = Array.from({ length: 16 }, (_, i) => `chain.${i}`);
      await Promise.all(subjects.map(chain));
      for (const subject of subjects) {
        const messages = await all({ subject: topic(subject) });
        t.same(
          messages.map((message) => Number(message.split(' ')[0])),
          Array.from({ length: 20 }, (_, i) => i),
        );
      }
    },
  },
  {
    title: 'a payload of 256 KiB comes back unchanged',
    async run(t, harness) {
      const { name, topic } = await newStream(harness);
      const data = Uint8Array.from({ length: 256 * 1024 }, (_, i) => (i * 31) % 251);
      await harness.stream.append({ stream: name, subject: topic('big'), data });
      const [message] = await collect(harness.stream, { stream: name });
      t.equal(Buffer.compare(message?.data ?? new Uint8Array(), data), 0);
    },
  },
  {
    title: 'replay from a time begins with the first message stored then or later',
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
      'truncation removes what lies below, of all subjects or of one, and reads begin after it',
    async run(t, harness) {
      const { name, topic, append, all } = await newStream(harness);
      for (let i = 1; i <= 10; i++) await append(i % 2 ? 'odd' : 'even', `m${i}`);
      const { stream } = harness;
      await stream.truncate({ stream: name, belowSequence: 6, subject: topic('odd') });
      t.same(await all(), ['m2', 'm4', 'm6', 'm7', 'm8', 'm9', 'm10']);
      t.match(await stream.state(name), { firstSequence: 2, lastSequence: 10, messages: 7 });
      await stream.truncate({ stream: name, belowSequence: 8 });
      t.match(await stream.state(name), { firstSequence: 8, lastSequence: 10, messages: 3 });
      t.same(await all({ from: { sequence: 3 } }), ['m8', 'm9', 'm10'], 'first kept');
      await stream.truncate({ stream: name, belowSequence: 11 });
      t.match(await stream.state(name), { firstSequence: 11, lastSequence: 10, messages: 0 });
      t.same(await all(), []);
      t.match(await append('odd', 'm11'), { sequence: 11 }, 'sequences are never used again');
    },
  },
  {
    title: 'messages past the age limit go by themselves',
    async run(t, harness) {
      const { name, append } = await newStream(harness, {
        maxAgeMs: 1_000,
        duplicateWindowMs: 500,
      });
      await append('a', 'old');
      const state = () => harness.stream.state(name);
      await harness.pass(500);
      t.match(await state(), { messages: 1 }, 'not before');
      for (let i = 0; i < 40 && (await state()).messages > 0; i++) await harness.pass(100);
      t.match(await state(), { messages: 0, firstSequence: 2, lastSequence: 1 });
      t.match(await append('a', 'new'), { sequence: 2 });
    },
  },
  {
    title: 'a durable consumer gets each message once, in order, and goes on after what it settled',
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
    title: 'nak delivers again after its delay, term and ack never, and the count grows',
    async run(t, harness) {
      const { append, consumer } = await newStream(harness);
      for (const name of ['acked', 'termed', 'postponed', 'at once']) await append('job', name);
      const receiver = await harness.stream.consume(consumer());
      const received = deliveries(harness, receiver);
      await (await received.next()).ack();
      await (await received.next()).term();
      await (await received.next()).nak(500);
      await (await received.next()).nak(0);
      const again = await received.next();
      t.match({ sequence: again.sequence, count: again.deliveryCount }, { sequence: 4, count: 2 });
      await again.ack();
      t.equal(await received.within(250), undefined, 'not before the delay');
      const late = await received.next();
      t.match({ sequence: late.sequence, count: late.deliveryCount }, { sequence: 3, count: 2 });
      await late.nak(0);
      t.equal((await received.next()).deliveryCount, 3);
      t.equal(await received.within(300), undefined);
      await receiver.close();
    },
  },
  {
    title: 'a delivery neither acknowledged nor refused comes again after the ack-wait',
    async run(t, harness) {
      const { append, consumer } = await newStream(harness);
      await append('job', 'slow');
      const receiver = await harness.stream.consume(consumer({ ackWaitMs: 600 }));
      const received = deliveries(harness, receiver);
      const first = await received.next();
      t.equal(await received.within(300), undefined, 'not before the ack-wait');
      const second = await received.next();
      t.match(
        { sequence: second.sequence, count: second.deliveryCount },
        { sequence: 1, count: 2 },
      );
      await first.ack();
      t.equal(await received.within(900), undefined, 'a late ack of the first delivery counts');
      await receiver.close();
    },
  },
  {
    title: 'a slow consumer holds at most maxAckPending and loses nothing; nak keeps its place',
    async run(t, harness) {
      const { append, consumer } = await newStream(harness);
      await Promise.all(Array.from({ length: 60 }, (_, i) => append('job', `m${i + 1}`)));
      const receiver = await harness.stream.consume(consumer({ maxAckPending: 3 }));
      const received = deliveries(harness, receiver);
      const out = [await received.next(), await received.next(), await received.next()];
      t.equal(await received.within(200), undefined, 'a fourth waits for a settlement');
      await out[0]?.nak(600);
      t.equal(await received.within(200), undefined, 'a postponed message holds its place');
      const seen: number[] = [];
      await out[1]?.ack();
      await out[2]?.ack();
      while (seen.length < 58) {
        const delivery = await received.next();
        seen.push(delivery.sequence);
        await delivery.ack();
      }
      const numbers = Array.from({ length: 60 }, (_, i) => i + 1);
      t.same(new Set([2, 3, ...seen]), new Set(numbers), 'each exactly once settled');
      t.equal(seen.length, new Set(seen).size);
      await receiver.close();
    },
  },
  {
    title: 'deliveries have no maximum: a message refused twelve times still comes, until term',
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
    title: 'a receiver whose loop throws ends alone; what it held comes again after the ack-wait',
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
      await harness.within(10_000, Promise.all(done));
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
      t.match(await harness.stream.state(name), { messages: 1, lastSequence: 3 });
      t.same(await append('job', 'a', { messageId: 'a' }), { kind: 'duplicate', sequence: 1 });
      await (await received.next()).ack();
      t.match(await harness.stream.state(name), { messages: 0, firstSequence: 4 });
      await receiver.close();
    },
  },
  {
    title: 'after a crash everything acknowledged is there once, and positions are kept',
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
      // JetStream writes a consumer's position to disk up to 0.1 s late.
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
    title: 'a closed adapter ends its reads and consumers and refuses appends',
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
      const ends = await harness.within(10_000, Promise.all(waiting));
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
