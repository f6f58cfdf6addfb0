/**
 * Rates of durable appends and reads of the stream port's adapters on this machine's disk: the
 * embedded one (WAL, synchronous FULL), and JetStream (`sync_interval: always`) on each installed
 * nats-server. Prints a table; run it alone, because other work on the machine distorts the
 * figures.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { openEmbeddedStream } from '../sqlite/platform/embedded-stream/embedded-stream.ts';
import { systemClock } from '../streams/platform/clock.ts';
import { openJetStream } from '../streams/platform/jetstream/jetstream-stream.ts';
import type { Stream } from '../streams/platform/stream.ts';
import { componentPath, needs } from '../test/support/components.ts';
import { startNatsServer } from '../test/support/nats-server.ts';

// A batch of about 1,000 samples, and an ordinary commit.
const BATCH_BYTES = 14 * 1024;
const COMMIT_BYTES = 600;
const BATCHES = 6_000;
const COMMITS = 12_000;
const IN_FLIGHT = 256;
const SUBJECTS = 32;
const SINGLE = 400;

interface Row {
  readonly adapter: string;
  readonly [column: string]: string | number;
}

/** Measures each adapter that can run here and prints one table. */
export async function run(): Promise<void> {
  const rows: Row[] = [];
  for (const [adapter, fsyncDelayMs] of [
    ['embedded', 0],
    ['embedded, 5 ms fsync', 5],
  ] as const) {
    await withFolder(async (folder) => {
      const storage = `${folder}/streams.db`;
      const stream = openEmbeddedStream({ storage, clock: systemClock, fsyncDelayMs });
      rows.push(await measure(adapter, stream, fsyncDelayMs > 0 ? 10 : 1));
    });
  }
  for (const version of ['nats-server 2.10.27', 'nats-server 2.15.1'] as const) {
    const { skip } = needs(version);
    if (skip !== undefined) console.log(`${version} not measured: ${skip}`);
    else await withFolder((folder) => measureServer(version, folder, rows));
  }
  console.table(rows);
}

async function measureServer(
  version: 'nats-server 2.10.27' | 'nats-server 2.15.1',
  folder: string,
  rows: Row[],
): Promise<void> {
  const server = await startNatsServer({ program: componentPath(version), folder });
  try {
    const stream = await openJetStream({ url: server.url, clock: systemClock });
    rows.push(await measure(version, stream, 1));
  } finally {
    await server.kill();
  }
}

/** @param share divisor of the number of appends: a slow disk needs fewer for a figure */
async function measure(adapter: string, stream: Stream, share: number): Promise<Row> {
  const spec = { retention: 'log', duplicateWindowMs: 120_000 } as const;
  await stream.ensure({ ...spec, name: 'SAMPLES_0', subjects: ['svc.samples.*'] });
  await stream.ensure({ ...spec, name: 'EVENTS', subjects: ['svc.events.*.*'] });
  const single = await singleAppends(stream);
  const batches = await batchAppends(stream, BATCHES / share);
  const commits = await commitAppends(stream, COMMITS / share);
  const read = await readAll(stream);
  await stream.close();
  return {
    adapter,
    'single ms p50': single.p50.toFixed(2),
    'single ms p99': single.p99.toFixed(2),
    '14 KiB batches/s': Math.round(batches.rate),
    'loop block ms max': batches.blockMs.toFixed(0),
    'commits/s (32 chains)': Math.round(commits),
    'read messages/s': Math.round(read),
  };
}

async function singleAppends(stream: Stream): Promise<{ p50: number; p99: number }> {
  const data = payload(COMMIT_BYTES);
  const took: number[] = [];
  for (let i = 0; i < SINGLE; i++) {
    const startedMs = performance.now();
    await stream.append({ stream: 'SAMPLES_0', subject: 'svc.samples.1', data });
    took.push(performance.now() - startedMs);
  }
  took.sort((a, b) => a - b);
  return { p50: took[SINGLE / 2] ?? 0, p99: took[Math.floor(SINGLE * 0.99)] ?? 0 };
}

async function batchAppends(stream: Stream, count: number) {
  const data = payload(BATCH_BYTES);
  const watch = watchLoop();
  const startedMs = performance.now();
  await inFlight(count, IN_FLIGHT, (i) => {
    const subject = `svc.samples.${i % 64}`;
    return stream.append({ stream: 'SAMPLES_0', subject, data, messageId: `batch-${i}` });
  });
  const rate = (count / (performance.now() - startedMs)) * 1000;
  return { rate, blockMs: watch.stop() };
}

/** Each subject is a chain: an append names the sequence of the previous one. */
async function commitAppends(stream: Stream, count: number): Promise<number> {
  const data = payload(COMMIT_BYTES);
  const last = new Map<string, number>();
  const startedMs = performance.now();
  const chains = Array.from({ length: SUBJECTS }, async (_, chain) => {
    const subject = `svc.events.${chain}.project`;
    for (let i = 0; i < count / SUBJECTS; i++) {
      const expectedLastSubjectSequence = last.get(subject) ?? 0;
      const messageId = `commit-${chain}-${i}`;
      const append = { stream: 'EVENTS', subject, data, messageId, expectedLastSubjectSequence };
      const outcome = await stream.append(append);
      if (outcome.kind !== 'appended') throw new Error(`${subject}: ${outcome.kind}`);
      last.set(subject, outcome.sequence);
    }
  });
  await Promise.all(chains);
  return (count / (performance.now() - startedMs)) * 1000;
}

async function readAll(stream: Stream): Promise<number> {
  const startedMs = performance.now();
  let messages = 0;
  const read = stream.read({ stream: 'EVENTS', from: { sequence: 1 }, untilEnd: true });
  for await (const message of read) messages += message.data.byteLength > 0 ? 1 : 0;
  return (messages / (performance.now() - startedMs)) * 1000;
}

async function inFlight(count: number, width: number, start: (i: number) => Promise<unknown>) {
  let next = 0;
  const worker = async () => {
    while (next < count) await start(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** Longest block of the event loop, ms. */
function watchLoop(): { stop(): number } {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 1);
    last = now;
  }, 1);
  return {
    stop() {
      clearInterval(timer);
      return longest;
    },
  };
}

function payload(bytes: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, i) => (i * 31) % 251);
}

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(`${tmpdir()}/streams-bench-`);
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await run();
