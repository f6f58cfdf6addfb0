/**
 * The one parser of times that people type, for the command line, the dashboard and recordings.
 * `Date.parse` accepts days that do not exist, reads a bare date in UTC and a time in local time,
 * and guesses in the hours that clocks skip or repeat. Here a text names one moment, or there is
 * a reason why it names none.
 */

/** Zone of a text without an offset: by name, or the time by which it is ahead of UTC, ms. */
export type Zone = 'local' | 'utc' | ((unixMs: number) => number);

/** The moment that a text names, or the reason why it names none. */
export type ReadTime =
  | {
      readonly kind: 'moment';
      readonly unixMs: number;
      /** True if the zone or the day was inferred, so that the moment should be displayed. */
      readonly isInferred: boolean;
    }
  /** The text has the form of a time, but names no moment or two. A clause with a next step. */
  | { readonly kind: 'refused'; readonly problem: string }
  /** The text has another form. */
  | { readonly kind: 'otherForm' };

/** How a text without an offset, or without a date, is resolved. */
export interface ReadTimeOptions {
  readonly zone: Zone;
  /**
   * Reference for a time of day and for a repeated hour, Unix ms. Absent: a time of day has another
   * form, and a repeated hour is refused.
   */
  readonly near?: {
    readonly unixMs: number;
    /** `after`: the first such moment after it; `before`: the last one at or before it. */
    readonly side: 'after' | 'before';
  };
  /** For texts without an offset: the first of the two moments of a repeated hour. */
  readonly takesFirst?: true;
}

