/**
 * The memory of a thread that reads history is proportional to the stored rows and the head,
 * however many VMs, series and boots have existed.
 *
 * Own process: it measures the heap, and collects garbage on demand.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { test } from 'tap';
import { openDatabase } from '../../../sqlite/platform/database.ts';
import { bootNumber } from '../../../sqlite/telemetry/history/columns/chunk-columns.ts';
import { ColumnView } from '../../../sqlite/telemetry/history/columns/column-view.ts';
import { historyMigrations } from '../../../sqlite/telemetry/history/history-file.ts';
import { SeriesNames } from '../../../sqlite/telemetry/history/series-names.ts';
import { WeakValues } from '../../../sqlite/telemetry/history/weak-values.ts';
import { DAY } from '../../support/history-from-log.ts';
import { openQueries } from '../../support/queries-on-history.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

test('former VMs leave nothing behind, and one that returns is read', async (t) => {
  const world = openQueries({ folder: t.testdir(), isInline: true });
  const { history, clock } = world;
  const view = new ColumnView({ share: history.share, cacheBytesMax: 2 ** 20 });
  const look = () => {
    view.refreshStored();
    for (const vm of view.vmsOf('demo').values()) vm.refreshHead(() => []);
    view.refreshStored();
  };
  let most = 0;
  for (let day = 0; day < 40; day++) {
    const at = day * DAY;
    const vms = ['kept', ...[0, 1, 2].map((n) => `of day ${day}/${n}`)];
    if (day === 0 || day === 30) vms.push('returning');
    for (const vm of vms) {
      world.append({ at, vm, boot: `boot ${day}`, values: { x: day, [`y${day}`]: 1 } });
    }
    look();
    const found = await world.instant('x', at);
    t.same(Object.values(found), Array(vms.length).fill(day), `day ${day}`);
    await history.flush();
    clock.jump(DAY);
    history.release();
    await history.retain(clock.now());
    look();
    if (day === 10) most = view.vmCount;
  }
  t.ok(view.vmCount <= most, `${view.vmCount} VMs are remembered, ${most} after ten days`);
  t.ok(view.forgotten > 80, `${view.forgotten} were forgotten`);
  t.same(
    [...view.vmsOf('demo').keys()].filter((vm) => vm.startsWith('of day 1')),
    [],
  );
  view.close();
  await world.close();
});

test('a forgotten VM that still has its number in the file is read again', async (t) => {
  const world = openQueries({ folder: t.testdir(), isInline: true });
  const { history, clock } = world;
  for (let day = 0; day <= 20; day++) {
    const at = day * DAY;
    world.append({ at, vm: 'kept', values: { x: day } });
    // The newest number stays in the file, whatever happens to its VM.
    if (day === 1 || day === 20) world.append({ at, vm: 'newest', values: { x: day } });
    await history.flush();
    const count = day === 1 || day === 20 ? 2 : 1;
    t.equal(Object.keys(await world.instant('x', at)).length, count, `day ${day}`);
    clock.jump(DAY);
    history.release();
    await history.retain(clock.now());
  }
  await world.close();
});

test('an unused value is freed, and a used one stays the same object', (t) => {
  const values = new WeakValues<string, { readonly n: number }>();
  const kept = { n: -1 };
  values.set('kept', kept);
  const flood = () => {
    for (let n = 0; n < 3_000; n++) values.set(`gone ${n}`, { n });
  };
  flood();
  setImmediate(() => {
    collect();
    for (let n = 0; n < 10_000; n++) values.set(`more ${n}`, kept);
    t.equal(values.get('kept'), kept);
    t.equal(values.get('gone 1'), undefined);
    t.ok(values.size < 12_000, `${values.size} keys of 13,001`);
    t.end();
  });
});

test('names of series are cached within a bound, and are right beyond it', async (t) => {
  const migrations = historyMigrations;
  const database = openDatabase({ path: ':memory:', synchronous: 'NORMAL', migrations });
  const add = database.prepare('INSERT INTO series (id, key) VALUES (?, ?)');
  for (let id = 1; id <= 500; id++) add.run(id, `series ${id} ${'x'.repeat(id % 40)}`);
  const names = new SeriesNames(database, 1_000);
  for (let round = 0; round < 3; round++) {
    for (let id = 1; id <= 500; id++) {
      if (names.keyOf(id) !== `series ${id} ${'x'.repeat(id % 40)}`) t.fail(`series ${id}`);
      if (names.characters > 1_000) t.fail(`${names.characters} characters`);
    }
  }
  t.throws(() => names.keyOf(501), { name: 'HistoryError', reason: 'DAMAGED' });
  database.close();
});

test('a boot id has the same number on every thread, and another id has another number', async (t) => {
  t.equal(bootNumber('boot 1'), bootNumber('boot 1'));
  t.ok(Number.isNaN(bootNumber('')));
  const numbers = new Set(Array.from({ length: 20_000 }, (_, i) => bootNumber(`boot ${i}`)));
  t.equal(numbers.size, 20_000);
  for (const number of numbers) if (!Number.isSafeInteger(number)) t.fail(`${number}`);
});
