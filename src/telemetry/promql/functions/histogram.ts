/**
 * histogram_quantile and histogram_fraction over classic histograms: series that differ only in
 * `le` are the buckets of one histogram. They are sorted once, then read step by step. Functions of
 * native histograms find none here and return nothing.
 */
import { goQuoteCut } from '../format-go.ts';
import { mergeSeries } from '../merge-series.ts';
import { invalidQuantile } from '../quantile.ts';
import {
  type Labels,
  type SeriesColumn,
  takeColumn,
  takeLabels,
  type VectorValue,
} from '../values.ts';
import { argumentSpan, scalarArgument, vectorArgument } from './arguments.ts';
import type { CallContext, PromqlFunction } from './function.ts';

/** Functions of native histograms, which this store does not hold: every element is left out. */
const ofNativeHistograms: PromqlFunction = (context) => {
  vectorArgument(context, 0);
  return { type: 'vector', series: [] };
};

/** Functions over buckets. The labels without `le` identify the histogram. */
export const histogramFunctions: Readonly<Record<string, PromqlFunction>> = {
  histogram_avg: ofNativeHistograms,
  histogram_count: ofNativeHistograms,
  histogram_stddev: ofNativeHistograms,
  histogram_stdvar: ofNativeHistograms,
  histogram_sum: ofNativeHistograms,
  histogram_quantile: histogramQuantile,
  histogram_fraction: (context) => {
    const lowers = scalarArgument(context, 0);
    const uppers = scalarArgument(context, 1);
    return mapHistograms(context, 2, (buckets, step) =>
      bucketFraction(lowers[step] as number, uppers[step] as number, buckets),
    );
  },
};

const FORCED_MONOTONICITY =
  'input to histogram_quantile needed to be fixed for monotonicity (see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile) for metric name';

function histogramQuantile(context: CallContext): VectorValue {
  const { annotations, budget } = context;
  const phis = scalarArgument(context, 0);
  let reported = 0;
  for (const phi of phis) {
    if (Object.is(phi, reported)) continue;
    reported = phi;
    budget.takeWork();
    const warning = invalidQuantile(phi);
    if (warning !== undefined) annotations.warn(warning, argumentSpan(context, 0));
  }
  const result = { value: 0, corrected: false };
  return mapHistograms(context, 1, (buckets, step, labels) => {
    bucketQuantile(phis[step] as number, buckets, result);
    if (result.corrected) {
      const message = `${FORCED_MONOTONICITY} ${goQuoteCut(labels.name)}`;
      annotations.info(message, argumentSpan(context, 1));
    }
    return result.value;
  });
}

interface Histogram {
  /** Labels with the metric name, without `le`. */
  readonly labels: Labels;
  /** Sorted by increasing upper bound. */
  readonly buckets: { readonly upper: number; readonly column: SeriesColumn }[];
}

/** `compute` of each histogram at each step at which it has a bucket. */
function mapHistograms(
  context: CallContext,
  index: number,
  compute: (buckets: BucketCounts, step: number, labels: Labels) => number,
): VectorValue {
  const { grid, budget } = context;
  const histograms = gatherHistograms(context, index);
  const columns = histograms.map(({ labels, buckets }) => {
    const result = takeColumn(grid.count, budget);
    const counts = new BucketCounts(buckets.length);
    for (let step = 0; step < grid.count; step++) {
      budget.takeSamples(buckets.length);
      counts.clear();
      for (const { upper, column } of buckets) {
        if (column.present[step] === 1) counts.push(upper, column.values[step] as number);
      }
      if (counts.length === 0) continue;
      result.values[step] = compute(counts, step, labels);
      result.present[step] = 1;
    }
    return { labels: labels.withoutName(), ...result };
  });
  return { type: 'vector', series: mergeSeries(columns, budget) };
}

const BUCKET_LABEL: ReadonlySet<string> = new Set(['le']);

function gatherHistograms(context: CallContext, index: number): Histogram[] {
  const { budget } = context;
  const histograms = new Map<string, Histogram>();
  for (const column of vectorArgument(context, index)) {
    budget.takeWork();
    const le = column.labels.get('le');
    const upper = parseBound(le);
    if (upper === undefined) {
      if (column.present.includes(1)) warnOfBound(context, index, column.labels.name, le);
      continue;
    }
    const labels = column.labels.without(BUCKET_LABEL);
    const histogram = histograms.get(labels.key);
    if (histogram !== undefined) histogram.buckets.push({ upper, column });
    else {
      const buckets = [{ upper, column }];
      histograms.set(labels.key, { labels: takeLabels(labels, budget), buckets });
    }
  }
  const gathered = [...histograms.values()];
  for (const { buckets } of gathered) {
    buckets.sort((a, b) => {
      budget.takeWork();
      return compareBounds(a.upper, b.upper);
    });
  }
  return gathered;
}