const OTHER_FORM: ReadTime = { kind: 'otherForm' };
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const CALENDAR =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;
const TIME_OF_DAY = /^(\d{1,2}):(\d\d)$/;
const COMPACT_DATE = /^((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/;

/**
 * Reads `2026-11-21T12:00:00Z`, the same without an offset, a date (its first moment), a time of day
 * such as `08:00`, or Unix seconds. An ambiguous time is one of the two by `near`, if only one of
 * them is on its side.
 */
export function readTime(text: string, options: ReadTimeOptions): ReadTime {
  if (/^\d+$/.test(text)) return unixTime(text);
  const ofDay = TIME_OF_DAY.exec(text);
  if (ofDay) return timeOfDay(text, Number(ofDay[1]), Number(ofDay[2]), options);
  const parts = CALENDAR.exec(text);
  if (!parts) return OTHER_FORM;
  const [, year = '', month = '', day = '', hour, minute = '0', second = '0'] = parts;
  const date = { year: Number(year), month: Number(month), day: Number(day) };
  if (!isDate(date)) return refused(`the day ${year}-${month}-${day} does not exist`);
  const clock = { hour: Number(hour ?? 0), minute: Number(minute), second: Number(second) };
  if (clock.hour > 23 || clock.minute > 59 || clock.second > 59) {
    return refused('a day has the times 00:00:00 to 23:59:59');
  }
  const partMs = Math.trunc(Number(`0.${parts[7] ?? '0'}`) * 1000);
  const fields = { ...date, ...clock };
  const zone = parts[8];
  if (zone !== undefined) {
    const offsetMinutes = offsetOf(zone);
    if (offsetMinutes === undefined) return refused(`the offset ${zone} does not exist`);
    return moment(utcOf(fields) + partMs - offsetMinutes * MINUTE_MS, false);
  }
  if (hour === undefined) return moment(startOfDay(fields, options.zone), true);
  return chosen(fields, partMs, options);
}

function moment(unixMs: number, isInferred: boolean): ReadTime {
  return { kind: 'moment', unixMs, isInferred };
}

function refused(problem: string): ReadTime {
  return { kind: 'refused', problem };
}

/** Digits: a year such as 33658 is a mistake, and so is a date without dashes. */
function unixTime(text: string): ReadTime {
  const date = COMPACT_DATE.exec(text);
  if (date) return refused(`write the date as ${date[1]}-${date[2]}-${date[3]}`);
  if (text.length > 13) return OTHER_FORM;
  if (text.length > 11) return refused('give Unix seconds, not milliseconds');
  return moment(Number(text) * 1000, false);
}

interface CalendarDate {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
}

/** Calendar date and wall-clock time. */
interface WallTime extends CalendarDate {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

function isDate({ year, month, day }: CalendarDate): boolean {
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** `Z`, `+01:00` or `-0500` in minutes; undefined beyond the offsets in use. */
function offsetOf(zone: string): number | undefined {
  if (zone.toUpperCase() === 'Z') return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', ''))];
  if (hours > 14 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (60 * hours + minutes);
}

/** The wall time as if its zone were UTC, Unix ms. */
function utcOf({ year, month, day, hour, minute, second }: WallTime): number {
  // Date.UTC reads years below 100 as those of the 20th century.
  return (
    new Date(0).setUTCFullYear(year, month - 1, day) + ((hour * 60 + minute) * 60 + second) * 1000
  );
}

/** The moments of a wall time, in order: none in a skipped hour, two in a repeated one. */
function momentsOf(fields: WallTime, zone: Zone): number[] {
  const utcMs = utcOf(fields);
  // Clocks change at most once within two days.
  const found = [utcMs - DAY_MS, utcMs + DAY_MS]
    .map((nearMs) => utcMs - aheadAt(nearMs, zone))
    .filter((unixMs) => unixMs + aheadAt(unixMs, zone) === utcMs);
  return [...new Set(found)].sort((a, b) => a - b);
}

/** Time by which the zone is ahead of UTC at that moment, ms. */
function aheadAt(unixMs: number, zone: Zone): number {
  if (zone === 'utc') return 0;
  return zone === 'local' ? -new Date(unixMs).getTimezoneOffset() * MINUTE_MS : zone(unixMs);
}

/** The end of the skipped hour that contains a wall time. */
function endOfGap(fields: WallTime, zone: Zone): number {
  const utcMs = utcOf(fields);
  let [low, high] = [utcMs - DAY_MS, utcMs + DAY_MS];
  const before = aheadAt(low, zone);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (aheadAt(middle, zone) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Midnight; where clocks skip it, the first moment of the day. */
function startOfDay(fields: WallTime, zone: Zone): number {
  return momentsOf(fields, zone)[0] ?? endOfGap(fields, zone);
}

function chosen(fields: WallTime, partMs: number, options: ReadTimeOptions): ReadTime {
  const { zone, near, takesFirst = false } = options;
  const found = momentsOf(fields, zone).map((unixMs) => unixMs + partMs);
  if (found.length === 0) return refused(skipped(fields, zone));
  const fitting = found.filter((unixMs) => near === undefined || isOnSide(unixMs, near));
  const [only = found[0] ?? 0, another] = fitting.length === 0 ? found.slice(0, 1) : fitting;
  return another === undefined || takesFirst ? moment(only, true) : refused(repeated(found, zone));
}

function isOnSide(unixMs: number, { unixMs: nearMs, side }: NonNullable<ReadTimeOptions['near']>) {
  return side === 'after' ? unixMs > nearMs : unixMs <= nearMs;
}

/** The next or the most recent such time of day, by calendar day: a day has 23 to 25 hours. */
function timeOfDay(text: string, hour: number, minute: number, options: ReadTimeOptions): ReadTime {
  const { zone, near } = options;
  if (near === undefined) return OTHER_FORM;
  if (hour > 23 || minute > 59) return refused('a day has the times 00:00 to 23:59');
  const step = near.side === 'after' ? 1 : -1;
  const today = wallDate(near.unixMs, zone);
  // Today, and a day on either side of a skipped one.
  for (let days = 0; days <= 2; days++) {
    const fields = { ...dayBeside(today, step * days), hour, minute, second: 0 };
    const fitting = momentsOf(fields, zone).filter((unixMs) => isOnSide(unixMs, near));
    const unixMs = step === 1 ? fitting[0] : fitting.at(-1);
    if (unixMs !== undefined) return moment(unixMs, true);
    const isSkipped = momentsOf(fields, zone).length === 0;
    if (isSkipped && isOnSide(endOfGap(fields, zone), near)) return refused(skipped(fields, zone));
  }
  return refused(`no ${text} was found`);
}

function wallDate(unixMs: number, zone: Zone): CalendarDate {
  const date = new Date(unixMs + aheadAt(unixMs, zone));
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
  return { year, month, day };
}

function dayBeside({ year, month, day }: CalendarDate, days: number): CalendarDate {
  const date = new Date(Date.UTC(year, month - 1, day + days));
  return wallDate(date.getTime(), 'utc');
}

function skipped(fields: WallTime, zone: Zone): string {
  const time = `${two(fields.hour)}:${two(fields.minute)}`;
  const day = `${fields.year}-${two(fields.month)}-${two(fields.day)}`;
  const next = withOffset(endOfGap(fields, zone), zone);
  return `${time} does not exist on ${day}, because clocks are set forward: the next time is ${next}`;
}

function repeated(found: readonly number[], zone: Zone): string {
  const both = found.map((unixMs) => withOffset(unixMs, zone)).join(' or ');
  return `this time occurs twice, because clocks are set back: give ${both}`;
}

/** The moment on the clocks of a zone, with the offset: `2026-11-21T15:32:28+01:00`. */
export function withOffset(unixMs: number, zone: Zone = 'local'): string {
  const aheadMs = aheadAt(unixMs, zone);
  const minutes = Math.abs(aheadMs) / MINUTE_MS;
  const time = new Date(unixMs + aheadMs).toISOString().slice(0, 19);
  return `${time}${aheadMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
