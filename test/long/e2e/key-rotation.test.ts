/**
 * A key is replaced below a real Prometheus with the commands and the configuration of
 * docs/reading.md. No sample is missed, and the old key may end at once. The test also checks the
 * page's statement on a file with new content: if Prometheus reread it, the commands would be
 * simpler.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test, test } from 'tap';
import { type CliWorld, startCliWorld, writeReadings } from '../../support/cli-against-service.ts';
import { codeBlock } from '../../support/code-blocks.ts';
import { componentPath, needs } from '../../support/components.ts';
import { dataFolder, until } from '../../support/program.ts';
import { type Prometheus, startPrometheus } from '../../support/prometheus.ts';

const execute = promisify(execFile);
const bin = fileURLToPath(new URL('../../../bin/svc.js', import.meta.url));

t.setTimeout(840_000);

test('a key is replaced without a gap', needs('prometheus 3.5.3', 'promtool 3.5.3'), async (t) => {
  const world = await startCliWorld(t);
  const login = await world.svc(['login', '--link', '-'], { input: world.demo.signInUrl ?? '' });
  t.equal(login.code, 0, login.stderr);
  await writeReadings(world, [{ at: Math.floor(Date.now() / 1000), memory: 1e9, index: 0 }]);
  const folder = dataFolder(t);
  const file = join(folder, 'vm-monitoring.key');
  const { name: old, secret } = await createKey(world);
  writeFileSync(file, `${secret}\n`, { mode: 0o600 });
  const requests = await startRecorder(t);
  const server = await startPrometheus({
    program: componentPath('prometheus 3.5.3'),
    folder,
    config: configurationFor(world, file, requests.url),
  });
  t.teardown(() => server.kill());
  const currentFile = () => /credentials_file: (\S+)/.exec(configured(folder))?.[1] ?? '';

  await t.test(
    'the commands of the page replace the key, and the old key ends at once',
    async (t) => {
      await requests.come(secret, 5);
      await rotate(world, { folder, key: old, pid: server.pid });
      await until('Prometheus has read its configuration', () => reloads(server) > 1 || undefined);
      const current = readFileSync(currentFile(), 'utf8').trim();
      t.not(current, secret);
      await requests.come(current, 3);
      t.equal((await world.svc(['keys', 'revoke', old])).code, 0);
      await requests.come(current, 5);
      const refused = requests.all.filter(({ status }) => status !== 200);
      t.same(refused, [], 'no scrape and no discovery was rejected');
      await assertNeverStale(t, server);
    },
  );

  await t.test('new content of the same file is not read for a target', async (t) => {
    const name = await successorOf(world, old);
    const { secret: next } = await createKey(world);
    writeFileSync(`${currentFile()}.next`, next);
    // Atomically: half a file would be rejected, too.
    renameSync(`${currentFile()}.next`, currentFile());
    await until(
      'discovery reads it',
      () => requests.all.some(({ key, isDiscovery }) => isDiscovery && key === next) || undefined,
    );
    t.equal((await world.svc(['keys', 'revoke', name])).code, 0);
    const from = requests.all.length;
    const since = (of: 'discovery' | 'target') =>
      requests.all.slice(from).filter(({ isDiscovery }) => isDiscovery === (of === 'discovery'));
    await until('a target is rejected', () => since('target').length > 2 || undefined);
    process.kill(server.pid, 'SIGHUP');
    await until('Prometheus has read its configuration', () => reloads(server) > 2 || undefined);
    const count = since('target').length;
    await until('more scrapes', () => since('target').length > count + 2 || undefined);
    await until('more discoveries', () => since('discovery').length > 2 || undefined);
    t.same(
      new Set(since('target').map(({ status }) => status)),
      new Set([401]),
      'a reload does not read it either',
    );
    t.same(new Set(since('discovery').map(({ status }) => status)), new Set([200]));
  });
});

interface Recorded {
  /** True if it requests the targets; otherwise it scrapes one. */
  readonly isDiscovery: boolean;
  /** The key in the request. */
  readonly key: string;
  readonly status: number;
}

