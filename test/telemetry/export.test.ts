/**
 * Scrape targets and shards below the socket: real host, ingest and history on a virtual clock. For
 * a real Prometheus, see test/long/e2e/scrape.test.ts.
 */
import { execFileSync } from 'node:child_process';
import { gunzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { type Test, test } from 'tap';
import { SHARD_VMS_MAX } from '../../actors/vms/export-shards.ts';
import { parseKey } from '../../src/platform/keys.ts';
import { addExportRoutes, scrapeTargets } from '../../src/telemetry/export/export-routes.ts';
import { Exporter } from '../../src/telemetry/export/exporter.ts';
import { EXPANDED_SERIES } from '../../streams/telemetry/metrics/catalogue.ts';
import { seriesCatalogue } from '../../streams/telemetry/metrics/series-catalogue.ts';
import { type RpcWorld, startRpcWorld, type WorldParts } from '../support/api-in-process.ts';
import { componentPath, needs } from '../support/components.ts';
import { revokeCredential } from '../support/credentials.ts';
import { START_MS, tester } from '../support/host-in-memory.ts';

const ORIGIN = 'http://127.0.0.1:8080';
const BASE = '/v1/monitoring/projects/demo';
const OPENMETRICS = 'application/openmetrics-text;version=1.0.0';

async function startExportWorld(t: Test, change: Partial<WorldParts> = {}): Promise<RpcWorld> {
  const addRoutes = (app: FastifyInstance, parts: WorldParts) => {
    const exporter = new Exporter({ ...parts, ...change });
    t.teardown(() => exporter.close());
    addExportRoutes(app, { ...parts, exporter, origin: () => ORIGIN });
  };
  return startRpcWorld(t, () => ({}), addRoutes);
}

interface Request {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS';
}

async function get(world: RpcWorld, path: string, request: Request = {}) {
  const { key = world.keys.read, headers = {}, method = 'GET' } = request;
  const credential = key === null ? {} : { authorization: `Bearer ${key}` };
  const answer = await world.app.inject({
    method,
    url: path,
    headers: { ...credential, ...headers },
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.body, raw: answer };
}

/** Sample lines of a shard. */
async function samplesOf(world: RpcWorld, shard = 0): Promise<string[]> {
  const { status, body } = await get(world, `${BASE}/export?shard=${shard}`);
  if (status !== 200) throw new Error(`${status} ${body}`);
  return body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

/** A reading of every series of the catalogue that a source may send. */
const everything = [...seriesCatalogue.keys()]
  .filter((name) => !/vm_vcpus$|vm_running$|last_observation|utilization/.test(name))
  .map((series, i) => ({ series, labels: labelsFor(series), value: 99.1 - i }));

function labelsFor(series: string): Record<string, string> {
  if (series.includes('_disk_')) return { device: 'vda' };
  if (series.includes('_network_')) return { interface: 'eth0' };
  return series.includes('_filesystem_') ? { mountpoint: '/', fstype: 'ext4' } : {};
}

test('a shard has the newest sample of each series as it was stored, in both formats', async (t) => {
  const world = await startExportWorld(t);
  await world.write([
    {
      observedUnixMs: START_MS - 30_000,
      displayName: 'web',
      vcpus: 2,
      state: 'RUNNING',
      values: [{ series: 'svc_vm_cpu_seconds_total', value: 90 }],
    },
    {
      observedUnixMs: START_MS - 123,
      displayName: 'web',
      vcpus: 2,
      state: 'RUNNING',
      values: [
        { series: 'svc_vm_cpu_seconds_total', value: 0.1 + 0.2 },
        { series: 'svc_vm_memory_free_bytes', value: 1.5e19 },
        { series: 'svc_vm_network_receive_bytes_total', value: 0 },
        { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'vda' }, value: 5e-324 },
        { series: 'somebodys_own', value: 1 },
      ],
    },
  ]);
  const text = await get(world, `${BASE}/export?shard=0`);
  t.match(text, { status: 200, headers: { 'cache-control': 'no-store' } });
  t.equal(text.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  const time = START_MS - 123;
  const own = 'datacenter="DC-1",project="demo",vm="vm-1",vm_name="web"';
  t.equal(
    text.body,
    [
      '# HELP svc_vm_cpu_seconds_total CPU time used by all vCPUs together, excluding idle, iowait and steal',
      '# TYPE svc_vm_cpu_seconds_total counter',
      `svc_vm_cpu_seconds_total{${own}} 0.30000000000000004 ${time}`,
      '# HELP svc_vm_vcpus vCPUs observed',
      '# TYPE svc_vm_vcpus gauge',
      `svc_vm_vcpus{${own}} 2 ${time}`,
      '# HELP svc_vm_memory_free_bytes Memory reported as free by the guest',
      '# TYPE svc_vm_memory_free_bytes gauge',
      `svc_vm_memory_free_bytes{${own}} 15000000000000000000 ${time}`,
      '# HELP svc_vm_disk_read_bytes_total Bytes read from the virtual disk',
      '# TYPE svc_vm_disk_read_bytes_total counter',
      `svc_vm_disk_read_bytes_total{${own},device="vda"} 5e-324 ${time}`,
      '# HELP svc_vm_network_receive_bytes_total Bytes that the guest received on the interface',
      '# TYPE svc_vm_network_receive_bytes_total counter',
      `svc_vm_network_receive_bytes_total{${own}} 0 ${time}`,
      '# HELP svc_vm_running 1 while the hypervisor reports the VM as running, otherwise 0',
      '# TYPE svc_vm_running gauge',
      `svc_vm_running{${own}} 1 ${time}`,
      '# HELP svc_vm_last_observation_timestamp_seconds Time at which the source observed the VM, Unix time',
      '# TYPE svc_vm_last_observation_timestamp_seconds gauge',
      `svc_vm_last_observation_timestamp_seconds{${own}} ${time / 1000} ${time}`,
      '',
    ].join('\n'),
    'an unexplained drop of the counter gives no utilization, and custom series are left out',
  );
  const open = await get(world, `${BASE}/export?shard=0`, { headers: { accept: OPENMETRICS } });
  t.equal(
    open.headers['content-type'],
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
  );
  t.match(
    open.body,
    [
      '# TYPE svc_vm_cpu_seconds counter',
      '# UNIT svc_vm_cpu_seconds seconds',
      '# HELP svc_vm_cpu_seconds CPU time used by all vCPUs together, excluding idle, iowait and steal',
      `svc_vm_cpu_seconds_total{${own}} 0.30000000000000004 `,
    ].join('\n'),
  );
  t.match(
    open.body,
    /^# TYPE svc_vm_disk_read_bytes counter\n# UNIT svc_vm_disk_read_bytes bytes\n/m,
  );
  t.ok(open.body.endsWith('\n# EOF\n'));
  t.notMatch(text.body, '# EOF');
});

test('a sample disappears 90 s after its observation, without a replacement', async (t) => {
  const world = await startExportWorld(t);
  const total = (value: number) => [{ series: 'svc_vm_memory_total_bytes', value }];
  const free = [{ series: 'svc_vm_memory_free_bytes', value: 7 }];
  await world.write([
    { vm: 'a', observedUnixMs: START_MS - 60_000, values: free },
    { vm: 'a', observedUnixMs: START_MS, values: total(1) },
    { vm: 'b', observedUnixMs: START_MS - 30_000, values: total(2) },
  ]);
  const seen = async () =>
    (await samplesOf(world))
      .filter((line) => !line.startsWith('svc_vm_last'))
      .map((line) => line.replace(/^(\w+)\{.*vm="(\w)".*\} (\S+) (\d+)$/, '$1 $2 $3 @$4'));
  const [a, b, c] = [START_MS, START_MS - 30_000, START_MS - 60_000];
  const first = [`svc_vm_memory_total_bytes a 1 @${a}`, `svc_vm_memory_total_bytes b 2 @${b}`];
  t.same(await seen(), [...first, `svc_vm_memory_free_bytes a 7 @${c}`]);
  await world.clock.advance(30_000);
  t.same(
    await seen(),
    [...first, `svc_vm_memory_free_bytes a 7 @${c}`],
    'at 90 s it is still listed',
  );
  await world.clock.advance(1);
  t.same(await seen(), first);
  await world.clock.advance(60_000);
  t.same(await samplesOf(world), [], 'and neither is the time of the last observation');
  await world.write([{ vm: 'b', observedUnixMs: START_MS - 15_000, values: total(9) }]);
  t.same(await samplesOf(world), [], 'a late sample that is old is not current either');
});

test('VMs of a stale data center are left out, and return with it', async (t) => {
  const world = await startExportWorld(t);
  await world.write([{ observedUnixMs: START_MS, state: 'STOPPED' }]);
  t.match(await samplesOf(world), [/^svc_vm_running\{.*\} 0 /, /^svc_vm_last/]);
  world.datacenterStates.set('DC-1', 'stale');
  t.same(await samplesOf(world), []);
  world.datacenterStates.set('DC-1', 'live');
  t.equal((await samplesOf(world)).length, 2);
});

test('a project without VMs has one shard, which is empty', async (t) => {
  const world = await startExportWorld(t);
  const targets = await get(world, `${BASE}/scrape-targets`);
  t.match(targets, { status: 200, headers: { 'content-type': /^application\/json/ } });
  t.same(JSON.parse(targets.body), [
    {
      targets: ['127.0.0.1:8080'],
      labels: {
        __scheme__: 'http',
        __metrics_path__: `${BASE}/export`,
        __param_shard: '0',
        instance: 'demo/shard-0',
      },
    },
  ]);
  t.match(await get(world, `${BASE}/export?shard=0`), { status: 200, body: '' });
  const open = await get(world, `${BASE}/export?shard=0`, { headers: { accept: OPENMETRICS } });
  t.match(open, { status: 200, body: '# EOF\n' });
});

test('targets have the port of a public address, whatever its form', async (t) => {
  const target = (origin: string) => {
    const [first] = scrapeTargets('p', 1, origin);
    return `${first?.labels.__scheme__} ${first?.targets[0]}`;
  };
  t.equal(target('https://monitoring.example.com'), 'https monitoring.example.com:443');
  t.equal(target('http://monitoring.example.com'), 'http monitoring.example.com:80');
  t.equal(target('https://monitoring.example.com:8443'), 'https monitoring.example.com:8443');
  t.equal(target('http://[::1]:8080'), 'http [::1]:8080');
});

test('API-04: both export routes require a bearer that may read exactly this project', async (t) => {
  const world = await startExportWorld(t);
  await world.write([
    { observedUnixMs: START_MS, values: [{ series: 'svc_vm_memory_total_bytes', value: 1 }] },
  ]);
  for (const path of ['scrape-targets', 'export?shard=0']) {
    const none = await get(world, `${BASE}/${path}`, { key: null });
    t.match(none, { status: 401, headers: { 'www-authenticate': 'Bearer' } }, path);
    const own = await get(world, `${BASE}/${path}`);
    t.match(own, { status: 200, headers: { 'cache-control': 'no-store' } }, 'and stores none');
    t.match(await get(world, `${BASE}/${path}`, { key: 'svc_sk_nonsense' }), { status: 401 });
    const withoutRead = await get(world, `${BASE}/${path}`, { key: world.keys.collector });
    t.match(withoutRead, {
      status: 403,
      body: /"This URL needs monitoring\.read, which .* lacks".*"MISSING_CAPABILITY"/,
    });
    const foreign = await get(world, `${BASE}/${path}`, { key: world.keys.other });
    t.match(foreign, {
      status: 403,
      body: /"The credential belongs to another project".*"PROJECT_BOUNDARY"/,
    });
    for (const project of ['absent', 'demo%2F..%2Fother', '_system', 'demo%00', 'DEMO']) {
      const other = `/v1/monitoring/projects/${project}/${path}`;
      t.match(await get(world, other), { status: 403 }, other);
    }
    const inUrl = path.includes('?') ? '&' : '?';
    const key = `${BASE}/${path}${inUrl}access_token=${world.keys.read}`;
    t.match(await get(world, key, { key: null }), { status: 401 }, 'never from a URL');
    const twice = await world.app.inject({
      url: `${BASE}/${path}`,
      method: 'GET',
      headers: { Authorization: [`Bearer ${world.keys.read}`, `Bearer ${world.keys.other}`] },
    });
    t.match(twice.body, 'more than one Authorization header', 'nor one of two');
    t.equal(twice.statusCode, 401);
  }
  const own = await get(world, '/v1/monitoring/projects/other/export?shard=0', {
    key: world.keys.other,
  });
  t.match(own, { status: 200, body: '' }, 'and sees only its own project');
});

test('a key reads nothing if the commit that its read waited for revoked it', async (t) => {
  const world = await startExportWorld(t);
  const key = await world.issue('demo', ['monitoring.read']);
  const id = parseKey(key)?.id ?? '';
  const next = world.positions.tokenOf(world.host.appliedSequence() + 1);
  const request = { key, headers: { 'svc-sequence': next } };
  const waiting = ['scrape-targets', 'export?shard=0'].map((path) =>
    get(world, `${BASE}/${path}`, request),
  );
  await get(world, `${BASE}/scrape-targets`);
  await revokeCredential(world.host, tester, { project: 'demo', id, reason: 'LEAKED' });
  for (const { status } of await Promise.all(waiting)) t.equal(status, 401);
});

test('an export is not returned if its key was revoked while it was made', async (t) => {
  let revoked = async (): Promise<unknown> => undefined;
  const exporter = {
    shardCount: () => 1,
    async shard() {
      await revoked();
      return Buffer.from('');
    },
  };
  const world = await startRpcWorld(
    t,
    () => ({}),
    (app, parts) => addExportRoutes(app, { ...parts, exporter, origin: () => ORIGIN }),
  );
  const key = await world.issue('demo', ['monitoring.read']);
  const id = parseKey(key)?.id ?? '';
  t.equal((await get(world, `${BASE}/export?shard=0`, { key })).status, 200);
  revoked = () => revokeCredential(world.host, tester, { project: 'demo', id, reason: 'LEAKED' });
  t.equal((await get(world, `${BASE}/export?shard=0`, { key })).status, 401);
});

test('an invalid shard is rejected, and so are other methods', async (t) => {
  const world = await startExportWorld(t);
  for (const shard of ['', '?shard=', '?shard=-1', '?shard=1e3', '?shard=0&shard=0', '?shard=x']) {
    t.match(await get(world, `${BASE}/export${shard}`), { status: 400 }, shard);
  }
  const gone = await get(world, `${BASE}/export?shard=1`);
  t.match(gone, {
    status: 404,
    body: /There is no shard 1, only 0 to 0: take the numbers from scrape-t/,
  });
  for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'] as const) {
    for (const path of ['scrape-targets', 'export?shard=0']) {
      const answer = await get(world, `${BASE}/${path}`, { method });
      t.match(answer, { status: 405, headers: { allow: 'GET' } }, `${method} ${path}`);
    }
  }
  const posted = await world.app.inject({
    method: 'POST',
    url: `${BASE}/export?shard=0`,
    payload: '<a/>',
    headers: { 'content-type': 'application/xml', authorization: `Bearer ${world.keys.read}` },
  });
  t.equal(posted.statusCode, 405, 'the body is not read, whatever it is');
});

test('while the sample log is being read, no VM appears to have vanished', async (t) => {
  const evaluator = { isHistoryWhole: () => false } as WorldParts['evaluator'];
  const world = await startExportWorld(t, { evaluator });
  const answer = await get(world, `${BASE}/export?shard=0`);
  t.match(answer, { status: 503, headers: { 'retry-after': '1' }, body: /is still being read/ });
});

test('exports beyond the concurrency limit wait', async (t) => {
  const world = await startExportWorld(t);
  await world.write([{ observedUnixMs: START_MS, state: 'RUNNING' }]);
  const answers = await Promise.all(
    Array.from({ length: 600 }, () => get(world, `${BASE}/export?shard=0`)),
  );
  const statuses = answers.map(({ status }) => status);
  t.same([...new Set(statuses)].sort(), [200, 429]);
  t.ok(answers.find(({ status }) => status === 429)?.headers['retry-after']);
});

test('a VM keeps its shard when others are registered and when it is renamed', async (t) => {
  const world = await startExportWorld(t);
  const vms = Array.from({ length: SHARD_VMS_MAX + 3 }, (_, i) => `vm-${String((i * 37) % 1000)}`);
  const row = (vm: string, displayName = vm) => ({ vm, displayName, observedUnixMs: START_MS });
  const placeOf = (vm: string) => world.host.view('demo').record('vm', vm)?.body.exportShard;
  const write = async (rows: ReturnType<typeof row>[]) => {
    for (let i = 0; i < rows.length; i += 100) await world.write(rows.slice(i, i + 100));
  };
  await write(vms.slice(0, 400).map((vm) => row(vm)));
  const before = new Map(vms.slice(0, 400).map((vm) => [vm, placeOf(vm)]));
  await write([...vms.slice(400), ...vms.slice(0, 50)].map((vm) => row(vm, `new ${vm}`)));
  for (const [vm, shard] of before) t.equal(placeOf(vm), shard, vm);
  const targets = JSON.parse((await get(world, `${BASE}/scrape-targets`)).body);
  t.same(
    targets.map(({ labels }: { labels: Record<string, string> }) => labels.__param_shard),
    ['0', '1'],
  );
  const seen = await Promise.all([samplesOf(world, 0), samplesOf(world, 1)]);
  t.same(
    seen.map((lines) => lines.length),
    [SHARD_VMS_MAX, 3],
    'each VM exactly once',
  );
  t.ok(
    seen[0]?.some((line) => line.includes('vm_name="new vm-0"')),
    'renamed in its slot',
  );
});

test('label values are escaped, and otherwise unchanged', async (t) => {
  const world = await startExportWorld(t);
  const displayName = 'a"b\\c\nd\0e\u{1F600}';
  const labels = { mountpoint: '/x "y"\\n\\', fstype: 'ext4' };
  const values = [{ series: 'svc_vm_filesystem_used_bytes', labels, value: 1 }];
  await world.write([{ observedUnixMs: START_MS, displayName, values }]);
  const [line] = await samplesOf(world);
  t.match(
    line,
    'vm_name="a\\"b\\\\c d e\u{1F600}",fstype="ext4",mountpoint="/x \\"y\\"\\\\n\\\\"} 1 ',
  );
});

test('a shard is compressed for clients that accept gzip', async (t) => {
  const world = await startExportWorld(t);
  await world.write([{ observedUnixMs: START_MS, state: 'RUNNING' }]);
  const plain = await get(world, `${BASE}/export?shard=0`);
  const ask = (accepted: string) =>
    get(world, `${BASE}/export?shard=0`, { headers: { 'accept-encoding': accepted } });
  for (const accepted of ['gzip', 'br, GZIP;q=0.5', '*', 'zstd, *;q=0.1']) {
    const packed = await ask(accepted);
    t.match(packed.headers, { 'content-encoding': 'gzip', vary: /accept-encoding/ }, accepted);
    t.equal(gunzipSync(packed.raw.rawPayload).toString(), plain.body);
  }
  for (const accepted of ['gzip;q=0', 'identity', 'gzip;q=0, *', 'identity, gzip;q=0.5', '']) {
    const { headers, body } = await ask(accepted);
    t.notOk(headers['content-encoding'], accepted);
    t.equal(body, plain.body);
  }
});

test('promtool reports nothing about a shard', needs('promtool 3.5.3'), async (t) => {
  const world = await startExportWorld(t);
  await world.write([
    { observedUnixMs: START_MS - 30_000, vcpus: 2, state: 'RUNNING', values: everything },
    {
      observedUnixMs: START_MS,
      vcpus: 2,
      state: 'RUNNING',
      displayName: 'a"\\\nb',
      values: everything,
    },
  ]);
  const { key } = await world.agent('demo', 'vm-1');
  const fromInside = everything.filter(({ series }) => EXPANDED_SERIES.has(series));
  const rows = [{ vmName: 'vm-1', observedUnixMs: START_MS, values: fromInside }];
  await world.call('WriteSamples', { projectName: 'projects/demo', rows }, { key });
  await world.settled();
  const { body } = await get(world, `${BASE}/export?shard=0`);
  const names = new Set(body.match(/^svc_\w+/gm));
  t.same([...names].sort(), [...seriesCatalogue.keys()].sort(), 'the whole catalogue is included');
  const command = componentPath('promtool 3.5.3');
  const checked = execFileSync(command, ['check', 'metrics'], { input: body, timeout: 600_000 });
  t.equal(String(checked), '');
});
