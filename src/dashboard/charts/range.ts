/**
 * The range of a history chart, parsed from the address (`?range=6h`, or `from` and `to` in Unix
 * seconds). Its end is the server's current time, so a wrong browser clock does not shift it.
 */

/** A range in Unix seconds of the server's clock. */
export interface ChartRange {
  readonly startUnix: number;
  readonly endUnix: number;
  /** True if the range ends now and keeps moving; false for a fixed range. */
  readonly isLive: boolean;
}

/** Available ranges, seconds, by their name in the address. */
export const rangeSeconds: Readonly<Record<string, number>> = {
  '15m': 900,
  '1h': 3_600,
  '6h': 21_600,
  '24h': 86_400,
  '2d': 172_800,
  '7d': 604_800,
};
const DEFAULT_RANGE = '1h';
/** The service stores seven days. */
const RANGE_SECONDS_MAX = 604_800;

/** Possible steps, seconds: round multiples of the sampling interval. */
export const STEPS_SECONDS = [30, 60, 120, 300, 600, 900, 1_800] as const;
/** A screen cannot show more points than this. */
const POINTS_MAX = 720;

/** The smallest step that yields at most 720 points, including both ends. */
export function stepFor(seconds: number): number {
  const fits = STEPS_SECONDS.find((step) => Math.floor(seconds / step) + 1 <= POINTS_MAX);
  return fits ?? STEPS_SECONDS[STEPS_SECONDS.length - 1] ?? 1_800;
}

/** Parses the range from an address. Invalid values give the last hour. */
export function parseRange(query: URLSearchParams, nowUnix: number): ChartRange {
  const startUnix = secondsOf(query.get('from'));
  const endUnix = secondsOf(query.get('to'));
  if (startUnix !== undefined && endUnix !== undefined && startUnix < endUnix) {
    const start = Math.max(startUnix, endUnix - RANGE_SECONDS_MAX);
    return { startUnix: start, endUnix, isLive: false };
  }
  const named = rangeSeconds[query.get('range') ?? DEFAULT_RANGE];
  const seconds = named ?? rangeSeconds[DEFAULT_RANGE] ?? 3_600;
  const now = Math.floor(nowUnix);
  return { startUnix: now - seconds, endUnix: now, isLive: true };
}

/** Address parameters of a range selected on a chart. */
export function selectedRange(startUnix: number, endUnix: number): Record<string, string> {
  return { from: String(Math.floor(startUnix)), to: String(Math.ceil(endUnix)) };
}

function secondsOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}
