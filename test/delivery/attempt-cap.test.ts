/** The cap of a destination's open attempts: how it grows and shrinks. */
import fc from 'fast-check';
import { test } from 'tap';
import {
  ATTEMPT_CAP_MAX,
  type AttemptEnd,
  nextAttemptCap,
} from '../../machines/delivery/attempt-cap.ts';
import { tries } from '../support/tries.ts';

const end: fc.Arbitrary<AttemptEnd> = fc.record({
  result: fc.constantFrom('healthy', 'healthy', 'healthy', 'failing', 'neutral'),
  durationMs: fc.constantFrom(1, 2_000, 2_001, 9_000),
});

test('HOOK-15: the attempt cap grows with quick answers, shrinks with slow ones, and restarts on failure', async (t) => {
  fc.assert(
    fc.property(fc.array(end, { maxLength: 300 }), fc.constantFrom(1, 8, 64), (ends, max) => {
      let cap = 1;
      for (const each of ends) {
        const next = nextAttemptCap(cap, each, max);
        const isQuick = each.result === 'healthy' && each.durationMs <= 2_000;
        if (next < 1 || next > max) return false;
        if (each.result === 'failing' && next !== 1) return false;
        if (each.result === 'neutral' && next !== cap) return false;
        if (isQuick && next !== Math.min(cap + 1, max)) return false;
        // A slow endpoint keeps the eight that every healthy one had before caps could grow.
        if (each.result === 'healthy' && !isQuick && next > Math.max(8, cap / 2)) return false;
        if (each.result === 'healthy' && next < Math.min(cap, 8)) return false;
        cap = next;
      }
      return true;
    }),
    { numRuns: tries(500) },
  );
  t.pass();
});

test('63 quick answers raise the cap to 64, three slow ones lower it to eight, one failure to one', async (t) => {
  const quick: AttemptEnd = { result: 'healthy', durationMs: 20 };
  const slow: AttemptEnd = { result: 'healthy', durationMs: 3_000 };
  let cap = 1;
  for (let i = 0; i < 63; i++) cap = nextAttemptCap(cap, quick, ATTEMPT_CAP_MAX);
  t.equal(cap, 64);
  t.equal(nextAttemptCap(cap, quick, ATTEMPT_CAP_MAX), 64);
  for (let i = 0; i < 3; i++) cap = nextAttemptCap(cap, slow, ATTEMPT_CAP_MAX);
  t.equal(cap, 8);
  t.equal(nextAttemptCap(cap, { result: 'failing', durationMs: 1 }, ATTEMPT_CAP_MAX), 1);
});
