/**
 * Time-based rules, case by case: telemetry that stays away, stopped VMs, data centers that fall
 * silent as a whole. Times are seconds since the start of the scenario; sources sample every 30 s,
 * and ticks arrive about every 15 s.
 */
import { test } from 'tap';
import type { EvaluationRule, LivenessReport } from '../../streams/telemetry/entry.ts';
import {
  cpuRule,
  EvaluationWorld,
  PROJECT,
  type ShortRow,
  START_MS,
  seconds,
} from '../support/evaluation-scenario.ts';

const HIGH = 95;
const LOW = 10;
const [RUNNING, PAUSED, OFF, CRASHED] = [1, 2, 3, 4] as const;

/** Rule that fires after more than 300 s without telemetry. */
function unavailable(overrides: Partial<EvaluationRule> = {}): EvaluationRule {
  return cpuRule({
    rule: 'silent',
    metricId: 'telemetry_age_seconds',
    threshold: 300,
    sustainedMs: 0,
    ...overrides,
  });
}

function stopped(overrides: Partial<EvaluationRule> = {}): EvaluationRule {
  return cpuRule({
    rule: 'stopped',
    metricId: 'unexpected_stop',
    operator: 'EQUAL',
    threshold: 1,
    sustainedMs: 0,
    ...overrides,
  });
}

/** Ticks from `from` to `to`, inclusive if a tick falls on them. */
function ticks(world: EvaluationWorld, from: number, to: number, phase = 0): string[] {
  return seconds(from + phase, to, 15).flatMap((at) => world.tick(at));
}

/** A live VM: rows every 30 s with ticks in between. */
function live(
  world: EvaluationWorld,
  from: number,
  to: number,
  row: Omit<ShortRow, 'at'> = { cpu: LOW },
): string[] {
  return seconds(from, to, 15).flatMap((at) => [
    ...world.tick(at),
    ...((at - from) % 30 === 0 ? world.rows([{ at, ...row }]) : []),
  ]);
}

test('EVAL-04: unavailable telemetry fires its own rule from the moment it is due', async (t) => {
  for (const phase of [0, 1, 7, 14]) {
    const world = new EvaluationWorld([unavailable()]);
    world.tick(phase);
    world.rows([{ at: 3, cpu: LOW }]);
    t.same(ticks(world, 15, 303, phase), [], 'its age is at most 300 s');
    const edges = ticks(world, 315, 600, phase);
    t.same(edges, ['fired at 303 since 303'], `independent of the ticks, here ${phase}`);
    t.equal(world.edges[0]?.value, 300);
    t.match(world.instance(), { state: 'FIRING', dataState: 'MISSING' });
  }

  const sustained = new EvaluationWorld([unavailable({ threshold: 120, sustainedMs: 180_000 })]);
  sustained.tick(0);
  sustained.rows([{ at: 0, cpu: LOW }]);
  t.same(ticks(sustained, 15, 285), []);
  t.match(sustained.instance(), { state: 'SUSTAINING', sinceMs: START_MS + 120_000 });
  t.same(ticks(sustained, 300, 330), ['fired at 300 since 120'], 'plus the duration');
});

test('EVAL-04: a fresh row recovers unavailable telemetry and leaves the metric rule unchanged', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 }), unavailable()]);
  t.same(live(world, 0, 30, { cpu: HIGH }), ['fired at 0 since 0']);
  t.same(ticks(world, 45, 330), ['dataMissing since 30']);
  t.same(ticks(world, 345, 600), ['fired at 330 since 330'], 'silence ends neither');
  t.same(world.rows([{ at: 600 }]), ['recovered at 600'], 'a row without the metric is telemetry');
  t.match(
    world.instances().map(({ rule, state, dataState }) => `${rule} ${state} ${dataState}`),
    ['rule-1 FIRING MISSING', 'silent IDLE OBSERVED'],
  );
  t.same(world.rows([{ at: 630, cpu: LOW }]), ['recovered at 630']);

  const slow = new EvaluationWorld([unavailable({ recoveryMs: 60_000 })]);
  live(slow, 0, 0);
  t.same(ticks(slow, 15, 600), ['fired at 300 since 300']);
  t.same(live(slow, 615, 645), [], 'fresh rows span 30 of 60 s');
  t.same(live(slow, 765, 795), [], 'a gap in the recovery restarts it');
  t.same(live(slow, 825, 825), ['recovered at 825']);
});

