/**
 * Limits of a query before it is abandoned. A caller with many queries, or one that has
 * disconnected, delays no other.
 */
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { type Test, test } from 'tap';
import { HistoryError } from '../../sqlite/telemetry/history/history-error.ts';
import { FairQueue } from '../../src/platform/gate/fair-queue.ts';
import type {
  QueryOperation,
  QueryRequest,
} from '../../src/telemetry/query/promql/query-request.ts';
import { RUN_MS } from '../../src/telemetry/query/threads/limits.ts';
import { onDemand } from '../../src/telemetry/query/threads/on-demand.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { testBounds } from '../support/bounds.ts';
import { START } from '../support/history-from-log.ts';
import { until as untilEvent } from '../support/program.ts';
import { envelopeOf, type HistoryQueries, openQueries } from '../support/queries-on-history.ts';

const STEP = 30_000;
const slowThread = new URL('../support/slow-query-thread.ts', import.meta.url);
const unstartable = new URL('../support/unstartable-thread.ts', import.meta.url);

function start(t: Test, options: Partial<Parameters<typeof openQueries>[0]>): HistoryQueries {
  const world = openQueries({ folder: t.testdir(), ...options });
  t.teardown(() => world.close());
  return world;
}

function instant(expression: string): QueryOperation {
  return { kind: 'instant', expression, timeMs: START };
}

/** Reason of a query's refusal. */
async function reasonOf(query: Promise<unknown>): Promise<string> {
  try {
    await query;
    return 'answered';
  } catch (error) {
    return error instanceof Refusal ? error.reason : String(error);
  }
}

async function until(isSo: () => boolean): Promise<void> {
  await untilEvent(String(isSo), () => isSo() || undefined);
}

test('methods that failed to load are loaded again with the next call', async (t) => {
  let loads = 0;
  const { first, second } = onDemand(['first', 'second'], async () => {
    if (++loads === 1) throw new Error('Too many open files');
    return { first: () => ({ result: 1 }), second: () => ({ result: 2 }) };
  });
  const call = (method: typeof first) => method?.(undefined as never, () => false);
  await t.rejects(Promise.resolve(call(first)), { message: 'Too many open files' });
  t.same(await Promise.all([call(first), call(second)]), [{ result: 1 }, { result: 2 }]);
  t.equal(loads, 2, 'and kept once they are loaded');
});

test('each fault of a query is answered with its own status', async (t) => {
  const world = start(t, { isInline: true });
  const names = Array.from({ length: 40 }, (_, n) => `vm-${n}`);
  for (let i = 0; i < 120; i++) {
    world.append(...names.map((vm) => ({ at: i * STEP, vm, values: { x: i + 0.123456789 } })));
  }
  const range = { kind: 'range', startMs: START, endMs: START + 120 * STEP, stepMs: STEP } as const;
  const rows: readonly [
    call: QueryOperation,
    status: number,
    reported: object,
    more?: Partial<QueryRequest>,
  ][] = [
    [
      instant('sum(x'),
      400,
      { errorType: 'bad_data', error: /^invalid parameter "query": 1:6: parse error/ },
    ],
    [
      instant(Array.from({ length: 25 }, (_, n) => `x{vm=~"${n}[^y]{900}"}`).join(' or ')),
      400,
      { errorType: 'bad_data', error: /more than 20000 instructions in all regular expressions/ },
    ],
    [instant('x * on (project) x'), 422, { errorType: 'execution', error: /many-to-many/ }],
    [instant('x[1h]'), 200, { data: { resultType: 'matrix' } }],
    [{ ...range, expression: 'x[1h]' }, 400, { errorType: 'bad_data', error: /range vector/ }],
    [instant('x'), 503, { errorType: 'timeout', error: /timed out/ }, { timeoutMs: 0 }],
    [
      { kind: 'series', matches: ['x offset 5m'], startMs: START, endMs: START },
      400,
      {
        errorType: 'bad_data',
        error: /^invalid parameter "match\[\]": .*expected only a selector/,
      },
    ],
    [instant(`{vm=~".+"}[1h] `), 200, { data: { resultType: 'matrix' } }],
    [
      instant('count_over_time((x + x)[7d:1ms])'),
      422,
      { errorType: 'execution', error: /more than 536870912 bytes of memory/ },
    ],
    [{ kind: 'format', expression: 'sum( x )by(vm)' }, 200, { data: 'sum by (vm) (x)' }],
    [{ kind: 'parse', expression: 'x' }, 200, { data: { type: 'vectorSelector' } }],
  ];
  for (const [call, status, reported, more] of rows) {
    const answer = await world.run(call, more);
    t.equal(answer.status, status, JSON.stringify(call));
    t.match(envelopeOf(answer), reported, JSON.stringify(call));
  }
  const wide = await world.run({ ...range, expression: large(40) });
  t.equal(wide.status, 422);
  t.match(envelopeOf(wide), { errorType: 'execution', error: /exceed 4194304 bytes/ });
});

