/** Durations as Prometheus writes them: `1h30m`, largest unit first, each at most once. */

const UNITS_MS: readonly (readonly [string, number])[] = [
  ['y', 365 * 86_400_000],
  ['w', 7 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];
const DURATION = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
/** Nanoseconds in 63 bits, as of Go. */
const DURATION_MS_MAX = 2 ** 63 / 1e6;

/** Milliseconds, or what is wrong with it. */
export function parseDuration(text: string): number | 'invalid' | 'out of range' {
  const counts = DURATION.exec(text)?.slice(1);
  if (counts === undefined) return 'invalid';
  let ms = 0;
  for (const [i, [, unitMs]] of UNITS_MS.entries()) ms += Number(counts[i] ?? 0) * unitMs;
  return ms >= DURATION_MS_MAX ? 'out of range' : ms;
}

/**
 * Shortest form without rounding (`90m` is `1h30m`, `7d` is `1w`, `8d` stays `8d`), as
 * `model.Duration.String` of prometheus/common. `ms` is whole and not negative.
 */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const [unit, unitMs] of UNITS_MS) {
    const isLarge = unit === 'y' || unit === 'w';
    if (isLarge && rest % unitMs !== 0) continue;
    const count = Math.floor(rest / unitMs);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * unitMs;
  }
  return text;
}
