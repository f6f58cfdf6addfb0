/**
 * Evaluation case by case: each numbered test is the requirement of that number on sustained
 * conditions, as a scenario. Times are seconds since the start of the scenario; a row is received
 * when it is observed unless the test says otherwise.
 */
import t from 'tap';
import { cpuRule, EvaluationWorld, seconds } from '../support/evaluation-world.ts';

const HIGH = 95;
const LOW = 10;

t.test('case 1: a run fires when it spans the duration, however many samples that takes', (t) => {
  const live = new EvaluationWorld([cpuRule()]);
  t.same(live.cpu(HIGH, seconds(0, 270)), [], 'ten samples span 270 s');
  t.same(live.cpu(HIGH, [300]), ['fired at 300 since 0'], 'the eleventh completes 300 s');
  t.same(live.cpu(HIGH, seconds(330, 600)), [], 'it fires once');

  const sparse = new EvaluationWorld([cpuRule()]);
  t.same(sparse.cpu(HIGH, [0, 80, 160, 240, 299]), []);
  t.same(sparse.cpu(HIGH, [300]), ['fired at 300 since 0'], 'only sample times count');

  const immediate = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  t.same(immediate.cpu(HIGH, [0]), ['fired at 0 since 0'], 'a duration of 0 needs one sample');

  const broken = new EvaluationWorld([cpuRule()]);
  broken.cpu(HIGH, seconds(0, 270));
  broken.cpu(LOW, [300]);
  t.same(broken.cpu(HIGH, seconds(330, 600)), [], 'a good sample ends the run');
  t.same(broken.cpu(HIGH, [630]), ['fired at 630 since 330']);
  t.end();
});

t.test('case 2: a gap up to the tolerance keeps the run, a longer one restarts it', (t) => {
  const kept = new EvaluationWorld([cpuRule()]);
  kept.cpu(HIGH, [0, 30, 120, 210]);
  t.same(kept.cpu(HIGH, [300]), ['fired at 300 since 0'], 'gaps of 90 s');

  const restarted = new EvaluationWorld([cpuRule()]);
  restarted.cpu(HIGH, seconds(0, 270));
  restarted.tick(300);
  restarted.tick(360);
  t.match(restarted.instance(), { state: 'SUSTAINING', dataState: 'OBSERVED' });
  restarted.tick(361);
  const { missingSinceMs, lastObservedMs, ...soft } = restarted.instance();
  t.match(soft, { state: 'SUSTAINING', dataState: 'MISSING', lastValue: HIGH });
  t.equal(missingSinceMs, lastObservedMs, 'sustaining, data missing since the last observation');
  t.same(restarted.tick(3600), [], 'silence neither promotes nor drops');
  t.same(restarted.cpu(HIGH, seconds(3600, 3870)), [], 'the run begins after the gap');
  t.same(restarted.cpu(HIGH, [3900]), ['fired at 3900 since 3600']);
  t.end();
});

t.test('case 3: a gap while firing is no recovery, which needs observed good samples', (t) => {
  const world = new EvaluationWorld([cpuRule({ recoveryMs: 60_000 })]);
  for (const at of seconds(0, 300)) {
    world.tick(at);
    world.cpu(HIGH, [at]);
  }
  t.same(
    seconds(330, 390).flatMap((at) => world.tick(at)),
    [],
    'within the tolerance',
  );
  t.same(world.tick(391), ['dataMissing at 390 since 300']);
  t.same(
    seconds(420, 7200).flatMap((at) => world.tick(at)),
    [],
    'told once, and never recovered',
  );
  t.match(world.instance(), { state: 'FIRING', dataState: 'MISSING' });
  t.same(world.cpu(LOW, [7200]), ['dataObserved at 7200']);
  t.same(world.cpu(LOW, [7230]), [], 'good samples span 30 of 60 s');
  t.same(world.cpu(LOW, [7340]), [], 'a gap of 110 s restarts the recovery run');
  t.same(world.cpu(LOW, [7370]), []);
  t.same(world.cpu(LOW, [7400]), ['recovered at 7400']);

  const hysteresis = new EvaluationWorld([cpuRule({ sustainedMs: 0, recoveryThreshold: 80 })]);
  hysteresis.cpu(HIGH, [0]);
  t.same(hysteresis.cpu(85, seconds(30, 600)), [], 'between the thresholds nothing changes');
  t.same(hysteresis.cpu(79, [630]), ['recovered at 630']);
  t.end();
});
