/**
 * The cost that unknown callers may cause: how much of a body is read, how often they may fail, and
 * that other callers do not pay for it. Walks all methods, so a new one is covered too.
 */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { Policy_Access, policy } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { bodyBytesMaxOf } from '../../src/platform/api/message-bytes.ts';
import {
  createAnonymousLimits,
  FAILURES_OF_ADDRESS,
  FAILURES_OF_STRANGERS,
  REFUSED_CREDENTIALS,
} from '../../src/platform/http/anonymous-limits.ts';
import { ANONYMOUS_BODY_BYTES_MAX } from '../../src/platform/http-limits.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { startRpcWorld } from '../support/api-in-process.ts';
import { startCiRpcWorld } from '../support/ci-api.ts';
import { allMethods } from '../support/every-method.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { tries } from '../support/tries.ts';

const isAnonymous = (method: DescMethod) => getOption(method, policy).access === Policy_Access.NONE;
const pathOf = (method: DescMethod) => `/${method.parent.typeName}/${method.name}`;
const methods = await allMethods();
const anonymous = methods.filter(isAnonymous);
const unary = methods.filter(({ methodKind }) => methodKind === 'unary');
/** Bounds of the methods that need more than 64 KiB: rows and lists of names. */
const BODY_KIB: Readonly<Record<string, number>> = {
  WriteSamples: 1024,
  RetireVms: 256,
  SaveAlertRule: 256,
  PreviewAlertRule: 256,
  ReplayAlertRule: 256,
  CreateDestination: 256,
  UpdateDestination: 256,
  QueryVMMonitoring: 256,
  CreateServiceAccount: 256,
  UpdateServiceAccount: 256,
  CreateKey: 256,
  ListCredentials: 256,
  AcknowledgeIncidents: 256,
  SnoozeIncidents: 256,
  ListTransitions: 256,
  ListIncidents: 256,
  ListAlertInstances: 256,
  ListDeliveries: 256,
  ListVMMonitoring: 256,
  StartCiVerification: 256,
  ApproveCiVerification: 256,
  UpdateCiConnection: 256,
};
const PACKERS = { gzip: gzipSync, br: brotliCompressSync };

test('a method without a credential reads at most 24 KiB, packed or not', async (t) => {
  const world = await startRpcWorld(t);
  t.ok(anonymous.length >= 3, 'such methods exist');
  for (const method of methods) {
    const kib = isAnonymous(method) ? 24 : (BODY_KIB[method.name] ?? 64);
    t.equal(bodyBytesMaxOf(method), kib * 1024, method.name);
  }
  const large = `{"x":"${'a'.repeat(ANONYMOUS_BODY_BYTES_MAX)}"}`;
  for (const method of anonymous) {
    const tries = [
      { what: 'plain', payload: large, headers: {} },
      ...Object.entries(PACKERS).map(([name, pack]) => ({
        what: name,
        payload: pack(large),
        headers: { 'content-encoding': name },
      })),
    ];
    for (const { what, payload, headers } of tries) {
      const answer = await world.send(pathOf(method), payload, { key: null, headers });
      t.match(answer, { status: 400, reason: 'REQUEST_TOO_LARGE' }, `${method.name}, ${what}`);
      t.match(answer.body.message, /24 KiB/);
    }
  }
});

test('an unknown path is rejected before its body is parsed', async (t) => {
  const world = await startRpcWorld(t);
  for (const path of ['/nothing', '/svc.shell.v1.ShellService/Run']) {
    const answer = await world.send(path, '{"broken', { key: null });
    t.equal(answer.status, 404, 'not 400: the body is not read');
  }
});

test('a body that fails to unpack is rejected and counted, and logs no error', async (t) => {
  const world = await startRpcWorld(t);
  for (const method of unary) {
    for (const [name, pack] of Object.entries(PACKERS)) {
      const packed = pack(JSON.stringify({ projectName: `projects/demo${'x'.repeat(2_000)}` }));
      const headers = { 'content-encoding': name };
      const broken = packed.subarray(0, packed.length - 3);
      const before = world.brokenBodies.length;
      const answer = await world.send(pathOf(method), broken, { headers });
      // An unauthorised caller gets this answer before the body is read.
      if (answer.reason !== 'INVALID_FIELD') {
        t.match(answer.status, 403, method.name);
        continue;
      }
      t.match(answer, { status: 400, metadata: { field: 'Content-Encoding' } }, method.name);
      t.same(world.brokenBodies.slice(before), [name]);
    }
  }
  t.ok(world.brokenBodies.length > 40, 'most methods were called');
  t.same(world.lines, []);
});

test('a damaged packed body is always the caller’s mistake and never a 5xx', async (t) => {
  const world = await startRpcWorld(t);
  const path = '/svc.monitoring.v1.MonitoringService/ListVMMonitoring';
  const body = JSON.stringify({ projectName: 'projects/demo', filter: 'y'.repeat(300) });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('gzip' as const, 'br' as const),
      fc.nat(400),
      fc.uint8Array({ maxLength: 6 }),
      fc.boolean(),
      async (name, at, bytes, isCut) => {
        const packed = PACKERS[name](body);
        const from = at % (packed.length + 1);
        const rest = isCut ? Buffer.alloc(0) : packed.subarray(from);
        const sent = Buffer.concat([packed.subarray(0, from), bytes, rest]);
        const answer = await world.send(path, sent, { headers: { 'content-encoding': name } });
        return answer.status < 500 && world.lines.length === 0;
      },
    ),
    { numRuns: tries(150) },
  );
});

