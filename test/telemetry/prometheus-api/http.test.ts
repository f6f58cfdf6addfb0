/**
 * The PromQL URL with real query threads over real history. Each row of the table of Prometheus's
 * answers is a test of that name.
 */
import { randomUUID } from 'node:crypto';
import t, { test } from 'tap';
import { START_MS } from '../../support/host-in-memory.ts';
import { rowsOf } from '../../support/promql-server.ts';
import {
  CPU,
  HOUR_AGO,
  labelNames,
  NOW,
  names,
  startTwoVms,
  vmLabels,
} from '../../support/two-vms.ts';

const w = await startTwoVms(t);

test('path query: an instant by GET and POST, by default now', async (t) => {
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

test('path query: lookback_delta and limit', async (t) => {
  const at = { query: CPU, time: String(NOW + 200) };
  t.equal((await w.post('query', at)).body.data.result.length, 2);
  t.same((await w.post('query', { ...at, lookback_delta: '2m' })).body.data.result, []);
  const { body } = await w.post('query', { ...at, limit: '1' });
  t.equal(body.data.result.length, 1);
  t.match(body.warnings, ['results truncated due to limit', /older than 90 s/]);
  t.equal(body.warnings.length, 2);
});

test('path query_range: end before start, no step, too many points, a range vector and a scalar', async (t) => {
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
});

test('path labels: sorted names, of selected series if match[] is given', async (t) => {
  t.same((await w.api('labels')).body, { status: 'success', data: labelNames });
  t.same((await w.post('labels', '')).body.data, labelNames);
  const withoutDevice = labelNames.filter((name) => name !== 'device');
  t.same((await w.post('labels', { 'match[]': CPU })).body.data, withoutDevice);
  const empty = await w.api('labels?match[]={}');
  t.equal(empty.status, 400);
  t.equal(empty.body.errorType, 'bad_data');
  t.same((await w.api('labels?match[]=nothing')).body.data, []);
});

test('path label/NAME/values: sorted values, none for an unknown label, GET only', async (t) => {
  t.same((await w.api('label/__name__/values')).body, { status: 'success', data: names });
  t.same((await w.api('label/vm/values')).body.data, ['vm-1', 'vm-2']);
  t.same((await w.api('label/U__vm__name/values')).body.data, ['Machine "vm-1"', 'Machine "vm-2"']);
  t.same((await w.api('label/U__a_2e_b/values')).body, { status: 'success', data: [] });
  t.same((await w.api('label/unknown/values')).body.data, []);
  const selected = `label/vm/values?match[]=${CPU}{vm!="vm-1"}`.replaceAll('"', '%22');
  t.same((await w.api(selected)).body.data, ['vm-2']);
  t.equal((await w.api('label/vm/values', { method: 'POST' })).status, 405);
});

test('path series: label sets, a union without duplicates, and at least one match[]', async (t) => {
  const { body } = await w.post('series', { 'match[]': `${CPU}{vm="vm-2"}` });
  t.same(body, { status: 'success', data: [{ __name__: CPU, ...vmLabels('vm-2') }] });
  const union = `match[]=${CPU}&match[]={vm="vm-1",__name__=~"${CPU}|tiny_value"}`;
  t.equal((await w.post('series', union)).body.data.length, 3);
  t.equal((await w.api('series')).body.error, 'no match[] parameter provided');
  t.equal((await w.api('series')).status, 400);
});

test('path metadata: type, help and unit of the project’s metrics', async (t) => {
  const { body } = await w.api('metadata?limit=40000');
  t.same(Object.keys(body.data), names);
  t.match(body.data[CPU], [{ type: 'counter', unit: 'seconds', help: String }]);
  t.same((await w.api('metadata?metric=nothing')).body, { status: 'success', data: {} });
  t.equal((await w.api('metadata?limit=abc')).status, 400);
});

test('paths format_query and parse_query: an expression as text and as a tree', async (t) => {
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

test('a limit on series, labels and values keeps the first and warns', async (t) => {
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

test('a match[] selector needs a matcher that rejects the empty string, and no range or offset', async (t) => {
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
});

test('start and end of labels, values and series select those with samples in between', async (t) => {
  const inside = `start=${HOUR_AGO}&end=${NOW}`;
  t.same((await w.api(`label/vm/values?${inside}`)).body.data, ['vm-1', 'vm-2']);
  t.same((await w.api(`labels?${inside}`)).body.data, labelNames);
  t.equal((await w.api(`series?match[]=${CPU}&${inside}`)).body.data.length, 2);
});

test('errors of an expression: syntax, a selector of everything, none, and invalid data', async (t) => {
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
});

test('warnings and infos are part of the result', async (t) => {
  const { body } = await w.post('query', { query: 'rate(svc_vm_memory_free_bytes[5m])' });
  t.equal(body.data.result.length, 2);
  t.match(body.infos, [/^PromQL info: metric might not be a counter.*"svc_vm_memory_free_bytes"/]);
  const odd = await w.post('query', { query: `quantile(7, ${CPU})` });
  t.match(odd.body, {
    data: { result: [{ value: [NOW, '+Inf'] }] },
    warnings: [/^PromQL warning: quantile/],
  });
});

test('answers are compressed with gzip and zstd, with the same bytes inside', async (t) => {
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

test('a renamed VM has its new name on all of its history', async (t) => {
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
