/**
 * Rule markers, label sets and restarts, case by case: which samples a rule's revision uses, and
 * that a rebuilt evaluator equals one that never stopped.
 */
import { test } from 'tap';
import { beginCatchUp } from '../../streams/alerting/evaluation/catch-up.ts';
import {
  acceptEdge,
  incidentIdOf,
  instanceIdOf,
} from '../../streams/alerting/evaluation/notification-diff.ts';
import { changesOf, edgesOf } from '../../streams/alerting/evaluation/pipeline.ts';
import type { Steps } from '../../streams/platform/operators.ts';
import type { EvaluationRule } from '../../streams/telemetry/entry.ts';
import {
  cpuRule,
  EvaluationWorld,
  PROJECT,
  START_MS,
  seconds,
} from '../support/evaluation-scenario.ts';

const HIGH = 95;
const LOW = 10;

test('EVAL-16: a new revision replaces the old one silently and evaluates stored samples', async (t) => {
  const world = new EvaluationWorld([cpuRule()]);
  world.cpu(HIGH, seconds(0, 300));
  const edited = cpuRule({ evaluationRevision: 2, threshold: 92 });
  t.same(
    world.marker(310, { upserts: [edited] }),
    ['fired at 300 since 0'],
    'still true: fires at once',
  );
  t.equal(world.edges.at(-1)?.key.evaluationRevision, 2);
  t.equal(world.instances().length, 1, 'the old instance ended without a recovery');
  t.same(world.marker(320, { upserts: [edited] }), [], 'the same revision changes nothing');
  t.same(
    world.marker(320, { upserts: [cpuRule()] }),
    [],
    'an older revision changes nothing either',
  );
  t.same(world.cpu(LOW, [330]), ['recovered at 330']);

  const raised = new EvaluationWorld([cpuRule()]);
  raised.cpu(HIGH, seconds(0, 300));
  const higher = cpuRule({ evaluationRevision: 2, threshold: 96 });
  t.same(raised.marker(310, { upserts: [higher] }), []);
  t.same(raised.cpu(HIGH, seconds(330, 900)), [], 'no longer true');
});

test('a late marker neither ends a resumed rule nor restores an ended one', async (t) => {
  const world = new EvaluationWorld([cpuRule()]);
  const ends = (evaluationRevision: number) => ({
    kind: 'rules' as const,
    atMs: START_MS,
    upserts: [],
    removals: [{ project: PROJECT, rule: 'rule-1', evaluationRevision }],
  });
  world.entry(ends(2));
  world.marker(20, { upserts: [cpuRule()] });
  t.same(
    world.cpu(HIGH, seconds(30, 400)),
    [],
    'revision 1 ended with the pause; revision 2 continues',
  );
  world.marker(410, { upserts: [cpuRule({ evaluationRevision: 3 })] }, []);
  world.entry(ends(2));
  t.same(world.cpu(HIGH, seconds(430, 730)), ['fired at 730 since 430'], 'revision 3 continues');
  world.entry(ends(4));
  t.same(world.cpu(LOW, [760]), [], 'it ends with its own marker');
});

test('EVAL-17: a filesystem rule has one instance per mount', async (t) => {
  const rule = cpuRule({ metricId: 'filesystem_used_pct', sustainedMs: 60_000 });
  const world = new EvaluationWorld([rule]);
  const mounts = (root: number, data?: number) => ({
    'svc_vm_filesystem_size_bytes{fstype="ext4",mountpoint="/"}': 200,
    'svc_vm_filesystem_used_bytes{fstype="ext4",mountpoint="/"}': root,
    ...(data === undefined
      ? {}
      : {
          'svc_vm_filesystem_size_bytes{fstype="xfs",mountpoint="/data"}': 1000,
          'svc_vm_filesystem_used_bytes{fstype="xfs",mountpoint="/data"}': data,
        }),
  });
  const lines = [
    { at: 0, series: mounts(190, 100) },
    { at: 30, series: mounts(190) },
    { at: 60, series: mounts(190, 990) },
    { at: 120, series: mounts(20, 990) },
  ].flatMap((row) => world.rows([row]));
  t.same(lines, [
    'fired at 60 since 0 of {fstype="ext4",mountpoint="/"}',
    'recovered at 120 of {fstype="ext4",mountpoint="/"}',
    'fired at 120 since 60 of {fstype="xfs",mountpoint="/data"}',
  ]);
  t.equal(world.instances().length, 2);
});

