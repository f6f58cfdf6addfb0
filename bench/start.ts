/**
 * Time from the start of the process to `/readyz`, on an empty data folder and on one of 200 VMs
 * and 7 days: created from the fleet of the tests directly through history and the stream, flushed
 * hourly and kept as by a running service, with four hours of log for the evaluator to read again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { appendEntry, SAMPLES_STREAM, samplesSpec } from '../actors/telemetry/sample-log.ts';
import { openEmbeddedStream } from '../sqlite/platform/embedded-stream/embedded-stream.ts';
import { openHistory } from '../sqlite/telemetry/history/store/store.ts';
import { systemClock, VirtualClock } from '../streams/platform/clock.ts';
import { partitionOf } from '../streams/platform/stream.ts';
import { fleetRows } from '../test/support/fleet.ts';
import { reservePort } from '../test/support/places.ts';
import type { Demo } from '../test/support/program.ts';
import { Api, memoryRow } from './support/api.ts';
import { type Scope, withScope } from './support/scope.ts';

const VMS = 200;
const DAYS = 7;
const HOUR_MS = 3_600_000;
const STEP_MS = 30_000;
const LOG_MS = 4 * HOUR_MS;
const STARTS = 5;
const POLL_MS = 5;
const START_MS_MAX = 60_000;
const program = fileURLToPath(new URL('../bin/svc.js', import.meta.url));

/** Runs and prints the table; creating the week of data takes minutes. */
export async function run(): Promise<void> {
  const empty: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    empty.push(await withScope(async (scope) => (await start(scope, newFolder(scope))).readyMs));
  }
  console.table([
    line('an empty folder', empty, '< 1 s'),
    await withScope(async (scope) => {
      const folder = newFolder(scope);
      await register(scope, folder);
      await fill(folder);
      const megabytes = `${(sizeOf(folder) / 2 ** 20).toFixed(0)} MB`;
      const times: number[] = [];
      for (let i = 0; i < STARTS; i++) {
        const started = await start(scope, folder);
        times.push(started.readyMs);
        await started.stop();
      }
      return line(`${DAYS} days of ${VMS} VMs, ${megabytes}`, times, '< 5 s');
    }),
  ]);
}

interface Started {
  readonly readyMs: number;
  stop(): Promise<void>;
}

async function start(scope: Scope, folder: string): Promise<Started> {
  const port = await reservePort();
  const startedMs = performance.now();
  const child: ChildProcess = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      SVC_DATA: folder,
      SVC_COLLECT: 'none',
      SVC_DEMO: 'on',
      SVC_LISTEN: `127.0.0.1:${port}`,
      SVC_METRICS_LISTEN: 'off',
    },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  scope.teardown(() => stop('SIGKILL'));
  while (!(await isReady(port))) {
    if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}`);
    if (performance.now() - startedMs > START_MS_MAX) throw new Error('Not ready within a minute');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return { readyMs: performance.now() - startedMs, stop: () => stop('SIGTERM') };
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  } catch {
    // Not listening yet.
    return false;
  }
}

/** A first start with one row per VM: project, keys and VMs are in the commits. */
async function register(scope: Scope, folder: string): Promise<void> {
  const started = await start(scope, folder);
  const file = join(folder, 'demo.json');
  for (let tries = 0; !existsSync(file); tries++) {
    if (tries * POLL_MS > START_MS_MAX) throw new Error('No demo.json within a minute');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const api = new Api(JSON.parse(readFileSync(file, 'utf8')) as Demo);
  const row = { observedMs: Date.now(), sequence: 1, usedRatio: 0.2 };
  await api.write(Array.from({ length: VMS }, (_, n) => memoryRow(n, row)));
  await started.stop();
}

async function fill(folder: string): Promise<void> {
  const nowMs = Date.now();
  const stream = openEmbeddedStream({ storage: join(folder, 'samples.db'), clock: systemClock });
  const { identity } = await stream.ensure(samplesSpec);
  const clock = new VirtualClock(nowMs);
  const history = openHistory({ folder, clock, logIdentity: identity, background: false });
  const partition = partitionOf('demo');
  const fromMs = nowMs - DAYS * 24 * HOUR_MS;
  const fleet = fleetRows({ vms: VMS, fromMs, toMs: nowMs, stepMs: STEP_MS, seed: 7 });
  let nextFlushMs = 0;
  let logFrom = 0;
  for (const batch of fleet) {
    const sequence = await appendEntry(stream, partition, { kind: 'batch', batch });
    history.append(batch, { partition, sequence });
    if (batch.receivedMs < nowMs - LOG_MS) logFrom = sequence;
    if (batch.receivedMs < nextFlushMs) continue;
    nextFlushMs = batch.receivedMs + HOUR_MS;
    await history.flush();
  }
  for (let i = 0; i < DAYS; i++) await history.retain(nowMs);
  await stream.truncate({ stream: SAMPLES_STREAM, belowSequence: logFrom });
  await history.close();
  await stream.close();
}

function newFolder(scope: Scope): string {
  const folder = mkdtempSync(`${tmpdir()}/start-bench-`);
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function sizeOf(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

function line(what: string, times: readonly number[], aim: string) {
  const sorted = times.toSorted((a, b) => a - b);
  const seconds = (ms: number | undefined) => `${((ms ?? 0) / 1000).toFixed(2)} s`;
  const median = seconds(sorted[Math.floor(sorted.length / 2)]);
  return { 'data folder': what, median, slowest: seconds(sorted.at(-1)), aim };
}

if (import.meta.main) await run();
