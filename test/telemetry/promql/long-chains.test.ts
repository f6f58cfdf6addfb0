/**
 * Chains of operators of the maximum length of an expression: parsed, printed, described and
 * evaluated like short ones, in a number of steps proportional to their length and on the stack of
 * a main thread.
 */

import { Parser } from '@lezer/common';
import { test } from 'tap';
import { Budget } from '../../../src/telemetry/promql/budget.ts';
import { queryInstant, queryRange } from '../../../src/telemetry/promql/engine/engine.ts';
import { OrChain } from '../../../src/telemetry/promql/operators/binary/set-operators.ts';
import { describeExpression } from '../../../src/telemetry/promql/parse/describe.ts';
import { parseExpression } from '../../../src/telemetry/promql/parse/parse.ts';
import { formatExpression, printExpression } from '../../../src/telemetry/promql/parse/print.ts';
import { Labels, type Value } from '../../../src/telemetry/promql/values.ts';
import { encodeData } from '../../../src/telemetry/query/promql/promql-json.ts';
import { fraction, seededRandom } from '../../../streams/platform/random.ts';
import { MemorySource } from './memory-source.ts';

const LIMITS = { bytesMax: 512 * 1024 * 1024, samplesMax: 1e9 };
const SELECTORS = 1500;
/** With operators of one character each, this fills 16 KiB. */
const TERMS = 8192;

const source = new MemorySource();
source.add(Labels.fromRecord({ __name__: 'a', vm: '1' }), [{ timeMs: 0, value: 1 }]);
for (let i = 0; i < SELECTORS; i++) {
  // Every second one matches the one before it, which an `or` then prefers.
  const labels = Labels.fromRecord({ __name__: `m${i}`, vm: `${i >> 1}` });
  source.add(labels, [{ timeMs: 0, value: i }]);
}

function instant(expression: string, budget = new Budget(LIMITS)) {
  const { data } = queryInstant({ expression, timeMs: 0 }, { source, budget });
  if (data.type === 'scalar') return [data.value];
  if (data.type !== 'vector') throw new Error('It is a scalar or a vector');
  return data.samples.map(({ value }) => value);
}

const chainOf = (term: string, operator: string, count: number): string =>
  Array(count).fill(term).join(operator);
const orChain = (count: number): string =>
  Array.from({ length: count }, (_, i) => `m${i}`).join(' or ');

test('a sum that fills 16 KiB has its value, in an instant and over a range', async (t) => {
  t.same(instant(chainOf('1', '+', TERMS)), [TERMS]);
  t.same(instant(chainOf('a', '+', TERMS)), [TERMS]);
  t.same(instant(chainOf('a', '-', TERMS)), [2 - TERMS]);
  const expression = `${chainOf('a @ 0', ' + ', 1000)} + a${' + 1'.repeat(1000)}`;
  const range = { startMs: 0, endMs: 120_000, stepMs: 60_000 };
  const { data } = queryRange({ expression, ...range }, { source, budget: new Budget(LIMITS) });
  if (data.type !== 'matrix') throw new Error('It is a matrix');
  t.same(Array.from(data.series[0]?.values ?? []), [2001, 2001, 2001]);
});

test('powers associate to the right, however many they are', async (t) => {
  t.same(instant(`2^3^${chainOf('1', '^', TERMS - 2)}`), [8]);
  t.same(instant(`2${'^-1'.repeat(5000)}`), [0.5]);
  t.same(instant(`(2${'^1'.repeat(1000)})^3^2`), [512]);
});

test('thousands of signs cancel each other out, before a number or a series', async (t) => {
  for (const [count, value] of [
    [8000, 1],
    [8001, -1],
  ] as const) {
    t.same(instant(`${'-'.repeat(count)}a`), [value]);
    t.same(instant(`${'-'.repeat(count)}1`), [value]);
    t.same(instant(`${'-'.repeat(count)}a^2`), [value], 'of the power');
    t.same(instant(`2 + a *${' -'.repeat(count)}a`), [2 + value], 'in a chain');
  }
});

test('a chain of or keeps the first of each match, in its order', async (t) => {
  const kept = Array.from({ length: SELECTORS / 2 }, (_, i) => 2 * i);
  t.same(instant(orChain(SELECTORS)), kept);
  const all = Array.from({ length: SELECTORS }, (_, i) => i);
  t.same(instant(orChain(SELECTORS).replaceAll(' or ', ' or on(__name__) ')), all);
  t.same(instant(`(${orChain(1000)}) - 1 > 996`), [997]);
});