test('EVAL-07: a burst of old rows does not make telemetry look live', async (t) => {
  const world = new EvaluationWorld([unavailable()]);
  live(world, 0, 0);
  t.same(ticks(world, 15, 900), ['fired at 300 since 300']);
  const old = seconds(30, 480).map((at) => ({ at, cpu: LOW }));
  t.same(world.rows(old, 905), ['corrected'], 'it was late, not away: nothing is retracted');
  t.same(ticks(world, 915, 960), []);
  t.match(world.instance(), { state: 'FIRING' });
  t.same(world.rows([{ at: 960, cpu: LOW }]), ['recovered at 960']);

  const buffered = new EvaluationWorld([unavailable()]);
  live(buffered, 0, 0);
  ticks(buffered, 15, 900);
  const all = seconds(30, 900).map((at) => ({ at, cpu: LOW }));
  t.same(buffered.rows(all, 905), ['corrected', 'recovered at 330'], 'until the present');
});

test('EVAL-09: telemetry rejected for its clock names that cause', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 }), unavailable()]);
  live(world, 0, 30, { cpu: HIGH });
  const ahead = { outages: [], placed: [], clockAhead: [{ project: PROJECT, vm: 'vm-1' }] };
  const edges = seconds(45, 360, 15).flatMap((at) => world.tick(at, ahead));
  t.same(edges, ['dataMissing since 30', 'fired at 330 since 330', 'dataMissing since 30']);
  const reasons = world.edges.flatMap((edge) => (edge.kind === 'dataMissing' ? [edge.reason] : []));
  t.same(reasons, ['CLOCK_AHEAD', 'CLOCK_AHEAD'], 'of the reading and of the telemetry');
  t.same(world.rows([{ at: 600, cpu: LOW }], 380), [], 'a row from the future is not telemetry');
  t.equal(world.state.counters.future, 1);
});

/** Reason of the last edge that has one. */
function reasonOf(world: EvaluationWorld): string {
  const edge = world.edges.findLast((one) => one.kind === 'dataMissing');
  return edge?.kind === 'dataMissing' ? edge.reason : '';
}

test('an unexpected stop fires on one row and ends on a row with another state', async (t) => {
  const world = new EvaluationWorld([stopped()]);
  t.same(live(world, 0, 60), []);
  t.same(world.rows([{ at: 90, state: CRASHED, stateReason: 'crashed' }]), [
    'fired at 90 since 90',
  ]);
  t.same(ticks(world, 105, 195), ['dataMissing since 90']);
  t.same(world.rows([{ at: 200, state: 0 }]), [], 'a row without a state ends nothing');
  t.same(world.rows([{ at: 210, state: OFF, stateReason: 'destroyed' }]), ['dataObserved at 210']);
  t.same(world.rows([{ at: 240, state: RUNNING }]), ['recovered at 240']);
  t.same(world.rows([{ at: 270, state: OFF, stateReason: 'shutdown' }]), [], 'by its owner');
  t.same(world.rows([{ at: 300, state: PAUSED, stateReason: 'user' }]), []);
  t.same(world.rows([{ at: 330, state: OFF, stateReason: 'destroyed' }]), [
    'fired at 330 since 330',
  ]);
  t.same(world.rows([{ at: 360, state: OFF, stateReason: 'shutdown' }]), ['recovered at 360']);
});

test('a missing reason does not recover a crash; before one, it counts as the owner’s stop', async (t) => {
  for (const stateReason of ['', 'unknown', 'daemon', 'from_snapshot']) {
    const world = new EvaluationWorld([stopped(), unavailable()]);
    const off = { state: OFF, stateReason };
    live(world, 0, 60);
    t.same(live(world, 90, 300, off), [], 'it had not crashed');
    t.same(ticks(world, 315, 3600), [], 'no telemetry is expected of it');
    const crash = { at: 3605, state: CRASHED, stateReason: 'crashed' };
    t.same(world.rows([crash]), ['fired at 3605 since 3605']);
    const edges = live(world, 3630, 3900, off).filter((edge) => !edge.startsWith('data'));
    t.same(edges, [], `${stateReason} ends nothing`);
    const silence = ticks(world, 3915, 7200);
    t.same(
      silence.filter((edge) => edge.startsWith('fired')),
      ['fired at 4200 since 4200'],
    );
    t.notMatch(reasonOf(world), 'VM_STOPPED');
  }
});

