/**
 * The service's clock ran ahead and was set back. Entries of the log then have earlier times than
 * before, and nothing in the evaluator waits until the clock has caught up. In all scenarios the
 * clock is an hour ahead at first: second 3600 is really second 0.
 */
import { test } from 'tap';
import { GAP_TOLERANCE_MS } from '../../streams/telemetry/entry.ts';
import { cpuRule, EvaluationWorld, seconds } from '../support/evaluation-scenario.ts';

const [HIGH, LOW] = [95, 10];
const NOW = cpuRule({ sustainedMs: 0 });
const AGE = cpuRule({
  metricId: 'telemetry_age_seconds',
  threshold: 60,
  sustainedMs: 0,
});

/** Rows of a source without a boot and a sequence, as written through the API. */
function row(at: number, cpu: number, vm = 'vm-1') {
  return { at, cpu, vm, boot: '', sequence: 0 };
}

test('EVAL-09: a VM that reported while the clock was ahead is evaluated at once', async (t) => {
  const world = new EvaluationWorld([NOW]);
  world.rows([row(3600, LOW), row(3600, LOW, 'vm-2')]);
  t.same(world.rows([row(6, HIGH), row(6, LOW, 'vm-2')], 6), ['fired at 6 since 6']);
  t.equal(world.state.counters.tooLate, 0);
  t.same(world.rows([row(36, LOW), row(36, HIGH, 'vm-2')], 36), [
    'recovered at 36',
    'fired at 36 since 36 on vm-2',
  ]);
});

test('EVAL-09: a run neither continues nor recovers across the step', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 60_000 })]);
  t.same(world.cpu(HIGH, seconds(3600, 3660)), ['fired at 3660 since 3600']);
  // An hour without samples is no hour of good samples.
  t.same(world.tick(70), []);
  t.match(world.instance(), { state: 'FIRING' });
  const sustained = new EvaluationWorld([cpuRule({ sustainedMs: 120_000 })]);
  sustained.rows([row(3600, HIGH)]);
  t.same(
    seconds(10, 100).flatMap((at) => sustained.rows([row(at, HIGH)], at)),
    [],
  );
  t.same(sustained.rows([row(130, HIGH)], 130), ['fired at 130 since 10'], 'a new run');
});

test('EVAL-09: within a minute, an earlier row is late and not a clock step', async (t) => {
  const world = new EvaluationWorld([NOW]);
  world.rows([row(100, LOW)], 100);
  world.rows([row(40, LOW)], 40);
  t.equal(world.state.counters.clockBackwards, 0);
  world.rows([row(39, LOW)], 39);
  t.equal(world.state.counters.clockBackwards, 1);
});

test('EVAL-19: a VM that fell silent after the step fires once its silence is long enough', async (t) => {
  const world = new EvaluationWorld([AGE]);
  for (const at of seconds(3540, 3600)) {
    world.tick(at);
    world.rows([row(at, LOW)]);
  }
  const lines = seconds(6, 400, 15).flatMap((at) => world.tick(at).map((line) => `${at}: ${line}`));
  t.equal(lines.length, 1, lines.join());
  const [, firedAt] = /fired at (\d+)/.exec(lines[0] ?? '') ?? [];
  t.ok(Number(firedAt) > 6 && Number(firedAt) <= 6 + GAP_TOLERANCE_MS / 1000, lines.join());
});

test('EVAL-03: a firing incident without data is marked soon after the step', async (t) => {
  const world = new EvaluationWorld([NOW]);
  world.tick(3600);
  t.same(world.rows([row(3600, HIGH)]), ['fired at 3600 since 3600']);
  const lines = seconds(6, 250, 15).flatMap((at) => world.tick(at));
  t.match(lines, [/^dataMissing/]);
  t.match(world.instance(), { state: 'FIRING' }, 'silence recovers nothing');
  t.same(world.rows([row(260, LOW)], 260).at(-1), 'recovered at 260');
});