test('EVAL-17: a shorter duration fires from stored samples, and a resumed rule starts a new run', async (t) => {
  const shorter = new EvaluationWorld([cpuRule({ sustainedMs: 3_600_000 })]);
  shorter.cpu(HIGH, seconds(0, 600));
  const edited = cpuRule({ evaluationRevision: 2, sustainedMs: 300_000 });
  t.match(shorter.marker(610, { upserts: [edited] }), [/^fired at \d+ since \d+$/]);

  const resumed = new EvaluationWorld([cpuRule()]);
  resumed.cpu(HIGH, seconds(0, 300));
  t.same(resumed.marker(310, { removals: ['rule-1'] }), [], 'a pause is not a recovery');
  t.same(resumed.cpu(HIGH, seconds(330, 600)), [], 'paused: nothing is evaluated');
  t.same(resumed.instances(), []);
  const again = cpuRule({ evaluationRevision: 2 });
  t.same(resumed.marker(610, { upserts: [again] }), [], 'although the samples are stored');
  t.same(resumed.cpu(HIGH, seconds(630, 930)), ['fired at 930 since 630']);

  const late = new EvaluationWorld();
  late.cpu(HIGH, seconds(0, 600));
  const changed = cpuRule({ evaluationRevision: 5, fromMs: START_MS + 610_000 });
  t.same(
    late.marker(610, { upserts: [changed] }),
    [],
    'nor when the pause is no longer in the log',
  );
  t.same(late.cpu(HIGH, seconds(630, 930)), ['fired at 930 since 630']);
});

test('a new rule joins the buffers of other rules, and late samples reach both', async (t) => {
  const world = new EvaluationWorld([cpuRule({ rule: 'other', sustainedMs: 600_000 })]);
  world.cpu(HIGH, [0, 30, 60, 120, 150, 180, 210, 240, 270, 300]);
  const joined = world.marker(301, { upserts: [cpuRule({ sustainedMs: 330_000 })] });
  t.same(joined, []);
  t.same(world.rows([{ at: 90, cpu: LOW }], 302), []);
  t.same(world.cpu(HIGH, seconds(330, 420)), [], 'both runs were split at 90');
  t.same(world.cpu(HIGH, [450]), ['fired at 450 since 120']);
  t.equal(
    world.state.projects.get(PROJECT)?.vms.get('vm-1')?.buffers.size,
    1,
    'both share one buffer',
  );
});

test('a rule for named VMs watches only these; one for all VMs also watches new ones', async (t) => {
  const named: EvaluationRule = cpuRule({ sustainedMs: 0, vms: ['vm-2'] });
  const all = cpuRule({ sustainedMs: 0, rule: 'all', threshold: 99 });
  const world = new EvaluationWorld([named, all]);
  t.same(world.rows([{ at: 0, cpu: HIGH }]), []);
  t.same(world.rows([{ at: 0, cpu: HIGH, vm: 'vm-2' }]), ['fired at 0 since 0 on vm-2']);
  t.same(world.rows([{ at: 0, cpu: 100, vm: 'vm-3' }]), ['fired at 0 since 0 on vm-3']);
});

test('EVAL-18: decided edges are recognised, and ids derive from key and ordinal', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  world.cpu(HIGH, [0]);
  world.cpu(LOW, [30]);
  world.cpu(HIGH, [60]);
  const [fired, recovered, again] = world.edges;
  if (!fired || !recovered || !again) throw new Error('The scenario lacks its three edges');
  const none = { ordinal: 0, decidedThrough: 0, firing: false };
  const first = acceptEdge(none, fired);
  t.same(first, { ordinal: 1, incidentId: incidentIdOf(fired.key, 1) });
  t.equal(acceptEdge(none, recovered), undefined, 'nothing is firing');
  const open = { ordinal: 1, decidedThrough: fired.atMs, firing: true };
  t.equal(acceptEdge(open, fired), undefined, 'decided before');
  t.same(acceptEdge(open, recovered), first, 'of the same incident');
  const closed = { ordinal: 1, decidedThrough: recovered.atMs, firing: false };
  t.equal(acceptEdge(closed, recovered), undefined);
  t.equal(acceptEdge(closed, again)?.ordinal, 2);
  t.not(incidentIdOf(fired.key, 1), incidentIdOf(fired.key, 2));
  t.match(instanceIdOf(fired.key), /^ins_[0-9a-f]{32}$/);
  t.not(instanceIdOf(fired.key), instanceIdOf({ ...fired.key, labels: '{mountpoint="/"}' }));
});