test('an unrequested pause counts as an unexpected stop, and silence still fires', async (t) => {
  for (const stateReason of ['ioerror', 'watchdog', 'postcopy_failed', 'api_error']) {
    const world = new EvaluationWorld([stopped(), unavailable()]);
    live(world, 0, 60);
    const paused = { at: 90, state: PAUSED, stateReason };
    t.same(world.rows([paused]), ['fired at 90 since 90']);
    t.match(ticks(world, 105, 900), ['dataMissing since 90', 'fired at 390 since 390']);
  }
});

test('EVAL-15: a VM stopped by its owner pauses evaluation and recovers nothing', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 }), unavailable()]);
  live(world, 0, 60, { cpu: HIGH });
  const off = { at: 90, state: OFF, stateReason: 'shutdown' };
  t.same(world.rows([off]), ['dataMissing since 90']);
  t.equal(reasonOf(world), 'VM_STOPPED');
  t.same(
    live(world, 105, 3600, { state: OFF, stateReason: 'shutdown' }),
    [],
    'its telemetry is missing too',
  );
  t.same(ticks(world, 3615, 7200), [], 'nor once it is silent');
  t.same(
    world.rows([{ at: 7200, cpu: LOW, state: PAUSED, stateReason: 'user' }]),
    [],
    'no reading',
  );
  t.same(live(world, 7230, 7230, { cpu: HIGH }), ['dataObserved at 7230']);
  t.same(live(world, 7260, 7260, { cpu: LOW }), ['recovered at 7260'], 'by its current reading');

  const open = new EvaluationWorld([unavailable()]);
  live(open, 0, 0);
  t.same(ticks(open, 15, 400), ['fired at 300 since 300']);
  t.same(open.rows([{ ...off, at: 405 }]), ['dataMissing since 405'], 'it is not a recovery');
  t.equal(reasonOf(open), 'VM_STOPPED');
  t.same(live(open, 435, 435), ['recovered at 435'], 'running and being heard is a recovery');
});

test('EVAL-15: telemetry becomes unavailable only after the boot grace period', async (t) => {
  const story = (first: Partial<ShortRow>) => {
    const world = new EvaluationWorld([unavailable({ threshold: 60 })]);
    live(world, 0, 60);
    world.rows([{ at: 90, state: OFF, stateReason: 'shutdown', ...first }]);
    world.tick(105);
    world.rows([{ at: 120, cpu: LOW }]);
    return ticks(world, 120, 300);
  };
  t.same(story({}), ['fired at 240 since 240'], 'it ran again at 120');
  t.same(story({ state: RUNNING }), ['fired at 180 since 180'], 'without a stop there is no grace');
});

test('EVAL-24: a powered-off VM that repeats its last row is not live', async (t) => {
  const world = new EvaluationWorld([cpuRule(), unavailable()]);
  live(world, 0, 60, { cpu: HIGH });
  const off = { state: OFF, stateReason: 'shutdown' };
  t.same(live(world, 90, 900, { cpu: HIGH, ...off }), [], 'its readings are no longer its own');
  t.same(
    world.rows([{ at: 911, cpu: HIGH, state: 0 }]),
    [],
    'nor are those in a row of unknown state',
  );
  const crashed = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  live(crashed, 0, 0, { cpu: HIGH });
  t.same(
    live(crashed, 30, 120, { cpu: LOW, state: CRASHED, stateReason: 'crashed' }),
    ['dataMissing since 0'],
    'a reading does not recover a crashed VM either',
  );
  t.equal(reasonOf(crashed), 'NO_DATA');
});

test('EVAL-19: unavailable telemetry waits for the backlog and one interval after a restart', async (t) => {
  const world = new EvaluationWorld([unavailable()]);
  live(world, 0, 0);
  world.rows([{ at: 0, cpu: LOW, vm: 'vm-2' }]);
  t.same(ticks(world, 15, 60), []);
  t.same([...world.tick(3600), ...world.tick(3615)], [], 'no tick was received for an hour');
  t.same(world.rows([{ at: 3616, cpu: LOW }]), [], 'a VM that is heard again is not reported');
  t.same(world.tick(3630), ['fired at 300 since 300 on vm-2'], 'the other since its true time');
});

