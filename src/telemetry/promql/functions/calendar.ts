/**
 * The parts of a date, in UTC, from Unix seconds. They are computed with plain arithmetic, because
 * vectors may hold times beyond the range of `Date`, and one object per element would be slow.
 */
import { Labels, takeColumn } from '../values.ts';
import { vectorArgument } from './arguments.ts';
import { mapElements } from './elementwise.ts';
import type { PromqlFunction } from './function.ts';

const DAY_SECONDS = 86_400;

/** Functions of whole seconds. */
const PARTS: Readonly<Record<string, (seconds: number) => number>> = {
  minute: (seconds) => Math.floor(secondOfDay(seconds) / 60) % 60,
  hour: (seconds) => Math.floor(secondOfDay(seconds) / 3600),
  // 1970-01-01 was a Thursday; Sunday is 0.
  day_of_week: (seconds) => remainder(dayOf(seconds) + 4, 7),
  day_of_month: (seconds) => dateOf(dayOf(seconds)).day,
  day_of_year: (seconds) => {
    const day = dayOf(seconds);
    return day - firstDayOf(dateOf(day).year) + 1;
  },
  days_in_month: (seconds) => {
    const { year, month } = dateOf(dayOf(seconds));
    if (month === 2) return isLeap(year) ? 29 : 28;
    return [4, 6, 9, 11].includes(month) ? 30 : 31;
  },
  month: (seconds) => dateOf(dayOf(seconds)).month,
  year: (seconds) => dateOf(dayOf(seconds)).year,
};

/** `minute()` to `year()`. Without an argument they use the time of the step. */
export const calendarFunctions: Readonly<Record<string, PromqlFunction>> = Object.fromEntries(
  Object.entries(PARTS).map(([name, part]) => {
    const apply: PromqlFunction = (context) => {
      if (context.call.args.length === 0)
        return { type: 'vector', series: [ofSteps(context, part)] };
      const series = vectorArgument(context, 0);
      return mapElements(context, series, (value) => part(wholeSeconds(value)));
    };
    return [name, apply];
  }),
);

type Context = Parameters<PromqlFunction>[0];

/** Without an argument: the part of each step's own time. */
function ofSteps({ grid, budget }: Context, part: (seconds: number) => number) {
  const { values, present } = takeColumn(grid.count, budget);
  for (let i = 0; i < grid.count; i++) {
    const ms = i === 0 ? grid.startMs : grid.startMs + i * grid.stepMs;
    values[i] = part(Math.trunc(ms / 1000));
  }
  return { labels: Labels.empty, values, present: present.fill(1) };
}

const INT64_LIMIT = 2 ** 63;

/**
 * A value that is not a 64-bit integer counts as 2^63 s, the year 292277026596, as in Prometheus on
 * amd64.
 */
function wholeSeconds(value: number): number {
  if (value >= -INT64_LIMIT && value < INT64_LIMIT) return Math.trunc(value);
  return INT64_LIMIT;
}

function remainder(value: number, divisor: number): number {
  const rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

function secondOfDay(seconds: number): number {
  return remainder(seconds, DAY_SECONDS);
}

/** Days since 1970-01-01. */
function dayOf(seconds: number): number {
  return (seconds - secondOfDay(seconds)) / DAY_SECONDS;
}

/** The Gregorian calendar repeats after 400 years. */
const ERA_YEARS = 400;
const ERA_DAYS = 146_097;
/** 0000-03-01: years counted from March end with the leap day. */
const MARCH_OF_YEAR_0 = -719_468;

interface CivilDate {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
}

function dateOf(unixDay: number): CivilDate {
  const sinceMarch = unixDay - MARCH_OF_YEAR_0;
  const dayOfEra = remainder(sinceMarch, ERA_DAYS);
  const era = (sinceMarch - dayOfEra) / ERA_DAYS;
  // Days before year y of the era: 365 y, plus a leap day every 4 years, except every 100.
  let yearOfEra = Math.min(Math.floor(dayOfEra / 365), ERA_YEARS - 1);
  while (daysBefore(yearOfEra) > dayOfEra) yearOfEra--;
  const dayOfYear = dayOfEra - daysBefore(yearOfEra);
  // From March on, the months have 31, 30, 31, 30, 31 days, repeatedly: 153 days in 5 months.
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = era * ERA_YEARS + yearOfEra + (month <= 2 ? 1 : 0);
  return { year, month, day };
}

function daysBefore(yearOfEra: number): number {
  return 365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** The Unix day of January 1st. */
function firstDayOf(year: number): number {
  const yearOfEra = remainder(year - 1, ERA_YEARS);
  const era = (year - 1 - yearOfEra) / ERA_YEARS;
  // January 1st is 306 days after the March 1st before it.
  return era * ERA_DAYS + daysBefore(yearOfEra) + 306 + MARCH_OF_YEAR_0;
}
