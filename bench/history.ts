/**
 * Cost of history: bytes per stored sample over the whole data folder, codec rates, restart time,
 * memory. Fleets are synthetic (`test/support/fleet.ts`); the recorded traces are measured too if
 * they are available. Run it alone: `node bench/history.ts [VMs, default 200] [days, default 7]`.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as yieldIfDue } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openEmbeddedStream } from '../sqlite/platform/embedded-stream/embedded-stream.ts';
import { type History, openHistory } from '../sqlite/telemetry/history/store/store.ts';
import { systemClock, VirtualClock } from '../streams/platform/clock.ts';
import type { Stream } from '../streams/platform/stream.ts';
import { decodeEntry, encodeEntry } from '../streams/telemetry/entry-codec.ts';
import { BatchBuilder, type SampleBatch } from '../streams/telemetry/samples/batch.ts';
import { FLEET_SERIES, fleetRows, fleetVm } from '../test/support/fleet.ts';
import { bitbrainsBatches } from './bitbrains.ts';
import { gorillaBytes } from './gorilla.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const STEP_MS = 30_000;
const START = Date.UTC(2026, 0, 1);
/** Retention of the sample log on a single host, ms. */
const LOG_MS = 4 * HOUR;
const PARTITION = 5;
const STREAM = 'SAMPLES_0';

/** Prints one table per question. */
export async function run({ vms = 200, days = 7 } = {}): Promise<void> {
  console.table([1, 10, 200, 1000].map(measureBatchCodec));
  const tables = [await measureFolder(vms, days)];
  const traces = await bitbrainsBatches();
  if (traces === undefined) console.log('Recorded traces are not available: not measured');
  else tables.push(await measureTraces(traces));
  console.table(tables);
  console.table([await measureRestart(200), await measureRestart(10_000)]);
}

function measureBatchCodec(rows: number) {
  const batches = [
    ...fleetRows({
      vms: rows,
      fromMs: START,
      toMs: START + 20 * STEP_MS,
      stepMs: STEP_MS,
      seed: 1,
    }),
  ];
  const samples = batches.length * rows * FLEET_SERIES.length;
  const encoded = batches.map((batch) => encodeEntry({ kind: 'batch', batch }));
  const bytes = encoded.reduce((sum, one) => sum + one.length, 0);
  const rate = (work: () => void) => {
    let rounds = 0;
    const start = performance.now();
    for (; performance.now() - start < 700; rounds++) work();
    return round((rounds * samples) / (performance.now() - start) / 1000);
  };
  return {
    'rows in a batch': rows,
    'bytes per sample': round(bytes / samples),
    'encoded, M samples/s': rate(() => {
      for (const batch of batches) encodeEntry({ kind: 'batch', batch });
    }),
    'decoded, M samples/s': rate(() => {
      for (const one of encoded) decodeEntry(one);
    }),
  };
}

/**
 * A fleet's week in the state of a running service: hours flushed, days merged, four hours of log.
 */
async function measureFolder(vms: number, days: number) {
  const toMs = START + days * DAY + 10 * HOUR;
  const fleet = fleetRows({ vms, fromMs: START, toMs, stepMs: STEP_MS, seed: 7 });
  return await withFolder(async (folder) => {
    const figures = await fillFolder(folder, fleet, START + 10 * HOUR, toMs);
    return { values: `synthetic fleet, ${vms} VMs, ${days} days`, ...figures };
  });
}

async function measureTraces(batches: SampleBatch[]) {
  return await withFolder(async (folder) => {
    const lastMs = batches.at(-1)?.receivedMs ?? 0;
    const figures = await fillFolder(folder, batches, lastMs - 7 * DAY, lastMs);
    return { values: 'bitbrains, 104 VMs at 300 s', ...figures };
  });
}

