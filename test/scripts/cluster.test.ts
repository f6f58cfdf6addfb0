/**
 * `npm run cluster` where it cannot start: each refusal names the remedy, and nothing starts. A
 * whole cluster needs fixed ports; its test is test/long/platform/run-cluster.test.ts.
 */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { needs } from '../support/components.ts';
import { ownNetwork } from '../support/places.ts';
import { dataFolder } from '../support/program.ts';

const script = fileURLToPath(new URL('../../scripts/cluster.ts', import.meta.url));

function execute([program = '', ...args]: readonly string[]) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    // Time limit, ms. It stops a cluster that starts by mistake.
    const options = { timeout: 600_000 };
    const called = execFile(program, args, options, (_, stdout, stderr) =>
      resolve({ code: called.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const run = (...args: string[]) => execute([process.execPath, script, ...args]);

test('--help prints the usage', async (t) => {
  t.match(await run('--help'), { code: 0, stdout: /^Usage: npm run cluster .*--nats-server/ });
});

test('wrong arguments are reported before anything starts', async (t) => {
  const folder = dataFolder(t);
  t.match(await run('--in', folder, '--nats-server', `${folder}/absent`), {
    code: 1,
    stderr: /absent is not a program here. Install nats-server 2\.10\.27 or newer/,
  });
  t.match(await run('--in', folder, '--port-base', '65530'), {
    code: 1,
    stderr: /--port-base is 65530. Name a port from 1024 to 65524/,
  });
  t.match(await run('--members', '5'), { code: 1, stderr: /Unknown option '--members'/ });
  t.same(readdirSync(folder), [], 'nothing was created');
});

/** Listens on the last port of the cluster, then runs a script of Node with that port taken. */
const BESIDE = `require('node:net').createServer().listen(9466, '127.0.0.1', () =>
  require('node:child_process').spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit' })
    .once('exit', process.exit))`;

test('a taken port is reported, and nothing starts', needs('network-namespaces'), async (t) => {
  const folder = dataFolder(t);
  // Any program will do, because no server is started.
  const command = [script, '--in', folder, '--nats-server', process.execPath];
  const ended = await execute([...ownNetwork, process.execPath, '-e', BESIDE, ...command]);
  t.match(ended, {
    code: 1,
    stderr: /^npm run cluster: Port 9466 of 127\.0\.0\.1 is taken. Stop the program that uses it/,
  });
  t.same(readdirSync(folder), [], 'nothing was created');
});
