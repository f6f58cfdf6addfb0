/**
 * The operators as a whole, compared with their equivalents: a range query with the instant queries
 * of its steps, a selector with one that reads every sample, a ranking with a sort. On generated
 * series with gaps, stale markers, NaN and equal values, split into runs of irregular lengths.
 */
import { test } from 'tap';
import { Budget } from '../../../src/telemetry/promql/budget.ts';
import { queryInstant, queryRange } from '../../../src/telemetry/promql/engine/engine.ts';
import type { Selection, SeriesSource } from '../../../src/telemetry/promql/series-source.ts';
import { Labels } from '../../../src/telemetry/promql/values.ts';
import { type MemorySample, MemorySource } from './memory-source.ts';

const LIMITS = { bytesMax: 1e9, samplesMax: 1e9 };
const SCRAPE_MS = 15_000;
/** More than one block of steps, but not a multiple of it. */
const STEPS = 150;

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sampleOf(random: () => number, timeMs: number): MemorySample {
  const kind = random();
  if (kind < 0.02) return { timeMs, value: 'stale' };
  if (kind < 0.04) return { timeMs, value: Number.NaN };
  if (kind < 0.05) return { timeMs, value: Number.POSITIVE_INFINITY };
  return { timeMs, value: Math.floor(random() * 10) };
}

function generate(seed: number): MemorySource {
  const random = dice(seed);
  const source = new MemorySource(1 + Math.floor(random() * 40));
  for (const name of ['a', 'b_total', 'c']) {
    for (const vm of ['1', '2', '3']) {
      for (const device of ['x', 'y']) {
        const samples: MemorySample[] = [];
        for (let timeMs = 0; timeMs < STEPS * SCRAPE_MS; timeMs += SCRAPE_MS) {
          if (random() < 0.02) timeMs += Math.floor(random() * 600_000);
          samples.push(sampleOf(random, timeMs + Math.floor(random() * 5000)));
        }
        source.add(Labels.fromRecord({ __name__: name, vm, device }), samples);
      }
    }
  }
  return source;
}

const EXPRESSIONS = [
  'a',
  'a offset 3m',
  'a offset -90s',
  'a @ 700',
  'a + c',
  'a / on(vm, device) c',
  'a * on(vm) group_left sum by (vm) (c)',
  'sum by (vm) (a) - on(vm) group_right c',
  'a > c',
  'a <= bool c',
  '3 < a',
  'a % 4 ^ 2',
  '(a atan2 c) * 2',
  'a and c > 5',
  'a or b_total',
  'a unless on(vm) (c == 3)',
  '-{__name__="a"}',
  'sum(a)',
  'avg by (vm) (a)',
  'count without (device) (a)',
  'min(a)',
  'max by (device) (a)',
  'group by (vm) (a)',
  'stddev(a)',
  'stdvar by (vm) (a)',
  'quantile by (device) (0.3, a)',
  'quantile(scalar(sum(c)) / 50, a)',
  'topk(2, a)',
  'bottomk by (vm) (1, a)',
  'topk(scalar(count(c > 4) or vector(0)), a)',
  'count_values("v", a)',
  'rate(b_total[2m])',
  'max_over_time(a[90s] offset 1m)',
  'sum_over_time(a[3m] @ 900)',
  'avg_over_time((a + c)[2m:30s])',
  'max_over_time(sum by (vm) (rate(b_total[1m]))[4m:45s] offset 30s)',
  'count_over_time(a[5m:1m] @ 600)',
  'timestamp(a)',
  'timestamp(a @ 300) + 0 * a',
  'timestamp(-a)',
  'scalar(sum(a)) * 2',
  'vector(time())',
  'a * scalar(max(c))',
  'absent(a > 100)',
  'label_replace(a, "w", "$1", "vm", "(.*)") / ignoring(w) a',
];

test('range query: each step equals the instant query at that step', async (t) => {
  for (const seed of [1, 2, 3]) {
    const source = generate(seed);
    for (const [index, expression] of EXPRESSIONS.entries()) {
      const stepMs = [15_000, 37_000, 240_000][(seed + index) % 3] ?? 0;
      const query = { expression, startMs: -60_000, endMs: 2_500_000, stepMs };
      t.same(rangeText(source, query), instantTexts(source, query), `${seed}: ${expression}`);
    }
  }
});

