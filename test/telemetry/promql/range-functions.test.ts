/**
 * Functions over ranges, compared with the plainest correct implementation: every window is cut out
 * of all samples, and its value is computed from it alone, for any runs, gaps, steps and overlaps.
 * Also values computed by hand.
 */
import fc from 'fast-check';
import { test } from 'tap';
import type { Grid, RangeValue } from '../../../src/telemetry/promql/values.ts';
import { tries } from '../../support/tries.ts';
import { callFunction, equals, GRID, rangeOf, rangeSeries, rowsOf } from './function-call.ts';

type Sample = readonly [seconds: number, value: number];
interface NaiveWindow {
  readonly samples: readonly Sample[];
  readonly startSeconds: number;
  readonly endSeconds: number;
}

const valuesOf = ({ samples }: NaiveWindow) => samples.map(([, value]) => value);
const numbersOf = (window: NaiveWindow) => valuesOf(window).filter((value) => !Number.isNaN(value));
const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

function naiveChange(window: NaiveWindow, counter: boolean, seconds: number): number | null {
  const { samples, startSeconds, endSeconds } = window;
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || samples.length < 2) return null;
  let change = last[1] - first[1];
  for (let i = 1; counter && i < samples.length; i++) {
    const [before, now] = [samples[i - 1]?.[1] ?? 0, samples[i]?.[1] ?? 0];
    if (now < before) change += before;
  }
  const sampled = last[0] - first[0];
  const distance = sampled / (samples.length - 1);
  const reach = (gap: number) => (gap >= distance * 1.1 ? distance / 2 : gap);
  let before = reach(first[0] - startSeconds);
  if (counter && change > 0 && first[1] >= 0) {
    before = Math.min(before, sampled * (first[1] / change));
  }
  return (change * ((sampled + before + reach(endSeconds - last[0])) / sampled)) / seconds;
}

function pairs(window: NaiveWindow, counts: (before: number, now: number) => boolean): number {
  const values = valuesOf(window);
  return values.filter((now, i) => i > 0 && counts(values[i - 1] as number, now)).length;
}

function naiveVariance(window: NaiveWindow): number {
  const values = valuesOf(window);
  const mean = total(values) / values.length;
  return total(values.map((value) => (value - mean) ** 2)) / values.length;
}

const NAIVE: Readonly<Record<string, (window: NaiveWindow) => number | null>> = {
  rate: (window) => naiveChange(window, true, window.endSeconds - window.startSeconds),
  increase: (window) => naiveChange(window, true, 1),
  delta: (window) => naiveChange(window, false, 1),
  irate: ({ samples }) => {
    const [before, last] = samples.slice(-2);
    if (before === undefined || last === undefined) return null;
    return (last[1] < before[1] ? last[1] : last[1] - before[1]) / (last[0] - before[0]);
  },
  idelta: ({ samples }) => {
    const [before, last] = samples.slice(-2);
    return before === undefined || last === undefined ? null : last[1] - before[1];
  },
  sum_over_time: (window) => total(valuesOf(window)),
  avg_over_time: (window) => total(valuesOf(window)) / window.samples.length,
  max_over_time: (window) => numbersOf(window).reduce((a, b) => (b > a ? b : a), -Infinity),
  min_over_time: (window) => numbersOf(window).reduce((a, b) => (b < a ? b : a), Infinity),
  count_over_time: (window) => window.samples.length,
  present_over_time: () => 1,
  last_over_time: (window) => window.samples.at(-1)?.[1] ?? null,
  changes: (window) => pairs(window, (before, now) => !Object.is(before + 0, now + 0)),
  resets: (window) => pairs(window, (before, now) => now < before),
  stdvar_over_time: naiveVariance,
  stddev_over_time: (window) => Math.sqrt(naiveVariance(window)),
};

interface Scene {
  readonly samples: readonly Sample[];
  readonly cuts: readonly number[];
  readonly grid: Grid;
  readonly rangeSeconds: number;
}

/**
 * Regular samples with jitter and gaps, split anywhere. Windows range from empty to many times the
 * step.
 */
