/**
 * VMs with more rows in a day than a chunk holds, and VMs that cannot be flushed. Neither delays
 * the rows of other VMs, their floors or upkeep.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Test, test } from 'tap';
import { CHUNK_ROWS_MAX } from '../../../sqlite/telemetry/history/chunk/chunk-codec.ts';
import { HISTORY_FILE } from '../../../sqlite/telemetry/history/history-file.ts';
import type { History } from '../../../sqlite/telemetry/history/store/store.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import { BatchBuilder, type SampleBatch } from '../../../streams/telemetry/samples/batch.ts';
import {
  batchOf,
  DAY,
  everything,
  openStore,
  PARTITION,
  START,
} from '../../support/history-from-log.ts';
import { until as untilEvent } from '../../support/program.ts';

const YESTERDAY = Math.floor(START / DAY - 1) * DAY;
const EXTRA = 7;

interface Burst {
  readonly vm: string;
  readonly project: string;
  readonly fromMs: number;
  readonly count: number;
}

/** Rows 1 ms apart, whose values are their numbers. */
function rowsOf({ vm, project, fromMs, count }: Burst): SampleBatch {
  const builder = new BatchBuilder();
  const series = ['x'];
  for (let i = 0; i < count; i++) {
    builder.add({
      project,
      vm,
      observedMs: fromMs + i,
      sequence: i,
      boot: 'b',
      vcpus: 2,
      state: 1,
      stateReason: '',
      series,
      values: [i],
    });
  }
  return builder.build(fromMs + count);
}

function assertWhole(t: Test, history: History, { vm, project, fromMs, count }: Burst): void {
  const { timesMs, series } = history.readNow({ ...everything, project, vm });
  const values = series.get('x');
  const wrong = timesMs.findIndex((timeMs, i) => timeMs !== fromMs + i || values?.[i] !== i);
  t.same([timesMs.length, wrong], [count, -1], `every row of ${vm} is read once`);
}

test('a day with more rows than a chunk holds is flushed and kept in several', async (t) => {
  const folder = t.testdir();
  const count = CHUNK_ROWS_MAX + EXTRA;
  const busy = { vm: 'busy', project: 'demo', fromMs: YESTERDAY, count };
  const calm = { vm: 'calm', project: 'other', fromMs: YESTERDAY, count: 3 };
  const history = openStore({ folder });
  history.append(rowsOf(busy), { partition: PARTITION, sequence: 1 });
  history.append(rowsOf(calm), { partition: 3, sequence: 2 });
  await history.flush();
  t.match(await history.stored(), { chunks: 2 + 1 });
  t.same([history.floor(PARTITION), history.floor(3)], [2, 3]);
  assertWhole(t, history, busy);
  assertWhole(t, history, calm);
  await history.close();

  const again = openStore({ folder });
  t.same([again.floor(PARTITION), again.floor(3)], [2, 3], 'nothing is reread from the log');
  assertWhole(t, again, busy);
  assertWhole(t, again, calm);
  // A second chunk for the same day of the calm VM.
  const more = { ...calm, fromMs: YESTERDAY + calm.count, count: 2 };
  again.append(rowsOf(more), { partition: 3, sequence: 3 });
  await again.flush();
  t.match(await again.retain(START), { compactedDays: 1, damagedDays: 0, more: false });
  t.equal(again.stats().waitingDays, 0, 'the day that is too long delays nothing');
  t.match(await again.stored(), { chunks: 2 + 1 });
  assertWhole(t, again, busy);
  await again.close();
});

test('a VM that cannot be flushed holds back only its own floor, and is named', async (t) => {
  const folder = t.testdir();
  const clock = new VirtualClock(START);
  const history = openStore({ folder, clock, background: true, flushAfterMs: 1 });
  const database = new Database(join(folder, HISTORY_FILE));
  database.exec(`CREATE TRIGGER refuse BEFORE INSERT ON vms WHEN NEW.vm = 'bad'
    BEGIN SELECT raise(ABORT, 'not this one'); END`);
  const old = batchOf({ at: -8 * DAY, values: { x: 1 }, vm: 'old' });
  history.append(old, { partition: 3, sequence: 1 });
  history.append(batchOf({ at: 0, values: { y: 1 }, vm: 'bad' }), {
    partition: PARTITION,
    sequence: 5,
  });
  // In the same group, with a series that the refused one has named before.
  history.append(batchOf({ at: 0, values: { y: 2 }, vm: 'good' }), { partition: 4, sequence: 6 });
  // The clock is virtual, but the writing thread is not.
  const until = (isReached: () => boolean) =>
    untilEvent(String(isReached), async () => {
      if (isReached()) return true;
      await clock.advance(10_000);
      return undefined;
    });
  await until(() => history.stats().droppedChunks > 0);
  t.match(history.stats(), {
    pendingVms: 1,
    flushedVms: 2,
    droppedChunks: 1,
    fault: /^VM bad of demo cannot be flushed: .*not this one/,
  });
  t.same(
    [3, 4, PARTITION].map((one) => history.floor(one)),
    [2, 7, 5],
  );
  t.equal(history.readNow({ ...everything, vm: 'bad' }).timesMs.length, 1, 'it is in the head');
  await t.rejects(history.flush(), { name: 'HistoryError', message: /VM bad of demo/ });

  database.exec('DROP TRIGGER refuse');
  database.close();
  await until(() => history.floor(PARTITION) === 6);
  t.equal(history.floor(PARTITION), 6);
  t.equal(history.stats().fault, undefined, 'all is well again');
  await history.close();
  const again = openStore({ folder });
  for (const vm of ['bad', 'good']) {
    t.equal(again.readNow({ ...everything, vm }).series.get('y')?.length, 1, `${vm} is on disk`);
  }
  await again.close();
});
