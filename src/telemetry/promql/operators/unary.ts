/**
 * Unary minus; plus leaves everything as it is, the metric's name too.
 */
import type { Unary } from '../ast.ts';
import type { Budget } from '../budget.ts';
import { takeValues } from '../column-memory.ts';
import { mergeSeries } from '../merge-series.ts';
import type { Value } from '../values.ts';
import { seriesColumn, vectorOf } from './columns.ts';

export function applyUnary({ op }: Unary, value: Value, budget: Budget): Value {
  if (op === '+' || value.type === 'string') return value;
  if (value.type === 'scalar') return { type: 'scalar', values: negated(value.values, budget) };
  const series = value.series.map(({ labels, values, present }) => {
    budget.check();
    return seriesColumn(labels.withoutName(), negated(values, budget), present);
  });
  return vectorOf(mergeSeries(series, budget));
}

function negated(values: Float64Array, budget: Budget): Float64Array {
  const out = takeValues(values.length, budget);
  for (let i = 0; i < values.length; i++) out[i] = -(values[i] as number);
  return out;
}
