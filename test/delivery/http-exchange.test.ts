/** Shared parts of the HTTP channels: Retry-After, truncation, and the excerpt without secrets. */
import fc from 'fast-check';
import { test } from 'tap';
import { cutText, cutTo } from '../../actors/platform/plain-text.ts';
import {
  cutBytes,
  EXCERPT_BYTES_MAX,
  excerptOf,
  parseRetryAfter,
  redact,
} from '../../src/delivery/notify/http/exchange.ts';
import {
  exactQuantity,
  parseQuantity,
  quantity,
  readingBeside,
} from '../../streams/alerting/quantity.ts';
import { condition, duration, oneLine } from '../../streams/alerting/wording.ts';
import { anyText } from '../support/any-text.ts';
import { tries } from '../support/tries.ts';

const nowMs = Date.UTC(2026, 0, 1);

test('Retry-After is seconds or a date, and any other value is ignored', async (t) => {
  const cases: readonly (readonly [string | undefined, number | undefined])[] = [
    ['0', 0],
    [' 120 ', 120_000],
    ['Thu, 01 Jan 2026 00:02:00 GMT', 120_000],
    ['Thursday, 01-Jan-26 00:02:00 GMT', 120_000],
    ['Thu Jan  1 00:02:00 2026', 120_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ...[undefined, '', '-1', '1.5', '1e3', '9'.repeat(20), 'soon', '2026-01-01', '5 minutes'].map(
      (text) => [text, undefined] as const,
    ),
  ];
  for (const [text, expected] of cases) {
    t.equal(parseRetryAfter(text, { nowMs }), expected, String(text));
  }
  const date = 'Thu, 01 Jan 2026 00:01:30 GMT';
  const until = 'Thu, 01 Jan 2026 00:02:00 GMT';
  t.equal(parseRetryAfter(until, { date, nowMs: 0 }), 30_000, 'by the clock that wrote both');
  t.equal(parseRetryAfter(until, { date: 'nonsense', nowMs }), 120_000);
});

const url = 'https://hooks.example.com/in/aBcDeF123456?key=s3cret%2Fvalue&x=1#part';
const secrets = ['whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='];

test('an excerpt contains no URL, secret or credential, in any form that the endpoint repeats', async (t) => {
  const key = '-----------------';
  const repeated = [
    url,
    '/in/aBcDeF123456?key=s3cret%2Fvalue&x=1',
    '/in/aBcDeF123456',
    '\\/in\\/aBcDeF123456',
    '/IN/ABCDEF123456',
    '%2Fin%2FaBcDeF123456',
    's3cret/value and s3cret%2Fvalue',
    'key=s3cret%2Fvalue&amp;x=1',
    secrets[0],
    secrets[0]?.slice(6),
    'Authorization: Bearer abcdefgh.ijkl',
    'authorization: Basic dXNlcjpwYXNz',
    '{"access_token": "short-one", "password":"hunter2"}',
    `eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.c2ln`,
    'svc_sk_abc_0123456789abcdef',
    'https://user:pa55@elsewhere.example/',
    'ghp_0123456789abcdefghijABCDEFGHIJ012345',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ];
  const leaks =
    /aBcDeF123456|s3cret|AAECAw|abcdefgh|dXNlcjpw|short-one|hunter2|c2ln|0123456789abcdef|pa55|9f86d081/i;
  for (const text of repeated) {
    t.notMatch(redact(`${key} ${text} ${key}`, { url, secrets }), leaks, String(text));
    t.match(
      redact(`${key} ${text} ${key}`, { url, secrets }),
      /-{17} .*\[redacted/,
      'reported as omitted',
    );
  }
  const harmless =
    'Error 500: no space left on /dev/sda1 (request 123e4567-e89b-12d3-a456-426614174000)';
  t.equal(redact(harmless, { url, secrets }), harmless, 'helpful texts stay');
  t.equal(redact('a\u0000b\u001b[31mc\u202e', {}), 'a b [31mc ');
});

test('an excerpt is at most 4 KiB of complete code points, and does not end in half a secret', async (t) => {
  const euro = excerptOf(Buffer.from('€'.repeat(5_000)), { url }, false);
  t.equal(euro, '€'.repeat(Math.floor(EXCERPT_BYTES_MAX / 3)));
  // The read part ends within the secret; everything before it shrinks to less than the limit.
  const whole = `${'/in/aBcDeF123456 '.repeat(200)}${url.slice(0, 35)}`;
  const cut = excerptOf(Buffer.from(whole), { url }, true);
  t.notMatch(cut, /aBcDeF/);
  t.match(cut, /…$/);
  t.match(excerptOf(Buffer.from(`all ${url}`), { url }, false), /^all \[redacted\]|^all https/);
  t.match(
    excerptOf(Buffer.from([0xff, 0xfe, 0x61]), { url }, false),
    /a$/,
    'bytes that are not text',
  );
});

test('any URL and secret are omitted without an error', async (t) => {
  const whole = 'https://hooks.example.com/';
  // Ten times the maximum length of a destination's URL.
  const long = 'x'.repeat(20_000);
  const odd = ['(?<x', '[z-a]{9,1}', '\\k<name>\\', '%E0%A4%A', 'ü'.repeat(9), long];
  for (const part of odd) {
    const given = {
      url: `${whole}${part}-12345678?key=${part}`,
      secrets: [`whsec_${part}${part}`],
    };
    const text = redact(`a ${given.url} b ${part}${part} c`, given);
    t.match(text, /^a https:.*\[redacted\] b \[redacted\] c$/, part.slice(0, 20));
    t.notOk(text.includes(part), part.slice(0, 20));
  }
  t.equal(redact('no address: here', { url: 'no address' }), '[redacted]: here');
});

/** 16 times the bytes that are read of an answer. */
const LONG_ANSWER_BYTES = 256 * 1024;
/**
 * Maximum CPU time for the excerpt of a long answer, ms. Linear work takes below 60 ms, and work that
 * grows with the square of the length takes over 2 s. The system counts in steps of up to 10 ms.
 */
const CPU_MS_MAX = 500;

/** CPU time of this thread, ms: other work on the machine hardly changes it. */
function cpuMs(run: () => void): number {
  const started = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(started);
  return (user + system) / 1000;
}

test('work grows with the length of the answer, not with its square, for any repeated text', async (t) => {
  // How each pattern of `scrubSecrets` and `redact` begins, and text that it may scan.
  const pieces = [
    'svc_sk_',
    'svc_pk_a_',
    'svc_sk_abc_abcdefg',
    'whsec_',
    'Bearer ',
    'bearer',
    'eyJ',
    'eyJaaaaaaaa',
    'eyJaaaaaaaa.',
    'a://',
    '://',
    'a+b://c',
    'a://b:',
    'Basic ',
    'Basic  abcde',
    'token',
    'token=',
    'sig=abc',
    '"secret":',
    'api_key : ',
    'password"',
    '/in/',
    'key=s3cret',
    'aBcDeF12345',
    'x',
    '=',
    ' ',
    '\0',
  ];
  const slow = pieces
    .flatMap((piece) => ['', '-', '.'].map((between) => between + piece))
    .filter((piece) => {
      const answer = Buffer.from(piece.repeat(LONG_ANSWER_BYTES / piece.length));
      return cpuMs(() => excerptOf(answer, { url, secrets }, true)) > CPU_MS_MAX;
    });
  t.same(slow, []);
});

test('texts are cut between code points, and the omitted ones are counted', async (t) => {
  t.equal(cutText('abc', 3), 'abc');
  t.equal(cutText('𝒳𝒳𝒳', 2), '𝒳…');
  t.equal(cutBytes('a€', 3), 'a');
  t.equal(
    cutTo('a'.repeat(100), 30, (text) => text.length),
    'aaaaaaaa… (92 more characters)',
  );
  t.equal(
    cutTo('abc', 2, (text) => text.length),
    '',
    'no room for a note about it',
  );
  const property = fc.property(
    anyText({ maxLength: 200 }),
    fc.integer({ min: 30, max: 100 }),
    (text, max) => {
      const cut = cutTo(text, max, (each) => Buffer.byteLength(each));
      const [, kept = '', count] = /^([\s\S]*)… \((\d+) more characters?\)$/u.exec(cut) ?? [];
      const isWhole = cut === text.toWellFormed();
      const isCut = [...kept].length + Number(count) === [...text.toWellFormed()].length;
      return Buffer.byteLength(cut) <= max && cut.isWellFormed() && (isWhole || isCut);
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: tries(300) }));
});

test('quantities, durations and conditions are readable', async (t) => {
  t.equal(quantity(93.50000001, 'percent'), '93.5 %');
  t.equal(quantity(1_610_612_736, 'bytes'), '1.5 GiB');
  t.equal(quantity(-2048, 'bytes_per_second'), '-2 KiB/s');
  t.equal(quantity(12, 'operations_per_second'), '12/s');
  t.equal(quantity(0, 'boolean'), '0');
  t.same([0, 90, 300, 330, 3_600, 9_000, 259_200].map(duration), [
    '0 s',
    '90 s',
    '5 min',
    '5 min 30 s',
    '1 h',
    '2 h 30 min',
    '3 d',
  ]);
  t.equal(
    condition({
      metricId: 'memory_used_bytes',
      operator: 'GREATER_THAN',
      threshold: 2_000_000_000,
      sustainedSeconds: 0,
      unit: 'bytes',
    }),
    'memory_used_bytes above 2 GB',
  );
  const rule = { metricId: 'load_1m', operator: 'LESS_THAN_OR_EQUAL', threshold: 4, unit: 'load' };
  t.equal(condition({ ...rule, sustainedSeconds: 300 }), 'load_1m at or below 4 for 5 min');
  t.equal(condition({ ...rule, sustainedSeconds: 0 }), 'load_1m at or below 4');
  t.equal(oneLine(' a\r\n\tb\u00a0\u2028c\ud800 '), 'a b c�');
});

test('a threshold is displayed as it was typed', async (t) => {
  const typed = ['2 GiB', '1.5 GiB', '2 GB', '500 MB', '1.5 TB', '64 KiB', '2 kB', '17 B', '0 B'];
  for (const text of typed) {
    t.equal(exactQuantity(parseQuantity(text)?.value ?? Number.NaN, 'bytes'), text);
    const rate = parseQuantity(`${text}/s`);
    t.same(rate?.unit, 'bytes_per_second');
    t.equal(exactQuantity(rate?.value ?? Number.NaN, 'bytes_per_second'), `${text}/s`);
  }
  t.equal(exactQuantity(123_456_789, 'bytes'), '123456789 B', 'no unit makes it shorter');
  t.equal(exactQuantity(99.999_999_9, 'percent'), '99.9999999 %');
  t.same(parseQuantity('2GiB'), { value: 2 ** 31, unit: 'bytes' });
  t.same(parseQuantity('90%'), { value: 90, unit: 'percent' });
  t.same(parseQuantity(' -1.5e3 '), { value: -1_500, unit: '' });
  t.same(parseQuantity('5 s'), { value: 5, unit: 'seconds' });
  for (const text of ['', 'GiB', '2 gigs', 'Infinity', '1e999', '2GiB3', '1,5 GiB']) {
    t.equal(parseQuantity(text), undefined, text);
  }
  const property = fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
    const { value: again } = parseQuantity(exactQuantity(value, 'bytes')) ?? {};
    return again === value || (again === 0 && value === 0);
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: tries(500) }), 'without rounding');
});

