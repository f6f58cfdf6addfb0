/** The last observation times of each VM: repeated rows, and clocks that go back. */
import { test } from 'tap';
import { RecentTimes } from '../../actors/telemetry/ingest/ingest.ts';
import type { IngestRow } from '../../actors/vms/sent-row.ts';

const START_MS = 1_700_000_000_000;
const HOUR_MS = 3_600_000;

function row(observedMs: number, sequence: number): IngestRow {
  const about = { vm: 'vm-1', boot: 'boot-1', state: 1, stateReason: '', vcpus: 1 };
  return { ...about, observedMs, sequence, series: [], values: [] };
}

test('EVAL-09: a source whose clock goes back is recorded', async (t) => {
  const backwards: string[] = [];
  const times = new RecentTimes((_, vm) => backwards.push(vm));
  times.record('demo', [row(START_MS, 1)], START_MS);
  times.record('demo', [row(START_MS - 30_000, 2)], START_MS + 1_000);
  t.same(backwards, ['vm-1']);
});

test('DUR-28: a source is not at fault if the service’s own clock was set back', async (t) => {
  const backwards: string[] = [];
  const times = new RecentTimes((_, vm) => backwards.push(vm));
  times.record('demo', [row(START_MS + HOUR_MS, 1)], START_MS + HOUR_MS);
  times.record('demo', [row(START_MS + 10_000, 2)], START_MS + 10_000);
  times.record('demo', [row(START_MS + 40_000, 3)], START_MS + 40_000);
  t.same(backwards, []);
  t.equal(times.count('demo', [row(START_MS + 40_000, 3)]), 1, 'repeated rows are still known');
});
