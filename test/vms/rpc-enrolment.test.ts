/**
 * Enrolment over the API: its permissions, the token that is returned once, and the only use of the
 * agent's key in the whole API: to write expanded samples of its VM.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { type RpcWorld, START_SECONDS, startRpcWorld, VM } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';

type Person = Awaited<ReturnType<RpcWorld['signedInAs']>>;

const enrolVm = (world: RpcWorld, person: Person, change: object = {}) =>
  world.call(
    'EnrolVm',
    { vmName: VM, requestId: randomUUID(), datacenter: 'DC-1', ...change },
    { person },
  );
const enrolAgent = (world: RpcWorld, enrolmentToken: string) =>
  world.call('EnrolAgent', { enrolmentToken, system: 'Debian 13' }, { key: null });
const writeAs = (world: RpcWorld, key: string, rows: readonly object[], project = 'demo') =>
  world.call('WriteSamples', { projectName: `projects/${project}`, rows }, { key });

const load = { series: 'svc_vm_load1', value: 0.5 };
const cpu = { series: 'svc_vm_cpu_utilization_pct', value: 90 };

test('EnrolVm is for editors and owners; its token is exchanged for an agent’s key, once', async (t) => {
  const world = await startRpcWorld(t);
  const editor = await world.signedInAs('demo', 'EDITOR');
  const viewer = await world.signedInAs('demo', 'VIEWER');
  const stranger = await world.signedInAs('other', 'OWNER');
  t.match(await enrolVm(world, viewer), { status: 403, reason: 'MISSING_CAPABILITY' });
  t.match(await enrolVm(world, stranger), { status: 403, reason: 'PROJECT_BOUNDARY' });
  const asKey = await world.call('EnrolVm', { vmName: VM, requestId: randomUUID() });
  t.match(asKey, { status: 403, reason: 'HUMAN_OPERATION' });
  t.match(await enrolVm(world, editor, { datacenter: 'DC-7' }), {
    status: 400,
    reason: 'INVALID_STATE',
  });
  const requestId = randomUUID();
  const { status, body } = await enrolVm(world, editor, { requestId });
  t.equal(status, 200);
  t.match(body, {
    vmName: VM,
    secretAvailable: true,
    expiresUnix: String(START_SECONDS + 86_400),
    enrolmentToken: /^svc_enrol_/,
    installCommand: /^svc agent enrol --endpoint http/,
  });
  t.notMatch(body.installCommand, 'svc_enrol_');
  t.match((await enrolVm(world, editor, { requestId })).body, {
    enrolmentToken: '',
    secretAvailable: false,
    expiresUnix: body.expiresUnix,
  });
  const agent = await enrolAgent(world, body.enrolmentToken);
  t.match(agent, {
    status: 200,
    body: { projectName: 'projects/demo', vmName: VM, key: /^svc_vm_/ },
  });
  const used = await enrolAgent(world, body.enrolmentToken);
  const unknown = await enrolAgent(world, 'svc_enrol_none');
  t.match(used, { status: 401, reason: 'MALFORMED_CREDENTIAL' });
  t.same(unknown.body, used.body, 'used and unknown tokens get the same answer');
});

test('a VM’s credential writes its expanded samples and nothing else', async (t) => {
  const world = await startRpcWorld(t);
  const owner = await world.signedInAs('demo', 'OWNER');
  await world.write([
    { observedUnixMs: START_MS, state: 'RUNNING', displayName: 'web', values: [cpu] },
  ]);
  const { body } = await enrolVm(world, owner, { datacenter: '' });
  const { key } = (await enrolAgent(world, body.enrolmentToken)).body;
  const at = (ms: number, values: readonly object[], change: object = {}) => ({
    vmName: 'vm-1',
    observedUnixMs: String(START_MS + ms),
    values,
    ...change,
  });
  const rows = [
    at(1, [load, cpu]),
    at(2, [load], { vmName: 'vm-2' }),
    at(3, [load], { state: 'STOPPED' }),
  ];
  const written = (await writeAs(world, key, rows)).body;
  t.match(written, {
    accepted: '2',
    duplicates: '0',
    rejected: [
      { row: 0, series: cpu.series, reason: 'NOT_EXPANDED', field: 'rows[0].values[1]' },
      { row: 1, series: '', reason: 'OTHER_VM', field: 'rows[1]', rowRefused: true },
      { row: 2, series: 'state', reason: 'NOT_EXPANDED', field: 'rows[2].state' },
    ],
  });
  t.equal(written.rejected.length, 3);
  t.match(await writeAs(world, key, [at(4, [load])], 'other'), {
    status: 403,
    reason: 'PROJECT_BOUNDARY',
  });
  await world.settled();
  const list = await world.call('ListVMMonitoring', { projectName: 'projects/demo' });
  t.match(list.body.vms, [
    {
      name: VM,
      displayName: 'web',
      state: 'RUNNING',
      expandedMonitoring: true,
      datacenter: 'DC-1',
    },
  ]);
  const query = { name: VM, startTimeUnix: String(START_SECONDS - 600), stepSeconds: 30 };
  const range = {
    ...query,
    endTimeUnix: String(START_SECONDS),
    metricIds: ['cpu_utilization_pct', 'load_1m'],
  };
  const refused = [
    await world.call('QueryVMMonitoring', range, { key }),
    await world.call('ListVMMonitoring', { projectName: 'projects/demo' }, { key }),
    await world.call('ListAlertRules', { projectName: 'projects/demo' }, { key }),
    await world.call('ListTransitions', { projectName: 'projects/demo' }, { key }),
  ];
  for (const { reason } of refused) t.equal(reason, 'MISSING_CAPABILITY');
  const unenrol = { vmName: VM, requestId: randomUUID() };
  t.match(await world.call('UnenrolVm', unenrol, { key }), { reason: 'HUMAN_OPERATION' });
});

test('UnenrolVm stops the agent with the next request', async (t) => {
  const world = await startRpcWorld(t);
  const owner = await world.signedInAs('demo', 'OWNER');
  await world.write([{ observedUnixMs: START_MS, state: 'RUNNING', values: [cpu] }]);
  const { body } = await enrolVm(world, owner);
  const { key } = (await enrolAgent(world, body.enrolmentToken)).body;
  const row = { vmName: 'vm-1', observedUnixMs: START_MS, values: [load] };
  t.match(await writeAs(world, key, [row]), { status: 200, body: { accepted: '1' } });
  const unenrol = { vmName: VM, requestId: randomUUID() };
  t.equal((await world.call('UnenrolVm', unenrol, { person: owner })).status, 200);
  t.match(await writeAs(world, key, [row]), { status: 401, reason: 'CREDENTIAL_REVOKED' });
  t.equal((await world.call('UnenrolVm', unenrol, { person: owner })).status, 200, 'resent');
  const list = await world.call('ListVMMonitoring', { projectName: 'projects/demo' });
  t.match(list.body.vms, [{ name: VM, expandedMonitoring: false, telemetry: { state: 'LIVE' } }]);
  const never = { vmName: 'projects/demo/vms/vm-9', requestId: randomUUID() };
  t.match(await world.call('UnenrolVm', never, { person: owner }), {
    status: 404,
    reason: 'NOT_FOUND',
  });
});

test('tokens and keys of agents are in no log and in no audit', async (t) => {
  const world = await startRpcWorld(t);
  const owner = await world.signedInAs('demo', 'OWNER');
  const { body } = await enrolVm(world, owner);
  const { key } = (await enrolAgent(world, body.enrolmentToken)).body;
  await enrolAgent(world, body.enrolmentToken);
  const audit = await world.call(
    'ListTransitions',
    { projectName: 'projects/demo' },
    { person: owner },
  );
  const everything = JSON.stringify([audit.body, world.lines]);
  t.match(everything, '"enrolled"');
  for (const secret of [body.enrolmentToken, key]) t.notMatch(everything, secret);
});
