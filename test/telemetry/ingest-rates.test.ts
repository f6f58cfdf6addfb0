/**
 * The write rate of a project, on a virtual clock: writes over the rate are refused as a whole, are
 * accepted after the seconds that the refusal names, and cost other projects nothing.
 */
import * as fc from 'fast-check';
import { test } from 'tap';
import { IngestRates } from '../../actors/telemetry/ingest/ingest-limits.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { tries } from '../support/tries.ts';

function openRates(samplesPerSecond: number, ingestBytesPerSecond = 1_000) {
  const clock = new VirtualClock(0);
  const refusals: string[] = [];
  const rates = new IngestRates({
    clock,
    limits: () => ({ samplesPerSecond, ingestBytesPerSecond }),
    onRefusal: (limit) => void refusals.push(limit),
  });
  /** Seconds after which a refused write may be resent; 0: it was accepted. */
  const take = (count: number, project = 'demo'): number => {
    try {
      rates.takeSamples(project, count);
      return 0;
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason !== 'TOO_MANY_REQUESTS') throw error;
      return Number(error.metadata.retryAfterSeconds);
    }
  };
  return { clock, rates, refusals, take };
}

test('ten seconds of samples are accepted at once, and the rate applies afterwards', async (t) => {
  const { clock, take, refusals, rates } = openRates(100);
  t.equal(take(600), 0);
  t.equal(take(400), 0);
  t.equal(take(250), 3, 'in the seconds that refill the missing samples');
  t.equal(take(1), 1, 'a refused write has taken nothing');
  t.same(refusals, ['samplesPerSecond', 'samplesPerSecond']);
  t.equal(take(1_000, 'neighbour'), 0, 'another project has its own');
  await clock.advance(2_499);
  t.equal(take(250), 1);
  await clock.advance(501);
  t.equal(take(250), 0, 'accepted after the stated time');
  t.equal(rates.used('demo').samplesPerSecond, 125, 'on average over ten seconds');
});

test('a batch larger than a bucket is accepted when the bucket is full, and paid back', async (t) => {
  const { clock, take } = openRates(10);
  t.equal(take(1_000), 0);
  t.equal(take(1), 91, 'until 1,000 are paid back, except the capacity of a bucket');
  await clock.advance(91_000);
  t.equal(take(1), 0);
});

test('a rate of 0 accepts nothing, and asks for a retry after ten minutes', async (t) => {
  const { take } = openRates(0);
  t.equal(take(1), 600);
});

test('bytes are checked before a body is read, and counted when it is accepted', async (t) => {
  const { clock, rates, refusals } = openRates(1, 100);
  rates.checkBytes('demo', 1_000);
  rates.checkBytes('demo', 1_000);
  rates.spendBytes('demo', 1_000);
  t.throws(() => rates.checkBytes('demo', 100), /send it again in 1 s/);
  t.same(refusals, ['ingestBytesPerSecond']);
  await clock.advance(1_000);
  rates.checkBytes('demo', 100);
  t.equal(rates.used('demo').ingestBytesPerSecond, 100);
});

test('no sequence of writes exceeds the rate, and a wait is enough', async () => {
  const steps = fc.array(
    fc.record({ count: fc.integer({ min: 1, max: 400 }), pauseMs: fc.nat(5_000) }),
    { maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (sent) => {
      const { clock, take } = openRates(50);
      let taken = 0;
      for (const { count, pauseMs } of sent) {
        await clock.advance(pauseMs);
        const seconds = take(count);
        if (seconds > 0) {
          await clock.advance(seconds * 1_000);
          if (take(count) !== 0) return false;
        }
        taken += count;
        if (taken > 500 + (clock.elapsed() / 1_000) * 50 + 1e-6) return false;
      }
      return true;
    }),
    { seed: 11, numRuns: tries(60) },
  );
});
