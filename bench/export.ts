/**
 * A scrape of one whole shard (500 VMs with 15 series each) over HTTP, as sent by Prometheus,
 * repeatedly: its duration, and the delay of the service's event loop during it. First without
 * load, then beside senders.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseLabels, splitSeriesKey } from '../streams/telemetry/samples/batch.ts';
import { FLEET_SERIES, fleetRows } from '../test/support/fleet.ts';
import { Api } from './support/api.ts';
import { liftLimits } from './support/lift-limits.ts';
import { type MeasuredService, startMeasured } from './support/measured-service.ts';
import { type Scope, withScope } from './support/scope.ts';
import { sendLoad } from './support/write-load.ts';

const VMS = 500;
const SCRAPES = 60;
const AIM_MS = 25;
const ACCEPT = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2';

/** Runs and prints its table. */
export async function run(): Promise<void> {
  console.table(await withScope(measure));
}

async function measure(scope: Scope) {
  const folder = mkdtempSync(`${tmpdir()}/export-bench-`);
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const service = await startMeasured(scope, { folder, fsyncDelayMs: 0 });
  await liftLimits(folder);
  await writeShard(service);
  await scrapes(service, 5);
  const quiet = await line('quiet', service);
  const load = { connections: 64, rows: 1, vms: VMS, durationMs: 5_000 };
  const fromMs = Date.now() - 3 * 86_400_000;
  const [busy] = await Promise.all([
    line('64 senders beside it', service),
    sendLoad({ ...load, demo: service.demo, fromMs }),
  ]);
  return [quiet, busy];
}

async function line(what: string, service: MeasuredService) {
  await service.figures();
  const { times, bytes } = await scrapes(service, SCRAPES);
  const { p99, max } = await service.figures();
  const at = (share: number): string => (times[Math.floor(share * times.length)] ?? 0).toFixed(1);
  return {
    what,
    'packed bytes': bytes,
    'scrape p50 ms': at(0.5),
    'scrape p99 ms': at(0.99),
    'event loop p99 ms': p99.toFixed(1),
    'longest ms': max.toFixed(1),
    aim: `longest < ${AIM_MS}`,
  };
}

/** Durations of consecutive scrapes, ms, sorted. */
async function scrapes({ demo }: MeasuredService, count: number) {
  const times: number[] = [];
  let bytes = 0;
  const headers = {
    authorization: `Bearer ${demo.apiKey}`,
    accept: ACCEPT,
    'accept-encoding': 'gzip',
  };
  for (let i = 0; i < count; i++) {
    const startedMs = performance.now();
    const url = `${demo.baseUrl}/v1/monitoring/projects/demo/export?shard=0`;
    const answer = await fetch(url, { headers });
    const text = await answer.text();
    times.push(performance.now() - startedMs);
    const lines = text.split('\n').length;
    if (!answer.ok || lines < VMS * FLEET_SERIES.length) {
      throw new Error(`The scrape returned ${answer.status} with ${lines} lines`);
    }
    bytes = Number(answer.headers.get('content-length'));
  }
  return { times: times.sort((a, b) => a - b), bytes };
}

/** One row of every VM of the fleet, observed now. */
async function writeShard({ demo }: MeasuredService): Promise<void> {
  const toMs = Date.now();
  const [batch] = fleetRows({ vms: VMS, fromMs: toMs, toMs: toMs + 1, stepMs: 1_000, seed: 1 });
  if (batch === undefined) throw new Error('The fleet has reported nothing');
  const rows = Array.from({ length: batch.count }, (_, i) => {
    const { vm = '' } = batch.vms[batch.vm[i] ?? 0] ?? {};
    const from = batch.valueOffset[i] ?? 0;
    return {
      vmName: vm,
      observedUnixMs: BigInt(toMs),
      vcpus: 4,
      state: 1 as const,
      values: FLEET_SERIES.map((series, column) => ({
        ...nameAndLabels(series),
        value: batch.values[from + column] ?? 0,
      })),
    };
  });
  await new Api(demo).write(rows);
}

function nameAndLabels(key: string) {
  const { name, labels } = splitSeriesKey(key);
  return { series: name, labels: parseLabels(labels) };
}

if (import.meta.main) await run();
