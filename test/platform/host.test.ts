/**
 * The host on a stream in memory: outcomes of submissions, refusals and repeated requests. The
 * model test covers conflicts and lost messages in every order
 * (test/platform/commit/model.test.ts).
 */
import { type Test, test } from 'tap';
import { setup } from 'xstate';
import { createHost } from '../../actors/platform/host/host.ts';
import type { Draft } from '../../actors/platform/host/host-port.ts';
import type { MachineDefinition } from '../../machines/platform/definition.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { COMMIT_EVENTS_MAX } from '../../streams/platform/commit/commit.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { COUNTER_RESET_MS, counter, counterV2 } from '../support/counter-machine.ts';
import { add, countingNode, openPlace, projectionOf, tester } from '../support/counting-node.ts';
import { FaultyLog, NO_FAULTS, World } from '../support/faulty-stream.ts';
import { submit } from '../support/submit.ts';

async function startedNode(t: Test, options: { log?: FaultyLog; name?: string } = {}) {
  const clock = new VirtualClock(1_750_000_000_000);
  const { log = new FaultyLog(), name = 'node' } = options;
  const node = countingNode({ stream: log.connect(), clock, name });
  t.teardown(() => node.close());
  await node.host.start();
  return { ...node, clock, log };
}

const note = (id: string, body: Record<string, unknown> = {}) => ({
  kind: 'note' as const,
  id,
  body,
});

test('a decision is committed with its outcome, applied, and read back', async (t) => {
  const { host } = await startedNode(t);
  const applied: number[] = [];
  host.onApplied(({ sequence }) => applied.push(sequence));
  const first = await add(host, 'demo', 'a');
  t.match(first, { answer: { count: 1 }, sequence: 1, replayed: false });
  t.equal(host.appliedSequence(), 1);
  const view = host.view('demo');
  t.match(view.instance('counter', 'a'), { value: 'counting', context: { count: 1 }, version: 1 });
  t.match(view.record('counter', 'a'), { body: { count: 1 } }, 'its effect is in the same commit');
  t.match(view.transitions({ limit: 10 }).items, [
    { event: { type: 'xstate.init' }, from: null, to: 'zero', sequence: 1 },
    { event: { type: 'added' }, from: 'zero', to: 'counting', sequence: 1 },
  ]);
  t.match(host.projects(), ['demo']);
  t.match(host.findInstance('counter', 'a'), { project: 'demo' });
  t.same(applied, [1]);
});

test('submissions of one turn share a commit, and each sees the ones before it', async (t) => {
  const { host } = await startedNode(t);
  const results = await Promise.all(['a', 'a', 'b', 'a'].map((id) => add(host, 'demo', id)));
  t.same(
    results.map(({ answer, sequence }) => [answer.count, sequence]),
    [1, 2, 1, 3].map((count) => [count, 1]),
  );
});

test('a rejected decision leaves nothing behind and does not stop its neighbours', async (t) => {
  const { host } = await startedNode(t);
  const submit = (decide: (draft: Draft) => object) =>
    host.submit({ project: 'demo', by: tester, decide });
  const results = await Promise.allSettled([
    submit((draft) => {
      draft.putRecord(note('1'));
      return {};
    }),
    submit((draft) => {
      draft.putRecord(note('2'));
      draft.putRecord({ kind: 'note', id: '1', body: null });
      throw new Refusal('LIMIT_EXCEEDED', 'Enough');
    }),
    submit((draft) => {
      draft.putRecord(note('3'));
      throw new TypeError('A fault of ours');
    }),
    submit((draft) => ({ seen: draft.records('note', { limit: 9 }).items.map((r) => r.id) })),
    submit((draft) => {
      draft.putRecord(note('4', { reading: Number.NaN }));
      return {};
    }),
  ]);
  t.match(results, [
    { status: 'fulfilled' },
    { status: 'rejected', reason: { reason: 'LIMIT_EXCEEDED' } },
    { status: 'rejected', reason: { name: 'TypeError' } },
    { status: 'fulfilled', value: { answer: { seen: ['1'] } } },
    { status: 'rejected', reason: { message: /reading is NaN/ } },
  ]);
  t.equal(host.counters().decisionFaults, 2);
  t.same(
    host
      .view('demo')
      .records('note', { limit: 9 })
      .items.map((r) => r.id),
    ['1'],
  );
});

test('a decision that changes nothing creates no commit', async (t) => {
  const { host, log } = await startedNode(t);
  await add(host, 'demo', 'a');
  const committed = await submit(
    host,
    { project: 'demo' },
    (draft) => draft.send('counter', 'a', { type: 'seen', at: draft.at }).changed,
  );
  t.match(committed, { answer: false, sequence: 1 });
  t.equal(log.lastSequence, 1);
});

