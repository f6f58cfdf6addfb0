/**
 * The PromQL URL as other people's clients use it, with real query threads over real history: each
 * row of what a Prometheus answers, of what Grafana asks and of the limits that the interface names
 * is a test of that name. Two VMs have an hour of samples; the clock stands still.
 */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { revokeCredential } from '../../src/auth/credentials.ts';
import { parseKey } from '../../src/auth/keys.ts';
import { START_MS, tester } from '../support/credential-world.ts';
import { rowsOf, startPromqlWorld } from '../support/promql-world.ts';

const NOW = START_MS / 1000;
const HOUR_AGO = NOW - 3600;
const CPU = 'svc_vm_cpu_seconds_total';

const w = await startPromqlWorld(t);
for (const [vm, cores] of [
  ['vm-1', 0.5],
  ['vm-2', 0.25],
] as const) {
  const rows = rowsOf(vm, {
    count: 121,
    row: { vcpus: 2, state: 'RUNNING', displayName: `Machine "${vm}"` },
    values: (i) => [
      { series: CPU, value: 30 * cores * i },
      { series: 'svc_vm_memory_free_bytes', value: 1e9 + i },
      { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'vda' }, value: 100 * i },
      { series: 'tiny_value', value: 1e-7 },
    ],
  });
  await w.writeTo('demo', rows);
}

const names = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_cpu_utilization_pct',
  'svc_vm_disk_read_bytes_total',
  'svc_vm_last_observation_timestamp_seconds',
  'svc_vm_memory_free_bytes',
  'svc_vm_running',
  'svc_vm_vcpus',
  'tiny_value',
];
const labelNames = ['__name__', 'datacenter', 'device', 'project', 'vm', 'vm_name'];
const vmLabels = (vm: string) => ({
  datacenter: 'DC-1',
  project: 'demo',
  vm,
  vm_name: `Machine "${vm}"`,
});

t.test('path query: an instant by GET and POST, now without a time', async (t) => {
  t.same((await w.api('query?query=1%2B1&time=4')).body, {
    status: 'success',
    data: { resultType: 'scalar', result: [4, '2'] },
  });
  const text = (await w.api('query?query=1%2B1')).text;
  t.match(text, `{"resultType":"scalar","result":[${NOW},"2"]}`);
  const data = await w.query(`${CPU}{vm="vm-1"}`);
  t.same(data, {
    resultType: 'vector',
    result: [{ metric: { __name__: CPU, ...vmLabels('vm-1') }, value: [NOW, '1800'] }],
  });
  t.same(await w.query('"text"', 5), { resultType: 'string', result: [5, 'text'] });
  t.same((await w.query('tiny_value{vm="vm-1"}')).result[0].value, [NOW, '1e-07']);
  const raw = await w.query(`${CPU}{vm="vm-1"}[1m]`);
  t.equal(raw.resultType, 'matrix');
  t.same(raw.result[0].values, [
    [NOW - 30, '1785'],
    [NOW, '1800'],
  ]);
  t.same(await w.query('nothing_of_that_name'), { resultType: 'vector', result: [] });
});

t.test('path query: lookback_delta and limit', async (t) => {
  const at = { query: CPU, time: String(NOW + 200) };
  t.equal((await w.post('query', at)).body.data.result.length, 2);
  t.same((await w.post('query', { ...at, lookback_delta: '2m' })).body.data.result, []);
  const { body } = await w.post('query', { ...at, limit: '1' });
  t.equal(body.data.result.length, 1);
  t.same(body.warnings, ['results truncated due to limit']);
});

