/**
 * The TypeScript client against the whole service, through a gateway that loses answers, requests
 * waits, or answers instead of the service. Waits take no time here, and are recorded.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Test, test } from 'tap';
import {
  AlertRuleSpec_Operator,
  AlertRuleSpec_Severity,
  type ClientOptions,
  Code,
  ConnectError,
  createClient,
  metadataOf,
  newRequestId,
  onSteps,
  reasonOf,
  WatchIncidentsResponse_Kind,
} from '../../src/sdk/index.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { startCliWorld, writeReadings } from '../support/cli-against-service.ts';
import { type GatewayFault, startGateway } from '../support/faulty-gateway.ts';

const projectName = 'projects/demo';
const AT = Math.floor(Date.now() / 60_000) * 60;

const spec = {
  displayName: 'Memory',
  metricId: 'memory_used_bytes',
  threshold: 0,
  allVms: true,
  operator: AlertRuleSpec_Operator.LESS_THAN,
  severity: AlertRuleSpec_Severity.INFO,
};

function newRule() {
  const ids = { id: newRequestId(), requestId: newRequestId() };
  return { projectName, spec, expectedVersion: '0', ...ids };
}

/** A clock on which waits take no time, and are recorded. */
function impatientClock() {
  const waits: number[] = [];
  const clock: ClientOptions['clock'] = {
    ...systemClock,
    wakeAfter(delayMs, wake) {
      waits.push(delayMs);
      const turn = setImmediate(wake);
      return () => clearImmediate(turn);
    },
  };
  return { waits, clock };
}

type World = Awaited<ReturnType<typeof startCliWorld>>;

/** A client of the demo project through a gateway of its own. */
async function clientOf(t: Test, { endpoint, demo }: World, more: Partial<ClientOptions> = {}) {
  const gateway = await startGateway(t, endpoint);
  const { waits, clock } = impatientClock();
  const client = createClient({
    baseUrl: gateway.url,
    token: demo.apiKey,
    clock,
    random: seededRandom(1),
    ...(more as object),
  });
  const sent = (method: string) =>
    gateway.requests.filter(({ path }) => path.endsWith(`/${method}`)).map(({ body }) => body);
  return { ...client, gateway, waits, sent };
}

const busy = (retryAfter?: string): GatewayFault => ({
  kind: 'answer',
  status: 429,
  body: '{"code":"resource_exhausted"}',
  headers: {
    'content-type': 'application/json',
    ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
  },
});

const gone: GatewayFault = { kind: 'answer', status: 503, body: '<html>' };
const lost: GatewayFault = { kind: 'lose answer' };

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error) => Code[ConnectError.from(error).code] ?? '',
  );

