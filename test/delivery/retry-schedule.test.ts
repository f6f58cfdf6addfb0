/** The retry schedule against the list in the delivery guide, over all jitters and headers. */
import fc from 'fast-check';
import { test } from 'tap';
import {
  DELIVERY_LIFETIME_MS,
  JITTER,
  LAST_ATTEMPT_AGE_MS,
  RETRY_WAIT_SECONDS,
  retryDelayMs,
} from '../../machines/delivery/retry-schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('a delivery that always fails is tried on schedule, once more before 24 h, then never', async (t) => {
  const waits: number[] = [];
  let ageMs = 0;
  for (let attempt = 1; ; attempt++) {
    const delay = retryDelayMs({ attempt, jitter: 0.5, ageMs });
    if (delay === undefined) break;
    waits.push(delay);
    ageMs += delay;
  }
  const scheduled = [5_000, 30_000, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE];
  const long = [HOUR, 2 * HOUR, 4 * HOUR, 6 * HOUR, 6 * HOUR];
  t.same(waits.slice(0, -1), [...scheduled, ...long]);
  t.equal(ageMs, LAST_ATTEMPT_AGE_MS, 'the last attempt is a minute before 24 h');
});

test('a wait with any jitter is within 20 % of the schedule, and reaches both ends', async (t) => {
  for (const [i, seconds] of RETRY_WAIT_SECONDS.entries()) {
    const at = (jitter: number) => retryDelayMs({ attempt: i + 1, jitter, ageMs: 0 }) ?? -1;
    t.equal(at(0), Math.round(seconds * 1000 * (1 - JITTER)));
    t.ok(at(0.999_999_999) <= seconds * 1000 * (1 + JITTER));
    t.ok(at(0.999_999_999) > seconds * 1000 * (1 + JITTER) - 2);
  }
});

const retryAfterCases = [
  { retryAfterMs: 1_000, want: 5_000, why: 'a shorter header does not shorten the wait' },
  { retryAfterMs: 60_000, want: 60_000, why: 'a longer header is honoured' },
  { retryAfterMs: undefined, want: 5_000, why: 'no header, the schedule' },
  {
    retryAfterMs: 7 * 24 * HOUR,
    want: LAST_ATTEMPT_AGE_MS,
    why: 'a header past the end leaves one last attempt',
  },
];

test('Retry-After lengthens a wait, but never beyond the last attempt', async (t) => {
  for (const { retryAfterMs, want, why } of retryAfterCases) {
    t.equal(retryDelayMs({ attempt: 1, jitter: 0.5, retryAfterMs, ageMs: 0 }), want, why);
  }
});

test('no combination of attempt, jitter, header and age leads to a wait beyond 24 h', async () => {
  const failed = fc.record({
    attempt: fc.integer({ min: 1, max: 40 }),
    jitter: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    retryAfterMs: fc.option(fc.integer({ min: 0, max: 10 * 24 * HOUR }), { nil: undefined }),
    ageMs: fc.integer({ min: 0, max: 25 * HOUR }),
  });
  fc.assert(
    fc.property(failed, (input) => {
      const delay = retryDelayMs(input);
      if (delay === undefined) return input.ageMs >= LAST_ATTEMPT_AGE_MS;
      return delay > 0 && input.ageMs + delay < DELIVERY_LIFETIME_MS;
    }),
  );
});