const scenes = (values: fc.Arbitrary<number>): fc.Arbitrary<Scene> =>
  fc
    .record({
      gaps: fc.array(
        fc.oneof(
          { weight: 8, arbitrary: fc.integer({ min: 29, max: 31 }) },
          fc.integer({ min: 1, max: 900 }),
        ),
        { minLength: 1, maxLength: 120 },
      ),
      row: fc.array(values, { minLength: 120, maxLength: 120 }),
      cuts: fc.uniqueArray(fc.integer({ min: 1, max: 119 }), { maxLength: 6 }),
      stepSeconds: fc.constantFrom(7, 30, 60, 300),
      count: fc.integer({ min: 1, max: 60 }),
      startSeconds: fc.integer({ min: 0, max: 1200 }),
      rangeSeconds: fc.constantFrom(1, 30, 61, 300, 1800),
    })
    .map(({ gaps, row, cuts, stepSeconds, count, startSeconds, rangeSeconds }) => {
      let seconds = 0;
      const samples = gaps.map((gap, i): Sample => {
        seconds += gap;
        return [seconds, row[i] as number];
      });
      const grid = { startMs: startSeconds * 1000, stepMs: stepSeconds * 1000, count };
      const sorted = cuts.filter((cut) => cut < samples.length).sort((a, b) => a - b);
      return { samples, cuts: sorted, grid, rangeSeconds };
    });

function naiveRow(name: string, { samples, grid, rangeSeconds }: Scene): (number | null)[] {
  return Array.from({ length: grid.count }, (_, i) => {
    const endSeconds = (grid.startMs + i * grid.stepMs) / 1000;
    const startSeconds = endSeconds - rangeSeconds;
    const inside = samples.filter(([time]) => time > startSeconds && time <= endSeconds);
    if (inside.length === 0) return null;
    return NAIVE[name]?.({ samples: inside, startSeconds, endSeconds }) ?? null;
  });
}

function near(found: number | null, wanted: number | null): boolean {
  if (found === null || wanted === null) return found === wanted;
  return (
    Object.is(found + 0, wanted + 0) || Math.abs(found - wanted) <= 1e-9 * (1 + Math.abs(wanted))
  );
}

const counters = fc.integer({ min: 0, max: 40 }).map((value) => (value < 3 ? value : 1000 + value));
const climbing = fc.constantFrom(0, 1, 2, 3);
const gauges = fc.oneof(
  fc.integer({ min: -50, max: 50 }),
  fc.double({ min: -1e3, max: 1e3, noNaN: true }),
);

function accumulate(scene: Scene): Scene {
  let sum = 0;
  const samples = scene.samples.map(([time, value]): Sample => {
    sum += value;
    return [time, sum];
  });
  return { ...scene, samples };
}

for (const [name, arbitrary] of [
  ...['rate', 'increase', 'irate', 'resets'].flatMap((name) => [
    [name, scenes(counters)] as const,
    [name, scenes(climbing).map(accumulate)] as const,
  ]),
  ...Object.keys(NAIVE)
    .filter((name) => !/rate|increase|resets/.test(name))
    .map((name) => [name, scenes(gauges)] as const),
]) {
  test(`${name} of any windows over any runs equals the result of each window alone`, async () => {
    fc.assert(
      fc.property(arbitrary, (scene) => {
        const { samples, cuts, grid, rangeSeconds } = scene;
        const range = rangeOf([rangeSeries('__name__=x_total', samples, cuts)], rangeSeconds, grid);
        const wanted = naiveRow(name, scene);
        // Twice, because knowledge about a run from the first time must not change the second.
        for (const _ of [1, 2]) {
          const found = Object.values(rowsOf(callFunction(name, [range], grid).value))[0];
          const row = found ?? wanted.map(() => null);
          if (row.every((value, step) => near(value, wanted[step] as number | null))) continue;
          throw new Error(`found ${row}\nwanted ${wanted}`);
        }
      }),
      { numRuns: tries(150) },
    );
  });
}

/** Samples every 30 s from 30 s on. */
const every30 = (values: readonly number[]): Sample[] =>
  values.map((value, i) => [30 * (i + 1), value]);
const row = (name: string, range: RangeValue, grid = GRID) =>
  Object.values(rowsOf(callFunction(name, [range], grid).value))[0];

test('a window includes the sample at its end and not the one at its start', async (t) => {
  const range = rangeOf([rangeSeries('', every30([1, 2, 4, 8, 16, 32]))], 60);
  t.same(row('sum_over_time', range), [3, 12, 48]);
});

test('a rate covers the whole window if samples are as near to its ends as to each other', async (t) => {
  // At 90 s: samples at 30, 60 and 90 s in (0 s, 90 s], 30 s after the start, 0 s before the end.
  const grid = { startMs: 90_000, stepMs: 1, count: 1 };
  const range = rangeOf([rangeSeries('__name__=x_total', every30([100, 110, 120]))], 90, grid);
  t.same(row('increase', range, grid), [30]);
  t.same(row('rate', range, grid), [30 / 90]);
});

