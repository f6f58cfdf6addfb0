/**
 * Threads around history: readers that race flushes see each row whole and exactly once, a reader
 * that dies is replaced, and an abandoned request ends at once.
 */
import { EventEmitter } from 'node:events';
import { setImmediate as yieldIfDue } from 'node:timers/promises';
import { test } from 'tap';
import type { HistoryError } from '../../../sqlite/telemetry/history/history-error.ts';
import type { VmRows } from '../../../sqlite/telemetry/history/rows.ts';
import { ReadPool } from '../../../sqlite/telemetry/history/store/read-pool.ts';
import { type History, openHistory } from '../../../sqlite/telemetry/history/store/store.ts';
import {
  SupervisedThread,
  type ThreadWorker,
} from '../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import { systemClock, VirtualClock } from '../../../streams/platform/clock.ts';
import { BatchBuilder } from '../../../streams/telemetry/samples/batch.ts';

/** The race continues until there were enough of both. A busy machine needs longer. */
const RACE_MS = 2000;
const RACE_MS_MAX = 10_000;
const READS_MIN = 50;
const FLUSHES_MIN = 10;
const COLUMNS = Array.from({ length: 12 }, (_, n) => `series_${n}`);
const START = Date.UTC(2026, 0, 1);

/** Appends rows number `first` to `first + count - 1`, swapping pairs of them. */
function append(history: History, builder: BatchBuilder, vm: string, first: number, count: number) {
  for (let i = first; i < first + count; i++) {
    const number = i ^ 1;
    builder.add({
      project: 'demo',
      vm,
      observedMs: START + number * 1000,
      sequence: number,
      boot: `boot ${number}`,
      vcpus: number,
      state: 1,
      stateReason: '',
      series: COLUMNS,
      values: COLUMNS.map((_, n) => number + n / 16),
    });
  }
  history.append(builder.build(START), { partition: 0, sequence: first + count });
}

/** Fault of rows of which at least `least` must be present; undefined = none. */
function faultOf(rows: VmRows, least: number): string | undefined {
  if (rows.timesMs.length < least) return `${rows.timesMs.length} rows, ${least} were appended`;
  for (const [i, timeMs] of rows.timesMs.entries()) {
    const number = (timeMs - START) / 1000;
    // The second row of the last pair may be stored while the first is still on its way.
    const isHalfPair = i === rows.timesMs.length - 1 && number === i + 1 && i >= least;
    if (number !== i && !isHalfPair) return `row ${number} is at index ${i}`;
    if (rows.vcpus[i] !== number) return `row ${number} has ${rows.vcpus[i]} vCPUs`;
    if (rows.strings[rows.boot[i] ?? -1] !== `boot ${number}`) return `row ${number}: wrong boot`;
    for (const [n, key] of COLUMNS.entries()) {
      if (rows.series.get(key)?.[i] !== number + n / 16) return `row ${number}: wrong ${key}`;
    }
  }
  return undefined;
}

test('a reader racing appends and flushes sees each row whole and exactly once', async (t) => {
  const options = {
    folder: t.testdir(),
    clock: systemClock,
    logIdentity: 'log',
    background: false,
    retentionMs: 1e12,
  };
  const history = openHistory(options);
  const vms = ['a', 'b'];
  const counts = new Map(vms.map((vm) => [vm, 0]));
  let [reads, flushes] = [0, 0];
  const start = systemClock.elapsed();
  const isOver = () => {
    const elapsedMs = systemClock.elapsed() - start;
    const isEnough = reads >= READS_MIN && flushes >= FLUSHES_MIN;
    return elapsedMs > (isEnough ? RACE_MS : RACE_MS_MAX);
  };
  const faults: string[] = [];
  const reader = async (vm: string, read: (vm: string) => Promise<VmRows> | VmRows) => {
    while (!isOver()) {
      const least = counts.get(vm) ?? 0;
      const fault = faultOf(await read(vm), least);
      if (fault !== undefined) faults.push(`${vm}: ${fault}`);
      reads++;
      await yieldIfDue();
    }
  };
  const request = (vm: string) => ({ project: 'demo', vm, fromMs: START, toMs: START + 1e9 });
  const writer = async () => {
    const builder = new BatchBuilder();
    while (!isOver()) {
      for (const vm of vms) {
        const first = counts.get(vm) ?? 0;
        append(history, builder, vm, first, 2);
        counts.set(vm, first + 2);
      }
      await yieldIfDue();
    }
  };
  const flusher = async () => {
    while (!isOver()) {
      await history.flush();
      if (++flushes % 20 === 0) await history.retain(START + 2 * 86_400_000);
      await yieldIfDue();
    }
  };
  const inThread = (vm: string) => history.read(request(vm));
  await Promise.all([
    writer(),
    flusher(),
    ...['a', 'b', 'a'].map((vm) => reader(vm, inThread)),
    reader('b', (vm) => history.readNow(request(vm))),
  ]);
  t.same(faults.slice(0, 3), []);
  const isEnough = reads >= READS_MIN && flushes >= FLUSHES_MIN;
  t.ok(isEnough, `${reads} reads, ${flushes} flushes, ${counts.get('a')} rows`);
  await history.close();
});

