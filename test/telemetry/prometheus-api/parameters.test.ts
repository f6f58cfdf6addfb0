/**
 * Parameters of the PromQL URL: how a request is parsed, observed as the request to the query
 * threads, and how an invalid one is refused.
 */
import { test } from 'tap';
import { PromqlError } from '../../../src/telemetry/promql/errors.ts';
import { errorAnswer } from '../../../src/telemetry/query/promql/promql-json.ts';
import { START_MS } from '../../support/host-in-memory.ts';
import { formBody, startPromqlRoutes } from '../../support/promql-routes.ts';

const TIME_MS_MAX = 8_640_000_000_000_000;
const ever = { startMs: -TIME_MS_MAX, endMs: TIME_MS_MAX };

test('each path of the API is parsed as its query request', async (t) => {
  const { send, post, requests } = await startPromqlRoutes(t);
  const instant = { kind: 'instant', expression: 'up', timeMs: START_MS };
  const range = { kind: 'range', expression: 'up', startMs: 0, endMs: 60_000, stepMs: 30_000 };
  const rows: readonly [what: string, path: string, call: object, rest?: object][] = [
    ['time: absent is now', 'query?query=up', instant],
    [
      'time: whole seconds',
      'query?query=1%2B1&time=4',
      { kind: 'instant', expression: '1+1', timeMs: 4000 },
    ],
    ['time: decimals', 'query?query=up&time=600.123', { ...instant, timeMs: 600_123 }],
    ['time: exponent', 'query?query=up&time=1.7e9', { ...instant, timeMs: 1_700_000_000_000 }],
    ['time: negative', 'query?query=up&time=-1.5', { ...instant, timeMs: -1500 }],
    [
      'time: RFC 3339',
      'query?query=up&time=2026-01-01T01:00:00.5%2B01:00',
      { ...instant, timeMs: START_MS + 500 },
    ],
    [
      'time: nanoseconds',
      'query?query=up&time=2026-01-01T00:00:00.123456789Z',
      { ...instant, timeMs: START_MS + 123 },
    ],
    ['time: far away', 'query?query=up&time=1e300', { ...instant, timeMs: TIME_MS_MAX }],
    [
      'text as it was sent',
      'query?query=%7Ba%3D%22x+y%C3%BC%22%7D&time=0',
      { kind: 'instant', expression: '{a="x yü"}', timeMs: 0 },
    ],
    ['limit', 'query?query=up&limit=5', instant, { limit: 5 }],
    ['lookback: duration', 'query?query=up&lookback_delta=2m', instant, { lookbackMs: 120_000 }],
    ['lookback: seconds', 'query?query=up&lookback_delta=90', instant, { lookbackMs: 90_000 }],
    ['lookback: none is the default', 'query?query=up&lookback_delta=0', instant],
    ['timeout: less than ours', 'query?query=up&timeout=5s', instant, { timeoutMs: 5000 }],
    ['timeout: more than ours', 'query?query=up&timeout=60s', instant],
    ['timeout: below zero', 'query?query=up&timeout=-1', instant, { timeoutMs: 0 }],
    ['unknown parameters are ignored', 'query?query=up&stats=all&dedup=true&x[]=1', instant],
    ['range: step in seconds', 'query_range?query=up&start=0&end=60&step=30', range],
    [
      'range: step as a duration with parts of zero',
      'query_range?query=up&start=0&end=60&step=1m0s',
      { ...range, stepMs: 60_000 },
    ],
    [
      'range: one point',
      'query_range?query=up&start=60&end=60&step=1w1d',
      { ...range, startMs: 60_000, stepMs: 8 * 86_400_000 },
    ],
    [
      'range: 10,000 points',
      'query_range?query=up&start=0&end=299970&step=30',
      { ...range, endMs: 299_970_000 },
    ],
    [
      'range: far outside retention',
      'query_range?query=up&start=-9999&end=60&step=100',
      { ...range, startMs: -9_999_000, stepMs: 100_000 },
    ],
    [
      'range: options',
      'query_range?query=up&start=0&end=60&step=30&limit=3&timeout=1.5',
      range,
      { limit: 3, timeoutMs: 1500 },
    ],
    [
      'series',
      'series?match[]=up&match[]=%7Ba%3D%221%22%7D',
      { kind: 'series', matches: ['up', '{a="1"}'], ...ever },
    ],
    [
      'series: times',
      'series?match%5B%5D=up&start=1&end=2.5&limit=7',
      { kind: 'series', matches: ['up'], startMs: 1000, endMs: 2500 },
      { limit: 7 },
    ],
    ['labels', 'labels', { kind: 'labels', matches: [], ...ever }],
    [
      'labels of a selector',
      'labels?match[]=up&limit=40000',
      { kind: 'labels', matches: ['up'], ...ever },
      { limit: 40_000 },
    ],
    [
      'label values',
      'label/__name__/values',
      { kind: 'labelValues', label: '__name__', matches: [], ...ever },
    ],
    [
      'label values: escaped name',
      'label/U__a_2e_b__c/values',
      { kind: 'labelValues', label: 'a.b_c', matches: [], ...ever },
    ],
    [
      'label values: a name that only looks escaped',
      'label/U__a_zz_/values',
      { kind: 'labelValues', label: 'U__a_zz_', matches: [], ...ever },
    ],
    [
      'label values: half a surrogate pair',
      'label/U___d800_/values',
      { kind: 'labelValues', label: 'U___d800_', matches: [], ...ever },
    ],
    [
      'label values: a name in UTF-8',
      'label/%C3%BC/values?match[]=up',
      { kind: 'labelValues', label: 'ü', matches: ['up'], ...ever },
    ],
    ['format', 'format_query?query=up%20%2Bup', { kind: 'format', expression: 'up +up' }],
    ['parse', 'parse_query?query=up', { kind: 'parse', expression: 'up' }],
  ];
  for (const [what, path, operation, rest = {}] of rows) {
    const expected = { project: 'demo', operation, limit: 0, encoding: 'identity', ...rest };
    requests.length = 0;
    t.equal((await send(`/api/v1/${path}`)).status, 200, what);
    t.same(requests, [expected], what);
    const [url = '', form = ''] = path.split('?');
    const posted = await post(`/api/v1/${url}`, form);
    if (url.startsWith('label/')) t.equal(posted.status, 405, what);
    else t.same(requests, [expected, expected], `${what}, posted`);
  }
});

