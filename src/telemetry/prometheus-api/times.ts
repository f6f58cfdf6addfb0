/**
 * Times and durations as parameters write them: seconds with decimals, RFC 3339, or `1m30s`
 * (Prometheus, `web/api/v1`). Nothing of an unlikely size is refused: dashboards ask for 9999 hours
 * and for milliseconds taken for seconds; it is clamped to what a calendar can hold.
 */

/** Earliest and latest time, Unix ms: what JavaScript's calendar can hold. */
export const TIME_MS_MAX = 8_640_000_000_000_000;

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;
const DURATION = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
/** Of the groups of `DURATION`, ms. */
const UNIT_MS: readonly number[] = [
  365 * 86_400_000,
  7 * 86_400_000,
  86_400_000,
  3_600_000,
  60_000,
  1000,
  1,
];
/** Longest duration: Go's, about 292 years, in ms. */
const DURATION_MS_MAX = 2 ** 63 / 1e6;

/** Unix ms, whole, within `TIME_MS_MAX` of the epoch; undefined when it is not a time. */
export function parseTimeMs(text: string): number | undefined {
  if (DECIMAL.test(text)) return clampTimeMs(Math.round(Number(text) * 1000));
  const [, date = '', time = '', fraction = '', zone = ''] = RFC_3339.exec(text) ?? [];
  // A day that its month does not have would be taken for one of the next month.
  if (date === '' || !isDate(date)) return undefined;
  const timeMs = Date.parse(`${date}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

function isDate(text: string): boolean {
  const timeMs = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(timeMs) && new Date(timeMs).toISOString().startsWith(text);
}

function clampTimeMs(timeMs: number): number {
  return Math.max(-TIME_MS_MAX, Math.min(TIME_MS_MAX, timeMs));
}

/** ms, whole, possibly negative; undefined when it is not a duration or a longer one than 292 years. */
export function parseDurationMs(text: string): number | undefined {
  const durationMs = DECIMAL.test(text) ? Math.trunc(Number(text) * 1000) : unitsMs(text);
  if (durationMs === undefined || Math.abs(durationMs) > DURATION_MS_MAX) return undefined;
  return durationMs;
}

function unitsMs(text: string): number | undefined {
  const parts = text === '' ? null : DURATION.exec(text);
  if (parts === null) return undefined;
  return UNIT_MS.reduce((sum, unitMs, i) => sum + unitMs * Number(parts[i + 1] ?? 0), 0);
}
