/**
 * Unmodified clients of Prometheus against the program as a user starts it: vmalert, which
 * evaluates its own rules on a project's history; the npm package prometheus-query; and the
 * completion of Prometheus's editor. Promtool and Prometheus itself are in promtool.test.ts and
 * scrape.test.ts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PrometheusDriver } from 'prometheus-query';
import t, { type Test, test } from 'tap';
import { componentPath, needs } from '../../support/components.ts';
import { reservePort } from '../../support/places.ts';
import { dataFolder, type Program, startProgram, until } from '../../support/program.ts';

// The editor is CommonJS, and has to share one copy of CodeMirror.
const require = createRequire(import.meta.url);
const { CompletionContext } =
  require('@codemirror/autocomplete') as typeof import('@codemirror/autocomplete', { with: {
    'resolution-mode': 'require',
  }});
const { EditorState } = require('@codemirror/state') as typeof import('@codemirror/state', { with: {
  'resolution-mode': 'require',
}});
const { newCompleteStrategy, PromQLExtension } =
  require('@prometheus-io/codemirror-promql') as typeof import('@prometheus-io/codemirror-promql');

const CPU = 'svc_vm_cpu_seconds_total';
const UTILIZATION = 'svc_vm_cpu_utilization_pct';

const folder = dataFolder(t);
const program = await startProgram(t, folder, { SVC_COLLECT: 'none' });
const { demo } = program;
const base = `${demo.baseUrl}/v1/monitoring/projects/demo/promql`;
const nowMs = Date.now();
await writeSamples(program);

test('API-39: vmalert evaluates its own rules on a project', needs('vmalert'), async (t) => {
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, demo.apiKey);
  const rules = join(folder, 'rules.yml');
  writeFileSync(
    rules,
    `groups:
  - name: of the tenant
    interval: 1s
    rules:
      - alert: BusyCpu
        expr: ${UTILIZATION} > 40
        for: 1s
        annotations: { summary: "{{ $labels.vm_name }} at {{ printf \\"%.0f\\" $value }} %" }
      - alert: NeverTrue
        expr: ${UTILIZATION} > 400
`,
  );
  const received = await startAlertmanager(t);
  const { logged, listens } = await startVmalert(t, [
    `-rule=${rules}`,
    `-datasource.url=${base}`,
    `-datasource.bearerTokenFile=${keyFile}`,
    `-notifier.url=${received.url}`,
  ]);
  const alert = await until('vmalert notifies', async () => received.alerts[0]);
  t.match(alert, {
    labels: { alertname: 'BusyCpu', vm: 'vm-1', project: 'demo' },
    annotations: { summary: /^\S+ at 50 %$/ },
  });
  const { data } = (await (await fetch(`${listens}/api/v1/alerts`)).json()) as {
    data: { alerts: { name: string; state: string }[] };
  };
  t.match(data.alerts, [{ name: 'BusyCpu', state: 'firing' }]);
  t.equal(data.alerts.length, 1);
  t.notMatch(logged(), /\b(error|warn|panic)\b/i, 'vmalert accepts every response');
});

test('API-39: prometheus-query reads a project with its own step', async (t) => {
  const driver = new PrometheusDriver({
    endpoint: base,
    headers: { authorization: `Bearer ${demo.apiKey}` },
  });
  const instant = await driver.instantQuery(UTILIZATION, nowMs);
  t.same(
    instant.result.map(({ metric, value }) => [metric.labels.vm, Math.round(value.value)]).sort(),
    [['vm-1', 50]],
  );
  const from = nowMs - 300_000;
  const range = await driver.rangeQuery(CPU, from, nowMs, 15);
  const [{ values } = { values: [] }] = range.result;
  t.ok(values.length > 5, 'there are points');
  const gaps = values.slice(1).map(({ time }: Point, i: number) => +time - +(values[i]?.time ?? 0));
  t.same(new Set(gaps), new Set([30_000]), 'a step of 15 s is raised to 30 s');
  t.ok((await driver.labelNames()).includes('vm'));
  t.same(await driver.labelValues('vm'), ['vm-1', 'vm-2']);
  t.equal((await driver.series(CPU, from, nowMs)).length, 2);
  t.same(await driver.rules(), []);
  t.same(await driver.alerts(), []);
  t.same(await driver.targets(), { activeTargets: [], droppedTargets: [] });
  t.match(await driver.metadata(CPU), { [CPU]: [{ type: 'counter' }] });
  for (const status of ['statusFlags', 'statusRuntimeInfo', 'statusBuildinfo'] as const) {
    t.type(await driver[status](), 'object', status);
  }
});

test('API-39: Prometheus’s editor completes metrics, labels and values', async (t) => {
  const headers = new Headers({ authorization: `Bearer ${demo.apiKey}` });
  const complete = newCompleteStrategy({ remote: { url: base, requestHeaders: headers } });
  t.teardown(() => complete.destroy?.());
  // The editor parses for 20 ms and offers nothing if a busy machine needs longer.
  const offered = (written: string): Promise<string[]> =>
    until(`completions of ${written}`, async () => {
      const language = new PromQLExtension().asExtension();
      const state = EditorState.create({ doc: written, extensions: [language] });
      const answer = await complete.promQL(new CompletionContext(state, written.length, true));
      return answer?.options.length ? answer.options.map(({ label }) => label) : undefined;
    });
  t.ok((await offered('svc_vm_cpu')).includes(CPU), 'a metric');
  t.ok((await offered(`${CPU}{v`)).includes('vm'), 'a label');
  t.same(await offered(`${CPU}{vm="`), ['vm-1', 'vm-2'], 'values of a label');
});

interface Point {
  readonly time: Date;
}

/** Writes five minutes of two VMs up to now. One of them has two vCPUs, of which it uses one. */
async function writeSamples({ call, demo }: Program): Promise<void> {
  const rows = ['vm-1', 'vm-2'].flatMap((vmName) =>
    Array.from({ length: 11 }, (_, i) => ({
      vmName,
      observedUnixMs: String(nowMs - (10 - i) * 30_000),
      ...(vmName === 'vm-1' && { vcpus: 2 }),
      values: [{ series: CPU, value: 30 * i }],
    })),
  );
  const request = { projectName: demo.projectName, rows };
  const answer = await call('ingest.v1.IngestService/WriteSamples', request, demo.collectorKey);
  t.equal(answer.status, 200);
}

/** Stand-in for Alertmanager that records the alerts it receives. */
async function startAlertmanager(t: Test) {
  const alerts: object[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.url?.endsWith('/api/v2/alerts')) alerts.push(...JSON.parse(body));
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { alerts, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function startVmalert(t: Test, args: readonly string[]) {
  const port = await reservePort();
  const child = spawn(
    componentPath('vmalert'),
    [...args, `-httpListenAddr=127.0.0.1:${port}`, '-loggerLevel=WARN'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let log = '';
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', (data: Buffer) => {
      log += data.toString();
    });
  }
  t.teardown(async () => {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  });
  return { logged: () => log, listens: `http://127.0.0.1:${port}` };
}
