/**
 * Rows without room in memory are read from the log again. Their entries are kept as long as other
 * members know this one; the log of a member that was away may have been cut.
 */
import { type Test, test } from 'tap';
import { type RowRecovery, recoverRows } from '../../actors/telemetry/row-recovery.ts';
import { SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import type { LogEntry } from '../../streams/telemetry/entry.ts';
import { LOG_PARTITION, openCutLog } from '../support/cut-log.ts';
import { batchOf, START_MS } from '../support/evaluation-scenario.ts';

const entries = [0, 30, 60, 90, 120].map(
  (at): LogEntry => ({ kind: 'batch', batch: batchOf(at, [{ at, cpu: 1 }]) }),
);

/** Recovery of the rows of entries 2 to 4, whose log was cut below `sequence`. */
async function recovered(t: Test, sequence: number, isDamaged = false) {
  const log = await openCutLog(t.testdir({}), isDamaged ? entries.slice(0, 2) : entries);
  if (isDamaged) {
    const subject = `svc.samples.${LOG_PARTITION}.batch`;
    const data = Uint8Array.of(1, 9);
    await log.stream.append({ stream: SAMPLES_STREAM, subject, data });
  }
  t.teardown(() => log.close());
  await log.cut(sequence - 1);
  const calls: unknown[] = [];
  const ending = new AbortController();
  const stretch = { fromMs: START_MS + 30_000, toMs: START_MS + 90_000 };
  const recovery: RowRecovery = {
    refused: () => {
      const isOver = calls.some((call) => String(call).startsWith('took'));
      const sequences = { firstSequence: 2, lastSequence: 4 };
      return isOver
        ? []
        : [{ project: 'demo', partition: LOG_PARTITION, ...sequences, ...stretch }];
    },
    takeAgain: (_project, _batch, position) => calls.push(position.sequence) > 0,
    recordLost: (lost) => void calls.push(lost),
    tookThrough(project, through) {
      calls.push(`took ${project} through ${through}`);
      ending.abort();
    },
  };
  const recovering = recoverRows({ ...log, recovery }, ending.signal);
  await log.clock.advance(5_000);
  await recovering;
  return { calls, stretch };
}

test('rows without room are read again from the log', async (t) => {
  const { calls } = await recovered(t, 2);
  t.same(calls, [2, 3, 4, 'took demo through 4']);
});

test('rows without room whose entries were truncated are reported as lost, and no longer fail reads', async (t) => {
  const { calls, stretch } = await recovered(t, 5);
  t.same(calls, [stretch, 'took demo through 4']);
});

test('if some of their entries were truncated, the others are read again', async (t) => {
  const { calls } = await recovered(t, 4);
  t.same(calls, [4, 'took demo through 4']);
});

test('rows without room whose entry cannot be read are reported as lost', async (t) => {
  const { calls, stretch } = await recovered(t, 2, true);
  t.same(calls, [2, stretch, 'took demo through 4']);
});
