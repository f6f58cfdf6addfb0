/**
 * Rules for every request and connection of a listener, on real sockets of 127.0.0.1: bytes as a
 * hostile or old client sends them, and every kind of answer that the service gives.
 */
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { type Test, test } from 'tap';
import { createHealth } from '../../src/platform/health.ts';
import { goneSignal } from '../../src/platform/http/abort-signals.ts';
import { keepAliveMsAt } from '../../src/platform/http/connections.ts';
import { createHostCheck } from '../../src/platform/http/hosts.ts';
import { openMetricsServer } from '../../src/platform/http/metrics-server.ts';
import { createGuard } from '../../src/platform/http/request-guard.ts';
import { openHttpServer } from '../../src/platform/http/server.ts';
import { KEEP_ALIVE_BUSY_MS, KEEP_ALIVE_MS } from '../../src/platform/http-limits.ts';
import { createLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { until } from '../support/program.ts';

/** Number of requests that `/waits` has begun to answer. */
let waiting = 0;

async function addRoutes(app: FastifyInstance): Promise<void> {
  app.get('/ok', async (request) => ({ path: request.url, ip: request.ip }));
  app.get('/fails', async () => {
    throw new Error('inside');
  });
  app.get('/waits', async (_request, reply) => {
    const signal = goneSignal(reply);
    waiting++;
    await new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  });
  app.get('/moved', (_request, reply) => reply.redirect('/ok'));
  app.post('/svc.x.v1.Things/Get', async () => ({}));
}

async function start(t: Test, environment: Readonly<Record<string, string>> = {}) {
  const { settings } = loadConfig([], { SVC_LISTEN: '127.0.0.1:0', ...environment });
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = createLog({ level: 'info', readable: false, clock: systemClock, write });
  const health = createHealth({ clock: systemClock, log });
  const metrics = createMetrics({ clock: systemClock, version: 'test' });
  const server = await openHttpServer({
    settings,
    log,
    health,
    metrics,
    addRoutes,
    clock: systemClock,
    random: seededRandom(1),
    isReader: async ({ headers }) => headers.authorization === 'Bearer reader',
    readGate: async () => {
      throw new Refusal('MISSING_CREDENTIAL', 'Send a key');
    },
    hasMetrics: true,
  });
  t.teardown(async () => {
    await server.close();
    health.close();
    metrics.close();
  });
  const { port } = server.app.server.address() as AddressInfo;
  return { metrics, health, port, lines };
}

interface Connected {
  readonly tls?: boolean;
  /** Source address, one of this machine. */
  readonly from?: string;
}

/** All bytes received in reply until the server closes the connection. */
function exchange(port: number, bytes: string, { tls, from }: Connected = {}): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = '';
  const localAddress = from === undefined ? {} : { localAddress: from };
  const to = { port, host: '127.0.0.1', ...localAddress };
  const socket = tls
    ? tlsConnect({ ...to, rejectUnauthorized: false }, () => socket.write(bytes))
    : connect(to, () => socket.write(bytes));
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  socket.on('close', () => resolve(text));
  return promise;
}

/** A request that ends its connection; `host` null = without one. */
function requestOf(target: string, host: string | null = '127.0.0.1', more = ''): string {
  const line = host === null ? '' : `host: ${host}\r\n`;
  return `GET ${target} HTTP/1.1\r\n${line}connection: close\r\n${more}\r\n`;
}

const certificate = (ending: string) =>
  fileURLToPath(new URL(`../support/certificates/first.${ending}`, import.meta.url));
const TLS = { SVC_TLS_CERT_FILE: certificate('pem'), SVC_TLS_KEY_FILE: certificate('key') };

