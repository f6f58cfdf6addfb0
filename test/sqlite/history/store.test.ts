/**
 * The history store as its users see it: what was appended is read back exactly once, from memory
 * or disk, through flushes, restarts, merging and retention. The log it is rebuilt from is played
 * by a list of batches: batch i has sequence i + 1.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import t from 'tap';
import { HISTORY_FILE } from '../../../sqlite/history/history-file.ts';
import type { VmRows } from '../../../sqlite/history/rows.ts';
import { type History, type HistoryOptions, openHistory } from '../../../sqlite/history/store.ts';
import { VirtualClock } from '../../../streams/clock.ts';
import type { SampleBatch } from '../../../streams/samples/batch.ts';
import { BatchBuilder } from '../../../streams/samples/builder.ts';
import { FLEET_SERIES, fleetRows, fleetVm } from '../../support/fleet.ts';

const START = Date.UTC(2026, 0, 5, 12);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const PARTITION = 7;
const everything = { project: 'demo', fromMs: 0, toMs: 8e15 };

type Options = Partial<HistoryOptions> & { readonly folder: string };

function open(options: Options): History {
  const clock = new VirtualClock(START);
  return openHistory({ clock, logIdentity: 'log-1', background: false, ...options });
}

/** Appends the log from a sequence on, as a restart does. */
function replay(history: History, log: readonly SampleBatch[], from = 1): void {
  for (let sequence = from; sequence <= log.length; sequence++) {
    const batch = log[sequence - 1];
    if (batch !== undefined) history.append(batch, { partition: PARTITION, sequence });
  }
}