t.test(
  'path query_range: end before start, no step, too many points, a range vector and a scalar',
  async (t) => {
    const range = { query: CPU, start: String(HOUR_AGO), end: String(NOW), step: '60' };
    const { body } = await w.post('query_range', range);
    t.equal(body.data.resultType, 'matrix');
    t.same(
      body.data.result.map(({ metric }: { metric: { vm: string } }) => metric.vm),
      ['vm-1', 'vm-2'],
    );
    const [first] = body.data.result;
    t.equal(first.values.length, 61);
    t.same(first.values.slice(0, 2), [
      [HOUR_AGO, '0'],
      [HOUR_AGO + 60, '30'],
    ]);
    const errorOf = async (change: object) => {
      const { status, body } = await w.post('query_range', { ...range, ...change });
      return `${status} ${body.errorType}: ${body.error}`;
    };
    t.match(
      await errorOf({ end: String(HOUR_AGO - 1) }),
      /^400 bad_data: .*end timestamp must not be/,
    );
    t.match(await errorOf({ step: '0' }), /^400 bad_data: .*zero or negative/);
    t.match(
      await errorOf({ start: '0' }),
      /^400 bad_data: exceeded maximum resolution of 10,000 points/,
    );
    t.match(
      await errorOf({ query: `${CPU}[5m]` }),
      /^400 bad_data: invalid parameter "query": .*invalid expression type "range vector" for range query/,
    );
    t.same((await w.post('query_range', { ...range, query: '3', step: '1800' })).body.data.result, [
      {
        metric: {},
        values: [
          [HOUR_AGO, '3'],
          [HOUR_AGO + 1800, '3'],
          [NOW, '3'],
        ],
      },
    ]);
  },
);

t.test('path labels: sorted names, of selected series where match[] is given', async (t) => {
  t.same((await w.api('labels')).body, { status: 'success', data: labelNames });
  t.same((await w.post('labels', '')).body.data, labelNames);
  const withoutDevice = labelNames.filter((name) => name !== 'device');
  t.same((await w.post('labels', { 'match[]': CPU })).body.data, withoutDevice);
  const empty = await w.api('labels?match[]={}');
  t.equal(empty.status, 400);
  t.equal(empty.body.errorType, 'bad_data');
  t.same((await w.api('labels?match[]=nothing')).body.data, []);
});

t.test('path label/NAME/values: sorted values, none for an unknown label, GET alone', async (t) => {
  t.same((await w.api('label/__name__/values')).body, { status: 'success', data: names });
  t.same((await w.api('label/vm/values')).body.data, ['vm-1', 'vm-2']);
  t.same((await w.api('label/U__vm__name/values')).body.data, ['Machine "vm-1"', 'Machine "vm-2"']);
  t.same((await w.api('label/U__a_2e_b/values')).body, { status: 'success', data: [] });
  t.same((await w.api('label/unknown/values')).body.data, []);
  const selected = `label/vm/values?match[]=${CPU}{vm!="vm-1"}`.replaceAll('"', '%22');
  t.same((await w.api(selected)).body.data, ['vm-2']);
  t.equal((await w.api('label/vm/values', { method: 'POST' })).status, 405);
});

t.test(
  'path series: label sets, a union without duplicates, and at least one match[]',
  async (t) => {
    const { body } = await w.post('series', { 'match[]': `${CPU}{vm="vm-2"}` });
    t.same(body, { status: 'success', data: [{ __name__: CPU, ...vmLabels('vm-2') }] });
    const union = `match[]=${CPU}&match[]={vm="vm-1",__name__=~"${CPU}|tiny_value"}`;
    t.equal((await w.post('series', union)).body.data.length, 3);
    t.equal((await w.api('series')).body.error, 'no match[] parameter provided');
    t.equal((await w.api('series')).status, 400);
  },
);

t.test('path metadata: type, help and unit of what the project has', async (t) => {
  const { body } = await w.api('metadata?limit=40000');
  t.same(Object.keys(body.data), names);
  t.match(body.data[CPU], [{ type: 'counter', unit: 'seconds', help: String }]);
  t.same((await w.api('metadata?metric=nothing')).body, { status: 'success', data: {} });
  t.equal((await w.api('metadata?limit=abc')).status, 400);
});

