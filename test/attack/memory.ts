/** True if resident memory is flat: leaked request state grows with requests, caches do not. */

export interface Reading {
  readonly atMs: number;
  readonly bytes: number;
}

export interface MemoryVerdict {
  readonly why: string | undefined;
  /** Medians of the two halves and the growth, as readable text. */
  readonly figure: string;
}

/** Minimum number of requests; fewer only fill caches and show no leak. */
const REQUESTS_MIN = 300_000;
/**
 * Growth above both bounds fails. 10 %: the heap varies by that much between collections. 32 MiB:
 * 64 bytes for each of the half million requests in the second half of the long run, less than any
 * leaked object.
 */
const GROWTH_SHARE_MAX = 0.1;
const GROWTH_BYTES_MAX = 32 * 2 ** 20;

/** Compares the first and the last fifth of the second half, by their medians. */
export function memoryVerdict(readings: readonly Reading[], requests: number): MemoryVerdict {
  const half = Math.floor(readings.length / 2);
  const [first, second] = [readings.slice(0, half), readings.slice(half)];
  const fifth = Math.max(1, Math.floor(second.length / 5));
  const from = median(second.slice(0, fifth));
  const to = median(second.slice(-fifth));
  const growth = to - from;
  const isJudged = requests >= REQUESTS_MIN && second.length >= 10;
  const grows = growth > GROWTH_BYTES_MAX && growth > GROWTH_SHARE_MAX * from;
  const figure =
    `resident memory: median ${mib(median(first))} in the first half, ${mib(median(second))} in the second, ` +
    `which grew from ${mib(from)} to ${mib(to)}${isJudged ? '' : ' (too few requests to judge)'}`;
  return { why: isJudged && grows ? figure : undefined, figure };
}

function median(readings: readonly Reading[]): number {
  const sorted = readings.map(({ bytes }) => bytes).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
