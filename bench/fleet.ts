/**
 * A fleet at its own pace: every VM reports a dozen series every 30 s, ten rules evaluate all of
 * them, and one dashboard queries a sum every 30 s. Measures the resources of the service's process
 * by the number of VMs. For docs/operations/sizing.md; the disk usage of a running fleet is
 * measured by `history`. `node bench/fleet.ts [VMs, several comma-separated] [rounds, default 4]`.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Program, startProgram } from '../test/support/program.ts';
import { liftLimits } from './support/lift-limits.ts';
import { processCost } from './support/process-cost.ts';
import { type Scope, withScope } from './support/scope.ts';
import { preparedRounds } from './support/write-load.ts';

const STEP_MS = 30_000;
/** Rows per request of a collector. */
const ROWS = 100;
const RULES = 10;
/** Rounds until VMs are registered and the compiler has settled; not counted. */
const WARM_UP = 2;

/** Prints one row per size. */
export async function run(sizes: readonly number[] = [200, 2_000, 10_000], rounds = 4) {
  const table: Record<string, string | number>[] = [];
  for (const vms of sizes) table.push(await withScope((scope) => measure(scope, vms, rounds)));
  console.table(table);
}

async function measure(scope: Scope, vms: number, rounds: number) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const program = await startProgram(scope, folder, {
    SVC_COLLECT: 'none',
    SVC_METRICS_ON_API: 'on',
  });
  await liftLimits(folder);
  const send = preparedRounds({ demo: program.demo, connections: 4, rows: ROWS, vms });
  const beginsMs = Date.now();
  let before = await processCost(program.demo);
  for (let round = 0; round < WARM_UP + rounds; round++) {
    if (round === 1) for (let i = 0; i < RULES; i++) await saveRule(program, i);
    if (round === WARM_UP) before = await processCost(program.demo);
    await send(Date.now(), round);
    await look(program);
    await pause(Math.max(0, beginsMs + (round + 1) * STEP_MS - Date.now()));
  }
  const after = await processCost(program.demo);
  const seconds = (rounds * STEP_MS) / 1000;
  return {
    VMs: vms,
    'CPU s per round': ((after.cpuSeconds - before.cpuSeconds) / rounds).toFixed(2),
    'of a core': `${((100 * (after.cpuSeconds - before.cpuSeconds)) / seconds).toFixed(1)} %`,
    'resident MB': Math.round(after.residentBytes / 1e6),
    'data folder MB': Math.round(bytesBelow(folder) / 1e6),
  };
}

/** Rules that are never breached. */
async function saveRule({ call, demo }: Program, i: number): Promise<void> {
  const answer = await call('monitoring.v1.AlertService/SaveAlertRule', {
    projectName: demo.projectName,
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: `Rule ${i}`,
      metricId: 'cpu_utilization_pct',
      operator: 'GREATER_THAN',
      threshold: 100 + i,
      sustainedSeconds: 300,
      severity: 'WARNING',
      allVms: true,
    },
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

async function look({ demo }: Program): Promise<void> {
  const query = new URLSearchParams({ query: 'sum(rate(svc_vm_cpu_seconds_total[2m]))' });
  const path = `/v1/monitoring/${demo.projectName}/promql/api/v1/query`;
  const headers = { authorization: `Bearer ${demo.apiKey}` };
  const answer = await fetch(demo.baseUrl + path, { method: 'POST', headers, body: query });
  if (!answer.ok) throw new Error(`A query returned ${answer.status}`);
}

function bytesBelow(folder: string): number {
  const sizes = readdirSync(folder, { withFileTypes: true }).map((entry) =>
    entry.isFile() ? statSync(join(folder, entry.name)).size : 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

if (import.meta.main) {
  const [, , sizes, rounds] = process.argv;
  await run(sizes?.split(',').map(Number), rounds === undefined ? undefined : Number(rounds));
}
