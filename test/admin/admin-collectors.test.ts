/**
 * Keys of collectors as the operator creates them: `svc admin` against a running service, and what
 * such a key may write.
 */
import { randomUUID } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import { test } from 'tap';
import { WriteSamplesRequestSchema } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { dataFolder, type Program, runInProcess, startProgram } from '../support/program.ts';
import { startService } from '../support/service-in-process.ts';

const WRITE = 'ingest.v1.IngestService/WriteSamples';
const RETIRE = 'ingest.v1.IngestService/RetireVms';
const LIST = 'monitoring.v1.MonitoringService/ListVMMonitoring';

const row = (vmName: string) => ({
  vmName,
  observedUnixMs: String(Date.now()),
  state: 'RUNNING',
  values: [{ series: 'svc_vm_cpu_utilization_pct', value: 1 }],
});
const writeAs = (program: Program, key: string, project: string, vms: readonly string[]) =>
  program.call(WRITE, { projectName: `projects/${project}`, rows: vms.map(row) }, key);

/** Status of each call by a key for `demo` and `shop` only; `blog` exists, `nowhere` does not. */
async function reachOfTwoProjects(
  program: Program,
  admin: (...words: string[]) => Promise<{ stdout: string; text: string }>,
): Promise<Record<string, number>> {
  for (const project of ['shop', 'blog']) {
    await admin('project', 'create', project, '--owner', 'ada@example.com');
  }
  const both = ['--project', 'demo', '--project', 'shop', '--network', '127.0.0.0/8'];
  const made = await admin('collector-key', 'create', '--datacenter', 'DC-4', ...both, '--json');
  const { key } = JSON.parse(made.stdout);
  const found: Record<string, number> = {};
  for (const project of ['shop', 'demo', 'blog', 'nowhere']) {
    found[project] = (await writeAs(program, key, project, ['vm-fleet'])).status;
  }
  const bytes = toBinary(
    WriteSamplesRequestSchema,
    create(WriteSamplesRequestSchema, { projectName: 'projects/blog', rows: [] }),
  );
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/proto' };
  const url = `${program.demo.baseUrl}/svc.${WRITE}`;
  const { status } = await fetch(url, { method: 'POST', headers, body: new Uint8Array(bytes) });
  found['fast blog'] = status;
  for (const project of ['shop', 'blog']) {
    const about = { projectName: `projects/${project}`, requestId: randomUUID() };
    const request = { ...about, vmNames: ['vm-other'] };
    found[`retire ${project}`] = (await program.call(RETIRE, request, key)).status;
  }
  const requested = await program.call(LIST, { projectName: 'projects/shop' }, key);
  found['list shop'] = requested.status;
  return found;
}

