/**
 * Observations, series by series in order of arrival, and the entries during which each rule
 * revision was in force. Metrics are computed again, from their definition.
 */
import type { EvaluationRule } from '../../../streams/telemetry/entry.ts';
import { type SampleBatch, VM_STATES } from '../../../streams/telemetry/samples/batch.ts';
import type { Entry, Facts } from './facts.ts';

export interface Observation {
  readonly observedMs: number;
  readonly value: number;
  /** Sequence and time of the entry that carried it. */
  readonly entry: number;
  readonly elapsedMs: number;
  /** By the clock of the receiving member, Unix ms. */
  readonly receivedMs: number;
}

/** Observations of one metric of one VM, keyed by the label part of its series. */
export type ByLabels = Map<string, Observation[]>;

/** A revision of a rule, in force for the entries in [from, until). */
export interface Force {
  readonly rule: EvaluationRule;
  readonly from: number;
  until: number;
  /** Time at which its marker was stored, Unix ms. */
  readonly atMs: number;
  /** Time before which observations do not count for it, Unix ms. */
  readonly sinceMs: number;
}

const FUTURE_MS = 60_000;
const TOLERANCE_MS = 90_000;

export class Observations {
  readonly #bySeries = new Map<string, ByLabels>();
  readonly forces: readonly Force[];

  constructor({ entries }: Facts) {
    for (const each of entries) if (each.entry.kind === 'batch') this.#take(each, each.entry.batch);
    this.forces = forcesOf(entries);
  }

  of(project: string, vm: string, metricId: string): ByLabels {
    return this.#bySeries.get(`${project} ${vm} ${metricId}`) ?? new Map();
  }

  /** VMs of a project with at least one observation. */
  vms(project: string): string[] {
    const prefix = `${project} `;
    const keys = [...this.#bySeries.keys()].filter((key) => key.startsWith(prefix));
    return [...new Set(keys.map((key) => key.split(' ')[1] ?? ''))];
  }

  #take({ sequence: entry, elapsedMs }: Entry, batch: SampleBatch): void {
    const order = Array.from({ length: batch.count }, (_, i) => i);
    // A batch is applied whole, in time order.
    order.sort((a, b) => (batch.observedMs[a] ?? 0) - (batch.observedMs[b] ?? 0) || a - b);
    for (const i of order) {
      const observedMs = batch.observedMs[i] ?? 0;
      if (observedMs > batch.receivedMs + FUTURE_MS) continue;
      const { project, vm } = batch.vms[batch.vm[i] ?? 0] ?? { project: '', vm: '' };
      for (const { metricId, labels, value } of valuesOf(batch, i)) {
        const key = `${project} ${vm} ${metricId}`;
        const byLabels = this.#bySeries.get(key) ?? new Map<string, Observation[]>();
        this.#bySeries.set(key, byLabels);
        const series = byLabels.get(labels) ?? [];
        byLabels.set(labels, series);
        series.push({ observedMs, value, entry, elapsedMs, receivedMs: batch.receivedMs });
      }
    }
  }
}

/** Reasons of stops that were not requested. */
const UNASKED: ReadonlySet<string> = new Set(['crashed', 'failed', 'destroyed']);

function* valuesOf(batch: SampleBatch, i: number) {
  const readings = new Map<string, number>();
  const series = batch.layouts[batch.layout[i] ?? 0]?.series ?? [];
  const start = batch.valueOffset[i] ?? 0;
  for (const [k, key] of series.entries()) readings.set(key, batch.values[start + k] ?? 0);
  const cpu = readings.get('svc_vm_cpu_utilization_pct');
  if (cpu !== undefined) yield { metricId: 'cpu_utilization_pct', labels: '', value: cpu };
  const total = readings.get('svc_vm_memory_total_bytes');
  const free = readings.get('svc_vm_memory_free_bytes');
  if (total !== undefined && free !== undefined) {
    yield { metricId: 'memory_used_pct', labels: '', value: (100 * (total - free)) / total };
  }
  for (const [key, used] of readings) {
    if (!key.startsWith('svc_vm_filesystem_used_bytes')) continue;
    const labels = key.slice('svc_vm_filesystem_used_bytes'.length);
    const size = readings.get(`svc_vm_filesystem_size_bytes${labels}`) ?? Number.NaN;
    yield { metricId: 'filesystem_used_pct', labels, value: (100 * used) / size };
  }
  const state = VM_STATES[batch.state[i] ?? 0];
  if (state === 'UNKNOWN') return;
  yield { metricId: 'vm_running', labels: '', value: state === 'RUNNING' ? 1 : 0 };
  const reason = batch.strings[batch.stateReason[i] ?? 0] ?? '';
  const isUnasked = state !== 'RUNNING' && (state === 'CRASHED' || UNASKED.has(reason));
  yield { metricId: 'unexpected_stop', labels: '', value: isUnasked ? 1 : 0 };
}

/** From each marker to the next one that replaces it. */
function forcesOf(entries: readonly Entry[]): Force[] {
  const forces: Force[] = [];
  const current = new Map<string, Force>();
  const removed = new Map<string, number>();
  const epochs = new Map<number, number>();
  for (const { sequence, partition, entry } of entries) {
    if (entry.kind === 'batch') continue;
    const { epoch = 0 } = entry;
    // Its writer had lost its lease before it was stored.
    if (epoch < (epochs.get(partition) ?? 0)) continue;
    epochs.set(partition, epoch);
    if (entry.kind !== 'rules') continue;
    for (const { project, rule, evaluationRevision: last } of entry.removals) {
      const key = `${project} ${rule}`;
      const before = current.get(key);
      // A late marker does not end its successors.
      if (before && last !== undefined && before.rule.evaluationRevision > last) continue;
      if (before) before.until = sequence;
      current.delete(key);
      removed.set(key, Math.max(removed.get(key) ?? 0, last ?? 0));
    }
    for (const rule of entry.upserts) {
      const key = `${rule.project} ${rule.rule}`;
      const before = current.get(key);
      const last = before?.rule.evaluationRevision ?? removed.get(key) ?? 0;
      if (last >= rule.evaluationRevision) continue;
      if (before) before.until = sequence;
      // Resumed rules restart; all others start from the samples that can decide them now.
      const windowMs = removed.delete(key) ? 0 : rule.sustainedMs + TOLERANCE_MS;
      const sinceMs = rule.fromMs ?? entry.atMs - windowMs;
      const until = Number.POSITIVE_INFINITY;
      const force = { rule, from: sequence, until, atMs: entry.atMs, sinceMs };
      current.set(key, force);
      forces.push(force);
    }
  }
  return forces;
}
