/**
 * Hours of a large fleet as in a running service, and the merging of its day: memory of the head,
 * blocks of the thread that receives samples, and the cost of merging. The clock is virtual, the
 * threads are real. Run it alone: `node bench/history-fleet.ts [VMs, default 10000] [hours, default
 * 3]`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as yieldIfDue } from 'node:timers/promises';
import { type History, openHistory } from '../sqlite/telemetry/history/store/store.ts';
import { VirtualClock } from '../streams/platform/clock.ts';
import { FLEET_SERIES, fleetRows, fleetVm } from '../test/support/fleet.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const STEP_MS = 30_000;
const LOOK_MS = 10_000;
const START = Date.UTC(2026, 0, 1);
const PARTITION = 5;

/** Prints one table. */
export async function run({ vms = 10_000, hours = 3 } = {}): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'history-fleet-'));
  try {
    console.table([await measure(folder, vms, hours)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(folder: string, vms: number, hours: number) {
  const clock = new VirtualClock(START);
  const history = openHistory({ folder, clock, logIdentity: 'bench' });
  const passed = await passHours(history, clock, { vms, hours });
  const { flushFailures, refused } = history.stats();
  if (flushFailures + refused > 0) throw new Error('Rows could not be written to the disk');
  const before = await history.stored();
  const merging = await mergeAll(history);
  const after = await history.stored();
  await history.close();
  return {
    VMs: vms,
    hours,
    'M samples': round((vms * hours * 120 * FLEET_SERIES.length) / 1e6),
    ...passed,
    ...merging,
    'chunks before': before.chunks,
    'chunks after': after.chunks,
    'B/sample before': round(before.chunkBytes / before.rows / FLEET_SERIES.length),
    'B/sample after': round(after.chunkBytes / after.rows / FLEET_SERIES.length),
  };
}

/**
 * Appends the fleet's reports; due rows are flushed as in a service, a tenth of the fleet per
 * check.
 */
async function passHours(
  history: History,
  clock: VirtualClock,
  { vms, hours }: { readonly vms: number; readonly hours: number },
) {
  const range = { fromMs: START, toMs: START + hours * HOUR, stepMs: STEP_MS };
  let [sequence, headBytes, longestMs, appendMs] = [0, 0, 0, 0];
  for (const batch of fleetRows({ vms, ...range, seed: 5 })) {
    const begin = performance.now();
    history.append(batch, { partition: PARTITION, sequence: ++sequence });
    const ms = performance.now() - begin;
    appendMs += ms;
    longestMs = Math.max(longestMs, ms);
    for (let passedMs = 0; passedMs < STEP_MS; passedMs += LOOK_MS) {
      await clock.advance(LOOK_MS);
      // Waits for the writing thread: in a service these ten seconds are real.
      for (let i = 0; i < 8; i++) await history.stored();
      for (let i = 0; i < 8; i++) await history.retain(0);
    }
    headBytes = Math.max(headBytes, history.stats().headBytes.used);
  }
  await history.flush();
  return {
    'head, max MB': round(headBytes / 1e6),
    'resident, MB': round(process.memoryUsage().rss / 1e6),
    'append of all, ms': round(appendMs / sequence),
    'longest append, ms': round(longestMs),
    'in chunks by then': history.stats().flushedVms,
  };
}

/** Merges the day like the background work, minute after minute, beside a reader. */
async function mergeAll(history: History) {
  const start = performance.now();
  let [isOver, longest, reads, readMs] = [false, 0, 0, 0];
  const merging = (async () => {
    while ((await history.retain(START + 2 * DAY)).more);
    isOver = true;
  })();
  for (let last = performance.now(); !isOver; ) {
    await yieldIfDue();
    const now = performance.now();
    longest = Math.max(longest, now - last);
    if (reads < (now - start) / 200) {
      const request = {
        project: 'demo',
        vm: fleetVm(reads % 100),
        fromMs: START,
        toMs: START + DAY,
      };
      const requested = performance.now();
      await history.read(request);
      readMs += performance.now() - requested;
      reads++;
    }
    last = performance.now();
  }
  await merging;
  return {
    'merged, s': round((performance.now() - start) / 1000),
    'block while merging, ms': round(longest),
    'read meanwhile, ms': round(readMs / Math.max(1, reads)),
  };
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}

if (import.meta.main) {
  const [vms = 10_000, hours = 3] = process.argv.slice(2).map(Number);
  await run({ vms, hours });
}
