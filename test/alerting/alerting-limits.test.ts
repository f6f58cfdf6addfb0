/**
 * Limits of a project (LIMIT-13 to LIMIT-15): rules, destinations and evaluated instances.
 * Concurrent requests cannot exceed a limit, and growth beyond one is reported.
 */
import { test } from 'tap';
import { createAlerting } from '../../actors/alerting/alerting.ts';
import { watchInstanceLimit } from '../../actors/alerting/instance-limit.ts';
import type { NoticeBody } from '../../actors/alerting/notices.ts';
import { limitsOf, type ProjectLimits, setLimits } from '../../actors/platform/project-limits.ts';
import { IngestLimits } from '../../actors/telemetry/ingest/ingest-limits.ts';
import {
  type AlertingWorld,
  by,
  cpuRow,
  freshRequest,
  openAlertingWorld,
  PROJECT,
  RULE,
  ruleSpec,
} from '../support/alerting-on-host.ts';

const uuid = (n: number) => `7b0c5a0e-6d2a-4a55-9a53-${String(n).padStart(12, '0')}`;
const vms = (count: number) => Array.from({ length: count }, (_, i) => `vm-${i}`);

function limit(world: AlertingWorld, change: Partial<ProjectLimits>, project = PROJECT) {
  return world.host.submit({ project, by, decide: (draft) => ({ ...setLimits(draft, change) }) });
}

async function outcomes(promises: Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const settled of await Promise.allSettled(promises)) {
    const reason = settled.status === 'fulfilled' ? 'done' : settled.reason.reason;
    counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}

test('LIMIT-13: concurrent saves cannot exceed 20 alert rules per project', async (t) => {
  const world = await openAlertingWorld(t);
  const save = (n: number) => world.saveRule({}, { id: uuid(n) });
  const all = (from: number, count: number) =>
    outcomes(Array.from({ length: count }, (_, i) => save(from + i)));
  t.same(await all(0, 60), { done: 20, LIMIT_EXCEEDED: 40 });
  await t.rejects(save(99), {
    name: 'Refusal',
    reason: 'LIMIT_EXCEEDED',
    metadata: { of: 'rules', limit: '20', current: '20' },
  });
  await limit(world, { rules: 22 });
  t.same(await all(100, 10), { done: 2, LIMIT_EXCEEDED: 8 }, 'as set by the operator');
  await limit(world, { rules: 3 });
  t.equal(world.live('alertRule').length, 22, 'a lower limit ends no instance');
  await world.saveRule({ threshold: 70 }, { id: uuid(0) });
  t.same(await all(200, 1), { LIMIT_EXCEEDED: 1 });
  t.same(await outcomes([world.saveRule({}, { project: 'other' })]), { done: 1 });
});

test('LIMIT-14: concurrent creations cannot exceed 5 destinations per project', async (t) => {
  const world = await openAlertingWorld(t);
  const all = (count: number) =>
    outcomes(Array.from({ length: count }, () => world.addDestination()));
  t.same(await all(20), { done: 5, LIMIT_EXCEEDED: 15 });
  await limit(world, { destinations: 6 });
  t.same(await all(3), { done: 1, LIMIT_EXCEEDED: 2 });
});

test('limits are whole numbers within a project’s range', async (t) => {
  const world = await openAlertingWorld(t);
  for (const rules of [-1, 1.5, Number.NaN, 1_001]) {
    await t.rejects(limit(world, { rules }), {
      name: 'Refusal',
      reason: 'INVALID_FIELD',
      metadata: { field: 'rules' },
    });
  }
  await limit(world, { instances: 7 });
  const { rules, destinations, instances } = limitsOf(world.host.view(PROJECT));
  t.same([rules, destinations, instances], [20, 5, 7], 'the other limits are unchanged');
  t.same(limitsOf(world.host.view('other')).instances, 10_000);
});

/** A world whose alerting knows the label sets in rows. */
async function knowing(t: Parameters<typeof openAlertingWorld>[0]) {
  const world = await openAlertingWorld(t);
  const labelSets = new Map<string, number>();
  const known = {
    labelSets: (_: string, vm: string, metricId: string) => labelSets.get(`${vm} ${metricId}`),
    evaluated: () => 0,
  };
  const alerting = createAlerting({ host: world.host, known });
  const save = (id: string, spec: Parameters<typeof ruleSpec>[0], expectedVersion = '0') =>
    alerting.saveRule({
      project: PROJECT,
      by,
      request: freshRequest(),
      id,
      expectedVersion,
      spec: ruleSpec(spec),
    });
  return { ...world, labelSets, save };
}

test('LIMIT-15: concurrent saves cannot exceed 10,000 evaluated instances per project', async (t) => {
  const world = await knowing(t);
  for (let start = 0; start < 4_000; start += 1_000) {
    const batch = vms(4_000).slice(start, start + 1_000);
    await world.cpu(10, batch);
  }
  const saves = Array.from({ length: 12 }, (_, i) => world.save(uuid(i), {}));
  t.same(await outcomes(saves), { done: 2, LIMIT_EXCEEDED: 10 }, '4,000 each');
  await t.rejects(world.save(uuid(50), {}), {
    name: 'Refusal',
    reason: 'LIMIT_EXCEEDED',
    metadata: { of: 'instances', limit: '10000', current: '8000', wanted: '12000' },
  });
  const some = (count: number) => ({
    allVms: false,
    metricId: 'filesystem_used_pct',
    vmNames: vms(count).map((vm) => `projects/${PROJECT}/vms/${vm}`),
  });
  for (const vm of vms(1_000)) world.labelSets.set(`${vm} filesystem_used_pct`, 3);
  await t.rejects(world.save(uuid(51), some(1_000)), {
    name: 'Refusal',
    metadata: { current: '8000', wanted: '11000' },
  });
  await world.save(uuid(51), some(600));
  await t.rejects(world.save(uuid(51), some(700), '1'), {
    name: 'Refusal',
    metadata: { wanted: '10100' },
  });
  await world.save(uuid(51), { ...some(600), threshold: 1 }, '1');
});

