/** What the pipeline of the sample log gives to history. The evaluator has tests of its own. */
import { test } from 'tap';
import { SamplePipeline } from '../../actors/alerting/evaluator/sample-pipeline.ts';
import { appendEntry, SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { partitionOf } from '../../streams/platform/stream.ts';
import { openAlertingWorld, PROJECT } from '../support/alerting-on-host.ts';
import { batchOf } from '../support/evaluation-scenario.ts';

const MINUTE_MS = 60_000;

test('DUR-19: history continues after an entry that cannot be read, and reports its time as lost', async (t) => {
  const { host, stream, clock } = await openAlertingWorld(t);
  const partition = partitionOf(PROJECT);
  const batch = batchOf(clock.now(), [{ at: 0, cpu: 1 }]);
  const first = await appendEntry(stream, partition, { kind: 'batch', batch });
  const subject = `svc.samples.${partition}.batch`;
  await stream.append({ stream: SAMPLES_STREAM, subject, data: Uint8Array.of(1, 9) });
  const storedMs = clock.now();
  const last = await appendEntry(stream, partition, { kind: 'batch', batch });
  const calls: unknown[] = [];
  const pipeline = new SamplePipeline({
    host,
    stream,
    clock,
    ownership: soleOwner,
    onPartitionFault: () => {},
    history: {
      append: (_, { sequence }) => calls.push(['append', sequence]),
      pass: ({ sequence }) => calls.push(['pass', sequence]),
      floor: () => 1,
      oldestFloor: () => 1,
      setFilling: () => {},
    },
    recovery: {
      refused: () => [],
      takeAgain: () => true,
      tookThrough: () => {},
      recordLost: (stretch) => calls.push(['lost', stretch]),
    },
  });
  const ending = new AbortController();
  const running = pipeline.run(ending.signal);
  for (let turn = 0; turn < 1_000 && pipeline.stored.sequence < last; turn++) {
    await clock.advance(50);
  }
  ending.abort();
  await running;
  const lost = { fromMs: storedMs - 10 * MINUTE_MS, toMs: storedMs + MINUTE_MS };
  t.same(calls, [
    ['append', first],
    ['lost', lost],
    ['pass', first + 1],
    ['append', last],
  ]);
});