test('the client of the whole service', async (t) => {
  const world = await startCliWorld(t);
  await writeReadings(world, [
    { at: AT - 30, memory: 1e9, index: 0 },
    { at: AT, memory: 2e9, index: 1 },
  ]);

  await t.test(
    'a change whose answers are lost is applied once, by the same request',
    async (t) => {
      const { alerts, gateway, sent, waits } = await clientOf(t, world);
      gateway.faults.push(lost, gone, busy('7'));
      const change = newRule();
      const { name, version } = await alerts.saveAlertRule(change);
      t.equal(version, 1n);
      const bodies = sent('SaveAlertRule');
      t.equal(bodies.length, 4);
      t.equal(new Set(bodies).size, 1);
      t.match(bodies[0], `"requestId":"${change.requestId}"`);
      t.match(bodies[0], '"threshold":0', 'a zero that is meant is sent');
      const [first = 0, second = 0, third] = waits;
      t.ok(first >= 500 && first <= 600 && second >= 1000 && second <= 1200, waits.join());
      t.equal(third, 7000, 'Retry-After counts');
      const { rules } = await alerts.listAlertRules({ projectName });
      t.equal(rules.filter((rule) => rule.name === name).length, 1);
    },
  );

  await t.test('a Retry-After that is zero or unreadable causes no hot loop', async (t) => {
    const { alerts, gateway, waits } = await clientOf(t, world);
    for (const unusable of ['0', 'soon', '-5']) gateway.faults.push(busy(unusable));
    await alerts.listAlertRules({ projectName });
    t.same(
      waits.map((ms) => Math.floor(ms / 500)),
      [1, 2, 4],
    );
  });

  await t.test('an exchange may be resent, because its assertion is accepted once', async (t) => {
    const { automation, gateway, sent } = await clientOf(t, world);
    for (const fault of [lost, gone]) {
      gateway.faults.push(fault);
      const exchange = { trustName: 'projects/demo/ciConnections/x', assertion: 'a.b.c' };
      t.equal(await codeOf(automation.exchangeCiToken(exchange)), 'Unauthenticated');
    }
    t.equal(sent('ExchangeCiToken').length, 4, 'each twice');
    const headers = gateway.requests.map((request) => request.headers.authorization);
    t.same(headers, Array(4).fill(undefined), 'the assertion is the proof');
  });

  await t.test('a change without a request id is resent only if it had no effect', async (t) => {
    const { alerts, gateway, sent } = await clientOf(t, world);
    gateway.faults.push(lost);
    await codeOf(alerts.saveAlertRule({ ...newRule(), requestId: '' }));
    t.equal(sent('SaveAlertRule').length, 1);
  });

  await t.test('attempts are bounded, and too long a wait is reported at once', async (t) => {
    const { monitoring, gateway, sent } = await clientOf(t, world);
    gateway.faults.push(...Array.from({ length: 9 }, () => gone));
    t.equal(await codeOf(monitoring.listVMMonitoring({ projectName })), 'Unavailable');
    t.equal(sent('ListVMMonitoring').length, 4);
    gateway.faults.splice(0);
    gateway.faults.push(busy('31'));
    const error = await monitoring.listVMMonitoring({ projectName }).catch((fault) => fault);
    t.equal((error as ConnectError).metadata.get('retry-after'), '31');
    t.equal(sent('ListVMMonitoring').length, 5);
    const never = await clientOf(t, world, { retries: { triesMax: 1 } });
    never.gateway.faults.push(gone);
    t.equal(await codeOf(never.monitoring.listVMMonitoring({ projectName })), 'Unavailable');
    t.equal(never.sent('ListVMMonitoring').length, 1);
    const often = await clientOf(t, world, { retries: { triesMax: 9 } });
    often.gateway.faults.push(...Array.from({ length: 8 }, () => gone));
    await often.monitoring.listVMMonitoring({ projectName });
    const [longest = 0] = often.waits.slice(-1);
    t.ok(longest >= 30_000 && longest <= 36_000, often.waits.join());
  });

  await t.test('the deadline of a call includes its retries', async (t) => {
    const { monitoring, prometheus, gateway } = await clientOf(t, world, { timeoutMs: 300 });
    gateway.faults.push({ kind: 'silence' });
    t.equal(await codeOf(monitoring.listVMMonitoring({ projectName })), 'DeadlineExceeded');
    gateway.faults.push({ kind: 'silence' });
    t.match(await prometheus('demo').instant('1'), {
      ok: false,
      errorType: 'no_answer',
      status: 0,
    });
  });

  await t.test('a refusal has its reason and facts, and is not retried', async (t) => {
    const { alerts, sent } = await clientOf(t, world);
    const change = newRule();
    const { name } = await alerts.saveAlertRule(change);
    const stale = { name, requestId: newRequestId(), expectedVersion: '9' };
    const error = await alerts.deleteAlertRule(stale).catch((fault) => fault);
    t.equal(reasonOf(error), 'STALE_VERSION');
    t.equal(metadataOf(error).currentVersion, '1');
    t.equal(sent('DeleteAlertRule').length, 1);
    t.same([reasonOf(new Error('x')), metadataOf(new Error('x'))], [undefined, {}]);
  });

  await t.test('the token is requested for each attempt', async (t) => {
    let requested = 0;
    const getToken = () => (requested++ === 0 ? 'first' : world.demo.apiKey);
    const { monitoring, gateway } = await clientOf(t, world, {
      token: undefined,
      getToken,
    } as object);
    gateway.faults.push(gone);
    const { vms } = await monitoring.listVMMonitoring({ projectName });
    t.equal(vms.length, 1);
    t.equal(gateway.requests[0]?.headers.authorization, 'Bearer first');
    const protocol = gateway.requests.map(({ headers }) => headers['connect-protocol-version']);
    t.same(protocol, ['1', '1']);
  });

  await t.test('an unobserved value is undefined, and 0 is 0', async (t) => {
    const { monitoring } = await clientOf(t, world);
    const { vms } = await monitoring.listVMMonitoring({ projectName });
    t.match(vms, [{ displayName: 'One', cpuUtilizationPct: undefined }]);
  });

  await t.test('a watch starts with the open incidents, and ends when the loop does', async (t) => {
    const { alerts } = await clientOf(t, world, { baseUrl: world.endpoint, timeoutMs: 1 });
    const watch = alerts.watchIncidents({ projectName });
    for await (const { kind, incidents } of watch) {
      t.equal(kind, WatchIncidentsResponse_Kind.SNAPSHOT);
      t.same(incidents, []);
      break;
    }
  });

  await t.test('queries return errors, and fill no gaps', async (t) => {
    const { prometheus, gateway } = await clientOf(t, world);
    const queries = prometheus('projects/demo');
    const bounds = { startUnix: AT - 240, endUnix: AT + 60, stepSeconds: 60 };
    const memory = await queries.range('last_over_time(svc_vm_memory_used_bytes[60s])', bounds);
    if (!memory.ok) throw new Error(memory.error);
    t.match(memory.series, [{ labels: { vm_name: 'One' } }]);
    const [series = { points: [] }] = memory.series;
    const none = undefined;
    t.same(onSteps(series, bounds), [none, none, none, none, 2e9, none]);
    t.same(onSteps({ points: [] }, { ...bounds, endUnix: bounds.startUnix - 1 }), []);
    t.match(await queries.instant('svc_vm_memory_used_bytes', { timeUnix: AT }), {
      ok: true,
      series: [{ timeUnix: AT, value: 2e9, labels: { vm_name: 'One' } }],
    });
    t.same(await queries.instant('svc_vm_running == 7'), { ok: true, series: [], warnings: [] });
    t.match(await queries.instant('1 / 0'), { series: [{ value: Number.POSITIVE_INFINITY }] });
    t.match(await queries.instant('-1 / 0'), { series: [{ value: Number.NEGATIVE_INFINITY }] });
    t.match(await queries.instant('0 / 0'), { series: [{ value: Number.NaN }] });
    const syntax = await queries.instant('sum(');
    t.match(syntax, { ok: false, errorType: 'bad_data', status: 400, error: /./ });
    const tooFine = await queries.range('1', { ...bounds, stepSeconds: 15 });
    t.match(tooFine, { ok: true, warnings: [/raised to 30 s/] });
    t.match(await prometheus('other').instant('1'), { ok: false, status: 403 });
    gateway.faults.push(busy('2'), gone);
    t.match(await queries.instant('1'), { ok: true, series: [{ value: 1, labels: {} }] });
    gateway.faults.push(busy('90'));
    t.match(await queries.instant('1'), { ok: false, status: 429, retryAfterSeconds: 90 });
    gateway.faults.push({ kind: 'answer', status: 200, body: '<html>' });
    t.match(await queries.instant('1'), { ok: false, errorType: 'bad_answer', status: 200 });
    gateway.faults.push({ kind: 'lose answer' });
    t.match(await queries.instant('1'), { ok: false, errorType: 'no_answer' });
  });

  await t.test('API-45: the schema version is declared, and a zero is sent', async (t) => {
    const { gateway, ingest, sent } = await clientOf(t, world, { token: world.demo.collectorKey });
    const observedUnixMs = BigInt(AT * 1000);
    const rows = [
      { vmName: 'sdk-1', observedUnixMs, values: [{ series: 'own', value: 0 }] },
      { vmName: 'sdk-2', observedUnixMs, values: [{ series: 'own' }] },
      { vmName: 'sdk-3', observedUnixMs, values: [{ series: 'own', value: Number.NaN }] },
    ];
    const answer = await ingest.writeSamples({ projectName, rows });
    t.equal(answer.accepted, 1n);
    t.match(answer.rejected, [
      { row: 1, reason: 'NO_VALUE', field: 'rows[1].values[0]' },
      { row: 2, reason: 'NOT_FINITE', field: 'rows[2].values[0]' },
    ]);
    t.match(sent('WriteSamples')[0], '"value":0');
    t.match(gateway.requests.at(-1)?.headers, { 'svc-schema-version': '2' });
  });
});

