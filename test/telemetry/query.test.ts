/** Queries on a virtual clock: their time limits, and the reports of their failures. */
import { test } from 'tap';
import { DamagedRow } from '../../sqlite/platform/row-checksum.ts';
import { HistoryError } from '../../sqlite/telemetry/history/history-error.ts';
import { withQueryDeadline } from '../../src/telemetry/query/threads/query-threads.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { START_SECONDS, startRpcWorld, VM, withThreads } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';

const never = new AbortController().signal;
const turns = () => new Promise<void>((resolve) => setImmediate(resolve));

test('LIMIT-03: a query times out after 10 seconds, even if its work does not react', async (t) => {
  const clock = new VirtualClock(START_MS);
  for (const timeoutMs of [undefined, 1_500]) {
    const ended: AbortSignal[] = [];
    const forever = (signal: AbortSignal) => {
      ended.push(signal);
      return new Promise<void>(() => {});
    };
    const options = { clock, signal: never, ...(timeoutMs !== undefined && { timeoutMs }) };
    const run = withQueryDeadline(options, forever);
    const message = timeoutMs === undefined ? /10 seconds/ : /1\.5 seconds/;
    const refused = t.rejects(run, { reason: 'QUERY_TIMEOUT', message });
    await clock.advance((timeoutMs ?? 10_000) - 1);
    t.notOk(ended[0]?.aborted);
    await clock.advance(1);
    await refused;
    t.ok(ended[0]?.aborted, 'the work is aborted');
  }
});

test('a disconnected client ends its query', async (t) => {
  const clock = new VirtualClock(START_MS);
  const gone = new AbortController();
  const ended: AbortSignal[] = [];
  const run = withQueryDeadline({ clock, signal: gone.signal }, (signal) => {
    ended.push(signal);
    return new Promise<void>(() => {});
  });
  const refused = t.rejects(run, { message: 'hung up' });
  gone.abort(new Error('hung up'));
  await refused;
  t.ok(ended[0]?.aborted);
});

const query = {
  name: VM,
  metricIds: ['cpu_utilization_pct'],
  startTimeUnix: String(START_SECONDS - 3600),
  endTimeUnix: String(START_SECONDS),
  stepSeconds: 60,
};

test('ERR-03: a query over 10 seconds is a 504 without points, and its read is abandoned', async (t) => {
  const signals: AbortSignal[] = [];
  const world = await startRpcWorld(t, (deps) => withThreads(deps, slow(signals)));
  await world.write([{ observedUnixMs: START_MS }]);
  const requested = world.call('QueryVMMonitoring', query);
  const listed = world.call('ListVMMonitoring', { projectName: 'projects/demo' });
  while (signals.length < 2) await turns();
  await world.clock.advance(10_000);
  for (const answer of await Promise.all([requested, listed])) {
    t.match(answer, {
      status: 504,
      reason: 'QUERY_TIMEOUT',
      body: { code: 'deadline_exceeded' },
    });
    t.notOk('series' in answer.body || 'vms' in answer.body);
  }
  t.ok(signals.every((signal) => signal.aborted));
});

/** Threads that never answer; each call's signal is recorded. */
function slow(signals: AbortSignal[]) {
  return (signal: AbortSignal): Promise<unknown> => {
    signals.push(signal);
    return new Promise(() => {});
  };
}

test('ERR-01: a query over the concurrency limit gets a 429 with a retry time', async (t) => {
  const signals: AbortSignal[] = [];
  const none = { kind: 'answer', bytes: new Uint8Array(), failures: [] };
  const world = await startRpcWorld(t, (deps) =>
    withThreads(deps, (signal, method) =>
      method === 'vmQuery' ? slow(signals)(signal) : Promise.resolve(none),
    ),
  );
  await world.write([{ observedUnixMs: START_MS }]);
  // The bodies of 128 calls of one caller may be in flight.
  const { read, write } = world.keys;
  const requested = Array.from({ length: 270 }, (_, i) =>
    world.call('QueryVMMonitoring', query, { key: i % 2 ? read : write }),
  );
  const refused = await Promise.race(requested);
  t.match(refused, { status: 429, reason: 'TOO_MANY_REQUESTS' });
  t.match(refused.headers['retry-after'], /^[1-9][0-9]*$/);
  while (signals.length < 8) await turns();
  await turns();
  t.equal(signals.length, 8);
  const other = await world.call('ListVMMonitoring', { projectName: 'projects/demo' });
  t.equal(other.status, 200, 'calls other than queries continue');
  for (let i = 0; i < 10; i++) await world.clock.advance(5_000);
  await Promise.all(requested);
});

test('failing storage is a 503 with a retry time, and is logged', async (t) => {
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  for (const error of [new HistoryError('UNAVAILABLE', 'Chunk 7: checksum'), full]) {
    const world = await startRpcWorld(t, (deps) => withThreads(deps, () => Promise.reject(error)));
    await world.write([{ observedUnixMs: START_MS }]);
    const answer = await world.call('QueryVMMonitoring', query);
    t.match(answer, { status: 503, reason: 'NOT_READY' });
    t.ok(answer.headers['retry-after']);
    t.notMatch(
      JSON.stringify(answer.body),
      /Chunk 7|disk is full/,
      'internal details stay internal',
    );
    t.match(world.lines.join(), error.message);
  }
});

test('damaged data is a 500 with the remedy, and only the log names the place', async (t) => {
  for (const error of [
    new HistoryError('DAMAGED', 'Chunk 7: checksum'),
    new DamagedRow({ file: 'control.db', table: 'instances', row: 'demo vm vm-1' }),
  ]) {
    const world = await startRpcWorld(t, (deps) => withThreads(deps, () => Promise.reject(error)));
    await world.write([{ observedUnixMs: START_MS }]);
    const answer = await world.call('QueryVMMonitoring', query);
    t.match(answer, { status: 500, reason: 'INTERNAL' });
    t.match(JSON.stringify(answer.body), /data that this request needs is damaged/);
    t.notMatch(JSON.stringify(answer.body), /Chunk 7|control.db/);
    t.match(world.lines.join(), error.message);
  }
});

test('an internal fault is a 500 without details, and is logged', async (t) => {
  const fault = new HistoryError('FAULT', 'x of undefined');
  fault.stack = 'TypeError: x of undefined\n at answer.ts';
  const world = await startRpcWorld(t, (deps) => withThreads(deps, () => Promise.reject(fault)));
  await world.write([{ observedUnixMs: START_MS }]);
  const answer = await world.call('QueryVMMonitoring', query);
  t.match(answer, { status: 500, body: { code: 'internal' } });
  t.notMatch(JSON.stringify(answer.body), /undefined|\.ts/);
  t.match(world.lines.join(), /x of undefined.*answer\.ts/s);
});

test('a query that needs more memory than a thread has is refused, without a retry', async (t) => {
  const died = new HistoryError('OUT_OF_MEMORY', 'The query thread 1 has stopped');
  const world = await startRpcWorld(t, (deps) => withThreads(deps, () => Promise.reject(died)));
  await world.write([{ observedUnixMs: START_MS }]);
  const answer = await world.call('QueryVMMonitoring', query);
  t.match(answer, { status: 400, reason: 'RESPONSE_TOO_LARGE' });
});
