/**
 * The engine as its callers use it: the forms of answers, refusals before any work, and that a
 * query stops on request and takes no more than its budget. The scripts test the meaning of
 * expressions.
 *
 * Own process: it measures memory outside of the heap.
 */
import { test } from 'tap';
import { Budget, type BudgetLimits } from '../../../src/telemetry/promql/budget.ts';
import {
  type QueryResult,
  queryInstant,
  queryRange,
} from '../../../src/telemetry/promql/engine/engine.ts';
import type { PromqlErrorKind } from '../../../src/telemetry/promql/errors.ts';
import { Labels } from '../../../src/telemetry/promql/values.ts';
import { MemorySource } from './memory-source.ts';

const SERIES = 100;
const SAMPLES = 120;
const SCRAPE_MS = 30_000;
const COLUMN_STEP_BYTES = 9;

const source = new MemorySource();
for (let vm = 0; vm < SERIES; vm++) {
  for (const name of ['a', 'b_total']) {
    const labels = Labels.fromRecord({ __name__: name, vm: `${vm}`, dc: `${vm % 4}` });
    const samples = Array.from({ length: SAMPLES }, (_, i) => ({
      timeMs: i * SCRAPE_MS,
      value: i % (vm + 2),
    }));
    source.add(labels, samples);
  }
}

const WIDE: BudgetLimits = { bytesMax: 1e9, samplesMax: 1e9 };
const HOUR = { startMs: 0, endMs: SAMPLES * SCRAPE_MS, stepMs: SCRAPE_MS };

function range(expression: string, budget = new Budget(WIDE)): QueryResult {
  return queryRange({ expression, ...HOUR }, { source, budget });
}

function instant(expression: string, timeMs = 0, budget = new Budget(WIDE)): QueryResult {
  return queryInstant({ expression, timeMs }, { source, budget });
}

/** At least one expression for each operator that works on one series or one step at a time. */
const EXPRESSIONS = [
  'a',
  'a @ 60',
  'a * 2',
  'a > 3',
  'a > bool 3',
  'a + ignoring() b_total',
  'a * on(dc) group_left sum by (dc) (b_total)',
  'a and b_total',
  'a or b_total',
  'a unless on(vm) b_total',
  '-a',
  'sum(a)',
  'avg by (dc) (a)',
  'count(a)',
  'max(a)',
  'group(a)',
  'stddev(a)',
  'quantile(0.5, a)',
  'topk(3, a)',
  'bottomk by (dc) (2, a)',
  'count_values("v", a)',
  'rate(b_total[5m])',
  'max_over_time(a[5m:1m])',
  'sum_over_time(rate(b_total[2m])[5m:1m] offset 1m)',
  'timestamp(a)',
  'timestamp(a + 0)',
  'abs(a)',
  'scalar(a)',
  'label_replace(a, "x", "$1", "vm", "(.*)")',
  'histogram_quantile(0.9, a)',
  'sort(a)',
  'absent(a)',
  'a / (a + a)',
];

test('every operator: checks for cancellation at least once per series', async (t) => {
  for (const expression of EXPRESSIONS) {
    let looks = 0;
    range(
      expression,
      new Budget(WIDE, () => {
        looks++;
        return undefined;
      }),
    );
    t.ok(looks >= SERIES, `${expression}: ${looks} looks`);
    for (const [reason, at] of [['canceled', 1] as const, ['timeout', looks] as const]) {
      let left = at;
      const budget = new Budget(WIDE, () => (--left <= 0 ? reason : undefined));
      const message = `query ${reason === 'timeout' ? 'timed out' : 'was canceled'} in expression evaluation`;
      t.throws(() => range(expression, budget), { kind: reason, message }, `${expression} ${at}`);
    }
  }
});

test('memory: a query that would need 10 GB is refused before it takes any', async (t) => {
  // 100 series, or 1 for a scalar, at a suitable number of steps.
  const cases = [
    ...EXPRESSIONS.filter((expression) => !expression.includes('@')).map((expression) => ({
      expression,
      steps: 12_000_000,
    })),
    { expression: '1', steps: 1_200_000_000 },
    { expression: 'time() > bool 5', steps: 1_200_000_000 },
    { expression: 'sum(a @ 60) or vector(1)', steps: 1_200_000_000 },
  ];
  const before = process.memoryUsage().arrayBuffers;
  for (const { expression, steps } of cases) {
    const budget = new Budget({ bytesMax: 64e6, samplesMax: 1e12 });
    const query = { expression, startMs: 0, endMs: steps - 1, stepMs: 1 };
    t.throws(() => queryRange(query, { source, budget }), MEMORY, `${expression} over ${steps}`);
    const grown = process.memoryUsage().arrayBuffers - before;
    t.ok(grown < 70e6, `${expression}: ${grown} bytes`);
  }
  const budget = new Budget({ bytesMax: 64e6, samplesMax: 1e12 });
  const subquery = 'max_over_time(a[1000d:1s])';
  t.throws(() => instant(subquery, 0, budget), MEMORY, `${subquery} at one time`);
});