test('EVAL-24: a VM stopped by its owner after the step is known as stopped', async (t) => {
  const world = new EvaluationWorld([AGE]);
  world.tick(3600);
  world.rows([{ ...row(3600, LOW), state: 1 }]);
  world.rows(
    [{ at: 10, vm: 'vm-1', boot: '', sequence: 0, state: 3, stateReason: 'shutdown' }],
    10,
  );
  const facts = world.state.facts.get('demo')?.get('vm-1');
  t.equal(facts?.power, 'STOPPED');
  t.same(
    seconds(15, 400, 15).flatMap((at) => world.tick(at)),
    [],
  );
});

test('EVAL-12: a rule saved while the clock was ahead evaluates the samples after the step', async (t) => {
  const world = new EvaluationWorld([cpuRule({ rule: 'older', vms: ['vm-9'] })]);
  world.tick(3600);
  world.marker(3603, { upserts: [cpuRule({ sustainedMs: 0, fromMs: 1_700_003_603_000 })] });
  world.tick(6);
  t.same(world.rows([row(7, HIGH)], 7), ['fired at 7 since 7']);
});

test('DUR-28: a VM retired while the clock was ahead is evaluated when it returns', async (t) => {
  const world = new EvaluationWorld([NOW]);
  world.state.isLive = true;
  world.rows([row(3600, LOW)]);
  const atMs = 1_700_003_601_000;
  const retired = [{ project: 'demo', vm: 'vm-1', generation: 1, atMs }];
  world.entry({ kind: 'rules', atMs, upserts: [], removals: [], retired });
  t.same(world.rows([row(6, HIGH)], 6), ['fired at 6 since 6']);
  world.tick(10);
  t.equal(world.state.retired.get('demo')?.get('vm-1')?.atMs, 1_700_000_010_000);
});

test('EVAL-18: a decision with a future time does not silence a rebuilt evaluator', async (t) => {
  const key = { project: 'demo', rule: 'rule-1', evaluationRevision: 1, vm: 'vm-1', labels: '' };
  const startedMs = 1_700_003_600_000;
  const decided = {
    key,
    startedMs,
    firedMs: startedMs,
    dataMissing: false,
    decidedThrough: startedMs,
  };
  const world = new EvaluationWorld([AGE], [decided]);
  world.state.isLive = true;
  t.same(world.tick(6), []);
  t.same(world.rows([row(7, LOW)], 7), ['recovered at 7'], 'it ends with a sample of now');
});

test('after a tick, no time in the state is more than a minute ahead', async (t) => {
  const world = new EvaluationWorld([NOW, { ...AGE, rule: 'age' }]);
  world.state.isLive = true;
  for (const at of seconds(3540, 3600)) {
    world.tick(at);
    world.rows([row(at, HIGH), row(at, LOW, 'vm-2')]);
  }
  world.marker(3601, { upserts: [cpuRule({ rule: 'late', sustainedMs: 0 })] });
  world.tick(6);
  const limitMs = 1_700_000_006_000 + 60_000;
  const ahead: string[] = [];
  const check = (name: string, timeMs: number | undefined): void => {
    if ((timeMs ?? 0) > limitMs && timeMs !== Number.POSITIVE_INFINITY) ahead.push(name);
  };
  for (const { facts, rules, vms } of world.state.projects.values()) {
    for (const { newestMs, powerMs, aheadMs } of facts.values()) {
      for (const timeMs of [newestMs, powerMs, aheadMs]) check('facts', timeMs);
    }
    for (const { sinceMs, breachFromMs } of rules.values()) {
      check('rule', Math.max(sinceMs, breachFromMs));
    }
    for (const { buffers } of vms.values()) {
      for (const { instances, newestValueMs, derivation, newestMs } of buffers.values()) {
        check('newest value', newestValueMs);
        if (derivation.from === 'age') check('age', newestMs);
        for (const { sinceMs, reported } of instances) {
          check('instance', sinceMs);
          for (const { firedMs } of reported?.incidents ?? []) check('incident', firedMs);
        }
      }
    }
  }
  check('last tick', world.state.lastTickMs);
  check('listening', world.state.listeningSinceMs);
  check('blind', world.state.blind?.untilMs);
  t.same(ahead, []);
  t.ok(world.state.counters.rebased > 0);
});
