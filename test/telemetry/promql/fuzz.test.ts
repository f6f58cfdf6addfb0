/**
 * Random expressions, always the same ones, evaluated by a real Prometheus and by our engine. `npm
 * run fuzz:promql` tries as many others as time allows.
 */
import { test } from 'tap';
import { Budget } from '../../../src/telemetry/promql/budget.ts';
import { queryInstant } from '../../../src/telemetry/promql/engine/engine.ts';
import { needs } from '../../support/components.ts';
import { tries } from '../../support/tries.ts';
import { type Answer, answerOf } from './answer.ts';
import { askPrometheus, component } from './fuzz/ask-prometheus.ts';
import { knownReason } from './fuzz/known-differences.ts';
import { type Piece, smallerPieces, textOf } from './fuzz/piece.ts';
import { queryOf } from './fuzz/query.ts';
import { MemorySource } from './memory-source.ts';

const EXPRESSIONS = tries(700);
const LIMITS = { bytesMax: 2 ** 26, samplesMax: 1e6 };

test('random expressions give the answers of a real Prometheus', needs(component), (t) =>
  askPrometheus(t, EXPRESSIONS),
);

/** Reason that would excuse a changed answer of Prometheus to this text as a known difference. */
function reasonFor(requested: string | Piece, change: (answer: Answer) => Answer) {
  const piece: Piece =
    typeof requested === 'string' ? { type: 'vector', parts: [requested] } : requested;
  const expression = textOf(piece);
  const times = { kind: 'instant', timeMs: 60_000 } as const;
  const askOurs = (text: string) =>
    answerOf(() => {
      const deps = { source: new MemorySource(), budget: new Budget(LIMITS) };
      return queryInstant({ expression: text, timeMs: times.timeMs }, deps);
    });
  const ours = askOurs(expression);
  const askPrometheus = async () => change(ours);
  const tolerance = { relative: 1e-7, absolute: 1e-9 };
  const difference = { expression, piece, times, tolerance, askOurs, askPrometheus };
  return knownReason({ ...difference, prometheus: change(ours), ours });
}

/** Doubles every value, which makes it wrong. */
function doubled(answer: Answer): Answer {
  if (answer.kind === 'error') return { ...answer, kind: 'error', message: 'another' };
  const series = answer.series.map(({ labels, points }) => ({
    labels,
    points: points.map(({ timeMs, value }) => ({ timeMs, value: Number(value) * 2 + 1 })),
  }));
  return { ...answer, series };
}

test('no word in an expression turns a wrong answer into a known difference', async (t) => {
  const one = 'label_replace(vector(2), "a", "==", "", "")';
  const expressions = [
    `quantile(0.5, ${one}) > 1`,
    `sin(${one} ^ 50)`,
    `stddev(${one}) % 2`,
    `topk(1, ${one})`,
    `count_values("v", ${one} ^ 0.5)`,
    `quantile(scalar(vector(0.5) @ 0), ${one})`,
    `timestamp(${one})`,
    'absent(x{a="b",a!="c"})',
    `histogram_fraction(0, 1, label_replace(${one}, "le", "+Inf", "", ""))`,
    'timestamp(x @ 5 offset 1m) or vector(1)',
  ];
  for (const expression of expressions)
    t.equal(await reasonFor(expression, doubled), null, expression);
});

test('last digits explain only values that depend on them', async (t) => {
  const sign = (inner: string): Piece => {
    const logarithm: Piece = { type: 'vector', parts: ['ln(', inner, ')'] };
    return { type: 'vector', parts: ['sgn(', logarithm, ')'] };
  };
  t.match(await reasonFor(sign('vector(1)'), doubled), 'last digit', 'the sign of nearly 0');
  t.equal(await reasonFor(sign('vector(10)'), doubled), null);
  const power: Piece = { type: 'vector', parts: ['(vector(321) ^ 12)'] };
  t.match(await reasonFor({ type: 'vector', parts: ['cos(', power, ')'] }, doubled), 'last digit');
  t.equal(await reasonFor({ type: 'vector', parts: ['sqrt(', power, ')'] }, doubled), null);
});

test('only the known error is a known difference', async (t) => {
  const refused = (message: string) => () =>
    ({ kind: 'error', errorType: 'execution', message }) as const;
  const labels = 'vector cannot contain metrics with the same labelset';
  t.equal(await reasonFor('label_replace(vector(1), "a", "b", "", "")', refused(labels)), null);
  t.match(
    await reasonFor('-vector(1) + count_over_time(vector(1)[5m:])', refused(labels)),
    'merged',
  );
  t.equal(await reasonFor('-vector(1) + count_over_time(vector(1)[5m:])', refused('x')), null);
  const isTwice =
    'vector(1) == on () group_left () (vector(1) or label_replace(vector(1),"a","b","",""))';
  const answered = (): Answer => ({
    kind: 'data',
    type: 'vector',
    series: [],
    warnings: [],
    infos: [],
  });
  t.match(await reasonFor(isTwice, answered), 'comparison');
  t.equal(await reasonFor(isTwice.replace('==', '+').replace('"a"', '"=="'), answered), null);
});

test('a seed gives the same expression every time, and another seed another one', async (t) => {
  t.same(queryOf(17), queryOf(17));
  const texts = new Set(Array.from({ length: 200 }, (_, seed) => textOf(queryOf(seed).piece)));
  t.ok(texts.size > 180, `${texts.size} of 200 are distinct`);
});

test('smaller pieces of an expression are its parts, and itself with a smaller part', async (t) => {
  const metric = { type: 'vector', parts: ['up', { optional: '{a="b"}' }] } as const;
  const sum = { type: 'vector', parts: ['sum(', metric, ')'] } as const;
  const ratio = {
    type: 'vector',
    parts: [sum, ' / ', { type: 'scalar', parts: ['2'] }],
  } as const;
  t.same([...smallerPieces(ratio)].map(textOf), [
    '2',
    'up{a="b"}',
    'sum(up{a="b"})',
    'up{a="b"} / 2',
    'sum(up) / 2',
  ]);
});