test('a repeated request is answered again; its id is invalid for others', async (t) => {
  const { host } = await startedNode(t);
  const first = await add(host, 'demo', 'a', 'r1');
  const again = await add(host, 'demo', 'a', 'r1');
  t.match(again, { answer: first.answer, sequence: first.sequence, replayed: true });
  const other = (id: string) =>
    host.submit({
      project: 'demo',
      by: tester,
      request: { scope: 'demo', id, fingerprint: 'other' },
      decide: () => ({}),
    });
  await t.rejects(other('r1'), { name: 'Refusal', reason: 'REQUEST_ID_REUSED' });
  const [one, joined, refused] = await Promise.allSettled([
    add(host, 'demo', 'a', 'r2'),
    add(host, 'demo', 'a', 'r2'),
    other('r2'),
  ]);
  t.match(one, { value: { answer: { count: 2 }, replayed: false } });
  t.match(joined, { value: { answer: { count: 2 }, replayed: true } });
  t.match(refused, { reason: { reason: 'REQUEST_ID_REUSED' } });
  t.match(host.view('demo').instance('counter', 'a'), { context: { count: 2 } });
});

test('two nodes cannot race past a limit', async (t) => {
  const world = new World(7);
  const log = new FaultyLog({ world });
  const nodes = ['one', 'two'].map((name) =>
    countingNode({
      stream: log.connect(NO_FAULTS),
      clock: world.clock,
      random: world.random,
      name,
    }),
  );
  const run = async <T>(work: Promise<T>): Promise<T> => {
    let done = false;
    const end = () => {
      done = true;
    };
    work.then(end, end);
    await world.run(() => done, 200_000);
    return work;
  };
  t.teardown(() => run(Promise.all(nodes.map((node) => node.close()))));
  await run(Promise.all(nodes.map((node) => node.host.start())));
  const create = (i: number) =>
    nodes[i % 2]?.host.submit({
      project: 'demo',
      by: tester,
      decide(draft) {
        if (draft.countInstances('counter', { final: false }) >= 20) {
          throw new Refusal('LIMIT_EXCEEDED', 'A project has at most 20 counters');
        }
        return draft.start('counter', `c${i}`, { at: draft.at }).changed;
      },
    });
  const results = await run(Promise.allSettled(Array.from({ length: 50 }, (_, i) => create(i))));
  t.equal(results.filter((result) => result.status === 'fulfilled').length, 20);
  await world.run(() => nodes.every(({ host }) => host.appliedSequence() === log.lastSequence));
  for (const { host } of nodes) {
    t.equal(host.view('demo').countInstances('counter', { final: false }), 20);
  }
});

test('a batch larger than a commit is split; a single larger change is rejected', async (t) => {
  const { host, log } = await startedNode(t);
  const put = (records: number, bytes: number, prefix: string) =>
    submit(host, { project: 'demo' }, (draft) => {
      for (let i = 0; i < records; i++) {
        draft.putRecord(note(`${prefix}${i}`, { text: 'x'.repeat(bytes) }));
      }
      return {};
    });
  await Promise.all(Array.from({ length: 30 }, (_, i) => put(40, 1, `a${i}-`)));
  t.equal(log.lastSequence, 3, '1,200 records, 12 decisions per commit');
  await Promise.all(Array.from({ length: 5 }, (_, i) => put(1, 100_000, `b${i}-`)));
  t.equal(log.lastSequence, 6, 'two of 100 kB fit a commit');
  const tooLarge = { name: 'Refusal', reason: 'REQUEST_TOO_LARGE' };
  await t.rejects(put(COMMIT_EVENTS_MAX + 1, 1, 'c'), tooLarge);
  await t.rejects(put(3, 100_000, 'd'), tooLarge);
  const [large, small] = await Promise.allSettled([put(3, 100_000, 'e'), put(1, 1, 'f')]);
  t.match([large.status, small.status], ['rejected', 'fulfilled']);
});

test('projects commit in parallel', async (t) => {
  const { host, log } = await startedNode(t);
  const results = await Promise.all(
    ['p', 'q', '_system'].map((project) => add(host, project, 'a')),
  );
  t.same(results.map((result) => result.sequence).sort(), [1, 2, 3]);
  t.equal(new Set(log.messages.map((message) => message.subject)).size, 3);
  await t.rejects(add(host, 'a.b', 'a'), { message: /cannot be a subject/ });
});

