/**
 * The binary handler of `WriteSamples` against the RPC framework: two servers over one recording
 * ingest, one with the handler in front. Whatever is sent, both answer the same and store the same
 * rows; the handler's own count shows that it was not the framework that answered twice.
 */
import { deepStrictEqual } from 'node:assert';
import { Agent, request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { create, fromBinary, toJsonString } from '@bufbuild/protobuf';
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Ingest, WriteRequest } from '../../actors/telemetry/ingest/ingest-port.ts';
import {
  IngestService,
  WriteSamplesRequestSchema,
  WriteSamplesResponseSchema,
} from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { mapErrors } from '../../src/platform/api/error-mapping.ts';
import { requestGate } from '../../src/platform/api/gate.ts';
import { COMPRESSIONS } from '../../src/platform/api/message-bytes.ts';
import { completeResponses } from '../../src/platform/api/response-mapping.ts';
import { releaseSlots } from '../../src/platform/api/slots.ts';
import { createHealth } from '../../src/platform/health.ts';
import { createAnonymousLimits } from '../../src/platform/http/anonymous-limits.ts';
import { type HttpServer, openHttpServer } from '../../src/platform/http/server.ts';
import { silentLog } from '../../src/platform/log.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { admitBodies } from '../../src/service/request-bodies.ts';
import { ingestService } from '../../src/telemetry/api/ingest.ts';
import { addFastWriteSamples } from '../../src/telemetry/api/write-samples-fast.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { testBounds } from '../support/bounds.ts';
import { testPositions } from '../support/positions.ts';
import { authenticator, view } from '../support/write-callers.ts';
import { anyRequest, damagedOf, encoded, type RequestInit } from '../support/write-requests.ts';

const PATH = '/svc.ingest.v1.IngestService/WriteSamples';
const COLLECTOR = 'Bearer collector';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

interface Sent {
  readonly body: Uint8Array;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Pieces in which the body is written; default one. */
  readonly pieces?: number;
}

interface Side {
  readonly server: HttpServer;
  readonly metrics: Metrics;
  /** What ingest was given since the last look. */
  readonly written: WriteRequest[];
  send(sent: Sent): Promise<Answer>;
  readonly positionOf: (sequence: number) => string;
}

/** What ingest does with the next requests; both sides share it. */
const behaviour: { write: Ingest['write'] } = { write: async () => nothing };
const nothing = { accepted: 0, duplicates: 0, rejected: [], sequence: 0 };

async function openSide(t: Test, fast: boolean): Promise<Side> {
  const written: WriteRequest[] = [];
  const metrics = createMetrics({ clock: systemClock, version: '1.2.3' });
  const health = createHealth({ clock: systemClock, log: silentLog });
  const ingest: Ingest = {
    write: (request) => {
      written.push(structuredClone(request));
      return behaviour.write(request);
    },
  };
  const submit = async () => Promise.reject(new Error('Nothing is submitted here'));
  const host = { appliedSequence: () => 42, waitFor: async () => {}, view, submit };
  const positions = testPositions({ host, clock: systemClock });
  const anonymousLimits = createAnonymousLimits({ clock: systemClock, metrics });
  const bounds = testBounds(systemClock);
  const deps = {
    ...{ ingest, authenticator, host, positions, metrics, anonymousLimits },
    noteBrokenBody: () => {},
    ...{ clock: systemClock, log: silentLog, ...bounds },
  };
  const server = await openHttpServer({
    ...deps,
    settings: loadConfig([], { SVC_LISTEN: '127.0.0.1:0' }).settings,
    health,
    random: seededRandom(1),
    isReader: async () => false,
    readGate: async () => {
      throw new Refusal('MISSING_CREDENTIAL', 'Send a key');
    },
    addRoutes: async (app) => {
      if (fast) addFastWriteSamples(app, deps);
      await app.register(fastifyConnectPlugin, {
        grpc: false,
        grpcWeb: false,
        requestGate: requestGate(deps),
        interceptors: [mapErrors(silentLog)],
        acceptCompression: [...COMPRESSIONS],
        readMaxBytes: 1024 * 1024,
        routes: (router) => {
          const sources = { isOthers: () => false };
          router.service(
            IngestService,
            ingestService({ ingest, host, positions, sources, ...bounds }),
          );
          admitBodies(router, deps);
          releaseSlots(router, bounds.gate);
          completeResponses(router, deps);
        },
      });
    },
  });
  const agent = new Agent({ keepAlive: true });
  t.teardown(async () => {
    agent.destroy();
    await server.close();
    health.close();
    metrics.close();
  });
  return {
    ...{ server, metrics, written, positionOf: positions.tokenOf },
    send: (sent) => send(server.baseUrl, agent, sent),
  };
}

