/**
 * Times that people type: each text names one moment, or is refused with a reason. Zones are
 * passed as functions, so that the days on which clocks change are tested in any zone.
 */
import { test } from 'tap';
import { type ReadTimeOptions, readTime, withOffset } from '../../src/platform/time-text.ts';

/** Time by which a zone is ahead of UTC, from the zone database of the runtime. */
function zoneOf(timeZone: string): (unixMs: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  return (unixMs) => {
    const parts = format.formatToParts(unixMs);
    const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
    const [, sign = '+', hours = '0', minutes = '0'] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  };
}

const NEW_YORK = zoneOf('America/New_York');
const BERLIN = zoneOf('Europe/Berlin');
/** Clocks are set forward at midnight. */
const CAIRO = zoneOf('Africa/Cairo');
/** Clocks are set by half an hour. */
const LORD_HOWE = zoneOf('Australia/Lord_Howe');

type Side = 'after' | 'before';
function near(side: Side, time: string): Pick<ReadTimeOptions, 'near'> {
  return { near: { unixMs: Date.parse(time), side } };
}

/** The moment with its offset, or the reason of the refusal. */
function read(text: string, options: ReadTimeOptions): string {
  const found = readTime(text, options);
  if (found.kind === 'moment') return withOffset(found.unixMs, options.zone);
  return found.kind === 'refused' ? found.problem : 'another form';
}

test('a time of day means the next or the last one, also in an hour that occurs twice', async (t) => {
  const cases: [typeof NEW_YORK, Side, string, string, string][] = [
    [NEW_YORK, 'after', '2026-11-01T06:45:00Z', '01:50', '2026-11-01T01:50:00-05:00'],
    [NEW_YORK, 'after', '2026-11-01T05:45:00Z', '01:50', '2026-11-01T01:50:00-04:00'],
    [NEW_YORK, 'after', '2026-11-01T05:55:00Z', '01:50', '2026-11-01T01:50:00-05:00'],
    [NEW_YORK, 'after', '2026-11-01T04:00:00Z', '08:00', '2026-11-01T08:00:00-05:00'],
    [NEW_YORK, 'before', '2026-11-01T06:45:00Z', '01:50', '2026-11-01T01:50:00-04:00'],
    [NEW_YORK, 'before', '2026-11-01T06:55:00Z', '01:50', '2026-11-01T01:50:00-05:00'],
    [NEW_YORK, 'after', '2026-03-08T07:10:00Z', '02:30', '2026-03-09T02:30:00-04:00'],
    [NEW_YORK, 'before', '2026-03-08T06:50:00Z', '02:30', '2026-03-07T02:30:00-05:00'],
    [BERLIN, 'after', '2026-10-25T00:45:00Z', '2:50', '2026-10-25T02:50:00+02:00'],
    [LORD_HOWE, 'after', '2026-04-04T15:10:00Z', '01:50', '2026-04-05T01:50:00+10:30'],
    [NEW_YORK, 'before', '2026-12-31T04:00:00Z', '23:00', '2026-12-30T23:00:00-05:00'],
    [NEW_YORK, 'after', '2027-01-01T04:30:00Z', '00:10', '2027-01-01T00:10:00-05:00'],
  ];
  for (const [zone, side, now, text, right] of cases) {
    t.equal(read(text, { zone, ...near(side, now) }), right, `${text} ${side} ${now}`);
  }
});

test('a time in a skipped hour is refused with the next time that exists', async (t) => {
  const skipped = read('02:30', { zone: NEW_YORK, ...near('after', '2026-03-08T03:00:00Z') });
  t.equal(
    skipped,
    '02:30 does not exist on 2026-03-08, because clocks are set forward: the next time is 2026-03-08T03:00:00-04:00',
  );
  t.match(read('2026-03-29T02:15', { zone: BERLIN }), /^02:15 does not exist .*T03:00:00\+02:00$/);
  t.match(
    read('2026-10-04T02:10', { zone: LORD_HOWE }),
    /^02:10 does not exist .*T02:30:00\+11:00$/,
  );
  t.equal(read('2026-03-29T02:15', { zone: 'utc' }), '2026-03-29T02:15:00+00:00');
});

