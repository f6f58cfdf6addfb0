/** Bounds of queries on a virtual clock: how many run, how many wait, how long each may take. */
import t from 'tap';
import { HistoryError } from '../../sqlite/history/history-error.ts';
import { createQueryGate, type QueryGate } from '../../src/query/query-gate.ts';
import { VirtualClock } from '../../streams/clock.ts';
import { START_MS } from '../support/credential-world.ts';
import { START_SECONDS, startRpcWorld, VM, withThreads } from '../support/rpc-world.ts';

const never = new AbortController().signal;

/** Queries that run until they are let go. */
function heldQueries(gate: QueryGate) {
  const held: { project: string; finish: () => void; signal: AbortSignal }[] = [];
  const outcomes: string[] = [];
  const start = async (project: string, signal = never) => {
    const name = `${project} ${outcomes.length}`;
    const place = outcomes.push(`${name} waits`) - 1;
    try {
      await gate.run(project, signal, (ended) => {
        outcomes[place] = `${name} runs`;
        const { promise, resolve } = Promise.withResolvers<void>();
        held.push({ project, finish: resolve, signal: ended });
        return promise;
      });
      outcomes[place] = `${name} ends`;
    } catch (error) {
      outcomes[place] = `${name}: ${(error as { reason?: string }).reason ?? error}`;
    }
  };
  const count = (what: string) => outcomes.filter((outcome) => outcome.endsWith(what)).length;
  return { held, start, count, outcomes };
}

const turns = () => new Promise<void>((resolve) => setImmediate(resolve));

t.test(
  'Concurrency: limited per project, 8 queries run, 64 wait, more are to back off',
  async (t) => {
    const clock = new VirtualClock(START_MS);
    const { held, start, count, outcomes } = heldQueries(createQueryGate(clock));
    for (let i = 0; i < 73; i++) void start('demo');
    await turns();
    t.same([count('runs'), count('waits'), count('TOO_MANY_REQUESTS')], [8, 64, 1]);
    t.equal(outcomes[72], 'demo 72: TOO_MANY_REQUESTS', 'the last to come');

    void start('other');
    await turns();
    t.equal(outcomes.at(-1), 'other 73 runs', 'another project is not delayed');

    held[0]?.finish();
    await turns();
    t.same([count('runs'), count('waits')], [9, 63], 'a place is handed on');
    t.equal(outcomes[8], 'demo 8 runs', 'to the one that waits longest');

    await clock.advance(4_999);
    t.equal(count('waits'), 63);
    await clock.advance(1);
    t.same([count('waits'), count('TOO_MANY_REQUESTS')], [0, 64], 'nobody waits longer than 5 s');

    for (const { finish } of held) finish();
    await turns();
    for (let i = 0; i < 8; i++) void start('demo');
    await turns();
    t.equal(count('runs'), 8, 'no place was lost on the way');
  },
);

t.test(
  'Query gateway upstream timeout: 10 seconds, also when the work does not notice',
  async (t) => {
    const clock = new VirtualClock(START_MS);
    const { held, start, outcomes } = heldQueries(createQueryGate(clock));
    void start('demo');
    await clock.advance(9_999);
    t.equal(outcomes[0], 'demo 0 runs');
    await clock.advance(1);
    await turns();
    t.equal(outcomes[0], 'demo 0: QUERY_TIMEOUT');
    t.ok(held[0]?.signal.aborted, 'the work is told');
  },
);

t.test('A query may ask for less time than that', async (t) => {
  const clock = new VirtualClock(START_MS);
  const ended: AbortSignal[] = [];
  const forever = (signal: AbortSignal) => {
    ended.push(signal);
    return new Promise<void>(() => {});
  };
  const run = createQueryGate(clock).run('demo', never, forever, 1_500);
  const refused = t.rejects(run, { reason: 'QUERY_TIMEOUT', message: /1\.5 seconds/ });
  await clock.advance(1_499);
  t.notOk(ended[0]?.aborted);
  await clock.advance(1);
  await refused;
  t.ok(ended[0]?.aborted);
});

t.test('An asker that has gone leaves the queue, or ends its work', async (t) => {
  const clock = new VirtualClock(START_MS);
  const { held, start, count, outcomes } = heldQueries(createQueryGate(clock));
  const gone = new AbortController();
  void start('demo', gone.signal);
  for (let i = 0; i < 7; i++) void start('demo');
  void start('demo', gone.signal);
  await turns();
  t.same([count('runs'), count('waits')], [8, 1]);
  gone.abort(new Error('hung up'));
  await turns();
  t.ok(held[0]?.signal.aborted);
  t.same([outcomes[0], outcomes[8]], ['demo 0: Error: hung up', 'demo 8: Error: hung up']);
  void start('demo');
  await turns();
  t.equal(count('runs'), 8, 'and its place is free');
});

