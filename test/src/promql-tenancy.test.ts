/**
 * A project never sees another's series: each way in which a tenant has read another's metrics
 * elsewhere is a test of that name. The oracle is a world in which the project is alone: whatever
 * is asked there and in a world shared with two other projects, which have the same VMs, the same
 * series and some of their own, must be answered in the same bytes, before and after the others'
 * data change.
 */
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { START_MS } from '../support/credential-world.ts';
import { type Answered, formBody, type Sent } from '../support/promql-routes.ts';
import { type PromqlWorld, rowsOf, startPromqlWorld } from '../support/promql-world.ts';

const NOW = START_MS / 1000;
const M = 'svc_vm_memory_free_bytes';

const alone = await startPromqlWorld(t);
const shared = await startPromqlWorld(t);
for (const world of [alone, shared]) {
  for (const [i, vm] of ['vm-1', 'vm-2'].entries()) {
    await world.writeTo(
      'demo',
      rowsOf(vm, { count: 21, values: (row) => ownValues(10 * i + row) }),
    );
  }
}
for (const project of ['other', 'third']) await writeSecrets(project, 1);
const otherKey = await shared.issue('other', ['monitoring.read', 'monitoring.write']);

function ownValues(value: number) {
  return [
    { series: M, value },
    { series: 'svc_vm_cpu_seconds_total', value: 30 * value },
    { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'vda' }, value },
  ];
}

/** The same VMs and series with other values, and VMs, series and labels that only they have. */
async function writeSecrets(project: string, round: number): Promise<void> {
  const secret = (value: number) => [
    ...ownValues(666_000 + value),
    { series: 'secret_metric', value: 666_000 + value },
    { series: `secret_metric_${round}`, labels: { secret_label: `secret-${round}` }, value: 1 },
  ];
  for (const vm of ['vm-1', 'vm-2', `vm-secret-${round}`]) {
    const row = { displayName: `Secret ${round}` };
    await shared.writeTo(project, rowsOf(vm, { count: 20 + round, values: secret, row }));
  }
}

interface Asked extends Sent {
  readonly path: string;
}

const ask = (world: PromqlWorld, { path, ...sent }: Asked) => world.send(path, sent);

/** The answers of the shared world, when each is what it is alone and stays so. */
async function sameAsAlone(t: Test, requests: readonly Asked[]): Promise<Answered[]> {
  const told = async (world: PromqlWorld) => {
    const answers: Answered[] = [];
    for (const request of requests) answers.push(await ask(world, request));
    return answers;
  };
  const expected = await told(alone);
  const before = await told(shared);
  await writeSecrets('other', ++round);
  const after = await told(shared);
  for (const [i, { path, body }] of requests.entries()) {
    const name = `${decodeURIComponent(path)} ${body ?? ''}`;
    const parts = (answer: Answered | undefined) => [answer?.status, answer?.text];
    t.same(parts(before[i]), parts(expected[i]), name);
    t.same(parts(after[i]), parts(expected[i]), `${name}, after others wrote`);
    t.notMatch(after[i]?.text, /secret_metric_\d|Secret|666\d\d\d/, name);
  }
  return after;
}
let round = 1;

const instant = (query: string): Asked => ({
  path: `/api/v1/query?${new URLSearchParams({ query, time: String(NOW) })}`,
});
const range = (query: string): Asked => ({
  path: `/api/v1/query_range?${new URLSearchParams({ query, start: String(NOW - 600), end: String(NOW), step: '60' })}`,
});

/** Of each expression as an instant and over a range: same as alone. The instant ones' results. */
async function askedAll(t: Test, expressions: readonly string[]) {
  await sameAsAlone(t, expressions.map(range));
  const answers = await sameAsAlone(t, expressions.map(instant));
  return answers.map(({ status, body }) => ({ status, result: body.data?.result ?? body.error }));
}

t.test(
  'the others do see their own, so that nothing here is the same by being empty',
  async (t) => {
    const theirs = async (query: string) => {
      const answer = await shared.send(instant(query).path, { project: 'other', key: otherKey });
      return answer.body.data.result;
    };
    t.equal((await theirs(M)).length, 3);
    t.equal((await theirs('secret_metric')).length, 3);
    t.same(await theirs(`count({project="demo"})`), []);
    t.equal((await ask(shared, instant(M))).body.data.result.length, 2);
  },
);

