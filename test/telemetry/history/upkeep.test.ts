/**
 * Merging and dropping in the background. The thread that receives samples continues, progress is
 * visible, a stop halfway costs nothing, and damaged pages delay no other merge or drop.
 *
 * Own process: it measures how busy the main thread is.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { test } from 'tap';
import { HISTORY_FILE } from '../../../sqlite/telemetry/history/history-file.ts';
import type { History } from '../../../sqlite/telemetry/history/store/store.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import { fleetRows, fleetVm } from '../../support/fleet.ts';
import {
  batchOf,
  DAY,
  everything,
  HOUR,
  openStore,
  PARTITION,
  plain,
  replay,
  START,
} from '../../support/history-from-log.ts';

const YESTERDAY = Math.floor(START / DAY - 1) * DAY;

/** Writes a day of a fleet, in six chunks per VM until it is merged. */
async function fillDay(history: History, vms: number): Promise<void> {
  const range = { fromMs: YESTERDAY, toMs: YESTERDAY + DAY };
  const log = [...fleetRows({ vms, ...range, stepMs: HOUR / 2, seed: 9 })];
  for (let i = 0; i < log.length; i += 8) {
    replay(history, log.slice(0, i + 8), i + 1);
    await history.flush();
  }
}

test('a day of many VMs is merged step by step, alongside all other work', async (t) => {
  const vms = 240;
  const folder = t.testdir();
  const history = openStore({ folder, startWorker: undefined });
  await fillDay(history, vms);
  const request = { ...everything, vm: fleetVm(7) };
  const before = plain(history.readNow(request));
  const progress: number[] = [];
  let [isOver, reads] = [false, 0];
  const started = { process: process.cpuUsage(), thread: process.threadCpuUsage() };
  const merging = history.retain(START).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await wait(5);
    progress.push(history.stats().compactedDays);
    if (reads * 3 < progress.length) {
      t.same(plain(history.readNow(request)).length, before.length);
      reads++;
    }
    history.append(batchOf({ at: progress.length, values: { x: 1 }, vm: 'new' }), {
      partition: PARTITION,
      sequence: 1000 + progress.length,
    });
  }
  t.match(await merging, { compactedDays: vms, damagedDays: 0, more: false });
  const all = process.cpuUsage(started.process).user;
  const taking = process.threadCpuUsage(started.thread).user;
  t.ok(taking < all / 2, `the receiving thread used ${taking} of ${all} µs`);
  const steps = new Set(progress.filter((count) => count > 0 && count < vms));
  t.ok(steps.size >= 3, `observed on the way: ${[...steps].join(' ')}`);
  t.equal(history.stats().waitingDays, 0);
  t.match(await history.stored(), { chunks: vms });
  t.same(plain(history.readNow(request)), before, 'every row is unchanged');
  await history.close();
});

test('a stop halfway through a day costs nothing: the next start continues', async (t) => {
  const vms = 160;
  const folder = t.testdir();
  const history = openStore({ folder });
  await fillDay(history, vms);
  const request = { ...everything, vm: fleetVm(151) };
  const before = plain(history.readNow(request));
  const stopped = history.retain(START);
  while (history.stats().compactedDays === 0) await wait(1);
  await history.close();
  t.equal((await stopped).more, true, 'it reports that more is due');
  const again = openStore({ folder });
  const { chunks } = await again.stored();
  t.ok(chunks > vms && chunks < 6 * vms, `${chunks} chunks: some days are merged`);
  t.same(plain(again.readNow(request)), before);
  const { compactedDays } = await again.retain(START);
  t.equal(compactedDays, (chunks - vms) / 5, 'the rest, and nothing twice');
  t.match(await again.stored(), { chunks: vms });
  t.same(plain(again.readNow(request)), before);
  t.match(await again.retain(START), { compactedDays: 0, more: false });
  await again.close();
});

