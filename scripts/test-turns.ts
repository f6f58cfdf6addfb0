/**
 * Decides when the next test file may begin. As many lanes as the machine has cores always run one.
 * A spare lane begins one only while a part of the CPU is idle: files that mostly wait leave room
 * for others, and files that compute are not slowed down until their time is over.
 */
import { availableParallelism, cpus } from 'node:os';
import { setTimeout } from 'node:timers/promises';

/** Lanes beyond one for each core. */
const SPARE_LANES = 3;
/** So many files take longest. What they need is seen only after a while. */
const LONG_FILES = 20;
/** Time over which idle CPU is measured before one of those begins, and before another, ms. */
const MEASURED_MS = { long: 10_000, other: 3_000 } as const;
/** Share of the whole CPU that must be idle, a ratio. */
const IDLE_MIN = 0.25;

/** Gives a lane its next file, or undefined when there are none left. */
export type NextFile = () => string | undefined | Promise<string | undefined>;

/** One lane alone. */
export function oneByOne(files: readonly string[]): NextFile {
  const left = files.values();
  return () => left.next().value;
}

/**
 * The lanes among which the files are shared out, in their order.
 * @param idleShare measures for a while how idle the machine is: a share of all cores, 0 to 1
 */
export function lanesOf(
  files: readonly string[],
  { cores = availableParallelism(), idleShare = measuredIdleShare } = {},
): NextFile[] {
  let begun = 0;
  const next = () => files[begun++];
  let turn: Promise<unknown> = Promise.resolve();
  // One after another: each sees what the file before it has added.
  const nextWhenIdle = () => {
    const mine = turn.then(async () => {
      const measuredMs = () => MEASURED_MS[begun < LONG_FILES ? 'long' : 'other'];
      while (begun < files.length && (await idleShare(measuredMs())) < IDLE_MIN);
      return next();
    });
    turn = mine;
    return mine;
  };
  return [
    ...Array.from({ length: cores }, () => next),
    ...Array.from({ length: SPARE_LANES }, () => nextWhenIdle),
  ];
}

async function measuredIdleShare(forMs: number): Promise<number> {
  const before = cpuTimes();
  await setTimeout(forMs);
  const after = cpuTimes();
  return (after.idle - before.idle) / (after.all - before.all);
}

/** Of all cores since the machine's start, ms. */
function cpuTimes(): { idle: number; all: number } {
  const times = cpus().map((core) => core.times);
  const idle = times.reduce((sum, core) => sum + core.idle, 0);
  const all = times.reduce((sum, core) => sum + Object.values(core).reduce((a, b) => a + b, 0), 0);
  return { idle, all };
}
