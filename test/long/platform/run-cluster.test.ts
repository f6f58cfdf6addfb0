/**
 * `npm run cluster` as a newcomer runs it: three servers and three members; what is written through one
 * member is read through another, one that is killed is named, and Ctrl-C stops all of it. It needs its
 * fixed ports: end a cluster of your own first.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { componentPath, needs } from '../../support/components.ts';
import { type Demo, dataFolder, until } from '../../support/program.ts';

const newest = 'nats-server 2.15.1';
const script = fileURLToPath(new URL('../../../scripts/cluster.ts', import.meta.url));

function startCluster(t: Test, folder: string) {
  const args = [script, '--in', folder, '--nats-server', componentPath(newest)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
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
      if (child.exitCode !== null) throw new Error(`It has ended:\n${text}`);
      return text.match(pattern) ?? undefined;
    }).catch((error: Error) => {
      throw new Error(`${error.message}, but:\n${text.slice(-3000)}`);
    });
  return { says, stop, exited, kill: () => child.kill('SIGKILL') };
}

async function call(port: number, key: string, method: string, request: object) {
  const answer = await fetch(`http://127.0.0.1:${port}/svc.${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ projectName: 'projects/demo', ...request }),
  });
  return { status: answer.status, text: await answer.text() };
}

t.test('a cluster from its start to Ctrl-C', needs(newest), async (t) => {
  const folder = dataFolder(t);
  const cluster = startCluster(t, folder);
  await cluster.says(/Ctrl-C stops all of it/);
  for (const number of [1, 2, 3]) await cluster.says(new RegExp(`member-${number} is ready`));
  await cluster.says(/to sign in, open this link, which works once: http:\S+#svc_link_/);
  const file = join(folder, 'data', 'cluster', 'member-1', 'demo.json');
  const demo: Demo = JSON.parse(readFileSync(file, 'utf8'));
  const values = [{ series: 'svc_vm_memory_total_bytes', value: 1e9 }];
  const rows = [{ vmName: 'vm-a', observedUnixMs: String(Date.now()), vcpus: 2, values }];
  const written = await call(8081, demo.collectorKey, 'ingest.v1.IngestService/WriteSamples', {
    rows,
  });
  t.equal(written.status, 200, written.text);
  await until('another member has it', async () => {
    const method = 'monitoring.v1.MonitoringService/ListVMMonitoring';
    return (await call(8082, demo.apiKey, method, {})).text.includes('vm-a') || undefined;
  });
  const [, pid] = await cluster.says(/member-3: \S+ \(process (\d+)\)/);
  process.kill(Number(pid), 'SIGKILL');
  await cluster.says(/member-3 has ended \(SIGKILL\): ".* member 3 .*" starts it again/);
  await until('the others say so', async () => {
    const text = await (await fetch('http://127.0.0.1:9464/readyz')).text();
    return text.includes(`(process ${pid}) since`) || undefined;
  });
  t.equal(await cluster.stop(), 0);
});

t.test('a cluster whose own process is killed ends all the same', needs(newest), async (t) => {
  const cluster = startCluster(t, dataFolder(t));
  await cluster.says(/Ctrl-C stops all of it/);
  const pids: number[] = [];
  for (const number of [1, 2, 3]) {
    const [, pid] = await cluster.says(new RegExp(`member-${number}: \\S+ \\(process (\\d+)\\)`));
    pids.push(Number(pid));
  }
  cluster.kill();
  await until('its members have ended', () => !pids.some(isRunning) || undefined, 60);
  await until('its servers have ended', () => isFree(4222), 60);
});

/** Of a process that has ended, and that nobody has asked for its status, the entry is left. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function isFree(port: number): Promise<true | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  const listens = once(server, 'listening').then(() => true as const);
  const isTaken = once(server, 'error').then(() => undefined);
  const answer = await Promise.race([listens, isTaken]).catch(() => undefined);
  server.close();
  return answer;
}
