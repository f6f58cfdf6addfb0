/**
 * Retries of client commands: they wait as long as the service asks, all attempts of a change share
 * one request id, and an uncertain change is reported.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'tap';
import { systemClock } from '../../streams/platform/clock.ts';
import { joinDemoWorld } from '../support/cli-against-service.ts';
import { startGateway } from '../support/faulty-gateway.ts';

/** A clock on which waiting takes no time; `waits` records the delays, ms. */
function impatientClock() {
  const waits: number[] = [];
  const clock = {
    ...systemClock,
    wakeAfter(delayMs: number, wake: () => void) {
      waits.push(delayMs);
      const turn = setImmediate(wake);
      return () => clearImmediate(turn);
    },
  };
  return { clock, waits };
}

test('retries of client commands', async (t) => {
  const world = await joinDemoWorld(t, 'retries');
  const withKey = { SVC_API_KEY: world.demo.apiKey, SVC_PROJECT: 'retries' };
  const gateway = await startGateway(t, world.endpoint);
  const env = { ...withKey, SVC_ENDPOINT: gateway.url };
  const sent = (method: string) => gateway.requests.filter(({ path }) => path.endsWith(method));
  const busy = (status: number, retryAfter?: string) => ({
    kind: 'answer' as const,
    status,
    path: 'svc.',
    ...(retryAfter && { headers: { 'retry-after': retryAfter } }),
  });

  await t.test('a read waits for Retry-After and is then retried', async (t) => {
    const { clock, waits } = impatientClock();
    gateway.faults.push(busy(429, '2'), busy(503, '3'));
    const ran = await world.svc(['monitoring', 'vms'], { env, client: { clock } });
    t.equal(ran.code, 0, ran.stderr);
    t.strictSame(waits, [2_000, 3_000]);
    t.match(ran.stderr, /retrying the same request/);
  });

  await t.test('too long or too many waits are reported instead', async (t) => {
    const { clock, waits } = impatientClock();
    const body = '{"code":"resource_exhausted","message":"Too much"}';
    const headers = { 'content-type': 'application/json', 'retry-after': '3600' };
    gateway.faults.push({ ...busy(429), headers, body });
    const long = await world.svc(['monitoring', 'vms'], { env, client: { clock } });
    t.match(long, { code: 1, stderr: /resource_exhausted: Too much\n +retryAfterSeconds: 3600/ });
    t.strictSame(waits, []);
    gateway.faults.push(...Array.from({ length: 4 }, () => busy(503, '1')));
    const often = await world.svc(['monitoring', 'vms'], { env, client: { clock } });
    t.match(often, { code: 5 });
    t.equal(waits.length, 3, 'four attempts in total');
    t.equal(gateway.faults.length, 0);
  });

  await t.test('a change whose response is lost is retried with its request id', async (t) => {
    const { clock } = impatientClock();
    gateway.faults.push({ kind: 'lose answer', path: 'SaveAlertRule' });
    const save = [
      'alerts',
      'save',
      '--name',
      'CPU',
      '--metric',
      'cpu_utilization_pct',
      '--operator',
    ];
    const args = [...save, 'GREATER_THAN', '--threshold', '90', '--severity', 'INFO', '--all-vms'];
    const ran = await world.svc(args, { env, client: { clock } });
    t.match(ran.stdout, /^version +1$/m, ran.stderr);
    const [first, second, third] = sent('SaveAlertRule');
    t.equal(third, undefined);
    t.ok(first && second && first.body === second.body, 'the identical request');
    const rules = await world.svc(['alerts', 'list', '--json'], { env });
    t.equal(rules.json.rules.length, 1, 'and nothing was applied twice');
  });

  await t.test('an uncertain change is reported with the request id for its resend', async (t) => {
    const { clock } = impatientClock();
    const silence = { kind: 'silence' as const, path: 'SaveAlertRule' };
    gateway.faults.push(...Array.from({ length: 4 }, () => silence));
    const args = ['alerts', 'save', '--name', 'B', '--metric', 'cpu_utilization_pct', '--operator'];
    const rest = ['LESS_THAN', '--threshold', '1', '--severity', 'INFO', '--all-vms'];
    const ran = await world.svc([...args, ...rest, '--timeout', '1'], { env, client: { clock } });
    t.match(ran, {
      code: 5,
      stderr:
        /To send the same request again, add:\n +--id \S+ --request-id \S+ --expected-version 0/,
    });
    const flags = /--id \S+ --request-id \S+ --expected-version 0/.exec(ran.stderr)?.[0] ?? '';
    const again = await world.svc([...args, ...rest, ...flags.split(' ')], { env });
    t.match(again, { code: 0, stdout: /^version +1$/m });
  });

  await t.test('a change interrupted by a stopping service is reported as uncertain', async (t) => {
    const { clock } = impatientClock();
    const server = createServer((socket) => {
      socket.once('data', () => {
        server.close();
        socket.destroy();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const there = { ...withKey, SVC_ENDPOINT: `http://127.0.0.1:${port}` };
    const args = ['alerts', 'save', '--name', 'C', '--metric', 'load_1m', '--operator', '>'];
    const rest = ['--threshold', '1', '--severity', 'INFO', '--all-vms'];
    const ran = await world.svc([...args, ...rest], { env: there, client: { clock } });
    t.match(ran, { code: 5, stderr: /ECONNREFUSED\)\n {2}To send the same request again, add:/ });
    const gone = await world.svc([...args, ...rest], { env: there, client: { clock } });
    t.match(gone, { code: 5, stderr: /ECONNREFUSED\)\n {2}Nothing was changed\. Check that/ });
  });
});
