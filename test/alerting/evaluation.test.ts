/**
 * Evaluation case by case: each test plays the requirement in its name as a scenario. Times are
 * seconds since the start of the scenario; a row is received when it is observed unless the test
 * says otherwise.
 */
import { test } from 'tap';
import { cpuRule, EvaluationWorld, START_MS, seconds } from '../support/evaluation-scenario.ts';

/** A line of a transition that a later one of the same batch supersedes. */
function unnotified(line: string): string {
  return line.endsWith(' unnotified') ? line : `${line} unnotified`;
}

const HIGH = 95;
const LOW = 10;

test('EVAL-01: a run fires when it spans the duration, with any number of samples', async (t) => {
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
});

test('EVAL-02: a gap up to the tolerance keeps the run, and a longer gap restarts it', async (t) => {
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
  t.equal(
    missingSinceMs,
    lastObservedMs,
    'sustaining, with data missing since the last observation',
  );
  t.same(restarted.tick(3600), [], 'silence neither promotes nor drops a run');
  t.same(restarted.cpu(HIGH, seconds(3600, 3870)), [], 'the run begins after the gap');
  t.same(restarted.cpu(HIGH, [3900]), ['fired at 3900 since 3600']);
});

test('EVAL-03: a gap does not recover a firing alert; observed good samples do', async (t) => {
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
  t.same(world.tick(391), ['dataMissing since 300']);
  t.same(
    seconds(420, 7200).flatMap((at) => world.tick(at)),
    [],
    'reported once, and never recovered',
  );
  t.match(world.instance(), { state: 'FIRING', dataState: 'MISSING' });
  t.same(world.cpu(LOW, [7200]), ['dataObserved at 7200']);
  t.same(world.cpu(LOW, [7230]), [], 'good samples span 30 of 60 s');
  t.same(world.cpu(LOW, [7340]), [], 'a gap of 110 s restarts the recovery run');
  t.same(world.cpu(LOW, [7370]), []);
  t.same(world.cpu(LOW, [7400]), ['recovered at 7400']);

  const hysteresis = new EvaluationWorld([cpuRule({ sustainedMs: 0, recoveryThreshold: 80 })]);
  hysteresis.cpu(HIGH, [0]);
  t.same(hysteresis.cpu(85, seconds(30, 600)), [], 'nothing changes between the thresholds');
  t.same(hysteresis.cpu(79, [630]), ['recovered at 630']);
});

test('EVAL-05: a late sample is inserted and its window recomputed', async (t) => {
  const split = new EvaluationWorld([cpuRule()]);
  split.cpu(HIGH, [0, 30, 60, 120, 150, 180, 210, 240, 270]);
  t.same(split.rows([{ at: 90, cpu: LOW }], 271), [], 'a late good sample splits the run');
  t.same(split.cpu(HIGH, seconds(300, 390)), []);
  t.same(split.cpu(HIGH, [420]), ['fired at 420 since 120']);

  const reported = new EvaluationWorld([cpuRule()]);
  reported.cpu(HIGH, [0, 30, 60, 120, 150, 180, 210, 240, 270]);
  t.same(reported.cpu(HIGH, [300]), ['fired at 300 since 0']);
  t.same(reported.rows([{ at: 90, cpu: LOW }], 310), ['corrected'], 'nothing is retracted');
  t.match(reported.instance(), { state: 'FIRING' });
  t.same(reported.rows([{ at: 100, cpu: LOW }], 311), [], 'corrected once');
  t.same(reported.cpu(HIGH, seconds(330, 600)), [], 'nothing is reported twice');
  t.same(reported.cpu(LOW, [630]), ['recovered at 630'], 'a good observation ends it');

  const completed = new EvaluationWorld([cpuRule()]);
  completed.cpu(HIGH, seconds(0, 120));
  completed.cpu(HIGH, seconds(240, 300));
  const line = completed.rows([{ at: 180, cpu: HIGH }], 310);
  t.same(line, ['fired at 300 since 0'], 'a late breach closes the gap of 120 s');

  const tooLate = new EvaluationWorld([cpuRule()]);
  tooLate.cpu(HIGH, seconds(300, 630));
  t.same(tooLate.rows([{ at: 329, cpu: LOW }], 631), [], 'beyond the lateness bound');
  t.equal(tooLate.state.counters.tooLate, 1, 'it is counted and remains only in history');
});

