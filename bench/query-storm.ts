/**
 * Queries do not harm the rest of the service: time until a written row is acknowledged, and until
 * an alert reaches its receiver, without queries and while clients send the worst queries that the
 * limits admit, as fast as they are answered. Aim: within twice the quiet figures.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fleetVm } from '../test/support/fleet.ts';
import { type Demo, startProgram } from '../test/support/program.ts';
import { fillOurs } from './reading/dataset.ts';
import { Api, memoryRow } from './support/api.ts';
import { type Scope, withScope } from './support/scope.ts';
import { startWebhookClock, type WebhookClock } from './support/webhook-clock.ts';

const VMS = 200;
const DAYS = 3;
const CLIENTS = 24;
const ROUNDS = 5;
/** Delay until every thread and queue is full, ms. */
const STORM_BEGINS_MS = 2_000;
/** Each is rejected, cut off or takes seconds; none may slow down unrelated work. */
const WORST = [
  'sum by (vm) (rate({__name__=~"svc_.+"}[3d]))',
  'max_over_time(avg_over_time({vm=~".*0.*"}[1h])[3d:30s])',
  'quantile_over_time(0.5, svc_vm_load1[1d])',
  'sum(svc_vm_load1) by (vm) * on (vm) group_left svc_vm_memory_free_bytes',
  'count_values("v", svc_vm_memory_free_bytes)',
  'label_replace({__name__=~"svc_.*"}, "a", "$1", "vm", "(.*)(.*)(.*)(.*)x*")',
  'topk(200, rate({__name__=~".*bytes_total"}[12h]))',
];

interface Latencies {
  readonly writes: number[];
  readonly alerts: number[];
}

/** Runs and prints the table. */
export async function run(): Promise<void> {
  console.table(await withScope(measure));
}

async function measure(scope: Scope) {
  const folder = mkdtempSync(`${tmpdir()}/storm-bench-`);
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  await fillOurs({ folder, vms: VMS, days: DAYS, endMs: Date.now() - 60_000 });
  process.stderr.write('\n');
  const { demo } = await startProgram(scope, folder, {
    SVC_COLLECT: 'none',
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  const receiver = await startWebhookClock(scope);
  const api = new Api(demo);
  const destinations = [await api.createWebhook(receiver.url)];
  const watch = (displayName: string, threshold: number) =>
    api.saveRule({ displayName, threshold, destinations, metricId: 'memory_used_pct' });
  let percent = 20;
  /** One threshold after another, each with its own rule, which all VMs cross in turn. */
  const rounds = async (count: number, into: Latencies) => {
    for (let n = 0; n < count; n++, percent += 4) {
      await watch(`Above ${percent}`, percent);
      await crossAll({ api, receiver, rule: `Above ${percent}`, percent: percent + 2 }, into);
    }
  };
  await rounds(2, { writes: [], alerts: [] });
  const quiet: Latencies = { writes: [], alerts: [] };
  await rounds(ROUNDS, quiet);
  const storm = startStorm(demo);
  await new Promise((resolve) => setTimeout(resolve, STORM_BEGINS_MS));
  const stormy: Latencies = { writes: [], alerts: [] };
  await rounds(ROUNDS, stormy);
  const answers = await storm.stop();
  console.log(`The storm: ${CLIENTS} clients, responses by status: ${JSON.stringify(answers)}`);
  return [
    ...lines('a row is acknowledged', quiet.writes, stormy.writes),
    ...lines('acknowledged row to webhook', quiet.alerts, stormy.alerts),
  ];
}

interface Round {
  readonly api: Api;
  readonly receiver: WebhookClock;
  readonly rule: string;
  /** Memory usage that each VM reaches, percent. */
  readonly percent: number;
}

/** One VM after another crosses the rule's threshold. */
async function crossAll({ api, receiver, rule, percent }: Round, into: Latencies): Promise<void> {
  for (let n = 0; n < VMS; n++) {
    const arrival = receiver.next(`${rule} ${fleetVm(n)}`);
    const row = { observedMs: Date.now(), sequence: 1000 + percent, usedRatio: percent / 100 };
    const sentMs = performance.now();
    await api.write([memoryRow(n, row)]);
    const acknowledgedMs = performance.now();
    into.writes.push(acknowledgedMs - sentMs);
    into.alerts.push((await arrival) - acknowledgedMs);
  }
}

function startStorm({ baseUrl, apiKey }: Demo) {
  const statuses: Record<string, number> = {};
  const end = new AbortController();
  const now = Math.floor(Date.now() / 1000);
  const ask = async (client: number): Promise<void> => {
    for (let n = client; !end.signal.aborted; n++) {
      const query = WORST[n % WORST.length] ?? '';
      const range = { start: String(now - DAYS * 86_400), end: String(now), step: '30' };
      const url = `${baseUrl}/v1/monitoring/projects/demo/promql/api/v1/query_range`;
      const body = new URLSearchParams({ query, ...range });
      const headers = { authorization: `Bearer ${apiKey}` };
      try {
        const answer = await fetch(url, { method: 'POST', headers, body, signal: end.signal });
        await answer.arrayBuffer();
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      } catch (error) {
        if (!end.signal.aborted) throw error;
      }
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, client) => ask(client)));
  return {
    async stop() {
      end.abort();
      await clients;
      return statuses;
    },
  };
}

function lines(what: string, quiet: readonly number[], storm: readonly number[]) {
  return [0.5, 0.99].map((q) => {
    const [before, during] = [at(quiet, q), at(storm, q)];
    return {
      what: `${what}, p${q * 100}`,
      'quiet, ms': before.toFixed(1),
      'storm, ms': during.toFixed(1),
      ratio: (during / before).toFixed(1),
      aim: '< 2',
    };
  });
}

function at(times: readonly number[], q: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * q)] ?? Number.NaN;
}

if (import.meta.main) await run();
