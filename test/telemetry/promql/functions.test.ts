/**
 * Functions of instant vectors, scalars and labels, on columns of three steps. Values are computed
 * by hand, and those of dates are compared with the language's calendar.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { tries } from '../../support/tries.ts';
import { type Argument, callFunction, equals, GRID, rowsOf, vector } from './function-call.ts';

const rows = (name: string, ...args: Argument[]) => rowsOf(callFunction(name, args).value);
const none = { type: 'vector', series: [] } as const;
const SAME_LABELS = 'vector cannot contain metrics with the same labelset';
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

test('a function of one number drops the name and leaves absent elements absent', async (t) => {
  const input = vector({ '__name__=x,a=1': [-1.5, null, 2.25], '__name__=x,a=2': [nan, inf, 0] });
  t.same(rows('abs', input), { 'a=1': [1.5, null, 2.25], 'a=2': [nan, inf, 0] });
  t.same(rows('ceil', input), { 'a=1': [-1, null, 3], 'a=2': [nan, inf, 0] });
  t.same(rows('sgn', input), { 'a=1': [-1, null, 1], 'a=2': [nan, 1, 0] });
  t.same(rows('sqrt', input), { 'a=1': [nan, null, 1.5], 'a=2': [nan, inf, 0] });
});

test('every mathematical function has its known value at 1', async (t) => {
  const wanted: Readonly<Record<string, number>> = {
    exp: Math.E,
    ln: 0,
    log2: 0,
    log10: 0,
    floor: 1,
    deg: 180 / Math.PI,
    rad: Math.PI / 180,
    sin: 0.8414709848,
    cos: 0.5403023059,
    tan: 1.5574077247,
    asin: Math.PI / 2,
    acos: 0,
    atan: Math.PI / 4,
    sinh: 1.1752011936,
    cosh: 1.5430806348,
    tanh: 0.761594156,
    asinh: 0.881373587,
    acosh: 0,
    atanh: inf,
  };
  for (const [name, value] of Object.entries(wanted)) {
    const found = rows(name, vector({ '': [1, 1, 1] }))[''];
    t.ok(Object.is(found?.[0], value) || Math.abs(Number(found?.[0]) - value) < 1e-9, name);
  }
});

test('round() rounds halves up, to the nearest requested multiple', async (t) => {
  const input = vector({ '': [2.5, -2.5, 7.49] });
  t.same(rows('round', input), { '': [3, -2, 7] });
  t.same(rows('round', input, 5), { '': [5, 0, 5] });
  t.same(rows('round', input, [0.1, 1, 10]), { '': [2.5, -2, 10] });
});

test('clamping keeps values between limits, and returns nothing if they are reversed', async (t) => {
  const input = vector({ '__name__=x': [-5, 5, 50] });
  t.same(rows('clamp', input, 0, 10), { '': [0, 5, 10] });
  t.same(rows('clamp', input, [0, 9, 0], [10, 8, 10]), { '': [0, null, 10] });
  t.same(rows('clamp_min', input, 0), { '': [0, 5, 50] });
  t.same(rows('clamp_max', input, nan), { '': [nan, nan, nan] });
  t.same(rows('clamp_max', vector({ '': [nan, 1, 2] }), -inf), { '': [-inf, -inf, -inf] });
});

test('series equal without their names are merged if no step has both, and otherwise refused', async (t) => {
  const apart = vector({ '__name__=x': [1, null, null], '__name__=y': [null, 2, null] });
  t.same(rows('abs', apart), { '': [1, 2, null] });
  const together = vector({ '__name__=x': [1, 2, null], '__name__=y': [null, 2, null] });
  t.throws(() => rows('abs', together), {
    kind: 'execution',
    message: 'vector cannot contain metrics with the same labelset',
  });
});

test('parts of a date are those of the Gregorian calendar in UTC', async (t) => {
  const seconds = fc.oneof(
    fc.integer({ min: -8.6e12, max: 8.6e12 }),
    fc.integer({ min: -4e9, max: 8e9 }),
    fc.constantFrom(951_782_400, 951_868_799, 1_709_164_800, -1, 0, 4_107_542_400),
  );
  const day = 86_400_000;
  fc.assert(
    fc.property(seconds, fc.double({ min: 0, max: 0.9, noNaN: true }), (second, fraction) => {
      const date = new Date(second * 1000);
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      const newYear = new Date(0).setUTCFullYear(year, 0, 1);
      const monthDays = new Date(new Date(0).setUTCFullYear(year, month + 1, 0)).getUTCDate();
      const wanted = {
        year,
        month: month + 1,
        day_of_month: date.getUTCDate(),
        hour: date.getUTCHours(),
        minute: date.getUTCMinutes(),
        day_of_week: date.getUTCDay(),
        day_of_year: Math.floor((date.getTime() - newYear) / day) + 1,
        days_in_month: monthDays,
      };
      const input = vector({ '': [second >= 0 ? second + fraction : second, null, null] });
      for (const [name, value] of Object.entries(wanted)) {
        t.same(rows(name, input)[''], [value, null, null], `${name} of ${second}`);
      }
    }),
    { numRuns: tries(200) },
  );
});

test('parts of a date default to the step’s; beyond all dates they are those of 2^63', async (t) => {
  t.same(rows('minute'), { '': [1, 2, 3] });
  t.same(rows('year', vector({ '': [nan, inf, -1e300] })), { '': Array(3).fill(292277026596) });
  t.same(rows('day_of_year', vector({ '': [nan, inf, 1e19] })), { '': [339, 339, 339] });
});

test('time, pi, vector and scalar convert between the types', async (t) => {
  t.same(callFunction('time', []).value, { type: 'scalar', values: Float64Array.of(60, 120, 180) });
  t.same(callFunction('pi', []).value, {
    type: 'scalar',
    values: new Float64Array(3).fill(Math.PI),
  });
  t.same(rows('vector', [1, nan, 3]), { '': [1, nan, 3] });
  const input = vector({ 'a=1': [1, 2, null], 'a=2': [null, 3, null] });
  t.same(callFunction('scalar', [input]).value, {
    type: 'scalar',
    values: Float64Array.of(1, nan, nan),
  });
  t.same(rows('timestamp', vector({ '__name__=x': [60, 90, null] })), { '': [60, 90, null] });
});

test('an instant vector is sorted either way with NaN last; a range has no order', async (t) => {
  const grid = { startMs: 0, stepMs: 1, count: 1 };
  const input = vector({
    'a=1': [nan],
    'a=2': [-inf],
    '__name__=x,a=3': [7],
    'a=4': [null],
    'a=5': [inf],
    'a=6': [-inf],
  });
  const order = (name: string) => Object.keys(rowsOf(callFunction(name, [input], grid).value));
  t.same(order('sort'), ['a=2', 'a=6', '__name__=x,a=3', 'a=5', 'a=1']);
  t.same(order('sort_desc'), ['a=5', '__name__=x,a=3', 'a=2', 'a=6', 'a=1']);
  const range = vector({ 'a=1': [2, 1, 1], 'a=2': [1, 2, 2] });
  t.same(Object.keys(rows('sort', range)), ['a=1', 'a=2']);
  t.same(callFunction('sort', [range]).warnings, [
    'PromQL warning: sort is ineffective for range queries since results are always ordered by labels (1:1)',
  ]);
});

test('absent has each label that exactly one = matcher requires', async (t) => {
  const matchers = [equals('__name__', 'x'), equals('a', 'b'), equals('c', 'd'), equals('c', 'd')];
  const absent = (input: Argument) => rowsOf(callFunction('absent', [input], GRID, matchers).value);
  t.same(absent(vector({ 'a=b': [1, null, null], 'a=c': [null, null, nan] })), {
    'a=b': [null, 1, null],
  });
  t.same(absent(vector({})), { 'a=b': [1, 1, 1] });
  t.same(absent(vector({ 'a=b': [0, 0, 0] })), {});
});

test('a label is replaced if the whole source matches', async (t) => {
  const replace = (...args: string[]) =>
    Object.keys(rows('label_replace', vector({ '__name__=x,a=b-17': [1, 2, 3] }), ...args))[0];
  const cases: [string[], string, string][] = [
    [['to', '$1', 'a', '(.*)-.*'], '__name__=x,a=b-17,to=b', 'a group by number'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the notation under test.
    [['to', '${1}x$2', 'a', '(.*)-(.*)'], '__name__=x,a=b-17,to=bx17', 'a group in braces'],
    [['to', '$1x', 'a', '(.*)-.*'], '__name__=x,a=b-17', '$1x is another group'],
    [['to', '$vm', 'a', '(?P<vm>b).*'], '__name__=x,a=b-17,to=b', 'a group by name'],
    [['to', '$$1 $-', 'a', '.*'], '__name__=x,a=b-17,to=$1 $-', 'literal dollars'],
    [['to', '$7$01', 'a', '(.*)'], '__name__=x,a=b-17', 'missing groups'],
    [['to', 'x', 'a', 'b'], '__name__=x,a=b-17', 'a partial match does not count'],
    [['to', 'x$1', 'none', '(.*)'], '__name__=x,a=b-17,to=x', 'a missing label'],
    [['a', '', 'a', '.*'], '__name__=x', 'an empty label is removed'],
    [['__name__', 'y', 'a', '.*'], '__name__=y,a=b-17', 'the name'],
    [['a b', 'y', 'a', '.*'], '__name__=x,a=b-17,a b=y', 'any text is a name'],
  ];
  for (const [args, wanted, why] of cases) t.equal(replace(...args), wanted, why);
});

test('labels are joined in the requested order', async (t) => {
  const input = vector({ 'a=1,b=2': [1, 2, 3] });
  t.same(rows('label_join', input, 'to', '-', 'b', 'none', 'a'), { 'a=1,b=2,to=2--1': [1, 2, 3] });
  t.same(rows('label_join', input, 'a', '-'), { 'b=2': [1, 2, 3] });
});

test('a bad regular expression or label name is refused even if nothing is selected', async (t) => {
  const cases: [string, string[], string][] = [
    ['label_replace', ['a', '', 'b', '(.*'], 'invalid regular expression in label_replace(): (.*'],
    [
      'label_replace',
      ['\udcff', '', 'b', '.*'],
      'invalid destination label name in label_replace(): \udcff',
    ],
    ['label_replace', ['', '', 'b', '.*'], 'invalid destination label name in label_replace(): '],
    ['label_join', ['', ',', 'b'], 'invalid destination label name in label_join(): '],
    ['label_join', ['a', ',', ''], 'invalid source label name in label_join(): '],
  ];
  for (const [name, args, message] of cases) {
    t.throws(() => rows(name, vector({}), ...args), { kind: 'execution', message });
  }
});

test('relabelling that makes series equal at one step is refused', async (t) => {
  const input = vector({ 'a=1': [1, null, 3], 'a=2': [null, 2, null] });
  t.same(rows('label_replace', input, 'a', '', 'a', '.*'), { '': [1, 2, 3] });
  const both = vector({ 'a=1': [1, 1, 1], 'a=2': [1, 1, 1] });
  t.throws(() => rows('label_join', both, 'a', ''), { message: SAME_LABELS });
});

const buckets = (...counts: [le: string, count: number][]) =>
  vector(
    Object.fromEntries(
      counts.map(([le, count]) => [`__name__=h_bucket,le=${le}`, [count, null, null]]),
    ),
  );

test('a quantile of a histogram is linear within its bucket', async (t) => {
  const quantile = (phi: number, ...counts: [string, number][]) =>
    rows('histogram_quantile', phi, buckets(...counts))['']?.[0];
  const four: [string, number][] = [
    ['+Inf', 100],
    ['1', 10],
    ['2', 60],
    ['4', 90],
  ];
  const cases: [number, [string, number][], number | undefined, string][] = [
    [0.05, four, 0.5, 'from 0 in the lowest'],
    [0.35, four, 1.5, 'half way into the second'],
    [0.95, four, 4, 'beyond the greatest bound: that bound'],
    [-0.1, four, -inf, 'below 0'],
    [1.1, four, inf, 'above 1'],
    [nan, four, nan, 'not a number'],
    [
      0.5,
      [
        ['1', 10],
        ['2', 20],
      ],
      nan,
      'without +Inf',
    ],
    [0.5, [['+Inf', 20]], nan, 'one bucket'],
    [
      0.5,
      [
        ['1', 0],
        ['+Inf', 0],
      ],
      nan,
      'nothing observed',
    ],
    [
      0.1,
      [
        ['-1', 10],
        ['1', 20],
        ['+Inf', 20],
      ],
      -1,
      'in the lowest, when its bound is negative',
    ],
    [
      0.5,
      [
        ['1', 5],
        ['1.0', 5],
        ['2', 20],
        ['+Inf', 20],
      ],
      1,
      'equal bounds add up',
    ],
  ];
  for (const [phi, counts, wanted, why] of cases) t.same(quantile(phi, ...counts), wanted, why);
});

test('falling counts are raised with an info, and rounding errors without', async (t) => {
  const falling = buckets(['1', 10], ['2', 8], ['4', 20], ['+Inf', 20]);
  const { value, infos } = callFunction('histogram_quantile', [0.75, falling]);
  t.same(rowsOf(value), { '': [3, null, null] });
  t.same(infos, [
    'PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile) for metric name "h_bucket" (1:2)',
  ]);
  const rounded = buckets(['1', 10], ['2', 10 - 1e-12], ['+Inf', 20]);
  t.same(callFunction('histogram_quantile', [0.75, rounded]).infos, []);
});

test('a bucket without a bound causes a warning and is left out', async (t) => {
  const input = vector({
    '__name__=a': [1, 1, 1],
    '__name__=b,le=x\n': [1, 1, 1],
    '__name__=c,le=1e999': [null, null, null],
  });
  const { value, warnings } = callFunction('histogram_quantile', [0.5, input]);
  t.same(value, none);
  const text = 'PromQL warning: bucket label "le" is missing or has a malformed value of';
  t.same(warnings, [
    `${text} "" for metric name "a" (1:2)`,
    `${text} "x\\n" for metric name "b" (1:2)`,
  ]);
});

test('an invalid φ causes a warning even without a histogram', async (t) => {
  t.same(callFunction('histogram_quantile', [[0.5, 2, 123456789], vector({})]).warnings, [
    'PromQL warning: quantile value should be between 0 and 1, got 2 (1:1)',
    'PromQL warning: quantile value should be between 0 and 1, got 1.23456789e+08 (1:1)',
  ]);
});

test('the share of a histogram between two values is linear within its buckets', async (t) => {
  const input = buckets(['0', 0], ['1', 10], ['2', 60], ['+Inf', 100]);
  const share = (lower: number, upper: number) =>
    rows('histogram_fraction', lower, upper, input)['']?.[0];
  t.equal(share(-inf, inf), 1);
  t.equal(share(0.5, 1.5), 0.3);
  t.equal(share(2, inf), 0.4);
  t.equal(share(2, 1), 0);
  t.same(share(nan, 1), nan);
  const negative = buckets(['-3', 10], ['-2', 12], ['+Inf', 100]);
  t.same(rows('histogram_fraction', -4, -2, negative)[''], [0.02, null, null]);
  const positive = buckets(['1', 10], ['+Inf', 20]);
  t.same(rows('histogram_fraction', 0.5, 1, positive)[''], [0.25, null, null]);
});

test('two histograms that differ only in name are refused at one step', async (t) => {
  const input = vector({ '__name__=a,le=+Inf': [1, 1, 1], '__name__=b,le=+Inf': [1, 1, 1] });
  t.throws(() => rows('histogram_quantile', 0.5, input), { message: SAME_LABELS });
});

test('functions of native histograms return nothing', async (t) => {
  for (const name of ['avg', 'count', 'sum', 'stddev', 'stdvar']) {
    t.same(callFunction(`histogram_${name}`, [vector({ 'a=1': [1, 2, 3] })]).value, none);
  }
});
