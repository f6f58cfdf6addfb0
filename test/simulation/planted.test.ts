/**
 * A simulation that finds nothing proves nothing: each bug planted on purpose is found within a few
 * seeds, by the invariant that it breaks, and seeds without one are clean. The long run is
 * `npm run simulate`.
 */
import t from 'tap';
import { PLANTED } from './planted.ts';
import { runSeed } from './run.ts';

const CLEAN_SEEDS = 20;
/** Each is found within so many seeds: faults are drawn for each seed, and some have none. */
const SEEDS_MAX = 40;

/** What each takes away, as the oracles name it. */
const BREAKS: Readonly<Record<string, string>> = {
  'recheck-skipped': 'no attempt after the end',
  'recovery-on-absence': 'no recovery unobserved',
  'lost-attempts': 'it comes to rest',
  'batch-counted-twice': 'nothing is made up',
  'decided-twice': 'a restart changes nothing',
  'limit-outside': 'limits hold',
  'acknowledged-early': 'nothing acknowledged is lost',
};

t.test(`${CLEAN_SEEDS} seeds break no invariant`, async (t) => {
  for (let seed = 1; seed <= CLEAN_SEEDS; seed++) {
    const { problems } = await runSeed(seed);
    t.same(problems, [], `seed ${seed}`);
  }
});

t.test('a seed replays exactly', async (t) => {
  const first = await runSeed(3, { isTraced: true });
  const second = await runSeed(3, { isTraced: true });
  t.ok(first.lines.length > 100, 'something happened');
  t.same(second.lines, first.lines);
});

for (const [name, planted] of Object.entries(PLANTED)) {
  t.test(`the planted bug ${name} is found`, async (t) => {
    const found = new Set<string>();
    for (let seed = 1; seed <= SEEDS_MAX && !found.has(BREAKS[name] ?? ''); seed++) {
      const { problems } = await runSeed(seed, { planted });
      for (const { invariant } of problems) found.add(invariant);
    }
    t.ok(found.has(BREAKS[name] ?? ''), `${planted.sentence} Found: ${[...found].join('; ')}`);
  });
}
