/**
 * The HTTP server on real sockets of 127.0.0.1: normal answers, misbehaving clients, and a stop
 * that finishes started requests within a bound.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { type Test, test } from 'tap';
import { createHealth, type Health, type PartHealth, ready } from '../../src/platform/health.ts';
import {
  openConfiguredMetricsServer,
  openMetricsServer,
} from '../../src/platform/http/metrics-server.ts';
import { type HttpServer, openHttpServer } from '../../src/platform/http/server.ts';
import { createLog, type Log } from '../../src/platform/log.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics.ts';
import { ConfigError, loadConfig } from '../../src/platform/settings/config.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';

interface Running {
  readonly server: HttpServer;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly logged: string[];
}

interface RunOptions {
  readonly environment?: Record<string, string>;
  readonly addRoutes?: (app: FastifyInstance) => Promise<void>;
  readonly stopWaitMs?: number;
  readonly hasMetrics?: boolean;
}

async function run(t: Test, options: RunOptions = {}): Promise<Running> {
  const environment = { SVC_LISTEN: '127.0.0.1:0', ...options.environment };
  const { settings } = loadConfig([], environment);
  const logged: string[] = [];
  const log = logInto(logged);
  const health = createHealth({ clock: systemClock, log });
  const metrics = createMetrics({ clock: systemClock, version: '1.2.3' });
  t.teardown(() => {
    health.close();
    metrics.close();
  });
  const server = await openHttpServer({
    settings,
    log,
    health,
    metrics,
    clock: systemClock,
    random: seededRandom(1),
    isReader: async ({ headers }) => headers.authorization === 'Bearer good',
    readGate: async ({ headers }) => {
      if (headers.authorization === 'Bearer good') return { release: () => {} };
      throw new Refusal('MISSING_CREDENTIAL', 'Send a key');
    },
    hasMetrics: options.hasMetrics !== false,
    addRoutes: options.addRoutes ?? (async () => {}),
    ...(options.stopWaitMs !== undefined && { stopWaitMs: options.stopWaitMs }),
  });
  t.teardown(() => server.close());
  return { server, health, metrics, logged };
}

function logInto(lines: string[]): Log {
  return createLog({
    level: 'info',
    readable: false,
    clock: systemClock,
    write: (line) => void lines.push(line),
  });
}

test('API-27: health, readiness and metrics report the state of the parts in both spellings', async (t) => {
  const { server, health, logged } = await run(t);
  const state: { stream: PartHealth } = { stream: ready };
  health.watch({ kind: 'stream' }, () => state.stream);
  for (const path of ['/healthz', '/-/healthy', '/readyz', '/-/ready']) {
    const answer = await fetch(server.baseUrl + path);
    t.equal(answer.status, 200, path);
    t.ok(answer.headers.get('x-request-id'));
    t.notOk(answer.headers.has('svc-sequence'), 'no position of the log');
    await answer.text();
  }
  const reason = 'The NATS servers give no answer: nats://svc@10.0.0.7:4222';
  state.stream = { state: 'notReady', reason, summary: 'The stream is unavailable' };
  const answer = await fetch(`${server.baseUrl}/readyz`);
  t.equal(answer.status, 503);
  t.same(await answer.json(), {
    ready: false,
    serving: false,
    parts: [{ name: 'stream', state: 'notReady' }],
  });
  const headers = { authorization: 'Bearer good' };
  const response = await fetch(`${server.baseUrl}/readyz`, { headers });
  t.equal(response.status, 503);
  const part = { name: 'stream', state: 'notReady', reason: 'The stream is unavailable' };
  t.same(await response.json(), { ready: false, serving: false, parts: [part] });
  const bad = { authorization: 'Bearer bad' };
  const stranger = await fetch(`${server.baseUrl}/readyz`, { headers: bad });
  t.equal(stranger.status, 503, 'an invalid key does not change a probe’s answer');
  t.notMatch(await stranger.text(), /reason/);
  t.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200, 'liveness is unaffected');
  const lines = logged.filter((line) => line.includes('The NATS servers give no answer'));
  t.equal(lines.length, 1, 'a change is logged once');

  const refused = await fetch(`${server.baseUrl}/metrics`);
  t.equal(refused.status, 401);
  t.equal(refused.headers.get('www-authenticate'), 'Bearer');
  const text = await (await fetch(`${server.baseUrl}/metrics`, { headers })).text();
  t.match(text, /svc_http_requests_total\{route="\/readyz",status="503"\} 3/);
  t.match(text, /svc_build_info\{version="1.2.3"/);
});

test('request ids share no prefix, so they reveal no counter and no process', async (t) => {
  const { server } = await run(t);
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) {
    const { headers } = await fetch(`${server.baseUrl}/nothing`);
    ids.push(headers.get('x-request-id') ?? '');
  }
  for (const id of ids) t.match(id, /^[\w-]{12}$/);
  for (let length = 2; length <= 12; length++) {
    const starts = new Set(ids.map((id) => id.slice(0, length)));
    t.equal(starts.size, ids.length, `the first ${length} characters differ`);
  }
});

test('metrics of the whole service are not on the API unless configured', async (t) => {
  const { server } = await run(t, { hasMetrics: false });
  const headers = { authorization: 'Bearer good' };
  t.equal((await fetch(`${server.baseUrl}/metrics`, { headers })).status, 404);
});

test('an unknown route is answered in the caller’s format, without a stack trace', async (t) => {
  const { server, logged } = await run(t, {
    addRoutes: async (app) => {
      app.post('/svc.x.v1.Things/Get', async () => ({}));
      app.post('/svc.x.v1.Things/Fail', async () => {
        throw new Error('the secret inside');
      });
      app.post('/svc.x.v1.Things/Busy', async () => {
        throw new Refusal('TOO_MANY_REQUESTS', 'Eight queries are running');
      });
      app.get('/busy', async () => {
        throw new Refusal('TOO_MANY_REQUESTS', 'Eight queries are running');
      });
      app.post('/json', async (request) => request.body);
    },
  });
  const rpc = { 'content-type': 'application/json' };
  const cases: [string, string, string | undefined, number, RegExp][] = [
    [
      'POST',
      '/svc.x.v1.Things/Got',
      '{}',
      404,
      /^\{"code":"unimplemented","message":".*not a method.*"UNKNOWN_PATH"/,
    ],
    ['GET', '/svc.x.v1.Things/Get', undefined, 405, /takes POST, not GET.*"METHOD_NOT_ALLOWED"/],
    ['POST', '/svc.x*.v1.Things/Get', '{}', 404, /"UNKNOWN_PATH"/],
    ['GET', '/:any*/x', undefined, 404, /"UNKNOWN_PATH"/],
    ['POST', '/busy', '{}', 405, /takes GET, not POST.*"METHOD_NOT_ALLOWED"/],
    ['POST', '/svc.x.v1.Things/Get', '{"a":', 400, /"invalid_argument".*ErrorInfo.*INVALID_FIELD/],
    ['POST', '/svc.x.v1.Things/Get', 'x'.repeat(1_100_000), 400, /"reason":"REQUEST_TOO_LARGE"/],
    ['POST', '/svc.x.v1.Things/Busy', '{}', 429, /"resource_exhausted".*TOO_MANY_REQUESTS/],
    ['GET', '/busy', undefined, 429, /"Eight queries are running".*"TOO_MANY_REQUESTS"/],
    ['POST', '/svc.x.v1.Things/Fail', '{}', 500, /^\{"code":"internal".*request id.*"INTERNAL"/],
    ['POST', '/json', '{"a":', 400, /"Body is not valid JSON.*"INVALID_FIELD"/],
    ['POST', '/json', '{"__proto__":{}}', 400, /"Body is not valid JSON.*"INVALID_FIELD"/],
    [
      'GET',
      '/nothing?token=abc',
      undefined,
      404,
      /"There is nothing at \/nothing".*"UNKNOWN_PATH"/,
    ],
    ['POST', '/json', 'x'.repeat(1_100_000), 413, /too large.*"REQUEST_TOO_LARGE"/],
  ];
  for (const [method, path, body, status, expected] of cases) {
    const init = { method, headers: rpc, ...(body !== undefined && { body }) };
    const answer = await fetch(server.baseUrl + path, init);
    const text = await answer.text();
    t.equal(answer.status, status, `${method} ${path}`);
    t.match(text, expected);
    t.notMatch(text, /at .*\.ts|secret inside/);
  }
  t.match(logged.join(''), /the secret inside/, 'the log has the cause');
});