const NAMED = { publicUrl: 'https://mon.example.com:8443', allowedHosts: ['svc.lan'] };
const hosts: readonly [host: string, status: number, why: string][] = [
  ['mon.example.com:8443', 200, 'the public URL'],
  ['MON.example.com', 200, 'case and port are ignored'],
  ['mon.example.com.', 200, 'absolute, as name servers write it'],
  ['svc.lan:1', 200, 'an allowed name'],
  ['localhost:8080', 200, 'this machine'],
  ['a.localhost', 200, 'this machine'],
  ['127.0.0.1:8080', 200, 'an address'],
  ['10.1.2.3', 200, 'an address, as health checks use'],
  ['[::1]:8080', 200, 'an address'],
  ['[fd00::1]', 200, 'an address'],
  ['evil.example', 421, 'an unknown name'],
  ['mon.example.com.evil.example', 421, 'a name that starts with the public host'],
  ['xmon.example.com', 421, 'a name that ends with the public host'],
  ['127.0.0.1.nip.io', 421, 'a name that resolves to an address'],
  ['localhost.evil.example', 421, 'a name that starts with localhost'],
  ['', 400, 'nothing'],
  ['mon.example.com:8443, evil.example', 400, 'two in one'],
  ['evil@mon.example.com', 400, 'with a user'],
  ['mon.example.com/x', 400, 'with a path'],
  ['[::1', 400, 'an unclosed address'],
  ['[evil.example]', 400, 'a name in brackets'],
  ['mon.example.com:99999999', 400, 'no port'],
];

test('a Host is accepted if it is the service’s own, this machine or an address', async (t) => {
  const check = createHostCheck(NAMED);
  for (const [host, status, why] of hosts) {
    const requested = {
      rawHeaders: ['Accept', '*/*', 'hOST', host],
      url: '/',
      httpVersionMinor: 1,
    };
    t.equal(check(requested)?.status ?? 200, status, `"${host}": ${why}`);
  }
});

test('a public host with a trailing dot equals the one without', async (t) => {
  const dotted = { publicUrl: 'https://mon.example.com./', allowedHosts: ['svc.lan.'] };
  const check = createHostCheck(dotted);
  for (const host of ['mon.example.com', 'mon.example.com.', 'svc.lan', 'svc.lan.:80']) {
    t.equal(check({ rawHeaders: ['host', host], url: '/', httpVersionMinor: 1 }), undefined, host);
  }
});

test('two Hosts, no Host, and a Host that contradicts the target are rejected', async (t) => {
  const { port, metrics, lines } = await start(t, { SVC_PUBLIC_URL: NAMED.publicUrl });
  const statusOf = async (bytes: string) => (await exchange(port, bytes)).slice(9, 12);
  const two = requestOf('/ok', '127.0.0.1', 'Host: evil.example\r\n');
  t.equal(await statusOf(two), '400');
  t.equal(await statusOf(requestOf('/ok', '127.0.0.1', 'host: 127.0.0.1\r\n')), '400', 'alike');
  t.equal(await statusOf(requestOf('/ok', null)), '400');
  t.equal(await statusOf('GET /ok HTTP/1.0\r\n\r\n'), '200', 'no browser is that old');
  t.equal(await statusOf('GET /ok HTTP/1.0\r\nhost: evil.example\r\n\r\n'), '421');
  t.equal(await statusOf(requestOf('http://evil.example/ok')), '400');
  t.equal(await statusOf(requestOf('http://evil.example/ok', 'evil.example')), '421');
  t.equal(await statusOf(requestOf('http://u@127.0.0.1/ok')), '400');
  const absolute = await exchange(
    port,
    requestOf('HTTP://Mon.example.com:8443/ok?a=1', 'mon.example.com:8443'),
  );
  t.match(
    absolute,
    /^HTTP\/1.1 200.*"path":"\/ok\?a=1"/s,
    'of a proxy’s absolute form only the path is used',
  );
  const answer = await exchange(port, requestOf('/ok', 'evil.example'));
  t.match(
    answer,
    /evil\.example is not a name of this service: .*SVC_PUBLIC_URL, or add the host to SVC_ALLOWED_HOSTS/,
  );
  const rpc = await exchange(port, requestOf('/svc.x.v1.Things/Get', 'evil.example'));
  t.match(rpc, /^HTTP\/1.1 421.*application\/json.*"failed_precondition".*WRONG_HOST/s);
  const text = await metrics.text();
  t.match(text, /svc_http_refused_total\{cause="two_hosts"\} 2/);
  t.match(text, /svc_http_refused_total\{cause="unknown_host"\} 4/);
  t.same(lines, [], 'none of them is logged');
});

