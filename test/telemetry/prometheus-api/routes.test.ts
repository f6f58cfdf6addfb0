/**
 * The PromQL URL before a query runs: admitted requests, and the form of all refusals. For the
 * parsing of a request, see `promql-parameters.test.ts`.
 */
import { connect } from 'node:net';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { test } from 'tap';
import { parseKey } from '../../../src/platform/keys.ts';
import { PromqlError } from '../../../src/telemetry/promql/errors.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { revokeCredential } from '../../support/credentials.ts';
import { tester } from '../../support/host-in-memory.ts';
import { BASE, formBody, rawRequest, startPromqlRoutes } from '../../support/promql-routes.ts';

test('API-06: only an Authorization header with a reading credential of this project is admitted', async (t) => {
  const { send, keys, requests, clock } = await startPromqlRoutes(t);
  const url = '/api/v1/query?query=up';
  const missing = await send(`${url}&access_token=${keys.read}`, {
    key: null,
    headers: { 'x-api-key': keys.read, cookie: `token=${keys.read}` },
  });
  t.equal(missing.status, 401);
  t.equal(missing.headers['www-authenticate'], 'Bearer');
  t.match(missing.body, {
    status: 'error',
    errorType: 'unauthorized',
    error: /^MISSING_CREDENTIAL: /,
  });
  t.match((await send(url, { key: 'nonsense' })).body, { error: /^MALFORMED_CREDENTIAL: / });
  for (const key of [keys.write, keys.collector]) {
    const { status, body } = await send(url, { key });
    t.equal(status, 403);
    t.match(body, { status: 'error', errorType: 'forbidden', error: /^MISSING_CAPABILITY: / });
  }
  const refused = await Promise.all(
    ['other', 'no-such-project', 'Demo', 'demo%00', '%2a', '..', 'demo%2fother', 'demo%20'].map(
      (project) => send(`/v1/monitoring/projects/${project}/promql${url}`),
    ),
  );
  for (const { status, text, headers } of refused) {
    t.equal(status, 403);
    t.match(JSON.parse(text).error, /^PROJECT_BOUNDARY: /);
    t.equal(text, refused[0]?.text, 'the same whether or not it exists');
    t.equal(headers['content-length'], refused[0]?.headers['content-length']);
  }
  t.same(requests, []);
  t.equal((await send(`/v1/monitoring/projects/%64emo/promql${url}`)).status, 200, 'the same id');
  t.match(requests, [{ project: 'demo' }]);
  await clock.advance(91 * 86_400_000);
  t.match((await send(url)).body, { error: /^CREDENTIAL_EXPIRED: / });
});

test('two Authorization headers, or headers that name a tenant or a method, change nothing', async (t) => {
  const { send, keys, server, requests } = await startPromqlRoutes(t);
  const doubled = await rawRequest(
    server.baseUrl,
    `GET ${BASE}/api/v1/query?query=up HTTP/1.1\r\nhost: 127.0.0.1\r\n` +
      `authorization: Bearer ${keys.read}\r\nauthorization: Bearer ${keys.other}\r\n`,
  );
  t.match(doubled, /^HTTP\/1.1 401 .*MALFORMED_CREDENTIAL/s);
  t.same(requests, []);
  const headers = {
    'x-scope-orgid': 'other',
    'x-prom-label-proxy': 'other',
    'x-project': 'other',
    'x-http-method-override': 'DELETE',
    'x-original-url': '/v1/monitoring/projects/other/promql/api/v1/query',
    'x-forwarded-prefix': '/v1/monitoring/projects/other',
  };
  t.equal((await send('/api/v1/query?query=up&_method=PUT', { headers })).status, 200);
  t.match(requests, [{ project: 'demo', operation: { kind: 'instant', expression: 'up' } }]);
});

