/**
 * Two servers over one recording ingest: one with the binary handler of `WriteSamples` in front,
 * one with only the RPC framework. For any input, both give the same answer and store the same
 * rows.
 */
import { deepStrictEqual } from 'node:assert';
import { Agent, request as httpRequest } from 'node:http';
import { fromBinary, toJsonString } from '@bufbuild/protobuf';
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import type { Test } from 'tap';
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
import type { RequestInit } from '../support/write-requests.ts';

const PATH = '/svc.ingest.v1.IngestService/WriteSamples';
const COLLECTOR = 'Bearer collector';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

export interface Sent {
  readonly body: Uint8Array;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Number of pieces in which the body is written; default one. */
  readonly pieces?: number;
}

export interface Side {
  readonly server: HttpServer;
  readonly metrics: Metrics;
  /** Requests that ingest received since the last read. */
  readonly written: WriteRequest[];
  send(sent: Sent): Promise<Answer>;
  readonly positionOf: (sequence: number) => string;
}

/** Behaviour of ingest for the next requests; both sides share it. */
export const behaviour: { write: Ingest['write'] } = { write: async () => nothing };
export const nothing = { accepted: 0, duplicates: 0, rejected: [], sequence: 0 };

export async function openSide(t: Test, fast: boolean): Promise<Side> {
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
    ingest,
    authenticator,
    host,
    positions,
    metrics,
    anonymousLimits,
    recordBrokenBody: () => {},
    clock: systemClock,
    log: silentLog,
    ...bounds,
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
    server,
    metrics,
    written,
    positionOf: positions.tokenOf,
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

/** Writes each piece in its own turn, so that it arrives as a chunk of its own. */
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

/** Number of requests that the handler itself has answered. */
export async function answeredFast({ metrics }: Side): Promise<number> {
  const [, count] = /^svc_write_samples_fast_total (\d+)$/m.exec(await metrics.text()) ?? [];
  return Number(count);
}

/** Everything by which a caller can distinguish two answers. */
function seen({ status, headers, body }: Answer) {
  const { 'content-type': type, 'svc-sequence': sequence, 'retry-after': retryAfter } = headers;
  return {
    // Two tokens of one position differ, so only their presence counts.
    status,
    type,
    hasPosition: sequence !== undefined,
    retryAfter,
    length: headers['content-length'],
    body: body.toString('latin1'),
  };
}

export function responseOf({ body }: ReturnType<typeof seen>) {
  return fromBinary(WriteSamplesResponseSchema, Buffer.from(body, 'latin1'));
}

export interface Pair {
  readonly fast: Side;
  readonly framework: Side;
  /** Sends to both, checks that they agree, and returns the answer. */
  agree(t: Test, sent: Sent, name: string): Promise<ReturnType<typeof seen>>;
}

export async function openPair(t: Test): Promise<Pair> {
  const [fast, framework] = await Promise.all([openSide(t, true), openSide(t, false)]);
  return {
    fast,
    framework,
    async agree(t, sent, name) {
      const [ours, theirs] = await Promise.all([fast.send(sent), framework.send(sent)]);
      t.same(seen(ours), seen(theirs), `${name}: the same answer`);
      t.same(fast.written, framework.written, `${name}: the same rows`);
      t.ok(theirs.headers['x-request-id'] && ours.headers['x-request-id'], 'both have an id');
      fast.written.length = 0;
      framework.written.length = 0;
      return seen(ours);
    },
  };
}

export const ordinary = {
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
      { series: 'svc_vm_memory_free_bytes', value: 0 },
      { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'vda', bus: '"0"' }, value: -2 },
      { series: 'svc_vm_load1', value: Number.NaN },
    ],
  })),
} satisfies RequestInit;

/** Ingest that stores every row, and passes on earlier rejections. */
export const storing: Ingest['write'] = async ({ rows, rejected = [] }) => ({
  ...nothing,
  accepted: rows.length,
  rejected,
});

/** The same request as JSON. */
export function jsonOf(body: Uint8Array): Sent {
  const message = fromBinary(WriteSamplesRequestSchema, body);
  return {
    body: Buffer.from(toJsonString(WriteSamplesRequestSchema, message)),
    headers: { 'content-type': 'application/json' },
  };
}

/** Sends to both. Throws if they differ. */
export async function agrees({ fast, framework }: Pair, body: Uint8Array) {
  const [ours, theirs] = await Promise.all([fast.send({ body }), framework.send({ body })]);
  deepStrictEqual(seen(ours), seen(theirs));
  const written = fast.written.splice(0);
  deepStrictEqual(written, framework.written.splice(0));
  return { status: ours.status, body: ours.body, written };
}