test('health is answered under any single name', async (t) => {
  const { port } = await start(t, { SVC_PUBLIC_URL: NAMED.publicUrl });
  const statusOf = async (bytes: string) => (await exchange(port, bytes)).slice(9, 12);
  for (const path of ['/healthz', '/-/healthy', '/readyz?verbose']) {
    t.match(await statusOf(requestOf(path, 'svc.monitoring.svc.cluster.local:8080')), /200|503/);
    t.match(await statusOf(requestOf(path, '127.0.0.1', 'host: svc\r\n')), '400');
  }
  t.match(
    await statusOf(requestOf('http://svc/healthz', 'svc')),
    '200',
    'in the form that a proxy sends',
  );
  for (const path of ['/healthz/', '/metrics', '/ok?/healthz', '//healthz']) {
    t.equal(await statusOf(requestOf(path, 'svc')), '421', path);
  }
});

test('API-27: readiness gives readers a summary and occupies no slot', async (t) => {
  const { port, health } = await start(t);
  const disk = { state: 'degraded', reason: '/dev/sda is full', summary: 'Nearly full' } as const;
  health.watch({ kind: 'disk' }, () => disk);
  const ask = (key: string) =>
    exchange(port, requestOf('/readyz', '127.0.0.1', `authorization: Bearer ${key}\r\n`));
  t.equal((await ask('reader')).includes('Nearly full'), true);
  t.equal((await ask('stranger')).includes('Nearly full'), false);
});

test('a client that disconnects is not logged, but counted as gone', async (t) => {
  const { port, metrics, lines } = await start(t);
  const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(requestOf('/waits')));
  const gone = /svc_http_requests_total\{route="\/waits",status="499"\} 1/;
  const before = waiting;
  await until('the request is there', () => waiting > before || undefined);
  socket.destroy();
  await until('it is counted', async () => gone.test(await metrics.text()) || undefined);
  t.notMatch(await metrics.text(), /status="500"/);
  t.same(lines, []);
});

test('the metrics listener checks the Host too', async (t) => {
  const { metrics, health } = await start(t);
  const address = { host: '127.0.0.1', port: 0 };
  const hosts = { publicUrl: null, allowedHosts: null };
  const own = await openMetricsServer({ address, metrics, health, hosts });
  t.teardown(() => own.close());
  const port = Number(new URL(own.url).port);
  t.match(await exchange(port, requestOf('/metrics', 'evil.example')), /^HTTP\/1.1 421/);
  t.match(await exchange(port, requestOf('/metrics', null)), /^HTTP\/1.1 400/);
  t.match(await exchange(port, requestOf('/metrics')), /^HTTP\/1.1 200/);
  for (const bytes of [...KINDS_OF_ANSWER.values()]) {
    t.match(await exchange(port, bytes), /\r\nx-content-type-options: nosniff\r\n/i);
  }
  t.match(await metrics.text(), /svc_metrics_listener_refused_total\{cause="unknown_host"\} 2/);
});

const post = (target: string, body: string, more = '') =>
  `POST ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n${more}content-length: ${body.length}\r\n\r\n${body}`;
const json = 'content-type: application/json\r\n';
/** One request for each kind of answer, whoever makes it: a route, fastify, Node, or the parser. */
const KINDS_OF_ANSWER = new Map<string, string>([
  ['200', requestOf('/ok')],
  ['HEAD', requestOf('/ok').replace('GET', 'HEAD')],
  ['OPTIONS', requestOf('/ok').replace('GET', 'OPTIONS')],
  ['OPTIONS *', requestOf('*').replace('GET', 'OPTIONS')],
  ['302', requestOf('/moved')],
  ['404', requestOf('/nothing')],
  ['404 of a method', post('/svc.x.v1.Things/Got', '{}', json)],
  ['405', requestOf('/svc.x.v1.Things/Get')],
  ['400 of a body', post('/svc.x.v1.Things/Get', '{', json)],
  ['413', post('/svc.x.v1.Things/Get', 'x'.repeat(30_000), json)],
  ['415', post('/svc.x.v1.Things/Get', 'x', 'content-type: image/png\r\n')],
  ['500', requestOf('/fails')],
  ['401', requestOf('/metrics')],
  ['readiness', requestOf('/readyz')],
  ['an invalid path', requestOf('/%zz')],
  ['417', requestOf('/ok', '127.0.0.1', 'expect: a-pony\r\n')],
  ['421', requestOf('/ok', 'evil.example')],
  ['400 without a Host', requestOf('/ok', null)],
  ['no HTTP', 'hello\r\n\r\n'],
  ['headers without end', `GET / HTTP/1.1\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`],
  ['an upgrade', requestOf('/ok', '127.0.0.1', 'upgrade: websocket\r\n')],
]);

