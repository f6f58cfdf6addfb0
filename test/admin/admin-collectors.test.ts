/**
 * Keys of collectors as the operator makes them: `svc admin` against a running service, and what
 * such a key can write then.
 */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import {
  dataFolder,
  type Program,
  runInProcess,
  runToEnd,
  startProgram,
} from '../support/program.ts';

const WRITE = 'ingest.v1.IngestService/WriteSamples';
const LIST = 'monitoring.v1.MonitoringService/ListVMMonitoring';

const row = (vmName: string) => ({
  ...{ vmName, observedUnixMs: String(Date.now()), state: 'RUNNING' },
  values: [{ series: 'svc_vm_cpu_utilization_pct', value: 1 }],
});
const writeAs = (program: Program, key: string, project: string, vms: readonly string[]) =>
  program.call(WRITE, { projectName: `projects/${project}`, rows: vms.map(row) }, key);

t.test(
  'a collector’s key is made, listed, used for its data center alone, and revoked',
  async (t) => {
    const folder = dataFolder(t);
    const program = await startProgram(t, folder, { SVC_COLLECT: 'none' });
    const admin = async (...words: string[]) => {
      const { code, stdout, text } = await runInProcess(['admin', ...words, '--data', folder]);
      return { code, stdout, text };
    };
    const create = ['collector-key', 'create', '--datacenter', 'DC-2', '--json'];
    const made = await runToEnd(['admin', ...create, '--data', folder]);
    t.equal(made.code, 0, made.text);
    const { key, id, expiresMs } = JSON.parse(made.stdout);
    t.match(key, /^svc_col_/);
    t.ok(Math.abs(expiresMs - Date.now() - 90 * 86_400_000) < 60_000, '90 days');
    const request = ['--request-id', randomUUID(), '--json'];
    const twice = ['collector-key', 'create', '--datacenter', 'DC-9', ...request];
    const first = JSON.parse((await admin(...twice)).stdout);
    const again = await admin(...twice);
    t.equal(again.code, 1, 'the secret is shown once');
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
    const demoKey = bound.stdout.trim().split('\n').at(-1) ?? '';
    t.match(bound.stdout, /key \w+ of DC-3's collector, into project demo, until 20/);

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
      'no project is made by writing',
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

    const listed = await admin('collector-key', 'list', '--json');
    t.match(JSON.parse(listed.stdout), [
      { id, datacenter: 'DC-2', project: null, state: 'active', lastUsedMs: Number },
      { datacenter: 'DC-3', project: 'demo', lastFour: demoKey.slice(-4) },
    ]);
    t.notMatch(listed.stdout, key);
    t.match((await admin('collector-key', 'list')).stdout, /ID +DATACENTER +PROJECT/);
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
      /--datacenter is .*no project nowhere.*--days is 1 to 365/s,
    );
    const restored = await admin('restored');
    t.match(restored.stdout, /^generation 2 began .*; ended: 0 sessions, /, restored.text);
    t.match(restored.stdout, new RegExp(`collector +projects/demo/.*${demoKey.slice(-4)}`));
    t.notMatch(restored.stdout, new RegExp(id), 'what is revoked is not listed');
    const next = await admin('restored', '--json');
    t.match(JSON.parse(next.stdout), { generation: 3, credentials: Array });
    t.match(await admin('restored', '--request-id', 'x'), { code: 1, text: /a UUID is needed/ });
    t.notMatch(program.log(), key);
    t.equal(await program.stop(), 0);
  },
);