/** Sends raw bytes; resolves to all received bytes once the server closes. */
function raw(server: HttpServer, bytes: string): Promise<string> {
  const { port } = new URL(server.baseUrl);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });
}

test('bytes that are not HTTP, and endless headers, are answered and disconnected', async (t) => {
  const { server, metrics } = await run(t);
  t.match(await raw(server, 'hello\r\n\r\n'), /^HTTP\/1.1 400 Bad Request/);
  const header = `GET /healthz HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`;
  t.match(await raw(server, header), /^HTTP\/1.1 431/);
  const smuggled =
    'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n';
  t.match(await raw(server, smuggled), /^HTTP\/1.1 400/);
  t.match(await metrics.text(), /svc_http_client_errors_total\{code="HPE_HEADER_OVERFLOW"\} 1/);
  t.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200, 'the server still answers');
  const { headersTimeout, requestTimeout, keepAliveTimeout } = server.app.server;
  t.same([headersTimeout, requestTimeout, keepAliveTimeout], [10_000, 30_000, 75_000]);
});

test('a stop finishes the request in flight, rejects new ones and closes idle connections', async (t) => {
  const inside = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const { server, health, logged } = await run(t, {
    stopWaitMs: 5_000,
    addRoutes: async (app) => {
      app.get('/slow', async () => {
        inside.resolve();
        await goOn.promise;
        return 'done';
      });
    },
  });
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const get = (path: string) =>
    new Promise<string>((resolve, reject) => {
      const url = server.baseUrl + path;
      const sent = httpRequest(url, { agent }, (answer) => {
        answer.setEncoding('utf8').on('data', (text: string) => resolve(text));
      });
      sent.on('error', reject).end();
    });
  await get('/healthz');
  const slow = get('/slow');
  await inside.promise;
  const closed = server.close();
  t.equal(health.report().ready, false);
  t.match(health.report().parts.at(-1), { name: 'service', health: { reason: /stopping/ } });
  await t.rejects(fetch(`${server.baseUrl}/healthz`), 'no new connection is accepted');
  goOn.resolve();
  t.equal(await slow, 'done');
  await closed;
  await server.close();
  t.notMatch(logged.join(''), /cut off/, 'the kept-alive connection closed by itself');
});