test('TEN-20: a collector’s key can be created, listed and revoked, and works only in its data center and projects', async (t) => {
  const folder = dataFolder(t);
  const program = await startProgram(t, folder, { SVC_COLLECT: 'none' });
  const admin = async (...words: string[]) => {
    const { code, stdout, text } = await runInProcess(['admin', ...words, '--data', folder]);
    return { code, stdout, text };
  };
  const create = ['collector-key', 'create', '--datacenter', 'DC-2', '--json'];
  const made = await admin(...create);
  t.equal(made.code, 0, made.text);
  const { key, id, expiresMs } = JSON.parse(made.stdout);
  t.match(key, /^svc_col_/);
  t.ok(Math.abs(expiresMs - Date.now() - 90 * 86_400_000) < 60_000, '90 days');
  const request = ['--request-id', randomUUID(), '--json'];
  const twice = ['collector-key', 'create', '--datacenter', 'DC-9', ...request];
  const first = JSON.parse((await admin(...twice)).stdout);
  const again = await admin(...twice);
  t.equal(again.code, 1, 'the secret is displayed once');
  t.same(JSON.parse(again.stdout), { ...first, key: '', secretAvailable: false });
  t.match(again.text, `then create another: svc admin collector-key revoke ${first.id}`);
  t.equal((await admin('collector-key', 'revoke', first.id)).code, 0);
  const bound = await admin(
    'collector-key',
    'create',
    '--datacenter',
    'DC-3',
    '--project',
    'demo',
    '--days',
    '2',
  );
  t.match(bound.stdout, /^svc_col_\S+\n$/, 'the secret is alone on standard output');
  t.match(bound.text, /key \S+ of the collector of DC-3, for project demo, valid until 20\S+:\n/);
  const demoKey = bound.stdout.trim();

  t.match(await writeAs(program, key, 'demo', ['vm-a']), {
    status: 200,
    body: { accepted: '1' },
  });
  const other = await writeAs(program, demoKey, 'demo', ['vm-a', 'vm-b']);
  t.match(other.body, {
    accepted: '1',
    rejected: [{ row: 0, series: '', reason: 'OTHER_DATACENTER' }],
  });
  t.match(
    await writeAs(program, key, 'nowhere', ['vm-a']),
    { status: 404 },
    'writing creates no project',
  );
  t.match(await writeAs(program, demoKey, 'nowhere', ['vm-a']), { status: 403 });
  const inventory = await program.call(LIST, { projectName: 'projects/demo' });
  t.match(inventory.body, { vms: [{ datacenter: 'DC-2' }, { datacenter: 'DC-3' }] });
  for (const [method, request] of [
    [LIST, { projectName: 'projects/demo' }],
    ['iam.v1.AutomationService/ListServiceAccounts', { projectName: 'projects/demo' }],
    [
      'project.v1.ProjectService/EnrolVm',
      { vmName: 'projects/demo/vms/vm-a', requestId: randomUUID() },
    ],
  ] as const) {
    t.equal(
      (await program.call(method, request, key)).status,
      403,
      `${method} is not for collectors`,
    );
  }

  t.same(await reachOfTwoProjects(program, admin), {
    shop: 200,
    demo: 200,
    blog: 403,
    nowhere: 403,
    'fast blog': 403,
    'retire shop': 200,
    'retire blog': 403,
    'list shop': 403,
  });

  const listed = await admin('collector-key', 'list', '--json');
  t.match(JSON.parse(listed.stdout), [
    { id, datacenter: 'DC-2', project: null, state: 'active', lastUsedMs: Number },
    { datacenter: 'DC-4', project: null, projects: ['demo', 'shop'] },
    { datacenter: 'DC-3', project: 'demo', lastFour: demoKey.slice(-4) },
  ]);
  t.notMatch(listed.stdout, key);
  const { stdout: table } = await admin('collector-key', 'list');
  t.match(table, /ID +DATACENTER +PROJECT +NETWORKS/);
  t.match(table, /DC-4 +demo, shop +127\.0\.0\.0\/8 /);
  t.match(table, /DC-3 +demo +any /);
  t.match(await admin('collector-key', 'revoke', id), {
    code: 0,
    stdout: `key ${id} is revoked\n`,
  });
  t.match(await writeAs(program, key, 'demo', ['vm-a']), { status: 401 });
  t.match((await admin('collector-key', 'revoke', id)).stdout, /has already ended/);
  const refused = [
    await admin('collector-key', 'create', '--datacenter', 'not a name'),
    await admin('collector-key', 'create', '--datacenter', 'DC-2', '--project', 'nowhere'),
    await admin('collector-key', 'create', '--datacenter', 'DC-2', '--days', '366'),
    await admin('collector-key', 'revoke', 'nothing'),
  ];
  t.same(
    refused.map(({ code }) => code),
    [1, 1, 1, 1],
  );
  t.match(
    refused.map(({ text }) => text).join(''),
    /--datacenter is .*no project nowhere.*--days must be a whole number from 1 to 365/s,
  );
  const restored = await admin('restored');
  t.match(restored.stdout, /^generation 2 started .*; ended: 0 sessions, /, restored.text);
  t.match(restored.stdout, new RegExp(`collector +projects/demo/.*${demoKey.slice(-4)}`));
  t.notMatch(restored.stdout, new RegExp(id), 'revoked keys are not listed');
  const next = await admin('restored', '--json');
  t.match(JSON.parse(next.stdout), { generation: 3, credentials: Array });
  t.match(await admin('restored', '--request-id', 'x'), { code: 1, text: /it must be a UUID/ });
  t.notMatch(program.log(), key);
  t.equal(await program.stop(), 0);
});

test('SRC-19: VMs that another collector reports are counted beside readings that are not stored', async (t) => {
  const folder = dataFolder(t);
  const program = await startService(t, folder);
  const admin = async (...words: string[]) =>
    (await runInProcess(['admin', ...words, '--data', folder])).stdout;
  const made = ['collector-key', 'create', '--datacenter', 'DC-2', '--project', 'demo', '--json'];
  const first = JSON.parse(await admin(...made));
  const second = JSON.parse(await admin(...made));
  await writeAs(program, first.key, 'demo', ['vm-a']);
  const values = [{ series: 'ALERTS', value: 1 }];
  const rows = [row('vm-a'), { ...row('vm-b'), values }];
  const answer = await program.call(WRITE, { projectName: 'projects/demo', rows }, second.key);
  t.match(answer.body, {
    rejected: [
      { row: 0, series: '', reason: 'REPORTED_ELSEWHERE', message: /stop the other collector/ },
      { row: 1, series: 'ALERTS', reason: 'RESERVED_NAME', rowRefused: false },
    ],
  });

  const readings = [{ project: 'demo', elsewhere: { vms: 1, running: 1 }, refusedCount: 1 }];
  const listed = JSON.parse(await admin('collectors', '--json'));
  t.match(
    listed.find(({ id }: { id: string }) => id === second.id),
    { readings },
  );
  const table = await admin('collectors');
  t.match(table, /VMS +ELSEWHERE +LAST READING +RECEIVED +KEY UNTIL +NOT STORED\n/);
  t.match(table, new RegExp(`${second.id} +DC-2 +demo +1 +1, 1 running .* 1\\n`));
  t.match(table, new RegExp(`${first.id} +DC-2 +demo +1 +- .* 0\\n`));
  t.match(table, /vm-b +ALERTS +RESERVED_NAME +1 /);
  t.notMatch(table, 'REPORTED_ELSEWHERE');
});