t.test('paths format_query and parse_query: an expression printed, and as a tree', async (t) => {
  t.same((await w.api('format_query?query=up%2B+1')).body, { status: 'success', data: 'up + 1' });
  const { body } = await w.post('parse_query', { query: 'up + 1' });
  t.match(body.data, {
    type: 'binaryExpr',
    op: '+',
    lhs: { type: 'vectorSelector', name: 'up' },
    rhs: { type: 'numberLiteral', val: '1' },
  });
  for (const path of ['format_query', 'parse_query']) {
    t.match((await w.post(path, { query: 'up +' })).body, {
      errorType: 'bad_data',
      error: /parse error/,
    });
  }
});

t.test('a limit on series, labels and values keeps the first and warns', async (t) => {
  for (const path of ['labels', 'label/__name__/values', `series?match[]=${CPU}`]) {
    const more = path.includes('?') ? '&' : '?';
    const { body } = await w.api(`${path}${more}limit=1`);
    t.equal(body.data.length, 1, path);
    t.same(body.warnings, ['results truncated due to limit']);
    const { body: whole } = await w.api(`${path}${more}limit=0`);
    t.ok(whole.data.length > 1);
    t.notOk('warnings' in whole);
  }
});

t.test(
  'a match[] selector needs a matcher that refuses the empty string, and no range or offset',
  async (t) => {
    for (const selector of [
      '{}',
      '{__name__=~".*"}',
      '{vm=""}',
      `${CPU}[5m]`,
      `${CPU} offset 5m`,
      '1',
      'up+up',
      '',
    ]) {
      for (const path of ['labels', 'series']) {
        const { status, body } = await w.post(path, { 'match[]': selector });
        t.equal(status, 400, `${path} ${selector}`);
        t.match(body, { status: 'error', errorType: 'bad_data', error: /match\[\]/ });
      }
    }
  },
);

t.test('start and end of labels, values and series select what has samples there', async (t) => {
  const inside = `start=${HOUR_AGO}&end=${NOW}`;
  t.same((await w.api(`label/vm/values?${inside}`)).body.data, ['vm-1', 'vm-2']);
  t.same((await w.api(`labels?${inside}`)).body.data, labelNames);
  t.equal((await w.api(`series?match[]=${CPU}&${inside}`)).body.data.length, 2);
});

t.test(
  'errors of an expression: syntax, a selector of everything, none, and what data do not allow',
  async (t) => {
    const rows: readonly [query: string, status: number, errorType: string, error: RegExp][] = [
      [
        '1+',
        400,
        'bad_data',
        /^invalid parameter "query": 1:3: parse error: unexpected end of input$/,
      ],
      [
        '{__name__=~".*"}',
        400,
        'bad_data',
        /parse error: vector selector must contain at least one non-empty matcher/,
      ],
      ['', 400, 'bad_data', /no expression found in input/],
      [`${CPU} * on(project) ${CPU}`, 422, 'execution', /many-to-many|duplicate series/],
    ];
    for (const [query, status, errorType, error] of rows) {
      const answer = await w.post('query', { query });
      t.equal(answer.status, status, query);
      t.match(answer.body, { status: 'error', errorType, error });
      t.match(answer.headers['content-type'], 'application/json');
    }
    t.equal((await w.api('query')).status, 400, 'no query at all');
  },
);

t.test('warnings and infos come with the result', async (t) => {
  const { body } = await w.post('query', { query: 'rate(svc_vm_memory_free_bytes[5m])' });
  t.equal(body.data.result.length, 2);
  t.match(body.infos, [/^PromQL info: metric might not be a counter.*"svc_vm_memory_free_bytes"/]);
  const odd = await w.post('query', { query: `quantile(7, ${CPU})` });
  t.match(odd.body, {
    data: { result: [{ value: [NOW, '+Inf'] }] },
    warnings: [/^PromQL warning: quantile/],
  });
});