/** An expression over this many times as many series. */
function large(times: number): string {
  const parts = Array.from({ length: times }, (_, n) => `label_replace(x, "n", "${n}", "", "")`);
  return parts.join(' or ');
}

test('answers are compressed as requested, except small ones', async (t) => {
  const world = start(t, { isInline: true });
  for (let i = 0; i < 200; i++) world.append({ at: i * STEP, values: { x: i } });
  const call = { kind: 'instant', expression: 'x[2h]', timeMs: START + 200 * STEP } as const;
  const plain = await world.run(call);
  const [gzip, zstd] = [
    await world.run(call, { encoding: 'gzip' }),
    await world.run(call, { encoding: 'zstd' }),
  ];
  t.same([gzip.encoding, zstd.encoding], ['gzip', 'zstd']);
  t.same(gunzipSync(gzip.body), Buffer.from(plain.body));
  t.same(zstdDecompressSync(zstd.body), Buffer.from(plain.body));
  t.ok(gzip.body.length < plain.body.length / 2);
  t.equal((await world.run(instant('1'), { encoding: 'gzip' })).encoding, 'identity');
});

test('a slow query ends at its time limit, in the middle of its work', async (t) => {
  const world = start(t, { threads: 1 });
  const names = Array.from({ length: 20 }, (_, n) => `vm-${n}`);
  for (let i = 0; i < 500; i++)
    world.append(...names.map((vm) => ({ at: i * STEP, vm, values: { x: i } })));
  const heavy = {
    kind: 'range',
    expression:
      'sum(quantile_over_time(0.5, x[4h]) + stddev_over_time(x[4h]) + quantile_over_time(0.9, x[4h]))',
    startMs: START,
    endMs: START + 500 * STEP,
    stepMs: 1500,
  } as const;
  await world.run(instant('1'));
  const answer = await world.run(heavy, { timeoutMs: 50 });
  t.equal(answer.status, 503, Buffer.from(answer.body).toString().slice(0, 300));
  t.equal(world.threads.counts.hardStops, 0, 'it checked by itself');
});

test('a query frees its thread as soon as its client disconnects', async (t) => {
  const world = start(t, { threads: 1, entry: slowThread });
  const gone = new AbortController();
  const slow = world.run(instant('slow'), {}, gone.signal);
  const waiting = world.run(instant('quick'));
  await until(() => world.threads.counts.waiting === 1);
  gone.abort(new Error('gone'));
  await t.rejects(slow, { message: 'gone' });
  t.equal((await waiting).status, 200);
  t.match(world.threads.counts, { running: 0, waiting: 0, crashes: 0, hardStops: 0 });
});

test('a thread that does not react is replaced after two seconds', async (t) => {
  const world = start(t, { threads: 1, entry: slowThread });
  t.equal((await world.run(instant('quick'))).status, 200);
  const gone = new AbortController();
  const stubborn = world.run(instant('stubborn'), {}, gone.signal);
  const waiting = world.run(instant('quick'));
  await until(() => world.threads.counts.waiting === 1);
  gone.abort(new Error('gone'));
  await t.rejects(stubborn, { message: 'gone' });
  await world.clock.advance(1999);
  t.equal(world.threads.counts.hardStops, 0);
  await world.clock.advance(1);
  t.equal((await waiting).status, 200, 'the next query has a new thread');
  t.match(world.threads.counts, { hardStops: 1, crashes: 0 });
  t.match(world.lines, [/hardStopped.*query thread 1 did not stop a call/], 'and the log says so');
});

test('a thread that dies ends only its own query', async (t) => {
  const world = start(t, { threads: 1, entry: slowThread });
  t.equal(await reasonOf(world.run(instant('die'))), 'NOT_READY');
  t.match(world.lines[0], /died.*query thread 1 has stopped: exit code 3/);
  t.equal((await world.run(instant('quick'))).status, 200);
  t.equal(world.threads.counts.crashes, 1);
});

test('a query that exceeds its thread’s memory is not to be retried', async (t) => {
  const heapBytesMax = 64 * 1024 * 1024;
  const world = start(t, { threads: 1, entry: slowThread, heapBytesMax });
  const answer = await world.run(instant('hoard'));
  t.equal(answer.status, 422);
  t.match(envelopeOf(answer), { errorType: 'execution', error: /needs more memory/ });
  t.match(world.threads.counts, { outOfMemory: 1, crashes: 1, faults: 0 });
  t.equal((await world.run(instant('quick'))).status, 200);
});

