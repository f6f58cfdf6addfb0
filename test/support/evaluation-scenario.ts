/**
 * Sets up evaluation scenarios. Rows, ticks and markers are written in seconds since an arbitrary
 * start and folded at once. Edges are read as short lines, so a test shows observations and
 * reports.
 */

import { inspect, type SoftInstance } from '../../streams/alerting/evaluation/inspect.ts';
import { createState } from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationSeed, EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import type {
  Edge,
  EvaluationRule,
  LivenessReport,
  LogEntry,
} from '../../streams/telemetry/entry.ts';
import { BatchBuilder, type SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import { fold } from './evaluation-fold.ts';

/** Second 0 of every scenario, Unix ms. */
export const START_MS = 1_700_000_000_000;
export const PROJECT = 'demo';
const CPU = 'svc_vm_cpu_utilization_pct';

/** A short row: `cpu` is a ready-made gauge; further series by their keys. */
export interface ShortRow {
  /** Observation time, seconds since the start. */
  readonly at: number;
  readonly cpu?: number;
  readonly series?: Readonly<Record<string, number>>;
  readonly vm?: string;
  readonly boot?: string;
  /** Sequence of the source. Default: the observation time, so that time and sequence agree. */
  readonly sequence?: number;
  readonly vcpus?: number;
  readonly state?: number;
  readonly stateReason?: string;
}

/** A batch of these rows, received at `receivedAt` seconds. */
export function batchOf(receivedAt: number, rows: readonly ShortRow[]): SampleBatch {
  const builder = new BatchBuilder();
  for (const row of rows) {
    const values = { ...(row.cpu === undefined ? {} : { [CPU]: row.cpu }), ...row.series };
    builder.add({
      project: PROJECT,
      vm: row.vm ?? 'vm-1',
      observedMs: START_MS + row.at * 1000,
      sequence: row.sequence ?? row.at,
      boot: row.boot ?? 'boot-1',
      vcpus: row.vcpus ?? Number.NaN,
      state: row.state ?? 1,
      stateReason: row.stateReason ?? '',
      series: Object.keys(values),
      values: Object.values(values),
    });
  }
  return builder.build(START_MS + receivedAt * 1000);
}

/** The rule most scenarios use: CPU above 90 % for 300 s. */
export function cpuRule(overrides: Partial<EvaluationRule> = {}): EvaluationRule {
  return {
    project: PROJECT,
    rule: 'rule-1',
    evaluationRevision: 1,
    metricId: 'cpu_utilization_pct',
    operator: 'GREATER_THAN',
    threshold: 90,
    sustainedMs: 300_000,
    recoveryMs: 0,
    ...overrides,
  };
}

/** Seconds from `from` to `to`, both inclusive, every `step`. */
export function seconds(from: number, to: number, step = 30): number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
}

export class EvaluationWorld {
  state: EvaluationState;
  /** Everything folded so far. */
  readonly log: LogEntry[] = [];
  readonly edges: Edge[] = [];

  #receivedAt = Number.NEGATIVE_INFINITY;

  constructor(rules: readonly EvaluationRule[] = [], firing: EvaluationSeed['firing'] = []) {
    this.state = createState({ rules, firing });
  }

  entry(entry: LogEntry, past?: Iterable<LogEntry>): string[] {
    const folded = fold(this.state, entry, past);
    this.state = folded.state;
    this.log.push(entry);
    this.edges.push(...folded.edges);
    return folded.edges.map(edgeLine);
  }

  /**
   * Writes one batch with these rows, by default received when the newest was observed, and not
   * before the batches so far: an earlier time means that the service's clock was set back.
   */
  rows(rows: readonly ShortRow[], receivedAt = this.#receiptOf(rows)): string[] {
    this.#receivedAt = receivedAt;
    return this.entry({ kind: 'batch', batch: batchOf(receivedAt, rows) });
  }

  #receiptOf(rows: readonly ShortRow[]): number {
    return Math.max(this.#receivedAt, ...rows.map(({ at }) => at));
  }

  /** Writes the same CPU value at each time, one batch each, as a live source does. */
  cpu(value: number, times: readonly number[]): string[] {
    return times.flatMap((at) => this.rows([{ at, cpu: value }]));
  }

  tick(at: number, livenessReport?: LivenessReport): string[] {
    const atMs = START_MS + at * 1000;
    return this.entry({ kind: 'tick', atMs, ...(livenessReport && { livenessReport }) });
  }

  /** Writes a marker. Its rules catch up over everything folded before it. */
  marker(
    at: number,
    change: { upserts?: EvaluationRule[]; removals?: string[] },
    past: Iterable<LogEntry> = [...this.log],
  ): string[] {
    const removals = (change.removals ?? []).map((rule) => ({ project: PROJECT, rule }));
    const atMs = START_MS + at * 1000;
    return this.entry({ kind: 'rules', atMs, upserts: change.upserts ?? [], removals }, past);
  }

  instances(): SoftInstance[] {
    return inspect(this.state, PROJECT);
  }

  /** The only instance. Throws unless there is exactly one. */
  instance(): SoftInstance {
    const [first, second] = this.instances();
    if (!first || second) throw new Error('The scenario does not have exactly one instance');
    return first;
  }
}

/** An edge as a line: kind, time and start, in seconds since the start of the scenario. */
export function edgeLine(edge: Edge): string {
  const words: string[] = [edge.kind];
  if (edge.observedMs !== undefined) words.push(`at ${second(edge.observedMs)}`);
  if (edge.kind === 'fired') words.push(`since ${second(edge.startedMs)}`);
  if (edge.kind === 'dataMissing') words.push(`since ${second(edge.sinceMs)}`);
  if ('notify' in edge && edge.notify === false) words.push('unnotified');
  if (edge.key.vm !== 'vm-1') words.push(`on ${edge.key.vm}`);
  if (edge.key.labels !== '') words.push(`of ${edge.key.labels}`);
  return words.join(' ');
}

function second(unixMs: number): number {
  return (unixMs - START_MS) / 1000;
}
