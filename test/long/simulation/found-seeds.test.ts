/**
 * Seeds that found a fault are run again. A change of the simulation may give them another course;
 * the regression test of each fault describes the fault.
 */
import { test } from 'tap';
import { runSeed } from '../../simulation/run.ts';

/** The fault that each seed found, with its regression test. */
const FOUND = {
  // A member that was cut off while it joined accepted a revoked key afterwards
  // (membership.test.ts).
  200187: 3,
  // Outcomes of sent attempts waited for a revocation, and the attempts were repeated
  // (revocation-barrier.test.ts).
  200528: 3,
  // A late sample right after a restart was reported with the next newer one
  // (evaluation-restart.test.ts).
  1002251: 1,
  // A rule waited for a member that got its lease while it scanned other projects (rules.test.ts).
  900455: 2,
} as const;

for (const [seed, members] of Object.entries(FOUND)) {
  test(`seed ${seed}, which once found a fault, breaks no invariant`, async (t) => {
    const { problems } = await runSeed(Number(seed), { members });
    t.same(problems, []);
  });
}

test('a seed of one member replays exactly', async (t) => {
  const first = await runSeed(3, { members: 1, isTraced: true });
  const second = await runSeed(3, { members: 1, isTraced: true });
  t.ok(first.lines.length > 100, 'something happened');
  t.same(second.lines, first.lines);
});
