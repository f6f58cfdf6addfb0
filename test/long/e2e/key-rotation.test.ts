/**
 * A key is replaced below a real Prometheus with the commands and the configuration of
 * docs/reading.md: nothing is missed, and the old key may end at once. What the page says of a file
 * with new content is tried, too: one that Prometheus reads again would make the commands simpler.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { type CliWorld, startCliWorld, writeReadings } from '../../support/cli-against-service.ts';
import { codeBlock } from '../../support/code-blocks.ts';
import { componentPath, needs } from '../../support/components.ts';
import { dataFolder, until } from '../../support/program.ts';
import { type Prometheus, startPrometheus } from '../../support/prometheus.ts';

const execute = promisify(execFile);
const bin = fileURLToPath(new URL('../../../bin/svc.js', import.meta.url));

t.setTimeout(90_000);

t.test(
  'A key is replaced without a gap',
  needs('prometheus 3.5.3', 'promtool 3.5.3'),
  async (t) => {
    const world = await startCliWorld(t);
    const login = await world.svc(['login', '--link', '-'], { input: world.demo.signInUrl ?? '' });
    t.equal(login.code, 0, login.stderr);
    await writeReadings(world, [{ at: Math.floor(Date.now() / 1000), memory: 1e9, index: 0 }]);
    const folder = dataFolder(t);
    const file = join(folder, 'vm-monitoring.key');
    const { name: old, secret } = await createKey(world);
    writeFileSync(file, `${secret}\n`, { mode: 0o600 });
    const server = await startPrometheus({
      ...{ program: componentPath('prometheus 3.5.3'), folder },
      config: configurationFor(world, file),
    });
    t.teardown(() => server.kill());
    // A test that times out has no teardown.
    process.once('exit', () => void server.kill());

    await t.test('with the commands of the page, and the old key ends at once', async (t) => {
      await scrapedAgain(server);
      await rotate(world, { folder, key: old, pid: server.pid });
      await until('it has read its configuration', () => reloaded(server) || undefined);
      await scrapedAgain(server);
      t.equal((await world.svc(['keys', 'revoke', old])).code, 0);
      await scrapedAgain(server);
      t.equal(await valueNow(server, 'min_over_time(up[5m])'), 1, 'no scrape was refused');
      t.equal(await failedDiscoveries(server), 0, 'nor was discovery');
      t.ok((await longestGapMs(server)) < 3_000, 'nor missed');
    });

    await t.test('new content of the same file is not read for a target', async (t) => {
      const [, current = ''] = /credentials_file: (\S+)/.exec(configured(folder)) ?? [];
      const name = await successorOf(world, old);
      writeFileSync(current, (await createKey(world)).secret);
      t.equal((await world.svc(['keys', 'revoke', name])).code, 0);
      await until('it is refused', async () => (await valueNow(server, 'up')) === 0 || undefined);
      process.kill(server.pid, 'SIGHUP');
      await scrapedAgain(server);
      t.equal(await valueNow(server, 'up'), 0, 'nor by a reload');
      t.equal(await failedDiscoveries(server), 0, 'discovery reads it');
    });
  },
);

interface CreatedKey {
  /** Full name. */
  readonly name: string;
  readonly secret: string;
}

const ACCOUNT = ['--name', 'Prometheus', '--template', 'metrics-scraper'];

/** A key of a service account of its own that reads. */
async function createKey({ svc }: CliWorld): Promise<CreatedKey> {
  const account = await svc(['service-accounts', 'create', ...ACCOUNT, '--json']);
  const of = ['--service-account', account.json.name];
  const capability = ['--capability', 'monitoring.read'];
  const { json } = await svc(['keys', 'create', ...of, '--name', 'p', ...capability, '--json']);
  return { name: json.key.name, secret: json.secret };
}

/** Full name of the key that has replaced another. */
async function successorOf({ svc }: CliWorld, key: string): Promise<string> {
  const { stdout } = await svc(['keys', 'show', key]);
  return /^successor +(\S+)$/m.exec(stdout)?.[1] ?? '';
}

interface Rotated {
  readonly folder: string;
  /** Full name. */
  readonly key: string;
  /** Of Prometheus. */
  readonly pid: number;
}

/** The page's commands, by the program itself, as the owner who is signed in. */
async function rotate(world: CliWorld, { folder, key, pid }: Rotated): Promise<void> {
  const pasted = codeBlock('reading.md', '# Rotate the key of Prometheus')
    .replace('/etc/prometheus', folder)
    .replace('svc keys', `"${process.execPath}" "${bin}" keys`)
    .replace('promtool', `"${componentPath('promtool 3.5.3')}"`)
    .replace('systemctl reload prometheus', `kill -HUP ${pid}`);
  await execute('bash', ['-euc', pasted], {
    env: { PATH: process.env.PATH, HOME: world.homeOf('owner'), SVC_ENDPOINT: world.endpoint, key },
    timeout: 20_000,
  });
}

function configured(folder: string): string {
  return readFileSync(join(folder, 'prometheus.yml'), 'utf8');
}

/** It has read a configuration after that of its start. */
function reloaded(server: Prometheus): boolean {
  return server.log().split('Completed loading of configuration file').length > 2;
}

/** Between two scrapes. */
async function longestGapMs(server: Prometheus): Promise<number> {
  const answer = (await server.post('query', { query: 'up[5m]' })) as {
    readonly data: { readonly result: readonly { readonly values: readonly [number, string][] }[] };
  };
  const times = (answer.data.result[0]?.values ?? []).map(([seconds]) => seconds * 1000);
  return Math.max(...times.slice(1).map((time, i) => time - (times[i] ?? 0)));
}

/** The guide's configuration, in a hurry. */
function configurationFor({ endpoint }: CliWorld, file: string): string {
  return codeBlock('reading.md', '# prometheus.yml')
    .replaceAll('https://monitoring.example.com', endpoint)
    .replaceAll('/etc/prometheus/vm-monitoring.key', file)
    .replace('scrape_interval: 60s', 'scrape_interval: 500ms')
    .replace('scrape_timeout: 10s', 'scrape_timeout: 500ms')
    .replace('refresh_interval: 60s', 'refresh_interval: 1s');
}

/** Resolves after some more scrapes and discoveries. */
async function scrapedAgain(server: Prometheus): Promise<void> {
  const count = async () => (await valueNow(server, 'count_over_time(up[5m])')) ?? 0;
  const before = await count();
  await until('it scrapes', async () => (await count()) >= before + 5 || undefined);
}

async function valueNow(server: Prometheus, query: string): Promise<number | undefined> {
  const answer = (await server.post('query', { query })) as {
    readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
  };
  const [first] = answer.data.result;
  return first && Number(first.value[1]);
}

/** As Prometheus counts them. */
async function failedDiscoveries({ origin }: Prometheus): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  const counts = [...text.matchAll(/^prometheus_sd_http_failures_total\S* (\d+)$/gm)];
  if (counts.length === 0) throw new Error('Prometheus does not count failed discoveries');
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