/** `count` VMs in DC-1; VMs from index `from` on are silent after 60 s. */
function fleet(count: number, from: number, rules: readonly EvaluationRule[] = [unavailable()]) {
  const world = new EvaluationWorld(rules);
  const all = Array.from({ length: count }, (_, i) => `vm-${i}`);
  const rows = (at: number, vms: readonly string[], cpu = LOW) =>
    world.rows(vms.map((vm) => ({ at, vm, cpu })));
  const placed = all.map((vm) => ({ project: PROJECT, vm, datacenter: 'DC-1' }));
  const calm: LivenessReport = { outages: [], placed, clockAhead: [] };
  world.tick(0, calm);
  for (const at of seconds(0, 60)) rows(at, all, HIGH);
  const silent = all.slice(from);
  const step = (at: number, livenessReport?: LivenessReport): string[] => {
    const lines = world.tick(at, livenessReport);
    return at % 30 === 0 ? [...lines, ...rows(at, all.slice(0, from), HIGH)] : lines;
  };
  const outage: LivenessReport = {
    outages: [{ datacenter: 'DC-1', sinceMs: START_MS + 60_000 }],
    placed: [],
    clockAhead: [],
  };
  return { world, all, silent, rows, step, outage, calm: { ...calm, placed: [] } };
}

test('EVAL-19: a silent data center raises one incident per rule', async (t) => {
  const rules = [
    unavailable(),
    unavailable({ rule: 'named', vms: ['vm-6', 'vm-0'], threshold: 240 }),
    unavailable({ rule: 'other', vms: ['vm-0'] }),
    cpuRule({ sustainedMs: 0, threshold: 90 }),
  ];
  const { world, step, outage, calm, rows } = fleet(10, 5, rules);
  world.edges.length = 0;
  const lines = seconds(75, 600, 15).flatMap((at) => step(at, at < 165 ? calm : outage));
  t.same(
    lines.filter((line) => line.startsWith('fired')),
    [
      'fired at 300 since 300 on  of {datacenter="DC-1"}',
      'fired at 360 since 360 on  of {datacenter="DC-1"}',
    ],
  );
  const held = world.edges.flatMap((edge) => (edge.kind === 'fired' && edge.held ? [edge] : []));
  t.match(held, [
    { key: { rule: 'named', vm: '' }, held: { datacenter: 'DC-1', vms: ['vm-6'] } },
    { key: { rule: 'silent' }, held: { vms: ['vm-5', 'vm-6', 'vm-7', 'vm-8', 'vm-9'] } },
  ]);
  const reasons = world.edges.flatMap((edge) => (edge.kind === 'dataMissing' ? [edge.reason] : []));
  t.same(
    reasons,
    Array(5).fill('DATACENTER_STALE'),
    'open incidents of its readings name the cause',
  );
  t.same(step(615), [], 'without a report the last known state applies');

  t.same(
    rows(620, ['vm-5', 'vm-6', 'vm-7']).filter((line) => !line.includes('data')),
    ['recovered at 620 on vm-5', 'recovered at 620 on vm-6', 'recovered at 620 on vm-7'],
    'VMs that are heard again cause no past incidents',
  );
  t.same(
    world.tick(630, calm).filter((line) => !line.includes('dataMissing')),
    [
      'recovered at 620 on  of {datacenter="DC-1"}',
      'recovered at 620 on  of {datacenter="DC-1"}',
      'fired at 360 since 360 on vm-8',
      'fired at 360 since 360 on vm-9',
    ],
    'VMs that are still silent fire individually, from their true times',
  );
  t.same(rows(640, ['vm-8', 'vm-9']).filter((line) => line.startsWith('rec')).length, 4);
});

test('a rule that cannot be evaluated fails its incidents and recovers none', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  world.cpu(HIGH, [0]);
  const [rule] = world.state.projects.get(PROJECT)?.rules.values() ?? [];
  const operator = rule?.rule.operator;
  Object.assign(rule?.rule ?? {}, { operator: 'SOMETHING_NEW' });
  t.same(world.cpu(LOW, [30, 60]), ['evaluatorFailed'], 'reported once');
  t.match(world.edges.at(-1), { reason: 'The operator SOMETHING_NEW is unknown' });
  t.match(world.instance(), { state: 'FIRING', failure: /SOMETHING_NEW/ });
  t.equal(world.state.counters.failures, 1);
  Object.assign(rule?.rule ?? {}, { operator });
  t.same(world.cpu(HIGH, [90]), ['evaluatorHealthy']);
  t.same(world.cpu(LOW, [120]), ['recovered at 120']);
});

