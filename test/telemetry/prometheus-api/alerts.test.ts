/**
 * Incidents in Prometheus's API: `/rules`, `/alerts`, and the series `ALERTS` and
 * `ALERTS_FOR_STATE`, answered from the project's own rules and incidents.
 */
import { randomUUID } from 'node:crypto';
import t, { test } from 'tap';
import { START_MS } from '../../support/host-in-memory.ts';
import { formBody } from '../../support/promql-routes.ts';
import { startPromqlServer } from '../../support/promql-server.ts';
import { cookieHeaders } from '../../support/rpc-calls.ts';

const w = await startPromqlServer(t);
const NOW = START_MS / 1000;

/** CPU in percent, `second` seconds after the start. */
const row = (vm: string, second: number, value: number) => ({
  vm,
  observedUnixMs: START_MS + second * 1000,
  displayName: `Machine ${vm}`,
  values: [{ series: 'svc_vm_cpu_utilization_pct', value }],
});
const save = async (spec: object) => {
  const id = randomUUID();
  const request = { projectName: 'projects/demo', id, requestId: randomUUID() };
  const { status, body } = await w.call('SaveAlertRule', {
    ...request,
    expectedVersion: '0',
    spec: {
      metricId: 'cpu_utilization_pct',
      operator: 'GREATER_THAN',
      threshold: 90,
      severity: 'WARNING',
      allVms: true,
      ...spec,
    },
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return id;
};
await w.writeTo('demo', [row('vm-1', -30, 10), row('vm-2', -30, 10)]);
const runbook = { runbookText: 'Call storage.', runbookUrl: 'https://runbooks.example.com/cpu' };
const labels = { team: 'web', alertname: 'another' };
const at = await save({ displayName: 'CPU high', labels, ...runbook });
const later = await save({ displayName: 'CPU long', sustainedSeconds: 300 });
await save({ displayName: 'Paused', enabled: false });
await w.writeTo('demo', [row('vm-1', 0, 95), row('vm-2', 0, 20)]);
w.clock.advance(60_000);
await w.writeTo('demo', [row('vm-1', 30, 96), row('vm-2', 30, 20)]);
await w.writeTo('demo', [row('vm-1', 60, 96.5), row('vm-2', 60, 20)]);

const ofVm = { project: 'demo', vm: 'vm-1', vm_name: 'Machine vm-1', datacenter: 'DC-1' };
const firing = { alertname: 'CPU high', severity: 'warning', team: 'web', rule: at, ...ofVm };
const pending = { alertname: 'CPU long', severity: 'warning', rule: later, ...ofVm };
const iso = (second: number) => new Date(START_MS + second * 1000).toISOString();

test('API-38: /api/v1/alerts lists pending and firing alerts with their labels', async (t) => {
  const { status, body } = await w.api('alerts');
  t.equal(status, 200);
  const alerts = body.data.alerts.toSorted((a: { state: string }, b: { state: string }) =>
    a.state < b.state ? -1 : 1,
  );
  t.match(alerts, [
    { labels: firing, state: 'firing', activeAt: iso(0), value: /^9\.\d+e\+01$/ },
    { labels: pending, state: 'pending', activeAt: iso(0) },
  ]);
  t.equal(alerts.length, 2);
  t.same(alerts[0].labels, firing, 'a label of the alert overrides a label of the rule');
});

test('API-38: /api/v1/rules is one group of the enabled rules', async (t) => {
  const { body } = await w.api('rules');
  const [group, ...others] = body.data.groups;
  t.same(others, []);
  t.match(group, { name: 'alert rules', file: 'projects/demo', interval: 15 });
  const rules = new Map<string, Record<string, unknown>>(
    group.rules.map((rule: { name: string }) => [rule.name, rule]),
  );
  t.same([...rules.keys()].sort(), ['CPU high', 'CPU long']);
  t.match(rules.get('CPU high'), {
    state: 'firing',
    type: 'alerting',
    health: 'ok',
    duration: 0,
    query: 'svc_vm_cpu_utilization_pct > 90',
    annotations: { runbook: 'Call storage.', runbook_url: runbook.runbookUrl },
    alerts: [{ state: 'firing', annotations: { runbook: 'Call storage.' } }],
  });
  t.match(rules.get('CPU long'), { state: 'pending', duration: 300 });
  const { result } = await w.query(String(rules.get('CPU high')?.query), NOW + 60);
  t.same(
    result.map(({ metric }: { metric: { vm: string } }) => metric.vm),
    ['vm-1'],
    'the expression can be queried',
  );
  const named = await w.api('rules?rule_name[]=CPU%20long&exclude_alerts=true');
  t.same(
    named.body.data.groups[0].rules.map(({ name, alerts }: Record<string, unknown>) => [
      name,
      alerts,
    ]),
    [['CPU long', undefined]],
  );
  t.same((await w.api('rules?type=record')).body.data, { groups: [] });
  t.equal((await w.api('rules?type=x')).status, 400);
});

test('API-38: ALERTS and ALERTS_FOR_STATE follow incidents and end with them', async (t) => {
  const { result } = await w.query('ALERTS', NOW + 60);
  const byState = new Map<string, { metric: object; value: [number, string] }>(
    result.map((one: { metric: { alertstate: string } }) => [one.metric.alertstate, one]),
  );
  t.same(byState.get('firing')?.metric, { __name__: 'ALERTS', alertstate: 'firing', ...firing });
  t.same(byState.get('pending')?.metric, { __name__: 'ALERTS', alertstate: 'pending', ...pending });
  t.same(byState.get('firing')?.value, [NOW + 60, '1']);
  const since = await w.query('ALERTS_FOR_STATE{alertname="CPU high"}', NOW + 60);
  t.same(since.result, [
    { metric: { __name__: 'ALERTS_FOR_STATE', ...firing }, value: [NOW + 60, String(NOW)] },
  ]);
  t.same((await w.query('ALERTS', NOW - 30)).result, [], 'before it began');
  w.clock.advance(30_000);
  await w.writeTo('demo', [row('vm-1', 90, 5)]);
  w.clock.advance(30_000);
  t.same((await w.query('ALERTS', NOW + 120)).result, [], 'it has recovered, and nothing remains');
  const range = { query: 'ALERTS', start: String(NOW), end: String(NOW + 120), step: '30' };
  const { data } = (await w.post('query_range', range)).body;
  t.same(
    data.result.map(({ values }: { values: [number, string][] }) =>
      values.map(([time]) => time - NOW),
    ),
    [[0, 30, 60]],
    'a run that never fired leaves nothing',
  );
});

test('alerts are listed by the series calls, only for their own project', async (t) => {
  const names = (await w.api('label/__name__/values')).body.data;
  t.ok(names.includes('ALERTS') && names.includes('ALERTS_FOR_STATE'));
  t.same((await w.api('label/alertname/values')).body.data, ['CPU high']);
  t.equal((await w.api('series?match[]=ALERTS')).body.data.length, 1);
  const other = { project: 'other', key: w.keys.other };
  t.same((await w.api('alerts', other)).body.data, { alerts: [] });
  t.same((await w.api('rules', other)).body.data, { groups: [] });
  const requested = await w.api('query?query=ALERTS', other);
  t.same(requested.body.data.result, []);
});

test('API-38: a member’s session queries PromQL by POST from the service’s own page', async (t) => {
  const headers = cookieHeaders(await w.signedInAs('demo', 'VIEWER'));
  const stranger = cookieHeaders(await w.signedInAs('other', 'OWNER'));
  const form = formBody('query=svc_vm_cpu_utilization_pct');
  const ask = (more: Record<string, string>) =>
    w.api('query', { method: 'POST', key: null, ...form, headers: { ...form.headers, ...more } });
  t.equal((await ask(headers)).status, 200);
  t.equal((await ask(stranger)).status, 403, 'of another project');
  t.equal((await ask({ ...headers, origin: 'https://elsewhere.example' })).status, 401);
  t.equal((await ask({ cookie: 'svc_session=x' })).status, 401);
});
