/** A sample log that was deleted and recreated: its watch secures the rows of one process. */
import { test } from 'tap';
import { appendEntry, SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { watchSampleLog } from '../../actors/telemetry/sample-log-watch.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import type { Append, Stream, StreamState } from '../../streams/platform/stream.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { BatchBuilder } from '../../streams/telemetry/samples/batch.ts';

const LOOK_MS = 2_000;

/** The watch of one process over a stream with a given state. */
function startWatch() {
  const clock = new VirtualClock(0);
  const appended: Append[] = [];
  let state = { identity: 'I', firstSequence: 1, lastSequence: 100, messages: 100 };
  let isAway = false;
  const stream = {
    async state(): Promise<StreamState> {
      if (isAway) throw new StreamUnavailable('away', 'refused');
      return state;
    },
    async append(append: Append) {
      appended.push(append);
      return { kind: 'appended' as const, sequence: ++state.lastSequence };
    },
  } as unknown as Stream;
  const events: string[] = [];
  let flushFault: Error | undefined;
  const history = {
    async flush() {
      events.push('flush');
      if (flushFault) throw flushFault;
    },
  };
  const stored = { sequence: 100 };
  const stop = new AbortController();
  const running = watchSampleLog(
    {
      stream,
      clock,
      history,
      stored,
      onMadeAgain: () => void events.push('made again'),
      onFault: (error) => void events.push(`fault: ${(error as Error).message}`),
    },
    stop.signal,
  );
  return {
    stream,
    appended,
    events,
    stored,
    look: () => clock.advance(LOOK_MS),
    set: (next: Partial<StreamState>) => {
      state = { ...state, ...next };
    },
    failFlush: (error: Error | undefined) => {
      flushFault = error;
    },
    setAway: (next: boolean) => {
      isAway = next;
    },
    async end() {
      stop.abort();
      await running;
    },
  };
}

function entry() {
  const builder = new BatchBuilder();
  builder.addTo('p', {
    vm: 'v',
    observedMs: 1,
    sequence: 1,
    boot: '',
    vcpus: 1,
    state: 0,
    stateReason: '',
    series: ['svc_vm_memory_used_bytes'],
    values: [1],
  });
  return { kind: 'batch', batch: builder.build(1) } as const;
}

const MADE_AGAIN = { firstSequence: 1_000_101, lastSequence: 1_000_100, messages: 0 };

test('DUR-31: growth and truncation of the log are no loss', async (t) => {
  const watch = startWatch();
  await watch.look();
  watch.set({ lastSequence: 200 });
  await watch.look();
  watch.set({ firstSequence: 201, messages: 0 });
  await watch.look();
  t.same(watch.events, []);
  await watch.end();
});

test('DUR-31: rows are flushed at once, and again until the floors are in the new log', async (t) => {
  const watch = startWatch();
  await watch.look();
  watch.set(MADE_AGAIN);
  await watch.look();
  t.same(watch.events, ['made again', 'flush']);
  await watch.look();
  t.same(watch.events.splice(0), ['made again', 'flush', 'flush'], 'nothing is in the new log yet');
  watch.stored.sequence = 1_000_101;
  await watch.look();
  await watch.look();
  t.same(watch.events, ['flush'], 'once more, then never again');
  await watch.end();
});

test('DUR-31: batches that were not read back are appended again', async (t) => {
  const watch = startWatch();
  await watch.look();
  await appendEntry(watch.stream, 3, entry());
  watch.set(MADE_AGAIN);
  await watch.look();
  const [first, again] = watch.appended;
  t.match(again, { stream: SAMPLES_STREAM, subject: 'svc.samples.3.batch' });
  t.same(again?.data, first?.data);
  await watch.end();
});

test('DUR-31: a failed flush and a silent stream are retried', async (t) => {
  const watch = startWatch();
  await watch.look();
  watch.failFlush(new Error('The disk is full'));
  watch.set(MADE_AGAIN);
  await watch.look();
  watch.setAway(true);
  await watch.look();
  watch.setAway(false);
  watch.failFlush(undefined);
  watch.stored.sequence = 1_000_101;
  await watch.look();
  const faults = ['fault: The disk is full', 'fault: away'];
  t.same(watch.events, ['made again', 'flush', ...faults, 'flush']);
  await watch.end();
});
