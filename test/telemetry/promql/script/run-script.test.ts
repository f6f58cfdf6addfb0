/** The runner of scripts itself: correct evaluations pass, and wrong ones fail. */
import t, { test } from 'tap';
import { atVariant } from './at-variant.ts';
import { parseValues } from './notation.ts';
import { parseScript } from './parse-script.ts';
import { runScript } from './run-script.ts';

const data = `load 1m
  metric{path="a"} 1 2 3
  metric{path="b"} 1+1x2
`;

/** Differences of the only eval of a script over `data`. */
function differencesOf(evaluation: string): readonly string[] {
  const outcomes = runScript(`${data}\n${evaluation}`);
  t.equal(outcomes.length, 1, 'one eval');
  return outcomes[0]?.differences ?? [];
}

test('values: gaps, repetitions, sequences and markers have their meaning', async (t) => {
  t.same(parseValues('5 _ _x3 7x3'), [5, null, null, null, null, 7, 7, 7, 7]);
  t.same(parseValues('1+2x3 10-2x2 -1-1x1'), [1, 3, 5, 7, 10, 8, 6, -1, -2]);
  t.same(parseValues('stale Inf -Inf .5 1e3'), ['stale', Infinity, -Infinity, 0.5, 1000]);
  t.same(parseValues('0x10').length, 11, 'not a hexadecimal number');
  t.throws(() => parseValues('1+2'), /no count/);
  t.throws(() => parseValues('five'), /not a value/);
});

test('a correct eval passes', async (t) => {
  const evals = [
    'eval instant at 2m metric\n metric{path="b"} 3\n metric{path="a"} 3',
    'eval instant at 2m sum(metric)\n {} 6',
    'eval instant at 0 1 + 1\n 2',
    'eval instant at 0 "a"\n expect string "a"',
    'eval instant at 2m metric{path="a"}[90s]\n expect range vector from 1m to 2m step 1m\n metric{path="a"} 2 3',
    'eval range from 0 to 2m step 1m sum by (path) (metric)\n {path="a"} 1 2 3\n {path="b"} 1 2 3',
    'eval range from 0 to 1m step 1m 1\n {} 1 1',
    'eval_fail instant at 0 sum(',
    'eval instant at 0 metric + on() metric\n expect fail regex: ^found duplicate',
    'eval instant at 2m rate(metric{path="a"}[2m])\n expect info\n expect no_warn\n {path="a"} 0.016666666',
    'eval instant at 2m none',
  ];
  for (const evaluation of evals) t.same(differencesOf(evaluation), [], evaluation);
});

test('a wrong eval fails, whatever is wrong with it', async (t) => {
  const evals = [
    ['eval instant at 2m metric\n metric{path="a"} 3', /unexpected metric\{path="b"\}/],
    ['eval instant at 2m sum(metric)\n {} 6.0001', /expected 6.0001, got 6/],
    ['eval instant at 2m sum(metric)\n {} 6\n {a="b"} 1', /missing \{a="b"\}/],
    ['eval instant at 2m sum(metric)', /unexpected \{\}/],
    ['eval instant at 2m sum(metric)\n 6', /expected a scalar, got a vector/],
    ['eval instant at 0 1 + 1\n {} 2', /expected a vector, got a scalar/],
    ['eval instant at 0 "a"\n expect string "b"', /expected "b", got "a"/],
    ['eval instant at 2m topk(1, metric{path="a"} + 1)\n expect fail', /it succeeded/],
    ['eval instant at 2m sum(', /it failed/],
    ['eval instant at 2m sum(\n expect fail msg: other', /an error that is "other"/],
    [
      'eval instant at 2m sort_desc(metric * on(path) metric)\n expect ordered\n {path="z"} 9\n {path="b"} 9',
      /missing \{path="z"\}/,
    ],
    ['eval range from 0 to 1m step 1m metric{path="a"}\n metric{path="a"} 1', /expected 1@0, got/],
    ['eval range from 0 to 1m step 1m 1\n {} 1 _', /got 1@0 1@60000/],
    [
      'eval instant at 2m metric{path="a"}[1m]\n expect range vector from 1m to 2m step 1m\n metric{path="a"} 2 3',
      /got 3@120000/,
    ],
    [
      'eval instant at 2m rate(metric{path="a"}[2m])\n expect no_info\n {path="a"} 0.016666666',
      /unexpected info/,
    ],
    [
      'eval instant at 2m rate(metric{path="a"}[2m])\n expect info msg: no\n {path="a"} 0.016666666',
      /unexpected info/,
    ],
    [
      'eval instant at 2m metric{path="a"}\n expect warn\n metric{path="a"} 3',
      /expected a warning/,
    ],
  ] as const;
  for (const [evaluation, message] of evals) {
    t.match(differencesOf(evaluation).join('\n'), message, evaluation);
  }
});

test('the order of a vector counts if it is expected', async (t) => {
  const sorted = `load 1m
  metric{path="a"} 5
  metric{path="b"} 3

eval_ordered instant at 0 sort(metric)
`;
  const right = runScript(`${sorted}  metric{path="b"} 3\n  metric{path="a"} 5`);
  t.same(right[0]?.differences, []);
  const wrong = runScript(`${sorted}  metric{path="a"} 5\n  metric{path="b"} 3`);
  t.match(wrong[0]?.differences.join(), /the order is another/);
});

test('a script that cannot be parsed is rejected with the line number', async (t) => {
  t.throws(() => parseScript('load 5m\n  metric five'), /line 2: "five" is not a value/);
  t.throws(() => parseScript('\neval instant now up'), /line 2/);
  t.throws(() => parseScript('delete'), /line 1: "delete" is not a command/);
});

test('@ is added to each selector of an expression once, but not if the result depends on time', async (t) => {
  t.equal(atVariant('a + sum(b{c="d"})', 1500), 'a @ 1.5 + sum(b{c="d"} @ 1.5)');
  t.equal(atVariant('rate(a[5m] offset 1m)', 1000), 'rate(a[5m] @ 1 offset 1m)');
  t.equal(atVariant('a @ 5 + a offset 2m', 1000), 'a @ 5 + a @ 1 offset 2m');
  t.equal(
    atVariant('max_over_time(rate(a[5m])[1h:])', 1000),
    'max_over_time(rate(a[5m])[1h:] @ 1)',
  );
  t.equal(atVariant('a offset 1m @ 7', 1000), 'a offset 1m @ 7');
  t.equal(atVariant('a + time()', 1000), null);
  t.equal(atVariant('sum(', 1000), null);
});