test('a wrong method on a known path is refused as such, and OPTIONS answers 204', async (t) => {
  const { send, requests } = await startPromqlRoutes(t);
  const both = [
    'query',
    'query_range',
    'series',
    'labels',
    'query_exemplars',
    'format_query',
    'parse_query',
  ];
  const getOnly = ['label/a/values', 'metadata', 'rules', 'alerts', 'status/buildinfo'];
  const rows = [
    ...both.map((path) => ({
      path,
      allow: 'GET, POST, OPTIONS',
      wrong: ['PUT', 'HEAD', 'PROPFIND'],
    })),
    ...getOnly.map((path) => ({ path, allow: 'GET, OPTIONS', wrong: ['POST', 'DELETE', 'PATCH'] })),
  ];
  for (const { path, allow, wrong } of rows) {
    for (const method of wrong) {
      const answer = await send(`/api/v1/${path}`, {
        method,
        ...(method === 'HEAD'
          ? {}
          : { body: 'x', headers: { 'content-type': 'application/x-protobuf' } }),
      });
      t.equal(answer.status, 405, `${method} ${path}`);
      t.equal(answer.headers.allow, allow);
      t.match(answer.headers['content-type'], 'text/plain');
    }
    const options = await send(`/api/v1/${path}`, { method: 'OPTIONS', key: null });
    t.equal(options.status, 204);
    t.equal(options.text, '');
  }
  t.same(requests, []);
});

test('API-03: other Prometheus paths and inexact spellings are not found', async (t) => {
  const { send, requests } = await startPromqlRoutes(t);
  const api = [
    'write',
    'read',
    'otlp/v1/metrics',
    'push',
    'import',
    'admin/tsdb/delete_series',
    'admin/tsdb/snapshot',
    'admin/tsdb/clean_tombstones',
    'status/config',
    'status/tsdb',
    'status/walreplay',
    'targets/metadata',
    'scrape_pools',
    'alertmanagers',
    'notifications',
    'notifications/live',
    'features',
    'rules/group',
    'label/values',
    'label/a/b/values',
    'query/',
    'Query',
    'QUERY_RANGE',
    'query%2f',
    'query;x',
    'query%00',
    '',
    'x/../query',
    '%2e%2e/v1/query',
    '%2e%2e%2fv1%2fquery',
    'series/x',
  ].map((path) => `/api/v1/${path}`);
  const others = [
    '/federate',
    '/metrics',
    '/-/reload',
    '/-/quit',
    '/graph',
    '/classic',
    '/debug/pprof',
    '/config',
    '/',
    '/api/v1',
    '/api/v2/query',
    '/api/v1//query',
    '//api/v1/query',
    '/API/v1/query',
    '/api/v1/../query',
    '/../promql/api/v1/query',
    '/%2e%2e/export',
    '/api/prom/push',
    '/vmui',
    '/-/healthy/',
    '/rules',
  ];
  for (const path of [...api, ...others]) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const body = { body: 'x', headers: { 'content-type': 'application/x-protobuf' } };
      const answer = await send(path, { method, ...(method === 'GET' ? {} : body) });
      t.equal(answer.status, 404, `${method} ${path}`);
      t.match(answer.headers['content-type'], 'text/plain');
    }
  }
  t.equal((await send('/v1/monitoring/projects/demo/promql')).status, 404);
  t.equal((await send('/v1//monitoring/projects/demo/promql/api/v1/query')).status, 404);
  t.equal((await send('/v1/monitoring/projects//promql/api/v1/query')).status, 403);
  t.equal((await send('/v1/monitoring/projects/other/../demo/promql/api/v1/query')).status, 404);
  t.same(requests, []);
});