test('every kind of answer carries nosniff, and over https also HSTS', async (t) => {
  const { port } = await start(t);
  const secure = await start(t, TLS);
  for (const [kind, bytes] of KINDS_OF_ANSWER) {
    const plain = await exchange(port, bytes);
    t.match(plain, /\r\nx-content-type-options: nosniff\r\n/i, kind);
    t.notMatch(plain, /strict-transport/i, `${kind}, over plain http`);
    const overTls = await exchange(secure.port, bytes, { tls: true });
    t.match(overTls, /\r\nx-content-type-options: nosniff\r\n/i, `${kind}, TLS`);
    // A request without an acceptable Host has no origin, and one that is not HTTP has no headers.
    if (/^HTTP\/1.1 (4(21|31)|400 Bad Request\r\nconnection)/.test(overTls)) continue;
    if (kind === '400 without a Host') continue;
    t.match(overTls, /\r\nstrict-transport-security: max-age=31536000\r\n/i, `${kind}, TLS`);
  }
  const local = await exchange(secure.port, requestOf('/ok', 'localhost'), { tls: true });
  t.notMatch(local, /strict-transport/i, 'other programs on localhost stay reachable');
});

test('behind a proxy, only the proxy and this machine may use plain http', async (t) => {
  const proxied = { SVC_PUBLIC_URL: 'https://mon.example.com', SVC_TRUSTED_PROXY: '127.0.0.9' };
  const { port } = await start(t, proxied);
  const ask = (more: string, from: string) =>
    exchange(port, requestOf('/ok', 'mon.example.com', more), { from });
  const https = 'x-forwarded-proto: https\r\nx-forwarded-for: 192.0.2.7\r\n';
  const forwarded = await ask(https, '127.0.0.9');
  t.match(forwarded, /"ip":"192\.0\.2\.7"/, 'the client is the one that the proxy names');
  t.match(forwarded, /strict-transport-security/i);
  t.match(await ask('', '127.0.0.9'), /strict-transport-security/i, 'the public URL is https');
  t.notMatch(await ask('x-forwarded-proto: http\r\n', '127.0.0.9'), /strict-transport/i);
  const local = await ask(https, '127.0.0.1');
  t.match(
    local,
    /^HTTP\/1.1 200.*"ip":"127\.0\.0\.1"/s,
    'this machine is served, but its forwarded header is ignored',
  );
  t.notMatch(local, /strict-transport/i);
});

test('a request that bypasses the proxy gets an answer for health only', async (t) => {
  // There is no other machine in a test: 127.0.0.0/8 stands for one where loopback is not meant.
  const requested = { rawHeaders: ['host', '10.0.0.1'], url: '/ok', httpVersionMinor: 1 };
  t.equal(createHostCheck(NAMED)(requested), undefined);

  const causes: string[] = [];
  const isAdmitted = createGuard({
    settings: {
      publicUrl: 'https://mon.example.com',
      allowedHosts: null,
      trustedProxy: ['10.0.0.9'],
    },
    recordRefused: (cause) => void causes.push(cause),
  });
  const answered: [number, string][] = [];
  const response = () => ({
    setHeader() {},
    writeHead(status: number) {
      return { end: (body: string) => void answered.push([status, body]) };
    },
  });
  const request = (remoteAddress: string, url = '/ok', encrypted = false) => ({
    rawHeaders: ['host', '10.0.0.1'],
    headers: { host: '10.0.0.1' },
    httpVersionMinor: 1,
    url,
    socket: { remoteAddress, encrypted },
  });
  const ask = (...of: Parameters<typeof request>) =>
    // The guard reads only these fields of Node's classes.
    isAdmitted(request(...of) as never, response() as never);
  t.equal(ask('10.0.0.9'), true);
  t.equal(ask('::ffff:10.0.0.9'), true, 'the form of a dual-stack listener');
  t.equal(ask('10.0.0.8', '/ok', true), true, 'over TLS');
  t.equal(ask('10.0.0.8', '/healthz?x=1'), true);
  t.equal(ask('10.0.0.8', '/readyz'), true);
  t.equal(ask('10.0.0.8'), false);
  t.equal(ask('10.0.0.8', '/svc.x.v1.Things/Get'), false);
  t.match(answered, [
    [403, /Only the proxy in front of the service \(SVC_TRUSTED_PROXY\) may/],
    [403, /"permission_denied".*INSECURE_TRANSPORT/],
  ]);
  t.same(causes, ['past_proxy', 'past_proxy']);
});

