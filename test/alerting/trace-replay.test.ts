/**
 * Real hypervisor traces through the pipeline: a collector outage of 31.5 hours, values frozen for
 * hours, vCPU resizes, percentages above 100. The traces sample every 300 s, ten times our
 * interval, so trace time runs ten times as fast; values are unchanged.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { test } from 'tap';
import type { Edge, EvaluationRule, LogEntry } from '../../streams/telemetry/entry.ts';
import { BatchBuilder } from '../../streams/telemetry/samples/batch.ts';
import { componentPath, needs } from '../support/components.ts';
import { evaluateLog, logOf } from '../support/evaluation-log.ts';

const FASTER = 10;
/** Traced VMs: busy before and after the outage, resized, frozen for a day, above 100 %. */
const vms = ['187', '286', '78', '193', '410'];

interface TraceRow {
  readonly observedMs: number;
  readonly vcpus: number;
  readonly cpu: number;
  readonly memoryUsed: number;
}

function readTrace(folder: string, vm: string): TraceRow[] {
  const file = `${folder}/data/traces/bitbrains-rnd/2013-07-14_8d/${vm}.csv.gz`;
  const [, ...lines] = gunzipSync(readFileSync(file)).toString('utf8').trim().split('\n');
  return lines.map((line) => {
    const [time = 0, vcpus = 0, , , cpu = 0, , memoryKb = 0] = line.split(';').map(Number);
    const observedMs = (time * 1000) / FASTER;
    return { observedMs, vcpus, cpu, memoryUsed: memoryKb * 1024 };
  });
}

function rule(metricId: string, threshold: number, sustainedMs: number): EvaluationRule {
  const named = { project: 'traces', rule: `${metricId} ${threshold}`, evaluationRevision: 1 };
  return { ...named, metricId, operator: 'GREATER_THAN', threshold, sustainedMs, recoveryMs: 0 };
}

const rules = [
  rule('cpu_utilization_pct', 90, 120_000),
  rule('cpu_utilization_pct', 100, 0),
  rule('memory_used_bytes', 1e9, 60_000),
];

/** The traces as a log: a marker, then each row at its time, with a tick every 30 s. */
function entriesOf(traces: ReadonlyMap<string, readonly TraceRow[]>): LogEntry[] {
  const rows = [...traces]
    .flatMap(([vm, trace]) => trace.map((row) => ({ vm, ...row })))
    .sort((a, b) => a.observedMs - b.observedMs);
  let tickMs = rows[0]?.observedMs ?? 0;
  const log: LogEntry[] = [{ kind: 'rules', atMs: tickMs, upserts: rules, removals: [] }];
  for (const { vm, observedMs, vcpus, cpu, memoryUsed } of rows) {
    for (; tickMs <= observedMs; tickMs += 30_000) log.push({ kind: 'tick', atMs: tickMs });
    const builder = new BatchBuilder();
    const series = ['svc_vm_cpu_utilization_pct', 'svc_vm_memory_used_bytes'];
    const row = { project: 'traces', vm, observedMs, sequence: observedMs, boot: '', vcpus };
    builder.add({ ...row, state: 1, stateReason: '', series, values: [cpu, memoryUsed] });
    log.push({ kind: 'batch', batch: builder.build(observedMs) });
  }
  return log;
}

/** The longest silence of a trace. */
function outageOf(trace: readonly TraceRow[]): { readonly fromMs: number; readonly toMs: number } {
  const gaps = trace.map(({ observedMs }, i) => ({
    fromMs: trace[i - 1]?.observedMs ?? observedMs,
    toMs: observedMs,
  }));
  return gaps.reduce((a, b) => (b.toMs - b.fromMs > a.toMs - a.fromMs ? b : a));
}

function edgesOf(edges: readonly Edge[], vm: string, ruleId?: string): Edge[] {
  return edges.filter(({ key }) => key.vm === vm && (!ruleId || key.rule === ruleId));
}

test(
  'a replay of real traces invents no value, and no recovery during an outage',
  needs('shared folder'),
  async (t) => {
    const folder = componentPath('shared folder');
    const traces = new Map(vms.map((vm) => [vm, readTrace(folder, vm)]));
    const edges = evaluateLog(logOf(entriesOf(traces))).flatMap((one) => one.edges);
    const observed = new Set(
      [...traces].flatMap(([vm, trace]) =>
        trace.flatMap(({ observedMs, cpu, memoryUsed }) => [
          `${vm} ${observedMs} ${cpu > 100 && cpu <= 100.5 ? 100 : cpu}`,
          `${vm} ${observedMs} ${memoryUsed}`,
        ]),
      ),
    );
    const reported = edges.flatMap(({ key, ...edge }) =>
      'window' in edge ? edge.window.map((one) => `${key.vm} ${one.observedMs} ${one.value}`) : [],
    );
    t.ok(reported.length > 500, `${reported.length} values were notified`);
    t.same(
      reported.filter((one) => !observed.has(one)),
      [],
      'each was observed at its time',
    );
    for (const [vm, trace] of traces) {
      const { fromMs, toMs } = outageOf(trace);
      const during = edgesOf(edges, vm).filter(({ atMs }) => atMs > fromMs && atMs < toMs);
      t.ok(
        during.every(({ kind }) => kind === 'dataMissing'),
        `VM ${vm} only lacks data`,
      );
    }
  },
);

test(
  'a VM that is busy before and after an outage is one incident',
  needs('shared folder'),
  async (t) => {
    const trace = readTrace(componentPath('shared folder'), '187');
    const { fromMs, toMs } = outageOf(trace);
    t.ok((toMs - fromMs) * FASTER > 30 * 3_600_000, 'more than 30 hours of silence');
    const edges = evaluateLog(logOf(entriesOf(new Map([['187', trace]])))).flatMap(
      (one) => one.edges,
    );
    const cpu = edgesOf(edges, '187', 'cpu_utilization_pct 90');
    const around = cpu.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
    t.same(
      around.map(({ kind }) => kind),
      ['dataMissing', 'dataObserved'],
    );
    t.match(around, [{ sinceMs: fromMs }, { observedMs: toMs }]);
    const before = cpu.findLast(({ kind, atMs }) => kind !== 'dataMissing' && atMs <= fromMs);
    t.equal(before?.kind, 'fired', 'it fired when the silence began, and still fires after it');
  },
);
