/** The order of a start with the demo: a script reads demo.json as soon as `/readyz` is 200. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { createService } from '../../src/embed/index.ts';
import { dataFolder, reservePort } from '../support/places.ts';

test('/readyz is not ready before demo.json exists', async (t) => {
  const data = dataFolder(t);
  const port = await reservePort();
  const starting = createService({
    settings: {
      data,
      listen: `127.0.0.1:${port}`,
      metricsListen: 'off',
      demo: true,
      collect: ['none'],
    },
  });
  t.teardown(async () => (await starting).stop());
  const ready = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    await answer?.arrayBuffer();
    return answer?.status === 200;
  };
  while (!(await ready())) await new Promise<void>((resolve) => setImmediate(resolve));
  t.ok(existsSync(join(data, 'demo.json')));
  const { parts } = (await starting).readiness();
  t.notOk(parts.some(({ name }) => name === 'demo'));
});
