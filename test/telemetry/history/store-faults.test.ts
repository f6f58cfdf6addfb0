/**
 * The history store with faults or at its bounds: damaged chunks, a full head, failing writes, VMs
 * without rows. Rows that could not be stored are read again from the log.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { test } from 'tap';
import { HISTORY_FILE } from '../../../sqlite/telemetry/history/history-file.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import { fleetRows, fleetVm } from '../../support/fleet.ts';
import {
  batchOf,
  DAY,
  everything,
  HOUR,
  openStore,
  PARTITION,
  replay,
  START,
} from '../../support/history-from-log.ts';

test('DUR-16: a damaged chunk is found by check, rejected by read and skipped by merging', async (t) => {
  const folder = t.testdir();
  const history = openStore({ folder });
  const range = { fromMs: START - 2 * DAY, toMs: START - DAY };
  const log = [...fleetRows({ vms: 2, ...range, stepMs: 60_000, seed: 4 })];
  for (let i = 0; i < log.length; i += 360) {
    replay(history, log.slice(0, i + 360), i + 1);
    await history.flush();
  }
  const database = new Database(join(folder, HISTORY_FILE));
  const { id, data } = database
    .prepare<[], { id: number; data: Buffer }>('SELECT id, data FROM chunks ORDER BY id LIMIT 1')
    .get() ?? { id: 0, data: Buffer.alloc(0) };
  data[data.length - 9] = (data[data.length - 9] ?? 0) ^ 4;
  database.prepare('UPDATE chunks SET data = ? WHERE id = ?').run(data, id);
  database.close();
  const report = await history.check();
  t.same(
    report.damaged.map(({ chunk, vm, project }) => ({ chunk, vm, project })),
    [{ chunk: id, vm: fleetVm(0), project: 'demo' }],
  );
  t.match(report.damaged[0]?.detail, /checksum/);
  const request = { ...everything, vm: fleetVm(0), fromMs: START - 3 * DAY, toMs: START };
  await t.rejects(history.read(request), { name: 'HistoryError', reason: 'DAMAGED' });
  await t.rejects(async () => history.readNow(request), {
    name: 'HistoryError',
    reason: 'DAMAGED',
  });
  const other = await history.read({ ...request, vm: fleetVm(1) });
  t.equal(other.timesMs.length, 1440, 'the other VM is not affected');
  t.match(await history.retain(START), { compactedDays: 3, damagedDays: 1, more: false });
  t.match(await history.retain(START), { compactedDays: 0, damagedDays: 0 }, 'tried once');
  await history.close();
});

test('a VM without rows has none, however often it is read', async (t) => {
  const history = openStore({ folder: t.testdir() });
  const unknown = { ...everything, vm: 'unknown', fromMs: START, toMs: START + DAY };
  for (let i = 0; i < 6; i++) {
    t.equal((await history.read(unknown)).timesMs.length, 0);
  }
  await history.close();
});

test('rows are flushed in the background after their hour, and floors advance', async (t) => {
  const folder = t.testdir();
  const clock = new VirtualClock(START);
  const history = openStore({ folder, clock, background: true, flushAfterMs: HOUR });
  history.pass({ partition: 3, sequence: 50 });
  history.append(batchOf({ at: 0, values: { x: 1 } }), { partition: PARTITION, sequence: 10 });
  history.append(batchOf({ at: 1000, values: { x: 1 }, vm: 'b' }), {
    partition: PARTITION,
    sequence: 11,
  });
  // The clock is virtual, but the writing thread is not: a call here waits for earlier ones.
  const pass = async (minutes: number) => {
    for (let i = 0; i < minutes * 6; i++) {
      await clock.advance(10_000);
      await history.retain(START);
      await history.retain(START);
    }
  };
  await pass(50);
  t.equal(history.floor(PARTITION), 10, 'the floor is the oldest row that is in no chunk');
  t.equal(history.stats().flushedVms, 0);
  await pass(12);
  t.equal(history.floor(PARTITION), 12);
  t.equal(history.stats().flushedVms, 2);
  t.equal(history.floor(3), 51, 'entries without rows are skipped');
  t.equal(history.floor(4), 1, 'an unknown partition starts at the first');
  t.equal(history.stats().pendingVms, 0);
  await history.close();
  await t.rejects(history.read({ ...everything, vm: 'a' }), {
    name: 'HistoryError',
    reason: 'CLOSED',
  });
});

test('a full head refuses rows, counts them and stores them after a restart', async (t) => {
  const folder = t.testdir();
  const log = Array.from({ length: 600 }, (_, i) => batchOf({ at: i * 1000, values: { x: i } }));
  const history = openStore({ folder, headBytesMax: 3 * 4096 + 100 });
  replay(history, log.slice(0, 400));
  const { added, refused } = history.stats();
  t.ok(added > 200 && refused > 0 && added + refused === 400, `${added} added, ${refused} refused`);
  await history.flush();
  replay(history, log.slice(0, 450), 401);
  await history.flush();
  t.equal(history.stats().added, added + 50, 'new rows fit after a flush');
  t.equal(history.floor(PARTITION), added + 1, 'the floor stays before the first refused row');
  t.ok(history.stats().pendingVms === 0);
  await history.close();
  const restarted = openStore({ folder });
  replay(restarted, log, restarted.floor(PARTITION));
  await restarted.flush();
  t.equal(restarted.floor(PARTITION), 601);
  await restarted.close();
  const again = openStore({ folder });
  const { timesMs } = again.readNow({ ...everything, vm: 'a' });
  t.equal(timesMs.length, 600, 'on disk without a gap');
  await again.close();
});

test('a failed write is reported, and the rows are flushed once it is possible', async (t) => {
  const folder = t.testdir();
  const history = openStore({ folder });
  const [batch] = fleetRows({ vms: 3, fromMs: START, toMs: START + 1, stepMs: 30_000, seed: 2 });
  if (batch !== undefined) history.append(batch, { partition: PARTITION, sequence: 1 });
  const blocker = new Database(join(folder, HISTORY_FILE));
  blocker.exec('BEGIN IMMEDIATE');
  await t.rejects(history.flush(), {
    name: 'HistoryError',
    reason: 'UNAVAILABLE',
    retryable: true,
  });
  t.equal(history.floor(PARTITION), 1);
  t.equal(history.stats().flushFailures, 1);
  blocker.exec('ROLLBACK');
  blocker.close();
  await history.flush();
  t.equal(history.floor(PARTITION), 2);
  t.equal((await history.check()).rows, 3);
  await history.close();
  const files = readdirSync(folder);
  t.same(files, [HISTORY_FILE], 'a closed store leaves one file');
  rmSync(join(folder, HISTORY_FILE));
});
