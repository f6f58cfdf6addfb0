/** Standing down and returning, on a virtual clock: only lasting faults move shares. */
import { test } from 'tap';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { FIT_AGAIN_MS, Fitness, STAND_DOWN_MS } from '../../streams/platform/membership/fitness.ts';

test('DUR-30: only a lasting fault makes a member stand down, and the member names it', async (t) => {
  const clock = new VirtualClock(0);
  let fault: string | undefined;
  const fitness = new Fitness(clock, () => fault);
  const after = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      await clock.advance(250);
      fitness.standsDown();
    }
    return fitness.standsDown();
  };
  t.equal(await after(60_000), undefined);
  fault = 'a';
  t.equal(await after(STAND_DOWN_MS - 250), undefined, 'it may pass');
  fault = undefined;
  t.equal(await after(250), undefined);
  fault = 'a';
  t.equal(await after(STAND_DOWN_MS - 250), undefined, 'an earlier fault does not count');
  t.equal(await after(500), 'a');
  fault = 'b';
  t.equal(await after(250), 'b', 'the sentence of now');
  fault = undefined;
  t.equal(await after(FIT_AGAIN_MS - 500), 'b', 'it stays down for a while');
  fault = 'c';
  t.equal(await after(250), 'c');
  fault = undefined;
  t.equal(await after(FIT_AGAIN_MS - 500), 'c', 'and the time begins again');
  t.equal(await after(750), undefined);
});
