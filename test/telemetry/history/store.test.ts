/**
 * The history store as its users see it: each appended row is read back exactly once, from memory
 * or disk, through flushes, restarts, merging and retention.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { test } from 'tap';
import { HISTORY_FILE } from '../../../sqlite/telemetry/history/history-file.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import type { SampleBatch } from '../../../streams/telemetry/samples/batch.ts';
import { FLEET_SERIES, fleetRows, fleetVm } from '../../support/fleet.ts';
import {
  batchOf,
  DAY,
  everything,
  expected,
  HOUR,
  openStore,
  PARTITION,
  plain,
  replay,
  type SmallRow,
  START,
} from '../../support/history-from-log.ts';

test('seven days of a VM are read back exactly, from memory, from hours and from days', async (t) => {
  const folder = t.testdir();
  const history = openStore({ folder });
  const weekMs = { fromMs: START - 7 * DAY, toMs: START };
  const log = [...fleetRows({ vms: 1, ...weekMs, stepMs: 120_000, seed: 5 })];
  for (let i = 0; i < log.length; i += 180) {
    replay(history, log.slice(0, i + 180), i + 1);
    if (i + 180 < log.length) await history.flush();
  }
  const want = expected(log, fleetVm(0));
  const request = { ...everything, vm: fleetVm(0), fromMs: START - 8 * DAY, toMs: START + DAY };
  t.ok(isDeepStrictEqual(plain(await history.read(request)), want), 'from hours');
  t.ok(isDeepStrictEqual(plain(history.readNow(request)), want), 'in the same thread');
  await history.flush();
  const { compactedDays } = await history.retain(START);
  t.equal(compactedDays, 7, 'the seven completed days are merged');
  t.ok(isDeepStrictEqual(plain(await history.read(request)), want), 'from days');
  const names = ['svc_vm_load1', 'svc_vm_network_receive_bytes_total'];
  const some = await history.read({ ...request, names, fromMs: START - HOUR, toMs: START - 1 });
  t.same([...some.series.keys()].sort(), [FLEET_SERIES[8], FLEET_SERIES[12]].sort());
  t.equal(some.timesMs.length, 30);
  t.same(await history.check(), { ...(await history.check()), damaged: [], rows: 7 * 720 });
  await history.close();
});

test('a store rebuilt from its floor equals one that never stopped', async (t) => {
  const log = [
    ...fleetRows({ vms: 9, fromMs: START, toMs: START + 4 * HOUR, stepMs: 60_000, seed: 8 }),
  ];
  const vms = Array.from({ length: 9 }, (_, n) => fleetVm(n));
  const never = openStore({ folder: t.testdir({ never: {} }) });
  replay(never, log);
  const folder = join(t.testdirName, 'stopped');
  let floor = 1;
  for (let stop = 40; stop <= log.length; stop += 40) {
    const history = openStore({ folder });
    t.ok(history.floor(PARTITION) >= floor, 'a floor never moves back');
    floor = history.floor(PARTITION);
    replay(history, log.slice(0, stop), floor);
    if (stop % 80 === 0) await history.flush();
    for (const vm of vms) {
      const request = { ...everything, vm };
      const rows = plain(history.readNow({ ...request, fromMs: START - DAY, toMs: START + DAY }));
      t.ok(isDeepStrictEqual(rows, expected(log.slice(0, stop), vm)), `${vm} after ${stop}`);
    }
    await history.close();
  }
  t.equal(floor, 161, 'the last start read only rows that were not flushed');
  const again = openStore({ folder });
  replay(again, log, again.floor(PARTITION));
  for (const vm of vms) {
    const range = { ...everything, vm, fromMs: START - DAY, toMs: START + DAY };
    t.same(plain(again.readNow(range)), plain(never.readNow(range)));
  }
  await again.close();
  await never.close();
});

test('a log that is reread from the beginning adds no row and no chunk', async (t) => {
  const folder = t.testdir();
  const log = [
    ...fleetRows({ vms: 2, fromMs: START, toMs: START + HOUR, stepMs: 30_000, seed: 2 }),
  ];
  const history = openStore({ folder });
  replay(history, log);
  await history.flush();
  replay(history, log);
  await history.flush();
  t.equal(history.stats().duplicate, 2 * 120);
  t.equal((await history.check()).chunks, 2);
  await history.close();
  const restarted = openStore({ folder });
  t.equal(restarted.floor(PARTITION), 121);
  replay(restarted, log);
  await restarted.flush();
  t.equal((await restarted.check()).chunks, 2, 'rows in chunks are not flushed again');
  const rows = await restarted.read({
    ...everything,
    vm: fleetVm(0),
    fromMs: START,
    toMs: START + DAY,
  });
  t.equal(rows.timesMs.length, 120);
  await restarted.close();
  const other = openStore({ folder, logIdentity: 'log-2' });
  t.equal(other.floor(PARTITION), 1, 'sequences of another log are meaningless');
  replay(other, [batchOf({ at: 2 * HOUR, values: { x: 1 }, vm: fleetVm(0) })]);
  await other.flush();
  t.equal((await other.check()).chunks, 3, 'its rows are stored although their sequence is low');
  await other.close();
});

test('rows of one time are one row: the first value stays, and missing values are added', async (t) => {
  const folder = t.testdir();
  const history = openStore({ folder });
  const put = (sequence: number, ...rows: SmallRow[]) =>
    history.append(batchOf(...rows), { partition: PARTITION, sequence });
  put(1, { at: 0, values: { x: 1 } }, { at: 60_000, values: { x: 3 } });
  put(2, { at: 0, values: { x: 1 } });
  put(3, { at: 0, values: { x: 9 } });
  put(4, { at: 0, values: { y: 5 } });
  put(5, { at: 30_000, values: { x: 2, 'm{mount="/"}': 7 } });
  const read = () =>
    history.readNow({ ...everything, vm: 'a', fromMs: START - DAY, toMs: START + DAY });
  const check = (title: string) => {
    const rows = read();
    t.same([...rows.timesMs], [START, START + 30_000, START + 60_000], `${title}: in time order`);
    t.same([...(rows.series.get('x') ?? [])], [1, 2, 3], `${title}: the first stays`);
    t.equal(rows.series.get('y')?.[0], 5, `${title}: filled`);
    t.ok(Number.isNaN(rows.series.get('y')?.[1]), `${title}: absent is absent`);
    t.equal(rows.conflicts, 1, `${title}: one row was contradicted`);
  };
  check('in the head');
  const { added, duplicate, conflict, filled } = history.stats();
  t.same(
    { added, duplicate, conflict, filled },
    { added: 3, duplicate: 1, conflict: 1, filled: 1 },
  );
  await history.flush();
  check('flushed');
  put(6, { at: 0, values: { x: 8 } }, { at: 15_000, values: { x: 1.5 } });
  await history.flush();
  t.same([...(read().series.get('x') ?? [])], [1, 1.5, 2, 3], 'a late row is added');
  await history.close();
  const restarted = openStore({ folder, clock: new VirtualClock(START + 2 * DAY) });
  const later = (sequence: number, value: number) => {
    const position = { partition: PARTITION, sequence };
    restarted.append(batchOf({ at: 30_000, values: { x: value } }), position);
  };
  later(7, 99);
  const merged = () =>
    restarted.readNow({ ...everything, vm: 'a', fromMs: START, toMs: START + 60_000 });
  t.same([...(merged().series.get('x') ?? [])], [1, 1.5, 2, 3], 'the stored row was first');
  t.equal(merged().conflicts, 2);
  await restarted.flush();
  t.equal((await restarted.retain(START + 2 * DAY)).compactedDays, 1);
  t.same([...(merged().series.get('x') ?? [])], [1, 1.5, 2, 3], 'and after merging');
  t.equal(merged().conflicts, 2);
  t.equal((await restarted.check()).chunks, 1);
  await restarted.close();
});

test('intermittent series have values only where they were observed', async (t) => {
  const folder = t.testdir();
  const history = openStore({ folder });
  const log: SampleBatch[] = [];
  for (let i = 0; i < 300; i++) {
    const disk = i % 60 < 30 ? { [`disk{device="vd${Math.floor(i / 60)}"}`]: i } : {};
    const wide =
      i === 250 ? Object.fromEntries(Array.from({ length: 700 }, (_, n) => [`w${n}`, n])) : {};
    log.push(batchOf({ at: i * 30_000, values: { load: i / 10, ...disk, ...wide } }));
    if (i % 97 === 0) log.push(batchOf({ at: i * 30_000 + 7, values: {} }));
  }
  for (const [i, batch] of log.entries()) {
    history.append(batch, { partition: PARTITION, sequence: i + 1 });
    if (i % 110 === 0) await history.flush();
  }
  const request = { ...everything, vm: 'a', fromMs: START, toMs: START + DAY };
  t.same(plain(history.readNow(request)), expected(log, 'a'));
  await history.flush();
  t.same(plain(await history.read(request)), expected(log, 'a'));
  t.equal(
    history.readNow({ ...request, toMs: START + HOUR / 2 }).series.has('disk{device="vd3"}'),
    false,
  );
  await history.close();
});

test('retention drops whole chunks and frees their space', async (t) => {
  const folder = t.testdir();
  const history = openStore({ folder, retentionMs: 2 * DAY });
  const range = { fromMs: START - 4 * DAY, toMs: START };
  const log = [...fleetRows({ vms: 4, ...range, stepMs: 120_000, seed: 4 })];
  for (let i = 0; i < log.length; i += 180) {
    replay(history, log.slice(0, i + 180), i + 1);
    await history.flush();
  }
  const before = await history.check();
  t.equal(before.rows, 4 * 4 * 720);
  await history.retain(START);
  const request = { ...everything, vm: fleetVm(3), fromMs: START - 9 * DAY, toMs: START };
  const { timesMs } = await history.read(request);
  t.equal(
    timesMs.filter((time) => time >= START - 2 * DAY).length,
    2 * 720,
    'all rows within retention',
  );
  t.ok((timesMs[0] ?? 0) > START - 3 * DAY, 'and no older chunk');
  t.ok(history.stats().droppedChunks > 0);
  for (let i = 0; i < 5; i++) await history.retain(START);
  await history.close();
  const size = statSync(join(folder, HISTORY_FILE)).size;
  const reopened = openStore({ folder });
  const { bytes } = await reopened.check();
  t.ok(size < bytes * 1.5 + 200_000, `a file of ${size} bytes for ${bytes} bytes of chunks`);
  await reopened.close();
});