/** A proxy between Prometheus and the service, which records each request and its status. */
async function startRecorder(t: Test) {
  const all: Recorded[] = [];
  const server = createServer(async ({ url = '', headers }, response) => {
    const { authorization = '', accept = '' } = headers;
    try {
      const answer = await fetch(url, { headers: { authorization, accept } });
      const body = Buffer.from(await answer.arrayBuffer());
      const isDiscovery = new URL(url).pathname.endsWith('/scrape-targets');
      all.push({ isDiscovery, key: authorization.replace('Bearer ', ''), status: answer.status });
      const type = answer.headers.get('content-type') ?? '';
      response.writeHead(answer.status, { 'content-type': type }).end(body);
    } catch {
      response.destroy();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Resolves after this many more scrapes and one discovery with the key. */
  const come = async (key: string, scrapes: number): Promise<void> => {
    const from = all.length;
    const since = (of: boolean) =>
      all.slice(from).filter((one) => one.key === key && one.isDiscovery === of).length;
    await until('Prometheus scrapes', () => since(false) >= scrapes || undefined);
    await until('Prometheus discovers', () => since(true) >= 1 || undefined);
  };
  return { all, come, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

interface CreatedKey {
  /** Full name. */
  readonly name: string;
  readonly secret: string;
}

const ACCOUNT = ['--name', 'Prometheus', '--template', 'metrics-scraper'];

/** Creates a service account and a read-only key for it. */
async function createKey({ svc }: CliWorld): Promise<CreatedKey> {
  const account = await svc(['service-accounts', 'create', ...ACCOUNT, '--json']);
  const of = ['--service-account', account.json.name];
  const capability = ['--capability', 'monitoring.read'];
  const { json } = await svc(['keys', 'create', ...of, '--name', 'p', ...capability, '--json']);
  return { name: json.key.name, secret: json.secret };
}

/** Full name of the key that replaced another. */
async function successorOf({ svc }: CliWorld, key: string): Promise<string> {
  const { stdout } = await svc(['keys', 'show', key]);
  return /^successor +(\S+)$/m.exec(stdout)?.[1] ?? '';
}

interface Rotated {
  readonly folder: string;
  /** Full name. */
  readonly key: string;
  /** Process id of Prometheus. */
  readonly pid: number;
}

/** Runs the page's commands with the program itself, as the signed-in owner. */
async function rotate(world: CliWorld, { folder, key, pid }: Rotated): Promise<void> {
  const pasted = codeBlock('reading.md', '# Rotate the key of Prometheus')
    .replace('/etc/prometheus', folder)
    .replace('svc keys', `"${process.execPath}" "${bin}" keys`)
    .replace('promtool', `"${componentPath('promtool 3.5.3')}"`)
    .replace('systemctl reload prometheus', `kill -HUP ${pid}`);
  await execute('bash', ['-euc', pasted], {
    env: { PATH: process.env.PATH, HOME: world.homeOf('owner'), SVC_ENDPOINT: world.endpoint, key },
    timeout: 600_000,
  });
}

function configured(folder: string): string {
  return readFileSync(join(folder, 'prometheus.yml'), 'utf8');
}

/** Number of times it has read its configuration. */
function reloads(server: Prometheus): number {
  return server.log().split('Completed loading of configuration file').length - 1;
}

/** Since the first scrape, `up` never ended: a removed target ends its series. */
async function assertNeverStale(t: Test, server: Prometheus): Promise<void> {
  const { data: scraped } = (await server.post('query', { query: 'up[10m]' })) as Answered;
  const times = (scraped.result[0]?.values ?? []).map(([seconds]) => seconds);
  const [start = 0, end = 0] = [times[0], times.at(-1)];
  const range = { query: 'up', start: String(start), end: String(end), step: '0.1' };
  const { data } = (await server.post('query_range', range)) as Answered;
  t.equal(data.result.length, 1);
  const steps = Math.floor((end - start) / 0.1 + 1e-6) + 1;
  t.ok(times.length > 10 && data.result[0]?.values.length === steps, 'no scrape was missed');
}

interface Answered {
  readonly data: { readonly result: readonly { readonly values: readonly [number, string][] }[] };
}

/** The guide's configuration with short intervals, through a proxy. */
function configurationFor({ endpoint }: CliWorld, file: string, proxy: string): string {
  return codeBlock('reading.md', '# prometheus.yml')
    .replaceAll('https://monitoring.example.com', endpoint)
    .replaceAll('/etc/prometheus/vm-monitoring.key', file)
    .replace('scrape_interval: 60s', 'scrape_interval: 500ms')
    .replace('scrape_timeout: 10s', 'scrape_timeout: 500ms')
    .replace('refresh_interval: 60s', `refresh_interval: 1s\n        proxy_url: ${proxy}`)
    .replace('honor_timestamps', `proxy_url: ${proxy}\n    honor_timestamps`);
}