test('an internal error is logged with its stack, and not reported as a storage failure', async (t) => {
  const world = start(t, { threads: 1, entry: slowThread });
  const error = await world.run(instant('mistake')).catch((thrown: unknown) => thrown);
  t.ok(error instanceof HistoryError);
  t.match(error, {
    reason: 'FAULT',
    retryable: false,
    stack: /x is undefined\n.*slow-query-thread/s,
  });
  t.equal(world.threads.counts.faults, 1);
  t.equal(await reasonOf(world.run(instant('disk'))), 'NOT_READY');
  t.match(world.lines, [/EIO: read/], 'the reason is only in the log');
  t.match(world.threads.counts, { faults: 1, crashes: 0 });
});

test('a thread that cannot start is retried with growing delays', async (t) => {
  const world = start(t, { threads: 1, entry: unstartable });
  const ask = () => reasonOf(world.run(instant('quick')));
  const crashes = () => world.threads.counts.crashes;
  for (let i = 0; i < 5; i++) t.equal(await ask(), 'NOT_READY');
  t.equal(crashes(), 1);
  t.match(world.lines[0], /No such file: history.db/);
  await world.clock.advance(1000);
  for (let i = 0; i < 5; i++) await ask();
  t.equal(crashes(), 2);
  await world.clock.advance(1999);
  await ask();
  t.equal(crashes(), 2);
  await world.clock.advance(1);
  await ask();
  t.equal(crashes(), 3);
});

test('one project never gets all threads, whatever its load', async (t) => {
  const world = start(t, { threads: 3, entry: slowThread });
  const gone = new AbortController();
  const slow = Array.from({ length: 5 }, () =>
    world.run(instant('slow'), { project: 'loud' }, gone.signal).catch(() => 'gone'),
  );
  await until(() => world.threads.counts.waiting === 3);
  t.match(world.threads.counts, { running: 2, waiting: 3 });
  t.equal((await world.run(instant('quick'), { project: 'quiet' })).status, 200);
  t.match(world.threads.counts, { running: 2, waiting: 3 }, 'the slot is kept free');
  gone.abort(new Error('gone'));
  t.same(new Set(await Promise.all(slow)), new Set(['gone']));
  await until(() => world.threads.counts.running === 0);
  t.match(world.threads.counts, { running: 0, waiting: 0, crashes: 0, hardStops: 0 });
});

test('ten seconds is the maximum, whatever the thread does', async (t) => {
  const world = start(t, { threads: 1, entry: slowThread });
  t.equal((await world.run(instant('quick'))).status, 200);
  const slow = world.run(instant('slow'));
  await until(() => world.threads.counts.running === 1);
  await world.clock.advance(9_999);
  t.equal(world.threads.counts.running, 1);
  await world.clock.advance(1);
  const answer = await slow;
  t.equal(answer.status, 503);
  t.match(envelopeOf(answer), { errorType: 'timeout' });
});

test('72 queries of one project delay each other, and no other project', async (t) => {
  const world = start(t, { threads: 1, entry: slowThread });
  t.equal((await world.run(instant('quick'))).status, 200);
  const gone = new AbortController();
  const order: string[] = [];
  const { gate } = testBounds(world.clock);
  let calls = 0;
  const run = async (
    kind: 'quick' | 'slow',
    project: string,
    signal = new AbortController().signal,
  ) => {
    // A single caller gets half of the slots.
    const caller = { tenant: project, name: `key ${calls++ % 2}` };
    const { release } = await gate.enter(caller, 'query', signal);
    return await world.run(instant(kind), { project }, signal).finally(release);
  };
  const first = run('slow', 'loud', gone.signal);
  const others = Array.from({ length: 71 }, () =>
    run('quick', 'loud').then(() => order.push('loud')),
  );
  const quiet = run('quick', 'quiet').then(() => order.push('quiet'));
  await until(() => world.threads.counts.waiting === 8);
  // One millisecond later the slow query would be moved for the other project.
  await world.clock.advance(RUN_MS - 1);
  t.same(order, []);
  gone.abort(new Error('gone'));
  await t.rejects(first, { message: 'gone' });
  await Promise.all([...others, quiet]);
  t.same(order.slice(0, 2), ['quiet', 'loud'], 'the project with little use is next');
  t.equal(order.length, 72, 'all are answered');
});

