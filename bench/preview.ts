/**
 * A preview of an alert rule over the longest possible history, from request to response, on the
 * service as it runs: a rule on CPU counters, one on memory, one on each mount. Also the time until
 * a written row is acknowledged while previews run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { startProgram } from '../test/support/program.ts';
import { fillOurs } from './reading/dataset.ts';
import { Api, memoryRow } from './support/api.ts';
import { type Scope, withScope } from './support/scope.ts';

const VMS = 200;
const DAYS = 7;
const ROUNDS = 3;
const RULES = [
  { metricId: 'cpu_utilization_pct', threshold: 80, sustainedSeconds: 300 },
  { metricId: 'memory_used_pct', threshold: 60, sustainedSeconds: 86_400 },
  { metricId: 'network_receive_bytes_per_second', threshold: 1e6, sustainedSeconds: 60 },
  { metricId: 'filesystem_used_pct', threshold: 80, sustainedSeconds: 0 },
];
const WRITE_PAUSE_MS = 20;

/** Measures and prints a table. */
export async function run(): Promise<void> {
  console.table(await withScope(measure));
}

async function measure(scope: Scope) {
  const folder = mkdtempSync(`${tmpdir()}/preview-bench-`);
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  await fillOurs({ folder, vms: VMS, days: DAYS, endMs: Date.now() - 60_000 });
  process.stderr.write('\n');
  const { demo } = await startProgram(scope, folder, { SVC_COLLECT: 'none' });
  const api = new Api(demo);
  const rows = [];
  for (const what of RULES.flatMap((rule) => [1, DAYS].map((days) => ({ rule, days })))) {
    const requested = askAll(api, what);
    const [{ seconds, figures }, acknowledged] = await Promise.all([
      requested,
      writeUntil(api, requested),
    ]);
    rows.push({
      metric: what.rule.metricId,
      'sustained s': what.rule.sustainedSeconds,
      days: what.days,
      'first s': round(seconds[0]),
      'median s': round(quantile(seconds, 0.5)),
      ...figures,
      'write p50 ms': round(quantile(acknowledged, 0.5)),
      'write p99 ms': round(quantile(acknowledged, 0.99)),
    });
  }
  return rows;
}

interface Requested {
  readonly rule: (typeof RULES)[number];
  readonly days: number;
}

async function askAll(api: Api, what: Requested) {
  const seconds: number[] = [];
  let figures = {};
  for (let i = 0; i < ROUNDS; i++) {
    const startedMs = performance.now();
    figures = await preview(api, what);
    seconds.push((performance.now() - startedMs) / 1000);
  }
  return { seconds, figures };
}

/**
 * The service rejects a preview that takes more than 10 s; it is a row of the table all the same.
 */
async function preview(api: Api, { rule, days }: Requested) {
  const spec = { displayName: 'Bench', operator: 'GREATER_THAN', severity: 'WARNING', ...rule };
  const request = { spec: { ...spec, allVms: true }, historySeconds: days * 86_400 };
  try {
    const answer = await api.call('monitoring.v1.AlertService/PreviewAlertRule', request);
    const firings = (answer.wouldHaveFired as readonly object[]).length;
    return { evaluated: Number(answer.evaluatedSamples), firings };
  } catch (error) {
    if (!String(error).includes('QUERY_TIMEOUT')) throw error;
    return { evaluated: 'QUERY_TIMEOUT', firings: 'QUERY_TIMEOUT' };
  }
}

/** Writes rows one after another until `end`; returns the time to each acknowledgement, ms. */
async function writeUntil(api: Api, end: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  const stop = () => {
    isOver = true;
  };
  void end.then(stop, stop);
  const times: number[] = [];
  for (let sequence = 1; !isOver; sequence++) {
    const startedMs = performance.now();
    await api.write([memoryRow(0, { observedMs: Date.now(), sequence, usedRatio: 0.2 })]);
    times.push(performance.now() - startedMs);
    await new Promise((resolve) => setTimeout(resolve, WRITE_PAUSE_MS));
  }
  return times;
}

function quantile(values: readonly number[], q: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(q * (values.length - 1))];
}

function round(value: number | undefined): number {
  return value === undefined ? Number.NaN : Number(value.toPrecision(3));
}
