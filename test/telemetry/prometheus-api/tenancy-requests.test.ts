/**
 * A project never sees another's series, however it asks: each way in which a request, a cache, a
 * limit, a rule or a source has crossed the boundary between tenants elsewhere is a test with its
 * `TEN` id.
 */
import { randomUUID } from 'node:crypto';
import t, { test } from 'tap';
import { START_MS } from '../../support/host-in-memory.ts';
import { formBody, rawRequest } from '../../support/promql-routes.ts';
import { rowsOf, startPromqlServer } from '../../support/promql-server.ts';
import { instant, M, NOW, type Requested, startTenants } from '../../support/promql-tenants.ts';
import { cpuSpec } from '../../support/rule-spec.ts';

const tenants = await startTenants(t);

test('TEN-09: series, labels and label values stay within the project for any match[]', async (t) => {
  const matches = [
    '',
    'match[]=',
    `match[]=${M}`,
    'match[]=secret_metric',
    'match[]={project="other"}',
    'match[]={project!="demo"}',
    'match[]={__name__=~".%2B"}',
    `match[]=${M}&match[]=secret_metric&match[]={project="third"}`,
    `match[]={}&match[]=${M}`,
    `match[]=${M}{project="demo",project="other"}`,
    'match[]={vm="vm-1"}&start=0&end=9999999999&limit=1000',
  ].map((text) => text.replaceAll('"', '%22').replaceAll('{', '%7B').replaceAll('}', '%7D'));
  const paths = [
    'series',
    'labels',
    ...[
      '__name__',
      'project',
      'vm',
      'vm_name',
      'secret_label',
      'U__secret__label',
      'datacenter',
    ].map((name) => `label/${name}/values`),
  ];
  const requests = paths.flatMap((path) =>
    matches.map((text) => ({ path: `/api/v1/${path}?${text}` })),
  );
  const posted = ['series', 'labels'].flatMap((path) =>
    matches.map((text) => ({ path: `/api/v1/${path}`, method: 'POST', ...formBody(text) })),
  );
  await tenants.sameAsAlone(t, [
    ...requests,
    ...posted,
    { path: '/api/v1/metadata' },
    { path: '/api/v1/metadata?metric=secret_metric' },
  ]);
  const { body } = await tenants.shared.api('label/project/values');
  t.same(body.data, ['demo']);
  t.same((await tenants.shared.api('metadata?metric=secret_metric')).body.data, {});
});

test('TEN-10: path encodings, slashes and case lead to no other project', async (t) => {
  const query = 'query?query=secret_metric';
  const paths = [
    `/v1/monitoring/projects/demo/../other/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo/%2e%2e/other/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo%2f..%2fother/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo%2F%2e%2e%2Fother/promql/api/v1/${query}`,
    `/v1/monitoring/projects/%6fther/promql/api/v1/${query}`,
    `/v1/monitoring/projects/OTHER/promql/api/v1/${query}`,
    `/v1/monitoring/projects/other%00/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo,other/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo|other/promql/api/v1/${query}`,
    `/v1/monitoring/projects/*/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo;other/promql/api/v1/${query}`,
    `/v1/monitoring/projects//other/promql/api/v1/${query}`,
    `//v1/monitoring/projects/other/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo/promql/../../other/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo/promql/%2e%2e%2f%2e%2e%2fother/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo/promql/api/v1/%2e%2e/%2e%2e/%2e%2e/other/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo/promql//api/v1/${query}`,
    `/v1/monitoring/projects/demo/promql/api/v1/query/?query=secret_metric`,
    `/v1/monitoring/projects/demo/promql/API/v1/${query}`,
    `/V1/monitoring/projects/demo/promql/api/v1/${query}`,
    `/v1/monitoring/projects/demo/promql/api/v1/label/..%2f..%2fother/values/x`,
    `/v1/monitoring/projects/projects%2Fother/promql/api/v1/${query}`,
    `http://127.0.0.1/v1/monitoring/projects/other/promql/api/v1/${query}`,
  ];
  for (const path of paths) {
    for (const host of ['a', 'other']) {
      const text = await rawRequest(
        tenants.shared.baseUrl,
        `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${tenants.shared.keys.read}\r\n`,
      );
      t.match(text, /^HTTP\/1.1 (400|403|404) /, path);
      t.notMatch(text, /666\d\d\d/);
    }
  }
});

test('TEN-11: /federate is not found', async (t) => {
  const answers = await tenants.sameAsAlone(t, [
    { path: '/federate?match[]={__name__=~".%2B"}' },
    { path: '/api/v1/federate?match[]=secret_metric' },
  ]);
  for (const { status } of answers) t.equal(status, 404);
});

test('TEN-12: query_exemplars is empty for every caller', async (t) => {
  const answers = await tenants.sameAsAlone(t, [
    { path: '/api/v1/query_exemplars?query=secret_metric&start=0&end=9999999999' },
    { path: '/api/v1/query_exemplars', method: 'POST', ...formBody('query={project="other"}') },
  ]);
  for (const { body } of answers) t.same(body, { status: 'success', data: [] });
});