test('a chain of or equals its operators one by one at each step', async (t) => {
  const numbers = seededRandom(5);
  const random = () => fraction(numbers);
  const patchy = new MemorySource();
  for (let i = 0; i < 40; i++) {
    for (const vm of ['x', 'y', 'z']) {
      const samples = Array.from({ length: 20 }, (_, step) => ({
        timeMs: step * 60_000,
        value: random() < 0.8 ? ('stale' as const) : i * 100 + step,
      }));
      patchy.add(Labels.fromRecord({ __name__: `m${i % 10}`, vm, i: `${i}` }), samples);
    }
  }
  const range = { startMs: 0, endMs: 19 * 60_000, stepMs: 60_000 };
  const over = (expression: string) => {
    const { data } = queryRange(
      { expression, ...range },
      { source: patchy, budget: new Budget(LIMITS) },
    );
    return data.type === 'matrix' ? data.series : [];
  };
  for (let round = 0; round < 20; round++) {
    const ways =
      round % 2 === 0 ? ['or on(vm)'] : ['or', 'or on(vm)', 'or ignoring(i)', 'unless', '+ 0 or'];
    let chain = 'm0';
    let nested = 'm0';
    for (let i = 1; i < 25; i++) {
      const way = ways[Math.floor(random() * ways.length)] as string;
      const term = `${random() < 0.2 ? '-' : ''}m${Math.floor(random() * 10)}`;
      chain += ` ${way} ${term}`;
      nested =
        way === 'unless' || way === '+ 0 or'
          ? `${nested} ${way} ${term}`
          : `(${nested}) ${way} ${term}`;
    }
    t.same(over(chain), over(nested), chain);
  }
});

/**
 * Value of a chain of numbers, computed the plainest way: the tightest operators first, one by one.
 */
function chainValue(terms: readonly number[], operators: readonly string[]): number {
  const values = [...terms];
  const left = [...operators];
  const replace = (at: number, value: number): void => {
    values.splice(at, 2, value);
    left.splice(at, 1);
  };
  for (let at = left.length - 1; at >= 0; at--) {
    if (left[at] === '^') replace(at, (values[at] as number) ** (values[at + 1] as number));
  }
  for (const level of ['*/%', '+-']) {
    for (let at = 0; at < left.length; ) {
      const operator = left[at] as string;
      if (!level.includes(operator)) at++;
      else replace(at, calculated(operator, values[at] as number, values[at + 1] as number));
    }
  }
  return values[0] as number;
}

function calculated(operator: string, a: number, b: number): number {
  switch (operator) {
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
    default:
      return operator === '+' ? a + b : a - b;
  }
}

test('operators of every precedence bind in one long chain as they do in pairs', async (t) => {
  const numbers = seededRandom(17);
  const random = () => fraction(numbers);
  for (let round = 0; round < 30; round++) {
    const count = round < 25 ? 2 + Math.floor(random() * 20) : 4000;
    const terms = Array.from({ length: count }, () => 1 + Math.floor(random() * 9));
    const operators = Array.from(
      { length: count - 1 },
      () => '+-*/%^'[Math.floor(random() * 6)] as string,
    );
    const expression = terms.map((term, i) => `${term}${operators[i] ?? ''}`).join('');
    t.same(instant(expression), [chainValue(terms, operators)], expression.slice(0, 60));
  }
});

test('a long chain is printed as it was written, and described to its depth', async (t) => {
  for (const text of [
    chainOf('a', ' + ', 4000),
    chainOf('a', ' ^ ', 4000),
    orChain(SELECTORS),
    `${'-'.repeat(TERMS)}a`,
    chainOf('a', ' + on (vm) group_left (x) ', 500),
  ]) {
    t.equal(printExpression(parseExpression(text)), text);
  }
  let described: unknown = describeExpression(parseExpression(chainOf('1', '+', TERMS)));
  t.ok(encodeData(described).length > 100 * TERMS, 'and becomes an answer');
  let depth = 0;
  while (isRecord(described) && described.type === 'binaryExpr') {
    described = described.lhs;
    depth++;
  }
  t.equal(depth, TERMS - 1);
});

test('a formatted chain is indented once more at each operator, up to 4 MiB', async (t) => {
  const lines = formatExpression(parseExpression(orChain(1000))).split('\n');
  const first = orChain(16);
  t.equal(
    lines[0],
    `${'  '.repeat(1000 - 16)}${first}`,
    'text that fits into 100 bytes is one line',
  );
  t.same(lines.slice(-4), ['  or', '    m998', 'or', '  m999']);
  t.equal(formatExpression(parseExpression(`${'-'.repeat(TERMS)}a`)), `${'-'.repeat(TERMS)}a`);
  const long = parseExpression(chainOf('1', '+', TERMS));
  t.throws(() => formatExpression(long), { kind: 'execution', message: /longer than 4194304/ });
});