const badThread = new URL('../../support/failing-thread.ts', import.meta.url);

test('a thread that dies fails its calls with a typed error and is replaced', async (t) => {
  const thread = new SupervisedThread({ entry: badThread, name: 'reader', data: undefined });
  t.equal(await thread.call('echo', 1), 1);
  const dying = [thread.call('die', 3), thread.call('echo', 2)];
  for (const result of await Promise.allSettled(dying)) {
    t.equal(result.status, 'rejected');
    const error = (result as PromiseRejectedResult).reason as HistoryError;
    t.match(error, { name: 'HistoryError', reason: 'UNAVAILABLE', retryable: true });
    t.match(error.message, /exit code 3/);
  }
  t.equal(thread.crashes, 1);
  t.equal(await thread.call('echo', 3), 3, 'the next call has a new thread');
  await t.rejects(thread.call('unknown', 0), { name: 'HistoryError', reason: 'FAULT' });
  t.equal(thread.crashes, 1, 'a failed call ends no thread');
  await thread.close();
  await thread.close();
  await t.rejects(thread.call('echo', 4), { name: 'HistoryError', reason: 'CLOSED' });
});

test('a pool answers while one of its threads dies, and an abandoned call ends at once', async (t) => {
  const share = { path: '', head: new Map() as never };
  const pool = new ReadPool({ share, threads: 2, entry: badThread });
  const results = await Promise.allSettled([
    pool.call('die', 3),
    ...Array.from({ length: 20 }, (_, i) => pool.call('echo', i)),
  ]);
  t.equal(results.filter((result) => result.status === 'fulfilled').length, 20);
  t.equal(pool.crashes, 1);
  const controller = new AbortController();
  const { signal } = controller;
  const givenUp = [1, 2, 3, 4].map(() => pool.call('untilCancelled', 0, signal));
  await yieldIfDue();
  controller.abort(new Error('no caller waits any more'));
  for (const result of await Promise.allSettled(givenUp)) {
    t.match(result, { status: 'rejected', reason: { message: 'no caller waits any more' } });
  }
  t.equal(await pool.call('echo', 'free again'), 'free again');
  await t.rejects(pool.call('echo', 0, signal), { message: 'no caller waits any more' });
  await pool.close();
  await t.rejects(pool.call('echo', 0), { name: 'HistoryError', reason: 'CLOSED' });
});

/** A worker that answers nothing by itself. */
class SilentWorker extends EventEmitter {
  isTerminated = false;
  ref(): void {}
  unref(): void {}
  postMessage(): void {}
  async terminate(): Promise<number> {
    this.isTerminated = true;
    return 1;
  }
}

test('a thread that is still starting is not replaced for a cancelled call', async (t) => {
  const clock = new VirtualClock(START);
  const worker = new SilentWorker();
  const ends: string[] = [];
  const thread = new SupervisedThread({
    entry: badThread,
    name: 'test thread',
    data: undefined,
    // It has the overloads that a supervisor calls.
    startWorker: () => worker as unknown as ThreadWorker,
    hardStop: { clock, afterMs: 2000 },
    onEnd: ({ kind }) => ends.push(kind),
  });
  const gone = new AbortController();
  const call = thread.call('read', undefined, gone.signal);
  gone.abort(new Error('gone'));
  await t.rejects(call, { message: 'gone' });
  await clock.advance(9_000);
  t.same([ends, worker.isTerminated], [[], false], 'it runs no call yet');
  worker.emit('message', { started: true });
  await clock.advance(1_000);
  t.same(ends, ['hardStopped'], 'a started one has to stop');
  t.equal(worker.isTerminated, true);
});