test('a stop cuts off a request that exceeds its time, and logs it', async (t) => {
  const inside = Promise.withResolvers<void>();
  const { server, logged } = await run(t, {
    stopWaitMs: 50,
    addRoutes: async (app) => {
      app.get('/never', () => {
        inside.resolve();
        return new Promise(() => {});
      });
    },
  });
  const never = fetch(`${server.baseUrl}/never`);
  never.catch(() => {});
  await inside.promise;
  await server.close();
  await t.rejects(never);
  t.match(logged.join(''), /still in flight after 50 ms were cut off/);
});

test('an address that cannot be bound is rejected with a valid alternative', async (t) => {
  const { server } = await run(t);
  const { host } = new URL(server.baseUrl);
  await t.rejects(run(t, { environment: { SVC_LISTEN: host } }), {
    name: 'ConfigError',
    message: /SVC_LISTEN 127\.0\.0\.1:\d+ is taken by another program/,
  });
  await t.rejects(
    run(t, { environment: { SVC_LISTEN: '192.0.2.1:0', SVC_TRUSTED_PROXY: '192.0.2.2' } }),
    /is not an address of this machine/,
  );
});

test('the metrics listener serves metrics and reasons without a credential and nothing else', async (t) => {
  const { metrics, health } = await run(t);
  const address = { host: '127.0.0.1', port: 0 };
  const hosts = { publicUrl: null, allowedHosts: null };
  const own = await openMetricsServer({ address, metrics, health, hosts });
  t.teardown(() => own.close());
  const answer = await fetch(own.url);
  t.equal(answer.status, 200);
  t.match(answer.headers.get('content-type'), /^text\/plain; version=0.0.4/);
  t.match(await answer.text(), /process_resident_memory_bytes \d/);
  const part = { name: 'collector', state: 'degraded', reason: 'ssh: root@hv-7: no route' };
  health.watch({ kind: 'collector' }, () => ({ ...part, state: 'degraded', summary: 'x' }));
  for (const path of ['/readyz', '/-/ready', '/readyz/serving']) {
    const displayed = await fetch(new URL(path, own.url));
    t.equal(displayed.status, 200);
    t.same(await displayed.json(), { ready: true, serving: true, parts: [part] });
  }
  t.equal((await fetch(new URL('/nothing', own.url))).status, 404);
  t.equal((await fetch(own.url, { method: 'POST' })).status, 404);
  const taken = { host: '127.0.0.1', port: Number(new URL(own.url).port) };
  const logged: string[] = [];
  const open = (metricsListen: typeof taken | null, metricsListenGiven: boolean) =>
    openConfiguredMetricsServer({
      settings: { metricsListen, metricsListenGiven, ...hosts },
      metrics,
      health,
      log: logInto(logged),
    });
  await t.rejects(open(taken, true), /SVC_METRICS_LISTEN .* is taken/);
  t.equal(await open(taken, false), undefined, 'its default does not prevent the start');
  t.match(logged.join(''), /is taken by another program/);
  t.equal(await open(null, true), undefined);
});