test('URL and form parameters are merged, and the body’s first value counts', async (t) => {
  const { send, requests } = await startPromqlRoutes(t);
  const expressionOf = async (url: string, form?: string) => {
    requests.length = 0;
    const sent = form === undefined ? { method: 'POST' } : { method: 'POST', ...formBody(form) };
    const { status } = await send(`/api/v1/query?${url}`, sent);
    const [request] = requests;
    return request?.operation.kind === 'instant' ? request.operation.expression : status;
  };
  t.equal(await expressionOf('query=a'), 'a', 'no body, as newer Grafanas send it');
  t.equal(await expressionOf('', 'query=b'), 'b');
  t.equal(await expressionOf('query=a', 'query=b'), 'b');
  t.equal(await expressionOf('query=a', 'time=4'), 'a');
  t.equal(await expressionOf('query=a&query=b'), 'a');
  t.equal(await expressionOf('query=a', 'query=b&query=c'), 'b');
  t.equal(await expressionOf('query[]=a'), '', 'another name');
  t.equal(await expressionOf('Query=a'), '', 'another name');
  requests.length = 0;
  await send('/api/v1/series?match[]=a', { method: 'POST', ...formBody('match[]=b&match[]=c') });
  t.match(requests, [{ operation: { matches: ['b', 'c', 'a'] } }], 'a list has all of them');
  t.equal((await send('/api/v1/query?query=%zz')).status, 400);
  t.match((await send('/api/v1/query?query=%ff')).body, {
    errorType: 'bad_data',
    error: /error parsing form values/,
  });
});

