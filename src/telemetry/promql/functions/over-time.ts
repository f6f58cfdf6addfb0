/**
 * The aggregations over time: one value from all samples in a window. Those that are common in
 * dashboards are loops over many steps at once, the others arithmetic over one window (Prometheus
 * 3.5, `promql/functions.go`).
 */

import { KahanSum } from '../kahan.ts';
import { invalidQuantile, quantileOf } from '../quantile.ts';
import { type Column, giveBack, takeValues } from '../values.ts';
import { argumentSpan, rangeArgument, scalarArgument } from './arguments.ts';
import { maxKernel, minKernel } from './extremes.ts';
import type { CallContext, PromqlFunction, Window, WindowFunction } from './function.ts';
import { avgKernel, sumKernel } from './sums.ts';
import {
  evaluateWindows,
  overRuns,
  perWindow,
  SampleCursor,
  type SeriesKernel,
  type WindowOptions,
} from './windows.ts';

export const overTimeFunctions: Readonly<Record<string, PromqlFunction>> = {
  avg_over_time: ofKernel(() => avgKernel),
  sum_over_time: ofKernel(() => sumKernel),
  max_over_time: ofKernel(() => maxKernel),
  min_over_time: ofKernel(() => minKernel),
  count_over_time: ofKernel(() => countKernel),
  present_over_time: ofKernel(() => presentKernel),
  // Behind a feature flag in Prometheus 3.5, but not in later versions.
  first_over_time: ofKernel(() => firstKernel, { keepsName: true }),
  last_over_time: ofKernel(() => lastKernel, { keepsName: true }),
  changes: ofKernel(() => overRuns(perWindow(changes))),
  resets: ofKernel(() => overRuns(perWindow(resets))),
  stdvar_over_time: ofKernel(() => overRuns(perWindow(varianceFunction()))),
  stddev_over_time: ofKernel(() => {
    const variance = varianceFunction();
    return overRuns(perWindow((window, step) => Math.sqrt(variance(window, step) as number)));
  }),
  quantile_over_time: quantileOverTime,
};

function ofKernel(createKernel: () => SeriesKernel, options?: WindowOptions): PromqlFunction {
  return (context) => {
    const range = rangeArgument(context, 0);
    return { type: 'vector', series: evaluateWindows(context, range, createKernel(), options) };
  };
}

const countKernel: SeriesKernel = ({ bounds, budget }, out) => {
  budget.takeSamples(bounds.count);
  for (let step = 0; step < bounds.count; step++) {
    const samples = (bounds.to[step] as number) - (bounds.from[step] as number);
    if (samples > 0) put(out, step, samples);
  }
};

const presentKernel: SeriesKernel = ({ bounds, budget }, out) => {
  budget.takeSamples(bounds.count);
  for (let step = 0; step < bounds.count; step++) {
    if ((bounds.to[step] as number) > (bounds.from[step] as number)) put(out, step, 1);
  }
};

const lastKernel: SeriesKernel = ({ runs, bounds, budget }, out) => {
  budget.takeSamples(bounds.count);
  const cursor = new SampleCursor(runs);
  for (let step = 0; step < bounds.count; step++) {
    const last = (bounds.to[step] as number) - 1;
    if (last < (bounds.from[step] as number)) continue;
    cursor.moveTo(last);
    put(out, step, cursor.value(last));
  }
};

const firstKernel: SeriesKernel = ({ runs, bounds, budget }, out) => {
  budget.takeSamples(bounds.count);
  const cursor = new SampleCursor(runs);
  for (let step = 0; step < bounds.count; step++) {
    const first = bounds.from[step] as number;
    if (first >= (bounds.to[step] as number)) continue;
    cursor.moveTo(first);
    put(out, step, cursor.value(first));
  }
};

function put(out: Column, step: number, value: number): void {
  out.values[step] = value;
  out.present[step] = 1;
}

function changes({ values, from, to }: Window): number {
  let count = 0;
  let before = values[from] as number;
  for (let i = from + 1; i < to; i++) {
    const value = values[i] as number;
    // From NaN to NaN is no change, though they are not equal.
    if (value !== before && !(Number.isNaN(value) && Number.isNaN(before))) count++;
    before = value;
  }
  return count;
}

function resets({ values, from, to }: Window): number {
  let count = 0;
  for (let i = from + 1; i < to; i++) {
    if ((values[i] as number) < (values[i - 1] as number)) count++;
  }
  return count;
}

/** Welford's running variance, both of its sums compensated. */
function varianceFunction(): WindowFunction {
  const mean = new KahanSum();
  const squares = new KahanSum();
  return ({ values, from, to }) => {
    mean.reset();
    squares.reset();
    for (let i = from; i < to; i++) {
      const value = values[i] as number;
      const delta = value - mean.total;
      mean.add(delta / (i - from + 1));
      squares.add(delta * (value - mean.total));
    }
    return squares.total / (to - from);
  };
}

function quantileOverTime(context: CallContext): ReturnType<PromqlFunction> {
  const phis = scalarArgument(context, 0);
  const span = argumentSpan(context, 0);
  const { budget } = context;
  let sorted = takeValues(0, budget);
  const kernel = perWindow(({ values, from, to }, step) => {
    const phi = phis[step] as number;
    const warning = invalidQuantile(phi);
    if (warning !== undefined) context.annotations.warn(warning, span);
    const count = to - from;
    if (sorted.length < count) {
      giveBack(budget, sorted);
      sorted = takeValues(2 * count, budget);
    }
    for (let i = 0; i < count; i++) sorted[i] = values[from + i] as number;
    return quantileOf(phi, sorted, count);
  });
  const range = rangeArgument(context, 1);
  const series = evaluateWindows(context, range, overRuns(kernel), { dependsOnStep: true });
  giveBack(budget, sorted);
  return { type: 'vector', series };
}