test('a body that is not a plain UTF-8 form is refused unread, and that of a GET is ignored', async (t) => {
  const { send, requests } = await startPromqlRoutes(t);
  const form = 'application/x-www-form-urlencoded';
  const rows: readonly [headers: Record<string, string>, body: string][] = [
    [{ 'content-type': 'application/json' }, '{"query":"up"}'],
    [
      { 'content-type': 'multipart/form-data; boundary=a' },
      '--a\r\nContent-Disposition: form-data; name="query"\r\n\r\nup\r\n--a--\r\n',
    ],
    [{ 'content-type': 'text/plain' }, 'query=up'],
    [{}, 'query=up'],
    [{ 'content-type': `${form}; charset=utf-16` }, 'query=up'],
    [{ 'content-type': `${form}, application/json` }, 'query=up'],
    [{ 'content-type': form, 'content-encoding': 'gzip' }, 'query=up'],
    [{ 'content-type': form, 'content-encoding': 'zstd' }, 'query=up'],
  ];
  for (const [headers, body] of rows) {
    const answer = await send('/api/v1/query?query=up', { method: 'POST', headers, body });
    t.equal(answer.status, 415, JSON.stringify(headers));
    t.match(answer.body, { status: 'error', errorType: 'bad_data' });
  }
  t.same(requests, []);
  const huge = await send('/api/v1/query', {
    method: 'POST',
    ...formBody(`query=${'x'.repeat(1_100_000)}`),
  });
  t.equal(huge.status, 413);
  t.equal(huge.body.errorType, 'bad_data');
  const fine = { method: 'POST', body: 'query=up' };
  for (const type of [`${form};charset=UTF-8`, `${form}; charset="utf-8"`, form.toUpperCase()]) {
    t.equal(
      (await send('/api/v1/query', { ...fine, headers: { 'content-type': type } })).status,
      200,
    );
  }
  const empty = { method: 'POST', body: '', headers: { 'content-type': 'application/json' } };
  t.equal((await send('/api/v1/query?query=up', empty)).status, 200, 'nothing to misread');
  requests.length = 0;
  await send('/api/v1/query?query=up', { method: 'GET', ...formBody('query=other') });
  t.match(requests, [{ operation: { expression: 'up' } }]);
});

test('unsupported calls return empty results, and buildinfo a version that Grafana accepts', async (t) => {
  const { send, post, requests } = await startPromqlRoutes(t);
  const data = async (path: string) => (await send(`/api/v1/${path}`)).body;
  t.same(await data('rules?type=alert'), { status: 'success', data: { groups: [] } });
  t.same(await data('alerts'), { status: 'success', data: { alerts: [] } });
  const inMs = 'query=test&start=1700000000000&end=1700000600000';
  t.same(await data(`query_exemplars?${inMs}`), { status: 'success', data: [] });
  t.same((await post('/api/v1/query_exemplars', inMs)).body, { status: 'success', data: [] });
  const { data: build } = await data('status/buildinfo');
  t.match(build.version, /^3\.\d+\.\d+$/);
  for (const part of ['version', 'revision', 'branch', 'buildUser', 'buildDate', 'goVersion']) {
    t.type(build[part], 'string');
  }
  t.notOk('features' in build, 'with it, Grafana would look for a ruler');
  t.same(requests, []);
});

test('metadata has type, help and unit of the project’s metrics only', async (t) => {
  const names = ['own_series', 'svc_vm_cpu_seconds_total', 'svc_vm_memory_free_bytes'];
  const body = Buffer.from(JSON.stringify({ status: 'success', data: names }));
  const { send, requests } = await startPromqlRoutes(t, async () => {
    return { status: 200, body, encoding: 'identity' };
  });
  const data = async (query: string) => (await send(`/api/v1/metadata${query}`)).body.data;
  const all = await data('');
  t.same(Object.keys(all), names);
  t.match(all.svc_vm_cpu_seconds_total, [{ type: 'counter', unit: 'seconds', help: /CPU time/ }]);
  t.match(all.svc_vm_memory_free_bytes, [{ type: 'gauge', unit: 'bytes', help: /free/ }]);
  t.same(all.own_series, [{ type: 'unknown', unit: '', help: '' }]);
  t.same(await data('?limit=40000'), all);
  t.same(Object.keys(await data('?limit=2&limit_per_metric=1')), names.slice(0, 2));
  t.same(await data('?limit=0'), {});
  t.same(Object.keys(await data('?metric=own_series')), ['own_series']);
  t.same(await data('?metric=svc_vm_load1'), {}, 'known, and not a metric of the project');
  t.ok(requests.every(({ project }) => project === 'demo'));
});

test('an answer is compressed as the client prefers, and declares it', async (t) => {
  const identity = Buffer.from('{}');
  const packed = { identity, gzip: gzipSync(identity), zstd: zstdCompressSync(identity) };
  const { send } = await startPromqlRoutes(t, async ({ encoding }) => {
    return { status: 200, body: packed[encoding], encoding };
  });
  const rows: readonly [accepted: string | undefined, encoding: string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip;q=1, zstd;q=0.5', 'gzip'],
    ['zstd;q=0, gzip;q=0', undefined],
    ['*', 'zstd'],
    ['*;q=0.1, gzip', 'gzip'],
    ['identity, gzip;q=0.5', undefined],
    ['br, deflate', undefined],
    ['GZIP;Q=0.8', 'gzip'],
    ['gzip;q=nonsense', undefined],
  ];
  for (const [accepted, encoding] of rows) {
    const headers = accepted === undefined ? {} : { 'accept-encoding': accepted };
    const answer = await send('/api/v1/query?query=up', { headers });
    t.equal(answer.headers['content-encoding'], encoding, accepted ?? 'no header');
    t.match(answer.headers.vary, 'accept-encoding');
    t.equal(answer.headers['cache-control'], 'no-store');
    t.equal(answer.headers['x-content-type-options'], 'nosniff');
    t.equal(answer.headers['content-type'], 'application/json');
  }
});

