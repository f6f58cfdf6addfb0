/**
 * The range of a history chart: from the address (`?range=6h`, or `from` and `to` in Unix seconds) to
 * a request. Its end is the server's now, so that a browser's wrong clock moves nothing.
 */

/** A range in Unix seconds of the server's clock. */
export interface ChartRange {
  readonly startUnix: number;
  readonly endUnix: number;
  /** True when it ends now and moves on; false for a fixed stretch. */
  readonly isLive: boolean;
}

/** Offered ranges, by their name in the address, in seconds. */
export const rangeSeconds: Readonly<Record<string, number>> = {
  '15m': 900,
  '1h': 3_600,
  '6h': 21_600,
  '24h': 86_400,
  '2d': 172_800,
  '7d': 604_800,
};
const DEFAULT_RANGE = '1h';
/** The service keeps seven days. */
const RANGE_SECONDS_MAX = 604_800;

/** Steps that are asked for, in seconds: whole sampling intervals that people count in. */
export const STEPS_SECONDS = [30, 60, 120, 300, 600, 900, 1_800] as const;
/** More points than this are more than a screen can show. */
const POINTS_MAX = 720;

/** The smallest step by which a range has at most 720 points, both ends counted. */
export function stepFor(seconds: number): number {
  const fits = STEPS_SECONDS.find((step) => Math.floor(seconds / step) + 1 <= POINTS_MAX);
  return fits ?? STEPS_SECONDS[STEPS_SECONDS.length - 1] ?? 1_800;
}

/** The range that an address means; one that makes no sense means the last hour. */
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

/** The parameters of a range that was selected on a chart. */
export function selectedRange(startUnix: number, endUnix: number): Record<string, string> {
  return { from: String(Math.floor(startUnix)), to: String(Math.ceil(endUnix)) };
}

function secondsOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}
