/**
 * A restart of a service of many VMs: seconds and CPU seconds until the first edge is decided, and
 * until it is ready. The edge is of a breach that entered the log while the service was down, so
 * that it says how long alerts stand still.
 *
 * `--vms 10000,50000 --hours 4,24` are the sizes; a rule as long as the log keeps the log. With
 * `--checkpoints`, the service has run on the log before, was stopped in order, and is measured at
 * its second start, with whatever it has kept. Without, it never ran on that log. It asserts which
 * edge was decided and counts the rows that are readable.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { silentLog } from '../src/platform/log.ts';
import { loadConfig } from '../src/platform/settings/config.ts';
import { createService } from '../src/service/service.ts';
import { type Clock, systemClock } from '../streams/platform/clock.ts';
import { fleetVm } from '../test/support/fleet.ts';
import { reservePort } from '../test/support/places.ts';
import { callsOf, type Demo } from '../test/support/program.ts';
import { FleetLog, SERIES, STEP_MS } from './restart/fleet-log.ts';
import { Api, memoryRow } from './support/api.ts';
import { liftLimits } from './support/lift-limits.ts';
import { type Scope, withScope } from './support/scope.ts';

const HOUR_MS = 3_600_000;
const SUSTAINED_SECONDS = 60;
/** Length of the breach at the end of the log: the rule is over in its middle. */
const BREACH_MS = 4 * STEP_MS;
const ROWS_A_REQUEST = 1_000;
const POLL_MS = 100;
const WAIT_MS_MAX = 3_600_000;
const TICKS_A_SECOND = 100;
const program = fileURLToPath(new URL('../bin/svc.js', import.meta.url));

/** Runs and prints one row for each size. */
export async function run(flags: readonly string[] = []): Promise<void> {
  const { values } = parseArgs({
    args: [...flags],
    options: {
      vms: { type: 'string', default: '10000,50000' },
      hours: { type: 'string', default: '4,24' },
      checkpoints: { type: 'boolean', default: false },
    },
  });
  const [sizes, lengths] = [values.vms, values.hours].map((text) => text.split(',').map(Number));
  const table: Record<string, string | number>[] = [];
  for (const vms of sizes ?? []) {
    for (const hours of lengths ?? []) {
      if (!(vms > 0 && hours > 0)) throw new Error('--vms and --hours need numbers above 0');
      const size = { vms, hours, checkpoints: values.checkpoints };
      table.push(await withScope((scope) => measure(scope, size)));
    }
  }
  console.table(table);
}

interface Size {
  readonly vms: number;
  readonly hours: number;
  readonly checkpoints: boolean;
}

async function measure(scope: Scope, { vms, hours, checkpoints }: Size) {
  const folder = mkdtempSync(join(tmpdir(), 'restart-bench-'));
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const fromMs = Date.now() - hours * HOUR_MS;
  const project = await register(folder, { vms, hours, atMs: fromMs - STEP_MS });
  const log = new FleetLog({ folder, project, vms, fromMs });
  const started = performance.now();
  await log.write({ untilMs: Date.now() - BREACH_MS, flushes: true });
  const writtenSeconds = (performance.now() - started) / 1000;
  if (checkpoints) {
    const before = await restart(scope, folder);
    await before.untilReady();
    await before.stop();
  }
  const vm = Math.floor(vms / 2);
  const breachMs = Math.max(log.nextMs, Date.now() - BREACH_MS);
  const fromStep = log.nextMs + Math.ceil((breachMs - log.nextMs) / STEP_MS) * STEP_MS;
  await log.write({ untilMs: fromStep + BREACH_MS, breaching: { vm, fromMs: fromStep } });
  const bytes = statSync(join(folder, 'samples.db')).size;
  const service = await restart(scope, folder);
  const edge = await service.untilEdge(vm);
  assertEdge(edge.incident, fromStep + (vm % 300));
  const ready = await service.untilReady();
  await service.assertRows([0, vm, vms - 1], log);
  await service.stop();
  const { rowsOfEachVm, entries } = log.written;
  return {
    VMs: vms,
    hours,
    'samples, M': round((rowsOfEachVm * vms * SERIES.length) / 1e6),
    entries,
    'log, MB': round(bytes / 1e6),
    checkpoints: checkpoints ? 'if any' : 'no',
    'edge, s': round(edge.seconds),
    'edge, CPU s': round(edge.cpuSeconds),
    'ready, s': round(ready.seconds),
    'ready, CPU s': round(ready.cpuSeconds),
    'resident, MB': ready.residentMb,
    'written in, s': round(writtenSeconds),
  };
}

/** A first start in the past: project, VMs and two rules. Resolves to the project's id. */
async function register(
  folder: string,
  { vms, hours, atMs }: { readonly vms: number; readonly hours: number; readonly atMs: number },
): Promise<string> {
  const behindMs = Date.now() - atMs;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() - behindMs };
  const { settings } = loadConfig([], settingsOf(folder, 0));
  const service = await createService({ settings, log: silentLog, ports: { clock } });
  try {
    await liftLimits(folder);
    const demo = demoOf(folder);
    const api = new Api(demo);
    for (let from = 0; from < vms; from += ROWS_A_REQUEST) {
      const count = Math.min(ROWS_A_REQUEST, vms - from);
      const row = { observedMs: clock.now(), sequence: 0, usedRatio: 0.3 };
      await api.write(Array.from({ length: count }, (_, i) => memoryRow(from + i, row)));
    }
    await saveRule(api, { threshold: 90, sustainedSeconds: SUSTAINED_SECONDS });
    await saveRule(api, { threshold: 99, sustainedSeconds: hours * 3600 });
    return demo.projectName.replace('projects/', '');
  } finally {
    await service.stop();
  }
}

