/**
 * A start that waits for NATS: it answers probes, logs its reason every few seconds, and stops
 * cleanly. For a start that continues once the server is available, see
 * test/long/service/start-wait.test.ts.
 */
import { test } from 'tap';
import { reservePort } from '../support/places.ts';
import { until } from '../support/program.ts';
import { startWaiting } from '../support/start-waiting.ts';

const PASSWORD = 'hunter2-secret';

test('DUR-24: a start without NATS answers probes and stops cleanly', async (t) => {
  const natsPort = await reservePort();
  const url = `nats://svc:${PASSWORD}@127.0.0.1:${natsPort}`;
  const { get, stop, log, metricsPort } = await startWaiting(t, url);
  const alive = await until('it answers', () => get('/healthz'));
  t.same(alive, { status: 200, text: 'alive\n' });
  const ready = await get('/readyz');
  t.equal(ready?.status, 503);
  const { parts, ...states } = JSON.parse(ready?.text ?? '');
  t.same(states, { ready: false, serving: false });
  t.match(
    parts.filter(({ state }: { readonly state: string }) => state === 'notReady'),
    [{ name: 'demo' }, { name: 'start' }],
  );
  t.notMatch(ready?.text, String(natsPort), 'the address of NATS is hidden from strangers');
  const full = await get('/readyz', metricsPort);
  t.equal(full?.status, 503);
  t.match(full?.text, `Waiting for NATS, retrying every second: Cannot connect to nats://127`);
  const call = await get('/svc.monitoring.v1.MonitoringService/ListVMMonitoring');
  t.match(call, {
    status: 503,
    text: /"The service is starting and waits for its stream".*"NOT_READY"/,
  });
  const sentences = () =>
    log().match(/"msg":"Waiting for NATS, retrying[^"]*connection refused/g) ?? [];
  await until('the sentence again', () => (sentences().length > 1 ? true : undefined));
  t.equal(await stop(), 0);
  t.notMatch(log() + (full?.text ?? ''), PASSWORD, 'the password in the address is never shown');
});
