/**
 * Functions of one number, applied to each element of a vector: math, trigonometry, rounding and
 * clamping. They drop the metric name, because the result is another quantity.
 */

import { mergeSeries } from '../merge-series.ts';
import { type SeriesColumn, takePresence, takeValues, type VectorValue } from '../values.ts';
import { scalarArgument, vectorArgument } from './arguments.ts';
import type { CallContext, PromqlFunction } from './function.ts';

/** `step` is for functions whose other arguments vary between steps. */
type ElementFunction = (value: number, step: number) => number;

/**
 * Applies `compute` to each element of a vector and drops names. Throws `PromqlError` execution if
 * two series become equal at one step.
 */
export function mapElements(
  context: CallContext,
  series: readonly SeriesColumn[],
  compute: ElementFunction,
): VectorValue {
  const { budget, grid } = context;
  const columns = series.map(({ labels, values, present }) => {
    budget.takeSamples(grid.count);
    const results = takeValues(grid.count, budget);
    for (let i = 0; i < results.length; i++) {
      if (present[i] === 1) results[i] = compute(values[i] as number, i);
    }
    return { labels: labels.withoutName(), values: results, present };
  });
  return { type: 'vector', series: mergeSeries(columns, budget) };
}

const SIMPLE: Readonly<Record<string, ElementFunction>> = {
  abs: Math.abs,
  ceil: Math.ceil,
  floor: Math.floor,
  exp: Math.exp,
  sqrt: Math.sqrt,
  ln: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  deg: (value) => (value * 180) / Math.PI,
  rad: (value) => (value * Math.PI) / 180,
  // 0, -0 and NaN have no sign and are returned unchanged.
  sgn: (value) => (value > 0 ? 1 : value < 0 ? -1 : value),
};

const simpleFunctions = Object.entries(SIMPLE).map(([name, compute]) => {
  const apply: PromqlFunction = (context) =>
    mapElements(context, vectorArgument(context, 0), compute);
  return [name, apply] as const;
});

/**
 * One number in, one number out, at each step of each series. Absent stays absent; NaN is passed on
 * as a value.
 */
export const elementwiseFunctions: Readonly<Record<string, PromqlFunction>> = {
  ...Object.fromEntries(simpleFunctions),
  round: (context) => {
    const series = vectorArgument(context, 0);
    const nearest = context.call.args.length > 1 ? scalarArgument(context, 1) : null;
    return mapElements(context, series, (value, step) => {
      const inverse = nearest === null ? 1 : 1 / (nearest[step] as number);
      return Math.floor(value * inverse + 0.5) / inverse;
    });
  },
  clamp: (context) => {
    const series = vectorArgument(context, 0);
    return clampElements(context, series, scalarArgument(context, 1), scalarArgument(context, 2));
  },
  clamp_min: (context) => {
    const series = vectorArgument(context, 0);
    return clampElements(context, series, scalarArgument(context, 1), null);
  },
  clamp_max: (context) => {
    const series = vectorArgument(context, 0);
    return clampElements(context, series, null, scalarArgument(context, 1));
  },
};

/**
 * Clamps between limits; null = no limit. A step whose lower limit exceeds the upper one has no
 * elements.
 */
function clampElements(
  context: CallContext,
  series: readonly SeriesColumn[],
  lowest: Float64Array | null,
  highest: Float64Array | null,
): VectorValue {
  const low = (step: number) => lowest?.[step] ?? Number.NEGATIVE_INFINITY;
  const high = (step: number) => highest?.[step] ?? Number.POSITIVE_INFINITY;
  const kept = series.map((column) => {
    if (!column.present.some((present, step) => present === 1 && high(step) < low(step))) {
      return column;
    }
    const present = takePresence(column.present.length, context.budget);
    for (let step = 0; step < present.length; step++) {
      present[step] = high(step) < low(step) ? 0 : (column.present[step] as number);
    }
    return { ...column, present };
  });
  return mapElements(context, kept, (value, step) =>
    greaterOf(low(step), lesserOf(high(step), value)),
  );
}

/** Like Go's `math.Min`: -Inf wins over NaN, which wins over the rest. */
function lesserOf(a: number, b: number): number {
  if (a === Number.NEGATIVE_INFINITY || b === Number.NEGATIVE_INFINITY) {
    return Number.NEGATIVE_INFINITY;
  }
  return Math.min(a, b);
}

/** Like Go's `math.Max`: +Inf wins over NaN, which wins over the rest. */
function greaterOf(a: number, b: number): number {
  if (a === Number.POSITIVE_INFINITY || b === Number.POSITIVE_INFINITY) {
    return Number.POSITIVE_INFINITY;
  }
  return Math.max(a, b);
}
