/**
 * Coverage in sampling intervals. For any pace, delays and pauses of the source, observed samples
 * never exceed expected ones, a source that keeps the pace has none missing, and no pace hides a
 * gap.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { expectedIntervals, observedIntervals } from '../../streams/telemetry/metrics/coverage.ts';
import { tries } from '../support/tries.ts';

const INTERVAL_MS = 30_000;
const OPTIONS = { seed: 20_261_123, numRuns: tries(2_000) };

/** Observation times of a source: its steps, each with its own delay. */
const source = fc.record({
  firstMs: fc.nat(600_000),
  steps: fc.array(fc.integer({ min: 1, max: 4 * INTERVAL_MS }), { maxLength: 200 }),
});

test('API-01: observed samples never exceed expected ones', async (t) => {
  const range = fc.record({ fromMs: fc.nat(900_000), seconds: fc.integer({ min: 1, max: 7_200 }) });
  const property = fc.property(source, range, ({ firstMs, steps }, { fromMs, seconds }) => {
    const times = [firstMs];
    for (const step of steps) times.push((times.at(-1) ?? 0) + step);
    const toMs = fromMs + seconds * 1_000;
    const within = times.filter((timeMs) => timeMs > fromMs && timeMs <= toMs);
    const expected = expectedIntervals({ fromMs, toMs, knownMs: firstMs });
    const observed = observedIntervals(within).within(expected);
    return observed <= expected && observed > 0 === within.length > 0;
  });
  fc.assert(property, OPTIONS);
  t.pass();
});

test('a source that keeps the pace is complete, however late each reading is', async (t) => {
  const delays = fc.array(fc.nat(INTERVAL_MS / 2 - 1), { minLength: 1, maxLength: 200 });
  const property = fc.property(delays, fc.nat(INTERVAL_MS), ([first = 0, ...rest], phaseMs) => {
    // Later than the first one by at most half an interval, so each stays in its own interval.
    const times = [0, ...rest.map((delayMs, i) => (i + 1) * INTERVAL_MS + delayMs)];
    const shifted = times.map((timeMs) => timeMs + first);
    const range = { fromMs: first - phaseMs - 1, toMs: (shifted.at(-1) ?? 0) + phaseMs };
    const expected = expectedIntervals({ ...range, knownMs: first });
    return observedIntervals(shifted).count === shifted.length && expected >= shifted.length - 1;
  });
  fc.assert(property, OPTIONS);
  t.pass();
});

test('API-01: a source faster than the interval hides no gap', async (t) => {
  const everyTenSeconds = Array.from({ length: 360 }, (_, i) => (i + 1) * 10_000);
  const hour = { fromMs: 0, toMs: 3_600_000 };
  const expected = expectedIntervals(hour);
  t.equal(expected, 120);
  t.equal(observedIntervals(everyTenSeconds).within(expected), 120);
  const withGap = everyTenSeconds.filter((timeMs) => timeMs <= 1_200_000 || timeMs > 2_400_000);
  const observed = observedIntervals(withGap).within(expected);
  t.ok(observed >= 79 && observed <= 82, `20 of 60 minutes are missing: ${observed} of 120`);
});

test('samples are expected from the first known one on, including it', async (t) => {
  const hour = { fromMs: 0, toMs: 3_600_000 };
  t.equal(expectedIntervals({ ...hour, knownMs: 3_000_000 }), 21);
  t.equal(expectedIntervals({ ...hour, knownMs: 3_600_000 }), 1);
  t.equal(expectedIntervals({ ...hour, knownMs: 3_600_001 }), 0);
  t.equal(expectedIntervals({ fromMs: 0, toMs: 1_000 }), 1, 'one of a short range');
  t.equal(expectedIntervals({ fromMs: 5, toMs: 5 }), 0);
});