async function fillFolder(
  folder: string,
  batches: Iterable<SampleBatch>,
  keptFromMs: number,
  nowMs: number,
) {
  const clock = new VirtualClock(nowMs);
  const history = openHistory({ folder, clock, logIdentity: 'bench', background: false });
  const log = await openLog(folder);
  const gorilla = new Map<string, number[]>();
  let [sequence, nextFlushMs, nextUpkeepMs, samples, appendMs, flushMs] = [0, 0, 0, 0, 0, 0];
  let lastBatch: SampleBatch = new BatchBuilder().build(0);
  for (const batch of batches) {
    lastBatch = batch;
    const position = { partition: PARTITION, sequence: ++sequence };
    const start = performance.now();
    history.append(batch, position);
    appendMs += performance.now() - start;
    samples += batch.values.length;
    if (batch.receivedMs > nowMs - LOG_MS) await appendToLog(log, batch);
    if (gorilla.size < 400 || gorilla.has(gorillaKey(batch, 0))) collect(gorilla, batch);
    if (batch.receivedMs < nextFlushMs) continue;
    nextFlushMs = batch.receivedMs + HOUR;
    const flushStart = performance.now();
    await history.flush();
    flushMs += performance.now() - flushStart;
    if (batch.receivedMs < nextUpkeepMs) continue;
    nextUpkeepMs = batch.receivedMs + 6 * HOUR;
    await history.retain(Math.max(batch.receivedMs, keptFromMs + 7 * DAY));
  }
  await history.flush();
  await upkeepAll(history, keptFromMs + 7 * DAY);
  const { rows, bytes } = await history.check();
  const width = samples / Math.max(1, history.stats().added);
  const stored = rows * width;
  // Sizes of the folder in operation, including write-ahead files.
  const sizes = ['history.db', 'samples.db', ''].map((name) => sizeOf(folder, name) / stored);
  await history.close();
  await log.close();
  const start = performance.now();
  const reopened = openHistory({ folder, clock, logIdentity: 'bench', background: false });
  const openMs = performance.now() - start;
  const [ref] = lastBatch.vms;
  const week = { project: 'demo', vm: ref?.vm ?? '', fromMs: nowMs - 7 * DAY, toMs: nowMs };
  await reopened.read(week);
  const weekMs = await timeOf(() => reopened.read(week));
  await reopened.close();
  const prometheus = [...gorilla.values()];
  return {
    'M samples': round(stored / 1e6),
    'chunks, B/sample': round(bytes / stored),
    'history.db, B/sample': round(sizes[0] ?? 0),
    'log of 4 h, B/sample': round(sizes[1] ?? 0),
    'whole folder, B/sample': round(sizes[2] ?? 0),
    'Gorilla (values only)': round(
      prometheus.reduce((sum, list) => sum + gorillaBytes(list), 0) /
        prometheus.reduce((sum, list) => sum + list.length, 0),
    ),
    'opened, ms': round(openMs),
    'week of a VM, ms': round(weekMs),
    'appended, M samples/s': round(samples / appendMs / 1000),
    'flushed, M samples/s': round(samples / flushMs / 1000),
  };
}

async function upkeepAll(history: History, nowMs: number): Promise<void> {
  for (let i = 0; i < 100; i++) {
    const { droppedChunks, compactedDays } = await history.retain(nowMs);
    if (droppedChunks + compactedDays === 0 && i > 50) return;
  }
}

/** Values of some VMs, series by series, for the comparison. */
function collect(gorilla: Map<string, number[]>, batch: SampleBatch): void {
  for (let row = 0; row < Math.min(batch.count, 20); row++) {
    const from = batch.valueOffset[row] ?? 0;
    const to = batch.valueOffset[row + 1] ?? 0;
    for (let at = from; at < to; at++) {
      const key = `${gorillaKey(batch, row)} ${at - from}`;
      const list = gorilla.get(key);
      if (list === undefined) gorilla.set(key, [batch.values[at] ?? 0]);
      else if (list.length < 2880) list.push(batch.values[at] ?? 0);
    }
  }
}

function gorillaKey(batch: SampleBatch, row: number): string {
  return batch.vms[batch.vm[row] ?? -1]?.vm ?? '';
}

/** Restart with an hour of log that is in no chunk, as after a kill. */
async function measureRestart(vms: number) {
  return await withFolder(async (folder) => {
    const toMs = START + HOUR;
    const fleet = fleetRows({ vms, fromMs: START, toMs, stepMs: STEP_MS, seed: 3 });
    const log = await openLog(folder);
    const rowsMax = 1000;
    const builder = new BatchBuilder();
    for (const batch of fleet) {
      if (batch.count <= rowsMax) await appendToLog(log, batch);
      else for (const part of split(builder, batch, rowsMax)) await appendToLog(log, part);
    }
    await log.close();
    // A separate process, so that the memory is that of the restart alone.
    const script = [import.meta.filename, 'restart', folder, String(toMs)];
    const { stdout } = await promisify(execFile)(process.execPath, script);
    return { VMs: vms, ...(JSON.parse(stdout) as Record<string, number>) };
  });
}

