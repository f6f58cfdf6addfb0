/**
 * Values that do not depend on the step, spread over all steps.
 */
import type { Budget } from '../budget.ts';
import { takeValues } from '../column-memory.ts';
import type { Grid, Value } from '../values.ts';
import { constantScalar, type PinnedArrays, stepTime, vectorOf } from './columns.ts';

/** From a value of one step. */
export function broadcast(
  value: Value,
  count: number,
  pinned: PinnedArrays,
  budget: Budget,
): Value {
  if (value.type === 'string') return value;
  if (value.type === 'scalar') return constantScalar(value.values[0] ?? Number.NaN, count, budget);
  const present = pinned.allPresent(count, budget);
  const series = value.series.flatMap((column) => {
    budget.check();
    if (column.present[0] !== 1) return [];
    const values = takeValues(count, budget).fill(column.values[0] ?? Number.NaN);
    return [{ labels: column.labels, values, present }];
  });
  return vectorOf(series);
}

/** The time of each step, seconds. */
export function stepTimes(grid: Grid, budget: Budget): Float64Array {
  const times = takeValues(grid.count, budget);
  for (let i = 0; i < times.length; i++) times[i] = stepTime(grid, i) / 1000;
  return times;
}
