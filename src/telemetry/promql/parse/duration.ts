/** Durations as Prometheus writes them: `1h30m`, largest unit first, each at most once. */
import { goQuote } from './go-quote.ts';

const UNITS_MS: readonly (readonly [string, number])[] = [
  ['y', 365 * 86_400_000],
  ['w', 7 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];
/** Nanoseconds in 63 bits, as of Go. */
const DURATION_MS_MAX = 2 ** 63 / 1e6;

/** Milliseconds, or what is wrong with it in the words of prometheus/common's `ParseDuration`. */
export function parseDuration(text: string): number | { readonly fault: string } {
  if (!/^\d/.test(text)) return { fault: `not a valid duration string: ${goQuote(text)}` };
  let ms = 0;
  let last = -1;
  for (const [, count, unit] of text.matchAll(/(\d+)(\D+)/g)) {
    const index = UNITS_MS.findIndex(([name]) => name === unit);
    const unitMs = UNITS_MS[index]?.[1];
    if (unitMs === undefined) {
      return { fault: `unknown unit ${goQuote(unit ?? '')} in duration ${goQuote(text)}` };
    }
    if (index <= last) return { fault: `not a valid duration string: ${goQuote(text)}` };
    last = index;
    ms += Number(count) * unitMs;
    if (ms >= DURATION_MS_MAX) return { fault: 'duration out of range' };
  }
  return ms;
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