function send(baseUrl: string, agent: Agent, { body, headers, pieces = 1 }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const all: Record<string, string | undefined> = {
      'content-type': 'application/proto',
      'connect-protocol-version': '1',
      authorization: COLLECTOR,
      'content-length': String(body.length),
      ...headers,
    };
    const reported = Object.fromEntries(
      Object.entries(all).filter(([, value]) => value !== undefined),
    );
    const request = httpRequest(
      `${baseUrl}${PATH}`,
      { method: 'POST', agent, headers: reported as Record<string, string> },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const { statusCode = 0 } = response;
          resolve({ status: statusCode, headers: response.headers, body: Buffer.concat(chunks) });
        });
      },
    );
    request.on('error', reject);
    writePieces(request, Buffer.from(body), pieces);
  });
}

/** Each piece in a turn of its own, so that it arrives as a chunk of its own. */
function writePieces(request: ReturnType<typeof httpRequest>, body: Buffer, pieces: number): void {
  const length = Math.max(1, Math.ceil(body.length / pieces));
  if (body.length <= length) {
    request.end(body);
    return;
  }
  request.write(body.subarray(0, length), () =>
    setImmediate(() => writePieces(request, body.subarray(length), pieces - 1)),
  );
}

/** Requests that the handler itself has answered. */
async function answeredFast({ metrics }: Side): Promise<number> {
  const [, count] = /^svc_write_samples_fast_total (\d+)$/m.exec(await metrics.text()) ?? [];
  return Number(count);
}

/** Everything by which a caller can distinguish two answers. */
function seen({ status, headers, body }: Answer) {
  const { 'content-type': type, 'svc-sequence': sequence, 'retry-after': retryAfter } = headers;
  return {
    // Two tokens of one position differ.
    ...{ status, type, hasPosition: sequence !== undefined, retryAfter },
    length: headers['content-length'],
    body: body.toString('latin1'),
  };
}

interface Pair {
  readonly fast: Side;
  readonly framework: Side;
  /** Sends to both, checks that they agree, answers what was seen. */
  agree(t: Test, sent: Sent, name: string): Promise<ReturnType<typeof seen>>;
}

async function openPair(t: Test): Promise<Pair> {
  const [fast, framework] = await Promise.all([openSide(t, true), openSide(t, false)]);
  return {
    fast,
    framework,
    async agree(t, sent, name) {
      const [ours, theirs] = await Promise.all([fast.send(sent), framework.send(sent)]);
      t.same(seen(ours), seen(theirs), `${name}: the same answer`);
      t.same(fast.written, framework.written, `${name}: the same rows`);
      t.ok(theirs.headers['x-request-id'] && ours.headers['x-request-id'], 'both name an id');
      fast.written.length = 0;
      framework.written.length = 0;
      return seen(ours);
    },
  };
}

const ordinary: RequestInit = {
  projectName: 'projects/demo',
  batchId: 'batch-1',
  rows: ['vm-1', 'projects/demo/vms/vm-2'].map((vmName, i) => ({
    vmName,
    observedUnixMs: 1_700_000_000_123n + BigInt(i),
    bootId: 'boot',
    sequence: 7n,
    vcpus: 4,
    state: 1,
    stateReason: 'because',
    displayName: 'Größe 7',
    values: [
      { series: 'svc_vm_cpu_seconds_total', value: 1.5 },
      { series: 'svc_vm_running', value: 0 },
      { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'vda', bus: '"0"' }, value: -2 },
      { series: 'svc_vm_load1', value: Number.NaN },
    ],
  })),
};

t.test(
  'an ordinary request is taken by the handler and stored as the framework stores it',
  async (t) => {
    const pair = await openPair(t);
    behaviour.write = async () => ({
      ...{ accepted: 1_000_000, duplicates: 3, sequence: 0 },
      rejected: [{ row: 1, series: 'svc_vm_load1', reason: 'NOT_FINITE' }],
    });
    for (const pieces of [1, 3]) {
      const answer = await pair.agree(t, { body: encoded(ordinary), pieces }, `${pieces} pieces`);
      t.equal(answer.status, 200);
      const reported = fromBinary(WriteSamplesResponseSchema, Buffer.from(answer.body, 'latin1'));
      t.equal(reported.accepted, 1_000_000n);
      t.equal(reported.rejected[0]?.reason, 'NOT_FINITE');
    }
    t.equal(await answeredFast(pair.fast), 2, 'both by the handler');
    await pair.agree(t, { body: encoded({ projectName: 'projects/demo' }) }, 'no rows');
    t.equal(await answeredFast(pair.fast), 3);
  },
);

