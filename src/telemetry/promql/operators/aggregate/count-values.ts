/**
 * `count_values`: a series for each distinct value, with the value as a label. A column of counts
 * is created when its value first appears, and its memory is requested from the budget first.
 */
import type { Aggregate } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { PromqlError } from '../../errors.ts';
import { goQuote } from '../../format-go.ts';
import type { Labels } from '../../labels.ts';
import {
  type Column,
  type SeriesColumn,
  seriesColumn,
  takeColumn,
  takeLabels,
  type VectorValue,
} from '../../values.ts';
import { groupLabels } from './accumulators.ts';

/** Throws `PromqlError` execution when `label` cannot be a label's name. */
export function countValues(
  node: Aggregate,
  label: string,
  { series }: VectorValue,
  budget: Budget,
): SeriesColumn[] {
  if (label === '' || !label.isWellFormed()) {
    throw new PromqlError('execution', `invalid label name ${goQuote(label)}`);
  }
  const grouping = node.without ? node.grouping : [...node.grouping, label];
  const labelsOf = groupLabels({ grouping, without: node.without });
  const counts = new Map<string, SeriesColumn>();
  const columnOf = (labels: Labels, steps: number): Column => {
    let column = counts.get(labels.key);
    if (column === undefined) {
      const { values, present } = takeColumn(steps, budget);
      column = seriesColumn(takeLabels(labels, budget), values, present);
      counts.set(labels.key, column);
    }
    return column;
  };
  for (const member of series) {
    budget.check();
    countOne(member, (value) => {
      const labels = labelsOf(member.labels.with(label, plainDecimal(value)));
      return columnOf(labels, member.values.length);
    });
  }
  return [...counts.values()];
}

function countOne({ values, present }: SeriesColumn, columnOf: (value: number) => Column): void {
  const columns = new Map<number, Column>();
  let last: Column | null = null;
  let lastValue = 0;
  for (let i = 0; i < values.length; i++) {
    if (present[i] === 0) continue;
    const value = values[i] as number;
    if (last === null || !Object.is(value, lastValue)) {
      // A Map does not distinguish -0 from 0, whose labels differ.
      last = (Object.is(value, -0) ? undefined : columns.get(value)) ?? columnOf(value);
      if (!Object.is(value, -0)) columns.set(value, last);
      lastValue = value;
    }
    last.values[i] = (last.values[i] as number) + 1;
    last.present[i] = 1;
  }
}

/** All digits and no exponent, as Go's `strconv.FormatFloat(value, 'f', -1, 64)`. */
function plainDecimal(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [mantissa = '0', exponent = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const point = Number(exponent) + 1;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  const whole = digits.slice(0, point).padEnd(point, '0');
  const fraction = digits.slice(point);
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}
