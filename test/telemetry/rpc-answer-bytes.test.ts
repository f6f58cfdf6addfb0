/**
 * Answers whose bytes are built in a query thread equal those that the RPC framework would build of
 * the message, in both formats, compressed or not. Refusals equal those of a method whose answer
 * the framework builds.
 */
import { gunzipSync } from 'node:zlib';
import { create, fromBinary, toBinary, toJson } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { test } from 'tap';
import {
  ListVMMonitoringRequestSchema,
  ListVMMonitoringResponseSchema,
  QueryVMMonitoringRequestSchema,
  QueryVMMonitoringResponseSchema,
} from '../../src/gen/svc/monitoring/v1/monitoring_pb.ts';
import type { VmAnswer } from '../../src/telemetry/query/vm/answer.ts';
import { answerBytes, answerMessage } from '../../src/telemetry/query/vm/answer-bytes.ts';
import type { MetricAnswer } from '../../src/telemetry/query/vm/quality.ts';
import { seriesKey } from '../../streams/telemetry/samples/batch.ts';
import { type RpcWorld, START_SECONDS, startRpcWorld, VM } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { tries } from '../support/tries.ts';

const PATH = '/svc.monitoring.v1.MonitoringService';
const ALWAYS = { alwaysEmitImplicit: true } as const;

const unixMs = fc.integer({ min: 0, max: 4_000_000 }).map((n) => n * 1_000_000 + (n % 1000));
const text = fc.string({ unit: 'grapheme', maxLength: 8 });
const metric: fc.Arbitrary<MetricAnswer> = fc.oneof(
  fc.record({ metricId: text, failed: fc.constant('READ_FAILED' as const) }),
  fc.record({
    metricId: text,
    series: fc.array(
      fc.record({
        labels: fc
          .dictionary(fc.constantFrom('a', 'mountpoint'), text)
          .map((l) => seriesKey('', l)),
        unit: fc.constantFrom('percent' as const, 'bytes' as const),
        points: fc.array(
          fc.record({
            timeMs: unixMs,
            value: fc.oneof(
              fc.double({ noNaN: true, noDefaultInfinity: true }),
              fc.constantFrom(-0, 0, 1e21, 5e-324, Number.MAX_VALUE, 2 ** 53),
            ),
          }),
          { maxLength: 5 },
        ),
      }),
      { maxLength: 3 },
    ),
    gaps: fc.constant([]),
    flags: fc.constant([]),
    impossible: fc.constant([]),
    expectedSamples: fc.nat(),
    observedSamples: fc.nat(),
  }),
);
const answers: fc.Arbitrary<VmAnswer> = fc.record({
  range: fc.record({
    startMs: unixMs.map((ms) => ms - (ms % 1000)),
    endMs: fc.nat().map((s) => s * 1000),
    stepMs: fc.integer({ min: 30, max: 604_800 }).map((s) => s * 1000),
    retainedFromMs: unixMs,
  }),
  metrics: fc.array(metric, { maxLength: 3 }),
  quality: fc.record({
    state: fc.constantFrom('LIVE', 'STALE', 'PARTIAL', 'NO_DATA', 'ERROR'),
    expectedSamples: fc.nat(),
    observedSamples: fc.nat(),
    gaps: fc.array(fc.record({ startMs: unixMs, endMs: unixMs, reason: text }), { maxLength: 2 }),
    metrics: fc.array(
      fc.record({ metricId: text, state: fc.constantFrom('LIVE', 'ERROR'), reason: text }),
      { maxLength: 2 },
    ),
    reasons: fc.array(text, { maxLength: 2 }),
    impossible: fc.array(
      fc.record({
        metricId: text,
        labels: text.map((device) => seriesKey('', { device })),
        timeMs: unixMs,
        value: fc.double({ noNaN: true, noDefaultInfinity: true }),
      }),
      { maxLength: 2 },
    ),
  }),
  datacenter: fc.constantFrom('live', 'stale'),
  lastObservedMs: fc.option(unixMs, { nil: undefined }),
  failures: fc.constant([]),
});

test('the bytes of an answer are those that the framework makes of its message', async () => {
  await fc.assert(
    fc.property(answers, (answer) => {
      const message = answerMessage(answer);
      const json = Buffer.from(answerBytes(answer, 'json')).toString();
      const wanted = toJson(QueryVMMonitoringResponseSchema, message, ALWAYS);
      // Equal text means equal fields, with the same fields left out.
      if (json !== JSON.stringify(wanted)) throw new Error(`${json} ${JSON.stringify(wanted)}`);
      const binary = Buffer.from(answerBytes(answer, 'binary'));
      return binary.equals(toBinary(QueryVMMonitoringResponseSchema, message));
    }),
    { seed: 5, numRuns: tries(300) },
  );
});

const at = (secondsAgo: number) => START_SECONDS - secondsAgo;
const query = {
  name: VM,
  metricIds: ['cpu_utilization_pct', 'load_1m', 'filesystem_used_bytes'],
  startTimeUnix: String(at(3600)),
  endTimeUnix: String(at(0)),
  stepSeconds: 30,
};