test('a full queue rejects, and accepted submissions are committed', async (t) => {
  const { host } = await startedNode(t);
  const results = await Promise.allSettled(
    Array.from({ length: 20_010 }, () =>
      host.submit({ project: 'demo', by: tester, decide: () => ({}) }),
    ),
  );
  const refused = results.filter((result) => result.status === 'rejected');
  t.equal(refused.length, 10);
  t.match(refused[0], { reason: { reason: 'TOO_MANY_REQUESTS' } });
  t.equal(host.counters().queueFull, 10);
});

test('the time of commits does not decrease within a minute', async (t) => {
  const { host, clock } = await startedNode(t);
  await add(host, 'demo', 'a');
  clock.jump(-60_000);
  await add(host, 'demo', 'a');
  const times = host
    .view('demo')
    .transitions({ limit: 9 })
    .items.map((row) => row.atMs);
  t.same(times, [...times].sort());
  t.equal(times[2], 1_750_000_000_000);
  t.equal(host.counters().setBacks, 0);
});

test('DUR-13: a member whose own clock is behind does not reclaim a project', async (t) => {
  const log = new FaultyLog();
  const startMs = 1_750_000_000_000;
  const right = countingNode({ stream: log.connect(), clock: new VirtualClock(startMs) });
  const behind = countingNode({
    stream: log.connect(),
    clock: new VirtualClock(startMs - 3_600_000),
    name: 'behind',
    isClockWrong: () => true,
  });
  for (const { host } of [right, behind]) await host.start();
  t.teardown(() => Promise.all([right.close(), behind.close()]));
  const { sequence } = await add(right.host, 'demo', 'a');
  await behind.host.waitFor(sequence, AbortSignal.timeout(180_000));
  await add(behind.host, 'demo', 'a');
  const times = behind.host.view('demo').transitions({ limit: 9 }).items;
  t.same([...new Set(times.map(({ atMs }) => atMs))], [startMs]);
  t.equal(behind.host.counters().setBacks, 0);
});

test('DUR-28: after a clock was set back, commits have its time, and lists find them', async (t) => {
  const { host, clock } = await startedNode(t);
  const startMs = clock.now();
  const HOUR_MS = 3_600_000;
  /** Adds at a time relative to the start, and returns it. */
  const addAt = async (ms: number): Promise<void> => {
    clock.jump(startMs + ms - clock.now());
    await add(host, 'demo', `at ${ms}`);
  };
  await addAt(0);
  await addAt(HOUR_MS);
  await addAt(10_000);
  await addAt(20_000);
  await addAt(HOUR_MS + 5_000);
  await addAt(30_000);
  t.equal(host.counters().setBacks, 2);
  const list = (sinceMs: number, untilMs: number) =>
    host
      .view('demo')
      .transitions({ limit: 99, sinceMs: startMs + sinceMs, untilMs: startMs + untilMs })
      .items.map(({ atMs }) => atMs - startMs);
  const seconds = (from: number, to: number) => [...new Set(list(from, to))];
  t.same(seconds(0, 2 * HOUR_MS), [0, HOUR_MS, 10_000, 20_000, HOUR_MS + 5_000, 30_000]);
  t.same(seconds(5_000, 25_000), [10_000, 20_000], 'those of the right time');
  t.same(seconds(15_000, HOUR_MS), [HOUR_MS, 20_000, 30_000]);
  t.same(seconds(HOUR_MS + 1, 2 * HOUR_MS), [HOUR_MS + 5_000]);
  t.same(seconds(0, 0), [0]);
  t.same(seconds(30_001, HOUR_MS - 1), []);
});

test('API-15: a wait for a sequence ends when it is applied or abandoned', async (t) => {
  const log = new FaultyLog();
  const { host } = await startedNode(t, { log });
  const other = await startedNode(t, { log, name: 'other' });
  const waiting = other.host.waitFor(1, AbortSignal.timeout(180_000));
  await add(host, 'demo', 'a');
  await waiting;
  t.match(other.host.view('demo').instance('counter', 'a'), { context: { count: 1 } });
  const giveUp = new AbortController();
  const never = other.host.waitFor(99, giveUp.signal);
  giveUp.abort(new Error('Too long'));
  await t.rejects(never, { message: 'Too long' });
});

test('a host accepts nothing before its start or after its stop', async (t) => {
  const node = countingNode({ stream: new FaultyLog().connect() });
  t.teardown(() => node.close());
  const notReady = { name: 'Refusal', reason: 'NOT_READY' };
  await t.rejects(add(node.host, 'demo', 'a'), notReady);
  await node.host.start();
  const accepted = add(node.host, 'demo', 'a');
  await node.host.stop();
  t.match(await accepted, { sequence: 1 }, 'accepted submissions are settled first');
  await t.rejects(add(node.host, 'demo', 'a'), notReady);
});

