/**
 * The newest row of a VM, wherever its rows are: in the head, in chunks, in both, or no longer
 * stored. Times are compared with an oracle over all rows.
 */
import * as fc from 'fast-check';
import { test } from 'tap';
import { HistoryView } from '../../../sqlite/telemetry/history/store/history-view.ts';
import type { History } from '../../../sqlite/telemetry/history/store/store.ts';
import { BatchBuilder } from '../../../streams/telemetry/samples/batch.ts';
import { DAY, HOUR, openStore, PARTITION, START } from '../../support/history-from-log.ts';
import { tries } from '../../support/tries.ts';

let sequence = 0;

/** Appends one row of a VM as an entry of the log. */
function append(history: History, vm: string, observedMs: number, value = 1, state = 1): void {
  const builder = new BatchBuilder();
  builder.add({
    project: 'demo',
    vm,
    observedMs,
    sequence: 0,
    boot: '',
    vcpus: 2,
    state,
    stateReason: '',
    series: ['svc_vm_load1'],
    values: [value],
  });
  history.append(builder.build(START), { partition: PARTITION, sequence: ++sequence });
}

test('the newest row is known from chunks alone, and a late row does not replace it', async (t) => {
  const folder = t.testdir();
  const first = openStore({ folder });
  for (let i = 0; i <= 120; i++) append(first, 'vm-1', START + i * 30_000, i);
  await first.flush();
  await first.close();
  const history = openStore({ folder });
  const view = new HistoryView(history.share);
  const now = START + HOUR + 10_000;
  const newest = () => view.newest('demo', 'vm-1', now);
  t.equal(newest()?.observedMs, START + HOUR);
  t.equal(newest()?.columns.timesMs.length, 4, 'only as much of it is kept as rates need');
  append(history, 'vm-1', START + HOUR / 2 + 1);
  t.equal(newest()?.observedMs, START + HOUR, 'a late row');
  append(history, 'vm-1', START + HOUR + 5_000, 7);
  t.equal(newest()?.observedMs, START + HOUR + 5_000, 'a row on time');
  t.equal(view.newest('demo', 'vm-1', START + 7 * DAY + HOUR)?.observedMs, START + HOUR + 5_000);
  t.equal(
    view.newest('demo', 'vm-1', START + 8 * DAY),
    undefined,
    'values that are not kept are unknown',
  );
  t.equal(view.newest('demo', 'nobody', now), undefined);
  t.equal(view.newest('other', 'vm-1', now), undefined);
  view.close();
  await history.close();
});

test('MEAS-10: the last state is found behind rows that report none, wherever it is', async (t) => {
  const folder = t.testdir();
  const first = openStore({ folder });
  append(first, 'vm-1', START, 1, 3);
  append(first, 'vm-1', START + 1_000, 1, 2);
  for (let i = 1; i <= 100; i++) append(first, 'vm-1', START + i * 30_000, i, 0);
  const now = START + HOUR;
  const stated = { observedMs: START + 1_000, state: 2 };
  const before = new HistoryView(first.share);
  t.same(before.newest('demo', 'vm-1', now)?.stated, stated, 'in the head');
  await first.flush();
  before.close();
  await first.close();
  const history = openStore({ folder });
  const view = new HistoryView(history.share);
  t.same(view.newest('demo', 'vm-1', now)?.stated, stated, 'in a chunk');
  for (let i = 0; i < 8; i++) append(history, 'vm-1', START + HOUR + i * 30_000, i, 0);
  t.same(view.newest('demo', 'vm-1', now + 240_000)?.stated, stated, 'behind rows of the head');
  t.equal(view.newest('demo', 'vm-1', now + 7 * DAY)?.stated, undefined, 'within retention only');
  t.equal(view.newest('demo', 'vm-1', now + 7 * DAY)?.observedMs, START + HOUR + 210_000);
  append(history, 'vm-1', START + HOUR + 240_000, 1, 4);
  const late = { observedMs: START + HOUR + 240_000, state: 4 };
  t.same(view.newest('demo', 'vm-1', now + 240_000)?.stated, late, 'a newer one');
  view.close();
  await history.close();
});

test('the last observation of a VM before any moment matches all its rows', async (t) => {
  const history = openStore({ folder: t.testdir() });
  const view = new HistoryView(history.share);
  let vms = 0;
  const hours = fc.integer({ min: 0, max: 100 });
  const property = fc.asyncProperty(
    fc.array(fc.array(hours, { maxLength: 12 }), { maxLength: 4 }),
    fc.array(fc.tuple(hours, hours), { minLength: 5, maxLength: 5 }),
    async (flushes, requested) => {
      const vm = `vm-${vms++}`;
      for (const [i, rows] of flushes.entries()) {
        for (const hour of rows) append(history, vm, START + hour * HOUR);
        // The last rows stay in the head only.
        if (i < 3) await history.flush();
      }
      const times = flushes.flat().map((hour) => START + hour * HOUR);
      for (const [at, back] of requested) {
        const atMs = START + at * HOUR;
        const notBeforeMs = atMs - back * HOUR;
        const wanted = Math.max(...times.filter((time) => time >= notBeforeMs && time <= atMs));
        const reported = view.newestTime({ project: 'demo', vm, atMs, notBeforeMs });
        if (reported !== (Number.isFinite(wanted) ? wanted : undefined)) return false;
      }
      return true;
    },
  );
  await fc.assert(property, { numRuns: tries(40), seed: 12, interruptAfterTimeLimit: 15_000 });
  t.ok(vms >= 5);
  view.close();
  await history.close();
});
