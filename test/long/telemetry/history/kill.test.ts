/**
 * A process that constantly flushes and merges is killed at random points, again and again on the
 * same files. After each kill, everything below the floor must be in sound chunks, each row once.
 * In the end, with the rest read from the log, nothing is missing or duplicated.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { type History, openHistory } from '../../../../sqlite/telemetry/history/store/store.ts';
import { systemClock } from '../../../../streams/platform/clock.ts';
import { fraction, seededRandom } from '../../../../streams/platform/random.ts';
import {
  LOG_PARTITION,
  LOG_VMS,
  type LogVm,
  logBatch,
  logTimes,
  logValues,
} from '../../../support/history-log.ts';

const KILLS = 20;
const LAST = 4000;
const writer = fileURLToPath(new URL('../../../support/history-writer.ts', import.meta.url));

function open(folder: string): History {
  const options = { folder, clock: systemClock, logIdentity: 'log', background: false, readers: 1 };
  return openHistory({ ...options, retentionMs: 1e12 });
}

/** Runs the writer for a while and kills it; resolves when it has exited. */
async function runAndKill(folder: string, afterMs: number): Promise<void> {
  const child = spawn(process.execPath, [writer, folder, String(LAST)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exited]);
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill('SIGKILL');
  await exited;
}

/** Times of a VM in history; every row is also compared with the log. */
function storedTimes(history: History, vm: LogVm): number[] {
  const request = { project: 'demo', vm, fromMs: 0, toMs: 8e15 };
  const { timesMs, series, conflicts } = history.readNow(request);
  if (conflicts > 0) throw new Error(`${conflicts} rows of ${vm} contradict each other`);
  for (const [i, timeMs] of timesMs.entries()) {
    const values = logValues(vm, timeMs);
    for (const [key, column] of series) {
      const value = column[i] ?? Number.NaN;
      const wanted = values[key] ?? Number.NaN;
      if (!Object.is(value, wanted)) throw new Error(`${vm} ${key} at ${timeMs} is ${value}`);
    }
  }
  return [...timesMs];
}

test(`DUR-16: nothing below the floor is missing after each of ${KILLS} kills during flushes`, async (t) => {
  const folder = t.testdir();
  const seed = 20_260_105;
  const random = seededRandom(seed);
  let floor = 1;
  for (let kill = 1; kill <= KILLS; kill++) {
    await runAndKill(folder, fraction(random) * 120);
    const history = open(folder);
    const { damaged } = await history.check();
    t.same(damaged, [], `kill ${kill}: every chunk is whole`);
    t.ok(history.floor(LOG_PARTITION) >= floor, `kill ${kill}: the floor has not moved back`);
    floor = history.floor(LOG_PARTITION);
    for (const vm of LOG_VMS) {
      const stored = new Set(storedTimes(history, vm));
      const missing = logTimes(vm, floor - 1).filter((time) => !stored.has(time));
      t.same(missing, [], `kill ${kill}: rows of ${vm} below ${floor}`);
    }
    await history.close();
  }
  t.ok(floor > KILLS, `the writer reached ${floor} (seed ${seed})`);
  const history = open(folder);
  const last = floor + 500;
  for (let sequence = history.floor(LOG_PARTITION); sequence <= last; sequence++) {
    history.append(logBatch(sequence), { partition: LOG_PARTITION, sequence });
  }
  for (const vm of LOG_VMS) t.same(storedTimes(history, vm), logTimes(vm, last), vm);
  await history.flush();
  for (const vm of LOG_VMS) t.same(storedTimes(history, vm), logTimes(vm, last), `${vm}, flushed`);
  t.equal(history.stats().conflict, 0);
  await history.close();
});
