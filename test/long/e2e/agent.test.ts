/**
 * Expanded monitoring as its users see it: a user signs in and enrols a VM; the agent gets its
 * token on standard input, runs, survives an outage of the service, and is removed. Then the
 * hypervisor's side: whatever is read and opened, virsh is only used for reading.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test, test } from 'tap';
import { reservePort } from '../../support/places.ts';
import { dataFolder, type Program, startProgram, until } from '../../support/program.ts';
import { cpuSpec } from '../../support/rule-spec.ts';

const program = fileURLToPath(new URL('../../../bin/svc.js', import.meta.url));
const recordings = fileURLToPath(
  new URL('../../telemetry/collectors/recordings/', import.meta.url),
);

// Each test has a program of its own, which mostly waits.
t.jobs = 2;
// Spread into each test, because the runner writes into its options.
const atOnce = { buffered: true, timeout: 840_000 };

type Env = Readonly<Record<string, string>>;

/** `svc` as a user calls it; `input` is its standard input. */
function svc(args: readonly string[], env: Env, input = ''): string {
  return execFileSync(process.execPath, [program, ...args], {
    input,
    encoding: 'utf8',
    timeout: 600_000,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', ...env },
  });
}

function startAgent(t: Test, folder: string): ChildProcess {
  const child = spawn(process.execPath, [program, 'agent', 'run', '--interval', '1s'], {
    env: { PATH: process.env.PATH ?? '', SVC_AGENT_STATE: folder },
    stdio: 'ignore',
  });
  process.once('exit', () => child.kill('SIGKILL'));
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

/** Environment of a user who has signed in by the link of the first start. */
function signedIn(service: Program, home: string, folder: string): Env {
  const { signInUrl = '' } = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'));
  const env = { HOME: home, SVC_ENDPOINT: service.demo.baseUrl };
  svc(['login', '--link', '-'], env, `${signInUrl}\n`);
  return env;
}

/** Raw samples of the VM's load in PromQL. */
async function samples({ demo }: Program): Promise<number> {
  const query = encodeURIComponent('sum(count_over_time(svc_vm_load1{vm="guest-1"}[10m]))');
  const url = `${demo.baseUrl}/v1/monitoring/${demo.projectName}/promql/api/v1/query?query=${query}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${demo.apiKey}` } });
  const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
  return Number(data.result[0]?.value[1] ?? 0);
}

test('MEAS-08: a VM is enrolled, monitored through an outage, and unenrolled', {
  ...atOnce,
}, async (t) => {
  const folder = dataFolder(t);
  const data = join(folder, 'data');
  const state = join(folder, 'agent');
  const settings = { SVC_COLLECT: 'none', SVC_LISTEN: `127.0.0.1:${await reservePort()}` };
  const service = await startProgram(t, data, settings);
  const person = signedIn(service, folder, data);
  const token = svc(
    ['vms', 'enrol', 'guest-1', '--project', 'demo', '--datacenter', 'DC-1'],
    person,
  ).trim();
  t.match(token, /^svc_enrol_/);
  const printed = svc(
    ['agent', 'enrol', '--state', state, '--endpoint', service.demo.baseUrl],
    {},
    `${token}\n`,
  );
  t.match(printed, /projects\/demo\/vms\/guest-1/);
  const file = join(state, 'enrolment.json');
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.throws(
    () => svc(['agent', 'enrol', '--state', state], { ...person, SVC_ENROLMENT_TOKEN: token }),
    /cannot be used/,
  );

  const agent = startAgent(t, state);
  await until('two samples are there', async () =>
    (await samples(service)) >= 2 ? true : undefined,
  );
  t.equal(await service.stop(), 0);
  const rows = () => {
    const status = JSON.parse(readFileSync(join(state, 'status.json'), 'utf8'));
    return { ...status, waiting: status.observedRows - status.sentRows } as Record<string, number>;
  };
  await until('rows wait', () => ((rows().waiting ?? 0) >= 3 ? true : undefined));
  const again = await startProgram(t, data, settings);
  await until('the buffered rows have been sent', () => (rows().waiting === 0 ? true : undefined));
  const sent = rows().sentRows ?? 0;
  t.ok((await samples(again)) >= sent, `${sent} rows, all of them at the service`);
  const status = JSON.parse(svc(['agent', 'status', '--state', state, '--json'], {}));
  t.match(status, { isRunning: true, status: { droppedRows: 0, rejected: {} } });

  svc(['vms', 'unenrol', 'guest-1', '--project', 'demo'], person);
  await until('the agent is rejected', () =>
    JSON.stringify(rows()).includes('CREDENTIAL_REVOKED') ? true : undefined,
  );
  agent.kill('SIGTERM');
  t.same(await once(agent, 'exit'), [0, null]);
  svc(['agent', 'unenrol', '--state', state], {});
  t.notOk(existsSync(file));
  const key = /svc_vm_\w+/;
  t.notMatch(service.log() + again.log(), key, 'no key in the service’s log');
});