test('faults of a long chain are reported at their position', async (t) => {
  const chain = chainOf('a', '+', 4000);
  const faults: readonly (readonly [string, RegExp])[] = [
    [`${chain}+`, /^1:8001: parse error: unexpected end of input$/],
    [`${chain}+)`, /^1:8002: parse error: unexpected right parenthesis '\)'$/],
    [`${chain} b+${chain}`, /^1:8001: parse error: unexpected identifier "b"$/],
    [`(${chain}) on(x)`, /^1:8003: parse error: unexpected <on>$/],
    [`${chain}+"x"+a`, /^1:8001: parse error: binary expression must contain only scalar/],
    [`${chain}+foo(a)+a`, /^1:8001: parse error: unknown function with name "foo"$/],
    [`${chain}+on(a,2)a`, /^1:8006: parse error: unexpected number "2" in grouping opts/],
    [`1 + 1 ${'+ 1 '.repeat(3000)} > 1`, /^1:12008: parse error: comparisons between scalars/],
  ];
  for (const [text, message] of faults) {
    t.throws(() => parseExpression(text), { kind: 'bad_data', message }, `${message}`);
  }
});

test('the work for a chain grows with its length', async (t) => {
  const chains: readonly ((count: number) => string)[] = [
    (count) => chainOf('a', ' + ', count),
    (count) => chainOf('a', ' ^ ', count),
    (count) => `${'-'.repeat(count)}a`,
    orChain,
  ];
  for (const chain of chains) {
    const [few, many] = [looksAt(chain(500)), looksAt(chain(1000))];
    t.ok(many > 500, 'it checks for cancellation at each operator');
    t.ok(many <= 2.1 * few, `${many} checks, ${few} for half the length`);
  }
});

test('the grammar sees each kind of piece once, however long the chain is', async (t) => {
  const parses = t.capture(Parser.prototype, 'startParse', Parser.prototype.startParse);
  for (const text of [chainOf('a', ' + ', 4000), `${'-'.repeat(TERMS)}a`, orChain(SELECTORS)]) {
    parseExpression(text);
    const displayed = parses().map(({ args }) => String(args[0]));
    t.ok(displayed.length <= 2, displayed.join());
  }
});

/** Number of series that an `or` has read, over all in a chain. */
function joinedSeries(operands: number): number {
  const or = parseExpression('a or a');
  if (or.kind !== 'binary') throw new Error('It is an or');
  let looked = 0;
  const join = (_: unknown, lhs: Value, rhs: Value): Value => {
    const series = [lhs, rhs].flatMap((side) => (side.type === 'vector' ? side.series : []));
    looked += series.length;
    return { type: 'vector', series };
  };
  const present = new Uint8Array([1]);
  const values = new Float64Array([0]);
  const one = (): Value => ({
    type: 'vector',
    series: [{ labels: Labels.empty, values, present }],
  });
  const chain = new OrChain(or, one(), join);
  for (let i = 1; i < operands; i++) chain.add(or, one());
  chain.value();
  return looked;
}

test('a chain of or reads each series a few times, not once per or', async (t) => {
  t.equal(joinedSeries(1024), 1024 * 10);
  t.ok(joinedSeries(1500) <= 1500 * 11, `${joinedSeries(1500)}`);
});

test('a cancelled query ends within a chain', async (t) => {
  let looks = 0;
  const budget = new Budget(LIMITS, () => (++looks > 5000 ? 'canceled' : undefined));
  t.throws(() => instant(chainOf('1', '+', TERMS), budget), /query was canceled/);
  t.equal(looks, 5001);
});

test('a left-associative chain holds the memory of two values', async (t) => {
  const range = { startMs: 0, endMs: 60_000, stepMs: 1000 };
  const peak = (operators: number) => {
    const budget = new Budget(LIMITS);
    const expression = `time()${' + time()'.repeat(operators)}`;
    queryRange({ expression, ...range }, { source, budget });
    return budget.bytesPeak;
  };
  t.equal(peak(1000), peak(2));
});

test('the deepest allowed nesting, between operators, fits the stack', async (t) => {
  const many = 500;
  for (const [open, close] of [
    ['-a*(1+', ')'],
    ['(-', '+1)'],
    ['a and a==1+a*a^-(', ')'],
    ['a+sum(1+', ')'],
    ['1+histogram_quantile(1,', ')'],
    ['1+clamp(1+', ',1,2)'],
    ['1+label_replace(', ',"b","c","d","e")'],
  ] as const) {
    const text = `${open.repeat(many)}a${close.repeat(many)}`;
    const expr = parseExpression(text);
    t.type(printExpression(expr), 'string');
    t.type(describeExpression(expr), 'object');
    t.type(instant(text).length, 'number', open);
  }
});

/** Number of cancellation checks in an evaluation. */
function looksAt(expression: string): number {
  let looks = 0;
  const budget = new Budget(LIMITS, () => {
    looks++;
    return undefined;
  });
  instant(expression, budget);
  return looks;
}

function isRecord(value: unknown): value is { type?: unknown; lhs?: unknown } {
  return typeof value === 'object' && value !== null;
}
