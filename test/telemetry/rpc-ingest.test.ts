/**
 * `WriteSamples` through the framework: stored values, values that are rejected by index while the
 * rest is stored, and requests that are unreadable as a whole.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import { test } from 'tap';
import { WriteSamplesRequestSchema } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { type RpcWorld, START_SECONDS, startRpcWorld, VM } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const DAY_MS = 86_400_000;
const PATH = '/svc.ingest.v1.IngestService/WriteSamples';

const cpu = (value: number | string, labels = {}) => ({ series: CPU, labels, value });
const now = { vmName: 'vm-1', observedUnixMs: START_MS };

const write = (world: RpcWorld, rows: object[], change: object = {}) =>
  world.call(
    'WriteSamples',
    { projectName: 'projects/demo', rows, ...change },
    { key: world.keys.collector },
  );

const makeProject = (world: RpcWorld, project: string) =>
  submit(world.host, { project }, (draft) =>
    draft.putRecord({ kind: 'project', id: project, body: { displayName: project } }),
  );

async function points(world: RpcWorld, name = VM): Promise<[string, number][]> {
  await world.settled();
  const { body } = await world.call('QueryVMMonitoring', {
    name,
    metricIds: ['cpu_utilization_pct'],
    stepSeconds: 30,
    startTimeUnix: String(START_SECONDS - 600),
    endTimeUnix: String(START_SECONDS),
  });
  const [series] = body.series;
  return (series?.points ?? []).map((point: { timeUnix: string; value: number }) => [
    point.timeUnix,
    point.value,
  ]);
}

test('samples that cannot be true are rejected by index, and the rest is stored', async (t) => {
  const world = await startRpcWorld(t);
  const at = (ms: number, value: number | string = 1) => ({
    vmName: 'vm-1',
    observedUnixMs: String(START_MS + ms),
    values: [cpu(value), { series: 'svc_vm_memory_used_bytes', value: 5 }],
  });
  const answer = await write(world, [
    at(-30_000, 7),
    at(-60_000, 'NaN'),
    at(-90_000, 'Infinity'),
    at(60_001),
    at(-7 * DAY_MS - 1),
    { vmName: 'vm-1', values: [cpu(3)] },
    at(60_000, 8),
  ]);
  t.equal(answer.status, 200);
  const { rejected, ...counts } = answer.body;
  t.same(counts, { accepted: '6', duplicates: '0', rejectedNotListed: '0' });
  const value = { series: CPU, reason: 'NOT_FINITE', rowRefused: false };
  const old = { series: '', reason: 'OLDER_THAN_RETENTION', rowRefused: true };
  t.match(rejected, [
    { row: 1, ...value, field: 'rows[1].values[0]', message: /not finite/ },
    { row: 2, ...value, field: 'rows[2].values[0]', message: /not finite/ },
    { row: 3, series: '', reason: 'CLOCK_AHEAD', field: 'rows[3]', rowRefused: true },
    { row: 4, ...old, field: 'rows[4]' },
    { row: 5, ...old, field: 'rows[5]' },
  ]);
  t.equal(rejected.length, 5);
  t.same(await points(world), [[String(START_SECONDS - 30), 7]], 'and nothing instead of them');
});

test('API-20: a resent batch gets the same answer', async (t) => {
  const world = await startRpcWorld(t);
  const rows = [{ ...now, values: [cpu(0)] }];
  const first = await write(world, rows, { batchId: 'b1' });
  t.same((await write(world, rows, { batchId: 'b1' })).body, first.body);
  t.match((await write(world, rows, { batchId: 'b2' })).body, { duplicates: '1' });
  t.same(await points(world), [[String(START_SECONDS), 0]]);
});

test('a VM is named in full or by its id, in JSON or in binary', async (t) => {
  const world = await startRpcWorld(t);
  await write(world, [{ ...now, vmName: 'by-id', values: [cpu(1)] }]);
  await write(world, [{ ...now, vmName: 'projects/demo/vms/in-full', values: [cpu(2)] }]);
  const request = create(WriteSamplesRequestSchema, {
    projectName: 'projects/demo',
    rows: [
      { vmName: 'binary', observedUnixMs: BigInt(START_MS), values: [{ series: CPU, value: 3 }] },
    ],
  });
  const answer = await world.send(PATH, Buffer.from(toBinary(WriteSamplesRequestSchema, request)), {
    key: world.keys.collector,
    headers: { 'content-type': 'application/proto' },
  });
  t.equal(answer.status, 200);
  for (const [i, id] of ['by-id', 'in-full', 'binary'].entries()) {
    t.same(await points(world, `projects/demo/vms/${id}`), [[String(START_SECONDS), i + 1]]);
  }
});

test('rows that name another project are rejected, even from a collector for all projects', async (t) => {
  const world = await startRpcWorld(t);
  for (const project of ['demo', 'other']) await makeProject(world, project);
  const key = await world.issue('_system', ['collector']);
  const rows = ['projects/demo/vms/own', 'projects/other/vms/foreign'].map((vmName) => ({
    ...now,
    vmName,
    values: [cpu(1)],
  }));
  const answer = await world.call('WriteSamples', { projectName: 'projects/demo', rows }, { key });
  t.match(answer, { status: 403, reason: 'PROJECT_BOUNDARY' });
  t.match(answer.body.message, /rows\[1\]\.vmName/, 'the field is named');
  for (const project of ['demo', 'other']) {
    const { items } = world.host.view(project).records('vm', { limit: 10 });
    t.same(items, [], `nothing of it is stored in ${project}`);
  }
});

test('each state is accepted, and an unreported one is unknown', async (t) => {
  const world = await startRpcWorld(t);
  const states = ['RUNNING', 'PAUSED', 'STOPPED', 'CRASHED', 'UNKNOWN', 'STATE_UNSPECIFIED'];
  const rows = states.map((state) => ({ ...now, vmName: state.toLowerCase(), state }));
  t.equal((await write(world, [...rows, { ...now, vmName: 'unreported' }])).status, 200);
  await world.settled();
  const { vms } = (await world.call('ListVMMonitoring', { projectName: 'projects/demo' })).body;
  for (const { name, state } of vms) {
    const id = name.split('/').at(-1).toUpperCase();
    t.equal(state, ['STATE_UNSPECIFIED', 'UNREPORTED'].includes(id) ? 'UNKNOWN' : id);
  }
  t.equal(vms.length, 7);
});

test('an unreadable request is refused as a whole', async (t) => {
  const world = await startRpcWorld(t);
  const long = 'x'.repeat(300);
  const rows = [{ ...now, values: [cpu(1)] }];
  const foreign = { ...now, vmName: 'projects/other/vms/vm-1' };
  const cases: readonly (readonly [string, object[], object, string | undefined])[] = [
    ['a long batch id', rows, { batchId: long }, 'batchId'],
    ['a batch id that is not text', rows, { batchId: 5 }, 'batchId'],
    ['an unknown field', rows, { row: [] }, 'row'],
    ['rows that are not a list', rows, { rows: { 0: rows[0] } }, 'rows'],
    ['no project', rows, { projectName: '' }, 'projectName'],
    ['a VM of another project', [...rows, foreign], {}, undefined],
  ];
  for (const [name, sent, change, field] of cases) {
    const answer = await write(world, sent, change);
    t.equal(answer.status, name === 'a VM of another project' ? 403 : 400, name);
    t.match(answer.metadata, field === undefined ? {} : { field }, name);
    t.ok(answer.body.message.length > 10, name);
  }
  const twice = `{"projectName":"projects/demo","rows":[{"vmName":"a","vmName":"b"}]}`;
  const answer = await world.send(PATH, twice, {
    key: world.keys.collector,
    headers: { 'content-type': 'application/json' },
  });
  t.equal(answer.status, 400, 'a repeated name');
  const { vms } = (await world.call('ListVMMonitoring', { projectName: 'projects/demo' })).body;
  t.same(vms, [], 'and nothing of it is stored');
  t.same(world.lines, []);
});

test('a label with a line break loses only its sample; a name is put on one line', async (t) => {
  const world = await startRpcWorld(t);
  const FS = 'svc_vm_filesystem_used_bytes';
  const of = (mountpoint: string) => ({ series: FS, labels: { mountpoint }, value: 1 });
  const bad = ['/a\rb', '/a\nb', '/a\0b', '/a\u001b[2J', '/a\u2028', '/a\u202eb', '\\\nb'];
  const good = ['/a b', '/a\\nb', '/ü', '', '"', '\\', '/a\\\\n'];
  const row = {
    ...now,
    state: 'RUNNING',
    displayName: 'web\u202e-01\r\n',
    stateReason: 'ok\u001b[2J',
    values: [cpu(1), ...bad.map(of), ...good.map(of)],
  };
  const { status, body } = await write(world, [row, { ...now, vmName: 'vm-2', values: [cpu(2)] }]);
  t.equal(status, 200);
  t.equal(body.accepted, String(2 + good.length));
  t.equal(body.rejected.length, bad.length);
  for (const { row: at, series, reason } of body.rejected) {
    t.match({ at, series, reason }, { at: 0, series: /^svc_vm_filesystem/, reason: 'BAD_LABEL' });
  }
  await world.settled();
  t.equal((await points(world)).length, 1, 'the rest of the row is stored');
  const vms = await world.call('ListVMMonitoring', { projectName: 'projects/demo' });
  t.match(vms.body.vms[0], { displayName: 'web -01' });
});