/** Overwrites the beginning of a page of chunks, as a failing disk does. */
function damagePage(folder: string, pagetype: 'leaf' | 'overflow'): void {
  const path = join(folder, HISTORY_FILE);
  const database = new Database(path);
  const place = database
    .prepare<[string], { page: number; size: number }>(
      `SELECT pageno AS page, pgsize AS size FROM dbstat
       WHERE name = 'chunks' AND pagetype = ? ORDER BY path LIMIT 1`,
    )
    .get(pagetype);
  database.close();
  if (place === undefined) throw new Error(`There is no ${pagetype} page`);
  const file = openSync(path, 'r+');
  writeSync(file, new Uint8Array(64).fill(0x7f), 0, 64, (place.page - 1) * place.size);
  closeSync(file);
}

/** Writes three chunks for each VM, of several pages each. */
async function fillWide(history: History, vms: readonly string[]): Promise<void> {
  const wide = (at: number) =>
    Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`s${n}`, Math.sin(at + n)]));
  for (let part = 0; part < 3; part++) {
    for (const [n, vm] of vms.entries()) {
      const rows = Array.from({ length: 60 }, (_, i) => {
        const at = YESTERDAY - START + (part * 60 + i) * 60_000;
        return { at, vm, values: wide(at) };
      });
      const sequence = part * vms.length + n + 1;
      history.append(batchOf(...rows), { partition: PARTITION, sequence });
    }
    await history.flush();
  }
}

test('a damaged page prevents no other chunk from being merged and dropped', async (t) => {
  const folder = t.testdir();
  const vms = ['a', 'b', 'c', 'd'];
  const first = openStore({ folder });
  await fillWide(first, vms);
  await first.close();
  damagePage(folder, 'overflow');

  const clock = new VirtualClock(START);
  const history = openStore({ folder, clock });
  const { damaged } = await history.check();
  t.equal(damaged.length, 1, 'check finds it');
  const [{ vm: hurt } = { vm: '' }] = damaged;
  t.match(await history.retain(START), { compactedDays: 3, damagedDays: 1, more: false });
  t.match(await history.stored(), { chunks: 3 + 3 });
  for (const vm of vms) {
    const read = history.read({ ...everything, vm });
    if (vm === hurt) await t.rejects(read, { name: 'HistoryError', reason: 'DAMAGED' });
    else t.equal((await read).timesMs.length, 180, `${vm} is read`);
  }
  await clock.advance(8 * DAY);
  t.match(await history.retain(clock.now()), { droppedChunks: 6, more: false });
  history.append(batchOf({ at: 8 * DAY, values: { x: 1 } }), {
    partition: PARTITION,
    sequence: 100,
  });
  await history.flush();
  t.equal(
    (await history.read({ ...everything, vm: 'a' })).timesMs.length,
    1,
    'and new rows are stored',
  );
  await history.close();
});

test('a damaged page of the table itself prevents few chunks from being merged and dropped', async (t) => {
  const folder = t.testdir();
  const vms = Array.from({ length: 12 }, (_, n) => `vm-${n}`);
  const first = openStore({ folder });
  await fillWide(first, vms);
  await first.close();
  damagePage(folder, 'leaf');

  const clock = new VirtualClock(START);
  const history = openStore({ folder, clock });
  await t.rejects(history.check(), { name: 'HistoryError', reason: 'DAMAGED' });
  const { compactedDays, damagedDays, more } = await history.retain(START);
  t.equal(compactedDays + damagedDays, vms.length);
  t.ok(damagedDays < vms.length / 2, `${damagedDays} VMs have chunks on it`);
  t.equal(more, false);
  await clock.advance(8 * DAY);
  const { droppedChunks } = await history.retain(clock.now());
  t.ok(droppedChunks >= compactedDays - 1, `${droppedChunks} chunks are dropped`);
  t.match(await history.retain(clock.now()), { droppedChunks: 0, more: false }, 'tried once');
  history.append(batchOf({ at: 8 * DAY, values: { x: 1 } }), {
    partition: PARTITION,
    sequence: 99,
  });
  await history.flush();
  t.equal(
    (await history.read({ ...everything, vm: 'a' })).timesMs.length,
    1,
    'and new rows are stored',
  );
  await history.close();
});
