/**
 * A process that merges days and drops old ones is killed at random points, life after life, while
 * late rows reopen merged days. After each kill, everything within retention is read exactly once,
 * and the next life finishes the work of the last one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import type { History } from '../../../../sqlite/telemetry/history/store/store.ts';
import { VirtualClock } from '../../../../streams/platform/clock.ts';
import { fraction, seededRandom } from '../../../../streams/platform/random.ts';
import {
  batchOf,
  DAY,
  everything,
  HOUR,
  openStore,
  PARTITION,
  START,
} from '../../../support/history-from-log.ts';

const LIVES = 8;
const VMS = ['a', 'b', 'c'];
const keeper = fileURLToPath(new URL('../../../support/history-keeper.ts', import.meta.url));

/** Times of each VM's accepted rows, ms after the start. */
const times = new Map(VMS.map((vm) => [vm, new Set<number>()]));
let sequence = 0;

function valueAt(vm: string, at: number): number {
  return VMS.indexOf(vm) + at / 1000;
}

function append(history: History, ats: readonly number[]): void {
  for (const at of ats) {
    history.append(batchOf(...VMS.map((vm) => ({ at, vm, values: { x: valueAt(vm, at) } }))), {
      partition: PARTITION,
      sequence: ++sequence,
    });
    for (const vm of VMS) times.get(vm)?.add(at);
  }
}

/** Runs a keeper for a while and kills it; returns whether it had not finished. */
async function keepAndKill(folder: string, nowMs: number, afterMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [keeper, folder, String(nowMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exited]);
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill('SIGKILL');
  const [, signal] = await exited;
  return signal === 'SIGKILL';
}

/** The problem of a VM's readings; undefined if they are right. */
function faultOf(history: History, vm: string, nowMs: number): string | undefined {
  const { timesMs, series, conflicts } = history.readNow({ ...everything, vm });
  const wanted = [...(times.get(vm) ?? [])]
    .filter((at) => START + at >= nowMs - 7 * DAY)
    .sort((a, b) => a - b);
  if (conflicts > 0) return `${conflicts} rows of ${vm} contradict each other`;
  if (timesMs.length !== wanted.length) {
    return `${vm} has ${timesMs.length} rows instead of ${wanted.length}`;
  }
  const column = series.get('x');
  const wrong = wanted.findIndex(
    (at, i) => timesMs[i] !== START + at || column?.[i] !== valueAt(vm, at),
  );
  return wrong < 0 ? undefined : `${vm} at ${wanted[wrong]} is ${column?.[wrong]}`;
}

test(`DUR-16: ${LIVES} kills during merges and drops lose and double nothing`, async (t) => {
  const folder = t.testdir();
  const seed = 20_261_121;
  const random = seededRandom(seed);
  const first = openStore({ folder });
  // Eight days of rows, five chunks each, as flushes at other times of the day would leave them.
  for (let at = -8 * DAY; at < 0; at += 5 * HOUR) {
    const hours = Array.from({ length: 30 }, (_, i) => at + i * (HOUR / 6));
    append(first, hours);
    await first.flush();
  }
  await first.close();
  const seen = { killed: 0, waiting: 0, expired: 0 };
  for (let life = 1; life <= LIVES; life++) {
    const nowMs = START + life * 12 * HOUR;
    if (await keepAndKill(folder, nowMs, fraction(random) * 35)) seen.killed++;
    const history = openStore({ folder, clock: new VirtualClock(nowMs) });
    t.same((await history.check()).damaged, [], `life ${life}: every chunk is whole`);
    const { days, oldestMs } = await history.stored();
    if (days.some((day) => day.startMs + DAY < nowMs - 2 * HOUR && day.chunks > day.vms)) {
      seen.waiting++;
    }
    if ((oldestMs ?? nowMs) < nowMs - 8 * DAY) seen.expired++;
    for (const vm of VMS) t.equal(faultOf(history, vm, nowMs), undefined, `life ${life}: ${vm}`);
    // Late rows: one for every day, and the hours since the last life.
    append(
      history,
      Array.from({ length: 7 }, (_, day) => life * 12 * HOUR - day * DAY - 1000 * life),
    );
    await history.flush();
    for (const vm of VMS)
      t.equal(faultOf(history, vm, nowMs), undefined, `life ${life}: late ${vm}`);
    await history.close();
  }
  t.ok(seen.killed > 2, `${seen.killed} were killed at work (seed ${seed})`);
  t.ok(seen.waiting > 0, `${seen.waiting} left days unmerged, ${seen.expired} left days to drop`);
  const nowMs = START + (LIVES + 4) * 12 * HOUR;
  const history = openStore({ folder, clock: new VirtualClock(nowMs) });
  await history.retain(nowMs);
  t.equal(history.stats().waitingDays, 0, 'the next life finishes it');
  const { days, oldestMs } = await history.stored();
  t.ok((oldestMs ?? 0) >= nowMs - 8 * DAY, 'it drops expired days');
  t.same(
    days.filter((day) => day.chunks > day.vms),
    [],
    'one chunk per VM and day',
  );
  for (const vm of VMS) t.equal(faultOf(history, vm, nowMs), undefined, vm);
  await history.close();
});