t.test('answers are packed with gzip and zstd, the same bytes inside', async (t) => {
  const form = `query=${CPU}&start=${HOUR_AGO}&end=${NOW}&step=30`;
  const plain = await w.api(`query_range?${form}`);
  t.ok(plain.text.length > 2000);
  for (const encoding of ['gzip', 'zstd']) {
    const packed = await w.api(`query_range?${form}`, { headers: { 'accept-encoding': encoding } });
    t.equal(packed.headers['content-encoding'], encoding);
    t.ok(Number(packed.headers['content-length']) < plain.text.length / 2);
    t.equal(packed.text, plain.text);
  }
});

t.test('Grafana: Save & test', async (t) => {
  const { status, body } = await w.post('query', 'query=1%2B1&time=4');
  t.equal(status, 200);
  t.same(body.data, { resultType: 'scalar', result: [4, '2'] });
  const posted = await w.api('status/buildinfo', { method: 'POST' });
  t.ok([405, 400].includes(posted.status), 'asked as POST first: Grafana then asks as GET');
  const build = await w.api('status/buildinfo');
  t.match(build.body.data.version, /^3\.\d+\.\d+$/);
});

t.test('Grafana: panel, range', async (t) => {
  const form = `end=${NOW}&query=sum(rate(${CPU}[1m0s]))&start=${HOUR_AGO}&step=60&timeout=60s`;
  const { status, body, text } = await w.post('query_range', form);
  t.equal(status, 200);
  t.ok(text.indexOf('resultType') < text.indexOf('"result":'), 'so that Grafana can stream it');
  t.same(body.data.result[0].metric, {});
  t.same(body.data.result[0].values.at(-1), [NOW, '0.75'], 'cores');
});

t.test('Grafana: panel or alert, instant', async (t) => {
  const { body } = await w.post('query', { query: CPU, time: `${NOW}.321` });
  t.equal(body.data.result[0].value[0], NOW + 0.321);
  t.match((await w.post('query', { query: CPU, time: '2026-01-01T00:00:00Z' })).body, {
    data: { resultType: 'vector' },
  });
});

t.test('Grafana: exemplars switched on, and a data source first used in a page', async (t) => {
  const inMs = { query: 'test', start: String(START_MS - 600_000), end: String(START_MS) };
  t.same((await w.post('query_exemplars', inMs)).body, { status: 'success', data: [] });
  t.same((await w.api('rules')).body, { status: 'success', data: { groups: [] } });
  t.equal((await w.api('rules', { method: 'POST' })).status, 405);
  for (const path of ['label/__name__/values', 'labels', 'metadata']) {
    t.equal((await w.api(path)).status, 200, path);
  }
});

t.test('Grafana: metric list and autocompletion', async (t) => {
  const range = `start=${HOUR_AGO}&end=${NOW}&limit=40000`;
  t.same((await w.api(`label/__name__/values?${range}`)).body.data, names);
  t.same((await w.api(`labels?${range}`)).body.data, labelNames);
  t.same(Object.keys((await w.api('metadata?limit=40000')).body.data), names);
  const posted = await w.api(`labels?${range}`, { method: 'POST' });
  t.same(posted.body.data, labelNames, 'parameters in the URL of a POST without a body');
});

t.test('Grafana: label names and values for a metric', async (t) => {
  const device = 'svc_vm_disk_read_bytes_total';
  t.same((await w.post('labels', { 'match[]': device })).body.data, labelNames);
  const range = `start=${HOUR_AGO}&end=${NOW}&limit=40000`;
  t.same((await w.api(`label/device/values?match[]=${device}&${range}`)).body.data, ['vda']);
});

