/**
 * `npm run cluster` where it cannot start: each refusal says what would do, and starts nothing. A whole
 * cluster needs fixed ports, and is in test/long/platform/run-cluster.test.ts.
 */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { needs } from '../support/components.ts';
import { ownNetwork } from '../support/places.ts';
import { dataFolder } from '../support/program.ts';

const script = fileURLToPath(new URL('../../scripts/cluster.ts', import.meta.url));

function execute([program = '', ...args]: readonly string[]) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    // One that starts all the same is stopped.
    const options = { timeout: 120_000 };
    const called = execFile(program, args, options, (_, stdout, stderr) =>
      resolve({ code: called.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const run = (...args: string[]) => execute([process.execPath, script, ...args]);

t.test('help says how it is called', async (t) => {
  t.match(await run('--help'), { code: 0, stdout: /^Usage: npm run cluster .*--nats-server/ });
});

t.test('what is wrong is said before anything starts', async (t) => {
  const folder = dataFolder(t);
  t.match(await run('--in', folder, '--nats-server', `${folder}/absent`), {
    code: 1,
    stderr: /absent is not a program here: install nats-server 2\.10\.27 or newer/,
  });
  t.match(await run('--members', '5'), { code: 1, stderr: /Unknown option '--members'/ });
  t.same(readdirSync(folder), [], 'nothing was made');
});

/** Listens on the last port of the cluster, then runs a script of Node with that port taken. */
const BESIDE = `require('node:net').createServer().listen(9466, '127.0.0.1', () =>
  require('node:child_process').spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit' })
    .once('exit', process.exit))`;

t.test('a taken port is named, and nothing starts', needs('network-namespaces'), async (t) => {
  const folder = dataFolder(t);
  // Any program does: no server is started.
  const command = [script, '--in', folder, '--nats-server', process.execPath];
  const ended = await execute([...ownNetwork, process.execPath, '-e', BESIDE, ...command]);
  t.match(ended, {
    code: 1,
    stderr: /^npm run cluster: Port 9466 of 127\.0\.0\.1 is taken: stop the program that has it/,
  });
  t.same(readdirSync(folder), [], 'nothing was made');
});
