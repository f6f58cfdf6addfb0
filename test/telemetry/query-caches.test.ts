/**
 * Memory cached between queries, bounded by its weight: expressions, plans, regular expressions,
 * columns.
 */
import { test } from 'tap';
import { type Cached, ColumnCache } from '../../sqlite/telemetry/history/columns/column-cache.ts';
import { createMatcher, RegexpBudget, RegexpError } from '../../src/telemetry/promql/matcher.ts';
import { ParsedExpressions } from '../../src/telemetry/query/promql/promql-evaluation.ts';
import { ProjectCache } from '../../src/telemetry/query/series/project-series.ts';

test('cached expressions are bounded by weight, and each project evicts its own', async (t) => {
  const parsed = new ParsedExpressions({ bytesMax: 4_000_000, projectBytesMax: 2_000_000 });
  const other = parsed.parse('quiet', 'sum(x)');
  const first = parsed.parse('loud', costly(0, 100));
  t.equal(parsed.parse('loud', costly(0, 100)), first, 'kept');
  t.ok(parsed.bytes > 500_000 && parsed.bytes < 2_000_000, `${parsed.bytes} bytes of one`);
  for (let n = 1; n < 12; n++) parsed.parse('loud', costly(n, 100));
  t.ok(parsed.bytes < 2_100_000, `${parsed.bytes} bytes`);
  t.equal(parsed.parse('quiet', 'sum(x)'), other, 'another project’s entry is still there');
  t.not(parsed.parse('loud', costly(0, 100)), first, 'the project’s own oldest entry is not');
});

test('entries of projects are bounded, even if they grow while in use', async (t) => {
  const cache = new ProjectCache<{ bytes: number }>({ bytesMax: 100, projectBytesMax: 60 });
  const grown = { bytes: 10 };
  cache.put('a', 'grows', grown);
  cache.put('a', 'small', { bytes: 10 });
  cache.put('b', 'small', { bytes: 10 });
  t.equal(cache.get('a', 'grows'), grown);
  grown.bytes = 55;
  cache.settle();
  t.equal(cache.get('a', 'small'), undefined, 'least recently used');
  t.equal(cache.bytes, 65);
  grown.bytes = 30;
  cache.recount();
  t.equal(cache.bytes, 40);
  cache.put('c', 'large', { bytes: 60 });
  t.same([cache.bytes, [...cache.values()].length], [100, 3]);
  cache.put('d', 'small', { bytes: 1 });
  t.equal(cache.get('b', 'small'), undefined, 'of the project whose last query is the oldest');
  cache.put('d', 'too large', { bytes: 61 });
  t.equal(cache.get('d', 'too large'), undefined);
  cache.forget('a');
  cache.forget('c');
  t.equal(cache.bytes, 0);
});

test('all regular expressions of one expression are bounded together', async (t) => {
  const budget = new RegexpBudget();
  const make = (i: number) => createMatcher('a', '=~', `x${i}[^y]{900}`, budget);
  t.throws(() => {
    for (let i = 0; i < 25; i++) make(i);
  }, new RegexpError(
    'error parsing regexp: expression too large: more than 20000 instructions in all regular expressions together',
  ));
  const matcher = createMatcher('a', '=~', 'v.*');
  const { bytes } = matcher;
  for (let i = 0; i < 30_000; i++) matcher.matches(`v${i}`);
  t.ok(matcher.bytes > bytes + 500_000 && matcher.bytes < bytes + 2_000_000, `${matcher.bytes}`);
  t.ok(createMatcher('a', '=~', 'x{900}').bytes > 20 * bytes);
});

test('columns have a bound even if each query reads a little more than the previous one', async (t) => {
  const cache = new ColumnCache(1000);
  const kept = new Set<Cached>();
  for (let query = 0; query < 50; query++) {
    cache.tick();
    t.ok(cache.bytes <= 1000, `${cache.bytes} bytes before query ${query}`);
    for (const column of kept) column.usedAt = cache.now;
    for (let i = 0; i < 5; i++) {
      const drop = () => kept.delete(column);
      const column: Cached = { bytes: 100, usedAt: cache.now, alive: true, drop };
      kept.add(column);
      cache.add(column);
    }
  }
  t.ok(kept.size >= 8, 'and are cached within it');
});

/** An expression with this many regular expressions, different for each `n`. */
function costly(n: number, regexps: number): string {
  return Array.from({ length: regexps }, (_, i) => `x{a=~"v${n}.${i}.*"}`).join(' or ');
}