t.test(
  'Grafana: the variables label_names, label_values, metrics, query_result and series query',
  async (t) => {
    t.same(
      (await w.api('labels?match[]=tiny_value')).body.data,
      labelNames.filter((name) => name !== 'device'),
    );
    t.same((await w.api('label/vm/values?match[]=tiny_value')).body.data, ['vm-1', 'vm-2']);
    t.same((await w.api('label/__name__/values')).body.data, names);
    const { body } = await w.post('query', { query: `topk(1, ${CPU})`, time: String(NOW) });
    t.match(body.data.result, [{ metric: { vm: 'vm-1' }, value: [NOW, '1800'] }]);
    const all = {
      'match[]': '{__name__!=""}',
      start: String(HOUR_AGO),
      end: String(NOW),
      limit: '40000',
    };
    const { body: series } = await w.post('series', all);
    t.same(
      [...new Set(series.data.map(({ __name__ }: { __name__: string }) => __name__))].sort(),
      names,
    );
  },
);

t.test('Grafana: alerting pages', async (t) => {
  t.equal(
    (await w.api('status/flags')).status,
    404,
    'better than any 200, which some take for Thanos',
  );
  t.same((await w.api('alerts')).body.data, { alerts: [] });
});

t.test('Grafana: multi-value variables are whole regular expressions, anchored', async (t) => {
  const vms = async (matcher: string) => {
    const { result } = await w.query(`${CPU}{${matcher}}`);
    return result.map(({ metric }: { metric: { vm: string } }) => metric.vm).sort();
  };
  t.same(await vms('vm=~"(vm-1|vm-2)"'), ['vm-1', 'vm-2']);
  t.same(await vms('vm=~"(vm-1|vm\\\\-2)"'), ['vm-1', 'vm-2']);
  t.same(await vms('vm=~"m-1"'), []);
  t.same(await vms('vm_name=~"machine.*"'), []);
  t.same(await vms('vm_name=~"(?i)machine .vm-[^1].*"'), ['vm-2']);
});

t.test(
  'Grafana: $__range and $__rate_interval are durations with parts of zero, or seconds',
  async (t) => {
    for (const range of ['1m0s', '4m0s', '3600s', '1h0m0s']) {
      const [{ value }] = (await w.query(`sum(rate(${CPU}[${range}]))`)).result;
      t.ok(Math.abs(Number(value[1]) - 0.75) < 1e-9, range);
    }
  },
);

t.test('times far outside of retention are answered, not refused', async (t) => {
  t.same(await w.query(CPU, 4), { resultType: 'vector', result: [] });
  const far = `start=${NOW - 9999 * 3600}&end=${NOW + 9999 * 3600}`;
  t.equal((await w.post('series', `match[]=${CPU}&${far}`)).body.data.length, 2);
  t.same((await w.api(`label/vm/values?${far}`)).body.data, ['vm-1', 'vm-2']);
  const { body } = await w.post('query_range', `query=${CPU}&${far}&step=7200`);
  t.equal(body.status, 'success');
  t.equal(body.data.result[0].values.length, 1);
});

t.test(
  'a result of a stale data center carries a warning with its last observation time',
  async (t) => {
    const ask = async (query: string) => (await w.post('query', { query })).body;
    t.notOk('warnings' in (await ask(CPU)));
    w.stale.add('DC-1');
    const { data, warnings } = await ask(CPU);
    t.equal(data.result.length, 2, 'history stays readable');
    t.match(warnings, [/DC-1.*stale.*2026-01-01T00:00:00/]);
    t.match(
      (await w.post('query_range', `query=${CPU}&start=${HOUR_AGO}&end=${NOW}&step=60`)).body,
      {
        warnings: [/DC-1/],
      },
    );
    t.notOk('warnings' in (await ask('1 + 1')), 'not of the data center');
    w.stale.clear();
    t.notOk('warnings' in (await ask(CPU)));
  },
);

