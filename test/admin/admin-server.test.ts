/** Requests on the admin socket: bounded, and JSON objects only. */
import { request } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { startAdmin } from '../support/operator-commands.ts';

t.test('what is sent to the socket is bounded, and has to be a JSON object', async (t) => {
  const { folder } = await startAdmin(t);
  const post = (body: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const path = '/v1/projects/list';
      const asked = request({ socketPath: join(folder, 'admin.sock'), path, method: 'POST' });
      asked.on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on('error', reject);
      asked.end(body);
    });
  t.equal(await post(''), 200);
  t.equal(await post('{}'), 200);
  for (const bad of ['[]', '"x"', '{', `{"a":"${'x'.repeat(70_000)}"}`]) {
    t.equal(await post(bad), 400, bad.slice(0, 10));
  }
});