t.test('rows of one layout share the same list of series', async (t) => {
  const side = await openSide(t, true);
  const series: unknown[] = [];
  behaviour.write = async ({ rows }) => {
    for (const row of rows) series.push(row.series);
    return nothing;
  };
  await side.send({ body: encoded(ordinary) });
  await side.send({ body: encoded(ordinary) });
  t.equal(series.length, 4);
  t.equal(new Set(series).size, 1);
});

t.test('what a caller may report goes along, the same on both ways', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async ({ project, reach }) => ({
    ...{ accepted: 1, duplicates: 0, sequence: 0 },
    rejected: [
      { row: 0, series: `${project} ${reach?.datacenter} ${reach?.vm}`, reason: 'OTHER_VM' },
    ],
  });
  const into = (project: string) =>
    encoded({ ...ordinary, projectName: `projects/${project}`, rows: [] });
  const cases: readonly (readonly [string, string, string])[] = [
    ['collector', 'demo', 'demo null null'],
    ['bound', 'demo', 'demo DC-2 null'],
    ['agent', 'demo', 'demo DC-1 vm-1'],
    ['everywhere', 'demo', 'demo DC-2 null'],
    ['everywhere', 'second', 'second DC-2 null'],
  ];
  for (const [key, project, reported] of cases) {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await pair.agree(t, { body: into(project), headers }, `${key} into ${project}`);
    const { rejected } = fromBinary(WriteSamplesResponseSchema, Buffer.from(answer.body, 'latin1'));
    t.equal(rejected[0]?.series, reported);
  }
  t.equal(await answeredFast(pair.fast), cases.length, 'all by the handler');
  const refused: readonly (readonly [string, string, number])[] = [
    ['everywhere', 'third', 404],
    ['everywhere', '_system', 400],
    ['bound', 'second', 403],
    ['agent', 'second', 403],
  ];
  const foreign = encoded({ ...ordinary, rows: [{ vmName: 'projects/second/vms/x' }] });
  const headers = { authorization: 'Bearer everywhere' };
  const boundary = await pair.agree(t, { body: foreign, headers }, 'a row of another project');
  t.match(boundary, { status: 403, body: /PROJECT_BOUNDARY/ });
  for (const [key, project, status] of refused) {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await pair.agree(t, { body: into(project), headers }, `${key} into ${project}`);
    t.equal(answer.status, status, answer.body);
  }
  t.equal(await answeredFast(pair.fast), cases.length);
});

t.test('what the handler does not take, the framework answers, its body unharmed', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async () => ({ ...nothing, accepted: 5 });
  const body = encoded(ordinary);
  const json = toJsonString(WriteSamplesRequestSchema, create(WriteSamplesRequestSchema, ordinary));
  const otherProject = encoded({ ...ordinary, projectName: 'projects/other' });
  const cases: readonly (readonly [string, Sent, number])[] = [
    ['no credential', { body, headers: { authorization: undefined } }, 401],
    ['a revoked key', { body, headers: { authorization: 'Bearer gone' } }, 401],
    ['a key whose look-up fails', { body, headers: { authorization: 'Bearer fault' } }, 500],
    ['a key that may only read', { body, headers: { authorization: 'Bearer reader' } }, 403],
    ['another project', { body: otherProject }, 403],
    ['another project, in pieces', { body: otherProject, pieces: 3 }, 403],
    ['an unknown protocol version', { body, headers: { 'connect-protocol-version': '2' } }, 400],
    ['JSON', { body: Buffer.from(json), headers: { 'content-type': 'application/json' } }, 200],
    ['gzip', { body: gzipSync(body), headers: { 'content-encoding': 'gzip' } }, 200],
    ['not gzip', { body, headers: { 'content-encoding': 'gzip' } }, 400],
    ['chunked', { body, headers: { 'content-length': undefined }, pieces: 3 }, 200],
    ['a position to wait for', { body, headers: { 'svc-sequence': pair.fast.positionOf(7) } }, 200],
    ['a position that is none', { body, headers: { 'svc-sequence': 'x' } }, 200],
    ['too many positions', { body, headers: { 'svc-sequence': ','.repeat(32) } }, 400],
    ['no bytes', { body: Buffer.alloc(0) }, 400],
    ['over 1 MiB', { body: Buffer.alloc(1024 * 1024 + 1) }, 400],
    ['a row without a VM', { body: encoded({ ...ordinary, rows: [{}] }) }, 400],
    ['not UTF-8', { body: Buffer.concat([body, Buffer.from([0x12, 1, 0xff])]) }, 400],
    ['an unknown field', { body: Buffer.concat([body, Buffer.from([0x78, 1])]) }, 200],
    ['a wrong wire type', { body: Buffer.concat([body, Buffer.from([0x10, 1])]) }, 400],
  ];
  for (const [name, sent, status] of cases) {
    const answer = await pair.agree(t, sent, name);
    t.equal(answer.status, status, `${name}: ${answer.body}`);
  }
  t.equal(await answeredFast(pair.fast), 0);
});
t.test(
  'what ingest refuses is answered in the same words, and nothing else of a fault',
  async (t) => {
    const pair = await openPair(t);
    const errors = [
      new Refusal('NOT_READY', 'The disk is full'),
      new Refusal('TOO_MANY_REQUESTS', 'Too many rows wait'),
      new Error('secret detail'),
    ];
    const statuses: number[] = [];
    for (const error of errors) {
      behaviour.write = () => Promise.reject(error);
      const answer = await pair.agree(t, { body: encoded(ordinary) }, error.message);
      statuses.push(answer.status);
      t.notMatch(answer.body, 'secret detail');
    }
    t.same(statuses, [503, 429, 500]);
    t.equal(await answeredFast(pair.fast), 3);
  },
);

