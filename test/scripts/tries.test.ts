/** The budget of seeds and tries: a share by default, all of them in the gate. */
import { type Test, test } from 'tap';
import { occurrences, sampleOf, tries } from '../support/tries.ts';

function withShare(t: Test, percent: string | undefined): void {
  const before = process.env.SVC_TEST_SEEDS;
  const set = (value: string | undefined) => {
    if (value === undefined) delete process.env.SVC_TEST_SEEDS;
    else process.env.SVC_TEST_SEEDS = value;
  };
  set(percent);
  t.teardown(() => set(before));
}

test('a run without the setting makes a share of the tries, but never too few', async (t) => {
  withShare(t, undefined);
  t.equal(tries(1_000), 60);
  t.equal(tries(40), 10);
  t.equal(tries(5), 5);
  t.equal(tries(40, 2), 3);
  t.equal(occurrences(100), 3);
});

test('a full run makes every try and expects every occurrence', async (t) => {
  withShare(t, '100');
  t.equal(tries(1_000), 1_000);
  t.equal(occurrences(100), 100);
});

test('similar cases are sampled evenly, and a full run has all of them', async (t) => {
  const all = [...'abcdefghij'];
  withShare(t, undefined);
  t.same(sampleOf(all, 3), ['a', 'd', 'g']);
  t.same(sampleOf(all, 20), all);
  withShare(t, '100');
  t.same(sampleOf(all, 3), all);
});

test('a setting that is not a percentage is rejected', async (t) => {
  for (const wrong of ['0', '-1', '101', 'all', '']) {
    withShare(t, wrong);
    t.throws(() => tries(10), { message: /^SVC_TEST_SEEDS is .*: set a percentage/ }, wrong);
  }
});