t.test(
  'section 7, permission denied: boundary, capability and state of the credential, in the envelope',
  async (t) => {
    const url = `query?query=${CPU}`;
    for (const project of ['demo', 'nothing-of-that-name']) {
      const { status, body } = await w.api(url, { project, key: w.keys.other });
      t.equal(status, 403);
      t.match(body, { status: 'error', errorType: 'forbidden', error: /^PROJECT_BOUNDARY: / });
    }
    t.match(await w.api(url, { key: w.keys.collector }), {
      status: 403,
      body: { error: /^MISSING_CAPABILITY: / },
    });
    const key = await w.issue('demo', ['monitoring.read']);
    t.equal((await w.api(url, { key })).status, 200);
    const id = parseKey(key)?.id ?? '';
    await revokeCredential(w.host, tester, { project: 'demo', id, reason: 'test' });
    const revoked = await w.api(url, { key });
    t.equal(revoked.status, 401);
    t.match(revoked.body, { errorType: 'unauthorized', error: /^CREDENTIAL_REVOKED: / });
    t.equal(revoked.headers['www-authenticate'], 'Bearer');
  },
);

t.test(
  'section 7, request too large in points, expression or response size: each with its own error',
  async (t) => {
    const { body: points } = await w.api('query_range?query=1&start=0&end=300000&step=30');
    t.match(points, { errorType: 'bad_data', error: /10,000 points/ });
    const { body: expression } = await w.post('query', { query: `1${' '.repeat(16 * 1024)}` });
    t.match(expression, { errorType: 'bad_data', error: /16 KiB/ });
    const wide = Array.from(
      { length: 60 },
      (_, i) => `label_replace(vector(time()),"i","${i}","","")`,
    );
    const large = await w.post('query_range', {
      query: wide.join(' or '),
      ...{ start: String(NOW - 9_999 * 30), end: String(NOW), step: '30' },
    });
    t.equal(large.status, 422);
    t.match(large.body, { errorType: 'execution', error: /larger than 4194304 bytes/ });
  },
);

t.test(
  'section 7, upstream query exceeds its time: it fails and is never read as zero',
  async (t) => {
    const query = `sum_over_time((${'sin('.repeat(20)}vector(time())${')'.repeat(20)})[7d:1s])`;
    const answer = await w.post('query', { query, timeout: '0.05' });
    t.equal(answer.status, 503);
    t.match(answer.body, { status: 'error', errorType: 'timeout' });
    t.notOk('data' in answer.body);
  },
);

