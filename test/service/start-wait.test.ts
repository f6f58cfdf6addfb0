/**
 * A start that waits for NATS: probes answered meanwhile, a sentence every few seconds, a clean stop,
 * and the service once the server is there. What waiting does not cure ends at once.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { componentPath, needs } from '../support/components.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { reservePort } from '../support/places.ts';
import { dataFolder, until } from '../support/program.ts';

const program = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));
const newest = 'nats-server 2.15.1';
const PASSWORD = 'hunter2-secret';

async function startWaiting(t: Test, url: string) {
  const port = await reservePort();
  const metricsPort = await reservePort();
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      ...{ PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
      ...{ SVC_DATA: dataFolder(t), SVC_COLLECT: 'none', SVC_DEMO: 'on', SVC_NATS_URL: url },
      ...{ SVC_LISTEN: `127.0.0.1:${port}`, SVC_METRICS_LISTEN: `127.0.0.1:${metricsPort}` },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (text += chunk));
  const exited = once(child, 'exit');
  process.once('exit', () => child.kill('SIGKILL'));
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  });
  const get = async (path: string, at = port) => {
    const answer = await fetch(`http://127.0.0.1:${at}${path}`).catch(() => undefined);
    return answer && { status: answer.status, text: await answer.text() };
  };
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
    return child.exitCode;
  };
  return { get, stop, metricsPort, log: () => text };
}

t.test('DUR-24: a start without NATS answers probes and stops cleanly', async (t) => {
  const natsPort = await reservePort();
  const url = `nats://svc:${PASSWORD}@127.0.0.1:${natsPort}`;
  const { get, stop, log, metricsPort } = await startWaiting(t, url);
  const alive = await until('it answers', () => get('/healthz'));
  t.same(alive, { status: 200, text: 'alive\n' });
  const ready = await get('/readyz');
  t.equal(ready?.status, 503);
  t.match(JSON.parse(ready?.text ?? ''), { ready: false, parts: [{ name: 'start' }] });
  t.notMatch(ready?.text, String(natsPort), 'the address of NATS is not shown to strangers');
  const full = await get('/readyz', metricsPort);
  t.equal(full?.status, 503);
  t.match(full?.text, `Waiting for NATS, trying again every second: Cannot connect to nats://127`);
  const call = await get('/svc.monitoring.v1.MonitoringService/ListVMMonitoring');
  t.match(call, {
    status: 503,
    text: /"The service is starting and waits for its stream".*"NOT_READY"/,
  });
  const sentences = () =>
    log().match(/"msg":"Waiting for NATS, trying[^"]*connection refused/g) ?? [];
  await until('the sentence again', () => (sentences().length > 1 ? true : undefined));
  t.equal(await stop(), 0);
  t.notMatch(log() + (full?.text ?? ''), PASSWORD, 'the password of the address is nowhere');
});

t.test('DUR-24: a start continues once NATS is available', needs(newest), async (t) => {
  const folder = dataFolder(t);
  const server = await startNatsServer({ program: componentPath(newest), folder });
  t.teardown(() => server.kill());
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