const MEMORY = {
  kind: 'execution',
  message: /^query processing would need more than 64000000 bytes/,
};

test('memory: an operator’s input is returned, and no more than was taken', async (t) => {
  // The found series and their label sets stay, the same number for any steps.
  const used = (expression: string, steps: number) => {
    const budget = new Budget(WIDE);
    const stepMs = (SAMPLES * SCRAPE_MS) / (steps - 1);
    queryRange({ expression, ...HOUR, stepMs }, { source, budget });
    return budget;
  };
  for (const expression of EXPRESSIONS) {
    const whole = `sum(${expression.startsWith('scalar') ? `vector(${expression})` : expression})`;
    const left = used(whole, 1201).bytes - used(whole, 121).bytes;
    const columns = left / (1080 * COLUMN_STEP_BYTES);
    // Left: the answer, and columns that the expression keeps for a second use.
    const kept = expression === 'a / (a + a)' ? SERIES : 0;
    t.ok(columns <= kept + 6, `${expression}: ${columns} columns are left`);
    t.ok(columns >= kept, `${expression}: ${columns} columns are not returned twice`);
  }
  const peak = (expression: string) =>
    (used(expression, 1201).bytesPeak - used(expression, 121).bytesPeak) /
    (1080 * COLUMN_STEP_BYTES);
  const chain = peak('a + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1');
  t.ok(chain < 3 * SERIES, `a long chain needs ${chain} columns at once`);
  const shared = peak('a + (a + (a + (a + (a + a))))');
  t.ok(shared < 4 * SERIES, `a selector written six times needs ${shared} columns at once`);
});

test('samples beyond the limit are not read', async (t) => {
  const budget = () => new Budget({ bytesMax: 1e9, samplesMax: 5000 });
  const message = /^query processing would read more than 5000 samples/;
  for (const expression of ['a', 'rate(b_total[5m])', 'max_over_time(a[5m:1m])']) {
    t.throws(() => range(expression, budget()), { kind: 'execution', message }, expression);
    t.doesNotThrow(() => instant(expression, 0, budget()), `${expression} at one step`);
  }
  const used = budget();
  instant('a', 0, used);
  t.equal(used.samples, SERIES);
});

test('range query: its answer is a matrix, sorted by labels', async (t) => {
  const scalar = range('2 * 3').data;
  t.match(scalar, { type: 'matrix', series: { length: 1 } });
  t.same(scalar.type === 'matrix' && scalar.series[0]?.labels.pairs, []);
  t.same(scalar.type === 'matrix' && scalar.series[0]?.values.every((value) => value === 6), true);
  const { data } = range('topk(5, a)');
  const vms = data.type === 'matrix' ? data.series.map(({ labels }) => labels.key) : [];
  t.same(vms, vms.toSorted());
  t.ok(vms.length > 5, 'over time others are at the top');
  t.same(range('a > 1e6').data, { type: 'matrix', series: [] });
});

test('range query: a string or a range has no answer', async (t) => {
  for (const [expression, type] of [
    ['"text"', 'string'],
    ['a[5m]', 'range vector'],
    ['(a[5m:1m])', 'range vector'],
  ] as const) {
    const message = `invalid expression type "${type}" for range query, must be Scalar or instant Vector`;
    t.throws(() => range(expression), { kind: 'bad_data', message });
  }
});

test('range query: bounds that form no grid are refused', async (t) => {
  const ask = (bounds: object) =>
    queryRange({ expression: 'a', ...HOUR, ...bounds }, { source, budget: new Budget(WIDE) });
  for (const stepMs of [0, -1, Number.NaN]) {
    t.throws(() => ask({ stepMs }), { kind: 'bad_data', message: /step/ });
  }
  t.throws(() => ask({ startMs: 2, endMs: 1 }), { kind: 'bad_data', message: /before/ });
  const { data } = ask({ startMs: 5, endMs: 5 });
  t.match(data, { type: 'matrix', series: { length: SERIES } }, 'one step is a valid range');
});

