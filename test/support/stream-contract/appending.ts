/** Contracts of the stream port about appending: identity, de-duplication, expected sequences. */
import { StreamMisconfigured, type StreamSpec } from '../../../streams/platform/stream.ts';
import { until } from '../program.ts';
import { type Contract, collect, newStream, untilState } from './contract.ts';
import type { StreamContractHarness } from './harness.ts';

/** The error of a stream that does not exist; a server's own says who may have deleted it. */
const NO_STREAM = { name: /^Stream(Misconfigured|Missing)$/ };

export const appendingContracts: readonly Contract[] = [
  {
    title: 'ensure creates a stream once and rejects an existing one that would keep less',
    async run(t, harness) {
      const { spec, append } = await newStream(harness);
      const { identity, ...empty } = await harness.stream.state(spec.name);
      t.match(identity, /^\w{20,}$/);
      t.same(empty, { firstSequence: 1, lastSequence: 0, messages: 0 });
      await append('a', 'one');
      t.same(await harness.stream.compare(spec), await harness.stream.ensure(spec));
      const again = await harness.stream.ensure(spec);
      t.same(again, { identity, firstSequence: 1, lastSequence: 1, messages: 1 });
      const requested: Partial<StreamSpec>[] = [
        { retention: 'workQueue' },
        { subjects: [...spec.subjects, `other.${spec.name}`] },
        { duplicateWindowMs: 120_000 },
      ];
      for (const changes of requested) {
        await t.rejects(harness.stream.ensure({ ...spec, ...changes }), StreamMisconfigured);
        await t.rejects(harness.stream.compare({ ...spec, ...changes }), StreamMisconfigured);
      }
      const lessRequested = await harness.stream.ensure({ ...spec, duplicateWindowMs: 30_000 });
      t.equal(lessRequested.identity, identity, 'a stream that keeps more is accepted');
      const aged = await newStream(harness, { maxAgeMs: 3_600_000 });
      await t.rejects(
        harness.stream.ensure({ ...aged.spec, maxAgeMs: 7_200_000 }),
        StreamMisconfigured,
      );
      await t.rejects(
        harness.stream.append({ stream: spec.name, subject: 'elsewhere', data: new Uint8Array() }),
        StreamMisconfigured,
        'a subject that the stream does not accept',
      );
      const absent = { stream: 'ABSENT', subject: 'absent.a', data: new Uint8Array(1) };
      await t.rejects(harness.stream.append(absent), NO_STREAM, 'no such stream');
      await t.rejects(harness.stream.state('ABSENT'), NO_STREAM);
      const unmade = { ...spec, name: 'ABSENT', subjects: ['absent.*'] };
      t.equal(await harness.stream.compare(unmade), undefined, 'a comparison creates nothing');
      await t.rejects(harness.stream.state('ABSENT'), NO_STREAM);
      await t.rejects(collect(harness.stream, { stream: 'ABSENT' }), NO_STREAM);
    },
  },
  {
    title: 'a stream can be created to continue another one, and then behaves like any other',
    async run(t, harness) {
      const name = 'CONTINUED';
      const spec: StreamSpec = {
        name,
        subjects: ['continued.*'],
        retention: 'log',
        duplicateWindowMs: 60_000,
      };
      const origin = { identity: '01JC0NT1NVED0000000000000X', firstSequence: 41 };
      const state = { identity: origin.identity, firstSequence: 41, lastSequence: 40, messages: 0 };
      t.same(await harness.stream.ensure(spec, origin), state);
      const append = { stream: name, subject: 'continued.a', data: new Uint8Array(1) };
      t.same(await harness.stream.append(append), { kind: 'appended', sequence: 41 });
      const other = { identity: 'another', firstSequence: 1 };
      const found = { ...state, lastSequence: 41, messages: 1 };
      t.same(await harness.stream.ensure(spec, other), found, 'an existing stream is unchanged');
    },
  },
  {
    title: 'a message id is stored once within its window, even after the message is removed',
    async run(t, harness) {
      // On a busy machine a window of this length may end too soon. Then a longer one is tried.
      for (let windowMs = 800; ; windowMs *= 3) {
        const stream = await newStream(harness, { duplicateWindowMs: windowMs });
        const fromMs = harness.clock.elapsed();
        const kinds = await appendAgain(harness, stream);
        if (harness.clock.elapsed() - fromMs >= windowMs) continue;
        const once = ['appended', 'duplicate', 'duplicate', 'appended', 'duplicate', 'duplicate'];
        t.same(kinds, once);
        await harness.pass(windowMs * 2 + 100);
        const { append, all } = stream;
        t.same(await append('a', 'new', { messageId: 'n' }), { kind: 'appended', sequence: 3 });
        t.same(await all(), ['new']);
        return;
      }
    },
  },
  {
    title: 'a stream that is a table keeps the newest message of each subject',
    async run(t, harness) {
      const { spec, name, append, all } = await newStream(harness, { lastOfSubject: true });
      await append('a', 'a1');
      await append('b', 'b1');
      const write = await append('a', 'a2', { expectedLastSubjectSequence: 1 });
      t.same(write, { kind: 'appended', sequence: 3 });
      t.same(await append('a', 'a3', { expectedLastSubjectSequence: 1 }), {
        kind: 'wrongLastSequence',
      });
      t.same(await all(), ['b1', 'a2'], 'in the order of their newest messages');
      await untilState(harness, name, { messages: 2 });
      await harness.crash();
      // A server's copy that was killed may return a replaced message once more, before the newest.
      const rows = new Map<string, string>();
      for (const text of await all()) {
        const [row = ''] = text;
        rows.delete(row);
        rows.set(row, text);
      }
      t.same([...rows.values()], ['b1', 'a2'], 'even after a crash');
      const subject = `contract.${name}.b`;
      await harness.stream.truncate({ stream: name, belowSequence: 4, subject });
      // A copy may lag: an erasure is acknowledged before it reaches all copies.
      await until('the row is erased', async () => (await all()).join() === 'a2' || undefined);
      t.same(await append('b', 'b2', { expectedLastSubjectSequence: 0 }), {
        kind: 'appended',
        sequence: 4,
      });
      const { lastOfSubject: _, ...everything } = spec;
      await t.rejects(harness.stream.ensure(everything), StreamMisconfigured);
      const log = await newStream(harness);
      const table = { ...log.spec, lastOfSubject: true };
      await t.rejects(harness.stream.ensure(table), StreamMisconfigured, 'a log is not a table');
    },
  },
  {
    title: 'an expected last sequence of the subject is required exactly',
    async run(t, harness) {
      const { append, all } = await newStream(harness);
      const expecting = (subject: string, expectedLastSubjectSequence: number) =>
        append(subject, `after ${expectedLastSubjectSequence}`, { expectedLastSubjectSequence });
      const wrong = { kind: 'wrongLastSequence' };
      t.same(await expecting('a', 1), wrong, 'an empty subject accepts only 0');
      t.same(await expecting('a', 0), { kind: 'appended', sequence: 1 });
      t.same(await expecting('a', 0), wrong);
      t.same(
        await expecting('b', 0),
        { kind: 'appended', sequence: 2 },
        'subjects are independent',
      );
      t.same(await expecting('a', 2), wrong, "another subject's sequence");
      t.same(await expecting('a', 1), { kind: 'appended', sequence: 3 });
      t.same(await append('a', 'unconditional'), { kind: 'appended', sequence: 4 });
      t.same(await expecting('a', 3), wrong);
      t.same(await all(), ['after 0', 'after 0', 'after 1', 'unconditional']);
    },
  },
  {
    title:
      'a retry with the same id and expectation is duplicate or wrongLastSequence, and stored once',
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
      // A caller does this after either outcome: it reads forward from the sequence that it
      // expected.
      const found = await all({ from: { sequence: 0 + 1 } });
      t.same(found, ['one', 'someone else']);
    },
  },
  {
    title: 'a subject that truncation has emptied accepts only an expected sequence of 0',
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
    title: 'of concurrent appends with one expectation one wins, and chains stay whole',
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
];

/**
 * Two ids, each more than once, even after their messages are removed, with the outcome of each
 * append.
 */
async function appendAgain(
  harness: StreamContractHarness,
  { name, append }: Awaited<ReturnType<typeof newStream>>,
): Promise<string[]> {
  const one = [
    await append('a', 'one', { messageId: 'm' }),
    await append('a', 'one', { messageId: 'm' }),
    await append('b', 'one', { messageId: 'm' }),
  ];
  const both = await Promise.all([1, 2].map(() => append('a', 'two', { messageId: 'n' })));
  await harness.stream.truncate({ stream: name, belowSequence: 3 });
  const late = await append('a', 'two', { messageId: 'n' });
  const kinds = (outcomes: typeof one) => outcomes.map(({ kind }) => kind);
  return [...kinds(one), ...kinds(both).sort(), ...kinds([late])];
}
