/**
 * The PromQL URL on a real HTTP server with real keys. A recorder replaces the query threads. For
 * tests of admission, parsing and refusals.
 */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { Test } from 'tap';
import { createAlertingRules } from '../../src/alerting/alerting-rules.ts';
import { openHttpServer } from '../../src/platform/http/server.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { addPromqlRoutes } from '../../src/telemetry/prometheus-api/routes.ts';
import { encodeData } from '../../src/telemetry/query/promql/promql-json.ts';
import type { PromqlQueries } from '../../src/telemetry/query/promql/promql-queries.ts';
import type { PromqlAnswer, QueryRequest } from '../../src/telemetry/query/promql/query-request.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { testAnonymousLimits } from './anonymous-limits.ts';
import { testBounds } from './bounds.ts';
import { authenticator, startWorld } from './host-in-memory.ts';
import { identitiesOf, type TestCapability } from './identities.ts';
import { testPositions } from './positions.ts';

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  // Answers are read by tests that know their shape.
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
  readonly body: any;
}

export interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Key. Default: one that reads `demo`; null = no Authorization header. */
  readonly key?: string | null;
}

export type PromqlRoutesWorld = Awaited<ReturnType<typeof startPromqlRoutes>>;

/**
 * Starts a server on 127.0.0.1 that ends with the test. `answer`: result of the queries, default
 * `[]`.
 */
export async function startPromqlRoutes(
  t: Test,
  answer: PromqlQueries['run'] = async () => emptyAnswer,
) {
  const world = await startWorld(t);
  const { clock, host, random } = world;
  const [requests, lines]: [QueryRequest[], string[]] = [[], []];
  const note = (facts: object, message: string) => {
    lines.push(`${message} ${'err' in facts ? String(facts.err) : ''}`);
  };
  const log = { debug: () => {}, info: note, warn: note, error: note, child: () => log };
  const metrics = createMetrics({ clock: systemClock, version: '1.2.3' });
  const health = { isReady: true };
  const positions = testPositions(world);
  const server = await openHttpServer({
    settings: loadConfig([], { SVC_LISTEN: '127.0.0.1:0' }).settings,
    log,
    metrics,
    clock: systemClock,
    random: seededRandom(1),
    health: {
      report: () => ({ ready: health.isReady, serving: health.isReady, parts: [] }),
      look: () => ({ ready: health.isReady, serving: health.isReady, parts: [] }),
      watch: () => () => {},
      stopping: () => {},
      close: () => {},
    },
    isReader: async () => true,
    readGate: async () => ({ release: () => {} }),
    addRoutes: (app) =>
      addPromqlRoutes(app, {
        clock,
        log,
        anonymousLimits: testAnonymousLimits(t, clock),
        positions,
        gate: testBounds(clock).gate,
        authenticator: authenticator(t, world).made,
        alertingRules: createAlertingRules({ host, evaluator: { instances: () => [] } }),
        health: { report: () => ({ ready: health.isReady }) },
        queries: notedQueries(requests, answer),
      }),
  });
  t.teardown(async () => {
    await server.close();
    metrics.close();
  });
  const identities = identitiesOf({ host, clock, random });
  const issue = async (project: string, capability: TestCapability) =>
    capability === 'collector'
      ? (await identities.collector(project)).key
      : (await identities.accountKey(project, [capability])).key;
  const keys = {
    read: await issue('demo', 'monitoring.read'),
    write: await issue('demo', 'monitoring.write'),
    collector: await issue('demo', 'collector'),
    other: await issue('other', 'monitoring.read'),
  };
  /** `path` is below the base of `demo`, or from the root if it begins with `/v1/`. */
  async function send(path: string, { method = 'GET', body, headers, key }: Sent = {}) {
    const bearer = key === undefined ? keys.read : key;
    return await exchange(server.baseUrl, {
      method,
      path: path.startsWith('/v1/') ? path : BASE + path,
      headers: { ...(bearer !== null && { authorization: `Bearer ${bearer}` }), ...headers },
      body,
    });
  }
  /** Posts a form. */
  const post = (path: string, form: string) => send(path, { method: 'POST', ...formBody(form) });
  return {
    clock,
    host,
    positions,
    server,
    requests,
    lines,
    metrics,
    keys,
    health,
    issue,
    send,
    post,
  };
}

export const BASE = '/v1/monitoring/projects/demo/promql';

/** Body and header of a form. */
export function formBody(form: string) {
  return { body: form, headers: { 'content-type': 'application/x-www-form-urlencoded' } };
}

const emptyAnswer: PromqlAnswer = { status: 200, body: encodeData([]), encoding: 'identity' };

/** Sends one request on its own connection, with its path unchanged. */
export async function exchange(
  baseUrl: string,
  sent: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string | string[]>>;
    readonly body: string | undefined;
  },
): Promise<Answered> {
  const { method, path, headers, body } = sent;
  const { hostname, port } = new URL(baseUrl);
  // Node sets the length only for methods that usually have a body.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const requested = httpRequest({
    hostname,
    port,
    method,
    path,
    agent: false,
    headers: { ...length, ...headers },
  });
  requested.end(body);
  const [response] = (await once(requested, 'response')) as [IncomingMessage];
  const bytes = await buffer(response);
  const text = unpacked(bytes, response.headers['content-encoding']).toString();
  const isJson = response.headers['content-type']?.startsWith('application/json') === true;
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
    ),
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

function unpacked(bytes: Buffer, encoding: string | undefined): Buffer {
  if (encoding === 'gzip') return gunzipSync(bytes);
  return encoding === 'zstd' ? zstdDecompressSync(bytes) : bytes;
}

/** Complete response to a request line and headers, sent unchanged. */
export function rawRequest(baseUrl: string, head: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1', () => {
    socket.write(`${head}connection: close\r\n\r\n`);
  });
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(text));
  return promise;
}

function notedQueries(requests: QueryRequest[], answer: PromqlQueries['run']): PromqlQueries {
  return {
    lookbackMs: () => 300_000,
    run(request, signal) {
      requests.push(request);
      return answer(request, signal);
    },
  };
}
