/**
 * Formats numbers, readings, times and durations with `Intl`. Pure: language and zone are
 * parameters. Absent values are not formatted; the caller describes them in words.
 */

import { readTime } from '../../platform/time-text.ts';

/** Language and time zone of texts; the zone may be the browser's own. */
export interface Format {
  readonly locale: string;
  /** IANA name; undefined for the browser's zone. */
  readonly timeZone: string | undefined;
}

/** The user's variant of English: texts are English, dates follow the region. */
export function preferredLocale(languages: readonly string[]): string {
  return languages.find((language) => /^en(-|$)/.test(language)) ?? 'en-GB';
}

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** A reading with its unit: `93.2 %`, `3.1 GiB`, `12 MiB/s`. Units are those of the API. */
export function formatReading(value: number, unit: string, { locale }: Format): string {
  switch (unit) {
    case 'percent':
      return `${decimal(value, locale)} %`;
    case 'bytes':
      return bytes(value, locale);
    case 'bytes_per_second':
      return `${bytes(value, locale)}/s`;
    case 'operations_per_second':
      return `${decimal(value, locale)}/s`;
    case 'seconds':
      return formatDuration(value);
    case 'boolean':
      // A coarse step holds the share of its readings that were true.
      if (value > 0 && value < 1) return `${decimal(value * 100, locale)} %`;
      return value === 0 ? 'no' : 'yes';
    default:
      return decimal(value, locale);
  }
}

/** Three significant digits, or all digits before the decimal point. */
function decimal(value: number, locale: string): string {
  const digits =
    Math.abs(value) >= 100 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 };
  return new Intl.NumberFormat(locale, digits).format(value);
}

/**
 * A threshold as it was typed: without rounding, and bytes in the unit with the fewest digits, such
 * as `2 GiB` or `2 GB`.
 */
export function formatThreshold(value: number, unit: string, format: Format): string {
  if (isOfBytes(unit)) {
    const { size, name } = exactUnit(value);
    return `${exact(value / size, format)} ${name}${unit === 'bytes' ? '' : '/s'}`;
  }
  if (unit === 'percent') return `${exact(value, format)} %`;
  if (unit === 'operations_per_second') return `${exact(value, format)}/s`;
  return unit === 'seconds' || unit === 'boolean'
    ? formatReading(value, unit, format)
    : exact(value, format);
}

/** A reading beside its threshold: with all digits if it would look like it and is not. */
export function formatReadingBeside(
  value: number,
  threshold: number,
  unit: string,
  format: Format,
): string {
  const text = formatReading(value, unit, format);
  const isAlike = text === formatReading(threshold, unit, format);
  return isAlike && value !== threshold ? formatThreshold(value, unit, format) : text;
}

function exact(value: number, { locale }: Format): string {
  return new Intl.NumberFormat(locale, { maximumSignificantDigits: 17 }).format(value);
}

function isOfBytes(unit: string): boolean {
  return unit === 'bytes' || unit === 'bytes_per_second';
}

/** Most digits of a number that anyone types with a unit. */
const TYPED_DIGITS_MAX = 6;

/**
 * The unit in which a number of bytes has the fewest digits, and the largest one of those; bytes
 * for a number with many digits.
 */
export function exactUnit(value: number): { readonly size: number; readonly name: string } {
  const fitting = ALL_BYTE_UNITS.filter(
    ({ size }) =>
      size <= Math.abs(value) &&
      (value / size) * size === value &&
      digitsOf(value / size) <= TYPED_DIGITS_MAX,
  );
  const [first = { size: 1, name: 'B' }] = fitting.sort(
    (a, b) => digitsOf(value / a.size) - digitsOf(value / b.size) || b.size - a.size,
  );
  return first;
}

/** Significant digits of a number as printed. */
function digitsOf(value: number): number {
  const [digits = ''] = String(Math.abs(value)).split('e', 1);
  const plain = digits.replace('.', '').replace(/^0+/, '');
  return digits.includes('.') ? plain.length : plain.replace(/0+$/, '').length;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
/** Binary and decimal units. */
export const ALL_BYTE_UNITS: readonly { readonly size: number; readonly name: string }[] = [
  ...BYTE_UNITS.map((name, i) => ({ size: 1024 ** i, name })),
  ...['kB', 'MB', 'GB', 'TB', 'PB'].map((name, i) => ({ size: 1000 ** (i + 1), name })),
];

function bytes(value: number, locale: string): string {
  let power = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 1024 && power < BYTE_UNITS.length - 1) {
    scaled /= 1024;
    power += 1;
  }
  return `${decimal(scaled, locale)} ${BYTE_UNITS[power]}`;
}

/** A count: `9,019`. */
export function formatCount(value: number, { locale }: Format): string {
  return new Intl.NumberFormat(locale).format(value);
}

