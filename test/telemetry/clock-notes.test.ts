/** Recorded faults of sources' clocks: spells, with their first and last row. */
import { test } from 'tap';
import { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';

test('a fault is reported for the ranges that it touches, and only for its own VM', async (t) => {
  const notes = new ClockNotes();
  const reported = (fromMs: number, toMs: number, vm = 'vm-1', project = 'demo') =>
    notes.within(project, vm, fromMs, toMs);
  for (const at of [1_000_000, 1_200_000, 1_500_000]) {
    notes.record('CLOCK_AHEAD', 'demo', 'vm-1', at);
  }
  t.same(reported(0, 999_999), []);
  t.same(reported(0, 1_000_000), ['CLOCK_AHEAD']);
  t.same(reported(1_100_000, 1_150_000), ['CLOCK_AHEAD'], 'between two of its rows');
  t.same(reported(1_500_001, 9e9), []);
  t.same(reported(0, 9e9, 'vm-2'), []);
  t.same(reported(0, 9e9, 'vm-1', 'other'), []);
  notes.record('CLOCK_BACKWARDS', 'demo', 'vm-1', 1_500_000);
  t.same(reported(0, 9e9), ['CLOCK_BACKWARDS', 'CLOCK_AHEAD']);
  notes.record('CLOCK_AHEAD', 'demo', 'vm-1', 1_800_001);
  t.same(
    reported(1_500_001, 1_700_000),
    [],
    'a clock that was right for 5 minutes starts a new spell',
  );
});

test('a VM whose clock is ahead is reported as of its last refused row', async (t) => {
  const notes = new ClockNotes();
  notes.record('CLOCK_AHEAD', 'demo', 'vm-1', 1_000);
  notes.record('CLOCK_AHEAD', 'demo', 'a vm of two words', 2_000);
  notes.record('CLOCK_BACKWARDS', 'demo', 'vm-3', 2_500);
  notes.record('CLOCK_AHEAD', 'other', 'vm-4', 3_000);
  t.same(
    [...notes.ahead(2_000)],
    [
      { project: 'other', vm: 'vm-4' },
      { project: 'demo', vm: 'a vm of two words' },
    ],
  );
  t.same([...notes.ahead(3_001)], []);
});

test('recorded VMs are bounded: the one without a row for the longest time is forgotten', async (t) => {
  const notes = new ClockNotes();
  for (let i = 0; i <= 50_000; i++) notes.record('CLOCK_AHEAD', 'demo', `vm-${i}`, i);
  t.same(notes.within('demo', 'vm-0', 0, 9e9), []);
  t.same(notes.within('demo', 'vm-1', 0, 9e9), ['CLOCK_AHEAD']);
});