test('EVAL-06: a late breach that completes a run notifies only if the run is fresh', async (t) => {
  const past = new EvaluationWorld([cpuRule({ sustainedMs: 120_000 })]);
  past.cpu(HIGH, [0, 30]);
  past.cpu(HIGH, [125, 150]);
  past.cpu(LOW, [180, 210, 240, 270]);
  const lines = past.rows([{ at: 60, cpu: HIGH }], 275);
  t.same(
    lines,
    ['fired at 125 since 0 unnotified', 'recovered at 180'],
    'recorded as already over',
  );
  t.match(past.instance(), { state: 'IDLE' });

  const stale = new EvaluationWorld([cpuRule()]);
  const backlog = seconds(0, 330).map((at) => ({ at, cpu: HIGH }));
  t.same(stale.rows(backlog, 1000), [], 'complete, but neither fresh nor over');
  t.match(stale.instance(), { state: 'SUSTAINING', dataState: 'MISSING' });
  const fresh = stale.rows([{ at: 990, cpu: HIGH }], 1000);
  t.same(fresh, ['fired at 300 since 0'], 'reported once it reaches into the freshness horizon');

  const over = new EvaluationWorld([cpuRule()]);
  over.rows(backlog, 1000);
  const end = over.rows([{ at: 990, cpu: LOW }], 1000);
  t.same(end, ['fired at 300 since 0 unnotified', 'recovered at 990']);

  const good = new EvaluationWorld([cpuRule({ recoveryMs: 300_000 })]);
  good.cpu(HIGH, [...seconds(0, 180), 330]);
  good.cpu(LOW, seconds(360, 450));
  const late = seconds(210, 300).map((at) => ({ at, cpu: HIGH }));
  t.same(good.rows(late, 451), [], 'the current value is good: a late breach is not reported');
  t.same(
    good.cpu(LOW, seconds(480, 660)),
    ['fired at 300 since 0 unnotified', 'recovered at 660'],
    'it is recorded once it is over',
  );
});

test('a late breach within a notified recovery starts nothing by itself', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 30_000, recoveryMs: 90_000 })]);
  t.same(world.cpu(HIGH, [0, 30]), ['fired at 30 since 0']);
  t.same(world.cpu(LOW, seconds(60, 150)), ['recovered at 150']);
  t.same(world.rows([{ at: 100, cpu: HIGH }], 151), [], 'the recovery remains valid');
  t.same(world.cpu(HIGH, [180]), [], 'later breaches must last for the duration');
  t.same(world.cpu(HIGH, [210]), ['fired at 210 since 180'], 'it is a separate incident');
  const { window } = world.edges.at(-1) as { window?: unknown };
  const values = [180, 210].map((at) => ({ observedMs: START_MS + at * 1000, value: HIGH }));
  t.same(window, values, 'by the samples that decided it');
  t.same(world.cpu(LOW, seconds(240, 330)), ['recovered at 330']);

  const later = new EvaluationWorld([cpuRule({ sustainedMs: 30_000, recoveryMs: 90_000 })]);
  later.cpu(HIGH, [0, 30]);
  later.cpu(LOW, seconds(60, 150));
  later.rows([{ at: 100, cpu: HIGH }], 151);
  t.same(later.cpu(HIGH, [600, 630]), ['fired at 630 since 600'], 'however long the silence');
});

test('EVAL-07: a buffered batch is sorted, applied whole, and notifies only its last transition', async (t) => {
  const rows = [
    ...seconds(0, 300).map((at) => ({ at, cpu: HIGH })),
    ...seconds(330, 600).map((at) => ({ at, cpu: LOW })),
    ...seconds(630, 930).map((at) => ({ at, cpu: HIGH })),
  ];
  const world = new EvaluationWorld([cpuRule()]);
  const lines = world.rows(rows.toReversed(), 940);
  const first = ['fired at 300 since 0 unnotified', 'recovered at 330'];
  t.same(lines, [...first.map(unnotified), 'fired at 930 since 630']);

  const firing = new EvaluationWorld([cpuRule()]);
  firing.cpu(HIGH, seconds(0, 300));
  const again = [330, ...seconds(360, 660)].map((at) => ({ at, cpu: at === 330 ? LOW : HIGH }));
  const expected = ['recovered at 330 unnotified', 'fired at 660 since 360'];
  t.same(firing.rows(again, 661), expected, 'firing before and after: one message');

  const missing = new EvaluationWorld([cpuRule()]);
  missing.tick(0);
  missing.cpu(HIGH, seconds(0, 300));
  for (const at of seconds(300, 3600)) missing.tick(at);
  t.equal(missing.edges.at(-1)?.kind, 'dataMissing');
  const old = seconds(330, 900).map((at) => ({ at, cpu: HIGH }));
  t.same(missing.rows(old, 3600), [], 'a burst of old samples is not live telemetry');
  t.same(missing.rows([{ at: 3590, cpu: HIGH }], 3600), ['dataObserved at 3590']);
});