/** Self-signed, valid for 100 years, used only here: `openssl req -x509 -newkey ec -nodes`. */
function certificate(name: 'first' | 'second'): { cert: string; key: string } {
  const path = (ending: string) =>
    fileURLToPath(new URL(`../support/certificates/${name}.${ending}`, import.meta.url));
  return { cert: path('pem'), key: path('key') };
}

function peerName(server: HttpServer): Promise<string> {
  const port = Number(new URL(server.baseUrl).port);
  return new Promise((resolve, reject) => {
    const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const { CN } = socket.getPeerCertificate().subject;
      resolve(String(CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

test('with a certificate and key it serves TLS, and reloads them on request', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tls-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const second = certificate('second');
  const used = { cert: join(folder, 'cert.pem'), key: join(folder, 'cert.key') };
  copyFileSync(certificate('first').cert, used.cert);
  copyFileSync(certificate('first').key, used.key);
  const environment = { SVC_TLS_CERT_FILE: used.cert, SVC_TLS_KEY_FILE: used.key };
  const { server, logged } = await run(t, { environment });
  t.match(server.baseUrl, /^https:\/\/127\.0\.0\.1:\d+$/);
  t.equal(await peerName(server), 'first');
  copyFileSync(second.cert, used.cert);
  t.throws(() => server.reloadCertificate(), ConfigError, 'certificate and key do not match');
  t.equal(await peerName(server), 'first', 'the old one stays in use');
  copyFileSync(second.key, used.key);
  server.reloadCertificate();
  t.equal(await peerName(server), 'second');
  t.match(logged.join(''), /The certificate was reloaded/);
  await t.rejects(
    run(t, { environment: { SVC_TLS_CERT_FILE: '/no/cert', SVC_TLS_KEY_FILE: used.key } }),
    { name: 'ConfigError', message: /SVC_TLS_CERT_FILE cannot be read: ENOENT/ },
  );
});