test('invalid parameters are refused in the words of Prometheus', async (t) => {
  const { send, requests } = await startPromqlRoutes(t);
  const range = 'query_range?query=up&';
  const rows: readonly [path: string, error: string][] = [
    [
      'query?query=up&time=x',
      'invalid parameter "time": invalid time value for \'time\': cannot parse "x" to a valid timestamp',
    ],
    [
      'query?query=up&time=2026-02-30T00:00:00Z',
      'invalid parameter "time": invalid time value for \'time\': cannot parse "2026-02-30T00:00:00Z" to a valid timestamp',
    ],
    [
      'query?query=up&time=NaN',
      'invalid parameter "time": invalid time value for \'time\': cannot parse "NaN" to a valid timestamp',
    ],
    ['query?query=up&limit=-1', 'invalid parameter "limit": limit must be non-negative'],
    [
      'query?query=up&limit=abc',
      'invalid parameter "limit": strconv.Atoi: parsing "abc": invalid syntax',
    ],
    [
      'query?query=up&timeout=soon',
      'invalid parameter "timeout": cannot parse "soon" to a valid duration',
    ],
    [
      'query?query=up&lookback_delta=x%22',
      'error parsing lookback delta duration: cannot parse "x\\"" to a valid duration',
    ],
    [`${range}end=1&step=30`, 'invalid parameter "start": cannot parse "" to a valid timestamp'],
    [`${range}start=1&step=30`, 'invalid parameter "end": cannot parse "" to a valid timestamp'],
    [
      `${range}start=2&end=1&step=30`,
      'invalid parameter "end": end timestamp must not be before start time',
    ],
    [`${range}start=1&end=2`, 'invalid parameter "step": cannot parse "" to a valid duration'],
    [
      `${range}start=1&end=2&step=1x`,
      'invalid parameter "step": cannot parse "1x" to a valid duration',
    ],
    [
      `${range}start=1&end=2&step=0`,
      'invalid parameter "step": zero or negative query resolution step widths are not accepted. Try a positive integer',
    ],
    [
      `${range}start=1&end=2&step=-30`,
      'invalid parameter "step": zero or negative query resolution step widths are not accepted. Try a positive integer',
    ],
    [
      `${range}start=0&end=300000&step=30`,
      'exceeded maximum resolution of 10,000 points per timeseries. Try decreasing the query resolution (?step=XX)',
    ],
    ['series', 'no match[] parameter provided'],
    [
      'series?match[]=up&start=x',
      'invalid parameter "start": invalid time value for \'start\': cannot parse "x" to a valid timestamp',
    ],
    [
      'labels?end=x',
      'invalid parameter "end": invalid time value for \'end\': cannot parse "x" to a valid timestamp',
    ],
    [
      'label/a/values?limit=x',
      'invalid parameter "limit": strconv.Atoi: parsing "x": invalid syntax',
    ],
    ['label//values', 'invalid label name: ""'],
    ['label/U__/values', 'invalid label name: ""'],
    ['metadata?limit=abc', 'limit must be a number'],
    ['metadata?limit_per_metric=abc', 'limit_per_metric must be a number'],
  ];
  for (const [path, error] of rows) {
    const { status, body } = await send(`/api/v1/${path}`);
    t.equal(status, 400, path);
    t.same(body, { status: 'error', errorType: 'bad_data', error }, path);
  }
  t.same(requests, [], 'no query thread was called');
});

test('a step below 30 seconds is raised, with the name of the data source’s setting', async (t) => {
  const { send, requests } = await startPromqlRoutes(t);
  for (const step of ['15', '29.999', '1s', '29s999ms']) {
    const answer = await send(`/api/v1/query_range?query=up&start=0&end=60&step=${step}`);
    t.equal(answer.status, 200, step);
  }
  for (const { operation, notices } of requests) {
    t.match(operation, { stepMs: 30_000 });
    t.match(notices, [/^the step of \S+ s was raised to 30 s.*"Scrape interval"/]);
  }
  t.equal(requests.length, 4);
});

test('an expression, and all selectors together, have at most 16 KiB', async (t) => {
  const { send, post, requests } = await startPromqlRoutes(t);
  const most = 'x'.repeat(16 * 1024);
  const over = `${'ü'.repeat(8 * 1024)}x`;
  t.equal((await send(`/api/v1/query?query=${most}`)).status, 200);
  t.equal((await post('/api/v1/query', `query=${most}`)).status, 200);
  t.equal(requests.length, 2);
  for (const path of ['query', 'format_query', 'parse_query']) {
    const { status, body } = await post(`/api/v1/${path}`, `query=${encodeURIComponent(over)}`);
    t.equal(status, 400);
    t.match(body, {
      errorType: 'bad_data',
      error: 'invalid parameter "query": an expression of 16385 bytes is longer than 16 KiB',
    });
  }
  const half = 'x'.repeat(9 * 1024);
  const { body } = await post('/api/v1/series', `match[]=${half}&match[]=${half}`);
  t.match(body, { errorType: 'bad_data', error: /^invalid parameter "match\[\]".*16 KiB/ });
  t.equal(requests.length, 2);
});

test('an error in an expression names the parameter that contained it', async (t) => {
  const reported = (...from: Parameters<typeof errorAnswer>) => {
    const { status, body } = errorAnswer(...from);
    return { status, ...JSON.parse(Buffer.from(body).toString()), httpStatus: status };
  };
  const bad = new PromqlError('bad_data', '1:3: parse error: unexpected end of input');
  t.match(reported(bad, { kind: 'instant', expression: '1+', timeMs: 0 }), {
    httpStatus: 400,
    error: 'invalid parameter "query": 1:3: parse error: unexpected end of input',
  });
  t.match(reported(bad, { kind: 'labels', matches: ['1+'], ...ever }), {
    error: 'invalid parameter "match[]": 1:3: parse error: unexpected end of input',
  });
  const call = { kind: 'parse', expression: 'x' } as const;
  t.match(reported(new PromqlError('timeout', 'a'), call), {
    httpStatus: 503,
    errorType: 'timeout',
    error: 'a',
  });
  t.match(reported(new PromqlError('canceled', 'a'), call), {
    httpStatus: 499,
    errorType: 'canceled',
  });
  t.match(reported(new PromqlError('execution', 'a'), call), {
    httpStatus: 422,
    errorType: 'execution',
  });
});