test('EVAL-18: downtime of the evaluator is not a gap in the data', async (t) => {
  const world = new EvaluationWorld([cpuRule()]);
  world.tick(0);
  world.cpu(HIGH, seconds(0, 300));
  t.same(world.tick(7200), [], 'no tick was received until this one');
  const backlog = seconds(330, 7200).map((at) => ({ at, cpu: HIGH }));
  t.same(world.rows(backlog, 7205), [], 'the data was there');
  t.same(world.tick(7230), []);
  t.match(world.instance(), { state: 'FIRING', dataState: 'OBSERVED' });
});

test('the deciding window of a long run is thinned, but keeps its ends and extremes', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 86_400_000, threshold: 50 })]);
  const value = (at: number): number => (at === 30_000 ? 99 : at === 60_030 ? 51 : 70);
  for (const at of seconds(0, 86_370)) world.cpu(value(at), [at]);
  t.same(world.edges, []);
  t.same(world.cpu(71, [86_400]), ['fired at 86400 since 0']);
  const [edge] = world.edges;
  const window = edge && 'window' in edge ? edge.window : [];
  t.ok(window.length > 200 && window.length <= 512, `${window.length} of 2881 values`);
  t.equal(window[0]?.observedMs, START_MS);
  t.equal(window.at(-1)?.value, 71);
  const values = window.map((one) => one.value);
  t.same([Math.min(...values), Math.max(...values)], [51, 99]);
});

test('a recovery threshold and a recovery duration work with every operator', async (t) => {
  // For each operator: a breaching value at 50, one between the thresholds if possible, and a good
  // one.
  const cases = [
    ['GREATER_THAN', 40, { breach: 51, between: 45, good: 40 }],
    ['GREATER_THAN_OR_EQUAL', 40, { breach: 50, between: 40, good: 39 }],
    ['LESS_THAN', 60, { breach: 49, between: 55, good: 60 }],
    ['LESS_THAN_OR_EQUAL', 60, { breach: 50, between: 60, good: 61 }],
    ['EQUAL', 60, { breach: 50, between: 60, good: 70 }],
    ['NOT_EQUAL', 50, { breach: 49, between: undefined, good: 50 }],
  ] as const;
  for (const [operator, recoveryThreshold, { breach, between, good }] of cases) {
    const condition = { operator, threshold: 50, sustainedMs: 30_000 };
    const world = new EvaluationWorld([
      cpuRule({ ...condition, recoveryThreshold, recoveryMs: 60_000 }),
    ]);
    t.same(world.cpu(breach, [0, 30]), ['fired at 30 since 0'], operator);
    if (between !== undefined) {
      t.same(world.cpu(between, seconds(60, 300)), [], `${operator}: neither breach nor recovery`);
    }
    t.same(world.cpu(good, [330, 360]), [], `${operator}: good for 30 of 60 s`);
    t.same(world.cpu(breach, [390]), [], `${operator}: in breach again`);
    t.same(world.cpu(good, [420, 450]), [], `${operator}: the recovery restarts`);
    t.same(world.cpu(good, [480]), ['recovered at 480'], operator);
  }
});

test('EVAL-16: an edited telemetry rule knows past observations and replaces the old one silently', async (t) => {
  const silent = cpuRule({
    rule: 'silent',
    metricId: 'telemetry_age_seconds',
    threshold: 300,
    sustainedMs: 0,
  });
  const stopped = cpuRule({
    rule: 'stopped',
    metricId: 'unexpected_stop',
    operator: 'EQUAL',
    threshold: 1,
    sustainedMs: 60_000,
  });
  const world = new EvaluationWorld([silent, stopped]);
  const crashed = { state: 4, stateReason: 'crashed' };
  for (const at of [0, 30, 60]) world.rows([{ at, ...crashed }]);
  t.same(
    world.edges.map(({ key }) => key.rule),
    ['stopped'],
  );
  for (const at of seconds(75, 390, 15)) world.tick(at);
  t.match(world.edges.at(-1), { kind: 'fired', key: { rule: 'silent' } });
  const edited = [
    { ...silent, evaluationRevision: 2, threshold: 200 },
    { ...stopped, evaluationRevision: 2, sustainedMs: 30_000 },
  ];
  t.same(world.marker(391, { upserts: edited }), [], 'no end of the old ones is reported');
  t.same(
    world.tick(405),
    ['fired at 260 since 260'],
    'from the time that the new revision defines',
  );
  t.equal(world.edges.at(-1)?.key.evaluationRevision, 2);
  t.same(world.rows([{ at: 420, ...crashed }]), ['recovered at 420']);
  t.same(world.rows([{ at: 450, ...crashed }]), ['fired at 450 since 420'], 'a run of its own');
});

