/**
 * `npm run cluster` where it cannot start: each refusal says what would do, and starts nothing. A whole
 * cluster needs fixed ports, and is in test/long/platform/run-cluster.test.ts.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { dataFolder } from '../support/program.ts';

const script = fileURLToPath(new URL('../../scripts/cluster.ts', import.meta.url));

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    // One that starts all the same is stopped.
    const options = { timeout: 20_000 };
    const called = execFile(process.execPath, [script, ...args], options, (_, stdout, stderr) =>
      resolve({ code: called.exitCode ?? -1, stdout, stderr }),
    );
  });
}

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
  const server = createServer().listen(9466, '127.0.0.1');
  // Where another program has the port, that is what is found.
  await Promise.race([once(server, 'listening'), once(server, 'error')]).catch(() => {});
  t.teardown(() => server.close());
  // Any program does: no server is started.
  t.match(await run('--in', folder, '--nats-server', process.execPath), {
    code: 1,
    stderr: /^npm run cluster: Port \d+ of 127\.0\.0\.1 is taken: stop the program that has it/,
  });
  t.same(readdirSync(folder), [], 'nothing was made');
});
