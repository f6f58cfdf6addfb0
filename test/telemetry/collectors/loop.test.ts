/** When a source is read, and the fate of its rows, on a virtual clock; and child processes. */
import { readFile } from 'node:fs/promises';
import { test } from 'tap';
import type {
  ObservedRow,
  Reading,
  RowSink,
  Source,
} from '../../../actors/telemetry/collectors/collector.ts';
import { runCommand } from '../../../actors/telemetry/collectors/command.ts';
import {
  type Collector,
  type CollectorFault,
  type CollectorOptions,
  delayToTick,
  phaseOf,
  startCollector,
} from '../../../actors/telemetry/collectors/loop.ts';
import { systemClock, VirtualClock } from '../../../streams/platform/clock.ts';

const START = 1_700_000_010_000;
const INTERVAL = 30_000;
const row = (observedMs: number): ObservedRow => ({
  vm: 'a',
  displayName: 'a',
  observedMs,
  bootId: '',
  sequence: observedMs,
  state: 'RUNNING',
  stateReason: '',
  values: [],
});

/** A world of one collector: readings, arrived rows, reports. */
function world(read: (clock: VirtualClock) => Promise<Reading>, sink?: RowSink) {
  const clock = new VirtualClock(START);
  const arrived: number[] = [];
  const faults: CollectorFault[] = [];
  const state = { closed: 0, aborted: false };
  const source: Source = {
    name: 'test',
    read: (signal) => {
      signal.addEventListener('abort', () => {
        state.aborted = true;
      });
      return read(clock);
    },
    close: async () => void state.closed++,
  };
  const options: CollectorOptions = {
    project: 'demo',
    source,
    sink: sink ?? {
      observe: async (_, rows) => void arrived.push(...rows.map((each) => each.observedMs - START)),
    },
    clock,
    intervalMs: INTERVAL,
    onFault: (fault) => faults.push(fault),
  };
  return { clock, arrived, faults, state, options };
}

const sleep = (clock: VirtualClock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.wakeAfter(ms, resolve));

/** Starts it, and runs the first round as far as possible before time advances. */
async function begin(options: CollectorOptions): Promise<Collector> {
  const collector = startCollector(options);
  await new Promise<void>((resolve) => void setImmediate(resolve));
  return collector;
}

test('SRC-16: a reading that cannot be stored is left out, and hides no fault', async (t) => {
  const long = `svc_vm_filesystem_used_bytes{mountpoint="/${'m'.repeat(220)}"}`;
  const { clock, faults, options } = world(async (c) => {
    const bad = { ...row(c.now()), vm: 'b', values: [[long, 1] as const] };
    const isLate = c.now() > START + 60_000;
    const failed = { reason: 'TIMED_OUT', message: 'no answer' } as const;
    return { rows: [row(c.now()), bad], faults: isLate ? [failed] : [] };
  });
  const written: string[] = [];
  const collector = await begin({
    ...options,
    projectOf: ({ vm }) => (vm === 'b' ? 'shop' : 'demo'),
    sink: {
      observe: async (project, rows) => {
        for (const { vm, values, leftOut } of rows) {
          written.push(`${project} ${vm} ${values.length} ${leftOut?.length ?? '-'}`);
        }
      },
    },
  });
  t.same(written, ['demo a 0 -', 'shop b 0 1'], 'both rows, each in its project');
  await clock.advance(95_000);
  const { faults: now, notStorable, leftOutReadings } = collector.status();
  t.match(now, [{ reason: 'TIMED_OUT' }]);
  t.match(notStorable, [{ reason: 'NOT_STORABLE', vm: 'b', message: /221 characters/ }]);
  t.equal(leftOutReadings, written.filter((line) => line.endsWith('1')).length);
  const named = faults.filter(({ reason }) => reason === 'NOT_STORABLE');
  t.equal(named.filter(({ times }) => times === 1).length, 1, 'new once, for the log');
  await collector.stop();
});

test('ticks are at multiples of the interval plus the phase of the source', async (t) => {
  const { clock, arrived, options } = world(async (c) => ({ rows: [row(c.now())], faults: [] }));
  const collector = await begin(options);
  await clock.advance(95_000);
  await collector.stop();
  const [first, ...ticks] = arrived;
  t.equal(first, 0, 'the first round is at the start');
  t.equal(ticks.length, 3);
  const phase = phaseOf('test', INTERVAL);
  t.ok(ticks.every((tick) => (START + tick - phase) % INTERVAL === 0));
  t.not(phaseOf('host', INTERVAL), phaseOf('libvirt', INTERVAL));
  t.equal(delayToTick(1_000_000, 1_000, 0), 1_000);
  t.equal(delayToTick(1_000_400, 1_000, 500), 100);
  t.equal(delayToTick(1_000_499, 1_000, 500), 1_001, 'woken slightly early: this was the tick');
  t.equal(collector.status().skippedTicks, 0);
});

test('a round longer than the interval overlaps with no other, and missed ticks are skipped', async (t) => {
  let running = 0;
  let most = 0;
  const { clock, arrived, options } = world(async (c) => {
    most = Math.max(most, ++running);
    const at = c.now();
    await sleep(c, 70_000);
    running -= 1;
    return { rows: [row(at)], faults: [] };
  });
  const collector = await begin(options);
  await clock.advance(200_000);
  t.equal(most, 1);
  t.equal(arrived.length, 2, 'no rows were made up for the skipped ticks');
  t.equal(collector.status().skippedTicks, 4);
  const stopping = collector.stop();
  await clock.advance(70_000);
  await stopping;
});