t.test('a fault while the project is looked up is answered, and the service goes on', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async () => nothing;
  const body = encoded({ ...ordinary, projectName: 'projects/fault', rows: [{ vmName: 'vm-1' }] });
  const headers = { authorization: 'Bearer everywhere' };
  for (const pieces of [1, 3]) {
    const answer = await pair.agree(t, { body, headers, pieces }, `${pieces} pieces`);
    t.equal(answer.status, 500);
    t.notMatch(answer.body, 'A mistake of ours');
  }
  t.equal(await answeredFast(pair.fast), 2, 'by the handler');
  t.equal((await pair.agree(t, { body: encoded(ordinary) }, 'afterwards')).status, 200);
});

t.test('a row whose series are too long is refused on both ways, with its index', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async () => nothing;
  const rowOf = (count: number) => ({
    vmName: 'vm-1',
    values: Array.from({ length: count }, (_, i) => ({
      ...{ series: 'svc_vm_x', labels: { a: `${i}`.padStart(200, 'é') }, value: 1 },
    })),
  });
  for (const [count, status] of [
    [300, 200],
    [500, 400],
  ] as const) {
    const rows = [{ vmName: 'vm-2' }, rowOf(count)];
    const answer = await pair.agree(t, { body: encoded({ ...ordinary, rows }) }, `${count} series`);
    t.equal(answer.status, status, answer.body);
    if (status === 400) t.match(answer.body, /rows\[1\]\.values has \d+ bytes of series/);
  }
  t.equal(await answeredFast(pair.fast), 1, 'the shorter one by the handler');
});

t.test('any message gives the same answer and the same rows on both ways', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async ({ rows }) => ({ ...nothing, accepted: rows.length });
  const agree = (request: unknown) => agrees(pair, encoded(request as RequestInit)).then(() => {});
  await fc.assert(fc.asyncProperty(anyRequest, agree), { numRuns: 600 });
  const taken = await answeredFast(pair.fast);
  // About 66, by chance; a test of the framework alone would prove nothing.
  t.ok(taken > 30, `${taken} of 600 were taken by the handler`);
});

t.test('damaged bytes give the same answer on both ways, and never a fault of ours', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async ({ rows }) => ({ ...nothing, accepted: rows.length });
  const statuses = new Map<number, number>();
  const damaged = damagedOf(fc.oneof(anyRequest, fc.constant(ordinary)));
  const property = fc.asyncProperty(damaged, async (bytes) => {
    const status = await agrees(pair, bytes);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    return status < 500;
  });
  await fc.assert(property, { numRuns: 600 });
  t.ok(statuses.has(200) && statuses.has(400), `seen: ${JSON.stringify([...statuses])}`);
});

/** Sends to both; throws when they differ. */
async function agrees({ fast, framework }: Pair, body: Uint8Array): Promise<number> {
  const [ours, theirs] = await Promise.all([fast.send({ body }), framework.send({ body })]);
  deepStrictEqual(seen(ours), seen(theirs));
  deepStrictEqual(fast.written.splice(0), framework.written.splice(0));
  return ours.status;
}
