/**
 * The main thread's budget: no block over 25 ms, whatever the service does. The event loop's delay
 * is measured inside the service's process: idle; while many senders write; while 10,000 instances
 * (20 rules over 500 VMs) fire at once; during a storm of queries beside writes; and during the
 * largest responses. All of it is repeated with a disk that takes 5 ms per commit.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fleetVm } from '../test/support/fleet.ts';
import { Api, memoryRow } from './support/api.ts';
import { readLarge, writeLarge } from './support/large-answers.ts';
import { liftLimits } from './support/lift-limits.ts';
import {
  type LoopFigures,
  type MeasuredService,
  startMeasured,
} from './support/measured-service.ts';
import { type Scope, withScope } from './support/scope.ts';
import { sendLoad } from './support/write-load.ts';

const VMS = 500;
const RULES = 20;
const QUIET_MS = 3_000;
const LOAD_MS = 5_000;
const QUERIES_AT_ONCE = 16;
const SETTLED_CPU_RATIO = 0.1;
const SETTLE_MS_MAX = 120_000;
const AIM_MS = 25;

interface Line {
  readonly what: string;
  readonly figures: LoopFigures;
  readonly note: string;
}

/** Runs and prints one table per kind of disk. */
export async function run(): Promise<void> {
  for (const fsyncDelayMs of [0, 5]) {
    const lines = await withScope((scope) => measure(scope, fsyncDelayMs));
    console.log(
      fsyncDelayMs === 0 ? 'This disk' : `A disk that takes ${fsyncDelayMs} ms per commit`,
    );
    console.table(
      lines.map(({ what, figures, note }) => ({
        what,
        'p50 ms': figures.p50.toFixed(1),
        'p99 ms': figures.p99.toFixed(1),
        'longest ms': figures.max.toFixed(1),
        aim: `longest < ${AIM_MS}`,
        note,
      })),
    );
  }
}

async function measure(scope: Scope, fsyncDelayMs: number): Promise<Line[]> {
  const folder = mkdtempSync(`${tmpdir()}/main-thread-bench-`);
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const service = await startMeasured(scope, { folder, fsyncDelayMs });
  await liftLimits(folder);
  const api = new Api(service.demo);
  await prepare(api, service);
  const lines: Line[] = [];
  const during = async (what: string, work: () => Promise<string>): Promise<void> => {
    await service.figures();
    const note = await work();
    lines.push({ what, figures: await service.figures(), note });
  };
  await during('quiet', () => sleep(QUIET_MS).then(() => ''));
  await during('64 senders of single rows', () => write(service));
  await during('10,000 instances fire', () => fireAll(api, service));
  await during('64 senders and a query storm', async () => {
    const [written, queried] = await Promise.all([write(service), storm(api)]);
    return `${written}, ${queried}`;
  });
  await writeLarge(api);
  await settled(service);
  await during('the largest responses', () => readLarge(api, LOAD_MS));
  return lines;
}

/**
 * Twenty rules, and two rounds of readings that breach none of them; afterwards everything is
 * compiled and warm.
 */
async function prepare(api: Api, service: MeasuredService): Promise<void> {
  const now = Date.now();
  await writeRound(api, { observedMs: now - 60_000, sequence: 1, usedRatio: 0.2 });
  for (let n = 0; n < RULES; n++) {
    const metricId = n % 2 === 0 ? 'memory_used_pct' : 'filesystem_used_pct';
    const displayName = `Rule ${n}`;
    await api.saveRule({ displayName, metricId, threshold: 50 + n, destinations: [] });
  }
  await writeRound(api, { observedMs: now - 30_000, sequence: 2, usedRatio: 0.2 });
  await write(service);
  await settled(service);
}

async function write(service: MeasuredService): Promise<string> {
  const load = { connections: 64, rows: 1, vms: VMS, durationMs: LOAD_MS };
  // Old enough to be distinguishable from the readings evaluated by rules.
  const fromMs = Date.now() - 3 * 86_400_000;
  const { samples, seconds } = await sendLoad({ ...load, demo: service.demo, fromMs });
  return `${Math.round(samples / seconds).toLocaleString('en')} samples/s`;
}

async function fireAll(api: Api, service: MeasuredService): Promise<string> {
  const startedMs = performance.now();
  await writeRound(api, { observedMs: Date.now(), sequence: 3, usedRatio: 0.9 });
  const { cpuSeconds, endMs } = await settled(service);
  return `${Math.round(endMs - startedMs)} ms, ${cpuSeconds.toFixed(1)} CPU s`;
}

async function writeRound(
  api: Api,
  row: { readonly observedMs: number; readonly sequence: number; readonly usedRatio: number },
): Promise<void> {
  await api.write(Array.from({ length: VMS }, (_, n) => memoryRow(n, row)));
}

/** Queries of one VM's last hour, as dashboards send them. */
async function storm(api: Api): Promise<string> {
  const endMs = performance.now() + LOAD_MS;
  const nowUnix = Math.floor(Date.now() / 1000);
  let queries = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() < endMs) {
      await api.call('monitoring.v1.MonitoringService/QueryVMMonitoring', {
        name: `projects/demo/vms/${fleetVm(queries++ % VMS)}`,
        metricIds: ['memory_used_bytes', 'filesystem_used_pct', 'cpu_utilization_pct'],
        startTimeUnix: String(nowUnix - 3 * 86_400),
        endTimeUnix: String(nowUnix),
        stepSeconds: 60,
      });
    }
  };
  await Promise.all(Array.from({ length: QUERIES_AT_ONCE }, ask));
  return `${Math.round((queries / LOAD_MS) * 1000)} queries/s`;
}

/** Waits until the service is idle; returns the time of that, and the CPU used until then. */
async function settled(service: MeasuredService): Promise<{ cpuSeconds: number; endMs: number }> {
  const peek = 250;
  const first = await service.cpuSeconds();
  let before = first;
  for (let waitedMs = 0; waitedMs < SETTLE_MS_MAX; waitedMs += peek) {
    await sleep(peek);
    const now = await service.cpuSeconds();
    const isIdle = now - before < (SETTLED_CPU_RATIO * peek) / 1000;
    if (isIdle) return { cpuSeconds: before - first, endMs: performance.now() - peek };
    before = now;
  }
  throw new Error(`The service was busy for ${SETTLE_MS_MAX / 1000} s`);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

if (import.meta.main) await run();
