/**
 * `svc monitoring` and `svc alerts` against the whole service: what was not observed shows as such
 * and never as a zero, the quality is always there, and a saved rule is looked at until it applies.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type CliWorld, startCliWorld } from '../support/cli-world.ts';
import { startGateway } from '../support/faulty-gateway.ts';
import { until } from '../support/program.ts';

const VM = 'projects/demo/vms/vm-1';

t.test('monitoring and alerts from the command line', async (t) => {
  const world = await startCliWorld(t);
  const nowSeconds = Math.floor(Date.now() / 1000);
  // Two minutes of readings with a minute's hole, from a machine that stopped reporting since.
  const start = Math.floor((nowSeconds - 1_200) / 30) * 30;
  await write(
    world,
    [0, 30, 60, 120, 150].map((offset, i) => ({
      at: start + offset,
      memory: 1024 ** 3 + i,
      index: i,
    })),
  );
  const env = { SVC_API_KEY: world.demo.apiKey, SVC_PROJECT: 'demo' };
  const svc = (...args: string[]) => world.svc(args, { as: 'nobody', env });
  await until('the VM is there', async () => {
    return (await svc('monitoring', 'vms')).stdout.includes('vm-1') || undefined;
  });
  const range = ['--start', String(start), '--end', String(start + 180), '--step', '30'];

  await t.test('a VM that does not report shows no reading, not a zero', async (t) => {
    const ran = await svc('monitoring', 'vms');
    t.match(
      ran.stdout,
      /^vm-1 +One +UNKNOWN +DC-1 +2 +STALE +\d{4}-\S+ +- +-$|^vm-1 +One .* - +-$/m,
    );
    t.notMatch(ran.stdout, / 0\.0/);
    const [vm] = (await svc('monitoring', 'vms', '--json')).json.vms;
    t.match(vm, { name: VM, telemetry: { state: 'STALE' } });
    t.notOk('memoryUsedBytes' in vm, 'absent stays absent for programs');
    const bare = await svc('monitoring', 'vms', '--inventory-only');
    t.notMatch(bare.stdout, 'CPU %');
    const page = await svc('monitoring', 'vms', '--page-size', '1', '--json');
    t.match(page.json, { vms: [{ name: VM }], nextPageToken: '' });
  });

  await t.test('a query shows its quality first, and each hole as one', async (t) => {
    const ran = await svc('monitoring', 'query', 'vm-1', '--metric', 'memory_used_bytes', ...range);
    t.equal(ran.code, 0, ran.stderr);
    t.match(ran.stdout, /^range +\S+ to \S+, every 30 s\nquality +\w+/);
    t.match(ran.stdout, /^samples +\d+ of \d+ expected$/m);
    t.match(ran.stdout, /^memory_used_bytes +\w+/m);
    const rows = ran.stdout.split('\n').filter((line) => /^\d{4}-/.test(line));
    t.equal(rows.length, 5, 'a step without an observation has no row of zeros');
    t.notMatch(ran.stdout, / 0$/m);
    const both = await svc('monitoring', 'query', VM, ...range);
    t.match(both.stdout, /^\d{4}-\S+ +\d+ +-$/m, 'memory was observed, CPU was not');
    const json = (await svc('monitoring', 'query', VM, ...range, '--json')).json;
    t.match(json, { stepSeconds: 30, quality: { state: String }, series: Array });
  });

  await t.test('nothing observed is said in words', async (t) => {
    const ran = await svc('monitoring', 'query', 'vm-1', '--last', '5m');
    t.match(ran.stdout, /^quality +(NO_DATA|STALE)/m);
    t.match(ran.stdout, /^Nothing was observed in this range$/m);
  });

  await t.test('what the service refuses is told with its reason', async (t) => {
    const fine = await svc('monitoring', 'query', 'vm-1', '--last', '7d', '--step', '60s');
    t.match(fine, { code: 1, stderr: /TOO_MANY_POINTS/ });
    t.match(await svc('monitoring', 'query', 'none'), { code: 4, stderr: /NOT_FOUND/ });
    t.match(await svc('monitoring', 'query', 'vm-1', '--metric', 'x'), {
      code: 1,
      stderr: /UNKNOWN_METRIC/,
    });
    const both = await svc('monitoring', 'query', 'vm-1', '--last', '1h', '--start', '0');
    t.match(both, { code: 2, stderr: /contradict each other/ });
  });

  await t.test('promql', (t) => promql(t, world, { start, svc }));
  await t.test('alerts', (t) => alerts(t, world, svc));
});

type Svc = (...args: string[]) => ReturnType<CliWorld['svc']>;

async function promql(t: Test, world: CliWorld, { start, svc }: { start: number; svc: Svc }) {
  const series = 'svc_vm_memory_used_bytes';

  await t.test('an instant and a range are answered digit by digit', async (t) => {
    const instant = await svc('monitoring', 'promql', series, '--time', String(start + 30));
    t.match(instant.stdout, /^svc_vm_memory_used_bytes\{.*vm="vm-1".*\} +\S+ +1073741825$/m);
    const range = ['--start', String(start), '--end', String(start + 60), '--step', '30'];
    const ranged = await svc('monitoring', 'promql', series, ...range);
    t.match(ranged.stdout, /1073741824$[\s\S]*1073741825$[\s\S]*1073741826$/m);
    t.match((await svc('monitoring', 'promql', '1 + 1')).stdout, / 2$/m);
    const json = await svc('monitoring', 'promql', series, '--time', String(start), '--json');
    t.match(json.json, { status: 'success', data: { resultType: 'vector' } });
  });

  await t.test('an absent series is none, and a bad expression says where', async (t) => {
    t.match((await svc('monitoring', 'promql', series)).stdout, /^No series: nothing of this kind/);
    const bad = await svc('monitoring', 'promql', 'sum(');
    t.match(bad, { code: 1, stderr: /^svc monitoring promql: bad_data: .*1:5: parse error/ });
  });

  await t.test('it takes a key alone, and an answer of this service', async (t) => {
    const env = { SVC_PROJECT: 'demo' };
    const none = await world.svc(['monitoring', 'promql', '1'], { as: 'nobody', env });
    t.match(none, { code: 3, stderr: /read with a key alone/ });
    const other = await svc('monitoring', 'promql', '1', '--project', 'other');
    t.match(other, { code: 3 });
    const gateway = await startGateway(t, world.endpoint);
    gateway.faults.push({ kind: 'answer', status: 200, body: '<html>' });
    const page = await svc('monitoring', 'promql', '1', '--endpoint', gateway.url);
    t.match(page, { code: 1, stderr: /not one of a PromQL URL/ });
    const location = { location: 'https://evil.example/' };
    gateway.faults.push({ kind: 'answer', status: 307, headers: location });
    const moved = await svc('monitoring', 'promql', '1', '--endpoint', gateway.url);
    t.match(moved, { code: 1, stderr: /HTTP 307/ }, 'a credential follows no redirect');
  });
}

async function alerts(t: Test, world: CliWorld, svc: Svc): Promise<void> {
  const condition = ['--metric', 'memory_used_bytes', '--operator', 'GREATER_THAN', '--threshold'];
  const save = ['alerts', 'save', '--name', 'Memory', ...condition, '5', '--severity', 'WARNING'];
  let id = '';

  await t.test('a rule is made from flags, and applied when the command ends', async (t) => {
    const ran = await svc(...save, '--for', '1m', '--vm', 'vm-1', '--label', 'team=core');
    t.equal(ran.code, 0, ran.stderr);
    id = /alertRules\/(\S+)/.exec(ran.stdout)?.[1] ?? '';
    t.match(ran.stdout, /^applied +APPLIED \(version 1\)$/m);
    t.match(ran.stderr, new RegExp(`^Saving rule ${id} \\(request \\S+, on version 0\\)$`, 'm'));
    const list = await svc('alerts', 'list');
    t.match(
      list.stdout,
      new RegExp(`^${id} +Memory +memory_used_bytes > 5 for 60 s +WARNING +1 +yes`, 'm'),
    );
  });

  await t.test('an edit keeps what is not named, and does not undo another', async (t) => {
    const edited = await svc('alerts', 'save', '--id', id, '--threshold', '0', '--pause');
    t.match(edited.stdout, /^version +2$/m, edited.stderr);
    const [rule] = (await svc('alerts', 'list', '--json')).json.rules;
    t.match(rule.spec, {
      ...{ displayName: 'Memory', threshold: 0, enabled: false, sustainedSeconds: 60 },
      ...{ vmNames: [VM], labels: { team: 'core' }, severity: 'WARNING' },
    });
    const stale = await svc(
      'alerts',
      'save',
      '--id',
      id,
      '--threshold',
      '1',
      '--expected-version',
      '1',
    );
    t.match(stale, { code: 1, stderr: /STALE_VERSION[\s\S]*currentVersion: 2/ });
  });

  await t.test('a rule is made from a document, whose misspelt field is not lost', async (t) => {
    const file = join(world.folder, 'rule.json');
    const spec = { displayName: 'File', metricId: 'memory_used_bytes', operator: 'LESS_THAN' };
    const rest = { threshold: 1, severity: 'INFO', allVms: true };
    writeFileSync(file, JSON.stringify({ ...spec, ...rest }));
    t.match(await svc('alerts', 'save', '--file', file, '--json'), { code: 0 });
    writeFileSync(file, JSON.stringify({ ...spec, ...rest, thresold: 5 }));
    t.match(await svc('alerts', 'save', '--file', file), { code: 2, stderr: /thresold/ });
    t.match(await svc('alerts', 'save', '--file', `${file}.none`), {
      code: 2,
      stderr: /cannot be read/,
    });
    const contradiction = await svc(...save, '--all-vms', '--vm', 'vm-1');
    t.match(contradiction, { code: 2, stderr: /contradict each other/ });
  });

  await t.test('saved is not applied: the exit code tells the difference', async (t) => {
    const gateway = await startGateway(t, world.endpoint);
    const headers = { 'content-type': 'application/json' };
    const pending = { syncStatus: 'PENDING', name: `projects/demo/alertRules/${id}`, version: '3' };
    const answer = { kind: 'answer', status: 200, headers, body: JSON.stringify(pending) } as const;
    gateway.faults.push({ ...answer, path: 'SaveAlertRule' });
    const args = [...save, '--all-vms', '--endpoint', gateway.url, '--wait', '0'];
    t.match(await svc(...args), {
      code: 1,
      stdout: /^note +saved, but this version does not watch VMs yet$/m,
    });
  });

  await t.test('incidents are listed, and none is said in words', async (t) => {
    const ran = await svc('alerts', 'incidents', '--state', 'FIRING', '--vm', 'vm-1', '--rule', id);
    t.match(ran, { code: 0, stdout: 'There are no incidents of this kind\n' });
    t.match((await svc('alerts', 'incidents', '--json')).json, { incidents: [] });
  });

  await t.test('a preview that the service has tells how complete it is', async (t) => {
    const gateway = await startGateway(t, world.endpoint);
    const preview = ['alerts', 'preview', ...condition, '5', '--severity', 'INFO', '--all-vms'];
    const args = [...preview, '--history', '2h', '--endpoint', gateway.url];
    const body = {
      ...{ queryStatus: 'PARTIAL', historyStatus: 'COMPLETE', evaluatedSamples: '90' },
      ...{ expectedSamples: '120', truncated: true },
      wouldHaveFired: [{ vmName: VM, labels: {}, startUnix: '1767225600', endUnix: '1767225900' }],
    };
    const headers = { 'content-type': 'application/json' };
    const answer = { kind: 'answer', status: 200, headers, path: 'PreviewAlertRule' } as const;
    gateway.faults.push({ ...answer, body: JSON.stringify(body) });
    const ran = await svc(...args);
    t.match(ran, {
      code: 0,
      stdout: /^query +PARTIAL\nhistory +COMPLETE\nsamples +90 evaluated of 120/,
    });
    t.match(ran.stdout, /^note +the list below is not complete$/m);
    t.match(ran.stdout, /^vm-1 +20\d\d-\S+ +20\d\d-/m);
    t.match(JSON.parse(gateway.requests.at(-1)?.body ?? ''), {
      ...{ projectName: 'projects/demo', historySeconds: 7_200 },
      spec: { metricId: 'memory_used_bytes', threshold: 5, allVms: true },
    });
    gateway.faults.push({ ...answer, body: '{"queryStatus":"FAILED"}' });
    const failed = await svc(...args);
    t.match(failed, { code: 1, stdout: /^samples +\? evaluated of \? expected$/m });
  });
}

interface Reading {
  readonly at: number;
  readonly memory: number;
  readonly index: number;
}

/** Readings of `vm-1`, by the demo's collector. */
async function write({ endpoint, demo }: CliWorld, readings: readonly Reading[]): Promise<void> {
  const rows = readings.map(({ at, memory, index }) => ({
    ...{
      vmName: 'vm-1',
      displayName: 'One',
      observedUnixMs: String(at * 1000),
      sequence: index + 1,
    },
    ...{ bootId: 'boot', vcpus: 2, state: 'RUNNING' },
    values: [{ series: 'svc_vm_memory_used_bytes', value: memory }],
  }));
  const answer = await fetch(`${endpoint}/svc.ingest.v1.IngestService/WriteSamples`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.collectorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ projectName: 'projects/demo', rows }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}