function saveRule(
  api: Api,
  {
    threshold,
    sustainedSeconds,
  }: { readonly threshold: number; readonly sustainedSeconds: number },
) {
  return api.call('monitoring.v1.AlertService/SaveAlertRule', {
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: `Memory over ${threshold} %`,
      metricId: 'memory_used_pct',
      operator: 'GREATER_THAN',
      threshold,
      sustainedSeconds,
      severity: 'WARNING',
      allVms: true,
    },
  });
}

function settingsOf(folder: string, port: number) {
  return {
    SVC_DATA: folder,
    SVC_COLLECT: 'none',
    SVC_DEMO: 'on',
    SVC_LISTEN: `127.0.0.1:${port}`,
    SVC_METRICS_LISTEN: 'off',
    SVC_LOG_LEVEL: 'error',
  };
}

function demoOf(folder: string): Demo {
  return JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;
}

interface Incident {
  readonly vmName: string;
  readonly state: string;
  readonly startedUnix: string;
}

/** Throws unless it is the one breach, from its first observation on. */
function assertEdge({ state, startedUnix }: Incident, breachMs: number): void {
  const expected = String(Math.floor(breachMs / 1000));
  if (state === 'FIRING' && startedUnix === expected) return;
  throw new Error(`The edge is ${state} since ${startedUnix}, not FIRING since ${expected}`);
}

/** Seconds and CPU seconds since the start of the process. */
interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly residentMb: number;
}

/** Starts the program, and measures it from outside. */
async function restart(scope: Scope, folder: string) {
  const port = await reservePort();
  const startedMs = performance.now();
  const child = spawn(process.execPath, [program, 'serve'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settingsOf(folder, port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  scope.teardown(() => stop('SIGKILL'));
  const { apiKey, projectName } = demoOf(folder);
  const origin = `http://127.0.0.1:${port}`;
  const { call, get } = callsOf(origin, apiKey);
  const until = async <T>(what: string, probe: () => Promise<T | undefined>) => {
    for (;;) {
      if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}`);
      if (performance.now() - startedMs > WAIT_MS_MAX) throw new Error(`No ${what} within an hour`);
      // It does not listen yet.
      const found = await probe().catch(() => undefined);
      if (found !== undefined) return { found, ...costOf(child, startedMs) };
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  return {
    stop: () => stop('SIGTERM'),
    untilReady: (): Promise<Cost> =>
      until('readiness', async () => ((await get('/readyz')).status === 200 ? true : undefined)),
    /** Throws if another VM has an incident. */
    async untilEdge(vm: number): Promise<Cost & { readonly incident: Incident }> {
      const { found, ...cost } = await until('edge', async () => {
        const { body } = await call('monitoring.v1.AlertService/ListIncidents', { projectName });
        const incidents = (body.incidents ?? []) as Incident[];
        return incidents.length > 0 ? incidents : undefined;
      });
      const [incident] = found;
      const name = `${projectName}/vms/${fleetVm(vm)}`;
      if (found.length === 1 && incident?.vmName === name) return { ...cost, incident };
      throw new Error(`The edges are of ${found.map(({ vmName }) => vmName)}, not of ${name}`);
    },
    /** Throws unless each of these VMs has all of its rows. */
    async assertRows(vms: readonly number[], { nextMs, written }: FleetLog): Promise<void> {
      for (const vm of vms) {
        const range = `${written.rowsOfEachVm * (STEP_MS / 1000)}s`;
        const query = new URLSearchParams({
          query: `count_over_time(svc_vm_cpu_seconds_total{vm_name="${fleetVm(vm)}"}[${range}])`,
          time: String((nextMs - STEP_MS + 1_000) / 1000),
        });
        const path = `${origin}/v1/monitoring/${projectName}/promql/api/v1/query?${query}`;
        const answer = await fetch(path, { headers: { authorization: `Bearer ${apiKey}` } });
        const { data } = (await answer.json()) as {
          data?: { result: { value: [number, string] }[] };
        };
        const counted = Number(data?.result[0]?.value[1] ?? 0);
        if (counted === written.rowsOfEachVm) continue;
        throw new Error(`VM ${vm} has ${counted} rows of ${written.rowsOfEachVm}`);
      }
    },
  };
}

/** User and system time of all threads, from the fields 14 and 15 of proc(5). */
function costOf({ pid }: ChildProcess, startedMs: number): Cost {
  const seconds = (performance.now() - startedMs) / 1000;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { seconds, cpuSeconds, residentMb: Math.round(Number(kilobytes) / 1024) };
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}

if (import.meta.main) await run(process.argv.slice(2));
