/**
 * One budget for seeds and tries. A test gives the number of a full run, as in the gate; `npm test`
 * makes a share of them, with the same seeds. `SVC_TEST_SEEDS` is that share in percent: 100 for
 * all.
 */

/** Share of a run without the setting, percent. */
const SHARE_PERCENT = 6;
/** A property with fewer tries shows nothing. */
const TRIES_MIN = 10;

/** A run with few tries may meet a case less often than its share suggests. */
const SLACK = 0.5;

/**
 * Number of tries of this run, out of `full`: at least `least`, and at most `full`. Throws if
 * `SVC_TEST_SEEDS` is not a percentage.
 */
export function tries(full: number, least: number = TRIES_MIN): number {
  return Math.min(full, Math.max(least, Math.ceil((full * sharePercent()) / 100)));
}

/**
 * Minimum number of times that this run has to meet a case that a full run meets `full` times. A
 * property that never meets its case shows nothing.
 */
export function occurrences(full: number): number {
  const percent = sharePercent();
  return percent === 100 ? full : Math.floor((full * percent * SLACK) / 100);
}

/**
 * Cases of this run: at least `least`, evenly spread over `all`. For cases that are alike; a full
 * run has them all.
 */
export function sampleOf<T>(all: readonly T[], least: number): readonly T[] {
  const count = tries(all.length, least);
  return Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)] as T);
}

/** True if this run makes all tries, as the gate does. */
export function isFullRun(): boolean {
  return sharePercent() === 100;
}

function sharePercent(): number {
  const set = process.env.SVC_TEST_SEEDS;
  const percent = set === undefined ? SHARE_PERCENT : Number(set);
  if (!(percent > 0 && percent <= 100)) {
    throw new Error(`SVC_TEST_SEEDS is ${set}: set a percentage, above 0 and up to 100`);
  }
  return percent;
}
