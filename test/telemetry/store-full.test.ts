/**
 * A store without space for accepted rows of a project: every call that would read them fails with
 * an error, and never returns an empty or partial success. The same queries of a neighbour are
 * answered as before, and the project's own once its rows are stored.
 */
import { type Test, test } from 'tap';
import { recoverRows } from '../../actors/telemetry/row-recovery.ts';
import { historyCheck } from '../../src/platform/health.ts';
import { addExportRoutes } from '../../src/telemetry/export/export-routes.ts';
import { Exporter } from '../../src/telemetry/export/exporter.ts';
import { ORIGIN, type SampleRow } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { formBody } from '../support/promql-routes.ts';
import { type PromqlServer, startPromqlServer } from '../support/promql-server.ts';
import { cpuSpec } from '../support/rule-spec.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const NOW = START_MS / 1000;
const RULE = '00000000-0000-4000-8000-000000000001';
const REQUEST = RULE.replace('1', '2');
const spec = cpuSpec({ sustainedSeconds: 60, enabled: true });

/** Rows every 30 s up to `secondsAgo`. */
function rows(vm: string, count: number, secondsAgo: number): SampleRow[] {
  return Array.from({ length: count }, (_, i) => ({
    vm,
    observedUnixMs: START_MS - (secondsAgo + (count - 1 - i) * 30) * 1000,
    state: 'RUNNING',
    vcpus: 2,
    values: [{ series: CPU, value: 95 + (i % 4) }],
  }));
}

/** Two projects with the same rule and the same hour, whose incident fires. */
async function openWorld(t: Test) {
  const world = await startPromqlServer(t, (app, parts) => {
    const exporter = new Exporter(parts);
    t.teardown(() => exporter.close());
    addExportRoutes(app, { ...parts, exporter, origin: () => ORIGIN });
  });
  const keys = new Map([
    ['demo', world.keys.write],
    ['other', world.keys.other],
  ]);
  for (const [project, key] of keys) {
    const request = { projectName: `projects/${project}`, id: RULE, requestId: REQUEST };
    const rule = { ...request, expectedVersion: '0', spec };
    t.match(await world.call('SaveAlertRule', rule, { key }), { status: 200 });
    await world.writeTo(project, rows('vm-1', 110, 300));
  }
  return { world, answersOf: (project: string) => answersOf(world, project, keys) };
}

/** Every way to read samples, by name. */
async function answersOf(world: PromqlServer, project: string, keys: ReadonlyMap<string, string>) {
  const key = keys.get(project) ?? '';
  const projectName = `projects/${project}`;
  const rpc = async (method: string, request: object) => {
    const { status, body } = await world.call(method, request, { key });
    return { status, body };
  };
  const promql = async (path: string, form: Record<string, string>) => {
    const sent = {
      method: 'POST',
      key,
      project,
      ...formBody(new URLSearchParams(form).toString()),
    };
    const { status, body } = await world.send(`/api/v1/${path}`, sent);
    return { status, body };
  };
  const query = (vm: string, agoSeconds: number) =>
    rpc('QueryVMMonitoring', {
      name: `${projectName}/vms/${vm}`,
      metricIds: ['cpu_utilization_pct'],
      startTimeUnix: String(NOW - agoSeconds - 600),
      endTimeUnix: String(NOW - agoSeconds),
      stepSeconds: 60,
    });
  const [incident] = (await rpc('ListIncidents', { projectName })).body.incidents;
  const range = { start: String(NOW - 600), end: String(NOW) };
  const shard = await world.app.inject({
    url: `/v1/monitoring/${projectName}/export?shard=0`,
    headers: { authorization: `Bearer ${key}` },
  });
  return {
    query: await query('vm-1', 0),
    'query of a new VM': await query('vm-new', 0),
    'query of complete data': await query('vm-1', 1800),
    list: await rpc('ListVMMonitoring', { projectName }),
    instant: await promql('query', { query: CPU, time: String(NOW) }),
    absent: await promql('query', { query: `absent(${CPU}{vm="vm-new"})`, time: String(NOW) }),
    range: await promql('query_range', { query: CPU, ...range, step: '60' }),
    series: await promql('series', { 'match[]': CPU, ...range }),
    labels: await promql('labels', range),
    export: { status: shard.statusCode, body: shard.body },
    preview: await rpc('PreviewAlertRule', { projectName, historySeconds: 3600, spec }),
    explain: await rpc('ExplainIncident', { name: incident?.name }),
  };
}

/** Reads the refused rows from the log. */
async function comeFromLog({ history, stream, clock }: PromqlServer): Promise<void> {
  const ending = new AbortController();
  const recovering = recoverRows({ clock, stream, recovery: history }, ending.signal);
  for (let looks = 0; history.refused().length > 0 && looks < 10; looks++) {
    await clock.advance(1_000);
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  ending.abort();
  await recovering;
}

test('rows that the store could not take are an error in every answer, until they are read', async (t) => {
  const { world, answersOf } = await openWorld(t);
  const limits = { demo: Number.POSITIVE_INFINITY };
  world.history.boundProjects({
    of: (project) => ({
      headBytes: project === 'demo' ? limits.demo : Number.POSITIVE_INFINITY,
    }),
  });
  const neighbour = await answersOf('other');
  t.equal(historyCheck(world.history)().state, 'ready');

  // Ingest still sees free space, which is used up when the rows reach the head.
  const append = world.stream.append.bind(world.stream);
  world.stream.append = (one) => {
    limits.demo = 1;
    return append(one);
  };
  await world.writeTo('demo', [...rows('vm-1', 8, 60), ...rows('vm-new', 10, 0)]);
  world.stream.append = append;
  const answers = await answersOf('demo');
  const unavailable = { status: 503, body: { status: 'error', errorType: 'unavailable' } };
  t.match(answers, {
    query: {
      status: 200,
      body: {
        quality: { state: 'ERROR', metrics: [{ state: 'ERROR', reason: 'STORE_FULL' }] },
        series: [],
      },
    },
    'query of a new VM': { status: 200, body: { quality: { state: 'ERROR' } } },
    'query of complete data': {
      body: { quality: { state: 'ERROR', reasons: ['STORE_FULL'] }, series: [{ points: [{}] }] },
    },
    list: {
      status: 200,
      body: { vms: [{ telemetry: { state: 'ERROR' } }, { telemetry: { state: 'ERROR' } }] },
    },
    instant: unavailable,
    absent: unavailable,
    range: unavailable,
    series: unavailable,
    labels: unavailable,
    export: { status: 503 },
    preview: { status: 200, body: { queryStatus: 'FAILED', wouldHaveFired: [] } },
    explain: { status: 200, body: { recomputation: { status: 'NOT_POSSIBLE' } } },
  });
  t.match(historyCheck(world.history)(), { state: 'degraded', reason: /one project/ });
  t.same(await answersOf('other'), neighbour, 'a neighbour is answered as before');

  limits.demo = Number.POSITIVE_INFINITY;
  await comeFromLog(world);
  t.match(await answersOf('demo'), {
    query: { body: { quality: { reasons: [] }, series: [{}] } },
    'query of a new VM': { body: { series: [{}] } },
    list: { body: { vms: [{ telemetry: { state: 'LIVE' } }, { telemetry: { state: 'LIVE' } }] } },
    instant: { status: 200 },
    range: { status: 200 },
    series: { status: 200 },
    export: { status: 200, body: /vm-new/ },
    preview: { body: { queryStatus: 'OK' } },
    explain: { body: { recomputation: { status: 'AGREES' } } },
  });
  t.equal(historyCheck(world.history)().state, 'ready');
});
