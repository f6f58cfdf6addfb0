/**
 * What is to be known about an answer besides its points: how fresh it is, how much of what would
 * have been sampled was observed, and why the rest is missing. Pure: freshness comes in as facts.
 */
import { GAP_TOLERANCE_MS } from '../../streams/evaluation/entry.ts';
import { metricCatalogue } from '../../streams/metrics/catalogue.ts';
import { type MetricGap, SAMPLING_INTERVAL_MS } from '../../streams/metrics/query.ts';
import type { MetricAnswer, QueryRange } from './vm-query.ts';

export type QualityState = 'LIVE' | 'STALE' | 'PARTIAL' | 'NO_DATA';

/** Facts on the VM, whatever the range. */
export interface Freshness {
  readonly nowMs: number;
  /** Unix ms; absent = never observed. */
  readonly lastObservedMs: number | undefined;
  readonly datacenter: 'live' | 'stale';
  readonly expandedMonitoring: boolean;
}

export interface RangeQuality {
  readonly state: QualityState;
  readonly expectedSamples: number;
  readonly observedSamples: number;
  /** Of all the metrics, oldest first; equal ones once. */
  readonly gaps: readonly QualityGap[];
  readonly metrics: readonly MetricQuality[];
  readonly reasons: readonly string[];
}

/** Times are Unix ms. */
export interface QualityGap {
  readonly startMs: number;
  readonly endMs: number;
  readonly reason: string;
}

interface MetricQuality {
  readonly metricId: string;
  readonly state: QualityState;
  /** '' = nothing to say. */
  readonly reason: string;
}

/** Is the newest observation recent enough to be read as live, and its data center not stale? */
export function isLive({
  nowMs,
  lastObservedMs,
  datacenter,
}: Omit<Freshness, 'expandedMonitoring'>) {
  return (
    datacenter === 'live' &&
    lastObservedMs !== undefined &&
    nowMs - lastObservedMs <= GAP_TOLERANCE_MS
  );
}

/** The quality of the answers to one query. */
export function qualityOf(
  answers: readonly MetricAnswer[],
  range: QueryRange,
  freshness: Freshness,
): RangeQuality {
  const judged = answers.map((answer) => judge(answer, range, freshness));
  const metrics = judged.map(({ quality }) => quality);
  const fromMs = Math.max(range.startMs - range.stepMs, range.retainedFromMs);
  const expected = Math.max(0, Math.round((range.endMs - fromMs) / SAMPLING_INTERVAL_MS));
  return {
    state: overall(metrics.map(({ state }) => state)),
    expectedSamples: expected * answers.length,
    observedSamples: answers.reduce((sum, { observedSamples }) => sum + observedSamples, 0),
    gaps: distinct(judged.flatMap(({ gaps }) => gaps)),
    metrics,
    reasons: reasonsOf(answers, metrics, freshness),
  };
}

function judge(answer: MetricAnswer, range: QueryRange, freshness: Freshness) {
  const missing = missingReason(answer.metricId, freshness);
  const gaps = answer.gaps.flatMap((gap) => withinRetention(gap, range, missing));
  const state = stateOf(answer, gaps, freshness);
  const reason = reasonOf(state, gaps, missing, freshness);
  return { gaps, quality: { metricId: answer.metricId, state, reason } };
}

/** Whose silence it is when rows came and the metric was not in them. */
function missingReason(metricId: string, { expandedMonitoring }: Freshness): string {
  const descriptor = metricCatalogue.get(metricId);
  if (descriptor?.expanded && !expandedMonitoring) return 'EXPANDED_MONITORING_OFF';
  return descriptor?.source === 'guest' ? 'NOT_REPORTED_BY_GUEST' : 'NOT_REPORTED';
}

/** What lies before retention is not missing: it is no longer kept. */
function withinRetention(gap: MetricGap, range: QueryRange, missing: string): QualityGap[] {
  const startMs = Math.max(gap.startMs, range.retainedFromMs);
  if (gap.endMs - startMs <= GAP_TOLERANCE_MS) return [];
  return [
    { startMs, endMs: gap.endMs, reason: gap.reason === 'NOT_REPORTED' ? missing : gap.reason },
  ];
}

function stateOf(
  { series }: MetricAnswer,
  gaps: readonly QualityGap[],
  freshness: Freshness,
): QualityState {
  if (series.length === 0) return 'NO_DATA';
  // Before PARTIAL: old samples must not be read as live, whatever else is to be said of them.
  if (!isLive(freshness)) return 'STALE';
  return gaps.length > 0 ? 'PARTIAL' : 'LIVE';
}

function reasonOf(
  state: QualityState,
  gaps: readonly QualityGap[],
  missing: string,
  { datacenter }: Freshness,
): string {
  if (state === 'LIVE') return '';
  const isMissing = gaps.some(({ reason }) => reason === missing);
  if (missing === 'EXPANDED_MONITORING_OFF' || (isMissing && missing !== 'NOT_REPORTED')) {
    return missing;
  }
  return datacenter === 'stale' ? 'DATACENTER_STALE' : '';
}

/** Some without data are a part that is missing; all without are none. */
function overall(states: readonly QualityState[]): QualityState {
  if (states.every((state) => state === 'NO_DATA')) return 'NO_DATA';
  if (states.includes('STALE')) return 'STALE';
  return states.every((state) => state === 'LIVE') ? 'LIVE' : 'PARTIAL';
}

function reasonsOf(
  answers: readonly MetricAnswer[],
  metrics: readonly MetricQuality[],
  { datacenter }: Freshness,
): string[] {
  const told = [
    ...answers.flatMap(({ flags }) => flags),
    ...metrics.map(({ reason }) => reason).filter((reason) => reason !== ''),
    ...(datacenter === 'stale' ? ['DATACENTER_STALE'] : []),
  ];
  return [...new Set(told)];
}

function distinct(gaps: readonly QualityGap[]): QualityGap[] {
  const byText = new Map(gaps.map((gap) => [`${gap.startMs} ${gap.endMs} ${gap.reason}`, gap]));
  return [...byText.values()].sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
}
