/**
 * A few hundred random expressions, always the same ones, asked of a real Prometheus and of our
 * engine. `npm run fuzz:promql` asks as many others as there is time for.
 */
import t from 'tap';
import { componentPath, needs } from '../support/components.ts';
import { fuzz } from './fuzz/differential.ts';
import { smallerPieces, textOf } from './fuzz/piece.ts';
import { queryOf } from './fuzz/query.ts';

const component = 'prometheus 3.5.3';

t.test('random expressions give the answers of a real Prometheus', needs(component), async (t) => {
  const report = await fuzz({
    program: componentPath(component),
    from: 0,
    seeds: 700,
    isOver: () => false,
    onDisagreement: ({ seed, expression, differences }) =>
      t.fail(`seed ${seed}: ${expression}`, { differences }),
  });
  t.equal(report.expressions, 700);
  t.same(report.disagreements, []);
  const { withSamples, empty, errors } = report;
  t.ok(withSamples > 600, `${withSamples} with samples, ${empty} empty, ${errors} errors`);
});

t.test('a seed says the same expression every time, another seed another one', async (t) => {
  t.same(queryOf(17), queryOf(17));
  const texts = new Set(Array.from({ length: 200 }, (_, seed) => textOf(queryOf(seed).piece)));
  t.ok(texts.size > 180, `${texts.size} of 200 are distinct`);
});

t.test('smaller pieces of an expression are its parts, and it with a smaller part', async (t) => {
  const metric = { type: 'vector', parts: ['up', { optional: '{a="b"}' }] } as const;
  const sum = { type: 'vector', parts: ['sum(', metric, ')'] } as const;
  const ratio = { type: 'vector', parts: [sum, ' / ', { type: 'scalar', parts: ['2'] }] } as const;
  t.same([...smallerPieces(ratio)].map(textOf), [
    '2',
    'up{a="b"}',
    'sum(up{a="b"})',
    'up{a="b"} / 2',
    'sum(up) / 2',
  ]);
});