test('API-03, TEN-13: every other Prometheus path is refused by an allow-list', async (t) => {
  const paths = [
    'status/tsdb',
    'status/config',
    'targets/metadata',
    'alertmanagers',
    'read',
    'write',
    'admin/tsdb/snapshot',
    'scrape_pools',
    'notifications',
  ].map((path) => `/api/v1/${path}`);
  const all = [
    ...paths,
    '/metrics',
    '/graph',
    '/debug/pprof/heap',
    '/-/reload',
    '/config',
    '/targets',
  ];
  const answers = await tenants.sameAsAlone(
    t,
    all.flatMap((path) => ['GET', 'POST'].map((method) => ({ path, method }))),
  );
  for (const { status } of answers) t.equal(status, 404);
  const own = ['rules', 'alerts', 'targets', 'status/flags', 'status/runtimeinfo'];
  const empty = await tenants.sameAsAlone(
    t,
    own.map((path) => ({ path: `/api/v1/${path}` })),
  );
  for (const { status } of empty) t.equal(status, 200);
  t.same(
    empty.slice(0, 2).map(({ body }) => body.data),
    [{ groups: [] }, { alerts: [] }],
  );
});

test('TEN-14: odd parameters, bodies, encodings and method overrides reach no other project', async (t) => {
  const form = 'application/x-www-form-urlencoded';
  const own = `query=${M}&time=${NOW}`;
  const post = (path: string, body: string, headers: Record<string, string> = {}) => {
    return { path, method: 'POST', body, headers: { 'content-type': form, ...headers } };
  };
  const multipart =
    '--b\r\nContent-Disposition: form-data; name="query"\r\n\r\nsecret_metric\r\n--b--\r\n';
  await tenants.sameAsAlone(t, [
    { path: `/api/v1/query?${own}&query=secret_metric` },
    { path: `/api/v1/query?query=secret_metric&${own}` },
    { path: `/api/v1/query?query[]=secret_metric&${own}` },
    { path: `/api/v1/query?query[0]=secret_metric` },
    { path: `/api/v1/query?${own}&project=other&tenant=other&db=other` },
    post('/api/v1/query?query=secret_metric', own),
    post(`/api/v1/query?${own}`, 'query=secret_metric'),
    post('/api/v1/query', `${own}&query=secret_metric&query%5B%5D=secret_metric`),
    post('/api/v1/query', multipart, { 'content-type': 'multipart/form-data; boundary=b' }),
    post('/api/v1/query', '{"query":"secret_metric"}', { 'content-type': 'application/json' }),
    post('/api/v1/query', own, { 'content-type': `${form}; charset=utf-7` }),
    post('/api/v1/query', own, { 'content-encoding': 'gzip' }),
    { path: `/api/v1/query?${own}`, method: 'GET', ...formBody('query=secret_metric') },
    { path: `/api/v1/query?${own}`, headers: { 'x-http-method-override': 'POST' } },
    post('/api/v1/label/vm/values', '', { 'x-http-method': 'GET', 'x-method-override': 'GET' }),
  ]);
});

test('TEN-15: injected or doubled tenant headers are ignored', async (t) => {
  const names = [
    'X-Scope-OrgID',
    'X-Tenant',
    'THANOS-TENANT',
    'AccountID',
    'X-Forwarded-User',
    'X-Project',
    'X-Original-URI',
    'X-Rewrite-URL',
  ];
  await tenants.sameAsAlone(
    t,
    names.flatMap((name) =>
      ['other', 'demo|other', '*', ''].map((value) => ({
        ...instant(`count({__name__!=""}) by (project)`),
        headers: { [name]: value },
      })),
    ),
  );
  const path = instant('secret_metric').path;
  const url = `/v1/monitoring/projects/demo/promql${path}`;
  const keys = [tenants.shared.keys.read, tenants.otherKey].map(
    (key) => `authorization: Bearer ${key}\r\n`,
  );
  for (const pair of [keys, keys.toReversed()]) {
    const text = await rawRequest(
      tenants.shared.baseUrl,
      `GET ${url} HTTP/1.1\r\nhost: 127.0.0.1\r\n${pair.join('')}`,
    );
    t.match(text, /^HTTP\/1.1 401 /);
    t.notMatch(text, /666/);
  }
  const joined = `${tenants.shared.keys.read}, Bearer ${tenants.otherKey}`;
  t.equal((await tenants.shared.send(path, { key: joined })).status, 401);
});

test('TEN-16: caches, errors, warnings, statistics and "not found" reveal no other project', async (t) => {
  const duplicates = `${M} + on(project) ${M}`;
  const requests: Requested[] = [
    instant(M),
    instant('secret_metric'),
    instant('count({__name__!=""})'),
    instant(duplicates),
    instant('rate(secret_metric[5m])'),
    instant(`rate(${M}[5m])`),
    instant('quantile(7, secret_metric)'),
    instant('secret_metric{'),
    { path: `${instant(M).path}&stats=all` },
    { path: '/api/v1/query?query=nothing&limit=1' },
    { path: '/api/v1/label/secret_label/values' },
  ];
  for (const { path } of requests) {
    // The others make the same requests first, so that cached values are theirs.
    for (let times = 0; times < 2; times++) {
      await tenants.shared.send(path, { project: 'other', key: tenants.otherKey });
    }
  }
  const answers = await tenants.sameAsAlone(t, requests);
  t.match(answers[3]?.body.error, /demo/);
  t.notMatch(answers[3]?.text, /other/);
  const refusals: string[] = [];
  for (const project of ['other', 'third', 'no-such-project']) {
    const { status, text } = await tenants.shared.send(instant(M).path, { project });
    t.equal(status, 403);
    refusals.push(text);
  }
  t.equal(new Set(refusals).size, 1, 'the same whether or not it exists');
});