/** Time between two rounds of the collector, each of which is one call. */
const ROUND_MS = 30_000;

/** A `virsh` that records its arguments and prints a recorded answer. */
function recordingVirsh(folder: string): { path: string; calls: () => string[] } {
  const bin = join(folder, 'bin');
  const log = join(folder, 'virsh.log');
  mkdirSync(bin);
  const answer = join(recordings, 'libvirt', 'running.txt');
  writeFileSync(join(bin, 'virsh'), `#!/bin/sh\nprintf '%s\\n' "$*" >>'${log}'\ncat '${answer}'\n`);
  chmodSync(join(bin, 'virsh'), 0o755);
  const calls = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  return { path: `${bin}:${process.env.PATH ?? ''}`, calls };
}

test('MEAS-07: reads and opened views write nothing to the hypervisor', {
  ...atOnce,
}, async (t) => {
  const folder = dataFolder(t);
  const data = join(folder, 'data');
  const virsh = recordingVirsh(folder);
  const settings = { SVC_COLLECT: 'libvirt', PATH: virsh.path };
  const service = await startProgram(t, data, settings);
  const { projectName } = service.demo;
  const list = () =>
    service.call('monitoring.v1.MonitoringService/ListVMMonitoring', { projectName });
  const vms = await until('the VMs are known', async () => {
    const { body } = await list();
    return (body.vms as { name: string }[]).length === 2
      ? (body.vms as { name: string }[])
      : undefined;
  });
  const person = signedIn(service, folder, data);
  const calls = virsh.calls().length;
  const startedMs = Date.now();

  const [vm] = vms;
  const now = Math.floor(Date.now() / 1000);
  const metricIds = ['cpu_utilization_pct', 'memory_used_bytes', 'load_1m', 'filesystem_used_pct'];
  const range = { startTimeUnix: String(now - 600), endTimeUnix: String(now), stepSeconds: 30 };
  const spec = cpuSpec();
  const reads: [string, object][] = [
    ['monitoring.v1.MonitoringService/QueryVMMonitoring', { name: vm?.name, metricIds, ...range }],
    ['monitoring.v1.MonitoringService/ListMetricDescriptors', { projectName }],
    ['monitoring.v1.AlertService/ListAlertRules', { projectName }],
    ['monitoring.v1.AlertService/ListIncidents', { projectName }],
    ['monitoring.v1.AlertService/PreviewAlertRule', { projectName, spec, historySeconds: 3600 }],
    ['audit.v1.AuditService/ListTransitions', { projectName }],
    ['audit.v1.AuditService/ListMachines', { projectName }],
  ];
  for (let times = 0; times < 3; times++) {
    for (const [method, request] of reads) {
      const { status, body } = await service.call(method, request);
      t.equal(status, 200, `${method} ${JSON.stringify(body).slice(0, 200)}`);
    }
    t.equal((await list()).status, 200);
    const http = `/v1/monitoring/${projectName}`;
    for (const path of [
      '/promql/api/v1/query?query=svc_vm_vcpus',
      '/promql/api/v1/series?match[]=svc_vm_vcpus',
      '/export?shard=0',
      '/scrape-targets',
    ]) {
      const headers = { authorization: `Bearer ${service.demo.apiKey}` };
      t.equal((await fetch(service.demo.baseUrl + http + path, { headers })).status, 200, path);
    }
  }
  // An offer of expanded monitoring does not change a VM either: its owner installs the agent.
  const id = vm?.name.split('/').at(-1) ?? '';
  svc(['vms', 'enrol', id, '--project', 'demo'], person);
  svc(['vms', 'unenrol', id, '--project', 'demo'], person);
  // Each read was sent three times, so one that calls the hypervisor adds at least three calls.
  const rounds = Math.floor((Date.now() - startedMs) / ROUND_MS) + 1;
  const added = virsh.calls().length - calls;
  t.ok(added <= rounds, `${added} calls in the time of ${rounds} rounds of the collector`);
  t.ok(calls > 0);
  for (const call of virsh.calls()) {
    t.match(call, /^-r -q -c \S+ (list|domstats)/, 'read-only calls that only query');
  }
  t.equal(await service.stop(), 0);
});
