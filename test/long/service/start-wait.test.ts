/** A start that waits for NATS continues once a real server is available. */
import { test } from 'tap';
import { needs } from '../../support/components.ts';
import { natsServerFor } from '../../support/nats-server.ts';
import { dataFolder, until } from '../../support/program.ts';
import { startWaiting } from '../../support/start-waiting.ts';

const newest = 'nats-server 2.15.1';

test('DUR-24: a start continues once NATS is available', needs(newest), async (t) => {
  const folder = dataFolder(t);
  const server = await natsServerFor(t, { folder });
  await server.kill();
  const { get, stop, log } = await startWaiting(t, server.url);
  await until('it waits', async () => ((await get('/readyz'))?.status === 503 ? true : undefined));
  await server.start();
  await until('it is ready', async () => {
    const answer = await get('/readyz');
    return answer?.status === 200 ? true : undefined;
  });
  t.notMatch((await get('/readyz'))?.text, '"start"');
  t.match(log(), /dashboard and API on|API on/);
  t.equal(await stop(), 0);
});
