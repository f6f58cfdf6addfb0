/**
 * Texts: every reason of the service has an explanation and a next step, numbers and times are
 * formatted for people, and ages use the server's clock.
 */
import { test } from 'tap';
import { DELIVERY_REASONS } from '../../machines/delivery/delivery.ts';
import { narrowOffset, type OffsetBounds } from '../../src/dashboard/data/clock.ts';
import { RpcError } from '../../src/dashboard/data/rpc-error.ts';
import { explain, explanations } from '../../src/dashboard/messages/errors.ts';
import {
  formatAge,
  formatAhead,
  formatClock,
  formatDuration,
  formatExactTime,
  formatReading,
  formatTime,
  parseTimeField,
  preferredLocale,
  readTimeField,
} from '../../src/dashboard/messages/format.ts';
import { pseudoLocalized } from '../../src/dashboard/messages/localized.ts';
import { unsentNames } from '../../src/dashboard/pages/alerting/incidents/incident-texts.ts';
import { errorCatalogue } from '../../src/platform/errors.ts';

const LOCAL_REASONS = ['NO_CONNECTION', 'NO_ANSWER', 'BAD_ANSWER'];
const BERLIN = { locale: 'en-GB', timeZone: 'Europe/Berlin' };

test('every reason of the service has an explanation and a next step, and there are no others', async (t) => {
  const reasons = [...Object.keys(errorCatalogue), ...LOCAL_REASONS];
  t.same(Object.keys(explanations).sort(), reasons.sort());
  for (const [reason, { what, next }] of Object.entries(explanations)) {
    t.match(what, /^[A-Z].*[^.]$/, `${reason}: what happened, without a full stop`);
    t.match(next, /^[A-Z].*\.$/, `${reason}: what to do, in a sentence`);
  }
});

test('every reason for not sending a notification has a name', async (t) => {
  t.same(Object.keys(unsentNames).sort(), [...DELIVERY_REASONS].sort());
});

test('an unknown reason is shown as is', async (t) => {
  const error = new RpcError({ code: 'aborted', reason: 'TOO_NEW', message: 'Do this' });
  t.same(explain(error), { what: 'TOO_NEW', next: 'Do this' });
  const metadata = { historySecondsMax: '600000', vmsMax: '496' };
  t.match(explain({ reason: 'TOO_MANY_POINTS', message: '', metadata }), {
    next: 'Choose a history of at most 166 hours, or at most 496 VMs.',
  });
});

test('readings are formatted with their unit', async (t) => {
  const cases = [
    { value: 93.24, unit: 'percent', text: '93.2 %' },
    { value: 0, unit: 'percent', text: '0 %' },
    { value: 0.0012, unit: 'percent', text: '0.0012 %' },
    { value: 3.1 * 1024 ** 3, unit: 'bytes', text: '3.1 GiB' },
    { value: 1023, unit: 'bytes', text: '1,023 B' },
    { value: -2048, unit: 'bytes', text: '-2 KiB' },
    { value: 12_582_912, unit: 'bytes_per_second', text: '12 MiB/s' },
    { value: 120, unit: 'operations_per_second', text: '120/s' },
    { value: 3_700, unit: 'seconds', text: '1 h 1 min' },
    { value: 0.52, unit: 'load', text: '0.52' },
    { value: 1, unit: 'boolean', text: 'yes' },
    { value: 1_234_567, unit: 'of a newer service', text: '1,234,567' },
  ];
  for (const { value, unit, text } of cases) {
    t.equal(formatReading(value, unit, BERLIN), text, `${value} ${unit}`);
  }
});

test('durations and ages are formatted', async (t) => {
  t.same([0, 59, 60, 90, 3_600, 5_400, 90_000, 604_800].map(formatDuration), [
    '0 s',
    '59 s',
    '1 min',
    '1 min 30 s',
    '1 h',
    '1 h 30 min',
    '1 d 1 h',
    '7 d',
  ]);
  t.same([999, 45_000, 61_000, 7_200_000, 100_000_000, 200_000_000].map(formatAge), [
    '0 s',
    '45 s',
    '1 min',
    '2 h',
    '27 h',
    '2 d',
  ]);
  const second = 1_000;
  const nearly = [59.6, 3_599, 172_799, 90 * 86_400 - 1].map((ahead) => ahead * second);
  t.same(nearly.map(formatAhead), ['1 min', '1 h', '2 d', '90 d'], 'a time ahead is rounded');
});

