/**
 * Requests on the admin socket: bounded, JSON objects only, and only from the service's own user.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'tap';
import { startAdmin } from '../support/operator-commands.ts';

test('requests on the socket are bounded, and must be JSON objects', async (t) => {
  const { folder } = await startAdmin(t);
  const post = (body: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const path = '/v1/projects/list';
      const requested = request({ socketPath: join(folder, 'admin.sock'), path, method: 'POST' });
      requested.on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      requested.on('error', reject);
      requested.end(body);
    });
  t.equal(await post(''), 200);
  t.equal(await post('{}'), 200);
  for (const bad of ['[]', '"x"', '{', `{"a":"${'x'.repeat(70_000)}"}`]) {
    t.equal(await post(bad), 400, bad.slice(0, 10));
  }
});

test('another user gets an error that names who may connect', async (t) => {
  const { folder } = await startAdmin(t);
  chmodSync(folder, 0);
  t.teardown(() => chmodSync(folder, 0o700));
  const client = new URL('../../src/admin/admin-client.ts', import.meta.url).href;
  // In a process of its own, because root may do everything.
  const script = `
    const { askService } = await import(${JSON.stringify(client)});
    if (process.getuid() === 0) process.setuid(65534);
    await askService(${JSON.stringify(folder)}, '/v1/projects/list').catch((error) => {
      process.stdout.write(error.message);
    });`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 600_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.match(
    said,
    /^Only root, and the user that the service runs as, may send commands to the service on /,
  );
});