test('a counter is not extrapolated below zero before its first sample', async (t) => {
  const grid = { startMs: 90_000, stepMs: 1, count: 1 };
  const range = rangeOf([rangeSeries('__name__=x_total', every30([5, 15, 25]))], 90, grid);
  t.same(row('increase', range, grid), [25]);
  t.same(row('delta', range, grid), [30]);
});

test('a single sample has no rate', async (t) => {
  const range = rangeOf([rangeSeries('__name__=x_total', every30([5]))], 60);
  for (const name of ['rate', 'increase', 'delta', 'irate', 'idelta', 'deriv']) {
    t.same(callFunction(name, [range]).value, { type: 'vector', series: [] }, name);
  }
});

test('the rate of a metric not named as a counter causes one info per name', async (t) => {
  const samples = every30([1, 2, 3, 4]);
  const named = ['a=1,__name__=x', 'a=2,__name__=x', 'a=3,__name__=x_total', 'a=4'];
  const range = rangeOf(
    named.map((text) => rangeSeries(text, samples)),
    60,
  );
  t.same(callFunction('rate', [range]).infos, [
    'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "x" (1:1)',
  ]);
  t.same(callFunction('irate', [range]).infos, []);
});

test('a rate without a value causes no info', async (t) => {
  const range = rangeOf([rangeSeries('__name__=x', every30([1]))], 60);
  t.same(callFunction('rate', [range]).infos, []);
});

test('sums keep small values beside large ones', async (t) => {
  const range = rangeOf([rangeSeries('', every30([1e100, 1, -1e100, 1]), [1])], 300);
  t.same(row('sum_over_time', range), [1e100, 2, 2]);
  t.same(row('avg_over_time', range), [5e99, 0.5, 0.5]);
});

test('an average does not overflow with its sum, but a sum does', async (t) => {
  const great = [1.6e308, 1.6e308, 1.6e308, 1.6e308, 1.6e308, 1.6e308];
  for (const cuts of [[], [3]]) {
    const range = rangeOf([rangeSeries('', every30(great), cuts)], 300);
    t.same(row('avg_over_time', range), [1.6e308, 1.6e308, 1.6e308]);
    t.same(row('sum_over_time', range), [Infinity, Infinity, Infinity]);
  }
  const opposite = rangeOf([rangeSeries('', every30([Infinity, -Infinity]))], 60);
  t.same(row('avg_over_time', opposite), [Number.NaN, null, null]);
});

test('extremes return NaN only if there is nothing else', async (t) => {
  const samples = every30([Number.NaN, 3, Number.NaN, Number.NaN, 7, Number.NaN]);
  t.same(row('max_over_time', rangeOf([rangeSeries('', samples)], 60)), [3, Number.NaN, 7]);
  t.same(row('min_over_time', rangeOf([rangeSeries('', samples)], 600)), [3, 3, 3]);
});

test('overlapping extremes of NaN are those of each window alone', async (t) => {
  const arbitrary = scenes(fc.oneof(gauges, fc.constant(Number.NaN)));
  fc.assert(
    fc.property(arbitrary, ({ samples, cuts, grid, rangeSeconds }) => {
      const range = rangeOf([rangeSeries('', samples, cuts)], rangeSeconds, grid);
      const alone = Array.from(range.endsMs, (endMs) => {
        const single = { startMs: endMs, stepMs: 1, count: 1 };
        return (
          row('max_over_time', rangeOf(range.series, rangeSeconds, single), single)?.[0] ?? null
        );
      });
      t.same(row('max_over_time', range, grid) ?? alone.map(() => null), alone);
    }),
    { numRuns: tries(100) },
  );
});

test('NaN to NaN is not a change; to and from NaN it is', async (t) => {
  const grid = { startMs: 180_000, stepMs: 1, count: 1 };
  const samples = every30([1, Number.NaN, Number.NaN, 1, 1, 2]);
  t.same(row('changes', rangeOf([rangeSeries('', samples)], 600, grid), grid), [3]);
});

test('quantiles are between the two nearest ranks, with NaN below all numbers', async (t) => {
  const grid = { startMs: 180_000, stepMs: 1, count: 1 };
  const quantile = (phi: number, values: readonly number[]) => {
    const range = rangeOf([rangeSeries('', every30(values))], 600, grid);
    return Object.values(rowsOf(callFunction('quantile_over_time', [phi, range], grid).value))[0];
  };
  const cases: [number, number[], number][] = [
    [0.5, [3, 1, 2], 2],
    [0.75, [0, 1, 2, 100], 26.5],
    [0, [4, 2, 9], 2],
    [1, [4, 2, 9], 9],
    [0.8, [5, 5, 5, 5, 5], 5],
    [0.5, [Number.NaN, 1, 2], 1],
    [0, [1, Number.NaN], Number.NaN],
    [-1, [1], -Infinity],
    [2, [1], Infinity],
    [Number.NaN, [1], Number.NaN],
  ];
  for (const [phi, values, wanted] of cases)
    t.same(quantile(phi, values), [wanted], `${phi} of ${values}`);
});