/** Writes an hour of a VM with a mount. */
async function writeHour(world: RpcWorld): Promise<void> {
  const values = (i: number) => [
    { series: 'svc_vm_cpu_utilization_pct', value: i / 3 },
    { series: 'svc_vm_filesystem_used_bytes', labels: { mountpoint: '/a "b"' }, value: i * 1e9 },
  ];
  const row = (i: number) => ({ observedUnixMs: START_MS - i * 30_000, state: 'RUNNING' });
  await world.write(Array.from({ length: 121 }, (_, i) => ({ ...row(i), values: values(i) })));
}

interface RawOptions {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const raw = (
  world: RpcWorld,
  method: string,
  payload: string | Buffer,
  options: RawOptions = {},
) => {
  const { key = world.keys.read, headers = {} } = options;
  return world.app.inject({
    method: 'POST',
    url: `${PATH}/${method}`,
    payload,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
  });
};
const proto = { headers: { 'content-type': 'application/proto' } };

test('an answer is the same in JSON, in protobuf and compressed', async (t) => {
  const world = await startRpcWorld(t);
  await writeHour(world);
  const json = await raw(world, 'QueryVMMonitoring', JSON.stringify(query));
  t.equal(json.headers['content-type'], 'application/json');
  t.equal(json.headers['content-length'], String(json.rawPayload.length));
  t.match(json.headers['svc-sequence'], /^[\w-]{22}$/);
  const reported = JSON.parse(json.body);
  t.equal(reported.series[0].points.length, 121);
  const requested = create(QueryVMMonitoringRequestSchema, {
    ...query,
    startTimeUnix: BigInt(at(3600)),
    endTimeUnix: BigInt(at(0)),
  });
  const bytes = Buffer.from(toBinary(QueryVMMonitoringRequestSchema, requested));
  const binary = await raw(world, 'QueryVMMonitoring', bytes, proto);
  t.equal(binary.headers['content-type'], 'application/proto');
  const message = fromBinary(QueryVMMonitoringResponseSchema, binary.rawPayload);
  t.same(toJson(QueryVMMonitoringResponseSchema, message, ALWAYS), reported, 'field by field');
  const packed = await raw(world, 'QueryVMMonitoring', JSON.stringify(query), {
    headers: { 'accept-encoding': 'gzip' },
  });
  t.equal(packed.headers['content-encoding'], 'gzip');
  t.equal(packed.headers['content-length'], String(packed.rawPayload.length));
  t.equal(gunzipSync(packed.rawPayload).toString(), json.body);
  const list = JSON.stringify({ projectName: 'projects/demo' });
  const vms = JSON.parse((await raw(world, 'ListVMMonitoring', list)).body);
  const request = create(ListVMMonitoringRequestSchema, { projectName: 'projects/demo' });
  const listBytes = Buffer.from(toBinary(ListVMMonitoringRequestSchema, request));
  const listed = await raw(world, 'ListVMMonitoring', listBytes, proto);
  const page = fromBinary(ListVMMonitoringResponseSchema, listed.rawPayload);
  t.same(toJson(ListVMMonitoringResponseSchema, page, ALWAYS), vms);
  const none = await raw(world, 'QueryVMMonitoring', '{}', proto);
  t.equal(none.statusCode, 400, 'JSON is not protobuf');
});

test('refusals are the same as those of a method that the framework answers', async (t) => {
  const world = await startRpcWorld(t);
  await writeHour(world);
  const requests: readonly (readonly [method: string, request: object])[] = [
    ['ListMetricDescriptors', { projectName: 'projects/demo' }],
    ['ListVMMonitoring', { projectName: 'projects/demo' }],
    ['QueryVMMonitoring', query],
  ];
  const { read, write, collector, other } = world.keys;
  const cases: readonly [string, RawOptions, number][] = [
    ['reads', { key: read }, 200],
    ['reads and writes', { key: write }, 200],
    ['collects only', { key: collector }, 403],
    ['another project', { key: other }, 403],
    ['no such key', { key: 'sk_nothing' }, 401],
    ['no bearer', { headers: { authorization: '' } }, 401],
    ['another version', { headers: { 'connect-protocol-version': '2' } }, 400],
    ['too many positions', { headers: { 'svc-sequence': ','.repeat(32) } }, 400],
    ['another type', { headers: { 'content-type': 'text/plain' } }, 415],
    ['an unknown encoding', { headers: { 'content-encoding': 'zip' } }, 501],
    ['a short timeout', { headers: { 'connect-timeout-ms': 'soon' } }, 400],
  ];
  for (const [name, options, status] of cases) {
    const reported = await Promise.all(
      requests.map(async ([method, request]) => {
        const { statusCode, body } = await raw(world, method, JSON.stringify(request), options);
        if (statusCode === 200) return { statusCode };
        const { code, message, details } = JSON.parse(body);
        return { statusCode, code, message: message.replaceAll(method, 'METHOD'), details };
      }),
    );
    t.same(reported[1], reported[0], name);
    t.same(reported[2], reported[0], name);
    t.equal(reported[0]?.statusCode, status, name);
  }
});