test('DUR-11: a row of an older version is upgraded, and one of a newer version is rejected', async (t) => {
  const log = new FaultyLog();
  const old = await startedNode(t, { log });
  await add(old.host, 'demo', 'a');
  await add(old.host, 'demo', 'a');
  const next = countingNode({ stream: log.connect(), machine: counterV2, name: 'next' });
  t.teardown(() => next.close());
  await next.host.start();
  t.match(next.host.view('demo').instance('counter', 'a'), { version: 2, context: { total: 2 } });
  const { sequence } = await add(next.host, 'demo', 'a');
  await old.host.waitFor(sequence, AbortSignal.timeout(180_000));
  t.match(next.host.view('demo').instance('counter', 'a'), { context: { count: 3, total: 3 } });
  const row = { version: 2, context: { count: 3 } };
  t.match(old.host.view('demo').instance('counter', 'a'), row, 'the old node displays it');
  await t.rejects(add(old.host, 'demo', 'a'), { name: 'Refusal', reason: 'NOT_READY' });
  t.equal(projectionOf(old.database), projectionOf(next.database));
});

test('DUR-12: a restarted node keeps its timers, and each timer fires once', async (t) => {
  const log = new FaultyLog();
  const place = openPlace();
  const clock = new VirtualClock(1_750_000_000_000);
  const options = { stream: log.connect(), clock, place };
  const before = countingNode(options);
  await before.host.start();
  await add(before.host, 'demo', 'a');
  await before.host.stop();
  const { host } = countingNode(options);
  t.teardown(() => host.stop());
  await host.start();
  const dueMs = 1_750_000_000_000 + COUNTER_RESET_MS;
  t.equal(host.nextTimerDueMs(), dueMs);
  const [timer] = host.dueTimers(dueMs, 1);
  if (timer === undefined) throw new Error('No timer');
  t.match((await host.fireTimer(timer, tester)).answer, { fired: false }, 'not yet');
  await clock.advance(COUNTER_RESET_MS);
  t.match((await host.fireTimer(timer, tester)).answer, { fired: true });
  t.match((await host.fireTimer(timer, tester)).answer, { fired: false });
  t.equal(host.view('demo').instance('counter', 'a')?.value, 'zero');
  t.equal(host.nextTimerDueMs(), undefined);
});

test('a machine with an invalid action fails only its own decision', async (t) => {
  const spawning = setup({ actions: { shout: () => {} } }).createMachine({
    initial: 'idle',
    states: {
      idle: { on: { noted: { actions: { type: 'shout' } }, waited: 'waiting', ended: 'end' } },
      waiting: { after: { 10: { actions: [] } } },
      end: { type: 'final' },
    },
  });
  const definition: MachineDefinition = { ...counter, name: 'odd', machine: spawning };
  const clock = new VirtualClock(1000);
  const host = createHost({
    stream: new FaultyLog().connect(),
    store: openPlace().store,
    clock,
    random: seededRandom(1),
    machines: new Map([['odd', definition]]),
    expand: () => {},
    node: 'node',
  });
  t.teardown(() => host.stop());
  await host.start();
  const submit = (decide: (draft: Draft) => unknown) =>
    host.submit({ project: 'demo', by: tester, decide });
  const send = (type: string) => submit((d) => d.send('odd', 'a', { type, at: d.at }).changed);
  await submit((draft) => draft.start('odd', 'a', { at: draft.at }));
  await t.rejects(send('noted'), { message: /shout, which nothing performs/ });
  await t.rejects(
    submit((d) => d.start('odd', 'a', {})),
    { message: /already exists/ },
  );
  await t.rejects(
    submit((d) => d.start('none' as 'odd', 'a', {})),
    { message: /no machine none/ },
  );
  await t.rejects(
    submit((d) => d.send('odd', 'b', { type: 'x', at: 1 })),
    { name: 'Refusal', reason: 'NOT_FOUND' },
  );
  await send('waited');
  await clock.advance(10);
  const [timer] = host.dueTimers(1010, 1);
  if (timer === undefined) throw new Error('No timer');
  t.match((await host.fireTimer(timer, tester)).answer, { fired: true });
  t.equal(host.nextTimerDueMs(), undefined, 'the timer is spent, although its state ignored it');
  t.equal(host.counters().decisionFaults, 3);
});
