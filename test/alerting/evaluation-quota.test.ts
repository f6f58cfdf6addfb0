/**
 * The limit on a project's instances as part of the pure fold: the evaluated instances are a
 * function of the log, and a retired VM leaves without a notification.
 */
import { test } from 'tap';
import { inspect } from '../../streams/alerting/evaluation/inspect.ts';
import { instanceIdOf } from '../../streams/alerting/evaluation/notification-diff.ts';
import { createState } from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationRule, LogEntry } from '../../streams/telemetry/entry.ts';
import { decodeEntry, encodeEntry } from '../../streams/telemetry/entry-codec.ts';
import { fold } from '../support/evaluation-fold.ts';
import { cpuRule, EvaluationWorld, PROJECT, START_MS } from '../support/evaluation-scenario.ts';

const HIGH = 95;
const LOW = 10;
const now = cpuRule({ sustainedMs: 0 });

const rulesEntry = (at: number, more: Partial<Extract<LogEntry, { kind: 'rules' }>>): LogEntry => ({
  kind: 'rules',
  atMs: START_MS + at * 1000,
  upserts: [],
  removals: [],
  ...more,
});
const limit = (at: number, instances: number) =>
  rulesEntry(at, { limits: [{ project: PROJECT, instances }] });
const retire = (at: number, vm: string, generation = 1) =>
  rulesEntry(at, {
    retired: [{ project: PROJECT, vm, generation, atMs: START_MS + at * 1000 }],
  });

/** One value per VM in a batch, in this order. */
const observe = (world: EvaluationWorld, at: number, vms: readonly string[], cpu: number) =>
  world.rows(vms.map((vm) => ({ at, vm, cpu })));

const evaluated = (world: EvaluationWorld) => world.instances().map(({ vm }) => vm);
const unevaluated = (world: EvaluationWorld) =>
  Object.fromEntries(world.state.projects.get(PROJECT)?.unevaluated ?? []);

/** A state that folded the log again, restored from its bytes. */
function again(world: EvaluationWorld, rules: readonly EvaluationRule[]): EvaluationWorld {
  const other = new EvaluationWorld(rules);
  for (const [i, entry] of world.log.entries()) {
    other.entry(decodeEntry(encodeEntry(entry)), world.log.slice(0, i));
  }
  return other;
}

test('the log’s first instances are evaluated, the others are counted and wait', async (t) => {
  const world = new EvaluationWorld([now]);
  world.entry(limit(0, 2));
  observe(world, 30, ['a', 'b'], LOW);
  t.same(observe(world, 60, ['d', 'c', 'b', 'a'], LOW), []);
  t.same(evaluated(world), ['a', 'b'], 'existing instances continue');
  t.same(unevaluated(world), { 'rule-1': 2 });
  t.same(observe(world, 90, ['d', 'c'], HIGH), [], 'an instance beyond the limit has no incident');
  t.same(observe(world, 90, ['a'], HIGH), ['fired at 90 since 90 on a']);
  observe(world, 120, ['c', 'd'], HIGH);
  t.same(unevaluated(world), { 'rule-1': 2 }, 'each is counted once');
  const other = again(world, [now]);
  t.same(other.instances(), world.instances(), 'only the log decides which');
  t.same(other.edges, world.edges);

  world.entry(limit(130, 3));
  t.same(
    observe(world, 150, ['c', 'd'], HIGH),
    ['fired at 150 since 150 on c'],
    'room for one more',
  );
  t.same(unevaluated(world), { 'rule-1': 1 });
  world.entry(retire(160, 'b'));
  t.same(
    observe(world, 180, ['d'], HIGH),
    ['fired at 180 since 180 on d'],
    "it takes another's slot",
  );
  t.same(unevaluated(world), {});
  world.entry(limit(190, 1));
  t.same(evaluated(world).sort(), ['a', 'c', 'd'], 'a lower limit ends no instance');
  observe(world, 210, ['e'], HIGH);
  t.same(unevaluated(world), { 'rule-1': 1 });
  t.same(again(world, [now]).instances(), world.instances());
  t.equal(world.state.projects.get(PROJECT)?.instances, 3);
});

test('a rule added to a full project ignores stored samples, and waits', async (t) => {
  const world = new EvaluationWorld([now]);
  world.entry(limit(0, 2));
  observe(world, 30, ['a', 'b'], HIGH);
  const second = cpuRule({ rule: 'rule-2', sustainedMs: 0 });
  t.same(world.marker(40, { upserts: [second] }), []);
  observe(world, 60, ['a', 'b'], HIGH);
  t.same(unevaluated(world), { 'rule-2': 2 });
  world.marker(70, { removals: ['rule-1'] });
  t.equal(world.state.projects.get(PROJECT)?.instances, 0);
  t.same(
    observe(world, 90, ['a', 'b'], HIGH),
    ['fired at 90 since 90 on a', 'fired at 90 since 90 on b'],
    'it gets the slot of a deleted rule',
  );
  t.same(unevaluated(world), {});
  world.marker(95, { removals: ['rule-2'] });
  t.equal(world.state.projects.get(PROJECT), undefined);
});

test('an edit keeps the slots of its rule', async (t) => {
  const world = new EvaluationWorld([now]);
  world.entry(limit(0, 2));
  observe(world, 30, ['a', 'b', 'c'], LOW);
  const edited = cpuRule({ evaluationRevision: 2, sustainedMs: 0, threshold: 80 });
  world.marker(40, { upserts: [edited] });
  t.same(evaluated(world), ['a', 'b']);
  t.equal(world.state.projects.get(PROJECT)?.instances, 2);
  observe(world, 60, ['c', 'a', 'b'], LOW);
  t.same(evaluated(world), ['a', 'b']);
  t.same(unevaluated(world), { 'rule-1': 1 });
});