test('EVAL-17: a resumed telemetry rule starts a new run', async (t) => {
  const silent = cpuRule({
    metricId: 'telemetry_age_seconds',
    threshold: 60,
    sustainedMs: 300_000,
  });
  const world = new EvaluationWorld([silent]);
  world.tick(0);
  world.rows([{ at: 0 }]);
  for (const at of seconds(15, 240, 15)) world.tick(at);
  world.marker(250, { removals: ['rule-1'] });
  t.same(
    seconds(255, 600, 15).flatMap((at) => world.tick(at)),
    [],
    'paused: nothing is reported',
  );
  world.marker(601, { upserts: [{ ...silent, evaluationRevision: 2 }] });
  t.same(
    seconds(615, 900, 15).flatMap((at) => world.tick(at)),
    [],
    'earlier silence does not count for it',
  );
  t.same(world.tick(915), ['fired at 901 since 601']);

  const joined = new EvaluationWorld([silent]);
  joined.tick(0);
  joined.rows([{ at: 0 }]);
  for (const at of seconds(15, 120, 15)) joined.tick(at);
  joined.marker(
    121,
    { upserts: [{ ...silent, rule: 'shorter', sustainedMs: 0, threshold: 90 }] },
    [],
  );
  t.same(joined.tick(135), ['fired at 90 since 90'], 'it knows the state that other rules know');
});

test('a marker or tick that is folded one VM at a time gives the same result', async (t) => {
  const silent = cpuRule({ metricId: 'telemetry_age_seconds', threshold: 300, sustainedMs: 0 });
  const vms = Array.from({ length: 200 }, (_, i) => `vm-${i}`);
  const heard = () => {
    const world = new EvaluationWorld([cpuRule({ rule: 'other' })]);
    world.tick(0);
    world.rows(vms.map((vm) => ({ at: 0, vm, cpu: 95 })));
    return world;
  };
  /** Number of steps, and the largest number of instances in one step. */
  const walk = <T>(world: EvaluationWorld, steps: Steps<T>) => {
    const instances = (): number => world.state.projects.get(PROJECT)?.instances ?? 0;
    for (let count = 1, largest = 0; ; count++) {
      const before = instances();
      const { done, value } = steps.next();
      largest = Math.max(largest, instances() - before);
      if (done) return { count, largest, value };
    }
  };
  const upserts = [cpuRule({ sustainedMs: 0 }), { ...silent, rule: 'silent' }];
  const world = heard();
  const { state } = world;
  const marker = { kind: 'rules' as const, atMs: START_MS + 1000, upserts, removals: [] };
  const { take, join } = beginCatchUp(state, marker);
  for (const before of world.log) take(before);
  const joined = walk(world, join());
  t.ok(joined.count > vms.length, `${joined.count} steps`);
  t.ok(joined.largest <= 3, `${joined.largest} instances in one`);
  const found = walk(world, changesOf(state, marker, joined.value)).value;
  const fired = walk(world, edgesOf(state, marker, found));
  t.ok(fired.count > vms.length, `${fired.count} steps`);
  const whole = heard();
  whole.marker(1, { upserts });
  t.same(fired.value, whole.edges, 'all of them fire');
  t.equal(fired.value.length, vms.length);
  for (const each of [world, whole]) for (const at of seconds(15, 300, 15)) each.tick(at);
  const tick = { kind: 'tick' as const, atMs: START_MS + 315_000 };
  const passed = walk(world, changesOf(state, tick, []));
  const ticked = walk(world, edgesOf(state, tick, passed.value));
  const steps = passed.count + ticked.count;
  t.ok(steps > 2 * vms.length, `${steps} steps`);
  whole.tick(315);
  t.same(ticked.value, whole.edges.slice(-vms.length));
  t.equal(ticked.value[0]?.kind, 'fired');
});
