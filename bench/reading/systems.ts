/**
 * The three compared programs, each on loopback with its own data folder: started, ended by process
 * id, and read through the same query API.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ComponentName, componentPath, needs } from '../../test/support/components.ts';
import { reservePort } from '../../test/support/places.ts';
import type { Demo } from '../../test/support/program.ts';
import type { Scope } from '../support/scope.ts';
import type { Read } from './expressions.ts';

export const SYSTEM_NAMES = ['ours', 'Prometheus', 'VictoriaMetrics'] as const;
export type SystemName = (typeof SYSTEM_NAMES)[number];

export interface RunningSystem {
  readonly name: SystemName;
  readonly pid: number;
  /** Origin without a trailing slash. */
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /** URL of a read: path and query string. */
  urlOf(read: Read): string;
  stop(): Promise<void>;
}

interface Program {
  /** Absent: the service of this checkout. */
  readonly component?: ComponentName;
  readonly args: (port: number, folder: string) => readonly string[];
  /** Path that returns 200 once the program is up. */
  readonly ready: string;
  /** Path prefix of `query`, `series` and the like. */
  readonly api: string;
  readonly extra?: Readonly<Record<string, string>>;
}

const START_MS_MAX = 180_000;
const service = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));

const programs: Readonly<Record<SystemName, Program>> = {
  ours: {
    args: () => [service, 'serve'],
    ready: '/readyz',
    api: '/v1/monitoring/projects/demo/promql/api/v1/',
  },
  Prometheus: {
    component: 'prometheus 3.5.3',
    args: (port, folder) => [
      `--config.file=${emptyConfig(folder)}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      '--storage.tsdb.retention.time=10d',
      `--web.listen-address=127.0.0.1:${port}`,
      '--web.enable-remote-write-receiver',
    ],
    ready: '/-/ready',
    api: '/api/v1/',
  },
  VictoriaMetrics: {
    component: 'victoria-metrics',
    args: (port, folder) => [
      `-storageDataPath=${join(folder, 'vm')}`,
      '-retentionPeriod=10d',
      `-httpListenAddr=127.0.0.1:${port}`,
      '-search.latencyOffset=0s',
    ],
    ready: '/health',
    api: '/api/v1/',
    extra: { nocache: '1' },
  },
};

/** Reason why the systems cannot be compared on this machine; undefined if they can. */
export function missingProgram(): string | undefined {
  return needs('prometheus 3.5.3', 'victoria-metrics').skip;
}

/**
 * Starts a program on its folder and waits until it is ready. Throws if it does not become ready.
 */
export async function startSystem(
  scope: Scope,
  name: SystemName,
  folder: string,
): Promise<RunningSystem> {
  const program = programs[name];
  mkdirSync(folder, { recursive: true });
  const port = await reservePort();
  const { component } = program;
  const executable = component === undefined ? process.execPath : componentPath(component);
  const child = spawn(executable, program.args(port, folder), {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      SVC_DATA: folder,
      SVC_LISTEN: `127.0.0.1:${port}`,
      SVC_METRICS_LISTEN: 'off',
      SVC_COLLECT: 'none',
    },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  scope.teardown(() => end('SIGKILL'));
  const origin = `http://127.0.0.1:${port}`;
  await untilReady(child, origin + program.ready, name);
  // The service reports ready before it has written the demo's keys.
  if (name === 'ours') await untilWritten(join(folder, 'demo.json'));
  return {
    name,
    pid: child.pid ?? 0,
    origin,
    headers: name === 'ours' ? { authorization: `Bearer ${demoOf(folder).apiKey}` } : {},
    urlOf({ path, parameters }) {
      return `${program.api}${path}?${new URLSearchParams({ ...parameters, ...program.extra })}`;
    },
    stop: () => end('SIGTERM'),
  };
}

/** The keys of our service in that folder. */
export function demoOf(folder: string): Demo {
  return JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;
}

/** Resident memory of a process, MiB. */
export function residentMiB(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

/** CPU time of a process, user and system, all threads, seconds (proc(5), `stat`). */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Size of all files below a folder, bytes. */
export function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function emptyConfig(folder: string): string {
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, 'global: {}\n');
  return file;
}

async function untilReady(child: ChildProcess, url: string, name: string): Promise<void> {
  const startedMs = performance.now();
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    if (performance.now() - startedMs > START_MS_MAX) throw new Error(`${name} is not ready`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function untilWritten(path: string): Promise<void> {
  for (const startedMs = performance.now(); !existsSync(path); ) {
    if (performance.now() - startedMs > START_MS_MAX) throw new Error(`There is no ${path}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
