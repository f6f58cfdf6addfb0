/**
 * Clients that leave before their answer, over real connections: of each kind of call some are cut
 * off in their body and some after it. The log then has no fault.
 */
import { request } from 'node:http';
import { test } from 'tap';
import { dataFolder, type Program, startProgram } from '../../support/program.ts';
import { cpuSpec } from '../../support/rule-spec.ts';

const VMS = 30;
const ROUNDS = 20;

interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly key?: string;
}

const rpc = (service: string, method: string, body: unknown): Call => {
  return { method: 'POST', path: `/svc.${service}/${method}`, body };
};

function callsOf({ demo }: Program, nowMs: number): readonly Call[] {
  const { projectName, collectorKey } = demo;
  const to = Math.floor(nowMs / 1000);
  const spec = cpuSpec();
  const vmNames = Array.from({ length: 20 }, (_, i) => `${projectName}/vms/vm-${i}`);
  const history = { projectName, historySeconds: 3600, spec };
  const range = { startTimeUnix: String(to - 3600), endTimeUnix: String(to), stepSeconds: 60 };
  const query = { name: vmNames[0], metricIds: ['cpu_utilization_pct'], ...range };
  const promql = `/v1/monitoring/${projectName}/promql/api/v1`;
  return [
    rpc('monitoring.v1.AlertService', 'PreviewAlertRule', { ...history, withInstances: true }),
    rpc('monitoring.v1.AlertService', 'ReplayAlertRule', { ...history, vmNames }),
    rpc('monitoring.v1.AlertService', 'ListIncidents', { projectName }),
    rpc('monitoring.v1.MonitoringService', 'QueryVMMonitoring', query),
    rpc('monitoring.v1.MonitoringService', 'ListVMMonitoring', { projectName, pageSize: 1000 }),
    rpc('audit.v1.AuditService', 'ListTransitions', { projectName }),
    {
      ...rpc('ingest.v1.IngestService', 'WriteSamples', { projectName, rows: rowsAt(nowMs) }),
      key: collectorKey,
    },
    { method: 'GET', path: `${promql}/query?query=count(svc_vm_cpu_utilization_pct)` },
    { method: 'GET', path: `/v1/monitoring/${projectName}/export?shard=0` },
    { method: 'GET', path: `/v1/monitoring/${projectName}/scrape-targets` },
    { method: 'POST', path: '/auth/link', body: { token: 'x' } },
  ];
}

function rowsAt(atMs: number) {
  return Array.from({ length: VMS }, (_, i) => ({
    vmName: `vm-${i}`,
    observedUnixMs: String(atMs),
    values: [{ series: 'svc_vm_cpu_utilization_pct', value: 50 }],
  }));
}

/** Sends half of the body or all of it, then closes the connection. */
function cutOff({ demo }: Program, { method, path, body, key = demo.apiKey }: Call, part: number) {
  const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body));
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': String(bytes.length),
    }),
  };
  return new Promise<void>((resolve) => {
    const call = request(demo.baseUrl + path, { method, headers, agent: false });
    call.on('error', () => {});
    call.on('close', () => resolve());
    call.on('response', (response) => response.resume());
    call.flushHeaders();
    call.write(bytes.subarray(0, Math.floor(bytes.length * part)), () => call.destroy());
    if (bytes.length === 0) call.end(() => call.destroy());
  });
}

test('calls that their clients cancel are not logged as faults', async (t) => {
  const program = await startProgram(t, dataFolder(t), { SVC_COLLECT: 'none' });
  const nowMs = Date.now();
  for (let i = 0; i < 60; i++) {
    const written = { projectName: program.demo.projectName, rows: rowsAt(nowMs - i * 30_000) };
    const write = 'ingest.v1.IngestService/WriteSamples';
    t.equal((await program.call(write, written, program.demo.collectorKey)).status, 200);
  }
  for (const call of callsOf(program, nowMs)) {
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all([cutOff(program, call, 0.5), cutOff(program, call, 1)]);
    }
  }
  const { projectName } = program.demo;
  const last = await program.call('monitoring.v1.AlertService/ListIncidents', { projectName });
  t.equal(last.status, 200);
  await program.stop();
  const faults = program
    .log()
    .split('\n')
    .filter((line) => line.includes('"level":"error"'))
    // A thread that a loaded machine does not run within two seconds is replaced.
    .filter((line) => !line.includes('"kind":"hardStopped"'));
  t.same(faults.slice(0, 3), []);
});
