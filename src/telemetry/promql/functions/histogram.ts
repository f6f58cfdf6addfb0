/**
 * histogram_quantile and histogram_fraction over classic histograms: series that differ only in
 * `le` are the buckets of one histogram. They are sorted once, then read step by step. Functions of
 * native histograms find none here and return nothing.
 */

import { goQuoteCut } from '../format-go.ts';
import type { Labels } from '../labels.ts';
import { mergeSeries } from '../merge-series.ts';
import { invalidQuantile } from '../quantile.ts';
import { type SeriesColumn, takeColumn, takeLabels, type VectorValue } from '../values.ts';
import { argumentSpan, scalarArgument, vectorArgument } from './arguments.ts';
import { BucketCounts, bucketFraction, bucketQuantile } from './buckets.ts';
import type { CallContext, PromqlFunction } from './function.ts';

/** Of native histograms, which this store does not hold: every element is left out. */
const ofNativeHistograms: PromqlFunction = (context) => {
  vectorArgument(context, 0);
  return { type: 'vector', series: [] };
};

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
  /** With the metric's name, without `le`. */
  readonly labels: Labels;
  /** By rising upper bound. */
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

/** -Inf less itself would be NaN. */
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

/** As Go's `ParseFloat` reads decimals; undefined for what is no number or too great for one. */
function parseBound(text: string): number | undefined {
  const infinite = INFINITY.exec(text);
  if (infinite !== null) {
    return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (/^nan$/i.test(text)) return Number.NaN;
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
