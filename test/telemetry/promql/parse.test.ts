/**
 * The parser against Prometheus 3.5.3: `prometheus-3.5.3.jsonl` has the answers of a real one with
 * default flags for each expression to `format_query` (its text or its error) and, for some, to
 * `parse_query` (the tree). Also tests limits, literals, and that printed text parses to the same
 * tree. `DIFFERENCES` lists our deliberate differences.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { NodeProp } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import fc from 'fast-check';
import { test } from 'tap';
import type { Expr } from '../../../src/telemetry/promql/ast.ts';
import { PromqlError } from '../../../src/telemetry/promql/errors.ts';
import { buildExpression } from '../../../src/telemetry/promql/parse/build.ts';
import { describeExpression } from '../../../src/telemetry/promql/parse/describe.ts';
import {
  EXPRESSION_DEPTH_MAX,
  parseExpression,
} from '../../../src/telemetry/promql/parse/parse.ts';
import { formatExpression, printExpression } from '../../../src/telemetry/promql/parse/print.ts';
import { Piece } from '../../../src/telemetry/promql/parse/split.ts';
import type { Token } from '../../../src/telemetry/promql/parse/token.ts';
import { componentPath, needs } from '../../support/components.ts';
import { tries } from '../../support/tries.ts';
import { expressions, withoutPlaces } from './expressions.ts';

interface Answer {
  readonly expression: string;
  readonly error?: string;
  readonly formatted?: string;
  readonly tree?: unknown;
}

const answers: readonly Answer[] = linesOf(
  readFileSync(new URL('prometheus-3.5.3.jsonl', import.meta.url), 'utf8'),
);

test('an expression that Prometheus refuses is refused with its words and position', async (t) => {
  const refused = answers.filter(({ error }) => error !== undefined);
  t.ok(refused.length > 300, `${refused.length} expressions`);
  for (const { expression, error } of refused) {
    const message = refusalOf(expression);
    if (message !== error) t.equal(message, error, expression);
  }
});

test('an expression that Prometheus accepts is accepted and formatted alike', async (t) => {
  const accepted = answers.filter(({ formatted }) => formatted !== undefined);
  t.ok(accepted.length > 200, `${accepted.length} expressions`);
  for (const { expression, formatted } of accepted) {
    const ours = refusalOf(expression) ?? formatExpression(parseExpression(expression));
    if (ours !== formatted) t.equal(ours, formatted, expression);
  }
});

test('operators, modifiers and calls nest as in the trees of Prometheus', async (t) => {
  const described = answers.filter(({ tree }) => tree !== undefined);
  t.ok(described.length > 45, `${described.length} expressions`);
  for (const { expression, tree } of described) {
    t.strictSame(describeExpression(parseExpression(expression)), tree, expression);
  }
});

/** Expression, our answer, and the reason why Prometheus's differs. */
const DIFFERENCES: readonly (readonly [string, string, string])[] = [
  ['foo[5m bar]', `1:8: parse error: unexpected character: 'b'`, 'it reads `b` as a colon'],
  ['foo[0.0001]', '1:5: parse error: duration must be greater than 0', 'times here are whole ms'],
  ['foo[5m:0.0001]', '1:8: parse error: duration must be greater than 0', 'as above'],
  ['foo offset NaN', '1:12: parse error: duration out of range', 'it takes it as -292 years'],
  ['@', '1:1: parse error: unexpected <op:@>', 'it prints the number of a token kind'],
  [
    'a{b=~"(?<n>a)(?<n>b)"}',
    '1:3: parse error: error parsing regexp: duplicate capture group name: `n`',
    'it never compiles this one',
  ],
  [
    '1_ + b c',
    '1:8: parse error: unexpected identifier "c"',
    'of two faults it reports the value first, we the syntax',
  ],
];

test('each difference from Prometheus is listed, and is as described', async (t) => {
  for (const [expression, message, reason] of DIFFERENCES) {
    t.equal(refusalOf(expression), message, `${expression}: ${reason}`);
  }
});

test('every expression of the conformance scripts parses', needs('shared folder'), async (t) => {
  const folder = join(componentPath('shared folder'), 'conformance/promql');
  let count = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.test'))) {
    for (const { expression, fails } of evalsOf(readFileSync(join(folder, file), 'utf8'))) {
      count++;
      const message = refusalOf(expression);
      if (message === undefined || fails) continue;
      t.fail(`${file}: ${expression}: ${message}`);
    }
  }
  t.ok(count > 400, `${count} expressions`);
});

test(
  'every compliance query parses, or fails if Prometheus refused it',
  needs('shared folder'),
  async (t) => {
    const file = join(componentPath('shared folder'), 'conformance/compliance/expected.jsonl.gz');
    const [, ...queries] = linesOf<{ query: string; error?: string }>(
      gunzipSync(readFileSync(file)).toString('utf8'),
    );
    t.ok(queries.length > 250, `${queries.length} queries`);
    for (const { query, error } of queries) {
      t.equal(refusalOf(query) !== undefined, error === 'bad_data', query);
    }
  },
);

