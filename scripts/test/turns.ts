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

/** The lanes of a run. Each runs one file after another. */
export interface Lanes {
  readonly count: number;
  readonly next: NextTurn;
}

/** A single lane: a file starts when the previous one has ended. */
export function oneByOne(files: readonly string[]): NextTurn {
  const left = files.values();
  return async () => {
    const { value: file } = left.next();
    return file === undefined ? undefined : { file, end() {} };
  };
}

/**
 * Lanes that share the files, longest first, so that no long file delays the end of a run.
 * @param timesOf recorded times of a file
 */
export function lanesOf(
  files: readonly string[],
  timesOf: (file: string) => FileTimes | undefined,
  cores: number = availableParallelism(),
): Lanes {
  const expected = (file: string) => timesOf(file) ?? UNKNOWN;
  const left = files.toSorted((a, b) => expected(b).wallMs - expected(a).wallMs);
  const room = cores + SURPLUS;
  /**
   * Lanes without a file. The last to ask is served first, because its process has loaded the
   * program.
   */
  const waiting: ((turn: Turn | undefined) => void)[] = [];
  let used = 0;
  let running = 0;

  function take(): Turn | undefined {
    const fits = (file: string) => running === 0 || used + shareOf(expected(file)) <= room;
    const index = left.findIndex(fits);
    const [file] = index < 0 ? [] : left.splice(index, 1);
    if (file === undefined) return undefined;
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
    while (waiting.length > 0) {
      const turn = take();
      if (turn === undefined && left.length > 0) return;
      waiting.pop()?.(turn);
    }
  }

  const next: NextTurn = () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      serve();
    });
  return { count: cores + SPARE_LANES, next };
}

/** Number of cores that a file keeps busy while it runs. */
function shareOf({ wallMs, cpuMs }: FileTimes): number {
  return Math.min(SHARE_MAX, Math.max(SHARE_MIN, cpuMs / Math.max(1, wallMs)));
}
