/**
 * Errors and limits (ERR and LIMIT of docs/requirements.md) of reads by PromQL: each test carries
 * the id of its row. Data beyond a limit is reported as truncated, never as a zero.
 */
import t, { test } from 'tap';
import { parseKey } from '../../../src/platform/keys.ts';
import { revokeCredential } from '../../support/credentials.ts';
import { START_MS, tester } from '../../support/host-in-memory.ts';
import { until } from '../../support/program.ts';
import { rowsOf, startPromqlServer } from '../../support/promql-server.ts';
import { CPU, HOUR_AGO, NOW, startTwoVms } from '../../support/two-vms.ts';

const w = await startTwoVms(t, { hasWorkers: true });

test('times far outside retention are answered, not refused', async (t) => {
  t.same(await w.query(CPU, 4), { resultType: 'vector', result: [] });
  const far = `start=${NOW - 9999 * 3600}&end=${NOW + 9999 * 3600}`;
  t.equal((await w.post('series', `match[]=${CPU}&${far}`)).body.data.length, 2);
  t.same((await w.api(`label/vm/values?${far}`)).body.data, ['vm-1', 'vm-2']);
  const { body } = await w.post('query_range', `query=${CPU}&${far}&step=7200`);
  t.equal(body.status, 'success');
  t.equal(body.data.result[0].values.length, 1);
});

test('ERR-08: a stale data center is a warning with its last observation time', async (t) => {
  const ask = async (query: string) => (await w.post('query', { query })).body;
  t.notOk('warnings' in (await ask(CPU)));
  w.stale.add('DC-1');
  const { data, warnings } = await ask(CPU);
  t.equal(data.result.length, 2, 'history stays readable');
  t.match(warnings, [/DC-1.*stale.*2026-01-01T00:00:00/]);
  t.match((await w.post('query_range', `query=${CPU}&start=${HOUR_AGO}&end=${NOW}&step=60`)).body, {
    warnings: [/DC-1/],
  });
  t.notOk('warnings' in (await ask('1 + 1')), 'not of the data center');
  w.stale.clear();
  t.notOk('warnings' in (await ask(CPU)));
});

test('ERR-04: a denied request names boundary, capability or credential state in the envelope', async (t) => {
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
});

test('ERR-02: each limit (points, expression, response size) has its own error', async (t) => {
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
    start: String(NOW - 9_999 * 30),
    end: String(NOW),
    step: '30',
  });
  t.equal(large.status, 422);
  t.match(large.body, { errorType: 'execution', error: /exceed 4194304 bytes/ });
});

test('ERR-03: a query over 10 seconds or its own timeout fails and is never read as zero', async (t) => {
  const query = `sum_over_time((${'sin('.repeat(20)}vector(time())${')'.repeat(20)})[7d:1s])`;
  const answer = await w.post('query', { query, timeout: '0.05' });
  t.equal(answer.status, 503);
  t.match(answer.body, { status: 'error', errorType: 'timeout' });
  t.notOk('data' in answer.body);
});