/** `45 s`, `5 min`, `1 h 30 min`, `2 d 4 h`: the two largest units. */
export function formatDuration(seconds: number): string {
  const whole = Math.round(Math.abs(seconds));
  const sign = seconds < 0 && whole > 0 ? '-' : '';
  if (whole < MINUTE) return `${sign}${whole} s`;
  if (whole < HOUR) return `${sign}${two(whole, MINUTE, 'min', 1, 's')}`;
  if (whole < DAY) return `${sign}${two(whole, HOUR, 'h', MINUTE, 'min')}`;
  return `${sign}${two(whole, DAY, 'd', HOUR, 'h')}`;
}

function two(
  seconds: number,
  large: number,
  largeName: string,
  small: number,
  name: string,
): string {
  const count = Math.floor(seconds / large);
  const rest = Math.floor((seconds % large) / small);
  return rest === 0 ? `${count} ${largeName}` : `${count} ${largeName} ${rest} ${name}`;
}

/** The largest unit only, for ages: `45 s`, `5 min`, `3 h`, `12 d`. */
export function formatAge(ms: number): string {
  return inLargestUnit(ms, Math.floor);
}

/**
 * The same for a future time, rounded to the nearest unit: 90 days must not become 89 a second
 * later.
 */
export function formatAhead(ms: number): string {
  return inLargestUnit(ms, Math.round);
}

function inLargestUnit(ms: number, round: (count: number) => number): string {
  const seconds = Math.max(0, round(ms / 1_000));
  if (seconds < MINUTE) return `${seconds} s`;
  const minutes = round(seconds / MINUTE);
  if (minutes < 60) return `${minutes} min`;
  const hours = round(seconds / HOUR);
  return hours < 48 ? `${hours} h` : `${round(seconds / DAY)} d`;
}

/** A time for a table row, with the zone's name and, unless it is today, the date. */
export function formatTime(ms: number, nowMs: number, format: Format): string {
  const isToday = dayOf(ms, format) === dayOf(nowMs, format);
  return formatter(format, {
    ...(!isToday && { day: 'numeric', month: 'short', ...yearWhereOther(ms, nowMs, format) }),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).format(ms);
}

/** Hours and minutes, optionally seconds, without date and zone: for axes and banners. */
export function formatClock(ms: number, format: Format, hasSeconds = false): string {
  return formatter(format, {
    hour: '2-digit',
    minute: '2-digit',
    ...(hasSeconds && { second: '2-digit' }),
    hourCycle: 'h23',
  }).format(ms);
}

/** A date without a time: `22 Nov`. */
export function formatDay(ms: number, format: Format): string {
  return formatter(format, { day: 'numeric', month: 'short' }).format(ms);
}

/** The exact time for the tooltip: to the millisecond, in the chosen zone and in UTC. */
export function formatExactTime(ms: number, format: Format): string {
  const displayed = formatter(format, {
    weekday: 'short',
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).format(ms);
  return `${displayed} · ${new Date(ms).toISOString()}`;
}

function yearWhereOther(ms: number, nowMs: number, format: Format): { year?: 'numeric' } {
  const year = formatter(format, { year: 'numeric' });
  return year.format(ms) === year.format(nowMs) ? {} : { year: 'numeric' };
}

function dayOf(ms: number, format: Format): string {
  return formatter(format, { year: 'numeric', month: '2-digit', day: '2-digit' }).format(ms);
}

// Creating a formatter is a hundred times as expensive as using it.
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(format: Format, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${format.locale} ${format.timeZone} ${JSON.stringify(options)}`;
  const known = formatters.get(key);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat(format.locale, {
    ...options,
    ...(format.timeZone !== undefined && { timeZone: format.timeZone }),
  });
  formatters.set(key, made);
  return made;
}

const MINUTE_MS = 60_000;

/** A time as the value of a `datetime-local` field, to the second, in local time or UTC. */
export function formatTimeField(ms: number, isUtc: boolean): string {
  const offsetMs = isUtc ? 0 : new Date(ms).getTimezoneOffset() * MINUTE_MS;
  return new Date(ms - offsetMs).toISOString().slice(0, 19);
}

/**
 * The moment of such a field, or the reason why it names none; undefined if it is empty. In an hour
 * that clocks repeat, it is the first moment after `afterMs`.
 */
export function readTimeField(
  field: string,
  isUtc: boolean,
  afterMs?: number,
): { readonly ms: number } | { readonly problem: string } | undefined {
  if (field === '') return undefined;
  const read = readTime(field, {
    zone: isUtc ? 'utc' : 'local',
    takesFirst: true,
    ...(afterMs !== undefined && { near: { unixMs: afterMs, side: 'after' } }),
  });
  if (read.kind === 'moment') return { ms: read.unixMs };
  if (read.kind === 'refused') {
    const problem = read.problem;
    return { problem: `${problem.charAt(0).toUpperCase()}${problem.slice(1)}` };
  }
  return { problem: 'Enter a date and a time such as 2026-11-21T12:00' };
}

/** Unix ms of such a field; undefined if it is empty or names no moment. */
export function parseTimeField(
  field: string,
  isUtc: boolean,
  afterMs?: number,
): number | undefined {
  const read = readTimeField(field, isUtc, afterMs);
  return read && 'ms' in read ? read.ms : undefined;
}