/** -Inf minus itself would be NaN. */
function compareBounds(a: number, b: number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function warnOfBound(context: CallContext, index: number, name: string, le: string): void {
  const message = `bucket label "le" is missing or has a malformed value of ${goQuoteCut(le)} for metric name ${goQuoteCut(name)}`;
  context.annotations.warn(message, argumentSpan(context, index));
}

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const INFINITY = /^([+-]?)inf(inity)?$/i;

/** Parses decimals like Go's `ParseFloat`; undefined if the text is not a number or too great. */
function parseBound(text: string): number | undefined {
  const infinite = INFINITY.exec(text);
  if (infinite !== null) {
    return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (/^nan$/i.test(text)) return Number.NaN;
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

// Arithmetic over one classic histogram at one step: its quantiles, and the share of observations
// between two values. It is linear within a bucket; counts are cumulative (Prometheus 3.5,
// `promql/quantile.go`).

/**
 * Reusable buffer for the buckets of one step. Upper bounds increase; the first `length` entries
 * are valid.
 */
class BucketCounts {
  readonly uppers: Float64Array;
  readonly counts: Float64Array;
  length = 0;

  constructor(capacity: number) {
    this.uppers = new Float64Array(capacity);
    this.counts = new Float64Array(capacity);
  }

  clear(): void {
    this.length = 0;
  }

  /**
   * Adds a bucket in order of upper bounds. Counts of equal bounds ("1" and "1.0") are added up.
   */
  push(upper: number, count: number): void {
    const last = this.length - 1;
    if (last >= 0 && this.uppers[last] === upper) {
      this.counts[last] = (this.counts[last] as number) + count;
      return;
    }
    this.uppers[this.length] = upper;
    this.counts[this.length++] = count;
  }

  get endsInInfinity(): boolean {
    return this.length > 0 && this.uppers[this.length - 1] === Number.POSITIVE_INFINITY;
  }

  /** Number of all observations. */
  get total(): number {
    return this.counts[this.length - 1] as number;
  }
}

/** `corrected`: counts decreased between buckets and were raised. */
interface BucketQuantile {
  value: number;
  corrected: boolean;
}

/** Writes to `result`. Makes the counts of `buckets` monotonic. */
function bucketQuantile(phi: number, buckets: BucketCounts, result: BucketQuantile): void {
  result.corrected = false;
  result.value = outOfRange(phi);
  if (!(phi >= 0 && phi <= 1)) return;
  result.value = Number.NaN;
  if (!buckets.endsInInfinity) return;
  const corrected = makeMonotonic(buckets);
  if (buckets.length < 2 || buckets.total === 0) return;
  result.corrected = corrected;
  result.value = interpolateRank(phi * buckets.total, buckets);
}

function outOfRange(phi: number): number {
  if (Number.isNaN(phi)) return phi;
  return phi < 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function interpolateRank(rank: number, { uppers, counts, length }: BucketCounts): number {
  const at = firstReaching(rank, counts, length - 1);
  // In the bucket without an upper bound: the greatest finite bound.
  if (at === length - 1) return uppers[length - 2] as number;
  const upper = uppers[at] as number;
  if (at === 0 && upper <= 0) return upper;
  const lower = at === 0 ? 0 : (uppers[at - 1] as number);
  const below = at === 0 ? 0 : (counts[at - 1] as number);
  return lower + (upper - lower) * ((rank - below) / ((counts[at] as number) - below));
}

/** Bisection, not a linear search, so that NaN counts behave as in Prometheus. */
function firstReaching(rank: number, counts: Float64Array, end: number): number {
  let low = 0;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((counts[middle] as number) >= rank) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Relative differences between counts that stem from the order of floating-point additions. */
const TOLERANCE = 1e-12;
const SMALLEST_NORMAL = 2 ** -1022;

/** Raises counts that decrease to the one before; true if one decreased by more than rounding. */
function makeMonotonic({ counts, length }: BucketCounts): boolean {
  let forced = false;
  let before = counts[0] as number;
  for (let i = 1; i < length; i++) {
    const count = counts[i] as number;
    if (count === before) continue;
    if (almostEqual(before, count)) counts[i] = before;
    else if (count < before) {
      counts[i] = before;
      forced = true;
    } else before = count;
  }
  return forced;
}

function almostEqual(a: number, b: number): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  const sum = Math.abs(a) + Math.abs(b);
  const difference = Math.abs(a - b);
  if (a === 0 || b === 0 || sum < SMALLEST_NORMAL) return difference < TOLERANCE * SMALLEST_NORMAL;
  return difference / Math.min(sum, Number.MAX_VALUE) < TOLERANCE;
}

/** The share of observations in (lower, upper]; NaN if there are none. */
function bucketFraction(lower: number, upper: number, buckets: BucketCounts): number {
  if (!buckets.endsInInfinity || buckets.total === 0) return Number.NaN;
  if (Number.isNaN(lower) || Number.isNaN(upper)) return Number.NaN;
  if (lower >= upper) return 0;
  return (rankOf(upper, buckets) - rankOf(lower, buckets)) / buckets.total;
}

/**
 * Number of observations up to `value`, at most all of them. If the lowest bucket has no lower end
 * (its bound is not positive), all of its observations are below every value, as those of the
 * highest are above (since Prometheus 3.6; earlier versions return NaN).
 */
function rankOf(value: number, { uppers, counts, length, total }: BucketCounts): number {
  let below = 0;
  let lower = (uppers[0] as number) > 0 ? 0 : Number.NEGATIVE_INFINITY;
  for (let i = 0; i < length; i++) {
    const upper = uppers[i] as number;
    const count = counts[i] as number;
    if (lower >= value) return Math.min(below, total);
    if (upper > value) {
      if (lower === Number.NEGATIVE_INFINITY) return Math.min(count, total);
      return Math.min(below + ((count - below) * (value - lower)) / (upper - lower), total);
    }
    below = count;
    lower = upper;
  }
  return total;
}