/** The restart itself, in the child: open, read the log from the floor, answer, flush. */
async function restart(folder: string, toMs: number) {
  const log = await openLog(folder);
  const start = performance.now();
  const clock = new VirtualClock(toMs);
  const history = openHistory({ folder, clock, logIdentity: 'bench', background: false });
  const from = { sequence: history.floor(PARTITION) };
  let longestMs = 0;
  for await (const { sequence, data } of log.read({ stream: STREAM, from, untilEnd: true })) {
    const entry = decodeEntry(data);
    const begin = performance.now();
    if (entry.kind === 'batch') history.append(entry.batch, { partition: PARTITION, sequence });
    longestMs = Math.max(longestMs, performance.now() - begin);
  }
  const restartMs = performance.now() - start;
  collectGarbage();
  const { heapUsed, rss } = process.memoryUsage();
  const stats = history.stats();
  const firstReadMs = await timeOf(() => readOne(history, toMs));
  const readMs = await timeOf(() => readOne(history, toMs));
  const blockMs = await longestBlock(() => history.flush());
  await history.close();
  await log.close();
  return {
    'rows read again': stats.added,
    'restart, s': round(restartMs / 1000),
    'longest append, ms': round(longestMs),
    'head, MB': round(stats.headBytes.used / 1e6),
    'heap, MB': round(heapUsed / 1e6),
    'resident, MB': round(rss / 1e6),
    'first read, ms': round(firstReadMs),
    'read, ms': round(readMs),
    'block while flushing, ms': round(blockMs),
  };
}

function* split(builder: BatchBuilder, batch: SampleBatch, rows: number): Generator<SampleBatch> {
  for (let from = 0; from < batch.count; from += rows) {
    for (let i = from; i < Math.min(batch.count, from + rows); i++) {
      const ref = batch.vms[batch.vm[i] ?? -1];
      if (ref === undefined) continue;
      builder.add({
        ...ref,
        observedMs: batch.observedMs[i] ?? 0,
        sequence: batch.sequence[i] ?? 0,
        boot: batch.strings[batch.boot[i] ?? 0] ?? '',
        vcpus: batch.vcpus[i] ?? Number.NaN,
        state: batch.state[i] ?? 0,
        stateReason: '',
        series: batch.layouts[batch.layout[i] ?? 0]?.series ?? [],
        values: batch.values.subarray(batch.valueOffset[i], batch.valueOffset[i + 1]),
      });
    }
    yield builder.build(batch.receivedMs);
  }
}

async function readOne(history: History, toMs: number): Promise<void> {
  await history.read({ project: 'demo', vm: fleetVm(3), fromMs: toMs - 7 * DAY, toMs });
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Longest block of this thread's event loop during `work`, ms. */
async function longestBlock(work: () => Promise<void>): Promise<number> {
  let [isOver, longest] = [false, 0];
  const working = work().finally(() => {
    isOver = true;
  });
  for (let last = performance.now(); !isOver; ) {
    await yieldIfDue();
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  await working;
  return longest;
}

async function openLog(folder: string): Promise<Stream> {
  const log = openEmbeddedStream({ storage: join(folder, 'samples.db'), clock: systemClock });
  const subjects = ['svc.samples.>'];
  const spec = { name: STREAM, subjects, retention: 'log', duplicateWindowMs: 0 };
  await log.ensure({ ...spec, retention: 'log' });
  return log;
}

async function appendToLog(log: Stream, batch: SampleBatch): Promise<void> {
  const data = encodeEntry({ kind: 'batch', batch });
  await log.append({ stream: STREAM, subject: `svc.samples.${PARTITION}.batch`, data });
}

const collectGarbage = (() => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

function sizeOf(folder: string, name: string): number {
  const files = readdirSync(folder).filter((file) => file.startsWith(name));
  return files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}

async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'history-bench-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [first, folder = '', toMs = ''] = process.argv.slice(2);
  if (first === 'restart') console.log(JSON.stringify(await restart(folder, Number(toMs))));
  else await run({ vms: Number(first ?? 200), days: Number(process.argv[3] ?? 7) });
}