test('a fault is reported each time with its start and count, and ends with a good round', async (t) => {
  let bad = true;
  const { clock, faults, options } = world(async () => {
    if (bad) throw new Error('no such luck');
    return { rows: [], faults: [] };
  });
  const collector = await begin(options);
  await clock.advance(60_000);
  t.match(faults.slice(0, 2), [
    { source: 'test', reason: 'SOURCE_FAILED', sinceMs: START, times: 1 },
    { sinceMs: START, times: 2, message: /no such luck/ },
  ]);
  t.match(collector.status().faults, [{ reason: 'SOURCE_FAILED', sinceMs: START }]);
  bad = false;
  await clock.advance(30_000);
  t.same(collector.status().faults, []);
  const reported = faults.length;
  bad = true;
  await clock.advance(30_000);
  t.match(faults[reported], { times: 1 }, 'a new fault restarts the count');
  t.equal(collector.status().faultCount, faults.length);
  await collector.stop();
});

test('MEAS-05: rows that the sink refuses keep their times and arrive later, in order', async (t) => {
  const arrived: number[] = [];
  let up = false;
  const { clock, faults, options } = world(async (c) => ({ rows: [row(c.now())], faults: [] }), {
    observe: async (project, rows) => {
      if (!up) throw new Error('stream is down');
      t.equal(project, 'demo');
      arrived.push(...rows.map((each) => each.observedMs));
    },
  });
  const collector = await begin(options);
  await clock.advance(70_000);
  t.match(collector.status(), { waitingRows: 3, deliveredRows: 0 });
  t.match(faults.at(-1), { reason: 'SINK_FAILED', times: 3, sinceMs: START });
  up = true;
  await clock.advance(30_000);
  t.equal(arrived.length, 4);
  t.same(arrived, arrived.toSorted());
  t.equal(arrived[0], START);
  t.match(collector.status(), { waitingRows: 0, deliveredRows: 4, faults: [] });
  await collector.stop();
});

test('the queue is bounded: the oldest rows are discarded, counted and reported', async (t) => {
  const { clock, faults, options } = world(async (c) => ({ rows: [row(c.now())], faults: [] }), {
    observe: () => Promise.reject(new Error('down')),
  });
  const collector = await begin(options);
  await clock.advance(30 * INTERVAL);
  t.match(collector.status(), { waitingRows: 20, droppedRows: 11 });
  t.ok(faults.some((fault) => fault.reason === 'ROWS_DROPPED'));
  await collector.stop();
});

test('a sink that never answers blocks neither the rounds nor the stop', async (t) => {
  let calls = 0;
  const { clock, options } = world(async (c) => ({ rows: [row(c.now())], faults: [] }), {
    observe: () => {
      calls += 1;
      return new Promise<void>(() => {});
    },
  });
  const collector = await begin(options);
  await clock.advance(5 * INTERVAL);
  t.equal(collector.status().rounds, 6);
  t.equal(calls, 1, 'one call at a time');
  const stopping = collector.stop();
  await clock.advance(10_000);
  await stopping;
});

test('stop ends the current round, delivers waiting rows and closes the source once', async (t) => {
  const stop = new AbortController();
  const { clock, arrived, faults, state, options } = world(async (c) => {
    await sleep(c, 1_000);
    return { rows: [row(c.now())], faults: [{ reason: 'TIMED_OUT', message: 'cut off' }] };
  });
  const collector = startCollector({ ...options, signal: stop.signal });
  stop.abort();
  await clock.advance(1_000);
  await Promise.all([collector.stop(), collector.stop()]);
  t.ok(state.aborted);
  t.same(arrived, [1_000]);
  t.same(faults, [], 'a round that we cut off is not a fault');
  t.equal(state.closed, 1);
  await clock.advance(100_000);
  t.equal(collector.status().rounds, 1);
});

test('a command’s answer, absence, timeout and excessive output are distinguished', async (t) => {
  const run = (script: string, options = {}) =>
    runCommand({ file: 'sh', args: ['-c', script], deadlineMs: 5_000, ...options }, systemClock);
  t.match(await run('echo out; echo err >&2; exit 3'), {
    kind: 'exited',
    code: 3,
    stdout: 'out\n',
    stderr: 'err\n',
  });
  t.match(await runCommand({ file: 'no-such-program', args: [], deadlineMs: 1_000 }, systemClock), {
    kind: 'missing',
  });
  t.match(await run('yes', { outputBytesMax: 1_000 }), { kind: 'killed', because: 'output' });
  t.match(await run('kill -9 $$'), { kind: 'failed', error: /SIGKILL/ });
  const stop = new AbortController();
  const aborted = run('sleep 30', { signal: stop.signal });
  stop.abort();
  t.match(await aborted, { kind: 'killed', because: 'aborted' });
});

test('a command that the kernel refuses to start fails, and rejects nothing', async (t) => {
  // Longer than Linux accepts for one argument: spawn itself throws.
  const args = ['x'.repeat(1_000_000)];
  const outcome = await runCommand({ file: 'true', args, deadlineMs: 10_000 }, systemClock);
  await outcome.gone;
  t.match(outcome, { kind: 'failed', error: /E2BIG/, stdout: '' });
});

test('at the deadline a command ends with all its children, even unresponsive ones', async (t) => {
  const outcome = await runCommand(
    {
      file: 'sh',
      args: ['-c', 'trap "" TERM; (trap "" TERM; while :; do sleep 1; done) & echo $$ $!; wait'],
      deadlineMs: 200,
    },
    systemClock,
  );
  await outcome.gone;
  t.match(outcome, { kind: 'killed', because: 'deadline' });
  for (const pid of outcome.stdout.trim().split(' ')) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone');
    t.match(stat, /^gone$|\) Z /, `process ${pid}`);
  }
});
