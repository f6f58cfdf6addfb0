/**
 * Revocation under load, over real connections: once it has been acknowledged, not one request that
 * begins afterwards succeeds, while others with the same key are under way all the time; and a
 * request that was let in before does nothing once its body has come.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { create, toBinary } from '@bufbuild/protobuf';
import t, { type Test } from 'tap';
import { startCredential } from '../../actors/identity/credentials.ts';
import { Row_State, WriteSamplesRequestSchema } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { mintKey } from '../../src/platform/keys.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { addFastWriteSamples } from '../../src/telemetry/api/write-samples-fast.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import { cookieHeaders, startRpcWorld } from '../support/api-in-process.ts';
import { START_MS, tester } from '../support/host-in-memory.ts';
import { startPromqlServer } from '../support/promql-server.ts';

type Headers = Readonly<Record<string, string>>;
const IAM = '/svc.iam.v1.AutomationService/';
const READ = '/svc.monitoring.v1.AlertService/ListAlertRules';
const SAVE = '/svc.monitoring.v1.AlertService/SaveAlertRule';
const PROJECT = 'projects/demo';
const TRIES = 1_000;
/** Requests with a key that are under way while it is revoked. */
const LOAD = 2;
/** Refused credentials are limited by address: the tries come from a fleet. */
const ADDRESSES = 20;

/** A listening world with an owner and a service account, and calls over kept connections. */
async function startRevoking(t: Test) {
  const world = await startRpcWorld(t);
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: LOAD + 2 });
  t.teardown(() => agent.destroy());
  const owner = cookieHeaders(await world.signedInAs('demo', 'OWNER'));
  const account = await world.account('demo', ['monitoring.read', 'monitoring.write']);
  let begun = 0;
  const begin = (path: string, headers: Headers): ClientRequest =>
    request(new URL(path, url), {
      ...{ method: 'POST', agent, localAddress: `127.0.0.${1 + (begun++ % ADDRESSES)}` },
      headers: { 'content-type': 'application/json', ...headers },
    });
  const call = async (path: string, headers: Headers, body: object) => {
    const sent = begin(path, headers);
    sent.end(JSON.stringify(body));
    return answered(sent);
  };
  const makeKey = async () => {
    const { body } = await call(`${IAM}CreateKey`, owner, {
      ...{ parent: `${PROJECT}/serviceAccounts/${account}`, requestId: randomUUID() },
      ...{ displayName: 'k', capabilities: ['monitoring.read', 'monitoring.write'] },
    });
    return { name: body.key.name, headers: { authorization: `Bearer ${body.secret}` } };
  };
  /** Many, by a commit for each hundred: what is looked at is how they end. */
  const makeKeys = async (count: number) => {
    const owner = `${PROJECT}/serviceAccounts/${account}`;
    const { host, clock } = world;
    const random = systemRandom;
    const all = Array.from({ length: count }, () => mintKey('sk', { nowMs: clock.now(), random }));
    for (let first = 0; first < count; first += 100) {
      await host.submit({
        ...{ project: 'demo', by: tester },
        decide(draft) {
          for (const minted of all.slice(first, first + 100)) {
            startCredential(draft, minted, {
              ...{ project: 'demo', kind: 'sk', capabilities: ['monitoring.read'], owner },
              ...{ displayName: 'k', createdBy: tester.name },
            });
          }
        },
      });
    }
    return all.map(({ id, text }) => ({
      name: `${owner}/keys/${id}`,
      headers: { authorization: `Bearer ${text}` },
    }));
  };
  const revoke = (name: string) =>
    call(`${IAM}RevokeKey`, owner, { name, requestId: randomUUID(), reason: 'LEAKED' });
  const read = (headers: Headers) => call(READ, headers, { projectName: PROJECT });
  return { ...world, begin, makeKey, makeKeys, revoke, read };
}

async function answered(sent: ClientRequest) {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // Answers are read by tests that know their shape.
  // biome-ignore lint/suspicious/noExplicitAny: JSON of several methods
  const body: any = await json(response);
  return { status: response.statusCode, body };
}