test('EVAL-08: a duplicate sample is ignored, and another value at its time is a conflict', async (t) => {
  const world = new EvaluationWorld([cpuRule()]);
  world.cpu(HIGH, seconds(0, 270));
  t.same(world.cpu(HIGH, seconds(0, 270)), []);
  t.equal(world.state.counters.duplicates, 10);
  t.equal(world.state.counters.conflicts, 0);
  t.same(world.rows([{ at: 150, cpu: LOW }], 271), [], 'the first value is kept');
  t.equal(world.state.counters.conflicts, 1);
  t.same(world.cpu(HIGH, [300]), ['fired at 300 since 0'], 'so the run is complete');

  const both = new EvaluationWorld([cpuRule({ sustainedMs: 0, metricId: 'load_1m' })]);
  both.rows([{ at: 0, cpu: HIGH }]);
  const other = both.rows([{ at: 0, series: { svc_vm_load1: 99 } }]);
  t.same(other, ['fired at 0 since 0'], 'another series at the same time is not a conflict');
});

test('EVAL-09: a sample from the future is rejected, and samples after a clock set-back count', async (t) => {
  const future = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  t.same(future.rows([{ at: 61, cpu: HIGH }], 0), []);
  t.equal(future.state.counters.future, 1);
  t.same(future.rows([{ at: 60, cpu: HIGH }], 0), ['fired at 60 since 60'], '60 s are allowed');

  const back = new EvaluationWorld([cpuRule()]);
  back.cpu(HIGH, seconds(3600, 3840));
  const shifted = seconds(270, 600).map((at, i) => ({ at, cpu: HIGH, sequence: 4000 + i }));
  const lines = shifted.flatMap((row) => back.rows([row], row.at));
  t.same(lines, ['fired at 570 since 270'], 'rows after the step count, in a new run');
  t.equal(back.state.counters.clockBackwards, 1, 'flagged once');
  t.equal(back.state.counters.tooLate, 0);

  const firing = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  t.same(firing.rows([{ at: 7200, cpu: HIGH, sequence: 1 }]), ['fired at 7200 since 7200']);
  t.same(firing.rows([{ at: 3600, cpu: HIGH, sequence: 2 }], 7230), []);
  t.match(firing.instance(), { state: 'FIRING' }, 'its incident stays open');
  t.same(firing.rows([{ at: 3630, cpu: LOW, sequence: 3 }], 7260), ['recovered at 3630'], 'once');

  const over = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  over.rows([{ at: 7200, cpu: HIGH, sequence: 1 }]);
  over.rows([{ at: 7230, cpu: LOW, sequence: 2 }]);
  t.same(
    over.rows([HIGH, LOW].map((cpu, i) => ({ at: 3640 + i, cpu, sequence: 4 + i }))),
    ['fired at 3640 since 3640 unnotified', 'recovered at 3641'],
    'nothing is mistaken for a report about a later time',
  );

  const saved = new EvaluationWorld([cpuRule({ rule: 'older' })]);
  saved.rows([{ at: 7200, cpu: LOW, sequence: 1 }]);
  saved.marker(7210, { upserts: [cpuRule({ sustainedMs: 0, vms: ['vm-1'] })] });
  t.same(
    saved.rows([{ at: 3600, cpu: HIGH, sequence: 2 }], 3600),
    ['fired at 3600 since 3600'],
    'an earlier rule does not wait until the clock has caught up',
  );

  const rebooted = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  rebooted.cpu(LOW, [3600]);
  const early = [10, 40].map((at) => ({ at, cpu: HIGH, boot: 'boot-2' }));
  t.same(rebooted.rows(early.slice(0, 1), 3630), [], 'another boot may be late');
  t.same(rebooted.rows(early.slice(1), 3691), [], 'until the known one has been silent');
  t.equal(rebooted.state.counters.clockBackwards, 1);
  t.match(rebooted.instance(), { state: 'SUSTAINING' }, 'its old times are not fresh data');

  const batch = new EvaluationWorld([cpuRule()]);
  const mixed = [
    ...seconds(3600, 3660).map((at, i) => ({ at, cpu: HIGH, sequence: i })),
    ...seconds(0, 300).map((at, i) => ({ at, cpu: HIGH, sequence: 10 + i })),
  ];
  t.same(batch.rows(mixed.toReversed(), 3660), [], 'a batch is also ordered by boot and sequence');
  t.equal(batch.state.counters.clockBackwards, 1);
  t.equal(batch.instance().sinceMs, (batch.instance().lastObservedMs ?? 0) - 300_000);
});