interface Query {
  readonly expression: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

/** Points of each step as text, so that NaN equals NaN and an error is an answer too. */
function rangeText(source: SeriesSource, query: Query): string[] {
  const { data } = queryRange(query, { source, budget: new Budget(LIMITS) });
  if (data.type !== 'matrix') throw new Error(`A ${data.type} of a range query`);
  const steps = new Map<number, string[]>();
  for (let at = query.startMs; at <= query.endMs; at += query.stepMs) steps.set(at, []);
  for (const { labels, timesMs, values } of data.series) {
    for (const [index, timeMs] of timesMs.entries()) {
      steps.get(timeMs)?.push(pointText(labels, Number(values[index])));
    }
  }
  return [...steps.values()].map((points) => points.sort().join(', '));
}

function instantTexts(source: SeriesSource, { expression, startMs, endMs, stepMs }: Query) {
  const texts: string[] = [];
  for (let timeMs = startMs; timeMs <= endMs; timeMs += stepMs) {
    const deps = { source, budget: new Budget(LIMITS) };
    const { data } = queryInstant({ expression, timeMs }, deps);
    if (data.type === 'scalar') texts.push(pointText(Labels.empty, data.value));
    if (data.type !== 'vector') continue;
    const points = data.samples.map(({ labels, value }) => pointText(labels, value));
    texts.push(points.sort().join(', '));
  }
  return texts;
}

function pointText(labels: Labels, value: number): string {
  return `${JSON.stringify(labels.pairs)} ${value}`;
}

test('a selector gives the newest sample within the lookback, for any runs and steps', async (t) => {
  for (let seed = 10; seed < 40; seed++) {
    const random = dice(seed);
    const samples: MemorySample[] = [];
    for (let timeMs = 0; timeMs < 60_000; timeMs += 1 + Math.floor(random() * 900)) {
      samples.push(sampleOf(random, timeMs));
    }
    const source = new MemorySource(1 + Math.floor(random() * 70));
    source.add(Labels.fromRecord({ __name__: 'm' }), samples);
    const stepMs = 1 + Math.floor(random() * (seed % 2 === 0 ? 300 : 20_000));
    const lookbackMs = 1 + Math.floor(random() * 5000);
    const query = { expression: 'm', startMs: -500, endMs: 62_000, stepMs };
    const { data } = queryRange({ ...query, lookbackMs }, { source, budget: new Budget(LIMITS) });
    const found = data.type === 'matrix' ? data.series : [];
    const points = found.flatMap(({ timesMs, values }) =>
      [...timesMs].map((timeMs, index) => [timeMs, values[index]]),
    );
    t.same(points, naivePoints(samples, query, lookbackMs), `seed ${seed}`);
  }
});

function naivePoints(samples: readonly MemorySample[], query: Query, lookbackMs: number) {
  const points: [number, number][] = [];
  for (let at = query.startMs; at <= query.endMs; at += query.stepMs) {
    const newest = samples.findLast(({ timeMs }) => timeMs <= at);
    if (newest === undefined || newest.value === 'stale') continue;
    if (newest.timeMs > at - lookbackMs) points.push([at, newest.value]);
  }
  return points;
}

test('topk and bottomk give the best of each step, and the first of equal ones', async (t) => {
  const random = dice(77);
  const source = new MemorySource();
  const values = Array.from({ length: 40 }, () => Math.floor(random() * 100));
  for (const [index, value] of values.entries()) {
    const labels = Labels.fromRecord({ __name__: 'm', i: String(index).padStart(2, '0') });
    source.add(labels, [{ timeMs: 0, value }]);
  }
  for (const k of [1, 2, 7, 39, 40, 41]) {
    for (const [name, order] of [['topk', -1] as const, ['bottomk', 1] as const]) {
      const deps = { source, budget: new Budget(LIMITS) };
      const { data } = queryInstant({ expression: `${name}(${k}, m)`, timeMs: 0 }, deps);
      const ranked = data.type === 'vector' ? data.samples.map(({ value }) => value) : [];
      const expected = values.toSorted((a, b) => order * (a - b)).slice(0, k);
      t.same(ranked, expected, `${name}(${k})`);
    }
  }
});

test('equal selectors in an expression are read from the source once', async (t) => {
  const inner = generate(5);
  const requested: Selection[] = [];
  const source: SeriesSource = {
    select: (selection, budget) => {
      requested.push(selection);
      return inner.select(selection, budget);
    },
  };
  const windowsOf = (expression: string) => {
    requested.length = 0;
    const query = { expression, startMs: 600_000, endMs: 900_000, stepMs: 60_000 };
    queryRange(query, { source, budget: new Budget(LIMITS) });
    return requested.map(({ afterMs, throughMs }) => [afterMs, throughMs]);
  };
  const window = [300_000, 900_000];
  t.same(windowsOf('a'), [window], 'from start minus the lookback to the end');
  t.same(windowsOf('a / (a + a) > a'), [window]);
  t.same(windowsOf('rate(a[1m]) / increase(a[1m])'), [[540_000, 900_000]]);
  t.same(windowsOf('sum(a{vm=~"1|2",device="x"}) + sum(a{device="x",vm=~"1|2"})'), [window]);
  t.same(windowsOf('a + a offset 1m'), [window, [240_000, 840_000]]);
  t.same(windowsOf('a + c'), [window, window], 'other matchers are another selection');
  t.same(windowsOf('a @ 100 offset 10s'), [[-210_000, 90_000]], 'one step, not all');
  t.same(windowsOf('max_over_time(a[2m] @ end())'), [[780_000, 900_000]]);
  t.same(windowsOf('max_over_time(a[2m:50s])'), [[200_000, 900_000]], 'steps of 50 s from 500 s');
});

test('operators never write to arrays of the source', async (t) => {
  const inner = generate(6);
  const handed = new Map<Float64Array, Float64Array>();
  const source: SeriesSource = {
    select: (selection, budget) => {
      const series = inner.select(selection, budget);
      for (const run of series.flatMap(({ runs }) => runs)) {
        for (const array of [run.timesMs, run.values]) {
          if (!handed.has(array)) handed.set(array, array.slice());
        }
      }
      return series;
    },
  };
  for (const expression of EXPRESSIONS) {
    const query = { expression, startMs: 0, endMs: 1_000_000, stepMs: 60_000 };
    queryRange(query, { source, budget: new Budget(LIMITS) });
    queryInstant({ expression, timeMs: 500_000 }, { source, budget: new Budget(LIMITS) });
  }
  for (const [array, copy] of handed) t.same(array, copy);
  t.ok(handed.size > 0);
});
