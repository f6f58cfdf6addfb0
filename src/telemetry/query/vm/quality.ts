/**
 * Quality of a response: how fresh it is, how many of the expected samples were observed, and why
 * the rest is missing. Pure: freshness is passed in as facts.
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

/**
 * State of a response as a whole and of each metric in it; `reasons` explain why it is not LIVE.
 */
export type QualityState = 'LIVE' | 'STALE' | 'PARTIAL' | 'NO_DATA' | 'ERROR';

/** Outcome of one metric of a query. */
export type MetricAnswer =
  | (MetricRange & { readonly metricId: string })
  /** It could not be read or computed. */
  | { readonly metricId: string; readonly failed: FailureReason };

/** `STORE_FULL`: accepted samples are not readable yet. `READ_FAILED`: anything else. */
export type FailureReason = 'READ_FAILED' | 'STORE_FULL';

/**
 * Reasons that apply to the VM as a whole, besides those derived from its samples. `STORE_FULL`:
 * newer rows may have been accepted than can be read, so its freshness is unknown.
 * `REPORTED_ELSEWHERE`: another collector reports the VM too, and its rows are rejected.
 */
export type VmReason =
  | 'STORE_FULL'
  | 'FROZEN'
  | 'CLOCK_BACKWARDS'
  | 'CLOCK_AHEAD'
  | 'REPORTED_ELSEWHERE';

/** Facts about the VM, whatever the range. */
export interface Freshness {
  readonly nowMs: number;
  /** Unix ms; absent = never observed, or unknown (`STORE_FULL`). */
  readonly lastObservedMs: number | undefined;
  readonly datacenter: 'live' | 'stale';
  readonly expandedMonitoring: boolean;
  /** Reasons within the requested range. */
  readonly vmReasons: readonly VmReason[];
  /** Time ranges whose rows this service has lost for good, Unix ms; absent: none. */
  readonly lost?: readonly { readonly fromMs: number; readonly toMs: number }[];
}

/** Quality of all metrics of a response together; `metrics` has that of each. */
export interface RangeQuality {
  readonly state: QualityState;
  readonly expectedSamples: number;
  readonly observedSamples: number;
  /** Gaps of all metrics, oldest first; equal ones once. */
  readonly gaps: readonly QualityGap[];
  readonly metrics: readonly MetricQuality[];
  readonly reasons: readonly string[];
  /** Observed but impossible values, with their metric. */
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
  /** '' = no reason to report. */
  readonly reason: string;
}

/** True if the newest observation is recent enough to be live and its data center is not stale. */
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

/** The quality of the results of one query. */
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
    // At most as many as expected in the retained part.
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

/** Reasons that apply to every request. */
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

/** Cause of silence if rows arrived without the metric. */
function missingReason(metricId: string, { expandedMonitoring }: Freshness): string {
  const descriptor = metricCatalogue.get(metricId);
  if (descriptor?.expanded && !expandedMonitoring) return 'EXPANDED_MONITORING_OFF';
  return descriptor?.reportedByGuest ? 'NOT_REPORTED_BY_GUEST' : 'NOT_REPORTED';
}

/** Samples before the retention are not missing: they are no longer kept. */
function withinRetention(gap: MetricGap, range: QueryRange, missing: string): QualityGap[] {
  const startMs = Math.max(gap.startMs, range.retainedFromMs);
  if (gap.endMs - startMs <= GAP_TOLERANCE_MS) return [];
  return [
    { startMs, endMs: gap.endMs, reason: gap.reason === 'NOT_REPORTED' ? missing : gap.reason },
  ];
}

/** Rows lost here are not a source's silence: the lost part of a gap gets that reason. */
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
  // Before PARTIAL: old samples must not be read as live, whatever other reasons apply.
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
 * All reasons for one metric, the most limiting first: why it is missing, why it is old, what is
 * doubtful in its values, what is doubtful in the VM's clock or readings.
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

/** Gap reasons that describe received data or are reported separately; the others are causes. */
const PLAIN_GAPS: ReadonlySet<string> = new Set([
  'NO_SAMPLES',
  'NOT_RUNNING',
  'NOT_REPORTED',
  'CAPACITY_CHANGED',
  'HISTORY_LOST',
]);

/** Some metrics without data: PARTIAL; all without: NO_DATA; a failure takes precedence. */
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
