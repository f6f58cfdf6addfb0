/**
 * Limits of one project set by the operator, and the retirement of a VM: `svc admin` against a
 * service.
 */
import { test } from 'tap';
import { dataFolder, runInProcess } from '../support/program.ts';
import { startService } from '../support/service-in-process.ts';

test('the operator lists and sets a project’s limits, and retires a VM', async (t) => {
  const folder = dataFolder(t);
  const service = await startService(t, folder);
  const admin = (...words: string[]) => runInProcess(['admin', ...words, '--data', folder]);
  const displayed = await admin('limits', 'show', 'demo');
  t.equal(displayed.code, 0, displayed.text);
  t.match(displayed.stdout, /^rules +0 +20$/m);
  t.match(displayed.stdout, /^destinations +0 +5$/m);
  t.match(displayed.stdout, /^instances +0 +10000$/m);
  t.match(displayed.stdout, /^vms +0 +10000$/m);
  t.notMatch(displayed.stdout, / - /, 'the use of each limit is known');

  t.match((await admin('limits', 'set', 'demo', '--rules', '30')).stdout, /^rules +0 +30$/m);
  const set = await admin('limits', 'set', 'projects/demo', '--instances', '7', '--json');
  t.match(JSON.parse(set.stdout), {
    project: 'demo',
    limits: { rules: 30, destinations: 5, instances: 7 },
    used: { rules: 0, destinations: 0, instances: 0 },
    unevaluated: 0,
  });
  for (const wrong of [
    ['demo'],
    ['demo', '--rules', '1.5'],
    ['demo', '--instances', '200001'],
    ['demo', '--vms', '50001'],
    ['demo', '--head-bytes', '1g'],
    ['nowhere', '--rules', '5'],
  ]) {
    const { code, text } = await admin('limits', 'set', ...wrong);
    t.equal(code, 1, text);
    t.match(text, /The request changes nothing|a whole number from 0 to|no project nowhere/);
  }
  t.match((await admin('limits', 'show', 'demo')).stdout, /^rules +0 +30$/m, 'none of it was set');

  const rows = [
    {
      vmName: 'vm-1',
      observedUnixMs: String(Date.now()),
      state: 'RUNNING',
      values: [{ series: 'svc_vm_cpu_utilization_pct', value: 1 }],
    },
  ];
  const demo = JSON.parse(
    (await admin('collector-key', 'create', '--datacenter', 'DC-1', '--json')).stdout,
  );
  const wrote = await service.call(
    'ingest.v1.IngestService/WriteSamples',
    { projectName: 'projects/demo', rows },
    demo.key,
  );
  t.equal(wrote.status, 200);
  const retired = await admin('vms', 'retire', 'demo', 'vm-1');
  t.equal(retired.text, 'projects/demo/vms/vm-1 is retired\n');
  const again = await admin('vms', 'retire', 'demo', 'projects/demo/vms/vm-1');
  t.match(again, { code: 0, text: /was already retired/ });
  t.match(await admin('vms', 'retire', 'demo', 'vm-9'), { code: 1, text: /no VM vm-9/ });
});
