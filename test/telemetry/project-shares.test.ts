/**
 * Memory of ingest for projects within one bound: a project that floods it loses its own entries
 * and no neighbour's, and entries without a sample within retention are forgotten.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { ProjectShares } from '../../actors/platform/project-shares.ts';
import { BatchAnswers } from '../../actors/telemetry/ingest/batch-answers.ts';
import { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';
import { CollectorReadings } from '../../actors/telemetry/ingest/collector-readings.ts';
import { RecentTimes } from '../../actors/telemetry/ingest/ingest.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { cpuRow } from '../support/alerting-on-host.ts';
import { tries } from '../support/tries.ts';

const DAY = 86_400_000;

test('a project keeps its newest entries up to its equal share, whatever others store', async () => {
  const max = 12;
  const put = fc.tuple(fc.constantFrom('a', 'a', 'a', 'b', 'c'), fc.integer({ min: 0, max: 30 }));
  fc.assert(
    fc.property(fc.array(put, { maxLength: 200 }), (puts) => {
      const shares = new ProjectShares<number>(max);
      const order = new Map<string, number[]>();
      for (const [i, [project, key]] of puts.entries()) {
        shares.put(project, String(key), i);
        const keys = (order.get(project) ?? []).filter((one) => one !== key);
        order.set(project, [...keys, key]);
        if (shares.size > max) throw new Error(`${shares.size} entries`);
      }
      for (const [project, keys] of order) {
        for (const key of keys.slice(-Math.floor(max / 3))) {
          if (shares.get(project, String(key)) === undefined) {
            throw new Error(`${project} has lost ${key} of ${keys}`);
          }
        }
      }
    }),
    { numRuns: tries(200) },
  );
});

test('another project’s batches never cause a neighbour’s batch to be stored twice', async (t) => {
  const answers = new BatchAnswers();
  let stored = 0;
  const send = (project: string, batchId: string) =>
    answers.answer({ project, batchId, rows: [] }, async () => {
      stored++;
      return { accepted: 0, duplicates: 0, rejected: [], sequence: 0 };
    });
  await send('neighbour', '1');
  for (let i = 0; i < 12_000; i++) await send('hostile', `${i}`);
  stored = 0;
  await send('neighbour', '1');
  t.equal(stored, 0);
});

test('another project’s clocks do not evict a neighbour’s', async (t) => {
  const notes = new ClockNotes();
  notes.record('CLOCK_AHEAD', 'neighbour', 'vm', 1);
  for (let i = 0; i < 60_000; i++) notes.record('CLOCK_AHEAD', 'hostile', `vm ${i}`, 2);
  t.same(notes.within('neighbour', 'vm', 0, 10), ['CLOCK_AHEAD']);
});

test('times of VMs that have not reported within retention are forgotten', async (t) => {
  const times = new RecentTimes(() => {});
  for (let day = 0; day < 60; day++) {
    const rows = Array.from({ length: 20 }, (_, i) => cpuRow(`vm ${day}/${i}`, day * DAY, 1));
    times.record('demo', [cpuRow('kept', day * DAY, 1), ...rows], day * DAY);
  }
  t.ok(times.size <= 9 * 20 + 1, `${times.size} VMs are remembered, of 1201 ever`);
  t.equal(times.count('demo', [cpuRow('kept', 59 * DAY, 1)]), 1, 'a VM that reports is known');
});

test('VMs that a collector no longer reports are forgotten, even without a listing', async (t) => {
  const clock = new VirtualClock(0);
  const readings = new CollectorReadings(clock);
  const ingest = readings.recording({
    write: async ({ rows }) => ({
      accepted: rows.length,
      duplicates: 0,
      rejected: [],
      sequence: 1,
    }),
  });
  const write = (source: string, project: string, vms: readonly string[]) => {
    const rows = vms.map((vm) => cpuRow(vm, clock.now(), 1));
    return ingest.write({ project, source, batchId: '', rows });
  };
  await write('gone', 'demo', ['x', 'y']);
  await write('near', 'left', ['z']);
  for (let minute = 0; minute < 60; minute++) {
    for (const source of ['near', 'far']) {
      const churned = Array.from({ length: 20 }, (_, i) => `vm ${minute}/${i}`);
      await write(source, 'demo', ['kept', ...churned]);
    }
    await clock.advance(60_000);
  }
  t.ok(readings.size <= 2 * 6 * 21, `${readings.size} VMs are remembered, of 2405 ever`);
  t.match(
    readings.of('gone'),
    [{ project: 'demo', receivedMs: 0, vms: 0 }],
    'it has reported once',
  );
  t.match(readings.of('near'), [
    { project: 'left', vms: 0 },
    { project: 'demo', vms: 21 },
  ]);
  for (let day = 0; day < 12; day++) {
    for (const source of ['near', 'far']) await write(source, 'demo', ['kept']);
    await clock.advance(DAY);
  }
  t.same(readings.names(), ['far', 'near'], 'a VM that was silent for all of retention is dropped');
  t.match(readings.of('near'), [{ project: 'demo' }], 'and so is a project');
});