t.test('1: the tenant label with =, !=, =~, !~, "", twice', async (t) => {
  const seen = await askedAll(t, [
    `${M}{project="other"}`,
    `${M}{project!="demo"}`,
    `${M}{project=~"other|third"}`,
    `${M}{project!~"demo"}`,
    `${M}{project=""}`,
    `${M}{project="demo",project="other"}`,
    `${M}{project=~"oth.*",project=~".+"}`,
    `${M}{project="demo"}`,
    `${M}{project=~".+"}`,
    `${M}{project=~"other|demo"}`,
    `${M}{project!="other"}`,
    `${M}{tenant_id="other"}`,
    `${M}{__tenant_id__="other"}`,
    `${M}{__project__!="demo"}`,
  ]);
  const counts = seen.map(({ result }) => result.length);
  t.same(counts, [0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 2]);
});

t.test('2: {__name__=~".+"}, {"metric"}, quoted UTF-8 and escaped label names', async (t) => {
  const seen = await askedAll(t, [
    '{__name__=~".+"}',
    '{__name__!=""}',
    'count({__name__=~".+"})',
    '{"secret_metric"}',
    `{"${M}"}`,
    `{"${M}", "project"="other"}`,
    `{"${M}", "\\x70roject"="other"}`,
    `{"${M}", "\\u0070roject"!="demo"}`,
    `{'${M}', 'project'=~'other'}`,
    '{__name__="secret_metric"}',
    '{"__name__"="secret_metric", "project"="other"}',
    '{"sécret.métrique"}',
  ]);
  t.same(seen[4]?.result.length, 2);
  for (const i of [3, 5, 6, 7, 8, 9, 10, 11]) t.same(seen[i]?.result, [], String(i));
});

t.test(
  '3: or, and, unless on either side; on(), ignoring, group_left copying labels',
  async (t) => {
    const theirs = `${M}{project="other"}`;
    const seen = await askedAll(t, [
      `${M} or secret_metric`,
      `secret_metric or ${M}`,
      `${theirs} or ${theirs}`,
      `${M} and on() ${theirs}`,
      `${theirs} and on(vm) ${M}`,
      `${M} unless on(vm) secret_metric`,
      `secret_metric unless ${M}`,
      `${M} * on(vm) group_left(secret_label, project) secret_metric_1`,
      `${M} + on(vm) group_left(project) ${theirs}`,
      `${M} + ignoring(project, __name__) group_right ${theirs}`,
      `${M} - ignoring(project) ${theirs}`,
      `${M} > bool on(vm) ${theirs}`,
    ]);
    t.same(
      seen.map(({ result }) => result.length),
      [2, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0],
    );
  },
);

t.test('4: subqueries (nested), @, offset', async (t) => {
  await askedAll(t, [
    `max_over_time(secret_metric[1h:1m])`,
    `max_over_time(${M}{project=~".+"}[1h:1m])`,
    `max_over_time(max_over_time(${M}[10m:1m])[1h:2m])`,
    `max_over_time((${M} or secret_metric)[1h:1m] @ ${NOW} offset 1m)`,
    `${M} @ 0`,
    `${M} @ ${NOW}`,
    `${M} @ start() or secret_metric @ end()`,
    `secret_metric offset -5m`,
    `${M} offset 5m`,
    `sum_over_time(secret_metric[1w] offset -1d)`,
  ]);
});

t.test('5: by and without the tenant label, label_replace and label_join forging it', async (t) => {
  const forged = `label_replace(${M}, "project", "other", "", "")`;
  const seen = await askedAll(t, [
    `sum by (project) (${M})`,
    `sum without (project) (${M})`,
    `count by (project) ({__name__!=""})`,
    `topk(10, {__name__=~".+"}) by (project)`,
    `count_values by (project) ("project", ${M})`,
    forged,
    `${forged} + on(project, vm) group_left secret_metric`,
    `${forged} or ${M}{project="other"}`,
    `label_join(${M}, "project", "", "vm")`,
    `label_replace(secret_metric, "project", "demo", "", "")`,
    `sum by (secret_label) ({__name__!=""})`,
  ]);
  t.match(seen[0]?.result, [{ metric: { project: 'demo' } }]);
  t.equal(seen[0]?.result.length, 1);
  t.match(seen[5]?.result, [{ metric: { project: 'other' } }, { metric: { project: 'other' } }]);
  t.same(seen[9]?.result, []);
});

t.test('6: absent, absent_over_time, scalar, literals', async (t) => {
  const seen = await askedAll(t, [
    'absent(secret_metric)',
    'absent(secret_metric{project="other"})',
    'absent_over_time(secret_metric[1h])',
    'scalar(secret_metric)',
    'present_over_time(secret_metric[1h])',
    'vector(scalar(secret_metric{project="other"}))',
    'timestamp(secret_metric)',
    '1',
    'vector(1)',
    'time()',
  ]);
  t.match(seen[0]?.result, [{ value: [NOW, '1'] }], 'absent here, whoever else has it');
  t.match(seen[2]?.result, [{ value: [NOW, '1'] }]);
  t.same(seen[3]?.result, [NOW, 'NaN']);
});

