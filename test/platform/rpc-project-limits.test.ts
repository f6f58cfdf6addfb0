/**
 * `GetProjectLimits`: every limit of the table with the project's usage, for readers of the project
 * only. Rejections are counted under the name of their limit.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { RULE_TEMPLATES } from '../../actors/alerting/rule-templates.ts';
import {
  DEFAULT_LIMITS,
  LIMIT_NAMES,
  PROJECT_LIMITS,
  setLimits,
} from '../../actors/platform/project-limits.ts';
import { openProjectBounds } from '../../src/platform/gate/project-gate.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { cookieHeaders, type RpcWorld, startRpcWorld } from '../support/api-in-process.ts';
import { openStream } from '../support/connect-stream.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';

const PROJECT = 'projects/demo';

const limitsSeen = async (world: RpcWorld) => {
  const { status, body } = await world.call('GetProjectLimits', { projectName: PROJECT });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const limits: { name: string; limit: string; used?: string }[] = body.limits;
  return Object.fromEntries(limits.map(({ name, ...rest }) => [name, rest]));
};

const rows = (vms: number) =>
  Array.from({ length: vms }, (_, i) => ({
    vmName: `vm-${i}`,
    observedUnixMs: String(START_MS),
    state: 'RUNNING',
    values: [
      { series: 'svc_vm_cpu_utilization_pct', value: 1 },
      { series: 'svc_vm_memory_total_bytes', value: 2 },
    ],
  }));

const write = (world: RpcWorld, vms: number) =>
  world.call(
    'WriteSamples',
    { projectName: PROJECT, rows: rows(vms) },
    { key: world.keys.collector },
  );

const saveRule = (world: RpcWorld) =>
  world.call('SaveAlertRule', {
    projectName: PROJECT,
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: { ...RULE_TEMPLATES[0]?.spec },
  });

test('A member sees every limit, with its usage', async (t) => {
  const world = await startRpcWorld(t);
  const fresh = await limitsSeen(world);
  t.same(Object.keys(fresh), [...LIMIT_NAMES], 'in the order of the table');
  for (const name of LIMIT_NAMES) {
    const { unit, help } = PROJECT_LIMITS[name];
    t.match(fresh[name], { limit: String(DEFAULT_LIMITS[name]), unit, description: help }, name);
    t.equal(fresh[name]?.used, name === 'concurrency' ? '1' : '0', `${name}: this call alone`);
  }

  t.match(await write(world, 3), { status: 200, body: { accepted: '6' } });
  t.match(await saveRule(world), { status: 200 });
  await world.settled();
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const stream = await openStream(
    url,
    '/svc.monitoring.v1.AlertService/WatchIncidents',
    { projectName: PROJECT },
    { authorization: `Bearer ${world.keys.read}` },
  );
  await stream.received(1);
  await submit(world.host, { project: 'demo' }, (draft) => ({
    ...setLimits(draft, { vms: 2 }),
  }));
  const used = await limitsSeen(world);
  t.match(used, {
    rules: { used: '1' },
    destinations: { used: '0' },
    instances: { used: '3' },
    vms: { limit: '2', used: '3' },
    series: { used: '6' },
    concurrency: { used: '1' },
    openStreams: { used: '1' },
    samplesPerSecond: { used: '1' },
  });
  t.ok(Number(used.headBytes?.used) > 0, 'rows take memory');
  t.ok(Number(used.ingestBytesPerSecond?.used) > 0, 'and arrived as bytes');
  stream.close();
  await world.clock.advance(20_000);
  const later = await limitsSeen(world);
  t.match(later, { samplesPerSecond: { used: '0' }, ingestBytesPerSecond: { used: '0' } });
});

test('Only readers of the project get its limits', async (t) => {
  const world = await startRpcWorld(t);
  const ask = (options: object) =>
    world.call('GetProjectLimits', { projectName: PROJECT }, options);
  const viewer = await world.signedInAs('demo', 'VIEWER');
  const asViewer = await world.app.inject({
    method: 'POST',
    url: '/svc.monitoring.v1.MonitoringService/GetProjectLimits',
    headers: cookieHeaders(viewer),
    payload: { projectName: PROJECT },
  });
  t.equal(asViewer.statusCode, 200, asViewer.body);
  t.match(await ask({ key: world.keys.other }), { status: 403, reason: 'PROJECT_BOUNDARY' });
  t.match(await ask({ key: world.keys.collector }), { status: 403, reason: 'MISSING_CAPABILITY' });
});

test('Series without a report since the start of the node do not count as zero', async (t) => {
  const world = await startRpcWorld(t);
  await submit(world.host, { project: 'demo' }, (draft) => {
    // The state that a restarted node finds: registered earlier, not heard from yet.
    draft.putRecord({
      kind: 'vm' as const,
      id: 'vm-1',
      body: {
        displayName: 'One',
        datacenter: 'DC-1',
        expandedMonitoring: false,
        registeredMs: 0,
      },
    });
    return {};
  });
  const { vms, series } = await limitsSeen(world);
  t.match(vms, { used: '1' });
  t.notOk('used' in { ...series }, 'absent');
});

test('Refusals are counted by their limit', async (t) => {
  const metrics = createMetrics({ clock: systemClock, version: '1.2.3' });
  t.teardown(() => metrics.close());
  const world = await startRpcWorld(t, ({ host, clock }) =>
    openProjectBounds({ host, clock, metrics }),
  );
  await submit(world.host, { project: 'demo' }, (draft) => ({
    ...setLimits(draft, { rules: 0, openStreams: 0 }),
  }));
  t.match(await saveRule(world), { status: 400, reason: 'LIMIT_EXCEEDED' });
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const path = '/svc.monitoring.v1.AlertService/WatchIncidents';
  const refused = await openStream(...([url, path, { projectName: PROJECT }] as const), {
    authorization: `Bearer ${world.keys.read}`,
  });
  await refused.ended.catch(() => {});
  const text = await metrics.text();
  t.match(text, /^svc_limit_refusals_total\{limit="rules",class="call"\} 1$/m);
  t.match(text, /^svc_limit_refusals_total\{limit="openStreams",class="stream"\} 1$/m);
});
