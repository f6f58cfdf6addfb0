/** Single VMs and filtered lists, expanded monitoring, and the extremes of steps, on the wire. */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import {
  type RpcWorld,
  type SampleRow,
  START_SECONDS,
  startRpcWorld,
  VM,
} from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';

const PROJECT = 'projects/demo';
const CPU = 'svc_vm_cpu_utilization_pct';

const row = (vm: string, secondsAgo: number, more: Partial<SampleRow> = {}): SampleRow => ({
  vm,
  observedUnixMs: START_MS - secondsAgo * 1000,
  state: 'RUNNING',
  values: [{ series: CPU, value: 5 }],
  ...more,
});

interface Page {
  readonly vms: readonly { readonly name: string }[];
  readonly nextPageToken: string;
  readonly totalSize: number;
}

async function pagesOf(world: RpcWorld, filter: object, pageSize = 50) {
  const pages: Page[] = [];
  let pageToken = '';
  do {
    const request = { projectName: PROJECT, pageSize, pageToken, ...filter };
    const { status, body } = await world.call('ListVMMonitoring', request);
    if (status !== 200) throw new Error(JSON.stringify(body));
    pages.push(body);
    pageToken = body.nextPageToken;
  } while (pageToken !== '');
  const ids = pages.flatMap(({ vms }) =>
    vms.map(({ name }) => name.slice(name.lastIndexOf('/') + 1)),
  );
  return { ids, pages };
}

test('API-34: VMs are filtered by text, state and data center, with their count', async (t) => {
  const world = await startRpcWorld(t);
  const many = Array.from({ length: 7 }, (_, i) => row(`web-${i}`, 0));
  await world.write([
    ...many,
    row('db-1', 0, { displayName: 'Orders (EU)' }),
    row('db-2', 0, { state: 'STOPPED' }),
    row('db-3', 60, { state: 'PAUSED' }),
    row('old-1', 300),
    row('old-2', 300, { state: 'PAUSED' }),
  ]);
  const ids = async (filter: object) => (await pagesOf(world, filter)).ids;
  t.same(await ids({ search: 'WEB-3' }), ['web-3']);
  t.same(await ids({ search: 'orders (eu' }), ['db-1'], 'in the display name');
  t.same(await ids({ search: 'db-' }), ['db-1', 'db-2', 'db-3']);
  t.same(await ids({ states: ['STOPPED', 'PAUSED'] }), ['db-2', 'db-3']);
  t.same(await ids({ states: ['UNKNOWN'] }), ['old-1', 'old-2'], 'MEAS-10: old states');
  t.same(await ids({ states: ['STOPPED'], search: 'web' }), []);
  t.same(await ids({ datacenter: 'DC-9' }), []);
  t.equal((await ids({ datacenter: 'DC-1' })).length, 12);
  const running = await pagesOf(world, { states: ['RUNNING'] }, 3);
  t.equal(running.ids.length, 8);
  t.same(
    running.pages.map(({ vms, totalSize }) => [vms.length, totalSize]),
    [
      [3, 8],
      [3, 8],
      [2, 8],
    ],
  );
  t.match((await pagesOf(world, {})).pages, [{ totalSize: 12 }]);
  world.datacenterStates.set('DC-1', 'stale');
  t.same(await ids({ states: ['RUNNING'] }), [], 'a stale data center has no known state');
  t.equal((await ids({ states: ['UNKNOWN'] })).length, 12);
  const bad: [object, string][] = [
    [{ search: 'x'.repeat(101) }, 'search'],
    [{ datacenter: 'x'.repeat(101) }, 'datacenter'],
    [{ states: [9] }, 'states'],
  ];
  for (const [filter, field] of bad) {
    const answer = await world.call('ListVMMonitoring', { projectName: PROJECT, ...filter });
    t.match(answer, { status: 400, reason: 'INVALID_FIELD', metadata: { field } });
  }
});

test('API-35: a single VM is returned as in the list, and only in its project', async (t) => {
  const world = await startRpcWorld(t);
  await world.write([row('vm-1', 0, { vcpus: 2, displayName: 'web' })]);
  const get = (name: string, key = world.keys.read) =>
    world.call('GetVMMonitoring', { name }, { key });
  const { vms } = (await world.call('ListVMMonitoring', { projectName: PROJECT })).body;
  const { status, body } = await get(VM);
  t.equal(status, 200);
  t.same(body, vms[0]);
  t.match(body, { name: VM, displayName: 'web', state: 'RUNNING', cpuUtilizationPct: 5 });
  t.match(await get(`${PROJECT}/vms/none`), { status: 404, reason: 'NOT_FOUND' });
  t.match(await get(VM, world.keys.other), { status: 403, reason: 'PROJECT_BOUNDARY' });
  t.match(await get('vm-1'), { status: 400, metadata: { field: 'name' } });
  await world.call(
    'RetireVms',
    { projectName: PROJECT, requestId: randomUUID(), vmNames: [VM] },
    { key: world.keys.collector },
  );
  t.match(await get(VM), { status: 404 }, 'nor one that was removed');
});

test('API-35: a VM reports whether expanded monitoring is available, and its state', async (t) => {
  const world = await startRpcWorld(t);
  const editor = { person: await world.signedInAs('demo', 'EDITOR') };
  await world.write([row('vm-1', 0)]);
  const expanded = async (name = VM) =>
    (await world.call('GetVMMonitoring', { name })).body.expanded;
  t.same(await expanded(), { available: true, reason: '', state: 'OFF' });
  await world.call('EnrolVm', { vmName: VM, requestId: randomUUID() }, editor);
  const tokenExpiresUnix = String(START_SECONDS + 86_400);
  t.same(await expanded(), { available: true, reason: '', state: 'OFFERED', tokenExpiresUnix });
  await world.call('UnenrolVm', { vmName: VM, requestId: randomUUID() }, editor);
  t.same(await expanded(), { available: true, reason: '', state: 'OFF' });
  await submit(world.host, { project: 'demo', by: { kind: 'operator', name: 'test' } }, (draft) =>
    draft.putRecord({
      kind: 'vm',
      id: 'far',
      body: {
        displayName: 'x',
        datacenter: 'DC-2',
        expandedMonitoring: false,
        registeredMs: 0,
      },
    }),
  );
  t.same(await expanded(`${PROJECT}/vms/far`), {
    available: false,
    reason: 'OTHER_DATACENTER',
    state: 'OFF',
  });
});

test('API-36: a step reports its minimum and maximum on request', async (t) => {
  const world = await startRpcWorld(t);
  const values = [10, 70, 40, 20];
  await world.write(
    values.map((value, i) => row('vm-1', 90 - i * 30, { values: [{ series: CPU, value }] })),
  );
  const query = async (more: object) => {
    const { body } = await world.call('QueryVMMonitoring', {
      name: VM,
      metricIds: ['cpu_utilization_pct'],
      stepSeconds: 120,
      startTimeUnix: String(START_SECONDS),
      endTimeUnix: String(START_SECONDS),
      ...more,
    });
    return body.series[0].points;
  };
  const timeUnix = String(START_SECONDS);
  t.same(await query({}), [{ timeUnix, value: 35 }]);
  t.same(await query({ withExtremes: true }), [{ timeUnix, value: 35, min: 10, max: 70 }]);
  const single = await query({ withExtremes: true, stepSeconds: 30 });
  t.same(single, [{ timeUnix, value: 20, min: 20, max: 20 }]);
});
