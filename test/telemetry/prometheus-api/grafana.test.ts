/**
 * The calls of Grafana's Prometheus data source, exactly as it makes them. Each row of the table of
 * its calls is a test of that name.
 */
import t, { test } from 'tap';
import { START_MS } from '../../support/host-in-memory.ts';
import { CPU, HOUR_AGO, labelNames, NOW, names, startTwoVms } from '../../support/two-vms.ts';

const w = await startTwoVms(t);

test('Grafana: Save & test', async (t) => {
  const { status, body } = await w.post('query', 'query=1%2B1&time=4');
  t.equal(status, 200);
  t.same(body.data, { resultType: 'scalar', result: [4, '2'] });
  const posted = await w.api('status/buildinfo', { method: 'POST' });
  t.ok([405, 400].includes(posted.status), 'POST comes first; Grafana then uses GET');
  const build = await w.api('status/buildinfo');
  t.match(build.body.data.version, /^3\.\d+\.\d+$/);
});

test('Grafana: panel, range', async (t) => {
  const form = `end=${NOW}&query=sum(rate(${CPU}[1m0s]))&start=${HOUR_AGO}&step=60&timeout=60s`;
  const { status, body, text } = await w.post('query_range', form);
  t.equal(status, 200);
  t.ok(text.indexOf('resultType') < text.indexOf('"result":'), 'so that Grafana can stream it');
  t.same(body.data.result[0].metric, {});
  t.same(body.data.result[0].values.at(-1), [NOW, '0.75'], 'cores');
});

test('Grafana: panel or alert, instant', async (t) => {
  const { body } = await w.post('query', { query: CPU, time: `${NOW}.321` });
  t.equal(body.data.result[0].value[0], NOW + 0.321);
  t.match((await w.post('query', { query: CPU, time: '2026-01-01T00:00:00Z' })).body, {
    data: { resultType: 'vector' },
  });
});

test('Grafana: exemplars switched on, and a data source first used in a page', async (t) => {
  const inMs = { query: 'test', start: String(START_MS - 600_000), end: String(START_MS) };
  t.same((await w.post('query_exemplars', inMs)).body, { status: 'success', data: [] });
  t.same((await w.api('rules')).body, { status: 'success', data: { groups: [] } });
  t.equal((await w.api('rules', { method: 'POST' })).status, 405);
  for (const path of ['label/__name__/values', 'labels', 'metadata']) {
    t.equal((await w.api(path)).status, 200, path);
  }
});

test('Grafana: metric list and autocompletion', async (t) => {
  const range = `start=${HOUR_AGO}&end=${NOW}&limit=40000`;
  t.same((await w.api(`label/__name__/values?${range}`)).body.data, names);
  t.same((await w.api(`labels?${range}`)).body.data, labelNames);
  t.same(Object.keys((await w.api('metadata?limit=40000')).body.data), names);
  const posted = await w.api(`labels?${range}`, { method: 'POST' });
  t.same(posted.body.data, labelNames, 'parameters in the URL of a POST without a body');
});

test('Grafana: label names and values for a metric', async (t) => {
  const device = 'svc_vm_disk_read_bytes_total';
  t.same((await w.post('labels', { 'match[]': device })).body.data, labelNames);
  const range = `start=${HOUR_AGO}&end=${NOW}&limit=40000`;
  t.same((await w.api(`label/device/values?match[]=${device}&${range}`)).body.data, ['vda']);
});

test('Grafana: the variables label_names, label_values, metrics, query_result and series query', async (t) => {
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
});

test('Grafana: alerting pages', async (t) => {
  const { body: flags } = await w.api('status/flags');
  t.notOk(Object.keys(flags.data).some((name) => name.includes('thanos')));
  t.same((await w.api('alerts')).body.data, { alerts: [] });
});

test('Grafana: multi-value variables are whole regular expressions, anchored', async (t) => {
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

test('Grafana: $__range and $__rate_interval are durations with parts of zero, or seconds', async (t) => {
  for (const range of ['1m0s', '4m0s', '3600s', '1h0m0s']) {
    const [{ value }] = (await w.query(`sum(rate(${CPU}[${range}]))`)).result;
    t.ok(Math.abs(Number(value[1]) - 0.75) < 1e-9, range);
  }
});
