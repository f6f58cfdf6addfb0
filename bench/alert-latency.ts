/**
 * Time from the acknowledgement of the breaching sample to the webhook's arrival at the receiver:
 * the program as a user starts it, a receiver on loopback, one VM after another crossing the
 * threshold of a rule without a duration. Both times are taken by the sender's clock. Then all VMs
 * of another rule at once, to show the delay of the last one in a burst.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fleetVm } from '../test/support/fleet.ts';
import { startProgram } from '../test/support/program.ts';
import { Api, memoryRow } from './support/api.ts';
import { type Scope, withScope } from './support/scope.ts';
import { startWebhookClock } from './support/webhook-clock.ts';

const ALERTS = 1_000;
const ROWS_A_REQUEST = 500;

/** Runs and prints the table. */
export async function run(): Promise<void> {
  console.table(await withScope(measure));
}

async function measure(scope: Scope) {
  const folder = mkdtempSync(`${tmpdir()}/alert-bench-`);
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const { demo } = await startProgram(scope, folder, {
    SVC_COLLECT: 'none',
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  const receiver = await startWebhookClock(scope);
  const api = new Api(demo);
  await writeAll(api, Date.now() - 60_000, { sequence: 1, usedRatio: 0.2 });
  const destinations = [await api.createWebhook(receiver.url)];
  const rule = { metricId: 'memory_used_pct', destinations };
  await api.saveRule({ ...rule, displayName: 'One after another', threshold: 50 });
  const single: number[] = [];
  for (let n = 0; n < ALERTS; n++) {
    const arrival = receiver.next(`One after another ${fleetVm(n)}`);
    await api.write([memoryRow(n, { observedMs: Date.now(), sequence: 2, usedRatio: 0.6 })]);
    const acknowledgedMs = performance.now();
    single.push((await arrival) - acknowledgedMs);
  }
  await api.saveRule({ ...rule, displayName: 'All at once', threshold: 80 });
  const arrivals = Array.from({ length: ALERTS }, (_, n) =>
    receiver.next(`All at once ${fleetVm(n)}`),
  );
  await writeAll(api, Date.now(), { sequence: 3, usedRatio: 0.9 });
  const acknowledgedMs = performance.now();
  const burst = (await Promise.all(arrivals)).map((ms) => ms - acknowledgedMs);
  return [
    line(`${ALERTS} alerts, one after another`, single, 'p50 < 5, p99 < 50'),
    line(`${ALERTS} alerts at once`, burst, ''),
  ];
}

async function writeAll(
  api: Api,
  observedMs: number,
  row: { readonly sequence: number; readonly usedRatio: number },
): Promise<void> {
  for (let first = 0; first < ALERTS; first += ROWS_A_REQUEST) {
    const rows = Array.from({ length: ROWS_A_REQUEST }, (_, i) =>
      memoryRow(first + i, { ...row, observedMs }),
    );
    await api.write(rows);
  }
}

function line(what: string, times: readonly number[], aim: string) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (ratio: number) => (sorted[Math.floor(sorted.length * ratio)] ?? 0).toFixed(1);
  return { what, 'p50 ms': at(0.5), 'p99 ms': at(0.99), 'max ms': at(0.9999), aim };
}

if (import.meta.main) await run();
