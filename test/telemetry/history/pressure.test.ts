/** Flushes before their hour, because a project has used most of its memory. */
import { test } from 'tap';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import { BatchBuilder } from '../../../streams/telemetry/samples/batch.ts';
import { openStore, PARTITION, START } from '../../support/history-from-log.ts';
import { until } from '../../support/program.ts';

const BOUND = 2 ** 20;

test('a project short of memory is flushed early, its neighbour on time', async (t) => {
  const clock = new VirtualClock(START);
  const history = openStore({ folder: t.testdir(), clock, background: true });
  history.boundProjects({ of: () => ({ headBytes: BOUND }) });
  t.teardown(() => history.close());
  let sequence = 0;
  const append = (project: string, rows: number) => {
    const builder = new BatchBuilder();
    for (let i = 0; i < rows; i++) {
      builder.add({
        project,
        vm: `vm ${i % 100}`,
        observedMs: START + ++sequence,
        sequence,
        boot: 'b',
        vcpus: 2,
        state: 1,
        stateReason: '',
        series: ['x'],
        values: [i],
      });
    }
    history.append(builder.build(clock.now()), { partition: PARTITION, sequence });
  };
  const isPressed = () => history.quota('full').used > (BOUND * 2) / 3;
  while (!isPressed()) append('full', 50);
  append('neighbour', 100);
  const before = history.stats();
  t.equal(before.refused, 0);

  // One check of the flusher. Its thread answers later.
  await clock.advance(10_000);
  await until('its VMs are in chunks', () => history.stats().pendingVms <= 100 || undefined);
  const after = history.stats();
  t.equal(after.pendingVms, 100, 'its VMs are all in chunks, and no others');
  t.notOk(isPressed(), `${history.quota('full').used} of ${BOUND} bytes`);
  t.equal(history.refused().length, 0);
  const range = { project: 'full', vm: 'vm 7', fromMs: START, toMs: START + sequence };
  const read = await history.read(range);
  t.ok(read.timesMs.length > 1, `${read.timesMs.length} rows are still read`);
});