test('a paused rule does not count; a rule beyond the limit may still be edited', async (t) => {
  const world = await knowing(t);
  await limit(world, { instances: 3 });
  await world.cpu(10, vms(3));
  await world.save(uuid(1), {});
  await world.save(uuid(2), { enabled: false });
  await t.rejects(world.save(uuid(2), { enabled: true }, '1'), {
    name: 'Refusal',
    reason: 'LIMIT_EXCEEDED',
  });
  await world.cpu(10, vms(5));
  await world.save(uuid(1), { threshold: 50 }, '1');
  await world.save(uuid(1), { threshold: 50, displayName: 'Another' }, '2');
  await t.rejects(world.save(uuid(3), {}), { name: 'Refusal', reason: 'LIMIT_EXCEEDED' });
});

test('a VM’s label sets are those reported in its rows', async (t) => {
  const limits = new IngestLimits({ overVmLimit: () => undefined });
  const used = (mount: string) => `svc_vm_filesystem_used_bytes{mountpoint="${mount}"}`;
  const report = (...series: string[]) => {
    const row = { ...cpuRow('vm-1', 0, 0), series, values: series.map(() => 1) };
    limits.keepWithin(PROJECT, { rows: [row], rejected: [], samples: series.length }, 0);
  };
  const count = (metricId: string) => limits.labelSets(PROJECT, 'vm-1', metricId);
  t.equal(count('filesystem_used_pct'), undefined, 'none are known');
  report(used('/'), used('/data'));
  t.same([count('filesystem_used_pct'), count('cpu_utilization_pct')], [2, 0]);
  report(used('/'), 'svc_vm_cpu_utilization_pct');
  t.same([count('filesystem_used_pct'), count('cpu_utilization_pct')], [2, 1]);
  t.equal(count('telemetry_age_seconds'), 1);
  t.equal(limits.labelSets(PROJECT, 'vm-2', 'filesystem_used_pct'), undefined);
});

/** A world that stores and evaluates rules and watches the limit. */
async function watching(t: Parameters<typeof openAlertingWorld>[0]) {
  const world = await openAlertingWorld(t);
  world.startRules();
  const { evaluator } = await world.startEvaluator();
  world.run((signal) => watchInstanceLimit({ ...world, evaluator, isCurrent: () => true }, signal));
  const notices = () =>
    world.host
      .view(PROJECT)
      .records('notice', { limit: 9 })
      .items.map(({ body }) => body as unknown as NoticeBody);
  return { ...world, evaluator, notices };
}

test('LIMIT-15: growth under allVms keeps existing instances and is reported until it fits', async (t) => {
  const world = await watching(t);
  await limit(world, { instances: 2 });
  await world.cpu(95, vms(2));
  await world.saveRule({ sustainedSeconds: 0 });
  await world.until('it is applied', () => world.rule().value === 'active');
  await world.until('they fire', () => world.incidents().length === 2);
  await world.pass(30_000);
  await world.cpu(95, ['vm-9', ...vms(2)]);
  await world.pass(10_000, 5_000);
  t.match(world.rule(), { value: 'active', context: { syncError: 'INSTANCE_LIMIT' } });
  t.match(world.notices(), [
    { kind: 'INSTANCE_LIMIT', subject: { collection: 'alertRules', id: RULE }, endedMs: null },
  ]);
  t.same([...world.evaluator.quota(PROJECT).unevaluated], [[RULE, 1]]);
  t.same(
    world.evaluator.instances(PROJECT).map(({ vm }) => vm),
    vms(2),
  );
  t.equal(world.incidents().length, 2, 'no instance is retired');
  const sequence = world.host.appliedSequence();
  await world.pass(60_000, 5_000);
  t.equal(world.host.appliedSequence(), sequence, 'it is reported once');

  await limit(world, { instances: 3 });
  await world.pass(30_000);
  await world.cpu(95, ['vm-9', ...vms(2)]);
  await world.pass(10_000, 5_000);
  t.match(world.rule(), { value: 'active', context: { syncError: null } });
  t.match(world.notices(), [{ kind: 'INSTANCE_LIMIT', endedMs: Number }]);
  t.equal(world.incidents().length, 3);
});

test('a notice about the limit ends with its rule', async (t) => {
  const world = await watching(t);
  await limit(world, { instances: 1 });
  await world.saveRule();
  await world.until('it is applied', () => world.rule().value === 'active');
  await world.cpu(10, vms(2));
  await world.pass(10_000, 5_000);
  t.match(world.notices(), [{ endedMs: null }]);
  await world.deleteRule();
  await world.pass(10_000, 5_000);
  t.match(world.notices(), [{ endedMs: Number }]);
});