test('a failed query keeps its kind of error, and an unexpected error is only logged', async (t) => {
  let fault: Error = new Error('the secret inside');
  const { send, lines } = await startPromqlRoutes(t, async () => {
    throw fault;
  });
  const ask = (path = 'query?query=up') => send(`/api/v1/${path}`);
  const internal = await ask();
  t.equal(internal.status, 500);
  t.match(internal.body, { status: 'error', errorType: 'internal', error: /request id/ });
  t.notMatch(internal.text, 'secret');
  t.match(lines.join('\n'), 'the secret inside');
  fault = new Refusal('TOO_MANY_REQUESTS', 'Others run', { retryAfterSeconds: '2' });
  for (const path of ['query?query=up', 'labels', 'metadata']) {
    const busy = await ask(path);
    t.equal(busy.status, 429);
    t.equal(busy.headers['retry-after'], '2');
    t.match(busy.body, {
      errorType: 'too_many_requests',
      error: 'TOO_MANY_REQUESTS: Others run',
    });
  }
  fault = new Refusal('NOT_READY', 'The log is being read');
  const early = await ask();
  t.equal(early.status, 503);
  t.match(early.body, { errorType: 'unavailable', error: /^NOT_READY: / });
  t.ok(early.headers['retry-after']);
  fault = new Refusal('QUERY_TIMEOUT', 'Took too long');
  t.match(await ask(), { status: 503, body: { errorType: 'timeout' } });
  fault = new PromqlError('execution', 'many-to-many');
  t.match(await ask(), { status: 422, body: { errorType: 'execution', error: 'many-to-many' } });
});

test('a client that hangs up cancels its query', async (t) => {
  const started = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<string>();
  const { server, keys, lines } = await startPromqlRoutes(t, (_request, signal) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => {
      gone.resolve(String(signal.reason));
      reject(signal.reason);
    });
    started.resolve();
    return promise;
  });
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  socket.write(
    `POST ${BASE}/api/v1/query HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${keys.read}\r\n` +
      'content-type: application/x-www-form-urlencoded\r\ncontent-length: 8\r\n\r\nquery=up',
  );
  await started.promise;
  socket.destroy();
  t.match(await gone.promise, 'The client disconnected');
  t.same(lines, [], 'which is not a fault of the service');
});

test('the base answers promtool whether the service is healthy and ready', async (t) => {
  const { send, health } = await startPromqlRoutes(t);
  for (const path of ['/-/healthy', '/-/ready']) {
    const answer = await send(path);
    t.equal(answer.status, 200);
    t.match(answer.text, /^[^\n]+\n$/);
    const head = await send(path, { method: 'HEAD' });
    t.equal(head.status, 200);
    t.equal(head.text, '');
    t.equal((await send(path, { method: 'POST' })).status, 405);
  }
  health.isReady = false;
  t.equal((await send('/-/ready')).status, 503);
  t.equal((await send('/-/healthy')).status, 200);
});

test('a result is not returned if the key was revoked while it was computed', async (t) => {
  let revoked = async (): Promise<unknown> => undefined;
  const { send, host, keys } = await startPromqlRoutes(t, async () => {
    await revoked();
    return { status: 200, body: Buffer.from('{}'), encoding: 'identity' };
  });
  t.equal((await send('/api/v1/query?query=up')).status, 200);
  const id = parseKey(keys.read)?.id ?? '';
  revoked = () => revokeCredential(host, tester, { project: 'demo', id, reason: 'LEAKED' });
  const { status, body } = await send('/api/v1/query?query=up');
  t.match({ status, body }, { status: 401, body: { errorType: 'unauthorized' } });
});