test('a proxy setting that matches every address is rejected at start', async (t) => {
  for (const range of [
    '0.0.0.0/0',
    '::/0',
    '0.0.0.0/1',
    '::ffff:0:0/96',
    '2000::/3',
    '128.0.0.0/7',
  ]) {
    t.throws(() => loadConfig([], { SVC_TRUSTED_PROXY: `10.0.0.5, ${range}` }), {
      message: /SVC_TRUSTED_PROXY .* trusts strangers too.* Name the proxy itself/,
    });
  }
  for (const range of ['10.0.0.0/8', 'fc00::/7', '10.0.0.5', '::ffff:10.0.0.0/104']) {
    t.same(loadConfig([], { SVC_TRUSTED_PROXY: range }).settings.trustedProxy, [range]);
  }
});

/** Opens a connection; resolves once the server has answered on it or closed it. */
function hold(t: Test, port: number, from: string): Promise<Socket | undefined> {
  const { promise, resolve } = Promise.withResolvers<Socket | undefined>();
  const socket = connect({ port, host: '127.0.0.1', localAddress: from }, () => {
    socket.write('GET /ok HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  });
  t.teardown(() => socket.destroy());
  socket.on('data', () => resolve(socket));
  socket.on('error', () => {});
  socket.on('close', () => resolve(undefined));
  return promise;
}

test('connections are limited per address', async (t) => {
  const environment = { SVC_CONNECTIONS_PER_ADDRESS: '8', SVC_TRUSTED_PROXY: '127.0.0.9' };
  const { port, metrics } = await start(t, environment);
  const held: Socket[] = [];
  for (let i = 0; i < 8; i++) held.push((await hold(t, port, '127.0.0.1')) as Socket);
  t.notOk(held.includes(undefined as never), 'eight are served');
  t.equal(await hold(t, port, '127.0.0.1'), undefined, 'the ninth is closed');
  t.ok(await hold(t, port, '127.0.0.2'), 'another address is served');
  for (let i = 0; i < 10; i++)
    t.ok(await hold(t, port, '127.0.0.9'), 'a proxy stands for many clients');
  const text = await metrics.text();
  t.match(text, /svc_http_connections_refused_total\{cause="address"\} 1/);
  t.match(text, /svc_http_connections 19\n/);
  const closed = new Promise((resolve) => held[0]?.once('close', resolve));
  held[0]?.end('GET /ok HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n');
  await closed;
  // The server notices one turn later than the client.
  let again: Socket | undefined;
  for (let i = 0; i < 50 && !again; i++) again = await hold(t, port, '127.0.0.1');
  t.ok(again, 'a closed connection frees its slot');
});

test('idle connections are kept for less time as free slots run out', async (t) => {
  t.equal(keepAliveMsAt(0), KEEP_ALIVE_MS);
  t.equal(keepAliveMsAt(0.5), KEEP_ALIVE_MS);
  t.equal(keepAliveMsAt(0.7), (KEEP_ALIVE_MS + KEEP_ALIVE_BUSY_MS) / 2);
  t.equal(keepAliveMsAt(0.9), KEEP_ALIVE_BUSY_MS);
  t.equal(keepAliveMsAt(1), KEEP_ALIVE_BUSY_MS);
});