test('a number has the value that Prometheus gives it', async (t) => {
  const numbers: readonly (readonly [string, number])[] = [
    ['0x1F', 31],
    ['0X_1f', 31],
    ['010', 8],
    ['08', 8],
    ['1_000.5', 1000.5],
    ['5.', 5],
    ['.5e-3', 0.0005],
    ['inF', Number.POSITIVE_INFINITY],
    ['-Inf', Number.NEGATIVE_INFINITY],
    ['--2', 2],
    ['1h30m', 5400],
    ['1y1w1d1h1m1s1ms', 32230861.001],
    ['-5ms', -0.005],
  ];
  for (const [text, value] of numbers)
    t.match(parseExpression(text), { kind: 'number', value }, text);
  t.match(parseExpression('nan'), { kind: 'number', value: Number.NaN });
});

test('a string has the value that Go gives it, in each kind of quotes', async (t) => {
  const strings: readonly (readonly [string, string])[] = [
    [String.raw`"a\x41\101\u00e9\U0001F600\n\\\""`, 'aAAé😀\n\\"'],
    [String.raw`"\303\251"`, 'é'],
    [String.raw`'\'"'`, `'"`],
    ['`\\n"\'`', '\\n"\''],
    ['`a\nb`', 'a\nb'],
  ];
  for (const [text, value] of strings)
    t.match(parseExpression(text), { kind: 'string', value }, text);
});

test('columns count bytes, and lines count from one, as in Prometheus', async (t) => {
  t.equal(
    refusalOf('"é" + b'),
    '1:1: parse error: binary expression must contain only scalar and instant vector types',
  );
  t.equal(refusalOf('a{b="é"} c'), '1:11: parse error: unexpected identifier "c"');
  t.equal(
    refusalOf('a +\n  rate(b)'),
    '2:8: parse error: expected type range vector in call to function "rate", got instant vector',
  );
});

test('an expression that nests too deeply is refused, however it nests', async (t) => {
  const many = EXPRESSION_DEPTH_MAX + 1;
  const deep = [
    `${'('.repeat(many)}a${')'.repeat(many)}`,
    `${'-('.repeat(many)}a${')'.repeat(many)}`,
    `${'a + ('.repeat(many)}a${')'.repeat(many)}`,
    `sum(a, ${'min('.repeat(many)}a${')'.repeat(many)})`,
    `a${'[5m:]'.repeat(many)}`,
    `a${' offset 0s'.repeat(many)}`,
    `${'abs('.repeat(many)}a${')'.repeat(many)}`,
    `a[${'-'.repeat(many)}5m]`,
  ];
  for (const expression of deep) {
    t.match(refusalOf(expression), /expression nests more than 500/, expression.slice(0, 12));
  }
});

test('an expression at the depth limit is parsed and printed, and width has no limit', async (t) => {
  const many = EXPRESSION_DEPTH_MAX;
  for (const expression of [
    `${'('.repeat(many)}a${')'.repeat(many)}`,
    `${'-'.repeat(many)}a`,
    Array(many + 1)
      .fill('a')
      .join(' + '),
    `sum by (${Array(4000).fill('a').join(',')}) (a{${Array(2000).fill('b=~"c.*"').join(',')}})`,
    `label_join(a, "b", ${Array(3000).fill('"c"').join(', ')})`,
  ]) {
    const expr = parseExpression(expression);
    t.same(withoutPlaces(parseExpression(printExpression(expr))), withoutPlaces(expr));
    t.type(formatExpression(expr), 'string');
  }
});

test('no text of 16 KiB takes long', async (t) => {
  const pieces = [
    '(',
    '-',
    'a ',
    'a+',
    '1 ',
    '"" ',
    'sum(',
    'a[',
    '{',
    'a{b="c",',
    '#\n',
    ' ',
    ',',
    '@1',
    'by (',
    '\\',
    "'",
  ];
  for (const piece of [
    ...pieces,
    'a{b=~"(x+)*(y|z)+"} + ',
    'on(x) ',
    '[5m:]',
    'é',
    '0x',
    '5m',
    'a.b',
  ]) {
    const text = piece.repeat(Math.floor(16_384 / piece.length));
    const started = process.threadCpuUsage();
    refusalOf(text);
    const { user } = process.threadCpuUsage(started);
    t.ok(user < 1_000_000, `${JSON.stringify(piece)} over and over: ${user} µs`);
  }
});

test('a regular expression that would be expensive to match is refused', async (t) => {
  const size = /expression too large|invalid repeat count|nests too deeply/;
  t.match(refusalOf(`a{b=~"${'(x+)*'.repeat(1000)}"}`), size);
  t.match(refusalOf(`a{b=~"${'x{1000}'.repeat(5)}"}`), size);
  t.match(refusalOf('a{b=~"((x{100}){100}){100}"}'), size);
  t.match(refusalOf(`a{b=~"${'('.repeat(2000)}${')'.repeat(2000)}"}`), size);
});

