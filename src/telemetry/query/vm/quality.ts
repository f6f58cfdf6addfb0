/**
 * Quality of an answer besides its points: how fresh it is, how much of what would
 * have been sampled was observed, and why the rest is missing. Pure: freshness comes in as facts.
 */
import { GAP_TOLERANCE_MS } from '../../../../streams/telemetry/entry.ts';
import { metricCatalogue } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { expectedIntervals } from '../../../../streams/telemetry/metrics/coverage.ts';
import type {
  ImpossibleReading,
  MetricGap,
  MetricRange,
} from '../../../../streams/telemetry/metrics/query.ts';
import type { QueryRange } from './range.ts';

/** State of an answer as a whole, and of each metric in it; `reasons` say why it is not LIVE. */
export type QualityState = 'LIVE' | 'STALE' | 'PARTIAL' | 'NO_DATA' | 'ERROR';

/** What became of one metric of a query. */
export type MetricAnswer =
  | (MetricRange & { readonly metricId: string })
  /** It could not be read or worked out. */
  | { readonly metricId: string; readonly failed: FailureReason };

/** `STORE_FULL`: samples that were accepted are not readable yet. `READ_FAILED`: anything else. */
export type FailureReason = 'READ_FAILED' | 'STORE_FULL';

/**
 * Reasons that hold for the VM as a whole, beside those that follow from its samples. `STORE_FULL`:
 * newer rows may have been accepted than can be read, so that it is not known how fresh it is.
 * `REPORTED_ELSEWHERE`: another collector has the VM too, and its rows are refused.
 */
export type VmReason =
  | 'STORE_FULL'
  | 'FROZEN'
  | 'CLOCK_BACKWARDS'
  | 'CLOCK_AHEAD'
  | 'REPORTED_ELSEWHERE';

/** Facts on the VM, whatever the range. */
export interface Freshness {
  readonly nowMs: number;
  /** Unix ms; absent = never observed, or not known (`STORE_FULL`). */
  readonly lastObservedMs: number | undefined;
  readonly datacenter: 'live' | 'stale';
  readonly expandedMonitoring: boolean;
  /** Of the range that was asked for. */
  readonly vmReasons: readonly VmReason[];
  /** Stretches of which this service has lost rows for good, Unix ms; absent: none. */
  readonly lost?: readonly { readonly fromMs: number; readonly toMs: number }[];
}

/** Quality of all of an answer's metrics together; `metrics` has it of each. */
export interface RangeQuality {
  readonly state: QualityState;
  readonly expectedSamples: number;
  readonly observedSamples: number;
  /** Of all the metrics, oldest first; equal ones once. */
  readonly gaps: readonly QualityGap[];
  readonly metrics: readonly MetricQuality[];
  readonly reasons: readonly string[];
  /** Values that were observed and cannot be, with their metric. */
  readonly impossible: readonly (ImpossibleReading & { readonly metricId: string })[];
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
}: Pick<Freshness, 'nowMs' | 'lastObservedMs' | 'datacenter'>) {
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
  const expected = expectedIntervals({ fromMs, toMs: range.endMs });
  return {
    state: overall(metrics.map(({ state }) => state)),
    expectedSamples: expected * answers.length,
    // Of the part that is retained no more than is expected of it.
    observedSamples: judged.reduce((sum, one) => sum + Math.min(one.observedSamples, expected), 0),
    gaps: distinct(judged.flatMap(({ gaps }) => gaps)),
    metrics,
    reasons: [...new Set(judged.flatMap(({ reasons }) => reasons).concat(always(freshness)))],
    impossible: answers.flatMap((answer) => {
      if ('failed' in answer) return [];
      const { metricId, impossible } = answer;
      return impossible.map(({ timeMs, value, labels }) => ({ timeMs, value, labels, metricId }));
    }),
  };
}

/** Reasons that hold whatever was asked. */
function always({ vmReasons, datacenter }: Freshness): string[] {
  return [...vmReasons, ...(datacenter === 'stale' ? ['DATACENTER_STALE'] : [])];
}

function judge(answer: MetricAnswer, range: QueryRange, freshness: Freshness) {
  const { metricId } = answer;
  if ('failed' in answer) {
    const reason = answer.failed;
    const quality: MetricQuality = { metricId, state: 'ERROR', reason };
    return { gaps: [], observedSamples: 0, reasons: [reason], quality };
  }
  const missing = missingReason(metricId, freshness);
  const gaps = answer.gaps
    .flatMap((gap) => withinRetention(gap, range, missing))
    .flatMap((gap) => withLosses(gap, freshness.lost ?? []));
  const state = stateOf(answer, gaps, freshness);
  const reasons = reasonsOf(answer, { state, gaps, missing, freshness });
  const quality: MetricQuality = { metricId, state, reason: reasons[0] ?? '' };
  return { gaps, observedSamples: answer.observedSamples, reasons, quality };
}