function limitsOf(t: Test) {
  const clock = new VirtualClock(START_MS);
  const metrics = createMetrics({ clock, version: 'test' });
  t.teardown(() => metrics.close());
  const limits = createAnonymousLimits({ clock, metrics });
  /** Number of `count` failing calls that were admitted. */
  const fail = (address: string, count: number): number => {
    let admitted = 0;
    for (let i = 0; i < count; i++) {
      try {
        limits.admit(address);
        admitted++;
      } catch (error) {
        if (!(error instanceof Refusal) || error.reason !== 'TOO_MANY_REQUESTS') throw error;
      }
    }
    return admitted;
  };
  return { clock, metrics, limits, fail };
}

test('an address may fail up to its burst, then once per refill', async (t) => {
  const { clock, metrics, fail } = limitsOf(t);
  const { burst, refillMs } = FAILURES_OF_ADDRESS;
  t.equal(fail('192.0.2.1', burst + 50), burst);
  t.equal(fail('192.0.2.2', 10), 10, 'another address is unaffected');
  await clock.advance(refillMs * 4);
  t.equal(fail('192.0.2.1', 50), 4);
  t.match(await metrics.text(), /svc_anonymous_limited_total\{limit="address"\} 96/);
});

test('IPv6 is counted per /64 network, IPv4 mapped to IPv6 as IPv4', async (t) => {
  const { fail } = limitsOf(t);
  const { burst } = FAILURES_OF_ADDRESS;
  t.equal(fail('2001:db8:1:2::1', burst), burst);
  t.equal(fail('2001:db8:1:2:ffff::9', 1), 0);
  t.equal(fail('2001:db8:1:3::1', 1), 1);
  t.equal(fail('192.0.2.1', burst), burst);
  t.equal(fail('::ffff:192.0.2.1', 1), 0);
});

test('successful calls cost nothing', async (t) => {
  const { limits, fail } = limitsOf(t);
  for (let i = 0; i < FAILURES_OF_ADDRESS.burst * 3; i++) limits.admit('192.0.2.1')();
  t.equal(fail('192.0.2.1', 1_000), FAILURES_OF_ADDRESS.burst);
});

test('an attack from many addresses blocks strangers but no known address', async (t) => {
  const { clock, metrics, limits, fail } = limitsOf(t);
  limits.admit('198.51.100.7')();
  let admitted = 0;
  for (let i = 0; i < FAILURES_OF_STRANGERS.burst + 200; i++) {
    admitted += fail(`203.0.${i >> 8}.${i & 255}`, 1);
  }
  t.equal(admitted, FAILURES_OF_STRANGERS.burst);
  t.equal(fail('192.0.2.1', 1), 0);
  t.equal(fail('198.51.100.7', 10), 10, 'a known address has a limit of its own');
  t.match(await metrics.text(), /svc_anonymous_limited_total\{limit="strangers"\} 201/);
  await clock.advance(3_600_000);
  let drained = 0;
  for (let i = 0; i < FAILURES_OF_STRANGERS.burst; i++)
    drained += fail(`203.1.${i >> 8}.${i & 255}`, 1);
  t.equal(drained, FAILURES_OF_STRANGERS.burst);
  t.equal(fail('198.51.100.7', 1), 0, 'after an hour it is a stranger again');
});

test('over the API: 429 in the envelope with Retry-After, and a neighbour is served', async (t) => {
  const world = await startCiRpcWorld(t);
  const trustName = await world.connect();
  const exchange = (address: string, assertion: string) =>
    world.anonymous('ExchangeCiToken', { trustName, assertion }, { address });
  for (let i = 0; i < FAILURES_OF_ADDRESS.burst; i++) {
    const answer = await exchange('192.0.2.1', 'a.b.c');
    if (answer.reason !== 'BAD_ASSERTION') t.fail(`${i}: ${answer.reason}`);
  }
  const limited = await exchange('192.0.2.1', await world.mint());
  t.match(limited, {
    status: 429,
    reason: 'TOO_MANY_REQUESTS',
    body: { code: 'resource_exhausted' },
  });
  t.match(limited.headers['retry-after'], /^[1-9]\d*$/);
  t.equal((await exchange('192.0.2.2', await world.mint())).status, 200);
  await world.clock.advance(FAILURES_OF_ADDRESS.refillMs);
  t.equal(
    (await exchange('192.0.2.1', await world.mint())).status,
    200,
    'one more call is admitted',
  );
  t.equal(
    (await exchange('192.0.2.1', await world.mint())).status,
    200,
    'a successful call costs nothing',
  );
});

test('rejected credentials of an address are limited, its valid ones are not', async (t) => {
  const world = await startRpcWorld(t);
  const address = '192.0.2.1';
  const list = (key: string | null, from = address) =>
    world.call('ListVMMonitoring', { projectName: 'projects/demo' }, { key, address: from });
  for (let i = 0; i < REFUSED_CREDENTIALS.burst; i++) {
    const { status } = await list(i % 2 ? null : 'svc_pk_no');
    if (status !== 401) t.fail(`${i}: ${status}`);
  }
  t.match(await list('svc_pk_no'), { status: 429, reason: 'TOO_MANY_REQUESTS' });
  t.match(await list(null), { status: 429 });
  t.equal((await list(world.keys.read)).status, 200);
  t.equal((await list('svc_pk_no', '192.0.2.2')).status, 401);
});
