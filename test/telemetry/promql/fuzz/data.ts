/**
 * Data for random expressions: 50 minutes of series as in monitored systems, with all their faults.
 * Values are mostly small integers and halves, so that sums are exact and a difference between two
 * engines is one of meaning, not of rounding.
 */
import { compareLabels, Labels, METRIC_NAME } from '../../../../src/telemetry/promql/values.ts';
import type { MemorySample } from '../memory-source.ts';
import type { Dice } from './dice.ts';

export interface FuzzSeries {
  readonly labels: Labels;
  readonly samples: readonly MemorySample[];
}

/** Not a round number, so that steps and subqueries align by the rules and not by luck. */
export const DATA_START_MS = 1_790_000_123_000;
export const DATA_MS = 50 * 60_000;

export const METRICS = ['gauge', 'cpu_total', 'other', 'info', 'sparse', 'with.dots'] as const;
export const BUCKETS = ['latency_bucket', 'odd_bucket'] as const;
export const LABELS = ['job', 'instance', 'zone', 'le', 'version', METRIC_NAME, 'nope'] as const;
const JOBS = ['api', 'db'];
const INSTANCES = ['a:1', 'b:2', 'c:3'];

/**
 * Sorted by labels, and written in this order. The choice of topk between equal values depends on
 * the order of the series, and Prometheus's head keeps the order of creation.
 */
export function generateData(dice: Dice): FuzzSeries[] {
  const series: FuzzSeries[] = [];
  const add = (labels: Record<string, string>, value: (step: number) => number) => {
    const made = samplesOf(dice, value);
    if (made.length > 0) series.push({ labels: Labels.fromRecord(labels), samples: made });
  };
  for (const job of JOBS) {
    for (const instance of INSTANCES) {
      const zone = dice.pick(['', 'north', 'south']);
      const labels = { job, instance };
      add({ [METRIC_NAME]: 'gauge', ...labels, zone }, gaugeValues(dice));
      add({ [METRIC_NAME]: 'cpu_total', ...labels }, counterValues(dice));
      if (dice.chance(0.7)) add({ [METRIC_NAME]: 'other', ...labels, zone }, gaugeValues(dice));
      if (dice.chance(0.5)) add({ [METRIC_NAME]: 'sparse', ...labels }, gaugeValues(dice));
      if (dice.chance(0.4)) add({ [METRIC_NAME]: 'with.dots', ...labels }, gaugeValues(dice));
    }
  }
  for (const instance of INSTANCES) {
    const version = dice.pick(['1.0', '1.1']);
    add({ [METRIC_NAME]: 'info', instance, version }, () => 1);
    addHistogram(
      dice,
      'latency_bucket',
      { instance, job: 'api' },
      ['0.1', '0.5', '1', '+Inf'],
      add,
    );
  }
  addHistogram(dice, 'odd_bucket', { job: 'db' }, dice.some(ODD_BOUNDS, 0.7), add);
  return series.sort((a, b) => compareLabels(a.labels, b.labels));
}

const ODD_BOUNDS = ['-1', '0', '1', '1.0', '1e1', '+Inf', 'bad', ''];

type AddSeries = (labels: Record<string, string>, value: (step: number) => number) => void;

/** Buckets of falling size, mostly cumulative, with exceptions. */
function addHistogram(
  dice: Dice,
  name: string,
  labels: Record<string, string>,
  bounds: readonly string[],
  add: AddSeries,
): void {
  let rate = 0;
  for (const le of bounds) {
    rate += dice.between(0, 3);
    const slope = dice.chance(0.1) ? Math.max(0, rate - 4) : rate;
    add({ [METRIC_NAME]: name, ...labels, le }, (step) => slope * step);
  }
}

function gaugeValues(dice: Dice): (step: number) => number {
  const odd = dice.chance(0.3) ? dice.pick([0.05, 0.4]) : 0;
  const constant = dice.chance(0.15);
  let value = dice.between(-20, 40);
  return () => {
    if (odd > 0 && dice.chance(odd)) return dice.pick([Number.NaN, Infinity, -Infinity, 0, -0]);
    if (!constant) value += dice.between(-6, 6) / 2;
    return value;
  };
}

function counterValues(dice: Dice): () => number {
  const resets = dice.pick([0, 0.01, 0.05]);
  const pace = dice.between(0, 10);
  let value = dice.pick([0, 5, 1000]);
  return () => {
    value = dice.chance(resets) ? dice.between(0, 3) : value + dice.between(0, pace);
    return value;
  };
}

/** Times with jitter, gaps, stale markers, a late start and an early end. */
function samplesOf(dice: Dice, value: (step: number) => number): MemorySample[] {
  const stepMs = dice.pick([15_000, 30_000, 30_000, 60_000]);
  const jitterMs = dice.pick([0, 0, 400, 7_000]);
  const gaps = dice.pick([0, 0, 0.02, 0.1]);
  const fromMs = dice.chance(0.2) ? dice.between(0, DATA_MS / 2) : 0;
  const throughMs = dice.chance(0.2) ? dice.between(DATA_MS / 2, DATA_MS) : DATA_MS;
  const samples: MemorySample[] = [];
  let missing = 0;
  for (let step = 0; step * stepMs <= DATA_MS; step++) {
    const number = value(step);
    const atMs = step * stepMs + (jitterMs === 0 ? 0 : dice.between(0, jitterMs));
    if (missing-- > 0 || atMs < fromMs || atMs > throughMs) continue;
    if (gaps > 0 && dice.chance(gaps)) {
      missing = dice.pick([1, 2, 5, 15, 30]);
      if (dice.chance(0.6)) samples.push({ timeMs: DATA_START_MS + atMs, value: 'stale' });
    } else {
      samples.push({ timeMs: DATA_START_MS + atMs, value: number });
    }
  }
  return samples;
}
