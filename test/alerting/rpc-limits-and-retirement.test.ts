/**
 * Over the wire: rule templates that can be saved unchanged, limits with their use, and VMs that a
 * collector reports as retired.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { RULE_TEMPLATES } from '../../actors/alerting/rule-templates.ts';
import { setLimits } from '../../actors/platform/project-limits.ts';
import { EVALUATED_METRICS, metricCatalogue } from '../../streams/telemetry/metrics/catalogue.ts';
import { type RpcWorld, startRpcWorld } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';

const PROJECT = 'projects/demo';
const CPU = 'svc_vm_cpu_utilization_pct';

const row = (vmName: string, ms = 0) => ({
  vmName,
  observedUnixMs: String(START_MS + ms),
  state: 'RUNNING',
  values: [{ series: CPU, value: 99 }],
});
const write = (world: RpcWorld, ...rows: object[]) =>
  world.call('WriteSamples', { projectName: PROJECT, rows }, { key: world.keys.collector });
const save = (spec: object) => ({
  projectName: PROJECT,
  id: randomUUID(),
  requestId: randomUUID(),
  expectedVersion: '0',
  spec,
});
const retirement = (...vmNames: string[]) => ({
  projectName: PROJECT,
  requestId: randomUUID(),
  vmNames,
});

test('API-23: each of the five rule templates can be saved unchanged', async (t) => {
  const world = await startRpcWorld(t);
  await write(world, row('vm-1'));
  const { body } = await world.call(
    'ListAlertRuleTemplates',
    { projectName: PROJECT },
    { key: world.keys.read },
  );
  const ids = body.templates.map(({ templateId }: { templateId: string }) => templateId);
  t.same(ids, [
    'cpu',
    'guest-memory',
    'filesystem-usage',
    'unexpected-stop',
    'telemetry-unavailable',
  ]);
  for (const { templateId, description, spec } of body.templates) {
    t.ok(EVALUATED_METRICS.has(spec.metricId), `${templateId} uses an evaluated metric`);
    const limitation = metricCatalogue.get(spec.metricId)?.limitation ?? 'none';
    t.ok(description.endsWith(` ${limitation}`), `${templateId} names its limitations`);
    const saved = await world.call('SaveAlertRule', save(spec));
    t.match(saved, { status: 200, body: { syncStatus: 'APPLIED' } }, templateId);
    const read = await world.call('GetAlertRule', { name: saved.body.name });
    t.same(read.body.spec, spec);
  }
  t.equal(RULE_TEMPLATES.length, 5);
  const elsewhere = { projectName: 'projects/other' };
  t.match(await world.call('ListAlertRuleTemplates', elsewhere), { reason: 'PROJECT_BOUNDARY' });
});

test('a save beyond the instance limit is rejected with the numbers; growth is reported', async (t) => {
  const world = await startRpcWorld(t);
  const limit = (instances: number) =>
    submit(world.host, { project: 'demo' }, (draft) => ({
      ...setLimits(draft, { instances }),
    }));
  await limit(2);
  await write(world, row('vm-1'), row('vm-2'));
  const spec = { ...RULE_TEMPLATES[0]?.spec };
  const first = await world.call('SaveAlertRule', save(spec));
  t.equal(first.status, 200);
  t.match(await world.call('SaveAlertRule', save(spec)), {
    status: 400,
    reason: 'LIMIT_EXCEEDED',
    metadata: { of: 'instances', limit: '2', current: '2', wanted: '4' },
  });
  await write(world, row('vm-3'), row('vm-4'));
  await world.settled();
  const { body } = await world.call('GetAlertRule', { name: first.body.name });
  t.match(body, { syncStatus: 'APPLIED', unevaluatedInstances: '2' });
  const list = await world.call('ListAlertRules', { projectName: PROJECT });
  t.match(list.body.rules, [{ unevaluatedInstances: '2' }]);
});

test('retired VMs are no longer listed, and their history stays readable', async (t) => {
  const world = await startRpcWorld(t);
  const vmName = `${PROJECT}/vms/vm-1`;
  await write(world, row('vm-1', -60_000), row('vm-2'));
  const listed = async () => {
    const list = { projectName: PROJECT, inventoryOnly: true };
    const { body } = await world.call('ListVMMonitoring', list);
    return body.vms.map(({ name }: { name: string }) => name);
  };
  t.same(await listed(), [vmName, `${PROJECT}/vms/vm-2`]);
  const key = world.keys.collector;
  const request = retirement(vmName, 'vm-9');
  const answer = await world.call('RetireVms', request, { key });
  t.same(answer.body, {
    retiredVmNames: [vmName],
    refused: [{ vmName: 'vm-9', reason: 'UNKNOWN_VM' }],
  });
  t.same((await world.call('RetireVms', request, { key })).body, answer.body, 'sent again');
  const other = { ...request, vmNames: ['vm-2'] };
  t.match(await world.call('RetireVms', other, { key }), { reason: 'REQUEST_ID_REUSED' });
  t.same((await world.call('RetireVms', retirement('vm-1'), { key })).body, {
    retiredVmNames: [],
    refused: [],
  });
  t.same(await listed(), [`${PROJECT}/vms/vm-2`]);
  await world.settled();
  const seconds = START_MS / 1000;
  const history = await world.call('QueryVMMonitoring', {
    name: vmName,
    metricIds: ['cpu_utilization_pct'],
    stepSeconds: 30,
    startTimeUnix: String(seconds - 600),
    endTimeUnix: String(seconds),
  });
  t.match(history.body.series, [{ points: [{ value: 99 }] }]);
  const rule = { ...RULE_TEMPLATES[0]?.spec, allVms: false, vmNames: [vmName] };
  t.match(await world.call('SaveAlertRule', save(rule)), { reason: 'INVALID_FIELD' });

  await world.clock.advance(30_000);
  await write(world, row('vm-1', 30_000));
  t.same(await listed(), [vmName, `${PROJECT}/vms/vm-2`], 'a later row makes the VM known again');
});

test('an ambiguous RetireVms request is rejected', async (t) => {
  const world = await startRpcWorld(t);
  await write(world, row('vm-1'));
  const ask = (request: object, key = world.keys.collector) =>
    world.call('RetireVms', request, { key });
  t.match(await ask(retirement()), { reason: 'INVALID_FIELD', metadata: { field: 'vmNames' } });
  const many = Array.from({ length: 201 }, (_, i) => `vm-${i}`);
  t.match(await ask(retirement(...many)), { metadata: { field: 'vmNames' } });
  t.match(await ask(retirement('projects/other/vms/vm-1')), { reason: 'PROJECT_BOUNDARY' });
  t.match(await ask({ ...retirement('vm-1'), requestId: '' }), {
    metadata: { field: 'requestId' },
  });
  const elsewhere = await world.issue('demo', ['monitoring.write']);
  t.match(await ask(retirement('vm-1'), elsewhere), { reason: 'MISSING_CAPABILITY' });
  const { body } = await world.call('ListVMMonitoring', {
    projectName: PROJECT,
    inventoryOnly: true,
  });
  t.equal(body.vms.length, 1, 'nothing was retired');
});

test('an agent’s key ends with its VM', async (t) => {
  const world = await startRpcWorld(t);
  const owner = await world.signedInAs('demo', 'OWNER');
  await write(world, row('vm-1'));
  const vmName = `${PROJECT}/vms/vm-1`;
  const enrol = () =>
    world.call(
      'EnrolVm',
      { vmName, requestId: randomUUID(), datacenter: 'DC-1' },
      { person: owner },
    );
  const { enrolmentToken } = (await enrol()).body;
  const { key } = (await world.call('EnrolAgent', { enrolmentToken, system: 'x' }, { key: null }))
    .body;
  const rows = [{ ...row('vm-1', 1), values: [{ series: 'svc_vm_load1', value: 1 }], state: 0 }];
  const send = () => world.call('WriteSamples', { projectName: PROJECT, rows }, { key });
  t.match(await send(), { status: 200, body: { accepted: '1' } });
  const refused = await world.call('RetireVms', retirement('vm-1'), { key });
  t.match(refused, { reason: 'MISSING_CAPABILITY' }, 'an agent cannot retire its own VM');
  const second = (await enrol()).body.enrolmentToken;

  await world.call('RetireVms', retirement('vm-1'), { key: world.keys.collector });
  t.match(await send(), { status: 401, reason: 'CREDENTIAL_REVOKED' });
  const late = { enrolmentToken: second, system: 'x' };
  t.match(
    await world.call('EnrolAgent', late, { key: null }),
    { status: 401 },
    'a token cannot either',
  );
  t.match(await enrol(), { status: 400, reason: 'INVALID_STATE' });
  await world.clock.advance(30_000);
  await write(world, row('vm-1', 30_000));
  t.match(await enrol(), { status: 200 }, 'a new VM may have an agent again');
});