test('LIMIT-03: a query times out after 10 seconds, its caller is answered and its thread is freed', async (t) => {
  const world = await startPromqlServer(t, undefined, { hasWorkers: true });
  const query = `sum_over_time((${'sin('.repeat(300)}vector(time())${')'.repeat(300)})[7d:1s])`;
  let answered = false;
  const requested = world.post('query', { query }).finally(() => {
    answered = true;
  });
  const startMs = world.clock.now();
  while (!answered) {
    // No part waits for the clock until the request has arrived.
    await world.clock.advance(10_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { status, body } = await requested;
  t.equal(status, 503);
  t.match(body, { status: 'error', errorType: 'timeout', error: /timed out/ });
  t.ok(world.clock.now() - startMs >= 10_000);
  t.equal((await world.post('query', { query: '1' })).status, 200);
});

test('ERR-07: absent samples are not zero', async (t) => {
  const later = NOW + 301;
  t.same(
    (await w.query(`sum(${CPU})`, later)).result,
    [],
    'after staleness: no sum, not a sum of 0',
  );
  t.same((await w.query(`sum(rate(${CPU}[2m]))`, later)).result, []);
  const { body } = await w.post('query_range', {
    query: `sum(rate(${CPU}[2m]))`,
    start: String(NOW - 60),
    end: String(NOW + 600),
    step: '60',
  });
  const values = body.data.result[0].values;
  t.ok(values.length < 11, 'points end where samples end');
  t.ok(values.every(([, value]: [number, string]) => Number(value) > 0));
});

test('LIMIT-04: a step below 30 seconds is raised, with a warning that names the setting', async (t) => {
  const range = `query=${CPU}&start=${HOUR_AGO}&end=${NOW}`;
  t.equal((await w.post('query_range', `${range}&step=30`)).status, 200);
  const { status, body } = await w.post('query_range', `${range}&step=15`);
  t.equal(status, 200);
  t.match(body, { warnings: [/the step of 15 s was raised to 30 s.*Scrape interval/] });
  const times = body.data.result[0].values.map(([time]: [number]) => time);
  t.equal(times[1] - times[0], 30);
  const most = `query=1&start=0&end=${10_000 * 30}&step=15`;
  t.match((await w.post('query_range', most)).body.error, /10,000 points/, 'of the raised step');
  t.equal(
    (await w.query(`count_over_time(${CPU}{vm="vm-1"}[5m:1s])`)).result.length,
    1,
    'not of the engine',
  );
});

test('LIMIT-05: a series has at most 10,000 points, both ends counted', async (t) => {
  const range = (end: number) => w.api(`query_range?query=1&start=0&end=${end}&step=30`);
  t.equal((await range(299_970)).body.data.result[0].values.length, 10_000);
  t.equal((await range(300_000)).status, 400);
});

test('LIMIT-06: an expression has at most 16 KiB, by GET and by POST', async (t) => {
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

test('LIMIT-01: hosted retention is 7 days, and nothing older is read', async (t) => {
  const world = await startPromqlServer(t);
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

test('LIMIT-02: each sample, taken every 30 seconds, is a separate point', async (t) => {
  const range = { start: String(NOW - 600), end: String(NOW), step: '30' };
  const query = `${CPU}{vm="vm-1"}`;
  const { body } = await w.post('query_range', { query, ...range });
  const points = Array.from({ length: 21 }, (_, i) => [NOW - 600 + 30 * i, String(1500 + 15 * i)]);
  t.same(body.data.result[0].values, points);
  const { result } = await w.query(`count_over_time(${query}[10m])`);
  t.equal(result[0].value[1], '20');
});

test('LIMIT-07: a response has at most 4 MiB, and a larger one is refused as a whole', async (t) => {
  const ask = (series: number) => {
    const one = (i: number) => `label_replace(vector(time()),"i","${i}","","")`;
    const query = Array.from({ length: series }, (_, i) => one(i)).join(' or ');
    const range = { start: String(NOW - 9_999 * 30), end: String(NOW), step: '30' };
    return w.post('query_range', { query, ...range });
  };
  const fits = await ask(16);
  t.equal(fits.status, 200);
  t.equal(fits.body.data.result.length, 16);
  const bytes = Buffer.byteLength(fits.text);
  t.ok(bytes > 3.5 * 2 ** 20 && bytes <= 4 * 2 ** 20, `${bytes} bytes`);
  const large = await ask(18);
  t.match(large, { status: 422, body: { errorType: 'execution', error: /4194304 bytes/ } });
  t.notOk('data' in large.body, 'not even a part of it');
});

test('ERR-01: a PromQL query over the concurrency limit gets 429 with Retry-After', async (t) => {
  const slow = `sum_over_time((${'sin('.repeat(300)}vector(time())${')'.repeat(300)})[7d:1s])`;
  // Each waits with 32 KiB, and all of one key with at most 4 MiB.
  const query = slow.padEnd(16_000);
  const requested = Array.from({ length: 140 }, () => w.post('query', { query, timeout: '9' }));
  const { status, headers, body } = await Promise.race(requested);
  t.equal(status, 429, 'one more than may run and wait is refused at once');
  t.match(headers['retry-after'], /^[1-9]\d*$/);
  t.match(body, { errorType: 'too_many_requests', error: /^TOO_MANY_REQUESTS: / });
  t.notOk('data' in body);
  await w.clock.advance(10_000);
  await w.clock.advance(10_000);
  const others = await Promise.all(requested);
  t.notOk(
    others.some((answer) => answer.status === 200),
    'and no other has an answer of zero',
  );
});

test('LIMIT-08: a project over its concurrency gets 429 with Retry-After and delays no other', async (t) => {
  const part = `sum_over_time((${'sin('.repeat(300)}vector(time())${')'.repeat(300)})[7d:1s])`;
  const slow = `${part} + ${part} + ${part}`;
  const other = await w.issue('other', ['monitoring.read']);
  const ask = { project: 'other', key: other };
  t.equal((await w.api('query?query=1', ask)).status, 200);
  let answered = 0;
  const count = <T>(answer: T): T => {
    answered++;
    return answer;
  };
  const keys = [{}, { key: await w.issue('demo', ['monitoring.read']) }];
  const requested = Array.from({ length: 90 }, (_, i) =>
    w.api(`query?query=${encodeURIComponent(slow)}`, keys[i % 2]).then(count),
  );
  await until('all others wait', () => w.gate.counts().query.waiting >= 90 - 8 || undefined);
  const theirs = await w.api('query?query=1', ask);
  t.equal(theirs.status, 200);
  t.equal(theirs.body.data.result[1], '1');
  t.equal(w.running(), 2, 'earlier ones still run');
  t.equal(answered, 0, 'and the others wait');
  // Eight slots become free at the last moment, when the queries in them time out.
  await w.clock.advance(10_000);
  await w.clock.advance(10_000);
  const answers = await Promise.all(requested);
  const refused = answers.filter(({ status }) => status === 429);
  t.equal(refused.length, 90 - 8 - 8, 'those without a slot within 10 s');
  for (const { headers, body } of refused) {
    t.match(headers['retry-after'], /^\d+$/);
    t.match(body, {
      status: 'error',
      errorType: 'too_many_requests',
      error: /^TOO_MANY_REQUESTS: /,
    });
  }
  const others = answers.filter(({ status }) => status !== 429);
  t.ok(others.every(({ body }) => body.errorType === 'timeout'));
  t.equal((await w.post('query', { query: '1' })).status, 200);
});
