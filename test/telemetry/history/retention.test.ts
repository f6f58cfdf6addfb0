/**
 * Seven days of retention: nothing older is returned, wherever it is stored. Chunks, memory, names
 * and file space are freed, and a VM that returns afterwards is complete again.
 */
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { ColumnView } from '../../../sqlite/telemetry/history/columns/column-view.ts';
import {
  HISTORY_FILE,
  openHistoryFileForReading,
} from '../../../sqlite/telemetry/history/history-file.ts';
import { HistoryView } from '../../../sqlite/telemetry/history/store/history-view.ts';
import type { History } from '../../../sqlite/telemetry/history/store/store.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import { fraction, seededRandom } from '../../../streams/platform/random.ts';
import {
  batchOf,
  DAY,
  everything,
  HOUR,
  openStore,
  PARTITION,
  type SmallRow,
  START,
} from '../../support/history-from-log.ts';

/** Appends batches to a store, each as an entry of its log. */
function appender(history: History, first = 1) {
  let sequence = first;
  return (...rows: SmallRow[]): number => {
    history.append(batchOf(...rows), { partition: PARTITION, sequence });
    return sequence++;
  };
}

async function timesOf(t: Test, history: History, vm: string): Promise<number[]> {
  const request = { ...everything, vm };
  const { timesMs } = await history.read(request);
  t.same([...history.readNow(request).timesMs], [...timesMs], 'both reads agree');
  return Array.from(timesMs, (timeMs) => timeMs - START);
}

test('a sample of exactly seven days ago is read; one a millisecond older is not', async (t) => {
  const clock = new VirtualClock(START);
  const history = openStore({ folder: t.testdir(), clock });
  const append = appender(history);
  const times = [-7 * DAY - 1, -7 * DAY, -7 * DAY + 1, 0];
  for (const at of times) append({ at, values: { x: at } });
  t.same(await timesOf(t, history, 'a'), times.slice(1), 'in the head');
  await history.flush();
  t.same(await timesOf(t, history, 'a'), times.slice(1), 'in a chunk that contains all of them');
  t.equal((await history.retain(START)).droppedChunks, 0, 'which is still stored');
  await clock.advance(1);
  t.same(await timesOf(t, history, 'a'), times.slice(2), 'a millisecond later');
  await clock.advance(1);
  t.same(await timesOf(t, history, 'a'), times.slice(3));
  await clock.advance(7 * DAY);
  t.same(await timesOf(t, history, 'a'), [], 'a week later, also for the rows that stay in memory');
  t.equal((await history.retain(clock.now())).droppedChunks, 2);
  t.equal((await history.stored()).chunks, 0);
  await history.close();
});

test('a chunk is dropped as a whole once its last row is older than seven days', async (t) => {
  const history = openStore({ folder: t.testdir() });
  const append = appender(history);
  const day = Math.floor(START / DAY) * DAY - START;
  for (let at = day; at < day + DAY; at += HOUR) append({ at, values: { x: at } });
  append({ at: day + DAY + HOUR, values: { x: 1 } });
  await history.flush();
  const last = START + day + 23 * HOUR;
  const retained = async (nowMs: number) => (await history.retain(nowMs)).droppedChunks;
  t.equal(await retained(last + 7 * DAY), 0);
  t.equal((await history.stored()).rows, 25);
  t.equal(await retained(last + 7 * DAY + 1), 1);
  t.equal((await history.stored()).rows, 1, 'the next day stays');
  await history.close();
});

test('memory of silent VMs, of names of series and VMs, and of cells is freed', async (t) => {
  const folder = t.testdir();
  const clock = new VirtualClock(START);
  const history = openStore({ folder, clock, background: true, flushAfterMs: HOUR });
  const append = appender(history);
  const columns = new ColumnView({ share: history.share, cacheBytesMax: 1e7 });
  const view = new HistoryView(history.share);
  const random = seededRandom(7);
  const interfaces = (n: number) => {
    const names = Array.from({ length: 50 }, (_, i) => `rx{interface="veth${n}-${i}"}`);
    return Object.fromEntries(names.map((name) => [name, fraction(random)]));
  };
  for (let vm = 0; vm < 40; vm++) {
    const rows = Array.from({ length: 60 }, (_, i) => ({ at: i, values: interfaces(vm) }));
    append(...rows.map((row) => ({ ...row, vm: `vm-${vm}` })));
  }
  const fullBytes = history.stats().headBytes.used;
  // The clock is virtual, but the writing thread is not: a call here waits for earlier ones.
  const pass = async (ms: number) => {
    for (let i = 0; i < 12; i++) {
      await clock.advance(ms / 12);
      await history.stored();
      for (let j = 0; j < 3; j++) await history.retain(clock.now());
    }
  };
  await pass(2 * HOUR);
  t.equal(history.stats().pendingVms, 0, 'all are in chunks');
  const flushedBytes = history.stats().headBytes.used;
  t.ok(flushedBytes < fullBytes / 2, `${fullBytes} bytes of rows become ${flushedBytes}`);
  const before = await history.stored();
  t.match(before, { vms: 40, seriesKeys: 2000 });
  columns.refreshStored();
  for (let vm = 0; vm < 40; vm++) view.read({ ...everything, vm: `vm-${vm}` });

  await pass(8 * DAY);
  append({ at: 8 * DAY + 3 * HOUR, values: { y: 1 }, vm: 'new' });
  await pass(2 * HOUR);
  await history.flush();
  await history.retain(clock.now());
  const after = await history.stored();
  t.match(after, { vms: 1, chunks: 1 }, 'only later observations are left');
  t.ok(after.seriesKeys <= 2, `${after.seriesKeys} of 2000 names are left`);
  const database = openHistoryFileForReading(join(folder, HISTORY_FILE));
  const known = database.prepare('SELECT id, vm FROM vms').all();
  t.same(known, [{ id: 41, vm: 'new' }], 'no number is ever reused');
  database.close();
  t.ok(history.stats().headBytes.used <= 2 * 4096 + 200, 'and one VM uses memory');
  t.ok(before.fileBytes > 900_000 && after.fileBytes < 200_000, `${before.fileBytes} bytes before`);

  const at = 8 * DAY + 6 * HOUR;
  append({ at, values: { z: 4, 'rx{interface="veth3-7"}': 9 }, vm: 'vm-3' });
  append({ at: at + 1, values: { z: 5 }, vm: 'never-seen' });
  const look = (title: string) => {
    const rows = view.read({ ...everything, vm: 'vm-3' });
    const values = Object.fromEntries([...rows.series].map(([key, column]) => [key, [...column]]));
    t.same(values, { z: [4], 'rx{interface="veth3-7"}': [9] }, title);
    t.same([...view.read({ ...everything, vm: 'never-seen' }).series.keys()], ['z'], title);
    t.same([...view.read({ ...everything, vm: 'new' }).series.keys()], ['y'], title);
    columns.refreshStored();
    const withDays = [...columns.vmsOf('demo').values()].filter((vm) => vm.days().length > 0);
    t.same(withDays.map(({ vm }) => vm).sort(), ['never-seen', 'new', 'vm-3'], title);
  };
  t.same(await timesOf(t, history, 'vm-3'), [at], 'a VM that returns, in the head');
  await history.flush();
  look('a reader with the old numbers does not confuse them with new ones');
  await history.close();
  view.close();
  columns.close();
  const reopened = openStore({ folder, clock });
  t.same(await timesOf(t, reopened, 'vm-3'), [at]);
  t.same((await reopened.check()).damaged, []);
  await reopened.close();
});
