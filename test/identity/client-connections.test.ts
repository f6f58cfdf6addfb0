/**
 * Behaviour that only a real connection shows: a client that disconnects, and one that sends more
 * than is read.
 */
import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { test } from 'tap';
import {
  type RpcWorld,
  START_SECONDS,
  startRpcWorld,
  VM,
  withThreads,
} from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';

const query = {
  name: VM,
  metricIds: ['cpu_utilization_pct'],
  startTimeUnix: String(START_SECONDS - 3600),
  endTimeUnix: String(START_SECONDS),
  stepSeconds: 60,
};

/** An open POST to QueryVMMonitoring; the test sends its body. */
async function post(world: RpcWorld, headers: object = {}): Promise<ClientRequest> {
  const baseUrl = await world.app.listen({ host: '127.0.0.1', port: 0 });
  return request(`${baseUrl}/svc.monitoring.v1.MonitoringService/QueryVMMonitoring`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.keys.read}`,
      'content-type': 'application/json',
      ...headers,
    },
  });
}

test('A client that disconnects ends its read', async (t) => {
  const begun = Promise.withResolvers<AbortSignal>();
  const world = await startRpcWorld(t, (deps) =>
    withThreads(deps, (signal) => {
      begun.resolve(signal);
      return new Promise(() => {});
    }),
  );
  await world.write([{ observedUnixMs: START_MS }]);
  const asking = await post(world);
  asking.end(JSON.stringify(query));
  const signal = await begun.promise;
  t.notOk(signal.aborted);
  const failed = once(asking, 'error');
  asking.destroy(new Error('hung up'));
  await failed;
  if (!signal.aborted) await once(signal, 'abort');
  t.ok(signal.aborted);
  t.same(world.lines, [], 'and is not logged as a fault');
});

test('API-26: an endless body is answered and cut off at 1 MiB', async (t) => {
  const world = await startRpcWorld(t);
  const asking = await post(world);
  const answered = once(asking, 'response');
  // The connection closes while data is still being sent.
  asking.on('error', () => {});
  for (let mib = 0; mib < 4; mib++) asking.write('x'.repeat(2 ** 20));
  const [response] = await answered;
  t.equal(response.statusCode, 400);
  t.equal(response.headers.connection, 'close');
  const closed = new Promise<void>((resolve) => response.socket.once('close', () => resolve()));
  response.resume();
  await closed;
  t.pass('nothing of it is held open');
});

test('A body declared larger than 1 MiB is answered before it is sent', async (t) => {
  const world = await startRpcWorld(t);
  const asking = await post(world, { 'content-length': 2 ** 21, connection: 'close' });
  const answered = once(asking, 'response');
  asking.write('x');
  const [response] = await answered;
  t.equal(response.statusCode, 400);
  asking.on('error', () => {});
  asking.destroy();
});
