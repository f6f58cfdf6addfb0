/**
 * Cost of an embedded change: decided by a small machine, appended to EVENTS (WAL, synchronous
 * FULL), applied to the projection in the same file. Prints tables; run it alone, because other
 * work on the machine distorts the figures.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openEmbeddedStream } from '../sqlite/platform/embedded-stream/embedded-stream.ts';
import { systemClock } from '../streams/platform/clock.ts';
import { encodeCommit, encodeDecision } from '../streams/platform/commit/codec.ts';
import type { Decision } from '../streams/platform/commit/commit.ts';
import { add, type CountingNode, countingNode, openPlace } from '../test/support/counting-node.ts';

const SINGLE = 1_000;
const TOGETHER = 20_000;
const IN_FLIGHT = 256;
const AT_ONCE = 10_000;
const APPLIED_EVENTS = 2_000;
const EVENTS_A_COMMIT = 500;

/** Measures and prints. */
export async function run(): Promise<void> {
  const folder = mkdtempSync(`${tmpdir()}/bench-commits-`);
  try {
    const rows = [];
    for (const fsyncDelayMs of [0, 5]) {
      rows.push(await measureNode(`${folder}/control-${fsyncDelayMs}.db`, fsyncDelayMs));
    }
    console.table(rows);
    console.table([measureApply(`${folder}/apply.db`)]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measureNode(file: string, fsyncDelayMs: number) {
  const stream = openEmbeddedStream({ storage: file, clock: systemClock, fsyncDelayMs });
  const place = openPlace(file);
  const node = countingNode({ stream, place });
  await node.host.start();
  const single = await submitSingly(node);
  const one = await submitTogether(node, 1);
  const many = await submitTogether(node, 32);
  const burst = await submitAtOnce(node);
  await node.close();
  await stream.close();
  place.database.close();
  return {
    adapter: fsyncDelayMs === 0 ? 'embedded' : `embedded, ${fsyncDelayMs} ms fsync`,
    'idle submit ms p50': single.p50.toFixed(2),
    p99: single.p99.toFixed(2),
    'decisions/s, 1 project': Math.round(one.decisions),
    'commits/s': Math.round(one.commits),
    'decisions/s, 32 projects': Math.round(many.decisions),
    'commits/s, 32': Math.round(many.commits),
    '10,000 at once ms': Math.round(burst.ms),
    'loop block ms max': Math.round(burst.blockMs),
  };
}

/** One after another, each on an idle project. */
async function submitSingly({ host }: CountingNode) {
  const times: number[] = [];
  for (let i = 0; i < SINGLE; i++) {
    const from = performance.now();
    await add(host, 'single', `c${i}`);
    times.push(performance.now() - from);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

/** A constant number in flight, spread over projects. */
async function submitTogether({ host }: CountingNode, projects: number) {
  const before = host.counters().commits;
  const from = performance.now();
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < TOGETHER; i = next++) {
      await add(host, `of-${projects}-${i % projects}`, `c${i}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  const seconds = (performance.now() - from) / 1000;
  const commits = host.counters().commits - before;
  return { decisions: TOGETHER / seconds, commits: commits / seconds };
}

/** All in one turn, as when a metric of every VM breaches in one batch. */
async function submitAtOnce({ host }: CountingNode) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const from = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => add(host, 'burst', `b${i}`)));
  const ms = performance.now() - from;
  delay.disable();
  return { ms, blockMs: delay.max / 1e6 };
}

/** Commits of 500 steps, each with a context of an alert instance's size and a timer. */
function measureApply(file: string) {
  const place = openPlace(file);
  const times: number[] = [];
  let bytes = 0;
  for (let c = 0; c < (10 * APPLIED_EVENTS) / EVENTS_A_COMMIT; c++) {
    const encoded = commitOf(place, c);
    bytes = encoded.bytes.length;
    const from = performance.now();
    place.store.apply(encoded, c + 1);
    times.push(performance.now() - from);
  }
  place.database.close();
  const total = times.reduce((sum, ms) => sum + ms, 0);
  return {
    '2,000 events applied ms': (total / 10).toFixed(1),
    '500 events ms max': Math.max(...times).toFixed(1),
    'commit bytes': bytes,
  };
}

function commitOf({ store }: ReturnType<typeof openPlace>, c: number) {
  const steps: Decision['steps'] = Array.from({ length: EVENTS_A_COMMIT }, (_, i) => ({
    machine: 'alertInstance',
    version: 1,
    instance: `instance-${(c * EVENTS_A_COMMIT + i) % 10_000}`,
    event: { type: 'sustained', at: 1_750_000_000_000, value: 97.5 },
    from: 'sustaining',
    to: { firing: { attention: 'unacknowledged', notification: 'notifying', data: 'observed' } },
    context: { rule: 'r'.repeat(36), vm: 'v'.repeat(36), incident: { startedMs: 1, value: 97.5 } },
    timers: [{ id: 'repeat', dueMs: 1_750_000_600_000 + i, event: { type: 'repeat' } }],
    final: false,
  }));
  const head = store.head('bench');
  const about = { id: `c${c}`, project: 'bench', number: head.number + 1, at: 1, writer: 'bench' };
  const by = { kind: 'service', name: 'bench' } as const;
  const decision = encodeDecision({ by, steps, records: [] });
  return encodeCommit({ ...about, predecessor: head.hash }, [decision]);
}
