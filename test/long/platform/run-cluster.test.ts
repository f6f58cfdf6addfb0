/**
 * `npm run cluster` as a newcomer runs it: three servers and three members. Data written through
 * one member is read through another, a killed member is named, and Ctrl-C stops everything. Its
 * ports are fixed, so it runs in a network namespace and may run beside other clusters.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Test, test } from 'tap';
import { componentPath, needs } from '../../support/components.ts';
import { inNetworkOf, ownNetwork } from '../../support/places.ts';
import { type Demo, dataFolder, until } from '../../support/program.ts';

const newest = 'nats-server 2.15.1';
const run = promisify(execFile);
const script = fileURLToPath(new URL('../../../scripts/cluster.ts', import.meta.url));

function startCluster(t: Test, folder: string, flags: readonly string[] = []) {
  const [program = '', ...network] = ownNetwork;
  const command = [process.execPath, script, '--in', folder, ...flags];
  const args = [...command, '--nats-server', componentPath(newest)];
  const child = spawn(program, [...network, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  // A test that times out has no teardown, so its processes are also ended at exit.
  process.once('exit', () => child.kill('SIGINT'));
  const exited = once(child, 'exit');
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const stop = async (): Promise<unknown> => {
    child.kill('SIGINT');
    return (await exited)[0];
  };
  t.teardown(stop);
  const says = (pattern: RegExp): Promise<RegExpMatchArray> =>
    until(String(pattern), () => {
      if (child.exitCode !== null) throw new Error(`It exited:\n${text}`);
      return text.match(pattern) ?? undefined;
    }).catch((error: Error) => {
      throw new Error(`${error.message}, but:\n${text.slice(-3000)}`);
    });
  /** Output of `curl` in its network, with the status on a last line. */
  const curl = async (...words: readonly string[]): Promise<string> => {
    const inside = [
      ...inNetworkOf(child.pid ?? 0),
      'curl',
      '--silent',
      '--write-out',
      '\\n%{http_code}',
    ];
    const [nsenter = '', ...rest] = [...inside, ...words];
    return (await run(nsenter, rest)).stdout;
  };
  const call = (port: number, key: string, method: string, request: object): Promise<string> =>
    curl(
      ...['--header', `authorization: Bearer ${key}`, '--header', 'content-type: application/json'],
      ...['--data', JSON.stringify({ projectName: 'projects/demo', ...request })],
      `http://127.0.0.1:${port}/svc.${method}`,
    );
  return { says, stop, call, curl, kill: () => child.kill('SIGKILL') };
}

const components = ['network-namespaces', 'curl', newest] as const;

test('a cluster runs from its start to Ctrl-C', needs(...components), async (t) => {
  const folder = dataFolder(t);
  const cluster = startCluster(t, folder);
  await cluster.says(/Ctrl-C stops everything/);
  for (const number of [1, 2, 3]) await cluster.says(new RegExp(`member-${number} is ready`));
  await cluster.says(/to sign in, open this link, which works once: http:\S+#svc_link_/);
  const file = join(folder, 'data', 'cluster', 'member-1', 'demo.json');
  const demo: Demo = JSON.parse(readFileSync(file, 'utf8'));
  const values = [{ series: 'svc_vm_memory_total_bytes', value: 1e9 }];
  const rows = [{ vmName: 'vm-a', observedUnixMs: String(Date.now()), vcpus: 2, values }];
  const write = 'ingest.v1.IngestService/WriteSamples';
  t.match(await cluster.call(8081, demo.collectorKey, write, { rows }), /\n200$/);
  await until('another member has it', async () => {
    const method = 'monitoring.v1.MonitoringService/ListVMMonitoring';
    return (await cluster.call(8082, demo.apiKey, method, {})).includes('vm-a') || undefined;
  });
  const [, pid] = await cluster.says(/member-3: \S+ \(process (\d+)\)/);
  process.kill(Number(pid), 'SIGKILL');
  await cluster.says(/member-3 has ended \(SIGKILL\): ".* member 3 .*" starts it again/);
  await until('the others report it', async () => {
    const text = await cluster.curl('http://127.0.0.1:9464/readyz');
    return text.includes(`(process ${pid}) since`) || undefined;
  });
  t.equal(await cluster.stop(), 0);
});

test('a cluster on other ports ends even if it is killed', needs(...components), async (t) => {
  const folder = dataFolder(t);
  const cluster = startCluster(t, folder, ['--port-base', '20000']);
  await cluster.says(/member-3: http:\/\/127\.0\.0\.1:20002 /);
  for (const number of [1, 2, 3]) await cluster.says(new RegExp(`member-${number} is ready`));
  t.ok(runningIn(folder).length > 6, 'three servers, three members, and what runs them');
  cluster.kill();
  await until('all have exited', () => runningIn(folder).length === 0 || undefined);
});

/** Processes whose working folder is this one. An exited process has none. */
function runningIn(folder: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      return false;
    }
  });
}