t.test(
  'section 8, upstream timeout of 10 seconds: the asker is told then, and the thread is free again',
  async (t) => {
    const world = await startPromqlWorld(t);
    const query = `sum_over_time((${'sin('.repeat(300)}vector(time())${')'.repeat(300)})[7d:1s])`;
    let answered = false;
    const asked = world.post('query', { query }).finally(() => {
      answered = true;
    });
    const startMs = world.clock.now();
    while (!answered) {
      // Until the request has arrived nothing waits for the clock.
      await world.clock.advance(10_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { status, body } = await asked;
    t.equal(status, 503);
    t.match(body, { status: 'error', errorType: 'timeout', error: /timed out/ });
    t.ok(world.clock.now() - startMs >= 10_000);
    t.equal((await world.post('query', { query: '1' })).status, 200);
  },
);

t.test('section 7, absent samples are not zero', async (t) => {
  const later = NOW + 301;
  t.same(
    (await w.query(`sum(${CPU})`, later)).result,
    [],
    'after staleness: no sum, not a sum of 0',
  );
  t.same((await w.query(`sum(rate(${CPU}[2m]))`, later)).result, []);
  const { body } = await w.post('query_range', {
    query: `sum(rate(${CPU}[2m]))`,
    ...{ start: String(NOW - 60), end: String(NOW + 600), step: '60' },
  });
  const values = body.data.result[0].values;
  t.ok(values.length < 11, 'points end where samples end');
  t.ok(values.every(([, value]: [number, string]) => Number(value) > 0));
});

t.test(
  'section 8, minimum range step 30 seconds: less is refused with the setting to change',
  async (t) => {
    const range = `query=${CPU}&start=${HOUR_AGO}&end=${NOW}`;
    t.equal((await w.post('query_range', `${range}&step=30`)).status, 200);
    const { status, body } = await w.post('query_range', `${range}&step=15`);
    t.equal(status, 400);
    t.match(body, { errorType: 'bad_data', error: /30 s.*Scrape interval/ });
    t.equal(
      (await w.query(`count_over_time(${CPU}{vm="vm-1"}[5m:1s])`)).result.length,
      1,
      'not of the engine',
    );
  },
);

t.test('section 8, at most 10,000 points a series', async (t) => {
  const range = (end: number) => w.api(`query_range?query=1&start=0&end=${end}&step=30`);
  t.equal((await range(299_970)).body.data.result[0].values.length, 10_000);
  t.equal((await range(300_000)).status, 400);
});

t.test('section 8, expression length 16 KiB, by GET and by POST', async (t) => {
  const others = 'vm-3|'.repeat(3000);
  const expression = `count(${CPU}{vm=~"${others}vm-1"})`.padEnd(16 * 1024, '   \n');
  const posted = await w.post('query', { query: expression });
  const got = await w.api(`query?query=${encodeURIComponent(expression)}`);
  for (const { status, body } of [posted, got]) {
    t.equal(status, 200);
    t.same(body.data.result, [{ metric: {}, value: [NOW, '1'] }]);
  }
  t.equal((await w.post('query', { query: `${expression} ` })).status, 400);
});

t.test('section 8, hosted retention 7 days: nothing older is read', async (t) => {
  const world = await startPromqlWorld(t);
  const day = 86_400_000;
  const values = () => [{ series: 'a', value: 1 }];
  await world.writeTo('demo', rowsOf('vm-1', { count: 3, endMs: START_MS - 6 * day, values }));
  const count = async (range: string) => {
    const { result } = await world.query(`count_over_time(a[${range}])`, world.clock.now() / 1000);
    return result[0]?.value[1];
  };
  t.equal(await count('10d'), '3');
  await world.clock.advance(day - 30_000);
  t.equal(await count('10d'), '2');
  await world.clock.advance(60_000);
  t.equal(await count('10d'), undefined);
  t.same((await world.query('a', (START_MS - 6 * day) / 1000)).result, []);
});

t.test(
  'section 8, concurrency is limited per project: 429 with Retry-After, and others are not held up',
  async (t) => {
    const slow = `sum_over_time((${'sin('.repeat(20)}vector(time())${')'.repeat(20)})[6h:1s])`;
    const other = await w.issue('other', ['monitoring.read']);
    const asked = Array.from({ length: 90 }, () => w.post('query', { query: slow, timeout: '1' }));
    const theirs = await w.api('query?query=1', { project: 'other', key: other });
    t.equal(theirs.status, 200);
    const answers = await Promise.all(asked);
    const refused = answers.filter(({ status }) => status === 429);
    t.ok(refused.length > 0);
    for (const { headers, body } of refused) {
      t.match(headers['retry-after'], /^\d+$/);
      t.match(body, {
        status: 'error',
        errorType: 'too_many_requests',
        error: /^TOO_MANY_REQUESTS: /,
      });
    }
    t.ok(answers.every(({ status }) => [200, 429, 503].includes(status)));
    t.equal((await w.post('query', { query: '1' })).status, 200);
  },
);

t.test('a VM that is renamed has its new name on all of its history', async (t) => {
  const vm = `vm-${randomUUID().slice(0, 8)}`;
  const values = () => [{ series: 'renamed', value: 1 }];
  await w.writeTo(
    'demo',
    rowsOf(vm, { count: 1, endMs: START_MS - 60_000, values, row: { displayName: 'before' } }),
  );
  t.equal((await w.query('renamed')).result[0].metric.vm_name, 'before');
  await w.writeTo('demo', rowsOf(vm, { count: 1, values, row: { displayName: 'after' } }));
  const { result } = await w.query('renamed[5m]');
  t.equal(result.length, 1);
  t.equal(result[0].metric.vm_name, 'after');
  t.equal(result[0].values.length, 2);
});
