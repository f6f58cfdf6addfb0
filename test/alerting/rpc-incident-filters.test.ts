/** Lists of incidents, alert instances and deliveries with their filters: no page is empty. */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { startTestDelivery } from '../../actors/delivery/audience.ts';
import { type RpcWorld, START_SECONDS, startRpcWorld } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { newRule } from '../support/rule-spec.ts';
import { submit } from '../support/submit.ts';

const PROJECT = 'projects/demo';
const CPU = 'svc_vm_cpu_utilization_pct';
const by = { kind: 'operator', name: 'test' } as const;

const cpu = (vm: string, secondsAgo: number, value: number) => ({
  vm,
  observedUnixMs: START_MS - secondsAgo * 1000,
  values: [{ series: CPU, value }],
});

async function saveRule(world: RpcWorld, spec: object = {}): Promise<string> {
  const { id, ...rule } = newRule(PROJECT, spec);
  await world.call('SaveAlertRule', { id, ...rule });
  return `${PROJECT}/alertRules/${id}`;
}

interface Listed {
  readonly name: string;
  readonly vmName: string;
  readonly severity: string;
}

/** All pages; only the last may be empty. */
async function pagesOf(world: RpcWorld, method: string, field: string, filter: object) {
  const pages: Listed[][] = [];
  let pageToken = '';
  do {
    const { status, body } = await world.call(method, {
      projectName: PROJECT,
      pageToken,
      pageSize: 20,
      ...filter,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    pages.push(body[field]);
    pageToken = body.nextPageToken;
  } while (pageToken !== '');
  return pages;
}

const vmsIn = (pages: readonly (readonly Listed[])[]) =>
  pages
    .flat()
    .map(({ vmName }) => vmName.slice(vmName.lastIndexOf('/') + 1))
    .sort();

test('API-34: incidents are filtered by state, severity, attention, rule, VM, data center and time', async (t) => {
  const world = await startRpcWorld(t);
  const editor = { person: await world.signedInAs('demo', 'EDITOR') };
  const rule = await saveRule(world);
  const many = Array.from({ length: 60 }, (_, i) => `vm-${100 + i}`);
  await world.write(['vm-1', 'vm-2', ...many].map((vm) => cpu(vm, 60, 95)));
  await world.clock.advance(1_000);
  const critical = await saveRule(world, {
    severity: 'CRITICAL',
    allVms: false,
    vmNames: [`${PROJECT}/vms/vm-2`],
  });
  await world.write([cpu('vm-1', 30, 5), cpu('vm-2', 30, 95)]);
  const list = (filter: object) => pagesOf(world, 'ListIncidents', 'incidents', filter);

  const recovered = await list({ state: 'RECOVERED' });
  t.same(
    recovered.map((page) => page.length),
    [1],
    'one page, although 61 others fire',
  );
  t.same(vmsIn(recovered), ['vm-1']);
  t.same(vmsIn(await list({ severities: ['CRITICAL'] })), ['vm-2']);
  t.same(vmsIn(await list({ severities: ['CRITICAL'], state: 'RECOVERED' })), []);
  t.same(vmsIn(await list({ ruleName: critical })), ['vm-2']);
  t.same(vmsIn(await list({ ruleName: rule, state: 'RECOVERED' })), ['vm-1']);
  t.same(vmsIn(await list({ vmName: `${PROJECT}/vms/vm-2` })), ['vm-2', 'vm-2']);
  const firing = await list({ state: 'FIRING' });
  t.same(
    firing.map((page) => page.length),
    [20, 20, 20, 2],
  );
  const all = await list({});
  t.equal(all.flat().length, 63);
  const order = all.flat().map(({ name }) => name);
  t.equal(new Set(order).size, 63, 'each once');
  t.equal(all.flat()[0]?.severity, 'CRITICAL', 'newest first');

  const [first = ''] = firing.flat().map(({ name }) => name);
  const requestId = randomUUID();
  await world.call('AcknowledgeIncident', { name: first, requestId }, editor);
  t.equal((await list({ attention: true })).flat().length, 61);
  t.equal((await list({ state: 'FIRING' })).flat().length, 62, 'it still fires');
  t.same((await list({ attention: true, state: 'RECOVERED' })).flat(), []);
  const untilUnix = String(START_SECONDS + 3600);
  const [, second = ''] = firing.flat().map(({ name }) => name);
  await world.call('SnoozeIncident', { name: second, requestId: randomUUID(), untilUnix }, editor);
  t.equal((await list({ attention: true })).flat().length, 60);

  const early = { endTimeUnix: String(START_SECONDS) };
  t.equal((await list(early)).flat().length, 62, 'firings in that second');
  t.equal((await list({ startTimeUnix: String(START_SECONDS + 1) })).flat().length, 1);
  const { body } = await world.call('GetIncident', { name: first });
  t.match(body.alertInstanceName, /alertInstances/);
});

test('API-34: an incident is found by its VM’s data center at the time of its start', async (t) => {
  const world = await startRpcWorld(t);
  const place = (datacenter: string, vm: string) =>
    submit(world.host, { project: 'demo', by }, (draft) =>
      draft.putRecord({
        kind: 'vm',
        id: vm,
        body: { displayName: vm, datacenter, expandedMonitoring: false, registeredMs: 0 },
      }),
    );
  await saveRule(world);
  await place('DC-1', 'vm-1');
  await place('DC-2', 'vm-2');
  await world.write([cpu('vm-1', 60, 95), cpu('vm-2', 60, 95)]);
  const list = (filter: object) => pagesOf(world, 'ListIncidents', 'incidents', filter);
  const placed = vmsIn(await list({}));
  t.same(placed, ['vm-1', 'vm-2']);
  const found = [await list({ datacenter: 'DC-1' }), await list({ datacenter: 'DC-2' })];
  t.same(found.flatMap(vmsIn), ['vm-1', 'vm-2']);
  t.same(vmsIn(await list({ datacenter: 'DC-3' })), []);
});

test('API-34: filters are validated and reach no other project', async (t) => {
  const world = await startRpcWorld(t);
  const other = 'projects/other';
  const cases: [string, object, string][] = [
    ['ListIncidents', { severities: [9] }, 'severities'],
    ['ListIncidents', { datacenter: 'x'.repeat(201) }, 'datacenter'],
    ['ListIncidents', { startTimeUnix: '-1' }, 'startTimeUnix'],
    ['ListIncidents', { startTimeUnix: '2', endTimeUnix: '1' }, 'endTimeUnix'],
    ['ListDeliveries', { states: [99] }, 'states'],
    ['ListDeliveries', { events: [99] }, 'events'],
    ['ListDeliveries', { startTimeUnix: '2', endTimeUnix: '1' }, 'endTimeUnix'],
    ['ListAlertInstances', { states: ['RETIRED'] }, 'states'],
    ['ListAlertInstances', { dataState: 9 }, 'dataState'],
  ];
  for (const [method, filter, field] of cases) {
    const answer = await world.call(method, { projectName: PROJECT, ...filter });
    t.match(answer, { status: 400, reason: 'INVALID_FIELD', metadata: { field } }, method);
  }
  const foreign: [string, object][] = [
    ['ListIncidents', { ruleName: `${other}/alertRules/${randomUUID()}` }],
    ['ListIncidents', { vmName: `${other}/vms/vm-1` }],
    ['ListAlertInstances', { vmName: `${other}/vms/vm-1` }],
    ['ListDeliveries', { destinationName: `${other}/destinations/dst_1` }],
  ];
  for (const [method, filter] of foreign) {
    const answer = await world.call(method, { projectName: PROJECT, ...filter });
    t.match(answer, { status: 403, reason: 'PROJECT_BOUNDARY' }, method);
  }
});

test('API-34: alert instances are filtered by state, data state and VM', async (t) => {
  const world = await startRpcWorld(t);
  await saveRule(world, { sustainedSeconds: 60 });
  await world.write([
    cpu('vm-1', 60, 5),
    cpu('vm-1', 0, 5),
    cpu('vm-2', 30, 95),
    cpu('vm-2', 0, 95),
    cpu('vm-3', 60, 95),
    cpu('vm-3', 0, 95),
    cpu('vm-4', 200, 5),
  ]);
  const list = async (filter: object) =>
    vmsIn(await pagesOf(world, 'ListAlertInstances', 'instances', { pageSize: 1, ...filter }));
  t.same(await list({}), ['vm-1', 'vm-2', 'vm-3', 'vm-4']);
  t.same(await list({ states: ['SUSTAINING'] }), ['vm-2']);
  t.same(await list({ states: ['FIRING', 'IDLE'] }), ['vm-1', 'vm-3', 'vm-4']);
  t.same(await list({ dataState: 'MISSING' }), ['vm-4']);
  t.same(await list({ states: ['IDLE'], dataState: 'OBSERVED' }), ['vm-1']);
  t.same(await list({ vmName: `${PROJECT}/vms/vm-3` }), ['vm-3']);
  t.same(await list({ vmName: `${PROJECT}/vms/none` }), []);
});

test('API-34: deliveries are filtered by state, event and time', async (t) => {
  const world = await startRpcWorld(t);
  const start = (destination: string, test: string) =>
    submit(world.host, { project: 'demo', by }, (draft) =>
      startTestDelivery(draft, { destination, recipient: null, test }),
    );
  await submit(world.host, { project: 'demo', by }, (draft) => {
    const { at } = draft;
    const displayed = { urlDigest: '', host: '', lastFour: '', urlId: null, secretId: null };
    for (const id of ['dst_1', 'dst_2']) {
      const of = { at, project: 'demo', kind: 'webhook', displayName: id } as const;
      draft.start('destination', id, { ...of, ...displayed });
    }
  });
  for (let i = 0; i < 30; i++) await start('dst_1', `a${i}`);
  await world.clock.advance(60_000);
  const { answer: late } = await start('dst_2', 'late');
  await submit(world.host, { project: 'demo', by }, (draft) =>
    draft.send('delivery', late, { type: 'suppressed', at: draft.at, reason: 'PAUSED' }),
  );
  const count = async (filter: object) =>
    (await pagesOf(world, 'ListDeliveries', 'deliveries', filter)).map((page) => page.length);
  t.same(await count({}), [20, 11]);
  t.same(await count({ states: ['SUPPRESSED'] }), [1]);
  t.same(await count({ states: ['SUPPRESSED', 'QUEUED'], events: ['TEST'] }), [20, 11]);
  t.same(await count({ events: ['FIRING', 'RECOVERED'] }), [0]);
  t.same(await count({ destinationName: `${PROJECT}/destinations/dst_2` }), [1]);
  t.same(await count({ startTimeUnix: String(START_SECONDS + 60) }), [1]);
  t.same(await count({ endTimeUnix: String(START_SECONDS) }), [20, 10]);
});