test('a rule that cannot be evaluated joins a watched series and affects no other rule', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  world.cpu(LOW, [0, 30]);
  // As a member of an older version reads it.
  const operator = 'SOMETHING_NEW' as 'EQUAL';
  world.marker(40, { upserts: [cpuRule({ rule: 'rule-2', operator })] });
  t.match(world.instances(), [{ state: 'IDLE' }, { failure: /SOMETHING_NEW/ }]);
  t.same(world.cpu(HIGH, [60]), ['fired at 60 since 60']);
});

test('a rule that cannot be evaluated waits for its quota and affects no other rule', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  world.cpu(LOW, [0, 30]);
  const upserts = [cpuRule({ rule: 'rule-2', operator: 'SOMETHING_NEW' as 'EQUAL' })];
  const limitTo = (instances: number) => ({
    kind: 'rules' as const,
    atMs: START_MS + 40_000,
    removals: [],
    limits: [{ project: PROJECT, instances }],
  });
  world.entry({ ...limitTo(1), upserts });
  world.entry({ ...limitTo(2), upserts: [] });
  // The first rows settle with this one, without having been evaluated by the new rule.
  t.same(world.cpu(HIGH, [360]), ['fired at 360 since 360']);
  t.match(world.instances(), [{ state: 'FIRING' }, { failure: /SOMETHING_NEW/ }]);
});

const newer = (of: (overrides?: Partial<EvaluationRule>) => EvaluationRule) =>
  of({ rule: 'newer', operator: 'SOMETHING_NEW' as 'EQUAL' });

test('nothing is decided for a rule on telemetry that cannot be evaluated, and others fire', async (t) => {
  const world = new EvaluationWorld([unavailable(), newer(unavailable)]);
  world.rows([{ at: 0 }]);
  world.rows([{ at: 30 }]);
  const [other, failed] = world.instances();
  t.equal(other?.failure, undefined);
  t.match(failed, { state: 'IDLE', failure: 'The operator SOMETHING_NEW is unknown' });
  t.same(ticks(world, 45, 600), ['fired at 330 since 330']);
  t.same(world.rows([{ at: 630 }]), ['recovered at 630']);
  // Settles the first rows.
  world.rows([{ at: 1_000 }]);
  t.match(world.instances()[1], { state: 'IDLE', failure: /SOMETHING_NEW/ });
});

test('a rule on telemetry that cannot be evaluated joins silent VMs and an outage without a decision', async (t) => {
  const world = new EvaluationWorld([unavailable()]);
  const vms = ['vm-1', 'vm-2', 'vm-3', 'vm-4', 'vm-5'];
  world.rows(vms.map((vm) => ({ at: 0, vm })));
  world.marker(30, { upserts: [newer(unavailable)] });
  const placed = vms.map((vm) => ({ project: PROJECT, vm, datacenter: 'DC-1' }));
  const outages = [{ datacenter: 'DC-1', sinceMs: START_MS }];
  world.tick(135, { outages, placed, clockAhead: [] });
  t.same(ticks(world, 150, 600), ['fired at 300 since 300 on  of {datacenter="DC-1"}']);
  t.match(
    world.instances().filter(({ rule }) => rule === 'newer'),
    vms.map(() => ({ state: 'IDLE', failure: /SOMETHING_NEW/ })),
  );
});

test('a rule on telemetry that can no longer be evaluated fails its incident and does not recover it', async (t) => {
  const world = new EvaluationWorld([unavailable()]);
  world.rows([{ at: 0 }]);
  t.same(ticks(world, 15, 600), ['fired at 300 since 300']);
  const [rule] = world.state.projects.get(PROJECT)?.rules.values() ?? [];
  Object.assign(rule?.rule ?? {}, { operator: 'SOMETHING_NEW' });
  t.same(world.rows([{ at: 630 }]), ['evaluatorFailed']);
  t.same(world.rows([{ at: 660 }]), []);
  t.match(world.instance(), { failure: /SOMETHING_NEW/ });
});