test('a list of plain values in a regular expression is recognised, however long', async (t) => {
  const hosts = Array.from({ length: 1000 }, (_, i) => `10\\\\.0\\\\.0\\\\.${i}`);
  const expr = parseExpression(`a{b=~"(${hosts.join('|')})"}`);
  if (expr.kind !== 'vectorSelector') throw new Error('It is a selector');
  t.equal(expr.matchers[0]?.accepted?.length, 1000);
  t.equal(expr.matchers[0]?.matches('10.0.0.999'), true);
  t.equal(expr.matchers[0]?.matches('10a0.0.9'), false);
  const lists: readonly (readonly [string, readonly string[] | null])[] = [
    ['', ['']],
    ['a|', ['a', '']],
    ['(a|b)', ['a', 'b']],
    ['(?:a|b)', ['a', 'b']],
    ['a\\\\|b|c', ['a|b', 'c']],
    ['(a)|(b)', null],
    ['(?i)a', null],
    ['a.b', null],
    ['\\\\d', null],
  ];
  for (const [pattern, accepted] of lists) {
    const selector = parseExpression(`{b=~"${pattern}",c="d"}`);
    t.match(selector, { matchers: [{ accepted }, {}] }, pattern);
  }
});

/** Not created for the tree, or never exposed for writing. */
const OUTSIDE = new Set(['span', 'func', 'matchers']);

test('a tree cannot be changed, because it is shared', async (t) => {
  const expr = parseExpression('sum by (a) (rate(b{c="d"}[5m])) / on(a) group_left(e) -f');
  const nodes: object[] = [expr];
  for (const node of nodes) {
    t.ok(Object.isFrozen(node), Object.keys(node).join());
    for (const [key, inner] of Object.entries(node)) {
      if (typeof inner === 'object' && inner !== null && !OUTSIDE.has(key)) nodes.push(inner);
    }
  }
  t.equal(nodes.length, 12);
});

test('an unknown node of the grammar is refused, never skipped', async (t) => {
  const names = parser.nodeSet.types
    .filter((type) => type.prop(NodeProp.group)?.includes('Expr'))
    .map(({ name }) => name);
  t.same(names.sort(), [
    'AggregateExpr',
    'AnchoredExpr',
    'BinaryExpr',
    'FunctionCall',
    'MatrixSelector',
    'NumberDurationLiteral',
    'OffsetExpr',
    'ParenExpr',
    'SmoothedExpr',
    'StepInvariantExpr',
    'StringLiteral',
    'SubqueryExpr',
    'UnaryExpr',
    'VectorSelector',
  ]);
  for (const text of ['m anchored', 'm smoothed', '5']) {
    const word: Token = { kind: 'identifier', word: 'm', text: 'm', from: 0, to: 1 };
    const token = () => word;
    const root = parser.parse(text).topNode;
    const tree = { root, first: token, last: token, before: token };
    const operand = {
      root: { pieces: [new Piece('operand')] },
      treeOf: () => tree,
      tokenOf: token,
    };
    t.throws(() => buildExpression(text, operand), { kind: 'bad_data', message: /not supported/ });
  }
});

test('any printed tree parses to the same tree', async (t) => {
  // The property reports its expression: as the name of an assertion it could break a line of TAP.
  const property = fc.property(expressions, (expression) => {
    const expr = parseExpression(expression);
    const again = parseExpression(printExpression(expr));
    const formatted = parseExpression(formatExpression(expr));
    return (
      isDeepStrictEqual(withoutPlaces(again), withoutPlaces(expr)) &&
      isDeepStrictEqual(withoutPlaces(formatted), withoutPlaces(expr)) &&
      printExpression(again) === printExpression(expr)
    );
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: tries(300) }));
});

/** The expressions of a script, and whether they are expected to fail. */
function evalsOf(script: string): { expression: string; fails: boolean }[] {
  const evals: { expression: string; fails: boolean }[] = [];
  for (const line of script.split('\n').map((text) => text.trim())) {
    const head = /^eval(_\w+)? (?:instant at \S+|range from \S+ to \S+ step \S+)\s+(.*)$/.exec(
      line,
    );
    const last = evals.at(-1);
    if (head !== null) evals.push({ expression: head[2] ?? '', fails: head[1] === '_fail' });
    else if (line.startsWith('expect fail') && last !== undefined) last.fails = true;
  }
  return evals;
}

function linesOf<T = Answer>(text: string): T[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** Reason of a refusal, or undefined. An error other than `PromqlError` is rethrown. */
function refusalOf(expression: string): string | undefined {
  try {
    parseExpression(expression) satisfies Expr;
    return undefined;
  } catch (error) {
    if (error instanceof PromqlError && error.kind === 'bad_data') return error.message;
    throw error;
  }
}