test('a quantile by selection equals the one by sorting', async (t) => {
  const grid = { startMs: 36_000_000, stepMs: 1, count: 1 };
  const values = fc.array(fc.oneof(gauges, fc.constant(Number.NaN)), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (values, phi) => {
      const range = rangeOf([rangeSeries('', every30(values))], 36_000, grid);
      const { value } = callFunction('quantile_over_time', [phi, range], grid);
      const nans = values.filter(Number.isNaN);
      const sorted = [...nans, ...values.filter((one) => !Number.isNaN(one)).sort((a, b) => a - b)];
      const rank = phi * (sorted.length - 1);
      const low = sorted[Math.floor(rank)] as number;
      const high = sorted[Math.min(sorted.length - 1, Math.floor(rank) + 1)] as number;
      const weight = rank - Math.floor(rank);
      t.same(Object.values(rowsOf(value))[0], [low * (1 - weight) + high * weight]);
    }),
  );
});

test('an invalid quantile causes a warning with its number', async (t) => {
  const range = rangeOf([rangeSeries('', every30([1, 2, 3, 4, 5, 6]))], 60);
  const { warnings } = callFunction('quantile_over_time', [[1.5, Number.NaN, -1e-7], range]);
  const text = 'PromQL warning: quantile value should be between 0 and 1, got';
  t.same(warnings, [`${text} 1.5 (1:1)`, `${text} NaN (1:1)`, `${text} -1e-07 (1:1)`]);
});

test('a line is fitted, and extrapolated from the step on', async (t) => {
  const samples = every30([10, 13, 16, 19, 22, 25]);
  const range = rangeOf([rangeSeries('__name__=x', samples)], 90);
  t.same(row('deriv', range), [0.1, 0.1, 0.1]);
  const predicted = callFunction('predict_linear', [range, [0, 60, 600]]).value;
  t.same(rowsOf(predicted)[''], [13, 25, 85]);
  const level = rangeOf([rangeSeries('', every30([7, 7, 7]))], 90);
  t.same(row('deriv', level), [0, 0, null]);
  const infinite = rangeOf([rangeSeries('', every30([Infinity, Infinity]))], 90);
  t.same(row('deriv', infinite), [Number.NaN, null, null]);
});

test('a window fixed in time is the same for every step, but a prediction follows the step', async (t) => {
  const series = [rangeSeries('__name__=x_total', every30([10, 13, 16, 19]))];
  const range = { series, rangeMs: 120_000, endsMs: Float64Array.of(120_000, 120_000, 120_000) };
  t.same(row('sum_over_time', range), [58, 58, 58]);
  const predicted = callFunction('predict_linear', [range, 0]).value;
  t.same(rowsOf(predicted)[''], [13, 19, 25]);
  const once = callFunction('sum_over_time', [range]).budget.samples;
  t.equal(once, 4, 'read once');
});

test('only the last sample keeps the name of its metric', async (t) => {
  const range = rangeOf([rangeSeries('__name__=x,a=b', every30([1, 2, 3]))], 60);
  t.same(rowsOf(callFunction('last_over_time', [range]).value), { '__name__=x,a=b': [2, 3, null] });
  t.same(rowsOf(callFunction('count_over_time', [range]).value), { 'a=b': [2, 1, null] });
});

test('series that are equal without their names are refused, at any steps', async (t) => {
  const one = rangeSeries('__name__=x', every30([1]));
  const other = rangeSeries('__name__=y', [[150, 1]]);
  t.throws(() => callFunction('count_over_time', [rangeOf([one, other], 60)]), {
    kind: 'execution',
    message: 'vector cannot contain metrics with the same labelset',
  });
});

test('absent_over_time has the requested labels where no series has a sample', async (t) => {
  const matchers = [equals('__name__', 'x'), equals('a', 'b'), equals('c', 'd'), equals('c', 'e')];
  const range = rangeOf(
    [rangeSeries('__name__=x,a=b', every30([1, 2])), rangeSeries('__name__=x,a=c', [[150, 1]])],
    60,
  );
  const { value } = callFunction('absent_over_time', [range], GRID, matchers);
  t.same(rowsOf(value), { 'a=b': [null, 1, null] });
  t.same(rowsOf(callFunction('absent_over_time', [rangeOf([], 60)], GRID, matchers).value), {
    'a=b': [1, 1, 1],
  });
});