test('TEN-21: a query yields to a project with little use, and is answered', async (t) => {
  const world = start(t, { threads: 1, entry: slowThread });
  t.equal((await world.run(instant('quick'))).status, 200);
  const gone = new AbortController();
  const slow = world.run(instant('slow'), { project: 'loud' }, gone.signal);
  await until(() => world.threads.counts.running === 1);
  const quick = world.run(instant('quick'), { project: 'quiet' });
  await until(() => world.threads.counts.waiting === 1);
  await world.clock.advance(RUN_MS - 1);
  t.equal(world.threads.counts.moved, 0);
  await world.clock.advance(1);
  t.equal((await quick).status, 200, 'after half a slice');
  await until(() => world.threads.counts.running === 1);
  t.match(world.threads.counts, { running: 1, waiting: 0, moved: 1, hardStops: 0, crashes: 0 });
  await world.clock.advance(10_000);
  const answer = await slow;
  t.equal(answer.status, 503, 'its own time continued');
  t.match(envelopeOf(answer), { errorType: 'timeout' });
});

test('TEN-21: a query whose client disconnects while it yields does not restart', async (t) => {
  const world = start(t, { threads: 1, entry: slowThread });
  t.equal((await world.run(instant('quick'))).status, 200);
  const gone = new AbortController();
  const stubborn = world.run(instant('stubborn'), { project: 'loud' }, gone.signal);
  await until(() => world.threads.counts.running === 1);
  const quick = world.run(instant('quick'), { project: 'quiet' });
  await world.clock.advance(RUN_MS);
  t.match(world.threads.counts, { running: 1, waiting: 1, moved: 1 }, 'it has not stopped');
  gone.abort(new Error('gone'));
  await t.rejects(stubborn, { message: 'gone' });
  await world.clock.advance(2_000);
  t.equal((await quick).status, 200);
  await until(() => world.threads.counts.running === 0);
  t.match(world.threads.counts, { running: 0, waiting: 0, moved: 1, hardStops: 1 });
});

test('TEN-21: a query that is ended for others reports this and when to retry', async (t) => {
  const world = start(t, { threads: 1, entry: slowThread });
  t.equal((await world.run(instant('quick'))).status, 200);
  const slow = () =>
    world.run(instant('slow'), { project: 'loud' }).catch((error: unknown) => error);
  // Each takes ten seconds of thread time.
  for (let i = 0; i < 2; i++) {
    const answer = slow();
    await until(() => world.threads.counts.running === 1);
    await world.clock.advance(10_000);
    t.match(await answer, { status: 503 });
    await until(() => world.threads.counts.running === 0);
  }
  const refused = slow();
  await until(() => world.threads.counts.running === 1);
  await world.clock.advance(9_000);
  const quick = world.run(instant('quick'), { project: 'quiet' });
  await world.clock.advance(RUN_MS);
  t.match(await refused, {
    reason: 'TOO_MANY_REQUESTS',
    message: /^The query was ended: .* Request less data, or retry later$/,
    metadata: { limit: 'concurrency', retryAfterSeconds: '30' },
  });
  t.equal((await quick).status, 200);
  t.match(world.threads.counts, { ended: 1, moved: 0 });
});

test('projects take turns, each in its own order', async (t) => {
  const queue = new FairQueue<string>();
  for (const entry of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.push(entry.slice(0, 1), entry);
  t.ok(queue.remove('a', 'a2'));
  t.notOk(queue.remove('a', 'a2'), 'it left earlier');
  const order = Array.from({ length: queue.size }, () => queue.next());
  t.same(order, ['a1', 'b1', 'c1', 'a3', 'b2']);
  t.equal(queue.next(), undefined);
  for (const entry of ['a4', 'b3', 'a5']) queue.push(entry.slice(0, 1), entry);
  t.equal(
    queue.next((project) => project !== 'a'),
    'b3',
    'a blocked project is skipped',
  );
  t.equal(
    queue.next((project) => project !== 'a'),
    undefined,
  );
  t.equal(queue.next(), 'a4', 'and keeps its slot');
});

test('queries end with the service', async (t) => {
  const world = openQueries({ folder: t.testdir(), threads: 1, entry: slowThread });
  const [slow, waiting] = [world.run(instant('slow')), world.run(instant('quick'))];
  await until(() => world.threads.counts.waiting === 1);
  const reasons = Promise.all([reasonOf(slow), reasonOf(waiting)]);
  await world.close();
  t.same(await reasons, ['NOT_READY', 'NOT_READY']);
  t.equal(await reasonOf(world.run(instant('quick'))), 'NOT_READY');
});
