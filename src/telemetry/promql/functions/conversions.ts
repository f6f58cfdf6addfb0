/** Conversions between scalars, vectors and times, and sorting of vectors. */
import {
  type Grid,
  Labels,
  release,
  type ScalarValue,
  takePresence,
  takeValues,
} from '../values.ts';
import { argumentAt, scalarArgument, vectorArgument } from './arguments.ts';
import { mapElements } from './elementwise.ts';
import type { CallContext, PromqlFunction } from './function.ts';

/**
 * Functions that change a value's type or order: `scalar`, `vector`, `time`, `timestamp`, `sort`
 * and its variants. Sorting has an effect only in instant queries.
 */
export const conversionFunctions: Readonly<Record<string, PromqlFunction>> = {
  pi: (context) => scalarOf(context, () => Math.PI),
  time: (context) => scalarOf(context, (step) => stepMs(context.grid, step) / 1000),
  scalar: scalarOfVector,
  vector: (context) => {
    const values = scalarArgument(context, 0);
    const present = takePresence(values.length, context.budget).fill(1);
    return { type: 'vector', series: [{ labels: Labels.empty, values, present }] };
  },
  timestamp: (context) => {
    const times = context.evaluateTimes(argumentAt(context.call, 0));
    return mapElements(context, times.series, (seconds) => seconds);
  },
  sort: (context) => sortBy(context, (a, b) => a - b),
  sort_desc: (context) => sortBy(context, (a, b) => b - a),
};

function stepMs(grid: Grid, step: number): number {
  return step === 0 ? grid.startMs : grid.startMs + step * grid.stepMs;
}

function scalarOf({ grid, budget }: CallContext, valueAt: (step: number) => number): ScalarValue {
  const values = takeValues(grid.count, budget);
  for (let step = 0; step < values.length; step++) values[step] = valueAt(step);
  return { type: 'scalar', values };
}

/** The single element of each step; NaN if there is none or more than one. */
function scalarOfVector(context: CallContext): ScalarValue {
  const { grid, budget } = context;
  const series = vectorArgument(context, 0);
  const elements = takePresence(grid.count, budget);
  const values = takeValues(grid.count, budget).fill(Number.NaN);
  for (const column of series) {
    budget.takeSamples(grid.count);
    for (let step = 0; step < values.length; step++) {
      if (column.present[step] === 0) continue;
      values[step] = elements[step] === 0 ? (column.values[step] as number) : Number.NaN;
      elements[step] = 1;
    }
  }
  release(budget, elements);
  return { type: 'scalar', values };
}

const NO_ORDER = 'sort is ineffective for range queries since results are always ordered by labels';

/**
 * NaN is last in either order. Over more than one step a vector has no order, so a warning is
 * added.
 */
function sortBy(context: CallContext, compare: (a: number, b: number) => number) {
  const series = vectorArgument(context, 0);
  if (context.grid.count > 1) {
    context.annotations.warn(NO_ORDER, context.call.span);
    return { type: 'vector' as const, series };
  }
  const present = series.filter((column) => column.present[0] === 1);
  const sorted = present.sort((a, b) => {
    context.budget.takeWork();
    const x = a.values[0] as number;
    const y = b.values[0] as number;
    if (Number.isNaN(x) || Number.isNaN(y))
      return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    // An infinity minus itself is NaN.
    return x === y ? 0 : compare(x, y);
  });
  return { type: 'vector' as const, series: sorted };
}