t.test(`Of ${TRIES} revocations under load, no request after the answer succeeds`, async (t) => {
  const { makeKeys, revoke, read } = await startRevoking(t);
  const underWay = { accepted: 0, refused: 0 };
  const note = async (headers: Headers) => {
    const { status } = await read(headers);
    if (status === 200) underWay.accepted++;
    else underWay.refused++;
  };
  const seen = new Map<number | undefined, number>();
  for (const { name, headers } of await makeKeys(TRIES)) {
    let isAnswered = false;
    // One is under way before the revocation, and one more at any time until it is answered.
    const before = note(headers);
    const beside = (async () => {
      while (!isAnswered) await note(headers);
    })();
    const { status } = await revoke(name);
    isAnswered = true;
    if (status !== 200) t.fail(`the revocation answers ${status}`);
    const after = await read(headers);
    seen.set(after.status, (seen.get(after.status) ?? 0) + 1);
    await Promise.all([before, beside]);
  }
  t.equal(seen.get(200) ?? 0, 0, 'requests that succeeded after the answer');
  t.same([...seen], [[401, TRIES]], 'every one of them was refused as it should be');
  t.ok(underWay.accepted >= TRIES, `${underWay.accepted} succeeded while their key was good`);
  t.ok(underWay.refused > 0, `${underWay.refused} met a key that had just been revoked`);
});

t.test(
  'Samples whose body comes after the revocation are not taken, on the fast path',
  async (t) => {
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
        ...{ method: 'POST', agent: false },
        headers: {
          ...{ authorization: `Bearer ${key}`, 'content-type': 'application/proto' },
          'content-length': body.length,
        },
      });
      sent.write(body.subarray(0, 5));
      // What came later has been answered: the first bytes have been looked at.
      await world.call('ListAlertRules', { projectName: PROJECT });
      await fetch(`${url}/nothing`);
      const end = { type: 'revoked', reason: 'LEAKED' };
      if (isRevoked) await world.step('demo', 'credential', id, end);
      sent.end(body.subarray(5));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      t.equal(response.statusCode, isRevoked ? 401 : 200);
    }
    t.match(await metrics.text(), /svc_write_samples_fast_total 1\n/, 'the first went that way');
  },
);

t.test('A request that was let in before and sends its body after changes nothing', async (t) => {
  const { begin, makeKey, revoke, host } = await startRevoking(t);
  const key = await makeKey();
  const body = JSON.stringify({
    ...{ projectName: PROJECT, id: randomUUID(), requestId: randomUUID(), expectedVersion: '0' },
    spec: {
      ...{ displayName: 'CPU', metricId: 'cpu_utilization_pct', operator: 'GREATER_THAN' },
      ...{ threshold: 50, severity: 'WARNING', allVms: true },
    },
  });
  const sent = begin(SAVE, { ...key.headers, 'content-length': String(body.length) });
  sent.write(body.slice(0, 20));
  // The gate has passed once another request that came later has been answered.
  await makeKey();
  await revoke(key.name);
  sent.end(body.slice(20));
  const { status, body: answer } = await answered(sent);
  t.equal(status, 401);
  t.match(answer.message, /revoked/);
  t.equal(host.view('demo').countInstances('alertRule', { final: false }), 0);
});

t.test('A PromQL request whose body comes after the revocation is answered no data', async (t) => {
  const world = await startPromqlServer(t);
  const body = 'query=vector(1)';
  for (const isRevoked of [false, true]) {
    const { id, key } = await world.accountKey('demo', ['monitoring.read']);
    const sent = request(`${world.baseUrl}/v1/monitoring/${PROJECT}/promql/api/v1/query`, {
      ...{ method: 'POST', agent: false },
      headers: {
        ...{ authorization: `Bearer ${key}`, 'content-length': body.length },
        'content-type': 'application/x-www-form-urlencoded',
      },
    });
    sent.write(body.slice(0, 5));
    // What came later has been answered: the headers have been looked at.
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