test('TEN-17: load and storage of one project take nothing from another', async (t) => {
  const slow = `sum_over_time((${'sin('.repeat(60)}vector(time())${')'.repeat(60)})[1d:1s])`;
  const path = `/api/v1/query?${new URLSearchParams({ query: slow.padEnd(16_000), timeout: '0.01' })}`;
  // Each waits with 32 KiB, and all of one key with at most 4 MiB.
  const theirs = Array.from({ length: 250 }, () => {
    return tenants.shared.send(path, { project: 'other', key: tenants.otherKey });
  });
  const answers = await tenants.sameAsAlone(t, [
    instant(M),
    instant(`count(${M}{vm=~"(a+)+$|(v|v)*m-1"})`),
  ]);
  t.ok(answers.every(({ status }) => status === 200));
  const statuses = (await Promise.all(theirs)).map(({ status }) => status);
  t.ok(statuses.includes(429), 'they reached their own limit');
  const many = Array.from({ length: 400 }, (_, i) => ({ series: `filling_${i}`, value: 1 }));
  await tenants.shared.writeTo('third', rowsOf('vm-1', { count: 1, values: () => many }));
  await tenants.sameAsAlone(t, [
    instant('count({__name__!=""})'),
    instant('{__name__=~"filling_.*"}'),
  ]);
});

test('TEN-18: rules are evaluated and incidents notified within their project', async (t) => {
  const world = await startPromqlServer(t);
  const free = (value: number) => () => [{ series: 'svc_vm_cpu_utilization_pct', value }];
  await world.writeTo('demo', rowsOf('vm-1', { count: 3, values: free(10) }));
  await world.writeTo('other', rowsOf('vm-1', { count: 3, values: free(10) }));
  const key = await world.issue('other', ['monitoring.read', 'monitoring.write']);
  const spec = cpuSpec({ threshold: 50 });
  const save = (project: string, more: object = {}) => ({
    projectName: `projects/${project}`,
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: { ...spec, ...more },
  });
  t.equal((await world.call('SaveAlertRule', save('demo'))).status, 200);
  t.equal((await world.call('SaveAlertRule', save('other'), { key })).status, 200);
  const foreign = save('demo', { allVms: false, vmNames: ['projects/other/vms/vm-1'] });
  t.not((await world.call('SaveAlertRule', foreign)).status, 200);
  const next = { count: 1, endMs: START_MS + 30_000, values: free(90) };
  await world.clock.advance(30_000);
  await world.writeTo('other', rowsOf('vm-1', next));
  const incidents = async (project: string, key?: string) => {
    const options = key === undefined ? {} : { key };
    const answer = await world.call(
      'ListIncidents',
      { projectName: `projects/${project}` },
      options,
    );
    return answer.body.incidents;
  };
  t.match(await incidents('other', key), [{ vmName: 'projects/other/vms/vm-1', value: 90 }]);
  t.same(await incidents('demo'), [], 'the breaching VM with the same id is not theirs');
});

test('TEN-19: a tenant label supplied by a source is refused', async (t) => {
  const world = await startPromqlServer(t);
  const row = (labels: object, vmName = 'vm-1') => ({
    vmName,
    observedUnixMs: START_MS,
    values: [{ series: M, labels, value: 1 }],
  });
  const write = (projectName: string, ...rows: object[]) =>
    world.call('WriteSamples', { projectName, rows }, { key: world.keys.collector });
  for (const label of ['project', 'vm', 'vm_name', 'datacenter', '__name__', '__project__']) {
    const { status, body } = await write('projects/demo', row({ [label]: 'other' }));
    t.equal(status, 200, label);
    t.equal(body.accepted, '0', label);
    t.match(body.rejected, [{ series: M, reason: 'RESERVED_NAME' }], label);
  }
  t.match(await write('projects/other', row({})), { status: 403, reason: 'PROJECT_BOUNDARY' });
  const foreignVm = await write('projects/demo', row({}, 'projects/other/vms/vm-1'));
  t.match(foreignVm, { status: 403, reason: 'PROJECT_BOUNDARY' });
  const displayName = 'x",project="other';
  await world.writeTo(
    'demo',
    rowsOf('vm-1', { count: 1, values: () => [{ series: M, value: 1 }], row: { displayName } }),
  );
  const { result } = await world.query(M);
  t.match(result, [{ metric: { project: 'demo', vm_name: displayName } }]);
  const key = await world.issue('other', ['monitoring.read']);
  t.same((await world.send(instant(M).path, { project: 'other', key })).body.data.result, []);
});