test('a time that occurs twice is refused, unless only one of the two is on its side', async (t) => {
  const text = '2026-11-01T01:50';
  const both =
    'this time occurs twice, because clocks are set back: give 2026-11-01T01:50:00-04:00 or 2026-11-01T01:50:00-05:00';
  t.equal(read(text, { zone: NEW_YORK }), both);
  t.equal(read(text, { zone: NEW_YORK, ...near('after', '2026-10-31T00:00:00Z') }), both);
  const second = { zone: NEW_YORK, ...near('after', '2026-11-01T06:00:00Z') };
  t.equal(read(text, second), '2026-11-01T01:50:00-05:00');
  const first = { zone: NEW_YORK, ...near('before', '2026-11-01T06:00:00Z') };
  t.equal(read(text, first), '2026-11-01T01:50:00-04:00');
  t.equal(read(text, { zone: NEW_YORK, takesFirst: true }), '2026-11-01T01:50:00-04:00');
});

test('a date means its first moment, in the same zone as a time of day', async (t) => {
  t.equal(read('2026-12-01', { zone: NEW_YORK }), '2026-12-01T00:00:00-05:00');
  t.equal(read('2026-12-01', { zone: 'utc' }), '2026-12-01T00:00:00+00:00');
  // Clocks go from 23:59:59 to 01:00:00.
  t.equal(read('2026-04-24', { zone: CAIRO }), '2026-04-24T01:00:00+03:00');
  t.equal(read('2028-02-29', { zone: BERLIN }), '2028-02-29T00:00:00+01:00');
});

test('a day, a time or an offset that does not exist is refused', async (t) => {
  const cases: [string, RegExp][] = [
    ['2027-02-30', /^the day 2027-02-30 does not exist$/],
    ['2027-02-29T10:00:00Z', /^the day 2027-02-29 does not exist$/],
    ['2100-02-29', /^the day/],
    ['2026-04-31 08:00', /^the day/],
    ['2026-13-01', /^the day/],
    ['2026-00-10', /^the day/],
    ['2026-11-21T24:00', /^a day has the times 00:00:00 to 23:59:59$/],
    ['2026-11-21T12:60', /^a day has/],
    ['2026-11-21T23:59:60Z', /^a day has/],
    ['24:00', /^a day has the times 00:00 to 23:59$/],
    ['08:75', /^a day has/],
    ['2026-11-21T12:00+25:00', /^the offset \+25:00 does not exist$/],
    ['20261201', /^write the date as 2026-12-01$/],
    ['1763726400000', /^give Unix seconds, not milliseconds$/],
    ['tomorrow', /^another form$/],
    ['21.11.2026', /^another form$/],
    ['2026-11-21T12', /^another form$/],
    ['2026-1-2', /^another form$/],
    ['', /^another form$/],
  ];
  const options = { zone: BERLIN, ...near('after', '2026-11-20T00:00:00Z') };
  for (const [text, reason] of cases) t.match(read(text, options), reason, text);
});

test('a time with an offset, or in Unix seconds, is exact, and no other is', async (t) => {
  const exact = ['2026-11-21T12:00:00Z', '2026-11-21 13:00:00.000+01', '2026-11-21t07:00-0500'];
  for (const text of exact) {
    const unixMs = Date.parse('2026-11-21T12:00:00Z');
    t.same(readTime(text, { zone: NEW_YORK }), { kind: 'moment', unixMs, isInferred: false }, text);
  }
  t.match(readTime('1763726400', { zone: 'utc' }), { unixMs: 1763726400_000, isInferred: false });
  t.match(readTime('2026-11-21T12:00:00.25Z', { zone: 'utc' }), { unixMs: 1795262400_250 });
  t.match(readTime('2026-11-21T12:00', { zone: NEW_YORK }), { isInferred: true });
  t.match(readTime('2026-11-21', { zone: NEW_YORK }), { isInferred: true });
});
