/**
 * The same week of 200 VMs in all three systems. Our folder is filled to the state of a running
 * service (hours flushed, days merged, four hours of log). The peers receive it by remote write in
 * order of time, which is their normal ingestion and is measured as such.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { appendEntry, SAMPLES_STREAM, samplesSpec } from '../../actors/telemetry/sample-log.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { openHistory } from '../../sqlite/telemetry/history/store/store.ts';
import { systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { partitionOf } from '../../streams/platform/stream.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import { fleetRows } from '../../test/support/fleet.ts';
import { Api, memoryRow } from '../support/api.ts';
import { liftLimits } from '../support/lift-limits.ts';
import { withScope } from '../support/scope.ts';
import { sendLoad } from '../support/write-load.ts';
import { RemoteWrite, type VmLabels } from './remote-write.ts';
import { cpuSeconds, demoOf, type SystemName, startSystem } from './systems.ts';

export interface DatasetOptions {
  readonly folder: string;
  readonly vms: number;
  readonly days: number;
  /** End of the data, exclusive, Unix ms. */
  readonly endMs: number;
}

export interface Loaded {
  readonly samples: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

const STEP_MS = 30_000;
const HOUR_MS = 3_600_000;
const LOG_MS = 4 * HOUR_MS;
const INGEST_MS = 8_000;
/** Polls per remote write request: those of an agent that reconnects after ten minutes. */
const POLLS = 20;

function fleetOf({ vms, days, endMs }: DatasetOptions): Generator<SampleBatch> {
  const fromMs = endMs - days * 24 * HOUR_MS;
  return fleetRows({ vms, fromMs, toMs: endMs, stepMs: STEP_MS, seed: 7 });
}

/** Registers the VMs by a first start, then writes their week to history and log. */
export async function fillOurs(options: DatasetOptions): Promise<void> {
  const { folder, vms, days, endMs } = options;
  await withScope(async (scope) => {
    const service = await startSystem(scope, 'ours', folder);
    // Outside every read, but still within retention half an hour after the end of the data.
    const firstMs = endMs - days * 24 * HOUR_MS + 0.75 * HOUR_MS;
    const row = { observedMs: firstMs, sequence: 1, usedRatio: 0.2 };
    const rows = Array.from({ length: vms }, (_, n) => memoryRow(n, row));
    await new Api(demoOf(folder)).write(rows);
    await service.stop();
  });
  const stream = openEmbeddedStream({ storage: join(folder, 'samples.db'), clock: systemClock });
  const { identity } = await stream.ensure(samplesSpec);
  const clock = new VirtualClock(endMs);
  const history = openHistory({ folder, clock, logIdentity: identity, background: false });
  const partition = partitionOf('demo');
  let [nextFlushMs, logFrom] = [0, 0];
  for (const batch of fleetOf(options)) {
    const sequence = await appendEntry(stream, partition, { kind: 'batch', batch });
    history.append(batch, { partition, sequence });
    if (batch.receivedMs < endMs - LOG_MS) logFrom = sequence;
    if (batch.receivedMs < nextFlushMs) continue;
    nextFlushMs = batch.receivedMs + HOUR_MS;
    await history.flush();
    progress('ours', options, batch.receivedMs);
  }
  for (let i = 0; i < days; i++) await history.retain(endMs);
  await stream.truncate({ stream: SAMPLES_STREAM, belowSequence: logFrom });
  await history.close();
  await stream.close();
  // A service appends and drops at the same rate; here the whole week passed through the file.
  const log = new Database(join(folder, 'samples.db'));
  log.exec('VACUUM');
  log.close();
}

/** Ingests rows of the same fleet over HTTP; each request is durable before its response. */
export async function ingestOurs(folder: string): Promise<Loaded> {
  return await withScope(async (scope) => {
    const service = await startSystem(scope, 'ours', folder);
    await liftLimits(folder);
    const demo = { ...demoOf(folder), baseUrl: service.origin };
    const fromMs = Date.now() - 6.5 * 24 * HOUR_MS;
    const load = { demo, connections: 4, rows: 200, vms: 200, fromMs };
    await sendLoad({ ...load, durationMs: 2_000 });
    const cpuBefore = cpuSeconds(service.pid);
    const { samples, seconds } = await sendLoad({
      ...load,
      durationMs: INGEST_MS,
      fromMs: fromMs + 1.5 * 24 * HOUR_MS,
    });
    const used = cpuSeconds(service.pid) - cpuBefore;
    await service.stop();
    return { samples, seconds, cpuSeconds: used };
  });
}

/** Sends the same week to a peer. */
export async function fillPeer(
  name: Exclude<SystemName, 'ours'>,
  options: DatasetOptions,
  labelsOf: VmLabels,
): Promise<Loaded> {
  return await withScope(async (scope) => {
    const peer = await startSystem(scope, name, options.folder);
    const writer = new RemoteWrite(labelsOf);
    let [samples, sendMs, polls] = [0, 0, 0];
    const cpuBefore = cpuSeconds(peer.pid);
    const send = async () => {
      samples += writer.count;
      const body = new Uint8Array(writer.take());
      const startedMs = performance.now();
      await post(`${peer.origin}/api/v1/write`, body);
      sendMs += performance.now() - startedMs;
    };
    for (const batch of fleetOf(options)) {
      writer.add(batch);
      if (++polls % POLLS === 0) await send();
      if (polls % 120 === 0) progress(name, options, batch.receivedMs);
    }
    if (writer.count > 0) await send();
    const used = cpuSeconds(peer.pid) - cpuBefore;
    if (name === 'VictoriaMetrics') await fetch(`${peer.origin}/internal/force_merge`);
    await settled(peer.pid);
    await peer.stop();
    return { samples, seconds: sendMs / 1000, cpuSeconds: used };
  });
}

async function post(url: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const headers = {
    'content-type': 'application/x-protobuf',
    'content-encoding': 'snappy',
    'x-prometheus-remote-write-version': '0.1.0',
  };
  const answer = await fetch(url, { method: 'POST', headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`Remote write returned ${answer.status}: ${text.slice(0, 300)}`);
}

/** Waits until a process has been idle for 5 s: it compacts the ingested data. */
async function settled(pid: number): Promise<void> {
  for (let quiet = 0, before = cpuSeconds(pid); quiet < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const now = cpuSeconds(pid);
    quiet = now - before < 0.1 ? quiet + 1 : 0;
    before = now;
  }
}

function progress(name: string, { days, endMs }: DatasetOptions, atMs: number): void {
  const left = Math.max(0, (endMs - atMs) / (days * 24 * HOUR_MS));
  process.stderr.write(`\rfilling ${name}: ${Math.round((1 - left) * 100)} %  `);
}