test('a credential is sent over https or to this machine only', async (t) => {
  for (const baseUrl of [
    'https://monitoring.example.com/',
    'http://127.0.0.1:8080',
    'http://[::1]',
  ]) {
    t.doesNotThrow(() => createClient({ baseUrl, token: 'x' }), baseUrl);
  }
  for (const baseUrl of [
    'http://monitoring.example.com',
    'http://127.0.0.1.example.com',
    'ftp://example.com',
    'https://user:x@example.com',
    'https://example.com/api',
    'example.com',
    '',
  ]) {
    t.throws(() => createClient({ baseUrl, token: 'x' }), TypeError, baseUrl);
  }
  const bad = { name: 'TypeError', message: /^((?!secret).)*$/ };
  t.throws(() => createClient({ baseUrl: 'https://a.b', token: 'secret\r\nx: y' }), bad as never);
  const stolen: string[] = [];
  const thief = createServer((request, response) => {
    stolen.push(String(request.headers.authorization));
    response.end('{}');
  }).listen(0, '127.0.0.1');
  const redirecting = createServer((_request, response) => {
    const { port } = thief.address() as AddressInfo;
    response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end();
  }).listen(0, '127.0.0.1');
  await Promise.all([once(thief, 'listening'), once(redirecting, 'listening')]);
  t.teardown(() => {
    for (const server of [thief, redirecting]) {
      server.closeAllConnections();
      server.close();
    }
  });
  const { port } = redirecting.address() as AddressInfo;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, token: 'secret' });
  await t.rejects(client.monitoring.listVMMonitoring({ projectName }));
  t.match(await client.prometheus('demo').instant('1'), { ok: false });
  t.same(stolen, [], 'no redirect is followed');
});

test('request ids are distinct UUIDs of version 4', async (t) => {
  const ids = Array.from({ length: 100 }, () => newRequestId());
  for (const id of ids)
    t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.equal(new Set(ids).size, 100);
});