test('instant query: each type has its own form', async (t) => {
  t.same(instant('1 + 1', 7).data, { type: 'scalar', timeMs: 7, value: 2 });
  t.same(instant('("x")', 7).data, { type: 'string', timeMs: 7, value: 'x' });
  const vector = instant('a{vm="1"}', 90_000).data;
  t.match(vector, { type: 'vector', timeMs: 90_000, samples: [{ value: 0 }] });
  const matrix = instant('a{vm="1"}[1m]', 90_000).data;
  t.match(matrix, { type: 'matrix', series: [{ timesMs: [60_000, 90_000], values: [2, 0] }] });
  const offset = instant('(a{vm="1"}[1m] offset 1m @ 150)').data;
  t.match(offset, { type: 'matrix', series: [{ timesMs: [60_000, 90_000] }] });
  const steps = instant('a{vm="1"}[2m:1m]', 150_000).data;
  t.match(steps, { type: 'matrix', series: [{ timesMs: [60_000, 120_000], values: [2, 1] }] });
  t.same(instant('nothing[5m]').data, { type: 'matrix', series: [] });
});

test('instant query: a matrix is joined over the runs of the source', async (t) => {
  const short = new MemorySource(3);
  const times = [0, 1, 2, 3, 4, 5, 6, 7].map((second) => second * 1000);
  short.add(
    Labels.fromRecord({ __name__: 'm' }),
    times.map((timeMs) => ({ timeMs, value: timeMs === 4000 ? 'stale' : timeMs })),
  );
  const deps = { source: short, budget: new Budget(WIDE) };
  const { data } = queryInstant({ expression: 'm[6s]', timeMs: 6500 }, deps);
  const expected = [1000, 2000, 3000, 5000, 6000];
  t.match(data, { series: [{ timesMs: expected, values: expected }] });
});

test('instant query: a vector keeps the order of sort and topk', async (t) => {
  const valuesOf = (expression: string) => {
    const { data } = instant(expression, 60 * SCRAPE_MS);
    return data.type === 'vector' ? data.samples.map(({ value }) => value) : [];
  };
  const ascending = valuesOf('sort(a)');
  t.same(
    ascending,
    ascending.toSorted((a, b) => a - b),
  );
  t.same(valuesOf('sort_desc(a)'), ascending.toReversed());
  t.same(valuesOf('topk(4, a)'), ascending.toReversed().slice(0, 4));
  t.same(valuesOf('bottomk(4, a)'), ascending.slice(0, 4));
});

test('options: lookback and the step of subqueries are as requested', async (t) => {
  const end = (SAMPLES - 1) * SCRAPE_MS;
  const ask = (expression: string, options: object) =>
    queryInstant(
      { expression, timeMs: end + 60_000, ...options },
      { source, budget: new Budget(WIDE) },
    ).data;
  t.match(ask('count(a)', {}), { samples: [{ value: SERIES }] });
  t.match(ask('count(a)', { lookbackMs: 60_000 }), { samples: { length: 0 } });
  t.match(ask('count(a)', { lookbackMs: 60_001 }), { samples: [{ value: SERIES }] });
  const count = 'max(count_over_time(a[10m:]))';
  t.match(ask(count, {}), { samples: [{ value: 10 }] });
  t.match(ask(count, { subqueryStepMs: 300_000 }), { samples: [{ value: 2 }] });
});

test('annotations: each text appears once, with its position', async (t) => {
  const { warnings, infos } = range('quantile(1.5, a) + quantile(1.5, a)\n + on() quantile(2, a)');
  t.same(warnings, [
    'PromQL warning: quantile value should be between 0 and 1, got 1.5 (1:10)',
    'PromQL warning: quantile value should be between 0 and 1, got 1.5 (1:29)',
    'PromQL warning: quantile value should be between 0 and 1, got 2 (2:18)',
  ]);
  t.same(infos, []);
  t.match(range('rate(a[5m])').infos, [/^PromQL info: metric might not be a counter.*\(1:6\)$/]);
});

test('errors: each has its kind', async (t) => {
  const refused = (expression: string, kind: PromqlErrorKind) => {
    t.throws(() => range(expression), { name: 'PromqlError', kind, message: /./ });
  };
  refused('a +', 'bad_data');
  refused('sum(1)', 'bad_data');
  refused('a + on(dc) b_total', 'execution');
  refused('topk(NaN, a)', 'execution');
});