t.test('7: info() in any form is refused', async (t) => {
  const seen = await askedAll(t, [
    `info(${M})`,
    `info(${M}, {project="other"})`,
    `info(${M}, {__name__=~".+"})`,
  ]);
  t.same(
    seen.map(({ status }) => status),
    [400, 400, 400],
  );
});

t.test('8: syntax that a parser knows and the evaluator does not is refused', async (t) => {
  const seen = await askedAll(t, [
    `${M} fill(0)`,
    `${M} + fill_left(0) ${M}`,
    `${M}[5m] anchored`,
    `rate(${M}[5m] smoothed)`,
    `limitk(1, ${M})`,
    `limit_ratio(0.5, ${M})`,
    `${M}{project="demo" or project="other"}`,
    `{project="other" or vm="vm-1"}`,
    `WITH (x = ${M}) x`,
    `${M} keep_metric_names`,
    `sort_by_label(${M}, "project")`,
    `${M}{}.project`,
    `SELECT 1`,
    `${M}; secret_metric`,
    `${M} # comment\n{`,
  ]);
  for (const { status } of seen) t.equal(status, 400);
});

t.test('9: series, labels and label values with zero, one, many and empty match[]', async (t) => {
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
  await sameAsAlone(t, [
    ...requests,
    ...posted,
    { path: '/api/v1/metadata' },
    { path: '/api/v1/metadata?metric=secret_metric' },
  ]);
  const { body } = await shared.api('label/project/values');
  t.same(body.data, ['demo']);
  t.same((await shared.api('metadata?metric=secret_metric')).body.data, {});
});

t.test('10: paths: %2e%2e%2f, //, trailing slash, case, encoded project ids', async (t) => {
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
      const text = await rawGet(shared, `GET ${path} HTTP/1.1\r\nhost: ${host}\r\n`);
      t.match(text, /^HTTP\/1.1 (400|403|404) /, path);
      t.notMatch(text, /666\d\d\d/);
    }
  }
});

t.test('11: /federate is not there', async (t) => {
  const answers = await sameAsAlone(t, [
    { path: '/federate?match[]={__name__=~".%2B"}' },
    { path: '/api/v1/federate?match[]=secret_metric' },
  ]);
  for (const { status } of answers) t.equal(status, 404);
});

t.test('12: query_exemplars has none of anybody', async (t) => {
  const answers = await sameAsAlone(t, [
    { path: '/api/v1/query_exemplars?query=secret_metric&start=0&end=9999999999' },
    { path: '/api/v1/query_exemplars', method: 'POST', ...formBody('query={project="other"}') },
  ]);
  for (const { body } of answers) t.same(body, { status: 'success', data: [] });
});

