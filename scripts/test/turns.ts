/**
 * Decides when the next test file may start. Files run side by side while their shares of the CPU
 * fit into the machine. A share comes from the recorded times (`times.ts`), so no idle time is
 * measured: a file that mostly waits leaves room for others, and files that compute do not slow
 * each other down.
 */
import { availableParallelism } from 'node:os';
import type { FileTimes } from './times.ts';

/** Maximum files that run at once, in addition to one per core. */
const SPARE_LANES = 2;
/** A smaller share would let too many files start at once, in cores. */
const SHARE_MIN = 0.1;
/** A larger share would make a file wait for the whole machine, in cores. */
const SHARE_MAX = 1;
/** Part of a core that may be promised twice, because no file uses its share all the time. */
const SURPLUS = 0.25;
/** Assumed for a file without a record, which is cheap or new. */
const UNKNOWN: FileTimes = { wallMs: 500, cpuMs: 500 };

/** One file that a lane may run now; `end` releases its share of the CPU. */
export interface Turn {
  readonly file: string;
  end(): void;
}

/** Returns the next file of a lane, or undefined if no file is left. */
export type NextTurn = () => Promise<Turn | undefined>;

/** Facts that decide about the lane of a file. */
export interface LanesOptions {
  /** Recorded times of a file. */
  readonly timesOf: (file: string) => FileTimes | undefined;
  /** True if the file joins the service of its process, so that all such files run in one lane. */
  readonly isJoined?: (file: string) => boolean;
  readonly cores?: number;
}

/** A single lane: a file starts when the previous one has ended. */
export function oneByOne(files: readonly string[]): NextTurn {
  const left = files.values();
  return async () => {
    const { value: file } = left.next();
    return file === undefined ? undefined : { file, end() {} };
  };
}

/** A lane that waits for its next file. */
interface Waiting {
  readonly lane: object;
  readonly take: (turn: Turn | undefined) => void;
}

/**
 * Lanes that share the files, longest first, so that no long file delays the end of a run. The lane
 * that runs the first joined file runs all of them, before others.
 */
export function lanesOf(files: readonly string[], options: LanesOptions): NextTurn[] {
  const { timesOf, isJoined = () => false, cores = availableParallelism() } = options;
  const expected = (file: string) => timesOf(file) ?? UNKNOWN;
  const byLength = files.toSorted((a, b) => expected(b).wallMs - expected(a).wallMs);
  const joined = byLength.filter(isJoined);
  const left = byLength.filter((file) => !isJoined(file));
  const room = cores + SURPLUS;
  /**
   * Lanes without a file. The lane that asked last is served first, because its process has loaded
   * the program.
   */
  const waiting: Waiting[] = [];
  let joinedLane: object | undefined;
  let used = 0;
  let running = 0;

  function take(lane: object): Turn | undefined {
    const fits = (file: string) => running === 0 || used + shareOf(expected(file)) <= room;
    const mayJoin = joinedLane === undefined || joinedLane === lane;
    const file = (mayJoin ? removeFirst(joined, fits) : undefined) ?? removeFirst(left, fits);
    if (file === undefined) return undefined;
    if (isJoined(file)) joinedLane = lane;
    const share = shareOf(expected(file));
    used += share;
    running++;
    const end = () => {
      used -= share;
      running--;
      // The lane itself asks again before this runs.
      setImmediate(serve);
    };
    return { file, end };
  }

  function serve(): void {
    for (const asking of waiting.toReversed()) {
      const turn = take(asking.lane);
      const mayJoin = joinedLane === undefined || joinedLane === asking.lane;
      const isOver = left.length === 0 && (joined.length === 0 || !mayJoin);
      if (turn === undefined && !isOver) continue;
      waiting.splice(waiting.indexOf(asking), 1);
      asking.take(turn);
    }
  }

  return Array.from({ length: cores + SPARE_LANES }, () => {
    const lane = {};
    return () =>
      new Promise((resolve) => {
        waiting.push({ lane, take: resolve });
        serve();
      });
  });
}

/** Removes and returns the first file that fits. */
function removeFirst(files: string[], fits: (file: string) => boolean): string | undefined {
  const index = files.findIndex(fits);
  return index < 0 ? undefined : files.splice(index, 1)[0];
}

/** Number of cores that a file keeps busy while it runs. */
function shareOf({ wallMs, cpuMs }: FileTimes): number {
  return Math.min(SHARE_MAX, Math.max(SHARE_MIN, cpuMs / Math.max(1, wallMs)));
}
