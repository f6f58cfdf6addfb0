/**
 * Revocation under load, over real connections: no request that begins after its acknowledgement
 * succeeds, while others with the same key are in flight all the time. A request that was admitted
 * before has no effect if its body arrives after.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { create, toBinary } from '@bufbuild/protobuf';
import { test } from 'tap';
import { Row_State, WriteSamplesRequestSchema } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { addFastWriteSamples } from '../../src/telemetry/api/write-samples-fast.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { startRpcWorld } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { startPromqlServer } from '../support/promql-server.ts';
import { cpuSpec, newRule } from '../support/rule-spec.ts';
import { tries } from '../support/tries.ts';
import { answered, revokeUnderLoad, startRevoking } from './revoking.ts';

const SAVE = '/svc.monitoring.v1.AlertService/SaveAlertRule';
const PROJECT = 'projects/demo';
const TRIES = tries(1_000);

test(`IDN-08: no request succeeds after any revocation under load`, (t) =>
  revokeUnderLoad(t, TRIES));

test('Samples whose body arrives after the revocation are rejected, on the fast path', async (t) => {
  const metrics = createMetrics({ clock: systemClock, version: 'test' });
  t.teardown(() => metrics.close());
  const world = await startRpcWorld(t, undefined, (app, parts) =>
    addFastWriteSamples(app, { ...parts, metrics }),
  );
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const rows = [{ vmName: 'vm-1', observedUnixMs: BigInt(START_MS), state: Row_State.RUNNING }];
  const message = create(WriteSamplesRequestSchema, { projectName: PROJECT, rows });
  const body = toBinary(WriteSamplesRequestSchema, message);
  for (const isRevoked of [false, true]) {
    const { id, key } = await world.collector('demo');
    const sent = request(new URL('/svc.ingest.v1.IngestService/WriteSamples', url), {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/proto',
        'content-length': body.length,
      },
    });
    sent.write(body.subarray(0, 5));
    // A later request has been answered, so the first bytes have been read.
    await world.call('ListAlertRules', { projectName: PROJECT });
    await fetch(`${url}/nothing`);
    const end = { type: 'revoked', reason: 'LEAKED' };
    if (isRevoked) await world.step('demo', 'credential', id, end);
    sent.end(body.subarray(5));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    t.equal(response.statusCode, isRevoked ? 401 : 200);
  }
  t.match(
    await metrics.text(),
    /svc_write_samples_fast_total 1\n/,
    'the first request took the fast path',
  );
});

test('A request whose body arrives after the revocation changes nothing', async (t) => {
  const { begin, makeKey, revoke, host } = await startRevoking(t);
  const key = await makeKey();
  const body = JSON.stringify(newRule(PROJECT, { threshold: 50 }));
  const sent = begin(SAVE, { ...key.headers, 'content-length': String(body.length) });
  sent.write(body.slice(0, 20));
  // A later request has been answered, so this one has passed the gate.
  await makeKey();
  await revoke(key.name);
  sent.end(body.slice(20));
  const { status, body: answer } = await answered(sent);
  t.equal(status, 401);
  t.match(answer.message, /revoked/);
  t.equal(host.view('demo').countInstances('alertRule', { final: false }), 0);
});

test('A PromQL request whose body arrives after the revocation gets no data', async (t) => {
  const world = await startPromqlServer(t);
  const body = 'query=vector(1)';
  for (const isRevoked of [false, true]) {
    const { id, key } = await world.accountKey('demo', ['monitoring.read']);
    const sent = request(`${world.baseUrl}/v1/monitoring/${PROJECT}/promql/api/v1/query`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        'content-length': body.length,
        'content-type': 'application/x-www-form-urlencoded',
      },
    });
    sent.write(body.slice(0, 5));
    // A later request has been answered, so the headers have been read.
    await fetch(`${world.baseUrl}/nothing`);
    await fetch(`${world.baseUrl}/nothing`);
    const end = { type: 'revoked', reason: 'LEAKED' };
    if (isRevoked) await world.step('demo', 'credential', id, end);
    sent.end(body.slice(5));
    const { status, body: answer } = await answered(sent);
    if (isRevoked)
      t.match({ status, answer }, { status: 401, answer: { errorType: 'unauthorized' } });
    else t.match({ status, answer }, { status: 200, answer: { status: 'success' } });
  }
});

test('A result that was being computed at the revocation is not returned', async (t) => {
  let whenDone = async (): Promise<unknown> => undefined;
  /** The same object, but its answers arrive only once `whenDone` has resolved. */
  const slow = <T extends object>(real: T): T =>
    new Proxy(real, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]) => {
          const answer = await value.apply(target, given);
          await whenDone();
          return answer;
        };
      },
    });
  const world = await startRpcWorld(t, ({ vmQueries, alertPreviews, ruleReplays }) => ({
    vmQueries: slow(vmQueries),
    alertPreviews: slow(alertPreviews),
    ruleReplays: slow(ruleReplays),
  }));
  const row = { vm: 'vm-1', observedUnixMs: START_MS, state: 'RUNNING' as const, values: [] };
  await world.write([row]);
  const projectName = PROJECT;
  const spec = cpuSpec({ threshold: 50 });
  const methods = {
    GetVMMonitoring: { name: `${PROJECT}/vms/vm-1` },
    ListVMMonitoring: { projectName },
    QueryVMMonitoring: {
      name: `${PROJECT}/vms/vm-1`,
      metricIds: ['memory_used_pct'],
      stepSeconds: 60,
      startTimeUnix: START_MS / 1000 - 600,
      endTimeUnix: START_MS / 1000,
    },
    PreviewAlertRule: { projectName, historySeconds: 60, spec },
    ReplayAlertRule: { projectName, historySeconds: 60, spec },
  };
  for (const [method, request] of Object.entries(methods)) {
    const { id, key } = await world.accountKey('demo', ['monitoring.read']);
    const statuses: number[] = [];
    for (const end of [undefined, { type: 'revoked', reason: 'LEAKED' }]) {
      whenDone = async () => end && world.step('demo', 'credential', id, end);
      statuses.push((await world.call(method, request, { key })).status);
    }
    t.same(statuses, [200, 401], method);
  }
});