test('times have their zone, and their date if it is not today', async (t) => {
  const now = Date.UTC(2026, 10, 23, 12, 0, 0);
  t.equal(formatTime(Date.UTC(2026, 10, 23, 11, 3, 10), now, BERLIN), '12:03:10 CET');
  t.equal(formatTime(Date.UTC(2026, 10, 22, 11, 3, 10), now, BERLIN), '22 Nov, 12:03:10 CET');
  t.equal(formatTime(Date.UTC(2025, 6, 1, 0, 0, 0), now, BERLIN), '1 Jul 2025, 02:00:00 CEST');
  t.equal(
    formatTime(Date.UTC(2026, 10, 23, 11, 3, 10), now, { locale: 'en-GB', timeZone: 'UTC' }),
    '11:03:10 UTC',
  );
  t.equal(
    formatTime(Date.UTC(2026, 10, 22, 23, 30, 0), now, BERLIN),
    '00:30:00 CET',
    'today is the day of the zone',
  );
  t.match(
    formatExactTime(Date.UTC(2026, 10, 23, 11, 3, 10, 42), BERLIN),
    /12:03:10.042.*CET.*T11:03:10\.042Z$/,
  );
  t.equal(formatClock(Date.UTC(2026, 10, 23, 23, 5, 0), BERLIN), '00:05', 'midnight is 00, not 24');
});

test("numbers and dates are in English, in the variant of the browser's region", async (t) => {
  t.equal(preferredLocale(['de-DE', 'en-US', 'en-GB']), 'en-US');
  t.equal(preferredLocale(['de-DE']), 'en-GB');
});

test('the pseudo-locale covers every text, including functions and groups', async (t) => {
  const texts = pseudoLocalized({ a: 'Save', group: { b: (n: number) => `${n} rows` } });
  t.equal(texts.a, '[Šávé··]');
  t.equal(texts.group.b(3), '[3 röwš··]');
});

test("the offset to the server is derived from Date headers, whatever the browser's clock says", async (t) => {
  const hourMs = 3_600_000;
  const start = Date.UTC(2026, 10, 23, 12, 0, 0);
  let bounds: OffsetBounds | undefined;
  // The browser is an hour ahead; each response takes 80 ms; the header has whole seconds.
  for (const atMs of [250, 1_900, 3_020, 4_960]) {
    const serverMs = start + atMs;
    bounds = narrowOffset(bounds, {
      dateUnixMs: Math.floor(serverMs / 1_000) * 1_000,
      sentMs: serverMs - 40 + hourMs,
      receivedMs: serverMs + 40 + hourMs,
    });
  }
  t.ok(
    bounds && bounds.least <= -hourMs && bounds.most >= -hourMs,
    'the bounds contain the true offset',
  );
  t.ok(bounds && bounds.most - bounds.least < 200, 'four responses narrow the bounds');
});

test('a changed clock is followed', async (t) => {
  const right = narrowOffset(undefined, { dateUnixMs: 10_000, sentMs: 10_400, receivedMs: 10_500 });
  const set = { dateUnixMs: 20_000, sentMs: 3_620_400, receivedMs: 3_620_500 };
  t.same(narrowOffset(right, set), narrowOffset(undefined, set));
});

test('a time field shows its moment, or why it has none', async (t) => {
  const noon = Date.UTC(2026, 10, 21, 12);
  t.same(readTimeField('2026-11-21T12:00', true), { ms: noon });
  t.equal(parseTimeField('2026-11-21T12:00:30', true), noon + 30_000);
  t.equal(readTimeField('', true), undefined, 'an empty field is no problem');
  t.same(readTimeField('2027-02-30T10:00', true), {
    problem: 'The day 2027-02-30 does not exist',
  });
  t.same(readTimeField('soon', true), {
    problem: 'Enter a date and a time such as 2026-11-21T12:00',
  });
  t.equal(parseTimeField('2027-02-30T10:00', true), undefined);
});