const query = {
  name: VM,
  metricIds: ['cpu_utilization_pct'],
  startTimeUnix: String(START_SECONDS - 3600),
  endTimeUnix: String(START_SECONDS),
  stepSeconds: 60,
};

t.test(
  'Upstream query exceeds 10 seconds: a 504 without points, and the read is given up',
  async (t) => {
    const signals: AbortSignal[] = [];
    const world = await startRpcWorld(t, (deps) => withThreads(deps, slow(signals)));
    await world.write([{ observedUnixMs: START_MS }]);
    const asked = world.call('QueryVMMonitoring', query);
    const listed = world.call('ListVMMonitoring', { projectName: 'projects/demo' });
    while (signals.length < 2) await turns();
    await world.clock.advance(10_000);
    for (const answer of await Promise.all([asked, listed])) {
      t.match(answer, {
        status: 504,
        reason: 'QUERY_TIMEOUT',
        body: { code: 'deadline_exceeded' },
      });
      t.notOk('series' in answer.body || 'vms' in answer.body);
    }
    t.ok(signals.every((signal) => signal.aborted));
  },
);

/** Threads that never answer; each call's signal is noted. */
function slow(signals: AbortSignal[]) {
  return (signal: AbortSignal): Promise<unknown> => {
    signals.push(signal);
    return new Promise(() => {});
  };
}

t.test('Too many requests: a 429 that says when to come again', async (t) => {
  const signals: AbortSignal[] = [];
  const none = { kind: 'answer', bytes: new Uint8Array(), failures: [] };
  const world = await startRpcWorld(t, (deps) =>
    withThreads(deps, (signal, method) =>
      method === 'vmQuery' ? slow(signals)(signal) : Promise.resolve(none),
    ),
  );
  await world.write([{ observedUnixMs: START_MS }]);
  const asked = Array.from({ length: 73 }, () => world.call('QueryVMMonitoring', query));
  const refused = await Promise.race(asked);
  t.match(refused, { status: 429, reason: 'TOO_MANY_REQUESTS' });
  t.match(refused.headers['retry-after'], /^[1-9][0-9]*$/);
  t.equal(signals.length, 8);
  const other = await world.call('ListVMMonitoring', { projectName: 'projects/demo' });
  t.equal(other.status, 200, 'what is no query goes on');
  for (let i = 0; i < 10; i++) await world.clock.advance(5_000);
  await Promise.all(asked);
});

t.test('Storage that fails is a 503 to come again to, and told in the log', async (t) => {
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  for (const error of [new HistoryError('DAMAGED', 'Chunk 7: checksum'), full]) {
    const world = await startRpcWorld(t, (deps) => withThreads(deps, () => Promise.reject(error)));
    await world.write([{ observedUnixMs: START_MS }]);
    const answer = await world.call('QueryVMMonitoring', query);
    t.match(answer, { status: 503, reason: 'NOT_READY' });
    t.ok(answer.headers['retry-after']);
    t.notMatch(JSON.stringify(answer.body), /Chunk 7|disk is full/, 'inside matters stay inside');
    t.match(world.lines.join(), error.message);
  }
});

t.test('A fault of ours is a 500 that says nothing but that, and is told in the log', async (t) => {
  const fault = new HistoryError('FAULT', 'x of undefined');
  fault.stack = 'TypeError: x of undefined\n at answer.ts';
  const world = await startRpcWorld(t, (deps) => withThreads(deps, () => Promise.reject(fault)));
  await world.write([{ observedUnixMs: START_MS }]);
  const answer = await world.call('QueryVMMonitoring', query);
  t.match(answer, { status: 500, body: { code: 'internal' } });
  t.notMatch(JSON.stringify(answer.body), /undefined|\.ts/);
  t.match(world.lines.join(), /x of undefined.*answer\.ts/s);
});

t.test(
  'A question that a thread has not the memory for is refused, not to be repeated',
  async (t) => {
    const died = new HistoryError('OUT_OF_MEMORY', 'The query thread 1 has stopped');
    const world = await startRpcWorld(t, (deps) => withThreads(deps, () => Promise.reject(died)));
    await world.write([{ observedUnixMs: START_MS }]);
    const answer = await world.call('QueryVMMonitoring', query);
    t.match(answer, { status: 400, reason: 'RESPONSE_TOO_LARGE' });
  },
);