/** Whose silence it is when rows came and the metric was not in them. */
function missingReason(metricId: string, { expandedMonitoring }: Freshness): string {
  const descriptor = metricCatalogue.get(metricId);
  if (descriptor?.expanded && !expandedMonitoring) return 'EXPANDED_MONITORING_OFF';
  return descriptor?.reportedByGuest ? 'NOT_REPORTED_BY_GUEST' : 'NOT_REPORTED';
}

/** What lies before retention is not missing: it is no longer kept. */
function withinRetention(gap: MetricGap, range: QueryRange, missing: string): QualityGap[] {
  const startMs = Math.max(gap.startMs, range.retainedFromMs);
  if (gap.endMs - startMs <= GAP_TOLERANCE_MS) return [];
  return [
    { startMs, endMs: gap.endMs, reason: gap.reason === 'NOT_REPORTED' ? missing : gap.reason },
  ];
}

/** What was lost here is no silence of a source: of a gap over a lost stretch that part says so. */
function withLosses(gap: QualityGap, lost: NonNullable<Freshness['lost']>): QualityGap[] {
  if (gap.reason !== 'NO_SAMPLES') return [gap];
  for (const { fromMs, toMs } of lost) {
    const startMs = Math.max(gap.startMs, fromMs);
    const endMs = Math.min(gap.endMs, toMs);
    if (endMs - startMs <= GAP_TOLERANCE_MS) continue;
    return [
      ...(startMs > gap.startMs ? withLosses({ ...gap, endMs: startMs }, lost) : []),
      { startMs, endMs, reason: 'HISTORY_LOST' },
      ...(endMs < gap.endMs ? withLosses({ ...gap, startMs: endMs }, lost) : []),
    ];
  }
  return [gap];
}

function stateOf(
  { series }: MetricRange,
  gaps: readonly QualityGap[],
  freshness: Freshness,
): QualityState {
  if (series.length === 0) return 'NO_DATA';
  if (freshness.vmReasons.includes('STORE_FULL')) return 'ERROR';
  // Before PARTIAL: old samples must not be read as live, whatever else is to be said of them.
  if (!isLive(freshness)) return 'STALE';
  return gaps.length > 0 ? 'PARTIAL' : 'LIVE';
}

interface Judgement {
  readonly state: QualityState;
  readonly gaps: readonly QualityGap[];
  readonly missing: string;
  readonly freshness: Freshness;
}

/**
 * All that is to be said of one metric, what limits its reading most first: why it is missing, why
 * it is old, what is doubtful in its values, what is doubtful in the VM's clock or readings.
 */
function reasonsOf(
  { flags, series, absentNow }: MetricRange,
  { state, gaps, missing, freshness }: Judgement,
): string[] {
  const { datacenter, vmReasons } = freshness;
  const isMissing =
    missing === 'EXPANDED_MONITORING_OFF'
      ? state !== 'LIVE'
      : gaps.some(({ reason }) => reason === missing);
  const causes = gaps.map(({ reason }) => reason).filter((reason) => !PLAIN_GAPS.has(reason));
  const reasons = [
    ...causes.filter((cause) => cause !== missing),
    ...(isMissing ? [missing] : []),
    ...(absentNow === undefined ? [] : [absentNow]),
    ...(gaps.some(({ reason }) => reason === 'HISTORY_LOST') ? ['HISTORY_LOST'] : []),
    ...(datacenter === 'stale' ? ['DATACENTER_STALE'] : []),
    ...flags,
    ...vmReasons.filter((reason) => reason !== 'FROZEN' || series.length > 0),
  ];
  return [...new Set(reasons)];
}

/** Reasons of gaps that say what came, or have a place of their own; the others are causes. */
const PLAIN_GAPS: ReadonlySet<string> = new Set([
  'NO_SAMPLES',
  'NOT_RUNNING',
  'NOT_REPORTED',
  'CAPACITY_CHANGED',
  'HISTORY_LOST',
]);

/** Some without data are a part that is missing; all without are none; a failure comes first. */
function overall(states: readonly QualityState[]): QualityState {
  if (states.includes('ERROR')) return 'ERROR';
  if (states.every((state) => state === 'NO_DATA')) return 'NO_DATA';
  if (states.includes('STALE')) return 'STALE';
  return states.every((state) => state === 'LIVE') ? 'LIVE' : 'PARTIAL';
}

function distinct(gaps: readonly QualityGap[]): QualityGap[] {
  const byText = new Map(gaps.map((gap) => [`${gap.startMs} ${gap.endMs} ${gap.reason}`, gap]));
  return [...byText.values()].sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
}
