/**
 * Durable ingest through `WriteSamples` over HTTP: the program as a user starts it, in its own
 * process, and a sender on the same machine. Rows of one VM (a dozen samples per request) and
 * batches of many rows, on the embedded stream and on JetStream (`sync_interval: always`). CPU is
 * that of the service's process until everything sent has been evaluated too.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { componentPath, needs } from '../test/support/components.ts';
import { startNatsServer } from '../test/support/nats-server.ts';
import { startProgram } from '../test/support/program.ts';
import { liftLimits } from './support/lift-limits.ts';
import { processCost } from './support/process-cost.ts';
import { type Scope, withScope } from './support/scope.ts';
import { type LoadOptions, sendLoad } from './support/write-load.ts';

const DURATION_MS = 8_000;
/** Time until the compiler has settled, ms; not counted. */
const WARM_UP_MS = 5_000;
const VMS = 2_000;
const DAY_MS = 86_400_000;
const NATS = 'nats-server 2.15.1';

interface Shape {
  readonly what: string;
  readonly rows: number;
  readonly connections: number;
  readonly aim: string;
}

const shapes: readonly Shape[] = [
  { what: 'rows of one VM', rows: 1, connections: 256, aim: '≥ 300,000/s, < 2 s' },
  { what: 'batches of 500 rows', rows: 500, connections: 8, aim: '≥ 1,000,000/s, < 0.5 s' },
  { what: 'batches of 1,000 rows', rows: 1_000, connections: 8, aim: '≥ 1,000,000/s, < 0.5 s' },
];

/** Measures every shape on every available stream, and prints one table. */
export async function run(): Promise<void> {
  const table: Record<string, string | number>[] = [];
  for (const shape of shapes) {
    table.push(await withScope((scope) => measure(scope, shape, 'embedded')));
  }
  const { skip } = needs(NATS);
  if (skip !== undefined) console.log(`JetStream is not measured: ${skip}`);
  for (const shape of skip === undefined ? shapes : []) {
    table.push(await withScope((scope) => measure(scope, shape, NATS)));
  }
  console.table(table);
}

async function measure(
  scope: Scope,
  shape: Shape,
  stream: 'embedded' | typeof NATS,
): Promise<Record<string, string | number>> {
  const folder = mkdtempSync(`${tmpdir()}/ingest-bench-`);
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const natsUrl = stream === 'embedded' ? undefined : await startNats(scope, folder);
  const { demo } = await startProgram(scope, folder, {
    SVC_COLLECT: 'none',
    SVC_DEMO: 'on',
    SVC_METRICS_ON_API: 'on',
    // The sender is one address: with the other calls it needs more connections than the default.
    SVC_CONNECTIONS_PER_ADDRESS: '512',
    ...(natsUrl !== undefined && { SVC_NATS_URL: natsUrl }),
  });
  await liftLimits(folder);
  const load: Omit<LoadOptions, 'durationMs' | 'fromMs'> = { ...shape, demo, vms: VMS };
  const now = Date.now();
  await sendLoad({ ...load, durationMs: WARM_UP_MS, fromMs: now - 3 * DAY_MS });
  const before = await processCost(demo);
  const result = await sendLoad({ ...load, durationMs: DURATION_MS, fromMs: now - 2 * DAY_MS });
  const after = await processCost(demo);
  const cpuSeconds = (after.cpuSeconds - before.cpuSeconds) / (result.samples / 1e6);
  return {
    stream,
    what: shape.what,
    'samples/s': Math.round(result.samples / result.seconds).toLocaleString('en'),
    'CPU s/million': cpuSeconds.toFixed(2),
    aim: shape.aim,
    'requests/s': Math.round(result.requests / result.seconds).toLocaleString('en'),
    'response p50 ms': result.p50Ms.toFixed(1),
    'p99 ms': result.p99Ms.toFixed(1),
    'resident MB': Math.round(after.residentBytes / 2 ** 20),
  };
}

async function startNats(scope: Scope, folder: string): Promise<string> {
  const server = await startNatsServer({ program: componentPath(NATS), folder });
  scope.teardown(() => server.kill());
  return server.url;
}

if (import.meta.main) await run();
