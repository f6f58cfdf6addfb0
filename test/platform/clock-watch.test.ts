/** Steps of the machine's clock in `/readyz`, on a virtual clock. */
import { test } from 'tap';
import { ClockWatch } from '../../src/platform/clock-watch.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

const START_MS = Date.UTC(2026, 10, 28, 14, 0, 0);
const HOUR_MS = 3_600_000;

function watching() {
  const clock = new VirtualClock(START_MS);
  const counts = { projects: 2, delays: 0 };
  const watch = new ClockWatch({ clock, counts: () => ({ ...counts }) });
  return { clock, counts, check: watch.check };
}

test('DUR-28: a step back is reported with its size and the times that were moved', async (t) => {
  const { clock, counts, check } = watching();
  clock.jump(HOUR_MS);
  t.match(check(), { state: 'ready' }, 'forward is no step back');
  await clock.advance(2_000);
  clock.jump(-HOUR_MS);
  t.match(check(), {
    state: 'degraded',
    reason: /set back by 3600 s, noticed at 2026-11-28T14:00:02Z\. Moved to the present: nothing\./,
    summary: 'The clock was set back: future times were moved to the present',
  });
  counts.projects += 3;
  await clock.advance(2_000);
  t.match(check(), { reason: /by 3600 s, noticed at 2026-11-28T14:00:02Z\. .*: projects: 3\./ });
  counts.delays += 1;
  await clock.advance(2_000);
  t.match(check(), { reason: /Moved to the present: projects: 3; delays: 1\./ });
  await clock.advance(15 * 60_000);
  t.match(check(), { state: 'ready' }, 'after a while it is no longer news');
  counts.projects += 1;
  t.match(check(), { reason: /set back, noticed .*: projects: 1\./ }, 'counted afresh');
});

test('DUR-28: a step between two checks is detected by the times that were moved', async (t) => {
  const { clock, counts, check } = watching();
  await clock.advance(1_000);
  counts.delays += 2;
  t.match(check(), { state: 'degraded', reason: /was set back, noticed .* delays: 2/ });
});

test('DUR-28: usual corrections are not reported', async (t) => {
  const { clock, check } = watching();
  for (let i = 0; i < 20; i++) {
    clock.jump(-9_999);
    t.match(check(), { state: 'ready' });
    await clock.advance(2_000);
  }
});