/** Rows as plain objects by time, absent values left out. */
function plain(rows: VmRows): unknown[] {
  return Array.from(rows.timesMs, (timeMs, i) => ({
    timeMs,
    vcpus: rows.vcpus[i],
    state: rows.state[i],
    boot: rows.strings[rows.boot[i] ?? -1],
    reason: rows.strings[rows.stateReason[i] ?? -1],
    values: Object.fromEntries(
      [...rows.series]
        .map(([key, column]) => [key, column[i]] as const)
        .filter(([, value]) => !Number.isNaN(value))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  }));
}

/** What the log says of one VM: the oracle. No row of the logs used with it comes twice. */
function expected(log: readonly SampleBatch[], vm: string): unknown[] {
  const rows = log.flatMap((batch) =>
    Array.from({ length: batch.count }, (_, i) => ({ batch, i })).filter(
      ({ i }) => batch.vms[batch.vm[i] ?? -1]?.vm === vm,
    ),
  );
  const objects = rows.map(({ batch, i }) => ({
    timeMs: batch.observedMs[i] ?? Number.NaN,
    vcpus: batch.vcpus[i],
    state: batch.state[i],
    boot: batch.strings[batch.boot[i] ?? -1],
    reason: batch.strings[batch.stateReason[i] ?? -1],
    values: Object.fromEntries(
      (batch.layouts[batch.layout[i] ?? -1]?.series ?? [])
        .map((key, column) => [key, batch.values[(batch.valueOffset[i] ?? 0) + column]] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  }));
  return objects.sort((a, b) => a.timeMs - b.timeMs);
}

interface SmallRow {
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
  readonly vm?: string;
}

/** A batch of rows written out by hand; times are ms after the start. */
function batchOf(...rows: SmallRow[]): SampleBatch {
  const builder = new BatchBuilder();
  for (const { at, values, vm = 'a' } of rows) {
    builder.add({
      ...{ project: 'demo', vm, observedMs: START + at, sequence: at, boot: 'b', vcpus: 2 },
      ...{ state: 1, stateReason: '', series: Object.keys(values), values: Object.values(values) },
    });
  }
  return builder.build(START + Math.max(...rows.map((row) => row.at)));
}

t.test('seven days of a VM come back exactly, from memory, from hours, from days', async (t) => {
  const folder = t.testdir();
  const history = open({ folder });
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
  t.equal(compactedDays, 7, 'the seven days that are over are merged');
  t.ok(isDeepStrictEqual(plain(await history.read(request)), want), 'from days');
  const names = ['svc_vm_load1', 'svc_vm_network_receive_bytes_total'];
  const some = await history.read({ ...request, names, fromMs: START - HOUR, toMs: START - 1 });
  t.same([...some.series.keys()].sort(), [FLEET_SERIES[8], FLEET_SERIES[12]].sort());
  t.equal(some.timesMs.length, 30);
  t.same(await history.check(), { ...(await history.check()), damaged: [], rows: 7 * 720 });
  await history.close();
});

t.test('a store rebuilt from its floor equals one that never stopped', async (t) => {
  const log = [
    ...fleetRows({ vms: 9, fromMs: START, toMs: START + 4 * HOUR, stepMs: 60_000, seed: 8 }),
  ];
  const vms = Array.from({ length: 9 }, (_, n) => fleetVm(n));
  const never = open({ folder: t.testdir({ never: {} }) });
  replay(never, log);
  const folder = join(t.testdirName, 'stopped');
  let floor = 1;
  for (let stop = 40; stop <= log.length; stop += 40) {
    const history = open({ folder });
    t.ok(history.floor(PARTITION) >= floor, 'a floor never goes back');
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
  t.equal(floor, 161, 'the last start read only what was not flushed');
  const again = open({ folder });
  replay(again, log, again.floor(PARTITION));
  for (const vm of vms) {
    const range = { ...everything, vm, fromMs: START - DAY, toMs: START + DAY };
    t.same(plain(again.readNow(range)), plain(never.readNow(range)));
    t.same(again.latest('demo', vm)?.observedMs, never.latest('demo', vm)?.observedMs);
  }
  await again.close();
  await never.close();
});

t.test('the log read again from the beginning adds no row and no chunk', async (t) => {
  const folder = t.testdir();
  const log = [
    ...fleetRows({ vms: 2, fromMs: START, toMs: START + HOUR, stepMs: 30_000, seed: 2 }),
  ];
  const history = open({ folder });
  replay(history, log);
  await history.flush();
  replay(history, log);
  await history.flush();
  t.equal(history.stats().duplicate, 2 * 120);
  t.equal((await history.check()).chunks, 2);
  await history.close();
  const restarted = open({ folder });
  t.equal(restarted.floor(PARTITION), 121);
  replay(restarted, log);
  await restarted.flush();
  t.equal((await restarted.check()).chunks, 2, 'rows that are in chunks are not flushed again');
  const rows = await restarted.read({
    ...everything,
    vm: fleetVm(0),
    fromMs: START,
    toMs: START + DAY,
  });
  t.equal(rows.timesMs.length, 120);
  await restarted.close();
  const other = open({ folder, logIdentity: 'log-2' });
  t.equal(other.floor(PARTITION), 1, 'sequences of another log mean nothing');
  replay(other, [batchOf({ at: 2 * HOUR, values: { x: 1 }, vm: fleetVm(0) })]);
  await other.flush();
  t.equal((await other.check()).chunks, 3, 'its rows are stored although their sequence is low');
  await other.close();
});

t.test(
  'rows of one time are one row: the first value stays, what it lacks is filled',
  async (t) => {
    const folder = t.testdir();
    const history = open({ folder });
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
    t.same([...(read().series.get('x') ?? [])], [1, 1.5, 2, 3], 'a late row joins in');
    await history.close();
    const restarted = open({ folder, clock: new VirtualClock(START + 2 * DAY) });
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
  },
);

t.test('series that come and go have values only where they were observed', async (t) => {
  const folder = t.testdir();
  const history = open({ folder });
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

t.test('retention drops whole chunks and gives the room back', async (t) => {
  const folder = t.testdir();
  const history = open({ folder, retentionMs: 2 * DAY });
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
  t.equal(timesMs.filter((time) => time >= START - 2 * DAY).length, 2 * 720, 'all of retention');
  t.ok((timesMs[0] ?? 0) > START - 3 * DAY, 'and no older chunk');
  t.ok(history.stats().droppedChunks > 0);
  for (let i = 0; i < 5; i++) await history.retain(START);
  await history.close();
  const size = statSync(join(folder, HISTORY_FILE)).size;
  const reopened = open({ folder });
  const { bytes } = await reopened.check();
  t.ok(size < bytes * 1.5 + 200_000, `${size} bytes of file for ${bytes} of chunks`);
  await reopened.close();
});

t.test('a damaged chunk is found by check, refused by read and left out of merging', async (t) => {
  const folder = t.testdir();
  const history = open({ folder });
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

t.test('the newest row is known without the head, and a VM without rows has none', async (t) => {
  const folder = t.testdir();
  const history = open({ folder });
  const log = [
    ...fleetRows({ vms: 1, fromMs: START, toMs: START + HOUR, stepMs: 30_000, seed: 2 }),
  ];
  replay(history, log);
  const latest = history.latest('demo', fleetVm(0));
  t.equal(latest?.observedMs, log.at(-1)?.observedMs[0]);
  t.same(
    [...(latest?.columns.timesMs ?? [])].slice(-2),
    log.slice(-2).map((b) => b.observedMs[0]),
  );
  await history.flush();
  await history.close();
  const restarted = open({ folder, clock: new VirtualClock(START + 3 * DAY) });
  t.equal(restarted.latest('demo', fleetVm(0))?.observedMs, latest?.observedMs);
  t.equal(restarted.latest('demo', 'unknown'), undefined);
  const unknown = { ...everything, vm: 'unknown', fromMs: START, toMs: START + DAY };
  for (let i = 0; i < 6; i++) {
    t.equal((await restarted.read(unknown)).timesMs.length, 0, 'no rows, each time it is asked');
  }
  restarted.append(batchOf({ at: 2 * DAY, values: { x: 1 }, vm: fleetVm(0) }), {
    partition: PARTITION,
    sequence: 121,
  });
  t.equal(restarted.latest('demo', fleetVm(0))?.observedMs, START + 2 * DAY);
  await restarted.close();
});

t.test('in the background rows are flushed after their hour and floors follow', async (t) => {
  const folder = t.testdir();
  const clock = new VirtualClock(START);
  const history = open({ folder, clock, background: true, flushAfterMs: HOUR });
  history.pass({ partition: 3, sequence: 50 });
  history.append(batchOf({ at: 0, values: { x: 1 } }), { partition: PARTITION, sequence: 10 });
  history.append(batchOf({ at: 1000, values: { x: 1 }, vm: 'b' }), {
    partition: PARTITION,
    sequence: 11,
  });
  // The clock is virtual, the writing thread is not: a call of ours waits for those before it.
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
  t.equal(history.floor(3), 51, 'entries without rows are passed');
  t.equal(history.floor(4), 1, 'a partition never seen starts at the first');
  t.equal(history.stats().pendingVms, 0);
  await history.close();
  await t.rejects(history.read({ ...everything, vm: 'a' }), {
    name: 'HistoryError',
    reason: 'CLOSED',
  });
});

t.test('a full head refuses rows, counts them and takes them in after a restart', async (t) => {
  const folder = t.testdir();
  const log = Array.from({ length: 600 }, (_, i) => batchOf({ at: i * 1000, values: { x: i } }));
  const history = open({ folder, headBytesMax: 3 * 4096 + 100 });
  replay(history, log.slice(0, 400));
  const { added, refused } = history.stats();
  t.ok(added > 200 && refused > 0 && added + refused === 400, `${added} added, ${refused} refused`);
  await history.flush();
  replay(history, log.slice(0, 450), 401);
  await history.flush();
  t.equal(history.stats().added, added + 50, 'there is room again after a flush');
  t.equal(history.floor(PARTITION), added + 1, 'the floor stays before the first refused row');
  t.ok(history.stats().pendingVms === 0);
  await history.close();
  const restarted = open({ folder });
  replay(restarted, log, restarted.floor(PARTITION));
  await restarted.flush();
  t.equal(restarted.floor(PARTITION), 601);
  await restarted.close();
  const again = open({ folder });
  const { timesMs } = again.readNow({ ...everything, vm: 'a' });
  t.equal(timesMs.length, 600, 'on disk without a gap');
  await again.close();
});

t.test('a write that fails is told, and the rows are flushed once it can be done', async (t) => {
  const folder = t.testdir();
  const history = open({ folder });
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