test('a reading never looks like the threshold that it passes', async (t) => {
  t.equal(readingBeside(90.000_000_1, 90, 'percent'), '90.0000001 %');
  t.equal(readingBeside(89.999_999_9, 90, 'percent'), '89.9999999 %');
  t.equal(readingBeside(93.500_000_01, 90, 'percent'), '93.5 %', 'six digits where they suffice');
  t.equal(readingBeside(90, 90, 'percent'), '90 %');
  t.equal(readingBeside(2_000_000_000, 1_000_000_000, 'bytes'), '2 GB');
  t.equal(readingBeside(2 ** 31 + 1, 2 ** 31, 'bytes'), '2.000000001 GiB');
  t.equal(readingBeside(900e6, 2e9, 'bytes'), '900 MB', "in the threshold's family of units");
  t.equal(readingBeside(0, 2 ** 30, 'bytes'), '0 B');
  const near = fc.tuple(
    fc.double({ min: 1, max: 1e12, noNaN: true }),
    fc.double({ min: -1e-6, max: 1e-6, noNaN: true }),
  );
  const property = fc.property(near, fc.constantFrom('percent', 'bytes'), ([level, off], unit) => {
    const value = level * (1 + off);
    const shown = parseQuantity(readingBeside(value, level, unit))?.value ?? Number.NaN;
    return Math.sign(shown - level) === Math.sign(value - level);
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: tries(500) }));
});
