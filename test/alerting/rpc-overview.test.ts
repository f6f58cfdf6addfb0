/** `GetProjectOverview`: the current counts of one project only. */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { START_SECONDS, startRpcWorld } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { newRule } from '../support/rule-spec.ts';

const PROJECT = 'projects/demo';
const CPU = 'svc_vm_cpu_utilization_pct';

const cpu = (vm: string, secondsAgo: number, value: number) => ({
  vm,
  observedUnixMs: START_MS - secondsAgo * 1000,
  values: [{ series: CPU, value }],
});

test('API-35: an overview counts VMs, telemetry, incidents, rules and deliveries', async (t) => {
  const world = await startRpcWorld(t);
  const editor = { person: await world.signedInAs('demo', 'EDITOR') };
  const overview = async (key = world.keys.read, projectName = PROJECT) =>
    await world.call('GetProjectOverview', { projectName }, { key });
  t.match((await overview()).body, {
    countedUnix: String(START_SECONDS),
    vms: { total: '0', expanded: '0' },
    datacenters: [],
    incidents: { firing: '0', attention: '0' },
    rules: { applied: '0', pending: '0', failed: '0', paused: '0' },
    deliveries: { underWay: '0', sent: '0', failed: '0' },
  });
  const save = (spec: object) => world.call('SaveAlertRule', newRule(PROJECT, spec));
  await save({});
  await save({ enabled: false });
  await world.write([
    ...['vm-1', 'vm-2', 'vm-3'].map((vm) => cpu(vm, 30, 95)),
    cpu('vm-4', 0, 5),
    cpu('vm-5', 300, 5),
  ]);
  const { incidents } = (await world.call('ListIncidents', { projectName: PROJECT })).body;
  const [first, second] = incidents.map(({ name }: { name: string }) => name);
  const act = (name: string, more: object = {}) => ({ name, requestId: randomUUID(), ...more });
  await world.call('AcknowledgeIncident', act(first), editor);
  const untilUnix = String(START_SECONDS + 3600);
  await world.call('SnoozeIncident', act(first, { untilUnix }), editor);
  await world.call('SnoozeIncident', act(second, { untilUnix }), editor);
  const { body } = await overview();
  t.match(body, {
    vms: { total: '5' },
    telemetry: { live: '4', stale: '1', never: '0', error: '0' },
    incidents: {
      firing: '3',
      attention: '1',
      acknowledged: '1',
      snoozed: '2',
      critical: '0',
      warning: '3',
      info: '0',
    },
    rules: { applied: '1', pending: '0', failed: '0', paused: '1' },
    datacenters: [{ name: 'DC-1', state: 'LIVE', vms: '5' }],
  });
  const limits = (await world.call('GetProjectLimits', { projectName: PROJECT })).body.limits;
  t.same(
    body.limits.map(({ name }: { name: string }) => name),
    limits.map(({ name }: { name: string }) => name),
  );
  world.datacenterStates.set('DC-1', 'stale');
  t.match((await overview()).body, {
    telemetry: { live: '0', stale: '5' },
    datacenters: [{ name: 'DC-1', state: 'STALE' }],
  });
  const other = (await overview(world.keys.other, 'projects/other')).body;
  t.match(other, { vms: { total: '0' }, incidents: { firing: '0' }, datacenters: [] });
  t.match(await overview(world.keys.other), { status: 403, reason: 'PROJECT_BOUNDARY' });
});