test('instances that were open before a restart are evaluated regardless of the limit', async (t) => {
  const key = { project: PROJECT, rule: 'rule-1', evaluationRevision: 1, labels: '' };
  const startedMs = START_MS - 60_000;
  const world = new EvaluationWorld(
    [now],
    [{ key: { ...key, vm: 'z' }, startedMs, dataMissing: false, decidedThrough: startedMs }],
  );
  world.entry(limit(0, 1));
  observe(world, 30, ['a', 'z'], HIGH);
  t.same(evaluated(world), ['z']);
  t.same(observe(world, 60, ['a', 'z'], LOW), ['recovered at 60 on z']);
});

test('a retired VM leaves silently; its earlier observations remain only in history', async (t) => {
  const world = new EvaluationWorld([now]);
  observe(world, 30, ['a', 'b'], HIGH);
  t.same(world.entry(retire(40, 'a')), [], 'no recovery is manufactured');
  t.same(evaluated(world), ['b']);
  t.same(observe(world, 35, ['a'], HIGH), [], 'a buffered row from before');
  t.same(world.rows([{ at: 40, vm: 'a', cpu: LOW }], 60), []);
  t.equal(world.state.counters.tooLate, 2);
  t.same(
    world.tick(600).filter((line) => line.endsWith('on a')),
    [],
  );
  t.same(world.entry(retire(40, 'a')), [], 'a duplicate report is one retirement');

  t.same(observe(world, 660, ['a'], HIGH), ['fired at 660 since 660 on a'], 'a new VM');
  const [first, second] = world.edges.filter(({ key }) => key.vm === 'a');
  t.equal(first?.key.generation, undefined);
  t.equal(second?.key.generation, 1);
  const ids = [first, second].map((edge) => edge && instanceIdOf(edge.key));
  t.not(ids[0], ids[1], 'an instance of its own');
  const other = again(world, [now]);
  t.same(other.edges, world.edges, 'a restart reaches the same state');
});

test('the telemetry of a retired VM is not unavailable', async (t) => {
  const rule = cpuRule({
    metricId: 'telemetry_age_seconds',
    threshold: 300,
    sustainedMs: 0,
    recoveryMs: 0,
  });
  const world = new EvaluationWorld([rule]);
  for (let at = 0; at <= 120; at += 30) {
    observe(world, at, ['a', 'b'], LOW);
    world.tick(at);
  }
  world.entry(retire(125, 'a'));
  const lines: string[] = [];
  for (let at = 150; at <= 900; at += 30) lines.push(...world.tick(at));
  t.match(lines, [/^fired .* on b$/]);
  t.same(evaluated(world), ['b']);
});

test('a rule created after a VM was retired does not catch up on that VM', async (t) => {
  const world = new EvaluationWorld([]);
  observe(world, 30, ['a', 'b'], HIGH);
  world.entry(retire(40, 'a'));
  t.same(world.marker(50, { upserts: [now] }), ['fired at 30 since 30 on b']);
  t.same(evaluated(world), ['b']);
});

test('MEAS-04: a vanished mount is missing data, not a recovery', async (t) => {
  const rule = cpuRule({ metricId: 'filesystem_used_pct', sustainedMs: 0 });
  const world = new EvaluationWorld([rule]);
  const mount = (name: string, used: number) => ({
    [`svc_vm_filesystem_size_bytes{mountpoint="${name}"}`]: 100,
    [`svc_vm_filesystem_used_bytes{mountpoint="${name}"}`]: used,
  });
  world.tick(0);
  world.rows([{ at: 30, series: { ...mount('/', 10), ...mount('/data', 99) } }]);
  t.match(world.instances(), [
    { labels: '{mountpoint="/"}', state: 'IDLE' },
    { labels: '{mountpoint="/data"}', state: 'FIRING' },
  ]);
  const lines: string[] = [];
  for (let at = 60; at <= 300; at += 30) {
    lines.push(...world.rows([{ at, series: mount('/', 10) }]), ...world.tick(at));
  }
  t.same(lines, ['dataMissing since 30 of {mountpoint="/data"}']);
  t.match(world.instances()[1], { state: 'FIRING', dataState: 'MISSING', lastValue: 99 });
  t.same(
    world
      .rows([{ at: 330, series: mount('/data', 5) }])
      .at(-1)
      ?.split(' of')[0],
    'recovered at 330',
  );
});

test('markers of older logs without limits do not limit anything', async (t) => {
  const old = Buffer.from(encodeEntry(rulesEntry(0, { upserts: [now] })));
  const entry = decodeEntry(old);
  t.same(entry, rulesEntry(0, { upserts: [now] }));
  const world = new EvaluationWorld([]);
  fold(world.state, entry);
  t.equal(world.state.projects.get(PROJECT)?.instancesMax, Number.POSITIVE_INFINITY);
});

test('the order of facts does not decide which silent VMs are within the quota', async (t) => {
  const rules = [cpuRule({ metricId: 'telemetry_age_seconds', threshold: 60 })];
  const limits = [{ project: PROJECT, instances: 2 }];
  const evaluated = (vms: readonly string[]): string[] => {
    const observed = vms.map((vm) => ({ project: PROJECT, vm, observedMs: START_MS }));
    return inspect(createState({ rules, firing: [], limits, observed }), PROJECT).map(
      ({ vm }) => vm,
    );
  };
  t.same(evaluated(['c', 'a', 'd', 'b']), ['a', 'b']);
  t.same(evaluated(['b', 'd', 'a', 'c']), ['a', 'b']);
});