t.test('13: every other path of a Prometheus: an allow-list', async (t) => {
  const paths = [
    ...[
      'status/tsdb',
      'status/config',
      'status/flags',
      'status/runtimeinfo',
      'targets',
      'targets/metadata',
    ],
    ...['alertmanagers', 'read', 'write', 'admin/tsdb/snapshot', 'scrape_pools', 'notifications'],
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
  const answers = await sameAsAlone(
    t,
    all.flatMap((path) => ['GET', 'POST'].map((method) => ({ path, method }))),
  );
  for (const { status } of answers) t.equal(status, 404);
  const empty = await sameAsAlone(t, [{ path: '/api/v1/rules' }, { path: '/api/v1/alerts' }]);
  t.same(
    empty.map(({ body }) => body.data),
    [{ groups: [] }, { alerts: [] }],
  );
});

t.test(
  '14: parameters twice, in body and URL, as arrays, multipart, GET with a body, charset, gzip, method override',
  async (t) => {
    const form = 'application/x-www-form-urlencoded';
    const own = `query=${M}&time=${NOW}`;
    const post = (path: string, body: string, headers: Record<string, string> = {}) => {
      return { path, method: 'POST', body, headers: { 'content-type': form, ...headers } };
    };
    const multipart =
      '--b\r\nContent-Disposition: form-data; name="query"\r\n\r\nsecret_metric\r\n--b--\r\n';
    await sameAsAlone(t, [
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
  },
);

t.test('15: tenant headers injected or doubled', async (t) => {
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
  await sameAsAlone(
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
  const keys = [shared.keys.read, otherKey].map((key) => `authorization: Bearer ${key}\r\n`);
  for (const pair of [keys, keys.toReversed()]) {
    const text = await rawGet(shared, `GET ${url} HTTP/1.1\r\nhost: a\r\n${pair.join('')}`, null);
    t.match(text, /^HTTP\/1.1 401 /);
    t.notMatch(text, /666/);
  }
  const joined = `${shared.keys.read}, Bearer ${otherKey}`;
  t.equal((await shared.send(path, { key: joined })).status, 401);
});

t.test(
  '16: caches, errors, warnings, statistics and "not found" tell nothing of others',
  async (t) => {
    const duplicates = `${M} + on(project) ${M}`;
    const requests: Asked[] = [
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
      // The others ask the same first, so that what is kept between queries is theirs.
      for (let times = 0; times < 2; times++) {
        await shared.send(path, { project: 'other', key: otherKey });
      }
    }
    const answers = await sameAsAlone(t, requests);
    t.match(answers[3]?.body.error, /demo/);
    t.notMatch(answers[3]?.text, /other/);
    const refusals: string[] = [];
    for (const project of ['other', 'third', 'no-such-project']) {
      const { status, text } = await shared.send(instant(M).path, { project });
      t.equal(status, 403);
      refusals.push(text);
    }
    t.equal(new Set(refusals).size, 1, 'there or not, it is the same');
  },
);

t.test('17: limits per tenant: what one asks or stores takes nothing from another', async (t) => {
  const slow = `sum_over_time((${'sin('.repeat(20)}vector(time())${')'.repeat(20)})[6h:1s])`;
  const path = `/api/v1/query?${new URLSearchParams({ query: slow, timeout: '1' })}`;
  const theirs = Array.from({ length: 80 }, () => {
    return shared.send(path, { project: 'other', key: otherKey });
  });
  const answers = await sameAsAlone(t, [
    instant(M),
    instant(`count(${M}{vm=~"(a+)+$|(v|v)*m-1"})`),
  ]);
  t.ok(answers.every(({ status }) => status === 200));
  const statuses = (await Promise.all(theirs)).map(({ status }) => status);
  t.ok(statuses.includes(429), 'they reached their own limit');
  const many = Array.from({ length: 400 }, (_, i) => ({ series: `filling_${i}`, value: 1 }));
  await shared.writeTo('third', rowsOf('vm-1', { count: 1, values: () => many }));
  await sameAsAlone(t, [instant('count({__name__!=""})'), instant('{__name__=~"filling_.*"}')]);
});

t.test('18: rules are evaluated, and incidents told, within their project', async (t) => {
  const world = await startPromqlWorld(t);
  const free = (value: number) => () => [{ series: 'svc_vm_cpu_utilization_pct', value }];
  await world.writeTo('demo', rowsOf('vm-1', { count: 3, values: free(10) }));
  await world.writeTo('other', rowsOf('vm-1', { count: 3, values: free(10) }));
  const key = await world.issue('other', ['monitoring.read', 'monitoring.write']);
  const spec = {
    ...{ displayName: 'CPU', metricId: 'cpu_utilization_pct', operator: 'GREATER_THAN' },
    ...{ threshold: 50, severity: 'WARNING', allVms: true },
  };
  const save = (project: string, more: object = {}) => ({
    ...{ projectName: `projects/${project}`, id: randomUUID(), requestId: randomUUID() },
    ...{ expectedVersion: '0', spec: { ...spec, ...more } },
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
  t.same(await incidents('demo'), [], 'the VM of the same id that breaches is not theirs');
});

t.test('19: a tenant label supplied by the source is refused', async (t) => {
  const world = await startPromqlWorld(t);
  const row = (labels: object, vmName = 'vm-1') => ({
    vmName,
    observedUnixMs: START_MS,
    values: [{ series: M, labels, value: 1 }],
  });
  const write = (projectName: string, ...rows: object[]) =>
    world.call('WriteSamples', { projectName, rows }, { key: world.keys.collector });
  for (const label of ['project', 'vm', 'vm_name', 'datacenter', '__name__', '__project__']) {
    const answer = await write('projects/demo', row({ [label]: 'other' }));
    t.match(answer, { status: 400, reason: 'INVALID_FIELD' }, label);
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

/** Everything that comes back for a request line and headers, with the key of `demo` or none. */
function rawGet(world: PromqlWorld, head: string, key: string | null = world.keys.read) {
  const credential = key === null ? '' : `authorization: Bearer ${key}\r\n`;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  const socket = connect(Number(new URL(world.baseUrl).port), '127.0.0.1', () => {
    socket.write(`${head}${credential}connection: close\r\n\r\n`);
  });
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(text));
  return promise;
}
